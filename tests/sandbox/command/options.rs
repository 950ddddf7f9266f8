//! Options and variables: invalid values, and the world that valid values create.

use super::{allow_rlimit_backend, line, run, shell, status, text};
use millibox_tests::{
    copy_executable, directory, executable, has_cgroups_or_skips, is_root, set_mode, supervisor,
    write_script,
};
use std::path::Path;
use std::process::{Command, Stdio};

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
        // The supervisor looks up the sources of binds. The supervisor knows the path but not the
        // option.
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
        (
            "64",
            "64 bytes are too few for any program; write 64M for 64 MiB",
        ),
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
fn run_options_build_the_requested_world() {
    let dir = directory();
    std::fs::write(dir.path().join("note"), "of the host\n").unwrap();
    set_mode(dir.path(), 0o777);
    let host = dir.path().display().to_string();
    let stdout_of = |options: &[&str], script: &str| {
        let output = shell(options, script);
        assert_eq!(text(&output.stderr), "", "{options:?}");
        text(&output.stdout)
    };
    assert_eq!(
        stdout_of(&[], "ls -A /tmp /dev").replace('\n', " "),
        "/dev: fd full null ptmx pts random shm stderr stdin stdout urandom zero  /tmp: "
    );
    assert!(
        !Path::new("/etc/shadow").exists()
            || status(&shell(&[], "cat /etc/shadow 2>/dev/null")) == 1
    );
    assert_eq!(
        stdout_of(
            &["--ro", &format!("{host}:/given")],
            "cat /given/note; touch /given/x 2>/dev/null || echo no"
        ),
        "of the host\nno\n"
    );
    stdout_of(
        &["--rw", &format!("{host}:/given")],
        "echo changed > /given/left",
    );
    assert_eq!(
        std::fs::read_to_string(dir.path().join("left")).unwrap(),
        "changed\n"
    );
    assert_eq!(
        stdout_of(
            &["--tmpfs", "/work:64K", "--cwd", "/work"],
            "pwd; head -c 1M /dev/zero 2>&1 > x; stat -c %s x"
        ),
        "/work\nhead: error writing 'standard output': No space left on device\n65536\n"
    );
    assert_eq!(
        stdout_of(
            &["--proc", "/proc"],
            "readlink /proc/self | grep -cx '[0-9]*'; ls -d /proc/1"
        ),
        "1\n/proc/1\n"
    );
    assert_eq!(
        stdout_of(&["--uid", "123", "--gid", "45"], "id -u; id -g"),
        "123\n45\n"
    );
    assert_eq!(
        stdout_of(
            &["--env", "A=1", "--env", "B=x y", "--env", "A=2"],
            "echo $A $B; env | grep -c ="
        ),
        "2 x y\n7\n"
    );
    assert_eq!(
        stdout_of(&["--env", "HOME=/"], "echo $PATH $HOME $LANG"),
        "/usr/local/bin:/usr/bin:/bin / C.UTF-8\n"
    );
    let sanitized = "echo 'int main() { return 0; }' | gcc -fsanitize=address -x c - -o /tmp/a && \
                     /tmp/a && echo right";
    assert_eq!(stdout_of(&[], sanitized), "right\n");
    assert_eq!(
        stdout_of(
            &["--rlimit", "NOFILE=64", "--rlimit", "STACK=1M"],
            "ulimit -n; ulimit -s"
        ),
        "64\n1024\n"
    );
    assert_eq!(stdout_of(&["--cpus", "0"], "nproc"), "1\n");
    let output = run(&["--bare", "--", "/bin/true"]);
    assert_eq!(
        status(&output),
        126,
        "a dynamic program ran without its loader: {output:?}"
    );
}

#[test]
fn help_is_printed_for_every_help_option() {
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
        message.contains("MILLIBOX_CGROUP_PARENT") && message.contains("waits for a writer"),
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
fn invalid_cgroup_parent_variable_is_named_in_message() {
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
            // For other users, cgroups may be unusable for a different reason.
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

#[test]
fn help_of_companion_is_that_of_its_program() {
    let directory = directory();
    let millibox = directory.path().join("millibox");
    copy_executable(executable("millibox"), &millibox);
    let help = |words: &[&str]| {
        let mut command = Command::new(&millibox);
        command.arg("help").args(words).output().unwrap()
    };
    let missing = help(&["site"]);
    assert_eq!(status(&missing), 127, "{missing:?}");
    assert!(line(&missing).contains("millibox-site does not exist"));
    for name in ["serve", "site", "worker"] {
        let program = directory.path().join(format!("millibox-{name}"));
        write_script(&program, "#!/bin/sh\necho \"$@\"\n");
        assert_eq!(text(&help(&[name]).stdout), "--help\n");
        let nested = help(&[name, "fleet", "add"]);
        assert_eq!(text(&nested.stdout), "fleet add --help\n");
    }
}
