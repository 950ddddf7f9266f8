//! Scoring and reports of real runs, judged in parallel.

use millibox::{BackendChoice, Outcome, Supervisor};
use millibox_judge::failure::RunFault;
use millibox_judge::report::{
    JudgeReport, LimitsReport, Machine, ProblemReport, SubmissionInfo, SubmissionReport, json,
};
use millibox_judge::result::{Reason, TestResult};
use millibox_judge::scoring::{JudgedTest, Plan, Progress};
use millibox_judge::verdict::Verdict;
use millibox_languages::program::Limits;
use millibox_package::model::{Expected, Format, Rules, Scoring};
use millibox_tests::{builder, has_cgroups_or_skips, request, result, start};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};
use tree::{group, problem};

// Problems in the notation of the judge's own tests.
#[allow(dead_code)]
#[path = "../../crates/judge/tests/results/tree.rs"]
mod tree;

const LIMITS: Limits = Limits {
    cpu_time: Duration::from_millis(100),
    real_time: Duration::from_secs(60),
    memory: 64 << 20,
    output: 1 << 20,
    processes: 1,
};

fn judge(supervisor: &Supervisor, arguments: &[&str]) -> JudgedTest {
    let request = request(arguments.iter().copied())
        .cpu_time_limit(LIMITS.cpu_time)
        .real_time_limit(LIMITS.real_time);
    let run = result(supervisor, &request);
    let verdict = match run.outcome {
        Outcome::Exited(0) => Verdict::Accepted,
        Outcome::CpuTimeLimit => Verdict::TimeLimit,
        Outcome::Exited(_) => Verdict::RunTimeError,
        _ => Verdict::JudgeError,
    };
    let ended = || Reason::Run(RunFault::Ended(Box::new(run.clone())));
    let result = TestResult {
        reason: (verdict != Verdict::Accepted).then(ended),
        run: Some(run),
        ..TestResult::new(verdict)
    };
    JudgedTest {
        result,
        limits: LIMITS,
        enforced_memory: Some(LIMITS.memory),
        cpus: Vec::new(),
    }
}

#[test]
fn first_failure_in_order_decides_parallel_tests() {
    let supervisor = start(builder());
    if has_cgroups_or_skips(&supervisor) {
        assert_first_failure_decides(&supervisor);
    }
}

#[test]
fn first_failure_in_order_decides_parallel_tests_without_cgroups() {
    assert_first_failure_decides(&start(builder().backend(BackendChoice::Rlimit)));
}

fn assert_first_failure_decides(supervisor: &Supervisor) {
    // The second test ends long after the third.
    let programs: [&[&str]; 5] = [
        &["exit", "0"],
        &["spin", "10000"],
        &["exit", "3"],
        &["exit", "0"],
        &["exit", "0"],
    ];
    let secret = group("secret", Rules::default(), programs.len(), Vec::new());
    let problem = problem(
        Format::Legacy,
        Scoring::PassFail,
        Rules::default(),
        vec![secret],
    );
    let plan = Plan::new(&problem).unwrap();
    let started = SystemTime::now();
    let progress = Mutex::new(Progress::new(&plan));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(test) = progress.lock().unwrap().next_test() else {
                        break;
                    };
                    let judged = judge(supervisor, programs[test]);
                    progress.lock().unwrap().record(test, judged);
                }
            });
        }
    });
    let progress = progress.into_inner().unwrap();
    assert!(progress.is_finished());
    let submission_info = SubmissionInfo {
        name: "a.c".to_owned(),
        expected: vec![Expected::TimeLimit],
        ..SubmissionInfo::default()
    };
    let report = JudgeReport {
        version: millibox_judge::report::VERSION,
        problem: ProblemReport::from(&problem),
        machine: Machine::here(supervisor.info().backend()),
        limits: LimitsReport::from(&LIMITS),
        warnings: Vec::new(),
        started,
        duration_ns: 0,
        submissions: vec![SubmissionReport::judged(submission_info, &progress)],
    };
    let mut bytes = Vec::new();
    json::write(&report, &mut bytes).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(
        report["machine"]["backend"],
        supervisor.info().backend().to_string()
    );
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(report["machine"]["kernel"], kernel.trim());
    let submission = &report["submissions"][0];
    let decided = [
        &submission["verdict"],
        &submission["decided_by"],
        &submission["as_expected"],
    ];
    assert_eq!(
        decided,
        [
            &serde_json::json!("time_limit"),
            &"secret/2".into(),
            &true.into()
        ]
    );
    let tests = submission["tests"].as_array().unwrap();
    let verdicts: Vec<_> = tests.iter().map(|test| test["verdict"].as_str()).collect();
    assert_eq!(
        verdicts,
        [Some("accepted"), Some("time_limit"), None, None, None]
    );
    let figures = &tests[1]["figures"];
    let used =
        figures["cpu_user_ns"].as_u64().unwrap() + figures["cpu_system_ns"].as_u64().unwrap();
    assert!(
        used >= tests[1]["limits"]["cpu_time_ns"].as_u64().unwrap(),
        "{figures}"
    );
    assert!(tests[2]["figures"].is_null());
}
