//! The command `millibox run`, as a shell has it: exit status, streams, report, signals, wrong
//! options.

use millibox_tests::{
    directory, ends_within, eventually, executable, is_root, mask, needs_cgroups,
    processes_that_say, share, skip, supervisor, token,
};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// `millibox run` with these words, to its end.
fn run(words: &[&str]) -> Output {
    Command::new(executable("millibox"))
        .arg("run")
        .args(words)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// The same, through a shell inside.
fn shell(options: &[&str], script: &str) -> Output {
    run(&[options, &["--", "sh", "-c", script]].concat())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn status(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

/// The one line that it said on standard error.
fn line(output: &Output) -> String {
    let said = text(&output.stderr);
    assert!(
        said.ends_with('\n') && said.lines().count() == 1,
        "not one line: {said:?}"
    );
    assert!(said.starts_with("millibox: "), "{said:?}");
    said
}

/// Where no cgroups are, a limit on CPU time is taken for single processes, if that is asked for.
fn of_single_processes() -> &'static [&'static str] {
    if supervisor().info().backend() == millibox::Backend::Rlimit {
        &["--backend", "rlimit"]
    } else {
        &[]
    }
}

fn report(path: &Path) -> serde_json::Value {
    let read = std::fs::read(path).unwrap();
    serde_json::from_slice(&read).unwrap_or_else(|error| panic!("{error}: {}", text(&read)))
}

#[test]
fn the_exit_status_is_the_programs() {
    for (script, wanted) in [("exit 0", 0), ("exit 3", 3), ("exit 255", 255)] {
        let output = shell(&[], script);
        assert_eq!(
            (status(&output), text(&output.stderr)),
            (wanted, String::new())
        );
    }
}

#[test]
fn a_signal_is_told_by_128_and_its_number() {
    for (script, wanted) in [
        ("kill -KILL $$", 137),
        ("kill -TERM $$", 143),
        ("kill -SEGV $$", 139),
    ] {
        let output = shell(&[], script);
        assert_eq!(status(&output), wanted, "{output:?}");
        assert!(line(&output).contains("signal"), "{output:?}");
        assert_eq!(text(&shell(&["--quiet"], script).stderr), "");
    }
}

#[test]
fn time_limits_end_with_124_and_name_the_limit() {
    let output = shell(&["--real-time-limit", "150ms"], "sleep 60");
    assert_eq!(
        (status(&output), line(&output).contains("150ms")),
        (124, true),
        "{output:?}"
    );
    let limits = ["--cpu-time-limit", "100ms", "--real-time-limit", "60s"];
    let output = shell(
        &[of_single_processes(), &limits].concat(),
        "while :; do :; done",
    );
    assert_eq!(
        (status(&output), line(&output).contains("100ms")),
        (124, true),
        "{output:?}"
    );
}

#[test]
fn memory_and_output_limits_end_with_123() {
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
    if !needs_cgroups(&supervisor()) {
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
fn what_cannot_be_executed_is_told_from_what_is_not_there() {
    let place = directory();
    let script = place.path().join("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    share(&script, 0o755);
    let plain = place.path().join("plain");
    std::fs::write(&plain, "no program").unwrap();
    share(&plain, 0o644);
    let ro = format!("{}:/place", place.path().display());
    for (program, wanted) in [
        ("/no/such/program", 127),
        ("no-such-program", 127),
        ("/usr/bin/it is there", 127),
        ("/usr/bin", 126),
        ("/place/plain", 126),
        ("/place/script", 126),
    ] {
        let output = run(&["--ro", &ro, "--", program]);
        assert_eq!(status(&output), wanted, "{program}: {output:?}");
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
fn a_program_that_is_nowhere_is_told_so() {
    let place = directory();
    let wanted = place
        .path()
        .canonicalize()
        .unwrap()
        .join("none")
        .display()
        .to_string();
    let ro = format!("{}:/place", place.path().display());
    for (options, program) in [
        (&[][..], "./none"),
        (&[], &*wanted),
        (&["--ro", &ro], "./none"),
    ] {
        let mut command = Command::new(executable("millibox"));
        command
            .arg("run")
            .args(options)
            .args(["--", program])
            .current_dir(place.path())
            .stdin(Stdio::null());
        let output = command.output().unwrap();
        let said = line(&output);
        assert_eq!(status(&output), 127, "{said}");
        assert!(
            said.contains(&format!(" {program}: ")) && said.contains("(os error 2)"),
            "{said}"
        );
        // The remedy names the path of the host once more.
        assert_eq!(
            said.matches(&wanted).count(),
            1 + usize::from(program == wanted),
            "{said}"
        );
    }
    // Here only the world counts.
    for (options, program) in [
        (&[][..], "/usr/bin/none"),
        (&["--ro", &ro, "--cwd", "/place"], "./none"),
    ] {
        let output = run(&[options, &["--", program]].concat());
        let said = line(&output);
        assert_eq!(status(&output), 127, "{said}");
        assert!(
            said.contains(&format!(" {program}: ")) && said.contains("(os error 2)"),
            "{said}"
        );
        assert_eq!(
            said.matches("/none").count(),
            1,
            "it names a path of the host: {said}"
        );
    }
}

#[test]
fn a_program_that_is_closed_to_the_sandboxs_user_is_told_so() {
    if !is_root() {
        return skip("only root starts a sandbox that has another user");
    }
    let place = directory();
    share(place.path(), 0o755);
    let (program, open) = (place.path().join("program"), place.path().join("open"));
    for (path, mode) in [(&program, 0o700), (&open, 0o755)] {
        std::fs::copy("/bin/true", path).unwrap();
        share(path, mode);
    }
    std::fs::create_dir(place.path().join("sub")).unwrap();
    std::fs::copy("/bin/true", place.path().join("sub/program")).unwrap();
    share(&place.path().join("sub"), 0o700);
    let (program, ro) = (
        program.display().to_string(),
        format!("{}:/place", place.path().display()),
    );
    for (words, closed) in [
        (&[&*program][..], "program (mode 700)"),
        (&["--ro", &ro, "/place/program"], "program (mode 700)"),
        (&["--ro", &ro, "/place/sub/program"], "sub (mode 700)"),
    ] {
        let output = run(words);
        assert_eq!(status(&output), 126, "{words:?}: {output:?}");
        let said = line(&output);
        assert!(
            said.contains(&format!("/{closed}")) && said.contains("chmod o+x"),
            "{said}"
        );
        // The remedy for other causes is not given.
        assert!(!said.contains("noexec"), "{said}");
    }
    assert_eq!(status(&run(&[open.to_str().unwrap()])), 0);
    for (source, directory) in [("sub", "/place"), ("", "/place/sub")] {
        let ro = format!("{}:/place", place.path().join(source).display());
        let output = run(&["--ro", &ro, "--cwd", directory, "--", "true"]);
        let said = line(&output);
        assert_eq!(status(&output), 125, "{said}");
        assert!(
            said.contains(&format!(" {directory}: ")) && said.contains("(os error 13)"),
            "{said}"
        );
        assert!(
            said.contains("/sub (mode 700)") && said.contains("chmod o+x"),
            "{said}"
        );
    }
}

#[test]
fn who_may_open_few_files_is_told_which_limit_that_is() {
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
        return skip("there is no prlimit(1)");
    }
    let mut refused = 0;
    for most in 4..32 {
        let output = run(most).unwrap();
        let said = text(&output.stderr);
        if said.contains("(os error 24)") {
            refused += 1;
            assert!(said.contains("ulimit -n"), "{most}: {said}");
        }
    }
    assert!(refused > 0);
}

#[test]
fn a_path_that_cannot_be_looked_at_is_told_from_one_that_leads_nowhere() {
    let place = directory();
    share(place.path(), 0o755);
    let closed = place.path().join("closed");
    std::fs::create_dir_all(closed.join("sub")).unwrap();
    let plain = place.path().join("plain");
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
    share(&closed, 0);
    // Root looks everywhere.
    let as_user = run_as(
        if is_root() { 54321 } else { 0 },
        &closed.join("sub/program"),
    );
    share(&closed, 0o755);
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
fn every_wrong_value_is_one_line_that_names_its_option() {
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
    for words in wrong {
        let output = run(&[words, &["--", "/bin/echo", "it has run"]].concat());
        assert_eq!(
            (status(&output), text(&output.stdout)),
            (125, String::new()),
            "{words:?}: {output:?}"
        );
        let said = line(&output);
        // What is bound is looked up by the supervisor, who knows the path and not the option.
        assert!(
            said.contains(words[0]) || said.contains(words[1]),
            "{words:?}: {said}"
        );
    }
}

#[test]
fn rlimit_given_twice_for_one_name_is_an_error() {
    let words = [
        "run",
        "--rlimit",
        "NOFILE=64",
        "--rlimit",
        "rlimit_nofile=32",
        "true",
    ];
    let output = Command::new(executable("millibox"))
        .args(words)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let is_named = line(&output).contains("--rlimit NOFILE: given more than once");
    assert_eq!((status(&output), is_named), (125, true), "{output:?}");
}

#[test]
fn what_is_too_large_is_told_so() {
    let too_large: [(&[&str], &str); 6] = [
        (
            &["run", "--process-limit", "4294967295", "true"],
            "maximum is 4194301",
        ),
        (
            &["run", "--process-limit", "4194302", "true"],
            "maximum is 4194301",
        ),
        (
            &["run", "--process-limit", "99999999999999999999", "true"],
            "maximum is 4194301",
        ),
        (
            &["run", "--memory-limit", "99999999999999999999", "true"],
            "too large",
        ),
        (&["judge", "--jobs", "513", "."], "maximum is 512"),
        (
            &["run", "--process-limit", "x", "true"],
            "a whole number from 1 to 4194301",
        ),
    ];
    for (words, wanted) in too_large {
        let output = Command::new(executable("millibox"))
            .args(words)
            .output()
            .unwrap();
        assert_eq!(status(&output), 125, "{words:?}: {output:?}");
        let said = line(&output);
        assert!(
            said.contains(words[1]) && said.contains(wanted),
            "{words:?}: {said}"
        );
    }
    if needs_cgroups(&supervisor()) {
        assert_eq!(
            status(&shell(&["--process-limit", "4194301"], "true")),
            0,
            "the most is not too much"
        );
    }
}

#[test]
fn memory_for_no_program_is_the_options_mistake() {
    for (size, wanted) in [
        (
            "64",
            "64 bytes are too few for any program; write 64M for 64 MiB",
        ),
        ("0", "at least 1M"),
        ("64K", "at least 1M"),
    ] {
        let output = run(&[
            of_single_processes(),
            &["--memory-limit", size, "--", "true"],
        ]
        .concat());
        assert_eq!(status(&output), 125, "{size}: {output:?}");
        assert!(
            line(&output).contains("--memory-limit") && line(&output).contains(wanted),
            "{size}: {output:?}"
        );
    }
}

#[test]
fn streams_are_our_own_or_files() {
    let place = directory();
    let path = |name: &str| place.path().join(name).display().to_string();
    std::fs::write(path("in"), "from a file\n").unwrap();
    std::fs::write(
        path("out"),
        "what was there before, and is longer than what comes\n",
    )
    .unwrap();
    let (input, output, errors) = (path("in"), path("out"), path("err"));
    let said = shell(
        &["--stdin", &input, "--stdout", &output, "--stderr", &errors],
        "cat; echo complaint >&2; ls /proc/1",
    );
    assert_eq!(
        (status(&said), text(&said.stdout), text(&said.stderr)),
        (2, String::new(), String::new())
    );
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "from a file\n");
    assert!(
        std::fs::read_to_string(&errors)
            .unwrap()
            .starts_with("complaint\n")
    );

    // However it is spelt, and whoever opened it, one file gets all of both, in order.
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
    // Nor does what we say go over what the program said.
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
        let said = std::fs::read_to_string(&errors).unwrap();
        assert!(
            said.ends_with("complaint\nmillibox: killed by signal KILL\n"),
            "{option}: {said}"
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
fn a_dash_is_no_file() {
    let place = directory();
    let of = |words: &[&str]| {
        let mut command = Command::new(executable("millibox"));
        command
            .arg("run")
            .args(words)
            .args(["--", "echo", "said"])
            .stdin(Stdio::null());
        command.current_dir(place.path()).output().unwrap()
    };
    for option in ["--stdout", "--stdin", "--stderr"] {
        let output = of(&[option, "-"]);
        assert_eq!(
            (status(&output), text(&output.stdout)),
            (125, String::new()),
            "{output:?}"
        );
        let said = line(&output);
        assert!(
            said.contains(option) && said.contains("omit the option") && said.contains("./-"),
            "{said}"
        );
        assert!(!place.path().join("-").exists(), "{option}");
    }
    assert_eq!(status(&of(&["--stdout", "./-"])), 0);
    assert_eq!(
        std::fs::read_to_string(place.path().join("-")).unwrap(),
        "said\n"
    );
}

#[test]
fn no_file_is_lost_to_another_stream() {
    let place = directory();
    let path = |name: &str| place.path().join(name).display().to_string();
    let (file, link, dotted, new) = (path("file"), path("link"), path("./file"), path("new"));
    std::os::unix::fs::symlink("file", &link).unwrap();
    // With our own standard input or output from there, or to there, in the way of a shell.
    let none: &[&str] = &[];
    for (words, from, to, what) in [
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
            .args(words)
            .args(["--", "cat"])
            .stdin(Stdio::null());
        if let [from] = from {
            command.stdin(std::fs::File::open(from).unwrap());
        }
        if let [to] = to {
            command.stdout(std::fs::OpenOptions::new().append(true).open(to).unwrap());
        }
        let output = command.output().unwrap();
        assert_eq!(status(&output), 125, "{words:?}: {output:?}");
        assert!(
            line(&output).contains(what) && line(&output).contains("use different files"),
            "{words:?}: {output:?}"
        );
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            "kept\n",
            "{words:?}"
        );
        assert!(!Path::new(&new).exists(), "{words:?}");
    }
    // What is no regular file takes it all, and our own output takes a report after the program's.
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
    for words in [
        &["--report", "-"][..],
        &["--stderr", &file, "--report", "/dev/stdout"],
    ] {
        let own = std::fs::File::create(&file).unwrap();
        let mut command = Command::new(executable("millibox"));
        command
            .arg("run")
            .args(words)
            .args(["--", "sh", "-c", "echo a; echo b"])
            .stdin(Stdio::null())
            .stdout(own);
        assert!(command.status().unwrap().success());
        let all = std::fs::read_to_string(&file).unwrap();
        assert!(
            all.starts_with("a\nb\n{\"outcome\":\"exited\""),
            "{words:?}: {all}"
        );
    }
}

#[test]
fn the_world_is_what_the_options_say() {
    let place = directory();
    std::fs::write(place.path().join("note"), "of the host\n").unwrap();
    share(place.path(), 0o777);
    let host = place.path().display().to_string();
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
        std::fs::read_to_string(place.path().join("left")).unwrap(),
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
        "a dynamic program without its loader: {output:?}"
    );
}

#[test]
fn a_process_limit_is_of_processes() {
    if !needs_cgroups(&supervisor()) {
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
fn every_ending_has_its_report() {
    let place = directory();
    let path = place.path().join("report.json");
    let name = path.display().to_string();
    let of = |options: &[&str], program: &[&str]| {
        let output = run(&[options, &["--report", &name, "--"], program].concat());
        (report(&path), output)
    };
    let (told, _) = of(&[], &["sh", "-c", "exit 7"]);
    assert_eq!(
        (&told["outcome"], &told["exit_code"], &told["signal"]),
        (&"exited".into(), &7.into(), &().into())
    );
    assert!(
        told["real_time_ns"].as_u64().unwrap() > 0 && told["peak_memory_bytes"].is_u64(),
        "{told}"
    );
    assert!(
        ["hybrid", "cgroup2", "rlimit"].contains(&told["backend"].as_str().unwrap()),
        "{told}"
    );
    let (told, _) = of(&[], &["sh", "-c", "kill -9 $$"]);
    assert_eq!(
        (&told["outcome"], &told["exit_code"], &told["signal"]),
        (&"signaled".into(), &().into(), &9.into())
    );
    let (told, _) = of(&["--real-time-limit", "50ms"], &["sleep", "60"]);
    assert_eq!(told["outcome"], "real_time_limit");
    assert!(
        told["real_time_ns"].as_u64().unwrap() >= 50_000_000,
        "{told}"
    );
    let (told, _) = of(
        &[of_single_processes(), &["--cpu-time-limit", "50ms"]].concat(),
        &["sh", "-c", "while :; do :; done"],
    );
    assert_eq!(told["outcome"], "cpu_time_limit");
    let (told, _) = of(&["--output-limit", "10"], &["yes"]);
    assert_eq!(told["outcome"], "output_limit");
    let (told, _) = of(&[], &["/no/such/program"]);
    assert_eq!(
        (
            &told["outcome"],
            &told["error"]["step"],
            &told["error"]["errno"]
        ),
        (&"not_started".into(), &"exec".into(), &2.into())
    );
    let (told, output) = of(
        &["--backend", "hybrid", "--cgroup-parent", "/no/such/cgroup"],
        &["true"],
    );
    assert_eq!(
        (&told["outcome"], status(&output)),
        (&"sandbox_error".into(), 125),
        "{told}"
    );
    assert!(
        told["error"]["message"]
            .as_str()
            .unwrap()
            .contains("hybrid"),
        "{told}"
    );
    let (told, output) = of(&["--cwd", "/no/such/directory"], &["true"]);
    assert_eq!(
        (&told["error"]["step"], status(&output)),
        (&"working_directory".into(), 125),
        "{told}"
    );
    assert!(
        told["error"]["message"]
            .as_str()
            .unwrap()
            .contains("/no/such/directory"),
        "{told}"
    );

    let output = run(&[
        "--report",
        "-",
        "--stdout",
        "/dev/null",
        "--",
        "echo",
        "to nobody",
    ]);
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["outcome"], "exited", "{output:?}");
}

/// Else whoever reads it takes the outcome of the run before for this one's.
#[test]
fn no_old_report_is_left_by_a_run_that_fails() {
    let place = directory();
    let path = place.path().join("report.json");
    let (name, input) = (
        path.display().to_string(),
        place.path().join("in").display().to_string(),
    );
    std::fs::write(&input, "kept").unwrap();
    let told = |words: &[&str]| {
        std::fs::write(&path, "old").unwrap();
        let output = run(words);
        assert_eq!(status(&output), 125, "{words:?}: {output:?}");
        (std::fs::read_to_string(&path).unwrap(), output)
    };
    for (words, what) in [
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
        let (report, output) = told(words);
        let report: serde_json::Value =
            serde_json::from_str(&report).unwrap_or_else(|_| panic!("{words:?}: {report}"));
        assert_eq!(
            (&report["outcome"], &report["error"]["step"]),
            (&"sandbox_error".into(), &"options".into())
        );
        let why = report["error"]["message"].as_str().unwrap();
        assert!(why.contains(what), "{words:?}: {report}");
        // What a person is told is the same.
        assert_eq!(line(&output).trim_end(), format!("millibox: {why}"));
    }
    // What another stream has is not written over; and of an unknown option nobody knows whether it
    // has a value.
    for words in [
        &[
            "--stdout", &*name, "--report", &name, "--cwd", "relative", "true",
        ][..],
        &[
            "--stdin", &name, "--report", &name, "--cwd", "relative", "true",
        ],
        &["--no-such-option", "--report", &name, "true"],
        &["--cwd", "relative", "--", "true", "--report", &name],
    ] {
        assert_eq!(told(words).0, "old", "{words:?}");
    }
    assert_eq!(std::fs::read_to_string(&input).unwrap(), "kept");
}

/// Whether SIGHUP is ignored, as nohup(1) has it: then the command leaves it so.
fn ignores_hangups() -> bool {
    let ignores = mask("self", "SigIgn").unwrap() & 1 != 0;
    if ignores {
        skip("SIGHUP is ignored here");
    }
    ignores
}

#[test]
fn a_signal_to_the_command_ends_the_run() {
    let place = directory();
    for (signal, wanted) in [("INT", 130), ("QUIT", 131), ("TERM", 143), ("HUP", 129)] {
        if signal == "HUP" && ignores_hangups() {
            continue;
        }
        let token = token();
        let path = place.path().join(format!("{signal}.json"));
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
        let mut said = command.stdout.take().unwrap();
        said.read_exact(&mut [0; 6]).unwrap();
        assert!(!processes_that_say(&token).is_empty());
        let signal_number = wanted - 128;
        millibox_tests::kill(
            command.id() as i32,
            rustix::process::Signal::from_named_raw(signal_number).unwrap(),
        );
        let output = command.wait_with_output().unwrap();
        assert_eq!(
            (status(&output), &report(&path)["outcome"]),
            (wanted, &"killed".into()),
            "{signal}: {output:?}"
        );
        assert!(line(&output).contains(signal), "{output:?}");
        let gone = eventually(Duration::from_secs(10), || {
            processes_that_say(&token).is_empty()
        });
        assert!(gone, "{signal}: {:?}", processes_that_say(&token));
    }
}

#[test]
fn the_policy_of_the_documentation_is_one() {
    let page = include_str!("../../docs/reference/seccomp.md");
    let policy = page
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    let place = directory();
    let path = place.path().join("policy.toml");
    std::fs::write(&path, policy).unwrap();
    let options = ["--seccomp", path.to_str().unwrap()];
    assert_eq!(status(&shell(&options, "exit 3")), 3);
    assert_ne!(
        status(&shell(&options, "/bin/true & wait $! && exit 0; exit 1")),
        0
    );
}

#[test]
fn the_doctor_says_what_it_tried() {
    let output = Command::new(executable("millibox"))
        .args(["doctor", "--json"])
        .output()
        .unwrap();
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = told["checks"].as_array().unwrap();
    assert!(checks.len() > 5, "{told}");
    for check in checks {
        assert!(
            check["name"].is_string() && check["ok"].is_boolean(),
            "{check}"
        );
    }
    // Success is the promise of full limits; else there is something to be done.
    let remedies = checks
        .iter()
        .filter(|check| check["ok"] == false && check["remedy"].is_string())
        .count();
    assert!(output.status.success() || remedies > 0, "{told}");
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
fn the_doctor_tells_what_only_a_backend_that_was_asked_for_lacks() {
    let doctor = |words: &[&str]| {
        let output = Command::new(executable("millibox"))
            .arg("doctor")
            .args(words)
            .output()
            .unwrap();
        (status(&output), text(&output.stdout))
    };
    let told: serde_json::Value = serde_json::from_str(&doctor(&["--json"]).1).unwrap();
    let checks = told["checks"].as_array().unwrap();
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
        format!("; without the option, millibox uses {best}")
    });
    for backend in trees
        .into_iter()
        .filter(|backend| works("backend rlimit") && !works(&format!("backend {backend}")))
    {
        let (status, said) = doctor(&["--backend", backend]);
        let last =
            format!("\nWith the backend {backend}, no program can be run; see above{held}.\n");
        assert!(status == 1 && said.ends_with(&last), "{said}");
        let mut lines = said
            .lines()
            .skip_while(|line| !line.starts_with(&format!("✗ backend {backend}: ")));
        let remedy = lines.nth(1).unwrap_or_default().trim();
        let instead = best.map(|best| format!("omit --backend {backend}: {best} works here"));
        assert!(instead.is_none_or(|instead| remedy == instead), "{said}");
    }
    let Some(best) = best else {
        return skip("there are no cgroups");
    };
    let (status, said) = doctor(&["--backend", "rlimit"]);
    let last =
        format!("because of --backend rlimit, limits apply to single processes only{held}.\n");
    assert!(status == 1 && said.ends_with(&last), "{said}");
    assert!(
        doctor(&["--backend", best])
            .1
            .contains(&format!("ith the backend {best}"))
    );
}

#[test]
fn the_doctor_names_the_limit_that_is_in_the_way() {
    let doctor = |limit: &str| {
        let mut command = Command::new("prlimit");
        command
            .arg(limit)
            .arg(executable("millibox"))
            .args(["doctor", "--json"])
            .stdin(Stdio::null());
        if is_root() {
            // Whom no limit on processes holds.
            command.uid(54321).gid(54321);
        }
        command
            .output()
            .ok()
            .and_then(|output| serde_json::from_slice::<serde_json::Value>(&output.stdout).ok())
    };
    // Of a sandbox that works here: else there is something else to be mended, too.
    let failures = |told: &serde_json::Value| {
        let failed =
            |check: &&serde_json::Value| check["ok"] == false && check["name"] != "backend cgroup2";
        told["checks"]
            .as_array()
            .unwrap()
            .iter()
            .find(failed)
            .map(|check| check["remedy"].to_string())
    };
    if doctor("--nofile=1024").is_none_or(|told| told["backend"].is_null()) {
        return skip(
            "there is no prlimit(1), or another user cannot run programs in the sandbox here",
        );
    }
    for (limit, remedy) in [
        ("--nofile=8", "ulimit -n"),
        ("--nofile=16", "ulimit -n"),
        ("--nproc=5", "ulimit -u"),
    ] {
        let told = doctor(limit).unwrap();
        assert!(
            failures(&told).is_some_and(|said| said.contains(remedy)),
            "{limit}: {told}"
        );
    }
}

#[test]
fn a_supervisor_that_cannot_be_executed_is_told_first_by_the_doctor() {
    let place = directory();
    let supervisor = place.path().join("millibox-supervisor");
    std::fs::write(&supervisor, "").unwrap();
    share(&supervisor, 0o644);
    let mut command = Command::new(executable("millibox"));
    let output = command
        .args(["doctor", "--json"])
        .env("MILLIBOX_SUPERVISOR", &supervisor)
        .output()
        .unwrap();
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = told["checks"].as_array().unwrap();
    assert_eq!(
        (status(&output), checks.len()),
        (1, 1),
        "nothing else can be tried: {told}"
    );
    assert_eq!(
        (&checks[0]["name"], &checks[0]["ok"]),
        (&"supervisor".into(), &false.into()),
        "{told}"
    );
    let says = |key: &str, words: &str| {
        checks[0][key]
            .as_str()
            .is_some_and(|text| text.contains(words))
    };
    assert!(
        says("detail", supervisor.to_str().unwrap()) && says("remedy", "chmod"),
        "{told}"
    );
}

#[test]
fn what_is_no_supervisor_is_told_with_who_named_it() {
    let with = |supervisor: &str, words: &[&str]| {
        let mut command = Command::new(executable("millibox"));
        command
            .args(words)
            .env("MILLIBOX_SUPERVISOR", supervisor)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    for (path, why) in [
        ("/bin/true", "exited with status 0"),
        ("/bin/false", "exited with status 1"),
        ("/bin/ls", "this version: "),
        (executable("millibox").to_str().unwrap(), "this version: "),
        ("/no/such/file", "(os error 2); MILLIBOX_SUPERVISOR "),
    ] {
        let output = with(path, &["run", "--", "true"]);
        assert_eq!(status(&output), 125, "{output:?}");
        // One line, whatever it said.
        let said = line(&output);
        assert!(
            said.contains(&format!("{path} (MILLIBOX_SUPERVISOR)")) && said.contains(why),
            "{said}"
        );
        assert!(!said.contains("set MILLIBOX_SUPERVISOR"), "{said}");

        let output = with(path, &["doctor", "--json"]);
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let checks = told["checks"].as_array().unwrap();
        assert_eq!(
            (status(&output), checks.len()),
            (1, 1),
            "nothing else can be tried: {told}"
        );
        assert_eq!(
            (&checks[0]["name"], &checks[0]["ok"]),
            (&"supervisor".into(), &false.into()),
            "{told}"
        );
        assert!(
            checks[0]["remedy"]
                .as_str()
                .is_some_and(|remedy| remedy.contains("or unset it")),
            "{told}"
        );
    }
    // An empty variable is as one that is not set.
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
        Err(millibox::Error::Start(millibox::StartError::NotSupervisor {
            path, named_by, ..
        })) => {
            assert_eq!(
                (path.to_str(), named_by),
                (Some("/bin/true"), Some("Builder::executable"))
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_has_no_supervisor_is_told_how_to_get_one() {
    let place = directory();
    share(place.path(), 0o755);
    let alone = place.path().join("millibox");
    std::fs::copy(executable("millibox"), &alone).unwrap();
    let mut command = Command::new(&alone);
    // The program's own directory once more, and another one twice.
    let here = place.path().display().to_string();
    command
        .env_remove("MILLIBOX_SUPERVISOR")
        .env("PATH", format!("{here}:/no/such:/no/such"));
    let output = command
        .args(["run", "--", "true"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = line(&output);
    assert_eq!(status(&output), 125, "{said}");
    for words in [
        "cargo build --release --bin millibox-supervisor",
        "make install",
        "MILLIBOX_SUPERVISOR",
    ] {
        assert!(said.contains(words), "{said}");
    }
    for place in [&*here, "/no/such"] {
        assert_eq!(
            said.matches(&format!("{place}/millibox-supervisor"))
                .count(),
            1,
            "{said}"
        );
    }
}

#[test]
fn a_signal_ends_the_languages_and_leaves_nothing() {
    let place = directory();
    share(place.path(), 0o755);
    std::fs::create_dir(place.path().join("tmp")).unwrap();
    let token = token();
    let suite = format!(
        "name = \"slow\"\ntitle = \"Slow\"\nextensions = [\"slow\"]\n\n[tool.bash]\npackage = \
         \"bash\"\n\n[compile]\ncommand = [\"{{bash}}\", \"-c\", \"sleep 60; :\", \
         \"{token}\"]\nproduct = \"sources\"\n\n[run]\ncommand = [\"{{bash}}\", \
         \"{{main}}\"]\n\n[example]\nfile = \"x.slow\"\nsource = \"echo\"\n"
    );
    std::fs::write(place.path().join("slow.toml"), suite).unwrap();
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT] {
        let child = Command::new(executable("millibox"))
            .args(["languages", "--try", "slow", "--suites"])
            .arg(place.path())
            .env("TMPDIR", place.path().join("tmp"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let compiles = eventually(Duration::from_secs(60), || {
            !processes_that_say(&token).is_empty()
        });
        millibox_tests::kill(child.id() as i32, signal);
        let output = child.wait_with_output().unwrap();
        assert!(compiles, "{output:?}");
        assert_eq!(status(&output), 128 + signal.as_raw(), "{output:?}");
        assert!(
            line(&output).contains("received SIG") && output.stdout.is_empty(),
            "{output:?}"
        );
        let left = std::fs::read_dir(place.path().join("tmp")).unwrap().count();
        assert_eq!(left, 0, "left behind");
    }
}

/// A package, if its programs can be compiled here.
fn package(place: &Path) -> Option<String> {
    if Command::new("g++").arg("--version").output().is_err() {
        skip("there is no g++, without which nothing is judged");
        return None;
    }
    let package = place.join("sums").display().to_string();
    let output = Command::new(executable("millibox"))
        .args(["problem", "init", "--no-gen", &package])
        .output()
        .unwrap();
    assert_eq!(status(&output), 0, "{output:?}");
    Some(package)
}

#[test]
fn help_is_given_however_it_is_asked_for() {
    let of = |words: &[&str]| {
        Command::new(executable("millibox"))
            .args(words)
            .output()
            .unwrap()
    };
    for words in [
        &["help", "run"][..],
        &["help", "run", "--help"],
        &["help", "--help"],
        &["problem", "help", "gen", "-h"],
    ] {
        let output = of(words);
        assert_eq!(
            (status(&output), text(&output.stderr)),
            (0, String::new()),
            "{words:?}: {output:?}"
        );
        assert!(
            text(&output.stdout).contains("Usage: millibox"),
            "{words:?}: {output:?}"
        );
    }
    // What stands in for an option, and what may take time beside the limits.
    let said = text(&of(&["run", "--help"]).stdout);
    assert!(
        said.contains("MILLIBOX_CGROUP_PARENT") && said.contains("for the writer of a FIFO"),
        "{said}"
    );
    let output = of(&["judge", ".", "--language", "c++17"]);
    assert_eq!(
        (status(&output), line(&output).contains("name a SUBMISSION")),
        (125, true),
        "{output:?}"
    );
}

#[test]
fn who_runs_nothing_needs_no_sandbox() {
    let place = directory();
    let (package, packed) = (
        place.path().join("sums").display().to_string(),
        place.path().join("sums.zip"),
    );
    for words in [
        &["init", "--no-gen", &package][..],
        &["zip", "--force", &package],
        &["clean", &package],
    ] {
        let mut command = Command::new(executable("millibox"));
        let output = command
            .arg("problem")
            .args(words)
            .env("MILLIBOX_SUPERVISOR", "/no/such/file")
            .output()
            .unwrap();
        assert_eq!(status(&output), 0, "{words:?}: {output:?}");
    }
    assert!(packed.is_file());
}

#[test]
fn output_that_cannot_be_written_is_an_error_and_no_panic() {
    let place = directory();
    let new = place.path().join("new").display().to_string();
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
    let package = package(place.path());
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
            // These run something.
            arguments.extend(of_single_processes());
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
fn a_cgroup_that_the_environment_names_wrongly_is_told_by_its_variable() {
    use std::os::unix::ffi::OsStrExt;
    for (value, what) in [
        (
            &b"a/b"[..],
            "MILLIBOX_CGROUP_PARENT: \"a/b\" is not an absolute path",
        ),
        (
            b"/no/such/cgroup",
            "; MILLIBOX_CGROUP_PARENT is /no/such/cgroup",
        ),
        (b"\xff", "MILLIBOX_CGROUP_PARENT: "),
    ] {
        if value.starts_with(b"/") && !is_root() {
            // Who is not root may have no use of cgroups, wherever.
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
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        for check in told["checks"].as_array().unwrap() {
            if check["detail"]
                .as_str()
                .is_some_and(|detail| detail.contains("MILLIBOX_CGROUP_PARENT"))
            {
                let remedy = check["remedy"].as_str();
                assert!(
                    remedy.is_some_and(|remedy| remedy.starts_with("set MILLIBOX_CGROUP_PARENT")),
                    "{told}"
                );
            }
        }
    }
}

/// As with `| head`: the reader has seen enough.
#[test]
fn who_is_not_read_any_more_ends_without_a_word() {
    let place = directory();
    let new = place.path().join("new").display().to_string();
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
fn who_gets_no_threads_says_which_limit_that_is() {
    let run = |most: u32, words: &[&str]| {
        let mut command = Command::new("prlimit");
        command
            .arg(format!("--nproc={most}"))
            .arg(executable("millibox"))
            .args(words)
            .stdin(Stdio::null());
        if is_root() {
            // Whom no such limit holds.
            command.uid(54321).gid(54321);
        }
        command.output()
    };
    if !run(1, &["--version"]).is_ok_and(|output| output.status.success()) {
        return skip("there is no prlimit(1), or another user cannot execute the command here");
    }
    for words in [
        &["run", "--", "true"][..],
        &["judge", "."],
        &["problem", "clean", "."],
        &["languages"],
    ] {
        let output = run(1, words).unwrap();
        assert_eq!(status(&output), 125, "{words:?}: {output:?}");
        assert!(line(&output).contains("ulimit -u"), "{words:?}: {output:?}");
    }
    // Some of what is started finds room, and what comes after it does not.
    for most in 2..12 {
        let output = run(most, &["run", "--output-limit", "9", "--", "true"]).unwrap();
        assert!([0, 125].contains(&status(&output)), "{most}: {output:?}");
        if status(&output) != 0 {
            line(&output);
        }
    }
}

/// A FIFO that nobody else opens.
fn fifo(place: &Path) -> String {
    let path = place.join("fifo");
    let mode = rustix::fs::Mode::from_raw_mode(0o666);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    path.display().to_string()
}

#[test]
fn a_policy_comes_by_a_pipe() {
    let policy = "name = 'p'\ndescription = 'p'\ndefault = 'allow'\n";
    let mut child = Command::new(executable("millibox"))
        .args(["run", "--seccomp", "/dev/stdin", "--", "sh", "-c", "exit 5"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    // In two parts, and some time after it has been opened.
    for part in [&policy[..20], &policy[20..]] {
        std::thread::sleep(Duration::from_millis(50));
        std::io::Write::write_all(&mut pipe, part.as_bytes()).unwrap();
    }
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert_eq!(status(&output), 5, "{output:?}");

    // Nobody writes yet when it is opened.
    let place = directory();
    let fifo = fifo(place.path());
    let child = Command::new(executable("millibox"))
        .args(["run", "--seccomp", &fifo, "--", "sh", "-c", "exit 5"])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(200));
    // This one waits for a reader, and for ever if there is none any more.
    let writer = std::thread::spawn(move || std::fs::write(&fifo, policy));
    let output = child.wait_with_output().unwrap();
    assert_eq!(status(&output), 5, "{output:?}");
    writer.join().unwrap().unwrap();
}

#[test]
fn a_policy_is_in_a_file_or_a_pipe() {
    for other in ["/dev/null", "/dev"] {
        let output = run(&["--seccomp", other, "true"]);
        let said = line(&output);
        assert_eq!(
            (
                status(&output),
                said.contains("neither a regular file nor a pipe")
            ),
            (125, true),
            "{output:?}"
        );
    }
    // Of one that is too long nothing is left out in silence.
    let place = directory();
    let long = place.path().join("long").display().to_string();
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
fn a_signal_ends_who_waits_for_a_fifo() {
    let place = directory();
    let fifo = fifo(place.path());
    let report = place.path().join("report.json").display().to_string();
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
    for (words, signal) in waits {
        if signal == 1 && ignores_hangups() {
            continue;
        }
        let child = Command::new(executable("millibox"))
            .args(&words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let catches = || {
            mask(&child.id().to_string(), "SigCgt")
                .is_some_and(|mask| mask & 1 << (signal - 1) != 0)
        };
        let opens = || {
            let call = std::fs::read_to_string(format!("/proc/{}/syscall", child.id()))
                .unwrap_or_default();
            call.starts_with(&format!("{} ", libc::SYS_openat))
        };
        // And not just some file.
        let waits = || {
            catches() && opens() && {
                std::thread::sleep(Duration::from_millis(100));
                opens()
            }
        };
        assert!(
            eventually(Duration::from_secs(60), waits),
            "{words:?}: it does not wait"
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
        assert_eq!(status(&output), 128 + signal, "{words:?}: {output:?}");
        assert!(
            line(&output).contains("received SIG"),
            "{words:?}: {output:?}"
        );
        let names: Vec<_> = std::fs::read_dir(place.path())
            .unwrap()
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        assert_eq!(names, ["fifo"], "{words:?}: left behind");
    }
}

#[test]
fn what_must_be_a_regular_file_is_not_waited_for() {
    let place = directory();
    let fifo = fifo(place.path());
    let package = package(place.path());
    let mut wrong = vec![
        (vec!["judge", &fifo], 2),
        (vec!["problem", "validate", &fifo], 2),
    ];
    if let Some(package) = &package {
        wrong.push((vec!["judge", package, &fifo, "--language", "c++17"], 125));
    }
    for (words, wanted) in wrong {
        let output = Command::new("timeout")
            .args(["-s", "KILL", "10"])
            .arg(executable("millibox"))
            .args(&words)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(status(&output), wanted, "{words:?}: {output:?}");
        let said = text(&output.stderr);
        assert!(
            said.contains(&fifo) && said.lines().count() == 1,
            "{words:?}: {said}"
        );
    }
}

/// Fills a pipe, whose reader does not read.
fn fill(writer: impl AsFd) {
    let _ = rustix::io::ioctl_fionbio(&writer, true);
    while rustix::io::write(&writer, &[b'x'; 4096]).is_ok() {}
    let _ = rustix::io::ioctl_fionbio(&writer, false);
}

#[test]
fn output_that_did_not_arrive_is_no_success() {
    let place = directory();
    share(place.path(), 0o777);
    let rw = format!("{}:/given", place.path().display());
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
        eventually(Duration::from_secs(10), || place
            .path()
            .join("written")
            .exists()),
        "it goes on"
    );
    // And is over by then.
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
    assert!(out.len() < 120_000, "all has arrived");
    assert_eq!(ended.code(), Some(125), "{err}");
    assert!(err.contains("does not read"), "{err}");
}

#[test]
fn a_signal_ends_a_judge_whom_nobody_reads() {
    let place = directory();
    let Some(package) = package(place.path()) else {
        return;
    };
    let temporary = place.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let mut judge = Command::new(executable("millibox"));
    judge
        .args(["judge", &package])
        .args(of_single_processes())
        .env("TMPDIR", &temporary);
    judge.stdin(Stdio::null()).stderr(Stdio::null());
    let ends = |mut child: std::process::Child, waits: &dyn Fn() -> bool, what: &str| {
        assert!(
            eventually(Duration::from_secs(60), waits),
            "{what}: it does not wait"
        );
        millibox_tests::kill(child.id() as i32, rustix::process::Signal::TERM);
        let ended = ends_within(&mut child, Duration::from_secs(10));
        assert_eq!(ended.and_then(|ended| ended.code()), Some(143), "{what}");
        assert_eq!(
            std::fs::read_dir(&temporary).unwrap().count(),
            0,
            "{what}: left behind"
        );
    };
    // One that has something to say.
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    fill(&writer);
    let child = judge.stdout(writer).spawn().unwrap();
    let catches = |id: u32| mask(&id.to_string(), "SigCgt").is_some_and(|mask| mask & 1 << 14 != 0);
    let id = child.id();
    let waits = || {
        std::thread::sleep(Duration::from_secs(2));
        catches(id)
    };
    ends(child, &waits, "its output");
    drop(reader);

    // And one whose report nobody reads.
    let fifo = fifo(place.path());
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
    ends(child, &writes, "its report");
}

#[test]
fn a_judge_is_told_what_strange_packages_are() {
    let place = directory();
    let Some(package) = package(place.path()) else {
        return;
    };
    let path = Path::new(&package);
    let description = std::fs::read_to_string(path.join("problem.yaml")).unwrap();
    let (begin, end) = description.split_once("name: ").expect("it has a name");
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
    std::fs::copy(one.path(), place.path().join("sol.cpp")).unwrap();

    // Beside the package, by way of it; with the longest limit there is.
    let html = place.path().join("out.html").display().to_string();
    let mut judge = Command::new(executable("millibox"));
    judge
        .args(["judge", ".", "../sol.cpp", "--time-limit", "1d"])
        .args(of_single_processes());
    let output = judge.current_dir(path).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(status(&output), 0, "{output:?}");
    assert!(
        said.contains("Strange") && said.contains("sol.cpp"),
        "{said}"
    );
    assert!(!said.contains(['\x1b', '\x07', '\u{202e}']), "{said:?}");

    // A report that cannot be written does not take another with it.
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

/// Rust opens /dev/null in the place of a standard stream that is not there: what is written to it
/// would be lost.
#[test]
fn what_was_asked_for_on_a_closed_standard_output_is_an_error() {
    let place = directory();
    let package = place.path().join("sums").display().to_string();
    let output = Command::new(executable("millibox"))
        .args(["problem", "init", "--no-gen", &package])
        .output()
        .unwrap();
    assert_eq!(status(&output), 0, "{output:?}");
    let report = [
        &["run", "--report", "-"],
        of_single_processes(),
        &["--", "true"],
    ]
    .concat();
    let program = executable("millibox").display().to_string();
    for (words, what) in [
        (&report[..], "--report -: cannot write"),
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
                .args(words)
                .output()
                .unwrap();
            assert_eq!(
                status(&output) == 125,
                is_closed,
                "{shell}: {words:?}: {output:?}"
            );
            let said = text(&output.stderr);
            assert_eq!(
                said.matches(what).count(),
                usize::from(is_closed),
                "{shell}: {words:?}: {said}"
            );
        }
    }
}
