//! Draws conclusions about a package from judging its own submissions: which wrong submissions no
//! test rejects, and how far the slow ones exceed the limit.

use super::SetterError;
use super::error::ProgramFault;
use millibox_judge::judge::{Judge, Machine, Observer, Options, PreparedProblem, TimeLimit};
use millibox_judge::report::{SubmissionReport, nanoseconds};
use millibox_judge::time_limit::DEFAULT_FACTOR;
use millibox_judge::verdict::Verdict;
use millibox_languages::cache::Cache;
use millibox_languages::suite::Suites;
use millibox_package::Problem;
use millibox_package::model::{Expected, Format, Submission};
use serde::Serialize;
use std::time::Duration;

/// A submission that must be too slow runs until it reaches this multiple of the limit.
const PATIENCE_FACTOR: u32 = 4;
/// Maximum CPU time of such a run.
const MAX_PATIENCE: Duration = Duration::from_secs(60);
/// Default factor by which a slow submission must exceed the limit.
const DEFAULT_MARGIN: f64 = 2.0;

/// The conclusions about a package.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct Findings {
    /// Submissions that must be too slow, and are too slow.
    pub slow: Vec<SlowSubmission>,
    /// Remarks for the package's author, each on one line.
    pub remarks: Vec<String>,
}

/// How far a slow submission exceeds the limit.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct SlowSubmission {
    /// Name of the submission.
    pub name: String,
    /// The maximum over all tests of the submission's time divided by the test's limit.
    pub times: f64,
    /// Whether the run was ended early, so that the actual factor may be larger.
    pub at_least: bool,
    /// The test with the largest factor.
    pub test: String,
}

/// Examines the reports of the submissions to `problem`, which was `prepared` for judging.
///
/// `reports` contains one report for each submission, in the problem's order. Slow submissions are
/// judged again with a higher limit.
///
/// # Errors
/// The problem cannot be judged with another time limit.
pub fn examine(
    machine: &Machine,
    suites: Suites,
    cache: Cache,
    problem: &Problem,
    prepared: &PreparedProblem,
    reports: &[SubmissionReport],
    observer: Observer<'_>,
) -> Result<Findings, SetterError> {
    let mut findings = Findings::default();
    let too_slow = |(submission, report): &(&Submission, &SubmissionReport)| {
        submission.expected.contains(&Expected::TimeLimit)
            && report.verdict == Some(Verdict::TimeLimit)
    };
    let slow: Vec<Submission> = problem
        .submissions
        .iter()
        .zip(reports)
        .filter(too_slow)
        .map(|(submission, _)| submission.clone())
        .collect();
    if !slow.is_empty() {
        let longest = prepared
            .limits()
            .iter()
            .map(|limits| limits.cpu_time)
            .max()
            .unwrap_or_default();
        let patience = (longest * PATIENCE_FACTOR).min(MAX_PATIENCE).max(longest);
        let options = Options {
            time_limit: Some(patience),
            ..Options::default()
        };
        let judge = Judge::new(machine, suites, cache, options);
        let patiently = judge
            .problem(problem.clone(), observer)
            .map_err(|error| SetterError::from(ProgramFault::Package(error)))?;
        let again = judge.submissions(&patiently, &slow, observer);
        findings.slow = again
            .iter()
            .filter_map(|report| slowness(prepared, report, patience))
            .collect();
    }
    let margin = problem.limits.to_exceeded.unwrap_or(DEFAULT_MARGIN);
    findings.remarks = remarks(&problem.submissions, reports, &findings.slow, margin);
    findings
        .remarks
        .extend(too_close(problem, prepared, reports));
    Ok(findings)
}

/// Adds remarks on submissions that must be accepted and come closer to the stated limit than
/// version 2023-07 of the ICPC format allows. In other versions, the factor applies only to
/// computed limits.
fn too_close(
    problem: &Problem,
    prepared: &PreparedProblem,
    reports: &[SubmissionReport],
) -> Vec<String> {
    let factor = problem.limits.from_accepted.unwrap_or(DEFAULT_FACTOR);
    if problem.format != Format::Icpc2023 || *prepared.time_limit() != TimeLimit::Package {
        return Vec::new();
    }
    let accepted = |(submission, report): &(&Submission, &SubmissionReport)| {
        submission.is_measured() && report.verdict == Some(Verdict::Accepted)
    };
    let reports = problem
        .submissions
        .iter()
        .zip(reports)
        .filter(accepted)
        .map(|(_, report)| report);
    let remarks = reports.filter_map(|report| {
        let times = prepared
            .limits()
            .iter()
            .zip(&report.tests)
            .filter_map(|(limits, test)| {
                Some((
                    Duration::from_nanos(test.cpu_time_ns()?).as_secs_f64(),
                    limits.cpu_time.as_secs_f64(),
                    &test.name,
                ))
            });
        let (time, limit, test) = times.max_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)))?;
        let remark = format!(
            "{}: needs {time:.3} s (test {test}); the time limit, {limit} s, must be at least \
             {factor} times that (ac_to_time_limit)",
            report.name
        );
        (time * factor > limit).then_some(remark)
    });
    remarks.collect()
}

/// Returns the test on which a submission exceeds its limit by the largest factor.
fn slowness(
    prepared: &PreparedProblem,
    again: &SubmissionReport,
    patience: Duration,
) -> Option<SlowSubmission> {
    let slow = prepared
        .limits()
        .iter()
        .zip(&again.tests)
        .filter_map(|(limits, test)| {
            let cpu = test.cpu_time_ns()?;
            let at_least = test.verdict == Some(Verdict::TimeLimit);
            // A sleeping submission reaches the real-time limit but uses little CPU time.
            let time = if at_least {
                cpu.max(nanoseconds(patience))
            } else {
                cpu
            };
            let times = time as f64 / nanoseconds(limits.cpu_time) as f64;
            Some(SlowSubmission {
                name: again.name.clone(),
                times,
                at_least,
                test: test.name.clone(),
            })
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
        let must_fail = !submission.expected.is_empty()
            && !expects(Expected::Accepted)
            && !expects(Expected::PartiallyAccepted);
        if must_fail && report.verdict == Some(Verdict::Accepted) {
            remarks.push(format!("{}: no test catches it; add one", report.name));
        }
    }
    for SlowSubmission {
        name,
        times,
        at_least,
        test,
    } in slow
    {
        let more = if *at_least { "more than " } else { "" };
        let advice = if *times < margin && !*at_least {
            format!(
                "; that is less than {margin}, and a faster machine may accept it: make the tests \
                 larger"
            )
        } else {
            String::new()
        };
        remarks.push(format!(
            "{name}: needs {more}{times:.1} times the limit (test {test}){advice}"
        ));
    }
    // A Sim package does not state the purpose of its other solutions.
    if !submissions.is_empty()
        && submissions
            .iter()
            .all(|submission| submission.expected == [Expected::Accepted])
    {
        remarks.push(
            "no submission is expected to fail, so it is unknown what the tests catch; add one \
                that must fail"
                .to_owned(),
        );
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_on_slow_submissions_advise_larger_tests() {
        let slow = |times, at_least| {
            [SlowSubmission {
                name: "a".to_owned(),
                times,
                at_least,
                test: "t".to_owned(),
            }]
        };
        let text = |slow: &[SlowSubmission]| remarks(&[], &[], slow, 2.0).concat();
        assert_eq!(
            text(&slow(3.0, false)),
            "a: needs 3.0 times the limit (test t)"
        );
        assert_eq!(
            text(&slow(4.0, true)),
            "a: needs more than 4.0 times the limit (test t)"
        );
        assert!(text(&slow(1.5, false)).contains("less than 2, and a faster machine"));
    }
}
