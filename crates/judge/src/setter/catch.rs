//! What the judgement of a package's own submissions says of the package: which wrong ones no test
//! catches, how far the slow ones are beyond the limit.

use super::SetterError;
use crate::cache::Cache;
use crate::judge::{Judge, Machine, Observer, Options, Prepared, TimeLimit};
use crate::report::{SubmissionReport, nanoseconds};
use crate::suite::Suites;
use crate::time_limit::DEFAULT_FACTOR;
use crate::verdict::Verdict;
use millibox_package::Problem;
use millibox_package::model::{Expected, Format, Submission};
use serde::Serialize;
use std::time::Duration;

/// A submission that must be too slow is watched until it needs so many times the limit.
const PATIENCE_FACTOR: u32 = 4;
/// But no longer than this.
const MAX_PATIENCE: Duration = Duration::from_secs(60);
/// So much slower must it be, where the package says nothing.
const DEFAULT_MARGIN: f64 = 2.0;

/// What was found.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Findings {
    /// Submissions that must be too slow, and are.
    pub slow: Vec<SlowSubmission>,
    /// What the package's author may want to know, each in a line.
    pub remarks: Vec<String>,
}

/// How far a slow submission is beyond the limit.
#[derive(Debug, Clone, Serialize)]
pub struct SlowSubmission {
    /// Name of the submission.
    pub name: String,
    /// The most of its times over the test's limit.
    pub times: f64,
    /// It was not waited for: there may be more.
    pub at_least: bool,
    /// On this test.
    pub test: String,
}

/// Looks at what came of the submissions of `problem`, as it was `prepared` for judging: `reports`, one
/// for each, in the problem's order. SlowSubmission submissions are judged once more, with more patience.
///
/// # Errors
/// The problem cannot be judged with another time limit.
pub fn examine(
    machine: &Machine,
    suites: Suites,
    cache: Cache,
    problem: &Problem,
    prepared: &Prepared,
    reports: &[SubmissionReport],
    observer: Observer<'_>,
) -> Result<Findings, SetterError> {
    let mut findings = Findings::default();
    let too_slow = |(submission, report): &(&Submission, &SubmissionReport)| {
        submission.expected.contains(&Expected::TimeLimit) && report.verdict == Some(Verdict::TimeLimit)
    };
    let slow: Vec<Submission> =
        problem.submissions.iter().zip(reports).filter(too_slow).map(|(submission, _)| submission.clone()).collect();
    if !slow.is_empty() {
        let longest = prepared.limits().iter().map(|limits| limits.cpu_time).max().unwrap_or_default();
        let patience = (longest * PATIENCE_FACTOR).min(MAX_PATIENCE).max(longest);
        let options = Options { time_limit: Some(patience), ..Options::default() };
        let judge = Judge::new(machine, suites, cache, options);
        let patiently = judge
            .problem(problem.clone(), observer)
            .map_err(|unjudgeable| SetterError::Programs(vec![unjudgeable.to_string()]))?;
        let again = judge.submissions(&patiently, &slow, observer);
        findings.slow = again.iter().filter_map(|report| slowness(prepared, report, patience)).collect();
    }
    let margin = problem.limits.to_exceeded.unwrap_or(DEFAULT_MARGIN);
    findings.remarks = remarks(&problem.submissions, reports, &findings.slow, margin);
    findings.remarks.extend(too_close(problem, prepared, reports));
    Ok(findings)
}

/// Submissions that a time limit is measured by and that come closer to the stated one than version 2023-07 of the ICPC
/// format allows. In others the factor is for limits that nobody states.
fn too_close(problem: &Problem, prepared: &Prepared, reports: &[SubmissionReport]) -> Vec<String> {
    let factor = problem.limits.from_accepted.unwrap_or(DEFAULT_FACTOR);
    if problem.format != Format::Icpc2023 || *prepared.time_limit() != TimeLimit::Package {
        return Vec::new();
    }
    let accepted = |(submission, report): &(&Submission, &SubmissionReport)| {
        submission.is_measured() && report.verdict == Some(Verdict::Accepted)
    };
    let reports = problem.submissions.iter().zip(reports).filter(accepted).map(|(_, report)| report);
    let remarks = reports.filter_map(|report| {
        let times = prepared.limits().iter().zip(&report.tests).filter_map(|(limits, test)| {
            Some((Duration::from_nanos(test.cpu_time_ns()?).as_secs_f64(), limits.cpu_time.as_secs_f64(), &test.name))
        });
        let (time, limit, test) = times.max_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)))?;
        let remark = format!(
            "{}: needs {time:.3} s (test {test}); the time limit, {limit} s, must be at least {factor} times that \
             (ac_to_time_limit)",
            report.name
        );
        (time * factor > limit).then_some(remark)
    });
    remarks.collect()
}

/// The most of the times over the limits that hold.
fn slowness(prepared: &Prepared, again: &SubmissionReport, patience: Duration) -> Option<SlowSubmission> {
    let slow = prepared.limits().iter().zip(&again.tests).filter_map(|(limits, test)| {
        let cpu = test.cpu_time_ns()?;
        let at_least = test.verdict == Some(Verdict::TimeLimit);
        // Who slept was ended by the real-time limit.
        let time = if at_least { cpu.max(nanoseconds(patience)) } else { cpu };
        let times = time as f64 / nanoseconds(limits.cpu_time) as f64;
        Some(SlowSubmission { name: again.name.clone(), times, at_least, test: test.name.clone() })
    });
    slow.max_by(|a, b| a.times.total_cmp(&b.times))
}

fn remarks(
    submissions: &[Submission],
    reports: &[SubmissionReport],
    slow: &[SlowSubmission],
    margin: f64,
) -> Vec<String> {
    let mut remarks = Vec::new();
    for (submission, report) in submissions.iter().zip(reports) {
        let expects = |expected| submission.expected.contains(&expected);
        let must_fail =
            !submission.expected.is_empty() && !expects(Expected::Accepted) && !expects(Expected::PartiallyAccepted);
        if must_fail && report.verdict == Some(Verdict::Accepted) {
            remarks.push(format!("{}: no test catches it; add one", report.name));
        }
    }
    for SlowSubmission { name, times, at_least, test } in slow {
        let more = if *at_least { "more than " } else { "" };
        let advice = if *times < margin && !*at_least {
            format!("; that is less than {margin}, and a faster machine may accept it: make the tests larger")
        } else {
            String::new()
        };
        remarks.push(format!("{name}: needs {more}{times:.1} times the limit (test {test}){advice}"));
    }
    // Of a Sim package's other solutions nobody says what they are there for.
    if !submissions.is_empty() && submissions.iter().all(|submission| submission.expected == [Expected::Accepted]) {
        remarks.push("no submission must fail: nobody knows what the tests catch".to_owned());
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_one_that_is_not_slow_enough() {
        let slow = |times, at_least| [SlowSubmission { name: "a".to_owned(), times, at_least, test: "t".to_owned() }];
        let said = |slow: &[SlowSubmission]| remarks(&[], &[], slow, 2.0).concat();
        assert_eq!(said(&slow(3.0, false)), "a: needs 3.0 times the limit (test t)");
        assert_eq!(said(&slow(4.0, true)), "a: needs more than 4.0 times the limit (test t)");
        assert!(said(&slow(1.5, false)).contains("less than 2, and a faster machine"));
    }
}
