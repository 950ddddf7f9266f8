//! The JSON report of `millibox run`.

use super::{allow_rlimit_backend, line, read_report, run, status};
use millibox_tests::directory;

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
