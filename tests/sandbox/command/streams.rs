//! Standard streams of `millibox run`: files, inherited streams, and conflicts between them.

use super::{line, run, shell, status, text};
use millibox_tests::{directory, executable};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn streams_redirected_to_files_or_inherited_are_complete() {
    let dir = directory();
    let path = |name: &str| dir.path().join(name).display().to_string();
    std::fs::write(path("in"), "from a file\n").unwrap();
    std::fs::write(
        path("out"),
        "previous content, which is longer than the new content\n",
    )
    .unwrap();
    let (input, output, errors) = (path("in"), path("out"), path("err"));
    let result = shell(
        &["--stdin", &input, "--stdout", &output, "--stderr", &errors],
        "cat; echo complaint >&2; ls /missing",
    );
    assert_eq!(
        (status(&result), text(&result.stdout), text(&result.stderr)),
        (2, String::new(), String::new())
    );
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "from a file\n");
    assert!(
        std::fs::read_to_string(&errors)
            .unwrap()
            .starts_with("complaint\n")
    );

    // If the same file is given for both streams, under any names or by inheritance, it receives
    // both streams in order.
    std::os::unix::fs::symlink("out", path("link")).unwrap();
    let both = "echo a; echo b >&2; echo c";
    for other in [path("./out"), path("link")] {
        for limit in [&[][..], &["--output-limit", "100"]] {
            shell(
                &[limit, &["--stdout", &output, "--stderr", &other]].concat(),
                both,
            );
            assert_eq!(
                std::fs::read_to_string(&output).unwrap(),
                "a\nb\nc\n",
                "{other}"
            );
        }
    }
    let own = std::fs::File::create(&output).unwrap();
    let mut command = Command::new(executable("millibox"));
    command
        .args(["run", "--stderr", &output, "--", "sh", "-c", both])
        .stdin(Stdio::null())
        .stdout(own);
    assert!(command.status().unwrap().success());
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "a\nb\nc\n");
    // A message of millibox does not overwrite the program's output.
    for option in ["--stdout", "--stderr"] {
        let mut command = Command::new(executable("millibox"));
        command.args([
            "run",
            option,
            &errors,
            "--",
            "sh",
            "-c",
            "echo long and longer; echo complaint >&2; kill -9 $$",
        ]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&errors).unwrap());
        command.status().unwrap();
        let message = std::fs::read_to_string(&errors).unwrap();
        assert!(
            message.ends_with("complaint\nmillibox: killed by signal KILL\n"),
            "{option}: {message}"
        );
    }

    let mut inherited = Command::new(executable("millibox"))
        .args(["run", "--", "sh", "-c", "cat; echo complaint >&2"])
        .stdin(std::fs::File::open(&input).unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut out, mut err) = (String::new(), String::new());
    inherited
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut out)
        .unwrap();
    inherited
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    assert!(inherited.wait().unwrap().success());
    assert_eq!(
        (out.as_str(), err.as_str()),
        ("from a file\n", "complaint\n")
    );
}

#[test]
fn dash_as_stream_file_returns_error() {
    let dir = directory();
    let run_with = |arguments: &[&str]| {
        let mut command = Command::new(executable("millibox"));
        command
            .arg("run")
            .args(arguments)
            .args(["--", "echo", "message"])
            .stdin(Stdio::null());
        command.current_dir(dir.path()).output().unwrap()
    };
    for option in ["--stdout", "--stdin", "--stderr"] {
        let output = run_with(&[option, "-"]);
        assert_eq!(
            (status(&output), text(&output.stdout)),
            (125, String::new()),
            "{output:?}"
        );
        let message = line(&output);
        assert!(
            message.contains(option)
                && message.contains("omit the option")
                && message.contains("./-"),
            "{message}"
        );
        assert!(!dir.path().join("-").exists(), "{option}");
    }
    assert_eq!(status(&run_with(&["--stdout", "./-"])), 0);
    assert_eq!(
        std::fs::read_to_string(dir.path().join("-")).unwrap(),
        "message\n"
    );
}

#[test]
fn run_with_one_file_for_two_streams_keeps_its_content() {
    let dir = directory();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (file, link, dotted, new) = (path("file"), path("link"), path("./file"), path("new"));
    std::os::unix::fs::symlink("file", &link).unwrap();
    // The command's own standard input or output may also be a file, as with a shell's
    // redirections.
    let none: &[&str] = &[];
    for (arguments, from, to, what) in [
        (
            &["--stdin", &file, "--stdout", &file][..],
            none,
            none,
            "--stdout ",
        ),
        (
            &["--stdin", &file, "--stderr", &link],
            none,
            none,
            "--stderr ",
        ),
        (&["--stdout", &dotted], &[&*file], none, "--stdout "),
        (
            &["--stdin", &file, "--report", &link],
            none,
            none,
            "standard input is read from this file",
        ),
        (
            &["--report", &file],
            &[&*file],
            none,
            "standard input is read from this file",
        ),
        (
            &["--stdout", &file, "--report", &dotted],
            none,
            none,
            "standard output is written to this file",
        ),
        (
            &["--stderr", &link, "--report", &file],
            none,
            none,
            "standard error is written to this file",
        ),
        (
            &["--stdout", &new, "--report", &new],
            none,
            none,
            "standard output is written to this file",
        ),
        (
            &["--report", &file],
            none,
            &[&*file],
            "standard output is written to this file",
        ),
        (
            &["--stdout", &file, "--report", "-"],
            none,
            &[&*file],
            "standard output is written to this file",
        ),
    ] {
        std::fs::write(&file, "kept\n").unwrap();
        let mut command = Command::new(executable("millibox"));
        command
            .arg("run")
            .args(arguments)
            .args(["--", "cat"])
            .stdin(Stdio::null());
        if let [from] = from {
            command.stdin(std::fs::File::open(from).unwrap());
        }
        if let [to] = to {
            command.stdout(std::fs::OpenOptions::new().append(true).open(to).unwrap());
        }
        let output = command.output().unwrap();
        assert_eq!(status(&output), 125, "{arguments:?}: {output:?}");
        assert!(
            line(&output).contains(what) && line(&output).contains("use different files"),
            "{arguments:?}: {output:?}"
        );
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            "kept\n",
            "{arguments:?}"
        );
        assert!(!Path::new(&new).exists(), "{arguments:?}");
    }
    // Files that are not regular may serve several streams. On the command's standard output, the
    // report follows the program's output.
    let output = run(&[
        "--stdin",
        "/dev/null",
        "--stdout",
        "/dev/null",
        "--report",
        "/dev/null",
        "--",
        "true",
    ]);
    assert_eq!(status(&output), 0, "{output:?}");
    for arguments in [
        &["--report", "-"][..],
        &["--stderr", &file, "--report", "/dev/stdout"],
    ] {
        let own = std::fs::File::create(&file).unwrap();
        let mut command = Command::new(executable("millibox"));
        command
            .arg("run")
            .args(arguments)
            .args(["--", "sh", "-c", "echo a; echo b"])
            .stdin(Stdio::null())
            .stdout(own);
        assert!(command.status().unwrap().success());
        let all = std::fs::read_to_string(&file).unwrap();
        assert!(
            all.starts_with("a\nb\n{\"outcome\":\"exited\""),
            "{arguments:?}: {all}"
        );
    }
}
