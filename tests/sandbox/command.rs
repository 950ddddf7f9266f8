//! The command `millibox`, tested from outside: exit status, streams, reports, signals, wrong
//! options.

use millibox_tests::{
    directory, ends_within, eventually, executable, has_cgroups_or_skips, is_root,
    processes_with_argument, set_mode, skip, status_mask, supervisor, token,
};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Runs `millibox run` with these arguments to its end.
fn run(arguments: &[&str]) -> Output {
    Command::new(executable("millibox"))
        .arg("run")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Runs a shell script with `millibox run`.
fn shell(options: &[&str], script: &str) -> Output {
    run(&[options, &["--", "sh", "-c", script]].concat())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn status(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

/// The single line on standard error.
fn line(output: &Output) -> String {
    let message = text(&output.stderr);
    assert!(
        message.ends_with('\n') && message.lines().count() == 1,
        "not one line: {message:?}"
    );
    assert!(message.starts_with("millibox: "), "{message:?}");
    message
}

/// Options that accept a CPU time limit without cgroups, where it applies to single processes.
fn allow_rlimit_backend() -> &'static [&'static str] {
    if supervisor().backend() == millibox::Backend::Rlimit {
        &["--backend", "rlimit"]
    } else {
        &[]
    }
}

fn read_report(path: &Path) -> serde_json::Value {
    let read = std::fs::read(path).unwrap();
    serde_json::from_slice(&read).unwrap_or_else(|error| panic!("{error}: {}", text(&read)))
}

#[test]
fn run_of_exiting_program_returns_its_exit_status() {
    for (script, expected) in [("exit 0", 0), ("exit 3", 3), ("exit 255", 255)] {
        let output = shell(&[], script);
        assert_eq!(
            (status(&output), text(&output.stderr)),
            (expected, String::new())
        );
    }
}

#[test]
fn run_of_killed_program_returns_128_plus_signal() {
    for (script, expected) in [
        ("kill -KILL $$", 137),
        ("kill -TERM $$", 143),
        ("kill -SEGV $$", 139),
    ] {
        let output = shell(&[], script);
        assert_eq!(status(&output), expected, "{output:?}");
        assert!(line(&output).contains("signal"), "{output:?}");
        assert_eq!(text(&shell(&["--quiet"], script).stderr), "");
    }
}

#[test]
fn run_over_time_limit_returns_124_and_names_limit() {
    let output = shell(&["--real-time-limit", "150ms"], "sleep 60");
    assert_eq!(
        (status(&output), line(&output).contains("150ms")),
        (124, true),
        "{output:?}"
    );
    let limits = ["--cpu-time-limit", "100ms", "--real-time-limit", "60s"];
    let output = shell(
        &[allow_rlimit_backend(), &limits].concat(),
        "while :; do :; done",
    );
    assert_eq!(
        (status(&output), line(&output).contains("100ms")),
        (124, true),
        "{output:?}"
    );
}

#[test]
fn run_over_memory_or_output_limit_returns_123() {
    let output = shell(
        &["--output-limit", "1000"],
        "while :; do echo 0123456789; done",
    );
    assert_eq!(
        (status(&output), output.stdout.len()),
        (123, 1000),
        "{}",
        text(&output.stderr)
    );
    if !has_cgroups_or_skips(&supervisor()) {
        return;
    }
    let eats = "head -c 100M /dev/zero > /tmp/file";
    let output = shell(&["--memory-limit", "32M"], eats);
    assert_eq!(
        (status(&output), line(&output).contains("32 MiB")),
        (123, true),
        "{output:?}"
    );
    assert_eq!(status(&shell(&["--memory-limit", "200M"], eats)), 0);
}

#[test]
fn run_of_missing_or_inexecutable_program_returns_127_or_126() {
    let dir = directory();
    let script = dir.path().join("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    set_mode(&script, 0o755);
    let plain = dir.path().join("plain");
    std::fs::write(&plain, "no program").unwrap();
    set_mode(&plain, 0o644);
    let ro = format!("{}:/dir", dir.path().display());
    for (program, expected) in [
        ("/no/such/program", 127),
        ("no-such-program", 127),
        ("/usr/bin/with spaces", 127),
        ("/usr/bin", 126),
        ("/dir/plain", 126),
        ("/dir/script", 126),
    ] {
        let output = run(&["--ro", &ro, "--", program]);
        assert_eq!(status(&output), expected, "{program}: {output:?}");
        assert!(line(&output).contains(program), "{program}: {output:?}");
        assert!(
            !line(&output).contains("Program::Search"),
            "{program}: {output:?}"
        );
    }
    let output = run(&["--env", "PATH=/a:/b", "no-such-program"]);
    for part in ["no-such-program", "/a:/b", "(os error 2)", "--env PATH="] {
        assert!(line(&output).contains(part), "{part}: {output:?}");
    }
}

#[test]
fn run_of_missing_program_names_path_and_remedy() {
    let dir = directory();
    let expected = dir
        .path()
        .canonicalize()
        .unwrap()
        .join("none")
        .display()
        .to_string();
    let ro = format!("{}:/dir", dir.path().display());
    for (options, program) in [
        (&[][..], "./none"),
        (&[], &*expected),
        (&["--ro", &ro], "./none"),
    ] {
        let mut command = Command::new(executable("millibox"));
        command
            .arg("run")
            .args(options)
            .args(["--", program])
            .current_dir(dir.path())
            .stdin(Stdio::null());
        let output = command.output().unwrap();
        let message = line(&output);
        assert_eq!(status(&output), 127, "{message}");
        assert!(
            message.contains(&format!(" {program}: ")) && message.contains("(os error 2)"),
            "{message}"
        );
        // The remedy contains the path of the host once more.
        assert_eq!(
            message.matches(&expected).count(),
            1 + usize::from(program == expected),
            "{message}"
        );
    }
    // Here the program is looked up only in the world.
    for (options, program) in [
        (&[][..], "/usr/bin/none"),
        (&["--ro", &ro, "--cwd", "/dir"], "./none"),
    ] {
        let output = run(&[options, &["--", program]].concat());
        let message = line(&output);
        assert_eq!(status(&output), 127, "{message}");
        assert!(
            message.contains(&format!(" {program}: ")) && message.contains("(os error 2)"),
            "{message}"
        );
        assert_eq!(
            message.matches("/none").count(),
            1,
            "the message contains a path of the host: {message}"
        );
    }
}

#[test]
fn run_of_program_closed_to_sandbox_user_names_mode() {
    if !is_root() {
        return skip("only a sandbox that root starts has a different user");
    }
    let dir = directory();
    set_mode(dir.path(), 0o755);
    let (program, open) = (dir.path().join("program"), dir.path().join("open"));
    for (path, mode) in [(&program, 0o700), (&open, 0o755)] {
        std::fs::copy("/bin/true", path).unwrap();
        set_mode(path, mode);
    }
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    std::fs::copy("/bin/true", dir.path().join("sub/program")).unwrap();
    set_mode(&dir.path().join("sub"), 0o700);
    let (program, ro) = (
        program.display().to_string(),
        format!("{}:/dir", dir.path().display()),
    );
    for (arguments, closed) in [
        (&[&*program][..], "program (mode 700)"),
        (&["--ro", &ro, "/dir/program"], "program (mode 700)"),
        (&["--ro", &ro, "/dir/sub/program"], "sub (mode 700)"),
    ] {
        let output = run(arguments);
        assert_eq!(status(&output), 126, "{arguments:?}: {output:?}");
        let message = line(&output);
        assert!(
            message.contains(&format!("/{closed}")) && message.contains("chmod o+x"),
            "{message}"
        );
        // The remedy for other causes is missing.
        assert!(!message.contains("noexec"), "{message}");
    }
    assert_eq!(status(&run(&[open.to_str().unwrap()])), 0);
    for (source, directory) in [("sub", "/dir"), ("", "/dir/sub")] {
        let ro = format!("{}:/dir", dir.path().join(source).display());
        let output = run(&["--ro", &ro, "--cwd", directory, "--", "true"]);
        let message = line(&output);
        assert_eq!(status(&output), 125, "{message}");
        assert!(
            message.contains(&format!(" {directory}: ")) && message.contains("(os error 13)"),
            "{message}"
        );
        assert!(
            message.contains("/sub (mode 700)") && message.contains("chmod o+x"),
            "{message}"
        );
    }
}

#[test]
fn run_with_low_open_files_limit_names_ulimit() {
    let run = |most: u32| {
        let mut command = Command::new("prlimit");
        command
            .arg(format!("--nofile={most}"))
            .arg(executable("millibox"));
        command
            .args(["run", "--", "true"])
            .stdin(Stdio::null())
            .output()
    };
    if !run(1024).is_ok_and(|output| output.status.success()) {
        return skip("prlimit(1) is missing");
    }
    let mut rejected = 0;
    for most in 4..32 {
        let output = run(most).unwrap();
        let message = text(&output.stderr);
        if message.contains("(os error 24)") {
            rejected += 1;
            assert!(message.contains("ulimit -n"), "{most}: {message}");
        }
    }
    assert!(rejected > 0);
}

#[test]
fn run_of_unsearchable_path_differs_from_missing_path() {
    let dir = directory();
    set_mode(dir.path(), 0o755);
    let closed = dir.path().join("closed");
    std::fs::create_dir_all(closed.join("sub")).unwrap();
    let plain = dir.path().join("plain");
    std::fs::write(&plain, "").unwrap();
    let run_as = |uid: u32, program: &Path| {
        let mut command = Command::new(executable("millibox"));
        command
            .args(["run", "--"])
            .arg(program)
            .stdin(Stdio::null());
        if uid != 0 {
            command.uid(uid).gid(uid);
        }
        command.output()
    };
    let below_file = run_as(0, &plain.join("program")).unwrap();
    assert_eq!(
        (
            status(&below_file),
            line(&below_file).contains("(os error 20)")
        ),
        (127, true),
        "{below_file:?}"
    );
    set_mode(&closed, 0);
    // Root can search every directory.
    let as_user = run_as(
        if is_root() { 54321 } else { 0 },
        &closed.join("sub/program"),
    );
    set_mode(&closed, 0o755);
    match as_user {
        Err(_) => skip("another user cannot execute the command here"),
        Ok(output) => {
            assert_eq!(
                (status(&output), line(&output).contains("(os error 13)")),
                (126, true),
                "{output:?}"
            );
            let named = format!("{}: chmod +x", closed.display());
            assert!(line(&output).contains(&named), "{output:?}");
        }
    }
}

#[test]
fn run_with_invalid_value_reports_one_line_with_option() {
    let wrong: [&[&str]; 40] = [
        &["--real-time-limit", "soon"],
        &["--real-time-limit", "-1s"],
        &["--cpu-time-limit", ""],
        &["--memory-limit", "0"],
        &["--memory-limit", "64Q"],
        &["--memory-limit", "-1"],
        &["--memory-limit", "99999999999999999999"],
        &["--swap-limit", "1M"],
        &["--process-limit", "0"],
        &["--process-limit", "many"],
        &["--output-limit", "x"],
        &["--cpu-bandwidth", "1ms"],
        &["--cpu-bandwidth", "1us/100ms"],
        &["--cpu-bandwidth", "1ms/10s"],
        &["--cpu-bandwidth", "5000h/100ms"],
        &["--rlimit", "STACK"],
        &["--rlimit", "NOSUCH=1"],
        &["--rlimit", "NOFILE=-1"],
        &["--cpus", "a"],
        &["--cpus", "3-1"],
        &["--cpus", "99999"],
        &["--ro", "/no/such/directory"],
        &["--rw", ":/x"],
        &["--ro", "/usr:relative"],
        &["--tmpfs", "/tmp:0"],
        &["--tmpfs", "tmp"],
        &["--tmpfs", "/tmp:1M:0"],
        &["--tmpfs", "/tmp:1M:4000000000000000000"],
        &["--proc", "proc"],
        &["--dev", "/dev/../dev"],
        &["--uid", "-1"],
        &["--gid", "root"],
        &["--cwd", "relative"],
        &["--env", "=x"],
        &["--env", "NOVALUE"],
        &["--net", "host"],
        &["--seccomp", "/no/such/policy"],
        &["--backend", "best"],
        &["--stdin", "/no/such/file"],
        &["--stdout", "/no/such/directory/file"],
    ];
    for arguments in wrong {
        let output = run(&[arguments, &["--", "/bin/echo", "started"]].concat());
        assert_eq!(
            (status(&output), text(&output.stdout)),
            (125, String::new()),
            "{arguments:?}: {output:?}"
        );
        let message = line(&output);
        // The supervisor looks up the sources of binds. It knows the path, but not the option.
        assert!(
            message.contains(arguments[0]) || message.contains(arguments[1]),
            "{arguments:?}: {message}"
        );
    }
}

#[test]
fn rlimit_given_twice_for_one_name_returns_error() {
    let arguments = [
        "run",
        "--rlimit",
        "NOFILE=64",
        "--rlimit",
        "rlimit_nofile=32",
        "true",
    ];
    let output = Command::new(executable("millibox"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let is_named = line(&output).contains("--rlimit NOFILE: given more than once");
    assert_eq!((status(&output), is_named), (125, true), "{output:?}");
}

#[test]
fn value_above_maximum_reports_maximum() {
    let too_large: [(&[&str], &str); 6] = [
        (
            &["run", "--process-limit", "4294967295", "true"],
            "4194301 at most",
        ),
        (
            &["run", "--process-limit", "4194302", "true"],
            "4194301 at most",
        ),
        (
            &["run", "--process-limit", "99999999999999999999", "true"],
            "4194301 at most",
        ),
        (
            &["run", "--memory-limit", "99999999999999999999", "true"],
            "too large",
        ),
        (&["judge", "--jobs", "513", "."], "512 at most"),
        (
            &["run", "--process-limit", "x", "true"],
            "a whole number from 1 to 4194301",
        ),
    ];
    for (arguments, expected) in too_large {
        let output = Command::new(executable("millibox"))
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(status(&output), 125, "{arguments:?}: {output:?}");
        let message = line(&output);
        assert!(
            message.contains(arguments[1]) && message.contains(expected),
            "{arguments:?}: {message}"
        );
    }
    if has_cgroups_or_skips(&supervisor()) {
        assert_eq!(
            status(&shell(&["--process-limit", "4194301"], "true")),
            0,
            "the maximum is rejected"
        );
    }
}

#[test]
fn memory_limit_too_small_for_any_program_names_option() {
    for (size, expected) in [
        ("64", "64 bytes are too few for any program; 64 MiB are 64M"),
        ("0", "at least 1M"),
        ("64K", "at least 1M"),
    ] {
        let output = run(&[
            allow_rlimit_backend(),
            &["--memory-limit", size, "--", "true"],
        ]
        .concat());
        assert_eq!(status(&output), 125, "{size}: {output:?}");
        assert!(
            line(&output).contains("--memory-limit") && line(&output).contains(expected),
            "{size}: {output:?}"
        );
    }
}

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
        "cat; echo complaint >&2; ls /proc/1",
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

    // A file that is given for both streams, under any name or inherited, receives both in order.
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
                && message.contains("leave the option out")
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
    // Standard input or output of the command itself is a file, as with redirections of a shell.
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
            "standard input comes from there already",
        ),
        (
            &["--report", &file],
            &[&*file],
            none,
            "standard input comes from there already",
        ),
        (
            &["--stdout", &file, "--report", &dotted],
            none,
            none,
            "standard output goes there already",
        ),
        (
            &["--stderr", &link, "--report", &file],
            none,
            none,
            "standard error goes there already",
        ),
        (
            &["--stdout", &new, "--report", &new],
            none,
            none,
            "standard output goes there already",
        ),
        (
            &["--report", &file],
            none,
            &[&*file],
            "standard output goes there already",
        ),
        (
            &["--stdout", &file, "--report", "-"],
            none,
            &[&*file],
            "standard output goes there already",
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
            line(&output).contains(what) && line(&output).contains("of its own"),
            "{arguments:?}: {output:?}"
        );
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            "kept\n",
            "{arguments:?}"
        );
        assert!(!Path::new(&new).exists(), "{arguments:?}");
    }
    // Other files than regular ones may serve several streams. On the command's standard output,
    // the report follows the program's output.
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

#[test]
fn run_options_build_the_requested_world() {
    let dir = directory();
    std::fs::write(dir.path().join("note"), "of the host\n").unwrap();
    set_mode(dir.path(), 0o777);
    let host = dir.path().display().to_string();
    let says = |options: &[&str], script: &str| {
        let output = shell(options, script);
        assert_eq!(text(&output.stderr), "", "{options:?}");
        text(&output.stdout)
    };
    assert_eq!(
        says(&[], "ls -A /tmp /dev").replace('\n', " "),
        "/dev: fd full null random stderr stdin stdout urandom zero  /tmp: "
    );
    assert!(
        !Path::new("/etc/passwd").exists()
            || status(&shell(&[], "cat /etc/passwd 2>/dev/null")) == 1
    );
    assert_eq!(
        says(
            &["--ro", &format!("{host}:/given")],
            "cat /given/note; touch /given/x 2>/dev/null || echo no"
        ),
        "of the host\nno\n"
    );
    says(
        &["--rw", &format!("{host}:/given")],
        "echo changed > /given/left",
    );
    assert_eq!(
        std::fs::read_to_string(dir.path().join("left")).unwrap(),
        "changed\n"
    );
    assert_eq!(
        says(
            &["--tmpfs", "/work:64K", "--cwd", "/work"],
            "pwd; head -c 1M /dev/zero 2>&1 > x; stat -c %s x"
        ),
        "/work\nhead: error writing 'standard output': No space left on device\n65536\n"
    );
    assert_eq!(
        says(
            &["--proc", "/proc"],
            "readlink /proc/self | grep -cx '[0-9]*'; ls -d /proc/1"
        ),
        "1\n/proc/1\n"
    );
    assert_eq!(
        says(&["--uid", "123", "--gid", "45"], "id -u; id -g"),
        "123\n45\n"
    );
    assert_eq!(
        says(
            &["--env", "A=1", "--env", "B=x y", "--env", "A=2"],
            "echo $A $B; env | grep -c ="
        ),
        "2 x y\n3\n"
    );
    assert_eq!(
        says(
            &["--rlimit", "NOFILE=64", "--rlimit", "STACK=1M"],
            "ulimit -n; ulimit -s"
        ),
        "64\n1024\n"
    );
    assert_eq!(says(&["--cpus", "0"], "nproc"), "1\n");
    let output = run(&["--bare", "--", "/bin/true"]);
    assert_eq!(
        status(&output),
        126,
        "a dynamic program ran without its loader: {output:?}"
    );
}

#[test]
fn process_limit_counts_processes() {
    if !has_cgroups_or_skips(&supervisor()) {
        return;
    }
    let forks = "(true) && echo forked";
    assert_eq!(status(&shell(&["--process-limit", "1"], forks)), 2);
    assert_eq!(
        text(&shell(&["--process-limit", "2"], forks).stdout),
        "forked\n"
    );
}

#[test]
fn every_outcome_writes_its_report() {
    let dir = directory();
    let path = dir.path().join("report.json");
    let name = path.display().to_string();
    let run_with = |options: &[&str], program: &[&str]| {
        let output = run(&[options, &["--report", &name, "--"], program].concat());
        (read_report(&path), output)
    };
    let (report, _) = run_with(&[], &["sh", "-c", "exit 7"]);
    assert_eq!(
        (&report["outcome"], &report["exit_code"], &report["signal"]),
        (&"exited".into(), &7.into(), &().into())
    );
    assert!(
        report["real_time_ns"].as_u64().unwrap() > 0 && report["peak_memory_bytes"].is_u64(),
        "{report}"
    );
    assert!(
        ["hybrid", "cgroup2", "rlimit"].contains(&report["backend"].as_str().unwrap()),
        "{report}"
    );
    let (report, _) = run_with(&[], &["sh", "-c", "kill -9 $$"]);
    assert_eq!(
        (&report["outcome"], &report["exit_code"], &report["signal"]),
        (&"signaled".into(), &().into(), &9.into())
    );
    let (report, _) = run_with(&["--real-time-limit", "50ms"], &["sleep", "60"]);
    assert_eq!(report["outcome"], "real_time_limit");
    assert!(
        report["real_time_ns"].as_u64().unwrap() >= 50_000_000,
        "{report}"
    );
    let (report, _) = run_with(
        &[allow_rlimit_backend(), &["--cpu-time-limit", "50ms"]].concat(),
        &["sh", "-c", "while :; do :; done"],
    );
    assert_eq!(report["outcome"], "cpu_time_limit");
    let (report, _) = run_with(&["--output-limit", "10"], &["yes"]);
    assert_eq!(report["outcome"], "output_limit");
    let (report, _) = run_with(&[], &["/no/such/program"]);
    assert_eq!(
        (
            &report["outcome"],
            &report["error"]["step"],
            &report["error"]["errno"]
        ),
        (&"not_started".into(), &"exec".into(), &2.into())
    );
    let (report, output) = run_with(
        &["--backend", "hybrid", "--cgroup-parent", "/no/such/cgroup"],
        &["true"],
    );
    assert_eq!(
        (&report["outcome"], status(&output)),
        (&"sandbox_error".into(), 125),
        "{report}"
    );
    assert!(
        report["error"]["message"]
            .as_str()
            .unwrap()
            .contains("hybrid"),
        "{report}"
    );
    let (report, output) = run_with(&["--cwd", "/no/such/directory"], &["true"]);
    assert_eq!(
        (&report["error"]["step"], status(&output)),
        (&"working_directory".into(), 125),
        "{report}"
    );
    assert!(
        report["error"]["message"]
            .as_str()
            .unwrap()
            .contains("/no/such/directory"),
        "{report}"
    );

    let output = run(&[
        "--report",
        "-",
        "--stdout",
        "/dev/null",
        "--",
        "echo",
        "discarded",
    ]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["outcome"], "exited", "{output:?}");
}

/// Otherwise, a reader would take the outcome of an earlier run for that of this run.
#[test]
fn failed_run_overwrites_old_report() {
    let dir = directory();
    let path = dir.path().join("report.json");
    let (name, input) = (
        path.display().to_string(),
        dir.path().join("in").display().to_string(),
    );
    std::fs::write(&input, "kept").unwrap();
    let report = |arguments: &[&str]| {
        std::fs::write(&path, "old").unwrap();
        let output = run(arguments);
        assert_eq!(status(&output), 125, "{arguments:?}: {output:?}");
        (std::fs::read_to_string(&path).unwrap(), output)
    };
    for (arguments, what) in [
        (
            &["--report", &*name, "--cwd", "relative", "--", "true"][..],
            "--cwd",
        ),
        (
            &["--cwd", "relative", "--report", &name, "--", "true"],
            "--cwd",
        ),
        (
            &[
                "--ro",
                "/no/such/directory",
                "--report",
                &name,
                "--",
                "true",
            ],
            "--ro",
        ),
        (
            &[
                "--memory-limit",
                "-1",
                "--report",
                &name,
                "true",
                "--ro",
                "x",
            ],
            "--memory-limit",
        ),
        (
            &["--net", "host", "--quiet", "--report", &name, "true"],
            "--net",
        ),
        (
            &["--uid", "1", "--uid", "2", "--report", &name, "true"],
            "--uid",
        ),
        (&["--report", &name, "--"], "PROGRAM"),
        (&["--report", &name, "--", ""], "PROGRAM"),
        (
            &["--report", &name, "--swap-limit", "1M", "true"],
            "--swap-limit",
        ),
        (
            &[
                "--report", &name, "--stdin", &input, "--stdout", &input, "true",
            ],
            "emptied before it is read",
        ),
    ] {
        let (report, output) = report(arguments);
        let report: serde_json::Value =
            serde_json::from_str(&report).unwrap_or_else(|_| panic!("{arguments:?}: {report}"));
        assert_eq!(
            (&report["outcome"], &report["error"]["step"]),
            (&"sandbox_error".into(), &"options".into())
        );
        let why = report["error"]["message"].as_str().unwrap();
        assert!(why.contains(what), "{arguments:?}: {report}");
        // Standard error contains the same message.
        assert_eq!(line(&output).trim_end(), format!("millibox: {why}"));
    }
    // A file that also serves another stream is not overwritten. For an unknown option, the command
    // cannot know whether the next argument is its value.
    for arguments in [
        &[
            "--stdout", &*name, "--report", &name, "--cwd", "relative", "true",
        ][..],
        &[
            "--stdin", &name, "--report", &name, "--cwd", "relative", "true",
        ],
        &["--no-such-option", "--report", &name, "true"],
        &["--cwd", "relative", "--", "true", "--report", &name],
    ] {
        assert_eq!(report(arguments).0, "old", "{arguments:?}");
    }
    assert_eq!(std::fs::read_to_string(&input).unwrap(), "kept");
}

/// Returns whether SIGHUP is ignored, as by nohup(1). The command then keeps ignoring it.
fn ignores_hangups() -> bool {
    let ignores = status_mask("self", "SigIgn").unwrap() & 1 != 0;
    if ignores {
        skip("SIGHUP is ignored here");
    }
    ignores
}

#[test]
fn signal_to_run_command_kills_the_run() {
    let dir = directory();
    for (signal, expected) in [("INT", 130), ("QUIT", 131), ("TERM", 143), ("HUP", 129)] {
        if signal == "HUP" && ignores_hangups() {
            continue;
        }
        let token = token();
        let path = dir.path().join(format!("{signal}.json"));
        let mut command = Command::new(executable("millibox"))
            .args(["run", "--report"])
            .arg(&path)
            .args([
                "--",
                "sh",
                "-c",
                "trap '' INT TERM HUP; sleep 600 & echo ready; while :; do sleep 600; done",
                &token,
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = command.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 6]).unwrap();
        assert!(!processes_with_argument(&token).is_empty());
        let signal_number = expected - 128;
        millibox_tests::kill(
            command.id() as i32,
            rustix::process::Signal::from_named_raw(signal_number).unwrap(),
        );
        let output = command.wait_with_output().unwrap();
        assert_eq!(
            (status(&output), &read_report(&path)["outcome"]),
            (expected, &"killed".into()),
            "{signal}: {output:?}"
        );
        assert!(line(&output).contains(signal), "{output:?}");
        let is_gone = eventually(Duration::from_secs(10), || {
            processes_with_argument(&token).is_empty()
        });
        assert!(is_gone, "{signal}: {:?}", processes_with_argument(&token));
    }
}

#[test]
fn policy_in_documentation_is_accepted() {
    let page = include_str!("../../docs/reference/seccomp.md");
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
fn doctor_reports_its_checks_as_json() {
    let output = Command::new(executable("millibox"))
        .args(["doctor", "--json"])
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    assert!(checks.len() > 5, "{report}");
    for check in checks {
        assert!(
            check["name"].is_string() && check["ok"].is_boolean(),
            "{check}"
        );
    }
    // Success promises all limits. Otherwise, a check has a remedy.
    let remedies = checks
        .iter()
        .filter(|check| check["ok"] == false && check["remedy"].is_string())
        .count();
    assert!(output.status.success() || remedies > 0, "{report}");
    if output.status.success() {
        assert_eq!(
            status(&shell(
                &[
                    "--memory-limit",
                    "64M",
                    "--process-limit",
                    "9",
                    "--cpu-time-limit",
                    "9s"
                ],
                "exit 0"
            )),
            0
        );
    }
}

#[test]
fn doctor_with_backend_option_names_what_the_option_costs() {
    let doctor = |arguments: &[&str]| {
        let output = Command::new(executable("millibox"))
            .arg("doctor")
            .args(arguments)
            .output()
            .unwrap();
        (status(&output), text(&output.stdout))
    };
    let report: serde_json::Value = serde_json::from_str(&doctor(&["--json"]).1).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let works = |backend: &str| {
        checks
            .iter()
            .any(|check| check["ok"] == true && check["name"] == backend)
    };
    let trees = ["cgroup2", "hybrid"];
    let best = trees
        .into_iter()
        .find(|backend| works(&format!("backend {backend}")));
    let held = best.map_or_else(String::new, |best| {
        format!("; without the option, runs are held by {best}")
    });
    for backend in trees
        .into_iter()
        .filter(|backend| works("backend rlimit") && !works(&format!("backend {backend}")))
    {
        let (status, message) = doctor(&["--backend", backend]);
        let last =
            format!("\nWith the backend {backend}, no program can be run here: see above{held}.\n");
        assert!(status == 1 && message.ends_with(&last), "{message}");
        let mut lines = message
            .lines()
            .skip_while(|line| !line.starts_with(&format!("✗ backend {backend}: ")));
        let remedy = lines.nth(1).unwrap_or_default().trim();
        let instead = best.map(|best| format!("leave --backend {backend} out: {best} works here"));
        assert!(instead.is_none_or(|instead| remedy == instead), "{message}");
    }
    let Some(best) = best else {
        return skip("no cgroups are available");
    };
    let (status, message) = doctor(&["--backend", "rlimit"]);
    let last = format!(
        "because of --backend rlimit only the limits of single processes can be had{held}.\n"
    );
    assert!(status == 1 && message.ends_with(&last), "{message}");
    assert!(
        doctor(&["--backend", best])
            .1
            .contains(&format!("uns are held by {best}"))
    );
}

#[test]
fn doctor_under_resource_limit_names_the_limit() {
    let doctor = |limit: &str| {
        let mut command = Command::new("prlimit");
        command
            .arg(limit)
            .arg(executable("millibox"))
            .args(["doctor", "--json"])
            .stdin(Stdio::null());
        if is_root() {
            // A limit on processes does not apply to root.
            command.uid(54321).gid(54321);
        }
        command
            .output()
            .ok()
            .and_then(|output| serde_json::from_slice::<serde_json::Value>(&output.stdout).ok())
    };
    // The version 2 backend may fail for other reasons.
    let failures = |report: &serde_json::Value| {
        let failed =
            |check: &&serde_json::Value| check["ok"] == false && check["name"] != "backend cgroup2";
        report["checks"]
            .as_array()
            .unwrap()
            .iter()
            .find(failed)
            .map(|check| check["remedy"].to_string())
    };
    if doctor("--nofile=1024").is_none_or(|report| report["backend"].is_null()) {
        return skip(
            "prlimit(1) is missing, or another user cannot run programs in the sandbox here",
        );
    }
    for (limit, remedy) in [
        ("--nofile=8", "ulimit -n"),
        ("--nofile=16", "ulimit -n"),
        ("--nproc=5", "ulimit -u"),
    ] {
        let report = doctor(limit).unwrap();
        assert!(
            failures(&report).is_some_and(|message| message.contains(remedy)),
            "{limit}: {report}"
        );
    }
}

#[test]
fn doctor_with_inexecutable_supervisor_reports_only_that() {
    let dir = directory();
    let supervisor = dir.path().join("millibox-supervisor");
    std::fs::write(&supervisor, "").unwrap();
    set_mode(&supervisor, 0o644);
    let mut command = Command::new(executable("millibox"));
    let output = command
        .args(["doctor", "--json"])
        .env("MILLIBOX_SUPERVISOR", &supervisor)
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    assert_eq!(
        (status(&output), checks.len()),
        (1, 1),
        "no other check is possible: {report}"
    );
    assert_eq!(
        (&checks[0]["name"], &checks[0]["ok"]),
        (&"supervisor".into(), &false.into()),
        "{report}"
    );
    let says = |key: &str, part: &str| {
        checks[0][key]
            .as_str()
            .is_some_and(|text| text.contains(part))
    };
    assert!(
        says("detail", supervisor.to_str().unwrap()) && says("remedy", "chmod"),
        "{report}"
    );
}

#[test]
fn wrong_supervisor_executable_is_reported_with_its_source() {
    let with = |supervisor: &str, arguments: &[&str]| {
        let mut command = Command::new(executable("millibox"));
        command
            .args(arguments)
            .env("MILLIBOX_SUPERVISOR", supervisor)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    for (path, why) in [
        ("/bin/true", "(exit status 0)"),
        ("/bin/false", "(exit status 1)"),
        ("/bin/ls", "this version: "),
        (executable("millibox").to_str().unwrap(), "this version: "),
        ("/no/such/file", "(os error 2); MILLIBOX_SUPERVISOR "),
    ] {
        let output = with(path, &["run", "--", "true"]);
        assert_eq!(status(&output), 125, "{output:?}");
        // The message is one line, regardless of the executable's output.
        let message = line(&output);
        assert!(
            message.contains(&format!("{path} (MILLIBOX_SUPERVISOR)")) && message.contains(why),
            "{message}"
        );
        assert!(!message.contains("set MILLIBOX_SUPERVISOR"), "{message}");

        let output = with(path, &["doctor", "--json"]);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let checks = report["checks"].as_array().unwrap();
        assert_eq!(
            (status(&output), checks.len()),
            (1, 1),
            "no other check is possible: {report}"
        );
        assert_eq!(
            (&checks[0]["name"], &checks[0]["ok"]),
            (&"supervisor".into(), &false.into()),
            "{report}"
        );
        assert!(
            checks[0]["remedy"]
                .as_str()
                .is_some_and(|remedy| remedy.contains("or unset it")),
            "{report}"
        );
    }
    // An empty variable counts as unset.
    let mut command = Command::new(executable("millibox"));
    command
        .env("MILLIBOX_SUPERVISOR", "")
        .env("MILLIBOX_CGROUP_PARENT", "");
    let output = command
        .args(["run", "--", "true"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(status(&output), 0, "{output:?}");

    match millibox::Supervisor::builder()
        .executable("/bin/true")
        .start()
    {
        Err(millibox::Error::NotSupervisor { path, named_by, .. }) => {
            assert_eq!(
                (path.to_str(), named_by),
                (Some("/bin/true"), Some("Builder::executable"))
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn missing_supervisor_is_reported_with_build_instructions() {
    let dir = directory();
    set_mode(dir.path(), 0o755);
    let alone = dir.path().join("millibox");
    std::fs::copy(executable("millibox"), &alone).unwrap();
    let mut command = Command::new(&alone);
    // PATH names the executable's own directory, and a missing directory twice.
    let here = dir.path().display().to_string();
    command
        .env_remove("MILLIBOX_SUPERVISOR")
        .env("PATH", format!("{here}:/no/such:/no/such"));
    let output = command
        .args(["run", "--", "true"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let message = line(&output);
    assert_eq!(status(&output), 125, "{message}");
    for arguments in [
        "cargo build --release --bin millibox-supervisor",
        "make install",
        "MILLIBOX_SUPERVISOR",
    ] {
        assert!(message.contains(arguments), "{message}");
    }
    for dir in [&*here, "/no/such"] {
        assert_eq!(
            message
                .matches(&format!("{dir}/millibox-supervisor"))
                .count(),
            1,
            "{message}"
        );
    }
}

#[test]
fn signal_to_languages_command_ends_it_without_leftovers() {
    let dir = directory();
    set_mode(dir.path(), 0o755);
    std::fs::create_dir(dir.path().join("tmp")).unwrap();
    let token = token();
    let suite = format!(
        "name = \"slow\"\ntitle = \"Slow\"\nextensions = [\"slow\"]\n\n[tool.bash]\npackage = \
         \"bash\"\n\n[compile]\ncommand = [\"{{bash}}\", \"-c\", \"sleep 60; :\", \
         \"{token}\"]\nproduct = \"sources\"\n\n[run]\ncommand = [\"{{bash}}\", \
         \"{{main}}\"]\n\n[example]\nfile = \"x.slow\"\nsource = \"echo\"\n"
    );
    std::fs::write(dir.path().join("slow.toml"), suite).unwrap();
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT] {
        let child = Command::new(executable("millibox"))
            .args(["languages", "--try", "slow", "--suites"])
            .arg(dir.path())
            .env("TMPDIR", dir.path().join("tmp"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let compiles = eventually(Duration::from_secs(60), || {
            !processes_with_argument(&token).is_empty()
        });
        millibox_tests::kill(child.id() as i32, signal);
        let output = child.wait_with_output().unwrap();
        assert!(compiles, "{output:?}");
        assert_eq!(status(&output), 128 + signal.as_raw(), "{output:?}");
        assert!(
            line(&output).contains("told to end") && output.stdout.is_empty(),
            "{output:?}"
        );
        let left = std::fs::read_dir(dir.path().join("tmp")).unwrap().count();
        assert_eq!(left, 0, "files remain");
    }
}

/// Creates a problem package. Returns `None` if its programs cannot be compiled here.
fn package(dir: &Path) -> Option<String> {
    if Command::new("g++").arg("--version").output().is_err() {
        skip("g++ is missing, which the package needs");
        return None;
    }
    let package = dir.join("sums").display().to_string();
    let output = Command::new(executable("millibox"))
        .args(["problem", "init", "--no-gen", &package])
        .output()
        .unwrap();
    assert_eq!(status(&output), 0, "{output:?}");
    Some(package)
}

#[test]
fn help_is_printed_for_every_way_of_asking() {
    let run_with = |arguments: &[&str]| {
        Command::new(executable("millibox"))
            .args(arguments)
            .output()
            .unwrap()
    };
    for arguments in [
        &["help", "run"][..],
        &["help", "run", "--help"],
        &["help", "--help"],
        &["problem", "help", "gen", "-h"],
    ] {
        let output = run_with(arguments);
        assert_eq!(
            (status(&output), text(&output.stderr)),
            (0, String::new()),
            "{arguments:?}: {output:?}"
        );
        assert!(
            text(&output.stdout).contains("Usage: millibox"),
            "{arguments:?}: {output:?}"
        );
    }
    // The help names the variable that replaces an option, and states what may take longer than the
    // limits.
    let message = text(&run_with(&["run", "--help"]).stdout);
    assert!(
        message.contains("MILLIBOX_CGROUP_PARENT") && message.contains("A FIFO is waited for"),
        "{message}"
    );
    let output = run_with(&["judge", ".", "--language", "c++17"]);
    assert_eq!(
        (status(&output), line(&output).contains("name a SUBMISSION")),
        (125, true),
        "{output:?}"
    );
}

#[test]
fn problem_commands_without_runs_need_no_supervisor() {
    let dir = directory();
    let (package, packed) = (
        dir.path().join("sums").display().to_string(),
        dir.path().join("sums.zip"),
    );
    for arguments in [
        &["init", "--no-gen", &package][..],
        &["zip", "--force", &package],
        &["clean", &package],
    ] {
        let mut command = Command::new(executable("millibox"));
        let output = command
            .arg("problem")
            .args(arguments)
            .env("MILLIBOX_SUPERVISOR", "/no/such/file")
            .output()
            .unwrap();
        assert_eq!(status(&output), 0, "{arguments:?}: {output:?}");
    }
    assert!(packed.is_file());
}

#[test]
fn output_to_full_device_returns_error() {
    let dir = directory();
    let new = dir.path().join("new").display().to_string();
    let mut all = vec![
        vec!["problem", "init", "--no-gen", &new],
        vec!["completions", "bash"],
    ];
    all.extend([vec!["doctor", "--json"], vec!["doctor", "--separate-pid1"]]);
    all.extend([
        vec!["run", "--help"],
        vec!["help", "judge"],
        vec!["--help", ""],
        vec!["--version", ""],
    ]);
    let package = package(dir.path());
    if let Some(package) = &package {
        all.extend([
            vec!["problem", "validate", package],
            vec!["problem", "zip", "--force", package],
            vec!["problem", "clean", package],
            vec!["problem", "gen", "--json", package],
            vec!["problem", "limits", package],
        ]);
    }
    for mut arguments in all {
        if matches!(arguments[1], "validate" | "gen" | "limits") {
            // These commands run programs.
            arguments.extend(allow_rlimit_backend());
        }
        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let output = Command::new(executable("millibox"))
            .args(&arguments)
            .stdout(full)
            .output()
            .unwrap();
        assert_eq!(status(&output), 125, "{arguments:?}: {output:?}");
        assert!(
            line(&output).contains("cannot write to standard output"),
            "{arguments:?}: {output:?}"
        );
    }
}

#[test]
fn invalid_cgroup_parent_variable_is_named_in_message() {
    use std::os::unix::ffi::OsStrExt;
    for (value, what) in [
        (
            &b"a/b"[..],
            "MILLIBOX_CGROUP_PARENT=a/b: must be an absolute path",
        ),
        (
            b"/no/such/cgroup",
            "; MILLIBOX_CGROUP_PARENT says /no/such/cgroup",
        ),
        (b"\xff", "MILLIBOX_CGROUP_PARENT: "),
    ] {
        if value.starts_with(b"/") && !is_root() {
            // For other users, cgroups may be unusable for another reason.
            continue;
        }
        let mut command = Command::new(executable("millibox"));
        command.env("MILLIBOX_CGROUP_PARENT", std::ffi::OsStr::from_bytes(value));
        let output = command.args(["run", "true"]).output().unwrap();
        assert_eq!(status(&output), 125, "{output:?}");
        assert!(
            line(&output).contains(what) && !line(&output).contains("--cgroup-parent="),
            "{output:?}"
        );
        let mut command = Command::new(executable("millibox"));
        command.env("MILLIBOX_CGROUP_PARENT", std::ffi::OsStr::from_bytes(value));
        let output = command.args(["doctor", "--json"]).output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        for check in report["checks"].as_array().unwrap() {
            if check["detail"]
                .as_str()
                .is_some_and(|detail| detail.contains("MILLIBOX_CGROUP_PARENT"))
            {
                let remedy = check["remedy"].as_str();
                assert!(
                    remedy.is_some_and(|remedy| remedy.starts_with("set MILLIBOX_CGROUP_PARENT")),
                    "{report}"
                );
            }
        }
    }
}

/// As with `| head`, which closes the pipe early.
#[test]
fn output_to_closed_pipe_ends_silently_with_141() {
    let dir = directory();
    let new = dir.path().join("new").display().to_string();
    for arguments in [
        &["languages", "bash"][..],
        &["languages", "--json", "bash"],
        &["completions", "bash"],
        &["problem", "init", "--no-gen", &new],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = Command::new(executable("millibox"))
            .args(arguments)
            .stdout(writer)
            .output()
            .unwrap();
        assert_eq!(
            (status(&output), text(&output.stderr)),
            (141, String::new()),
            "{arguments:?}"
        );
    }
}

#[test]
fn command_without_threads_names_ulimit() {
    let run = |most: u32, arguments: &[&str]| {
        let mut command = Command::new("prlimit");
        command
            .arg(format!("--nproc={most}"))
            .arg(executable("millibox"))
            .args(arguments)
            .stdin(Stdio::null());
        if is_root() {
            // A limit on processes does not apply to root.
            command.uid(54321).gid(54321);
        }
        command.output()
    };
    if !run(1, &["--version"]).is_ok_and(|output| output.status.success()) {
        return skip("prlimit(1) is missing, or another user cannot execute the command here");
    }
    for arguments in [
        &["run", "--", "true"][..],
        &["judge", "."],
        &["problem", "clean", "."],
        &["languages"],
    ] {
        let output = run(1, arguments).unwrap();
        assert_eq!(status(&output), 125, "{arguments:?}: {output:?}");
        assert!(
            line(&output).contains("ulimit -u"),
            "{arguments:?}: {output:?}"
        );
    }
    // With these limits, some threads and processes start and later ones fail.
    for most in 2..12 {
        let output = run(most, &["run", "--output-limit", "9", "--", "true"]).unwrap();
        assert!([0, 125].contains(&status(&output)), "{most}: {output:?}");
        if status(&output) != 0 {
            line(&output);
        }
    }
}

/// Creates a FIFO that no other process has open.
fn fifo(dir: &Path) -> String {
    let path = dir.join("fifo");
    let mode = rustix::fs::Mode::from_raw_mode(0o666);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    path.display().to_string()
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
        (status(&output), line(&output).contains("more than 1 MiB")),
        (125, true),
        "{output:?}"
    );
}

#[test]
fn signal_ends_command_that_waits_for_fifo() {
    let dir = directory();
    let fifo = fifo(dir.path());
    let report = dir.path().join("report.json").display().to_string();
    let elsewhere = directory();
    let package = package(elsewhere.path());
    let mut waits = vec![
        (
            vec!["run", "--report", &report, "--stdin", &fifo, "true"],
            2,
        ),
        (vec!["run", "--stdout", &fifo, "true"], 15),
        (
            vec!["run", "--report", &report, "--stderr", &fifo, "true"],
            1,
        ),
        (
            vec!["run", "--report", &report, "--stdin", &fifo, "true"],
            3,
        ),
        (vec!["run", "--report", &fifo, "true"], 15),
        (
            vec!["run", "--report", &report, "--seccomp", &fifo, "true"],
            15,
        ),
    ];
    if let Some(package) = &package {
        waits.push((
            vec![
                "judge", package, "--report", "html", &report, "--report", "json", &fifo,
            ],
            2,
        ));
    }
    for (arguments, signal) in waits {
        if signal == 1 && ignores_hangups() {
            continue;
        }
        let child = Command::new(executable("millibox"))
            .args(&arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let catches = || {
            status_mask(&child.id().to_string(), "SigCgt")
                .is_some_and(|mask| mask & 1 << (signal - 1) != 0)
        };
        let opens = || {
            let call = std::fs::read_to_string(format!("/proc/{}/syscall", child.id()))
                .unwrap_or_default();
            call.starts_with(&format!("{} ", libc::SYS_openat))
        };
        // The command waits in this open; it is not just opening some file.
        let waits = || {
            catches() && opens() && {
                std::thread::sleep(Duration::from_millis(100));
                opens()
            }
        };
        assert!(
            eventually(Duration::from_secs(60), waits),
            "{arguments:?}: the command does not wait"
        );
        millibox_tests::kill(
            child.id() as i32,
            rustix::process::Signal::from_named_raw(signal).unwrap(),
        );
        let ended = eventually(Duration::from_secs(10), || {
            std::fs::read_to_string(format!("/proc/{}/stat", child.id()))
                .is_ok_and(|stat| stat.contains(") Z "))
        });
        if !ended {
            millibox_tests::kill(child.id() as i32, rustix::process::Signal::KILL);
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(status(&output), 128 + signal, "{arguments:?}: {output:?}");
        assert!(
            line(&output).contains("told to end by SIG"),
            "{arguments:?}: {output:?}"
        );
        let names: Vec<_> = std::fs::read_dir(dir.path())
            .unwrap()
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        assert_eq!(names, ["fifo"], "{arguments:?}: files remain");
    }
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

/// Fills a pipe from which no process reads.
fn fill(writer: impl AsFd) {
    let _ = rustix::io::ioctl_fionbio(&writer, true);
    while rustix::io::write(&writer, &[b'x'; 4096]).is_ok() {}
    let _ = rustix::io::ioctl_fionbio(&writer, false);
}

#[test]
fn run_with_undelivered_output_returns_125() {
    let dir = directory();
    set_mode(dir.path(), 0o777);
    let rw = format!("{}:/given", dir.path().display());
    let mut child = Command::new(executable("millibox"))
        .args([
            "run",
            "--rw",
            &rw,
            "--output-limit",
            "10M",
            "--",
            "sh",
            "-c",
        ])
        .arg("head -c 120000 /dev/zero; echo > /given/written")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(
        eventually(Duration::from_secs(10), || dir
            .path()
            .join("written")
            .exists()),
        "the program waits for its output to be read"
    );
    // By now, the run has ended.
    std::thread::sleep(Duration::from_millis(500));
    millibox_tests::kill(child.id() as i32, rustix::process::Signal::TERM);
    let ended = child.wait().unwrap();
    let (mut out, mut err) = (Vec::new(), String::new());
    child.stdout.take().unwrap().read_to_end(&mut out).unwrap();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    assert!(out.len() < 120_000, "all output has arrived");
    assert_eq!(ended.code(), Some(125), "{err}");
    assert!(err.contains("nobody reads"), "{err}");
}

#[test]
fn signal_ends_judge_that_waits_for_a_reader() {
    let dir = directory();
    let Some(package) = package(dir.path()) else {
        return;
    };
    let temporary = dir.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let mut judge = Command::new(executable("millibox"));
    judge
        .args(["judge", &package])
        .args(allow_rlimit_backend())
        .env("TMPDIR", &temporary);
    judge.stdin(Stdio::null()).stderr(Stdio::null());
    let ends = |mut child: std::process::Child, waits: &dyn Fn() -> bool, what: &str| {
        assert!(
            eventually(Duration::from_secs(60), waits),
            "{what}: the judge does not wait"
        );
        millibox_tests::kill(child.id() as i32, rustix::process::Signal::TERM);
        let ended = ends_within(&mut child, Duration::from_secs(10));
        assert_eq!(ended.and_then(|ended| ended.code()), Some(143), "{what}");
        assert_eq!(
            std::fs::read_dir(&temporary).unwrap().count(),
            0,
            "{what}: files remain"
        );
    };
    // This judge waits for a reader of its output.
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    fill(&writer);
    let child = judge.stdout(writer).spawn().unwrap();
    let catches =
        |id: u32| status_mask(&id.to_string(), "SigCgt").is_some_and(|mask| mask & 1 << 14 != 0);
    let id = child.id();
    let waits = || {
        std::thread::sleep(Duration::from_secs(2));
        catches(id)
    };
    ends(child, &waits, "standard output");
    drop(reader);

    // This judge waits for a reader of its report.
    let fifo = fifo(dir.path());
    let held = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&fifo)
        .unwrap();
    fill(&held);
    let child = judge
        .args(["--report", "json", &fifo])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let id = child.id();
    let writes = || {
        let call = std::fs::read_to_string(format!("/proc/{id}/syscall")).unwrap_or_default();
        catches(id) && call.starts_with(&format!("{} ", libc::SYS_write))
    };
    ends(child, &writes, "report");
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

    // The submission lies beside the package, and its path leads through the package. The time
    // limit is the longest possible.
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

/// Rust opens /dev/null instead of a closed standard stream, so output would be lost silently.
#[test]
fn output_to_closed_standard_output_returns_error() {
    let dir = directory();
    let package = dir.path().join("sums").display().to_string();
    let output = Command::new(executable("millibox"))
        .args(["problem", "init", "--no-gen", &package])
        .output()
        .unwrap();
    assert_eq!(status(&output), 0, "{output:?}");
    let report = [
        &["run", "--report", "-"],
        allow_rlimit_backend(),
        &["--", "true"],
    ]
    .concat();
    let program = executable("millibox").display().to_string();
    for (arguments, what) in [
        (&report[..], "--report -: cannot be written"),
        (
            &["doctor", "--json"],
            "cannot write to standard output: it is closed",
        ),
        (
            &["languages", "--json", "bash"],
            "cannot write to standard output: it is closed",
        ),
        (
            &["problem", "clean", "--json", &package],
            "cannot write to standard output: it is closed",
        ),
        (
            &["completions", "bash"],
            "cannot write to standard output: it is closed",
        ),
    ] {
        for (shell, is_closed) in [
            ("\"$0\" \"$@\" >&-", true),
            ("\"$0\" \"$@\" > /dev/null", false),
        ] {
            let mut command = Command::new("/bin/sh");
            let output = command
                .args(["-c", shell, &program])
                .args(arguments)
                .output()
                .unwrap();
            assert_eq!(
                status(&output) == 125,
                is_closed,
                "{shell}: {arguments:?}: {output:?}"
            );
            let message = text(&output.stderr);
            assert_eq!(
                message.matches(what).count(),
                usize::from(is_closed),
                "{shell}: {arguments:?}: {message}"
            );
        }
    }
}
