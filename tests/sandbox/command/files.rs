//! Files that the command reads: policies, packages and submissions.

use super::{allow_rlimit_backend, fifo, line, package, run, shell, status, text};
use millibox_tests::{directory, executable};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn policy_in_documentation_is_accepted() {
    let page = include_str!("../../../docs/reference/seccomp.md");
    let policy = page
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    let dir = directory();
    let path = dir.path().join("policy.toml");
    std::fs::write(&path, policy).unwrap();
    let options = ["--seccomp", path.to_str().unwrap()];
    assert_eq!(status(&shell(&options, "exit 3")), 3);
    assert_ne!(
        status(&shell(&options, "/bin/true & wait $! && exit 0; exit 1")),
        0
    );
}

#[test]
fn policy_from_pipe_is_read_to_its_end() {
    let policy = "name = 'p'\ndescription = 'p'\ndefault = 'allow'\n";
    let mut child = Command::new(executable("millibox"))
        .args(["run", "--seccomp", "/dev/stdin", "--", "sh", "-c", "exit 5"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    // The policy arrives in two parts, some time after the command has opened the pipe.
    for part in [&policy[..20], &policy[20..]] {
        std::thread::sleep(Duration::from_millis(50));
        std::io::Write::write_all(&mut pipe, part.as_bytes()).unwrap();
    }
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert_eq!(status(&output), 5, "{output:?}");

    // The command opens the FIFO before any writer.
    let dir = directory();
    let fifo = fifo(dir.path());
    let child = Command::new(executable("millibox"))
        .args(["run", "--seccomp", &fifo, "--", "sh", "-c", "exit 5"])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(200));
    // The writer waits for a reader, and would wait forever if the command had closed the FIFO.
    let writer = std::thread::spawn(move || std::fs::write(&fifo, policy));
    let output = child.wait_with_output().unwrap();
    assert_eq!(status(&output), 5, "{output:?}");
    writer.join().unwrap().unwrap();
}

#[test]
fn policy_must_be_a_regular_file_or_pipe() {
    for other in ["/dev/null", "/dev"] {
        let output = run(&["--seccomp", other, "true"]);
        let message = line(&output);
        assert_eq!(
            (
                status(&output),
                message.contains("neither a regular file nor a pipe")
            ),
            (125, true),
            "{output:?}"
        );
    }
    // A policy that is too long is rejected, not truncated.
    let dir = directory();
    let long = dir.path().join("long").display().to_string();
    let comment = format!("# {}\n", "x".repeat(98)).repeat(11_000);
    std::fs::write(
        &long,
        format!("name = 'p'\ndescription = 'p'\ndefault = 'allow'\n{comment}no policy"),
    )
    .unwrap();
    let output = run(&["--seccomp", &long, "true"]);
    assert_eq!(
        (status(&output), line(&output).contains("longer than 1 MiB")),
        (125, true),
        "{output:?}"
    );
}

#[test]
fn fifo_in_place_of_regular_file_is_rejected() {
    let dir = directory();
    let fifo = fifo(dir.path());
    let package = package(dir.path());
    let mut wrong = vec![
        (vec!["judge", &fifo], 2),
        (vec!["problem", "validate", &fifo], 2),
    ];
    if let Some(package) = &package {
        wrong.push((vec!["judge", package, &fifo, "--language", "c++17"], 125));
    }
    for (arguments, expected) in wrong {
        let output = Command::new("timeout")
            .args(["-s", "KILL", "10"])
            .arg(executable("millibox"))
            .args(&arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(status(&output), expected, "{arguments:?}: {output:?}");
        let message = text(&output.stderr);
        assert!(
            message.contains(&fifo) && message.lines().count() == 1,
            "{arguments:?}: {message}"
        );
    }
}

#[test]
fn judge_with_control_characters_in_problem_name_escapes_them() {
    let dir = directory();
    let Some(package) = package(dir.path()) else {
        return;
    };
    let path = Path::new(&package);
    let description = std::fs::read_to_string(path.join("problem.yaml")).unwrap();
    let (begin, end) = description
        .split_once("name: ")
        .expect("the package's name");
    let end = end.split_once('\n').map_or("", |(_, end)| end);
    let named = format!("{begin}name: \"Strange \\e[31m\\e]0;title\\a\\u202e\"\n{end}");
    std::fs::write(path.join("problem.yaml"), named).unwrap();
    let accepted = path.join("submissions/accepted");
    let one = std::fs::read_dir(&accepted)
        .unwrap()
        .flatten()
        .find(|one| one.path().extension().is_some_and(|e| e == "cpp"));
    let Some(one) = one else {
        panic!("the package has no C++ program")
    };
    std::fs::copy(one.path(), dir.path().join("sol.cpp")).unwrap();

    // The submission is outside the package, but its path leads through the package. The time limit
    // is the longest possible.
    let html = dir.path().join("out.html").display().to_string();
    let mut judge = Command::new(executable("millibox"));
    judge
        .args(["judge", ".", "../sol.cpp", "--time-limit", "1d"])
        .args(allow_rlimit_backend());
    let output = judge.current_dir(path).output().unwrap();
    let message = text(&output.stdout);
    assert_eq!(status(&output), 0, "{output:?}");
    assert!(
        message.contains("Strange") && message.contains("sol.cpp"),
        "{message}"
    );
    assert!(
        !message.contains(['\x1b', '\x07', '\u{202e}']),
        "{message:?}"
    );

    // If one report cannot be written, the other is still written.
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    judge
        .args(["--report", "json", "-", "--report", "html", &html])
        .stdout(full);
    let output = judge.output().unwrap();
    assert_eq!(status(&output), 125, "{output:?}");
    assert!(
        std::fs::read_to_string(&html).is_ok_and(|page| page.contains("sol.cpp")),
        "{output:?}"
    );
}
