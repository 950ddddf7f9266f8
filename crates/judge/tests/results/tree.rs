//! Short notations for problems and results.

use millibox::{Backend, Figures, Outcome, RunResult};
use millibox_judge::failure::{GraderFailure, JudgeFailure};
use millibox_judge::result::TestResult;
use millibox_judge::scoring::{Grade, JudgedTest, Plan, Progress};
use millibox_judge::verdict::{Points, Verdict};
use millibox_languages::program::Limits;
use millibox_package::model::{
    Checker, Format, Group, Kind, Objective, Problem, Program, Rules, ScoreMode, Scoring, Test,
};
use std::time::Duration;

pub const LIMIT: Duration = Duration::from_millis(1000);
pub const POINTS: Scoring = Scoring::Points {
    minimum: 0.0,
    maximum: 100.0,
    objective: Objective::Max,
};

/// Returns rules that continue after a failure.
pub fn continuing() -> Rules {
    Rules {
        stop_at_first_failure: false,
        ..Rules::default()
    }
}

/// Returns the rules of a Sim group.
pub fn sim(points: f64) -> Rules {
    Rules {
        score: ScoreMode::Minimum,
        points: Some(points),
        time_graded_from: Some(2.0 / 3.0),
        ..Rules::default()
    }
}

/// Returns rules of the legacy format, in which a test is worth `accept`.
pub fn legacy(accept: f64) -> Rules {
    Rules {
        accept_score: Some(accept),
        reject_score: Some(0.0),
        ..Rules::default()
    }
}

pub fn group(name: &str, rules: Rules, tests: usize, groups: Vec<Group>) -> Group {
    let tests = (1..=tests)
        .map(|number| Test {
            name: format!("{name}/{number}"),
            ..Test::default()
        })
        .collect();
    Group {
        name: name.to_owned(),
        sample: name == "sample",
        rules,
        tests,
        groups,
    }
}

pub fn problem(format: Format, scoring: Scoring, rules: Rules, groups: Vec<Group>) -> Problem {
    Problem {
        directory: "p".into(),
        format,
        version: None,
        name: "P".to_owned(),
        label: "p".to_owned(),
        kind: Kind::Batch,
        checker: Checker::Tokens,
        checker_flags: Vec::new(),
        grader: None,
        scoring,
        limits: Default::default(),
        root: Group {
            rules,
            groups,
            ..Group::default()
        },
        submissions: Vec::new(),
        input_validators: Vec::new(),
        probes: Vec::new(),
        generators: Vec::new(),
        include: None,
        statement: None,
        constants: Default::default(),
        warnings: Vec::new(),
        unpacked: None,
    }
}

/// Returns a program that is never run.
pub fn program() -> Program {
    Program {
        path: "g.py".into(),
        sources: vec!["g.py".into()],
        language: None,
        arguments: Vec::new(),
    }
}

/// Returns a result whose run used a fraction of the time limit.
pub fn judged(verdict: Verdict, score: Option<Points>, time: f64) -> JudgedTest {
    let used_ns = (LIMIT.as_nanos() as f64 * time) as u64;
    let figures = Figures::default()
        .with_real_time_ns(used_ns)
        .with_cpu_ns(used_ns, 0);
    let run = RunResult::new(Outcome::Exited(0), Backend::Rlimit).with_figures(figures);
    JudgedTest {
        result: TestResult {
            score,
            run: Some(run),
            ..TestResult::new(verdict)
        },
        limits: Limits {
            cpu_time: LIMIT,
            real_time: 2 * LIMIT,
            memory: 64 << 20,
            output: 1 << 20,
            processes: 1,
        },
        enforced_memory: Some(80 << 20),
        cpus: Vec::new(),
    }
}

/// Parses a result: AC WA TL ML OL RE JE, with points after `=`, a fraction of the points after
/// `%`, and a fraction of the time limit after `@`. Examples: `AC`, `AC=12`, `AC%0.5`, `AC@0.8`,
/// `AC%0.5@0.9`. `-` means that the test must not run.
pub fn word(word: &str) -> Option<JudgedTest> {
    let (rest, time) = word
        .split_once('@')
        .map_or((word, 0.0), |(rest, time)| (rest, time.parse().unwrap()));
    let (rest, score) = match (rest.split_once('='), rest.split_once('%')) {
        (Some((rest, points)), _) => (rest, Some(Points::Absolute(points.parse().unwrap()))),
        (_, Some((rest, part))) => (rest, Some(Points::Part(part.parse().unwrap()))),
        _ => (rest, None),
    };
    let verdict = match rest {
        "-" => return None,
        "AC" => Verdict::Accepted,
        "WA" => Verdict::WrongAnswer,
        "OL" => Verdict::OutputLimit,
        "TL" => Verdict::TimeLimit,
        "ML" => Verdict::MemoryLimit,
        "RE" => Verdict::RunTimeError,
        "JE" => Verdict::JudgeError,
        other => panic!("{other}"),
    };
    Some(judged(verdict, score, time))
}

/// Parses the answer of a grader that wrote nothing to its standard error.
pub fn parse_grade(answer: &str) -> Result<Grade, JudgeFailure> {
    let failed = |fault| JudgeFailure::Grader(GraderFailure::new(fault, String::new()));
    Grade::parse(answer.as_bytes()).map_err(failed)
}

/// Judges one test after another. Only the tests that have a result may be due.
pub fn judge<'p>(plan: &'p Plan, words: &str) -> Progress<'p> {
    judge_with(Progress::new(plan), words)
}

pub fn judge_with<'p>(mut progress: Progress<'p>, words: &str) -> Progress<'p> {
    let results: Vec<_> = words.split_whitespace().map(word).collect();
    assert_eq!(results.len(), progress.plan().len(), "{words}");
    while let Some(test) = progress.next_test() {
        let name = progress.plan().test_name(test);
        let result = results[test]
            .clone()
            .unwrap_or_else(|| panic!("{words}: {name} is due"));
        progress.record(test, result);
    }
    assert!(progress.is_finished());
    for (test, result) in results.iter().enumerate() {
        assert_eq!(
            progress.judged(test).is_some(),
            result.is_some(),
            "{words}: {}",
            progress.plan().test_name(test)
        );
    }
    progress
}
