//! Tests reports of hostile submissions against golden files, and reads them back with parsers.
//!
//! `MILLIBOX_GOLDEN=write` rewrites the golden files. Review the changes.

mod html_page;
mod junit_xml;
mod plain_text;

use crate::tree::*;
use millibox::{Backend, Figures, Outcome, RunResult};
use millibox_judge::convention::{AnswerFault, ValidatorFailure};
use millibox_judge::failure::RunFault;
use millibox_judge::report::text::{Protocol, Style};
use millibox_judge::report::{
    CompilationReport, JudgeReport, LimitsReport, Machine, ProblemReport, SubmissionInfo,
    SubmissionReport, TestReport, WarningReport, html, json, junit, text,
};
use millibox_judge::result::Reason;
use millibox_judge::scoring::{Plan, Progress};
use millibox_judge::verdict::Verdict;
use millibox_languages::program::Limits;
use millibox_package::model::{Expected, Format, Objective, Problem, Rules, Scoring};
use quick_xml::events::Event;
use scraper::{Html, Selector};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Hostile text: markup, ends of sections, control sequences, right-to-left text, long lines and
/// noncharacters.
const HOSTILE: &str = "</td><script>alert(1)</script>]]>&amp;<!-- \
    \"'\x1b[2J\x1b]0;t\x07\u{9b}31m\r\n\tsecond\u{202e}line\0\u{ffff}";

fn legacy_problem() -> Problem {
    let groups = vec![
        group("sample", Rules::default(), 1, vec![]),
        group(
            "secret",
            continuing(),
            0,
            vec![
                group("secret/a", Rules::default(), 3, vec![]),
                group("secret/b", continuing(), 2, vec![]),
            ],
        ),
    ];
    problem(Format::Legacy, Scoring::PassFail, continuing(), groups)
}

fn scored_problem() -> Problem {
    let points = Scoring::Points {
        minimum: 0.0,
        maximum: 100.0,
        objective: Objective::Max,
    };
    let mut groups = vec![
        group("0", sim(0.0), 1, vec![]),
        group("1", sim(40.0), 2, vec![]),
        group("2", sim(60.0), 2, vec![]),
    ];
    groups[0].sample = true;
    problem(Format::Sim, points, continuing(), groups)
}

fn figures(ms: u64) -> Figures {
    Figures::default()
        .with_real_time_ns(ms * 1_100_000)
        .with_cpu_ns(ms * 900_000, ms * 100_000)
        .with_peak_memory_bytes(3 << 20)
        .with_peak_processes(Some(1))
}

fn ended(outcome: Outcome) -> Box<RunResult> {
    Box::new(RunResult::new(outcome, Backend::Rlimit))
}

/// Records results, given in the notation of `tree`, for all tests that are due. The second result
/// contains hostile text.
fn progress<'p>(plan: &'p Plan, words: &str) -> Progress<'p> {
    let mut progress = Progress::new(plan);
    for (test, one) in words.split_whitespace().enumerate() {
        let Some(mut judged) = word(one) else {
            continue;
        };
        judged.cpus = vec![test % 2];
        if let Some(run) = &mut judged.result.run {
            let of_test = figures(12 + test as u64);
            run.figures = of_test.with_cpu_ns(run.figures.cpu_user_ns, of_test.cpu_system_ns);
        }
        judged.result.reason = match judged.result.verdict {
            Verdict::TimeLimit => Some(Reason::Run(RunFault::CpuTime)),
            Verdict::RunTimeError => {
                Some(Reason::Run(RunFault::Ended(ended(Outcome::Signaled(11)))))
            }
            Verdict::JudgeError => {
                let fault = AnswerFault::Ended(ended(Outcome::Exited(7)));
                let failure = ValidatorFailure::new(fault, HOSTILE.to_owned());
                Some(Reason::Checker(failure.into()))
            }
            _ => None,
        };
        if test == 1 {
            judged.result.comment = HOSTILE.to_owned();
            judged.result.checker = Some(figures(2));
        }
        progress.record(test, judged);
    }
    progress
}

fn about(name: &str, expected: &[Expected]) -> SubmissionInfo {
    SubmissionInfo {
        name: name.to_owned(),
        suite: Some("cpp".to_owned()),
        expected: expected.to_vec(),
        ..SubmissionInfo::default()
    }
}

fn report(problem: &Problem, submissions: Vec<SubmissionReport>) -> JudgeReport {
    let limits = Limits {
        cpu_time: LIMIT,
        real_time: 2 * LIMIT,
        memory: 64 << 20,
        output: 1 << 20,
        processes: 1,
    };
    let mut described = ProblemReport::from(problem);
    described.name = format!("P {HOSTILE}");
    JudgeReport {
        version: millibox_judge::report::VERSION,
        problem: described,
        machine: Machine {
            kernel: "6.12.1".to_owned(),
            cpu_model: Some("A CPU @ 2.0GHz".to_owned()),
            cpus: 2,
            backend: Backend::Cgroup2,
        },
        limits: LimitsReport::from(&limits),
        warnings: vec![WarningReport {
            file: format!("p/{HOSTILE}/problem.yaml"),
            line: Some(3),
            column: None,
            message: format!("unknown key {HOSTILE}"),
        }],
        started: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
        duration_ns: 1_234_567_890,
        submissions,
    }
}

/// A report with each kind of result.
fn passing_or_not() -> JudgeReport {
    let problem = legacy_problem();
    let plan = Plan::new(&problem).unwrap();
    let of = |name: &str, expected: &[Expected], words: &str| {
        SubmissionReport::judged(about(name, expected), &progress(&plan, words))
    };
    let mut broken = about("compile_error/dan.cpp", &[Expected::CompileError]);
    broken.compilation = Some(CompilationReport {
        messages: format!("dan.cpp:1: {HOSTILE}\n"),
        from_cache: false,
        figures: Some(figures(200)),
    });
    let submissions = vec![
        of(
            "accepted/anna.cpp",
            &[Expected::Accepted],
            "AC AC AC AC AC@0.9 AC",
        ),
        of(
            "wrong_answer/bob.cpp",
            &[Expected::WrongAnswer],
            "AC WA - - AC AC",
        ),
        of(
            &format!("accepted/{HOSTILE}.cpp"),
            &[Expected::Accepted],
            "AC AC TL@1.01 - RE AC",
        ),
        of(
            "run_time_error/carl.cpp",
            &[Expected::RunTimeError, Expected::MemoryLimit],
            "AC JE - - AC AC",
        ),
        SubmissionReport::not_run(
            broken,
            &plan,
            Verdict::CompileError,
            "the compiler exited with 1",
        ),
        of("rejected/eve.cpp", &[Expected::Rejected], "AC AC"),
        of("anything/fay.cpp", &[], "RE AC AC AC AC AC"),
        SubmissionReport::skipped(
            about("accepted/gus.kt", &[Expected::Accepted]),
            &plan,
            format!("Kotlin cannot be used here: {HOSTILE}"),
        ),
    ];
    report(&problem, submissions)
}

fn scored() -> JudgeReport {
    let problem = scored_problem();
    let plan = Plan::new(&problem).unwrap();
    let of = |name: &str, expected: &[Expected], words: &str| {
        SubmissionReport::judged(about(name, expected), &progress(&plan, words))
    };
    let submissions = vec![
        of("prog/anna.cpp", &[Expected::Accepted], "AC AC AC AC AC"),
        of(
            "prog/slow.cpp",
            &[Expected::PartiallyAccepted],
            "AC AC@0.8 AC AC%0.25 AC",
        ),
        of("prog/bob.cpp", &[Expected::Accepted], "AC WA - AC AC"),
    ];
    report(&problem, submissions)
}

fn golden(name: &str, made: &[u8]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/results/golden")
        .join(name);
    if std::env::var_os("MILLIBOX_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, made).unwrap();
    }
    let wanted = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (made, wanted) = (
        String::from_utf8_lossy(made),
        String::from_utf8_lossy(&wanted),
    );
    for (number, (made, wanted)) in made.lines().zip(wanted.lines()).enumerate() {
        assert_eq!(made, wanted, "{name}:{}", number + 1);
    }
    assert_eq!(made, wanted, "{name}");
}

fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Vec<u8> {
    let mut made = Vec::new();
    write(&mut made).unwrap();
    made
}

#[test]
fn reports_match_golden_files() {
    for (name, report) in [("pass_fail", passing_or_not()), ("scored", scored())] {
        golden(
            &format!("{name}.json"),
            &written(|to| json::write(&report, to)),
        );
        golden(
            &format!("{name}.xml"),
            &written(|to| junit::write(&report, to)),
        );
        golden(
            &format!("{name}.html"),
            &written(|to| html::write(&report, to)),
        );
        golden(
            &format!("{name}.txt"),
            &written(|to| text::write(&report, to, Style::PLAIN)),
        );
    }
    let terminal = Style {
        columns: Some(100),
        colours: true,
    };
    golden(
        "terminal.txt",
        &written(|to| text::write(&passing_or_not(), to, terminal)),
    );
}

#[test]
fn json_objects_contain_all_names() {
    let made = String::from_utf8(written(|to| json::write(&passing_or_not(), to))).unwrap();
    assert!(
        made.chars()
            .all(|c| c == '\n' || !(c.is_control() || matches!(c, '\u{202e}' | '\u{ffff}')))
    );
    let report: serde_json::Value = serde_json::from_str(&made).unwrap();
    let keys = |value: &serde_json::Value| {
        value
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect::<Vec<_>>()
    };
    let submissions = report["submissions"].as_array().unwrap();
    for submission in submissions {
        assert_eq!(keys(submission), keys(&submissions[0]));
        for test in submission["tests"].as_array().unwrap() {
            assert_eq!(keys(test), keys(&submissions[0]["tests"][0]));
            assert_ne!(test["verdict"].is_null(), test["not_judged"].is_null());
        }
    }
    for submission in submissions {
        assert_ne!(
            submission["verdict"].is_null(),
            submission["not_judged"].is_null()
        );
    }
    assert_eq!(submissions[7]["not_judged"], "no_language");
    assert_eq!(submissions[7]["as_expected"], serde_json::Value::Null);
    assert_eq!(report["started"], "2023-11-14T22:13:20Z");
    let wrong = &submissions[1];
    assert_eq!(
        (&wrong["verdict"], &wrong["as_expected"]),
        (&"wrong_answer".into(), &true.into())
    );
    assert_eq!(wrong["decided_by"], "secret/a/1");
    // JSON keeps the original text. It is not made safe for terminals.
    assert_eq!(wrong["tests"][1]["comment"], HOSTILE);
    assert_eq!(wrong["tests"][2]["not_judged"], "group_ended");
    assert_eq!(submissions[3]["as_expected"], serde_json::Value::Null);
    assert_eq!(submissions[4]["tests"][0]["not_judged"], "no_program");
    assert_eq!(
        (
            &submissions[5]["verdict"],
            &submissions[5]["tests"][2]["not_judged"]
        ),
        (&serde_json::Value::Null, &"unfinished".into())
    );
}

#[test]
fn report_of_compile_error_has_messages_but_no_tests() {
    let problem = scored_problem();
    let plan = Plan::new(&problem).unwrap();
    let about = about("prog/x.cpp", &[Expected::Accepted]);
    let report = SubmissionReport::not_run(
        about.clone(),
        &plan,
        Verdict::CompileError,
        "the compiler exited with 1",
    );
    assert_eq!(
        (report.verdict, report.score, report.as_expected),
        (Some(Verdict::CompileError), Some(0.0), Some(false))
    );
    let report = SubmissionReport::not_run(
        about,
        &plan,
        Verdict::JudgeError,
        "the compiler does not exist",
    );
    assert_eq!(
        (report.verdict, report.score, report.as_expected),
        (Some(Verdict::JudgeError), None, None)
    );
    let whole = self::report(&problem, vec![report]);
    assert!(whole.failed());
    assert_eq!(whole.unexpected().count(), 0);
}

#[test]
fn report_omits_results_that_do_not_count() {
    let problem = legacy_problem();
    let plan = Plan::new(&problem).unwrap();
    let mut progress = Progress::new(&plan);
    progress.record(2, word("RE").unwrap());
    progress.record(1, word("WA").unwrap());
    let test = TestReport::judged(&progress, 2);
    assert_eq!(
        (test.verdict, test.figures, &*test.reason),
        (None, None, "test secret/a/1 was not accepted")
    );
}

#[test]
fn report_names_stated_format() {
    let mut problem = problem(
        Format::Icpc2023,
        Scoring::PassFail,
        Rules::default(),
        Vec::new(),
    );
    for (format, version, shown) in [
        (Format::Icpc2023, Some("2025-09"), "2025-09"),
        (Format::Icpc2023, Some("2023-07"), "2023-07"),
        (Format::Legacy, Some("legacy-icpc"), "legacy"),
        (Format::Legacy, None, "legacy"),
        (Format::Sim, None, "sim"),
    ] {
        problem.format = format;
        problem.version = version.map(str::to_owned);
        assert_eq!(ProblemReport::from(&problem).format, shown);
    }
}
