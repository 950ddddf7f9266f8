//! The stored form of the judge's reports.

use millibox_fleet::result::{Group, Outcome, Protocol, Test, Verdict, cut, initial_verdict};
use millibox_fleet::score::{PASSED, Score};
use millibox_judge::report::{SubmissionReport, TestReport};
use millibox_judge::verdict::Verdict as JudgeVerdict;

/// The maximum number of bytes of the compiler's messages that are kept.
const MAX_MESSAGES: usize = 16 << 10;

/// The verdict of the judge. A judge error is not a verdict.
pub fn of_judge(verdict: JudgeVerdict) -> Option<Verdict> {
    Some(match verdict {
        JudgeVerdict::Accepted => Verdict::Accepted,
        JudgeVerdict::WrongAnswer => Verdict::WrongAnswer,
        JudgeVerdict::TimeLimit => Verdict::TimeLimit,
        JudgeVerdict::MemoryLimit => Verdict::MemoryLimit,
        JudgeVerdict::OutputLimit => Verdict::OutputLimit,
        JudgeVerdict::RunTimeError => Verdict::RunTimeError,
        JudgeVerdict::CompileError => Verdict::CompileError,
        // A verdict that this version does not know is also a failure of the site.
        _ => return None,
    })
}

/// The stored form of a test's result.
pub fn test(report: &TestReport, initial: bool) -> Test {
    Test {
        name: report.name.clone(),
        group: report.group.clone(),
        initial,
        verdict: report.verdict.and_then(of_judge),
        is_failure: report.verdict == Some(JudgeVerdict::JudgeError),
        reason: report.reason.clone(),
        comment: report.comment.clone(),
        cpu_time_ns: report.cpu_time_ns(),
        cpu_time_limit_ns: report.limits.as_ref().map(|limits| limits.cpu_time_ns),
        memory_bytes: report.figures.map(|figures| figures.peak_memory_bytes),
        memory_limit_bytes: report.memory_limit_bytes(),
    }
}

/// The stored form of a report. `is_initial` tells whether a group has initial tests.
fn protocol(report: &SubmissionReport, is_initial: impl Fn(&str) -> bool) -> Protocol {
    let messages = report.compilation.as_ref().map(|it| it.messages.as_str());
    let groups = report.groups.iter().filter(|group| !group.name.is_empty());
    Protocol {
        messages: cut(messages.unwrap_or_default(), MAX_MESSAGES).to_owned(),
        groups: groups
            .map(|group| Group {
                name: group.name.clone(),
                initial: is_initial(&group.name),
                score: group.score.map(|points| Score::of_points(points).0),
                max_score: group.max_score.map(|points| Score::of_points(points).0),
            })
            .collect(),
        tests: report
            .tests
            .iter()
            .map(|one| test(one, is_initial(&one.group)))
            .collect(),
    }
}

/// The result in a report; `None` after a failure of the judge.
pub fn outcome(report: &SubmissionReport, is_initial: impl Fn(&str) -> bool) -> Option<Outcome> {
    let verdict = of_judge(report.verdict?)?;
    let protocol = protocol(report, is_initial);
    let initial_verdict = if verdict == Verdict::CompileError {
        verdict
    } else {
        initial_verdict(&protocol.tests)
    };
    let (score, max_score) = match (report.score, report.max_score) {
        (Some(score), max) => (Score::of_points(score), max.map(Score::of_points)),
        // In problems with points, a source that does not compile receives no points.
        (None, Some(max)) => (Score(0), Some(Score::of_points(max))),
        (None, None) if verdict == Verdict::Accepted => (PASSED, Some(PASSED)),
        (None, None) => (Score(0), Some(PASSED)),
    };
    let most = |figure: fn(&Test) -> Option<u64>| {
        let most = protocol.tests.iter().filter_map(figure).max();
        most.map(|most| i64::try_from(most).unwrap_or(i64::MAX))
    };
    Some(Outcome {
        initial_verdict,
        verdict,
        score: score.0,
        max_score: max_score.map(|score| score.0),
        cpu_time_ns: most(|test| test.cpu_time_ns),
        memory_bytes: most(|test| test.memory_bytes),
        as_expected: report.as_expected,
        protocol,
    })
}

/// Why the judge has no verdict.
pub fn fault(report: &SubmissionReport) -> String {
    let is_fault = |test: &&TestReport| test.verdict == Some(JudgeVerdict::JudgeError);
    match report.tests.iter().find(is_fault) {
        Some(test) => format!("test {}: {} {}", test.name, test.reason, test.comment),
        None => report.reason.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verdict_of_the_judge_but_its_own_error_has_a_stored_verdict() {
        let missing: Vec<_> = JudgeVerdict::ALL
            .iter()
            .filter(|verdict| of_judge(**verdict).is_none())
            .collect();
        assert_eq!(missing, [&JudgeVerdict::JudgeError]);
    }
}
