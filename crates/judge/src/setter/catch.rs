//! What the judgement of a package's own submissions says of the package: whether each comes to what is
//! expected of it, which wrong ones no test catches, how far the slow ones are beyond the limit.

use super::Trouble;
use super::outcome::{Outcome, why};
use crate::cache::Cache;
use crate::judge::{Judge, Machine, Observer, Options, Prepared};
use crate::scoring::expected::is_expected;
use crate::suite::Suites;
use crate::verdict::Verdict;
use millibox_package::model::{Expected, Submission};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// A submission that must be too slow is watched until it needs so many times the limit.
const WATCHED: u32 = 4;
/// But no longer than this.
const LONGEST: Duration = Duration::from_secs(60);
/// So much slower must it be, where the package says nothing.
const MARGIN: f64 = 2.0;

/// What came of all submissions.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Each of them, in the package's order.
    pub submissions: Vec<Tried>,
    /// What the package's author may want to know.
    pub remarks: Vec<String>,
}

/// What came of one.
#[derive(Debug, Clone, Serialize)]
pub struct Tried {
    /// Its name.
    pub name: String,
    /// What the judge says.
    pub verdict: Verdict,
    /// Why, where there is more to say.
    pub reason: String,
    /// Whether this was expected; none: nothing was, or the judge failed.
    pub as_expected: Option<bool>,
    /// Its points, in a problem that has points.
    pub points: Option<f64>,
    /// The test that decided, if it was not accepted.
    pub test: Option<String>,
    /// Its slowest test's CPU time, in seconds.
    pub time: f64,
    /// The most memory it used, bytes.
    pub memory: u64,
    /// For one that must be too slow, and is: the most of its times over the test's limit.
    pub slowness: Option<Slowness>,
}

/// How far a slow submission is beyond the limit.
#[derive(Debug, Clone, Serialize)]
pub struct Slowness {
    /// So many times the limit.
    pub times: f64,
    /// It was not waited for: there may be more.
    pub at_least: bool,
    /// On this test.
    pub test: String,
}

impl Report {
    /// Whether every submission came to what is expected of it.
    pub fn is_good(&self) -> bool {
        self.submissions.iter().all(|tried| tried.as_expected != Some(false))
    }

    /// Whether the judge failed on some submission.
    pub fn has_judge_errors(&self) -> bool {
        self.submissions.iter().any(|tried| tried.verdict == Verdict::JudgeError)
    }
}

/// Judges all submissions of a package. `told` is called with each result when it is there.
///
/// # Errors
/// The package cannot be read or judged.
pub fn test(
    machine: &Machine,
    suites: &Suites,
    cache: &Cache,
    package: &Path,
    observer: Observer<'_>,
    mut told: impl FnMut(&Tried),
) -> Result<Report, Trouble> {
    let problem = millibox_package::read(package).map_err(Trouble::Package)?;
    let unjudgeable = |why: crate::judge::Unjudgeable| Trouble::Programs(vec![why.to_string()]);
    let judge = Judge::new(machine, suites.clone(), cache.clone(), Options::default());
    let prepared = judge.problem(problem.clone(), observer).map_err(unjudgeable)?;
    let slowest_limit = prepared.limits().iter().map(|limits| limits.cpu_time).max().unwrap_or_default();
    let patience = (slowest_limit * WATCHED).min(LONGEST).max(slowest_limit);
    let mut patient: Option<(Judge<'_>, Prepared)> = None;
    let mut report = Report::default();
    for submission in &problem.submissions {
        if machine.is_stopped() {
            return Err(Trouble::Machine("it was stopped".to_owned()));
        }
        let submitted = judge.submission(&prepared, submission, observer);
        let mut tried = tried(&prepared, submission, &Outcome::of(&submitted));
        if submission.expected.contains(&Expected::TimeLimit) && tried.verdict == Verdict::TimeLimit {
            if patient.is_none() {
                let options = Options { time_limit: Some(patience), ..Options::default() };
                let judge = Judge::new(machine, suites.clone(), cache.clone(), options);
                let prepared = judge.problem(problem.clone(), observer).map_err(unjudgeable)?;
                patient = Some((judge, prepared));
            }
            if let Some((judge, patiently)) = &patient {
                let again = judge.submission(patiently, submission, observer);
                tried.slowness = slowness(&prepared, &Outcome::of(&again), patience);
            }
        }
        told(&tried);
        report.submissions.push(tried);
    }
    report.remarks = remarks(&problem.submissions, &report.submissions, problem.limits.to_exceeded.unwrap_or(MARGIN));
    Ok(report)
}

fn tried(prepared: &Prepared, submission: &Submission, outcome: &Outcome<'_>) -> Tried {
    let judged = || {
        let tests = prepared.problem().tests().zip(&outcome.tests);
        tests.filter_map(|(test, result)| Some((test, (*result)?)))
    };
    let verdict = outcome.verdict;
    let decided = judged().find(|(_, result)| result.verdict == verdict && verdict != Verdict::Accepted);
    let figures = || judged().filter_map(|(_, result)| result.run.as_ref()).map(|run| run.figures);
    let nanoseconds = figures().map(|figures| figures.cpu_user_ns + figures.cpu_system_ns).max().unwrap_or(0);
    let most = prepared.plan().most(0);
    Tried {
        name: submission.name.clone(),
        verdict,
        reason: decided.map_or_else(|| outcome.reason.clone(), |(_, result)| why(result).to_owned()),
        as_expected: is_expected(&submission.expected, submission.score, verdict, outcome.points, most),
        points: outcome.points,
        test: decided.map(|(test, _)| test.name.clone()),
        time: Duration::from_nanos(nanoseconds).as_secs_f64(),
        memory: figures().map(|figures| figures.peak_memory_bytes).max().unwrap_or(0),
        slowness: None,
    }
}

/// The most of the times over the limits that hold.
fn slowness(prepared: &Prepared, again: &Outcome<'_>, patience: Duration) -> Option<Slowness> {
    let limits = prepared.limits().iter();
    let tests = prepared.problem().tests().zip(limits).zip(&again.tests);
    let slow = tests.filter_map(|((test, limits), result)| {
        let result = (*result)?;
        let figures = result.run.as_ref()?.figures;
        let cpu = Duration::from_nanos(figures.cpu_user_ns + figures.cpu_system_ns);
        let exceeded = result.verdict == Verdict::TimeLimit;
        // Who slept was ended by the real-time limit.
        let time = if exceeded { cpu.max(patience) } else { cpu };
        let times = time.as_secs_f64() / limits.cpu_time.as_secs_f64();
        Some(Slowness { times, at_least: exceeded, test: test.name.clone() })
    });
    slow.max_by(|a, b| a.times.total_cmp(&b.times))
}

fn remarks(submissions: &[Submission], tried: &[Tried], margin: f64) -> Vec<String> {
    let mut remarks = Vec::new();
    for (submission, tried) in submissions.iter().zip(tried) {
        let name = &tried.name;
        let expects = |expected| submission.expected.contains(&expected);
        let must_fail =
            !submission.expected.is_empty() && !expects(Expected::Accepted) && !expects(Expected::PartiallyAccepted);
        if must_fail && tried.verdict == Verdict::Accepted {
            remarks.push(format!("{name}: no test catches it; add one"));
        }
        if let Some(slow) = &tried.slowness
            && slow.times < margin
            && !slow.at_least
        {
            let (times, test) = (slow.times, &slow.test);
            let advice = format!("less than {margin}: a faster machine may accept it; make the tests larger");
            remarks.push(format!("{name}: needs {times:.2} times the limit (test {test}), {advice}"));
        }
    }
    // Of a Sim package's other solutions nobody says what they are there for.
    if !submissions.is_empty() && submissions.iter().all(|submission| submission.expected == [Expected::Accepted]) {
        remarks.push("no submission must fail: nobody knows what the tests catch".to_owned());
    }
    remarks
}
