//! Packages that cannot be judged, failures of the judge, and signals.

use super::{DOUBLE, machine};
use crate::package::Package;
use millibox_judge::judge::{Judge, Options};
use millibox_judge::verdict::Verdict;
use millibox_languages::cache::Cache;
use millibox_languages::suite::Suites;
use millibox_tests::{descendants, eventually};
use serde_json::Value;
use std::fs;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn unusable_package_is_rejected_before_judging() {
    let package = Package::new("type: scoring\n");
    package
        .file("data/testdata.yaml", "grading: custom\n")
        .file("graders/grade.c", "int main(void) {\n");
    let judged = package.submission("accepted/double.sh", DOUBLE).judge(&[]);
    judged
        .exits_with(2)
        .prints("graders/grade.c: error: the grader cannot be compiled")
        .prints("expected");
    assert_eq!(judged.stdout, "");

    let package = Package::new("validator_flags: no_such_flag\n").test("secret/2", "", "");
    package.submission("accepted/double.sh", DOUBLE);
    let judged = package.judge(&[]);
    judged
        .exits_with(2)
        .prints(":18: error: the default checker has no flag \"no_such_flag\"");
    assert_eq!(
        judged.stderr.matches("no_such_flag").count(),
        1,
        "{}",
        judged.stderr
    );

    let package = Package::new("naem: x\nlimits: {memory: much}\n");
    package
        .judge(&[])
        .exits_with(2)
        .prints("problem.yaml:")
        .prints("memory");
    fs::remove_dir_all(package.path()).unwrap();
    package
        .judge(&[])
        .exits_with(2)
        .prints("cannot be read: No such file or directory");
}

#[test]
fn package_without_submissions_exits_with_2() {
    let judged = Package::new("").judge(&[]);
    judged.exits_with(2).prints("has no submissions");
    assert_eq!(judged.stderr.lines().count(), 1, "{judged:?}");
}

#[test]
fn submission_without_compiler_is_skipped_unless_named() {
    let package = Package::new("");
    package
        .submission("accepted/double.sh", DOUBLE)
        .submission("wrong_answer/x.ghost", "boo\n");
    let suites = package.directory.path().join("suites");
    fs::create_dir(&suites).unwrap();
    fs::write(
        suites.join("ghost.toml"),
        "name = \"ghost\"\ntitle = \"Ghost\"\nextensions = \
         [\"ghost\"]\n\n[tool.no-such-compiler]\npackage = \"ghost-tools\"\n\n[run]\ncommand = \
         [\"{no-such-compiler}\", \"{main}\"]\n\n[example]\nfile = \"x.ghost\"\nsource = \"boo\"\n",
    )
    .unwrap();
    package.submission("wrong_answer/y.unknown", "boo\n");
    let suites = ["--suites", suites.to_str().unwrap()];
    let judged = package.judge(&suites);
    judged
        .exits_with(0)
        .prints("3 submissions: 1 as expected, 2 skipped: their languages cannot be used here")
        .prints("skipped: Ghost cannot be used here: no-such-compiler is not installed")
        .prints("y.unknown: neither the extension nor the first line identifies the language");
    assert_eq!(
        (judged.verdict("x.ghost"), judged.verdict("double.sh")),
        ("none", "accepted")
    );
    for name in ["x.ghost", "y.unknown"] {
        let submission = judged.submission(name);
        assert_eq!(
            (&submission["not_judged"], &submission["as_expected"]),
            (&"no_language".into(), &Value::Null)
        );
    }
    // If all submissions are skipped, the command fails.
    package
        .judge(&[&suites[..], &["wrong_answer"]].concat())
        .exits_with(2)
        .prints("2 skipped");
    let quiet = package.judge(&[&suites[..], &["wrong_answer", "--quiet"]].concat());
    quiet
        .exits_with(2)
        .prints("nothing was judged: all 2 submissions were skipped")
        .prints("no-such-compiler");
    assert_eq!(
        (quiet.stdout.as_str(), quiet.stderr.lines().count()),
        ("", 1),
        "{quiet:?}"
    );
    for named in [
        "wrong_answer/x.ghost",
        "x.ghost",
        package
            .path()
            .join("submissions/wrong_answer/x.ghost")
            .to_str()
            .unwrap(),
    ] {
        let judged = package.judge(&[&suites[..], &[named, "accepted"]].concat());
        judged.exits_with(2).prints("apt install ghost-tools");
        assert_eq!(
            (judged.verdict("x.ghost"), judged.verdict("double.sh")),
            ("judge_error", "accepted")
        );
    }
}

#[test]
fn missing_temporary_directory_is_judge_error_with_remedy() {
    let package = Package::new("");
    package.submission("accepted/double.sh", DOUBLE);
    let nowhere = package.directory.path().join("nowhere");
    let output = package
        .command(&[])
        .env("TMPDIR", &nowhere)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        printed.contains("judge error")
            && printed.contains("set TMPDIR to a directory with free space"),
        "{printed}"
    );
}

/// Judges one submission with two jobs, and kills the supervisor whenever a run executes `sleep`
/// with this argument.
fn judge_and_kill(package: &Package, sleep: &str, times: usize) -> (Option<Verdict>, String) {
    let machine = machine(2);
    let judge = Judge::new(
        &machine,
        Suites::builtin(),
        Cache::none(),
        Options::default(),
    );
    let problem = millibox_package::read(&package.path()).unwrap();
    let prepared = judge.problem(problem, &mut |_| ()).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..times {
                let pid = machine.supervisor().info().pid();
                let sleeps = || {
                    millibox_tests::processes_with_argument(sleep)
                        .iter()
                        .any(|_| descendants(pid).len() > 7)
                };
                if !eventually(Duration::from_secs(30), || {
                    sleeps() || over.load(Ordering::SeqCst)
                }) {
                    return;
                }
                let pid = rustix::process::Pid::from_raw(pid as i32).unwrap();
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                // Wait for the next supervisor.
                eventually(Duration::from_secs(30), || {
                    machine.supervisor().info().pid() != pid.as_raw_nonzero().get() as u32
                        || over.load(Ordering::SeqCst)
                });
            }
        });
        let report = judge.submission(&prepared, &prepared.problem().submissions[0], &mut |_| ());
        over.store(true, Ordering::SeqCst);
        (report.verdict, report.reason)
    })
}

#[test]
fn killed_supervisor_is_restarted_once() {
    let package = Package::new("");
    let sleep = millibox_tests::unique_sleep("3.07");
    package.submission("accepted/double.sh", &format!("sleep {sleep}\n{DOUBLE}"));
    assert_eq!(
        judge_and_kill(&package, &sleep, 1),
        (Some(Verdict::Accepted), String::new())
    );
    let (verdict, reason) = judge_and_kill(&package, &sleep, 2);
    assert_eq!(verdict, Some(Verdict::JudgeError), "{reason}");
    assert!(
        reason.contains("supervisor died") && reason.contains("signal KILL"),
        "{reason}"
    );
}

#[test]
fn signal_ends_judge_and_leaves_no_processes_or_files() {
    let package = Package::new("");
    package
        .file("domjudge-problem.ini", "timelimit=100\n")
        .submission("accepted/sleeps.sh", "sleep 61.13\n");
    let report = package.directory.path().join("report.json");
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let child = package
            .command(&["--report", "json", report.to_str().unwrap()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = child.id();
        assert!(eventually(Duration::from_secs(60), || {
            let sleeping = millibox_tests::processes_with_argument("61.13");
            descendants(pid)
                .iter()
                .any(|process| sleeping.iter().any(|other| other.pid == process.pid))
        }));
        let family = descendants(pid);
        rustix::process::kill_process(rustix::process::Pid::from_raw(pid as i32).unwrap(), signal)
            .unwrap();
        let output = child.wait_with_output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(
            output.status.code(),
            Some(128 + signal.as_raw()),
            "{printed}"
        );
        assert!(printed.contains("interrupted"), "{printed}");
        let read: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
        assert_eq!(read["submissions"][0]["verdict"], Value::Null);
        let gone = || {
            family
                .iter()
                .all(|one| millibox_tests::process(one.pid).is_none_or(|now| now != *one))
        };
        assert!(eventually(Duration::from_secs(10), gone), "{family:?}");
        let left: Vec<_> = fs::read_dir(package.directory.path().join("tmp"))
            .unwrap()
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
