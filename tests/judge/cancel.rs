//! Cancelling a judging call with its token.

use crate::package::{Package, has_cgroups};
use millibox::{BackendChoice, Supervisor};
use millibox_judge::cancel::CancelToken;
use millibox_judge::judge::{Event, Judge, Machine, Options};
use millibox_judge::report::SubmissionReport;
use millibox_judge::scoring::SkipCause;
use millibox_judge::verdict::Verdict;
use millibox_languages::cache::Cache;
use millibox_languages::suite::Suites;
use millibox_tests::{eventually, processes_with_argument, unique_sleep};
use std::time::Duration;

const DOUBLE: &str = "read n\necho $((n * 2))\n";
const LONG: Duration = Duration::from_secs(60);

/// Judges `accepted/slow.sh`, and cancels the call once a process has the argument `sleeps`. Then
/// judges `accepted/double.sh` with the same judge. Returns both reports.
fn cancel(package: &Package, sleeps: &str) -> [SubmissionReport; 2] {
    let choice = if has_cgroups() {
        BackendChoice::Auto
    } else {
        BackendChoice::Rlimit
    };
    let machine = Machine::start(Supervisor::builder().backend(choice), Some(1), &[]).unwrap();
    let options = Options {
        time_limit: Some(LONG),
        ..Options::default()
    };
    let judge = Judge::new(&machine, Suites::builtin(), Cache::none(), options);
    let problem = millibox_package::read(&package.path()).unwrap();
    let prepared = judge.problem(problem, &mut |_| ()).unwrap();
    let submission = |name: &str| {
        let all = prepared.problem().submissions.iter();
        all.clone().find(|one| one.name.ends_with(name)).unwrap()
    };
    let token = CancelToken::new();
    let cancelled = std::thread::scope(|scope| {
        scope.spawn(|| {
            let runs = eventually(LONG, || !processes_with_argument(sleeps).is_empty());
            token.cancel();
            assert!(runs, "no process has the argument {sleeps}");
        });
        let mut ended = 0;
        let slow = submission("slow.sh");
        let report = judge.submission_until(&prepared, slow, &token, &mut |event| {
            ended += usize::from(matches!(event, Event::Ended { .. }));
        });
        assert_eq!(ended, 1, "the observer sees the end of the submission");
        report
    });
    assert!(
        eventually(LONG, || processes_with_argument(sleeps).is_empty()),
        "a program outlives its judging"
    );
    let next = judge.submission(&prepared, submission("double.sh"), &mut |_| ());
    [cancelled, next]
}

#[track_caller]
fn assert_only_first_is_cancelled([cancelled, next]: &[SubmissionReport; 2]) {
    assert_eq!(
        (cancelled.verdict, cancelled.not_judged),
        (None, Some(SkipCause::Unfinished)),
        "{cancelled:?}"
    );
    assert_eq!(next.verdict, Some(Verdict::Accepted), "{next:?}");
}

#[test]
fn cancel_while_submission_runs_kills_it_and_keeps_machine() {
    let package = Package::new("");
    let sleep = unique_sleep("1000.0417");
    package.submission("accepted/double.sh", DOUBLE).submission(
        "accepted/slow.sh",
        &format!("read n\n[ $n = 1 ] || sleep {sleep}\necho 2\n"),
    );
    let reports = cancel(&package, &sleep);
    assert_only_first_is_cancelled(&reports);
    // The first test had already ended.
    assert_eq!(reports[0].tests[0].verdict, Some(Verdict::Accepted));
    assert_eq!(reports[0].tests[1].verdict, None);
}

#[test]
fn cancel_while_checker_runs_kills_it_and_keeps_machine() {
    let package = Package::new("validation: custom\n");
    let sleep = unique_sleep("1000.0418");
    package
        .file(
            "output_validators/check.sh",
            &format!("read n\n[ $n = slow ] && sleep {sleep}\nexit 42\n"),
        )
        .submission("accepted/double.sh", DOUBLE)
        .submission("accepted/slow.sh", "echo slow\n");
    assert_only_first_is_cancelled(&cancel(&package, &sleep));
}

#[test]
fn cancel_while_interactor_runs_kills_it_and_keeps_machine() {
    let package = Package::new("validation: custom interactive\n");
    let sleep = unique_sleep("1000.0419");
    package
        .file(
            "output_validators/talk.sh",
            &format!("read n\n[ $n = slow ] && sleep {sleep}\nexit 42\n"),
        )
        .submission("accepted/double.sh", "echo fast\n")
        .submission("accepted/slow.sh", "echo slow\n");
    assert_only_first_is_cancelled(&cancel(&package, &sleep));
}

#[test]
fn cancelled_token_starts_no_test() {
    let package = Package::new("");
    package.submission("accepted/double.sh", DOUBLE);
    let choice = if has_cgroups() {
        BackendChoice::Auto
    } else {
        BackendChoice::Rlimit
    };
    let machine = Machine::start(Supervisor::builder().backend(choice), Some(1), &[]).unwrap();
    let judge = Judge::new(
        &machine,
        Suites::builtin(),
        Cache::none(),
        Options::default(),
    );
    let problem = millibox_package::read(&package.path()).unwrap();
    let prepared = judge.problem(problem, &mut |_| ()).unwrap();
    let token = CancelToken::new();
    token.cancel();
    let submission = &prepared.problem().submissions[0];
    let report = judge.submission_until(&prepared, submission, &token, &mut |event| {
        panic!("{event:?}");
    });
    assert_eq!(
        (report.verdict, report.compilation.is_some()),
        (None, false)
    );
    assert_eq!(report.reason, "after 0 of 2 tests");
}
