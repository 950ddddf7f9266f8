//! The protocol of a judgement, as it is stored and shown.

use super::score::{PASSED, Score};
use super::verdict::Verdict;
use super::visibility::Visible;
use crate::db::judgement::Outcome;
use millibox_judge::report::{SubmissionReport, TestReport};
use millibox_judge::verdict::Verdict as JudgeVerdict;
use serde::{Deserialize, Serialize};

/// The maximum number of bytes of the compiler's messages that are kept.
const MAX_MESSAGES: usize = 16 << 10;

/// Everything that the judge reports about a submission.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Protocol {
    /// The compiler's messages.
    pub messages: String,
    /// The groups, in the order of judging.
    pub groups: Vec<Group>,
    /// The tests, in the order of judging.
    pub tests: Vec<Test>,
}

/// A group of tests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// The name.
    pub name: String,
    /// Whether the tests of the group are initial tests.
    pub initial: bool,
    /// The points.
    pub score: Option<i64>,
    /// The maximum points.
    pub max_score: Option<i64>,
}

/// A test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// The name.
    pub name: String,
    /// The name of its group.
    pub group: String,
    /// Whether this is an initial test.
    pub initial: bool,
    /// The verdict. `None`: the test was not judged.
    pub verdict: Option<Verdict>,
    /// Whether the judge failed on this test.
    #[serde(default)]
    pub is_failure: bool,
    /// The reason for the verdict or for its absence.
    pub reason: String,
    /// The comment of the checker.
    pub comment: String,
    /// CPU time.
    pub cpu_time_ns: Option<u64>,
    /// The limit on CPU time.
    pub cpu_time_limit_ns: Option<u64>,
    /// Peak memory.
    pub memory_bytes: Option<u64>,
    /// The limit on memory.
    pub memory_limit_bytes: Option<u64>,
}

impl Test {
    /// The stored form of a test's result.
    pub fn of_report(report: &TestReport, initial: bool) -> Test {
        Test {
            name: report.name.clone(),
            group: report.group.clone(),
            initial,
            verdict: report.verdict.and_then(Verdict::of_judge),
            is_failure: report.verdict == Some(JudgeVerdict::JudgeError),
            reason: report.reason.clone(),
            comment: report.comment.clone(),
            cpu_time_ns: report.cpu_time_ns(),
            cpu_time_limit_ns: report.limits.as_ref().map(|limits| limits.cpu_time_ns),
            memory_bytes: report.figures.map(|figures| figures.peak_memory_bytes),
            memory_limit_bytes: report.memory_limit_bytes(),
        }
    }
}

impl Protocol {
    /// The stored form of a report. `is_initial` tells whether a group has initial tests.
    pub fn of_report(report: &SubmissionReport, is_initial: impl Fn(&str) -> bool) -> Protocol {
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
                .map(|test| Test::of_report(test, is_initial(&test.group)))
                .collect(),
        }
    }

    /// The part that has a meaning with this verdict. A source that does not compile has run on no
    /// test, so a table of tests would contain only their names.
    #[must_use]
    pub fn of_verdict(self, verdict: Option<Verdict>) -> Protocol {
        if verdict != Some(Verdict::CompileError) {
            return self;
        }
        Protocol {
            messages: self.messages,
            ..Protocol::default()
        }
    }

    /// The part that each viewer of the submission sees: the initial tests.
    #[must_use]
    pub fn initial_part(self) -> Protocol {
        Protocol {
            messages: self.messages,
            groups: self
                .groups
                .into_iter()
                .filter(|group| group.initial)
                .map(|group| Group {
                    score: None,
                    max_score: None,
                    ..group
                })
                .collect(),
            tests: self.tests.into_iter().filter(|test| test.initial).collect(),
        }
    }
}

impl Protocol {
    /// The part that a viewer of the submission sees.
    #[must_use]
    pub fn seen(self, visible: Visible) -> Protocol {
        if visible.protocol {
            return self;
        }
        if !visible.initial {
            return Protocol::default();
        }
        let is_wrong = |test: &&Test| {
            let verdict = test.verdict;
            verdict.is_some_and(|verdict| verdict != Verdict::Accepted)
        };
        // What the checker writes may contain a part of the test.
        let first = self.tests.iter().find(is_wrong).map(|test| Test {
            reason: String::new(),
            comment: String::new(),
            ..test.clone()
        });
        let first = first.filter(|test| visible.first && !test.initial);
        let mut part = self.initial_part();
        part.tests.extend(first);
        part
    }
}

/// The verdict on the initial tests: the first that is not accepted.
pub fn initial_verdict(tests: &[Test]) -> Verdict {
    let initial = tests.iter().filter(|test| test.initial);
    initial
        .filter_map(|test| test.verdict)
        .find(|verdict| *verdict != Verdict::Accepted)
        .unwrap_or(Verdict::Accepted)
}

/// The result in a report; `None` after a failure of the judge.
pub fn outcome(report: &SubmissionReport, is_initial: impl Fn(&str) -> bool) -> Option<Outcome> {
    let verdict = Verdict::of_judge(report.verdict?)?;
    let protocol = Protocol::of_report(report, is_initial);
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
        // Texts and numbers always have a form in JSON.
        protocol: serde_json::to_string(&protocol).unwrap_or_default(),
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

/// The beginning of a text with at most this many bytes.
pub fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(name: &str, initial: bool, verdict: Option<Verdict>) -> Test {
        Test {
            name: name.to_owned(),
            initial,
            verdict,
            ..Test::default()
        }
    }

    #[test]
    fn initial_part_has_no_other_tests_and_no_points() {
        let group = |initial| Group {
            initial,
            score: Some(1),
            max_score: Some(2),
            ..Group::default()
        };
        let protocol = Protocol {
            messages: "warning".to_owned(),
            groups: vec![group(true), group(false)],
            tests: vec![
                test("1", true, Some(Verdict::Accepted)),
                test("2", false, Some(Verdict::WrongAnswer)),
            ],
        };
        let part = protocol.initial_part();
        assert_eq!(part.tests.len(), 1);
        assert_eq!(part.groups.len(), 1);
        assert_eq!(
            (part.groups[0].score, part.groups[0].max_score),
            (None, None)
        );
        assert_eq!(part.messages, "warning");
    }

    #[test]
    fn source_that_does_not_compile_has_messages_but_no_tests() {
        let protocol = Protocol {
            messages: "error".to_owned(),
            groups: vec![Group::default()],
            tests: vec![test("1", true, None), test("2", false, None)],
        };
        for verdict in [None, Some(Verdict::WrongAnswer)] {
            assert_eq!(protocol.clone().of_verdict(verdict), protocol);
        }
        let expected = Protocol {
            messages: "error".to_owned(),
            ..Protocol::default()
        };
        let found = protocol.of_verdict(Some(Verdict::CompileError));
        assert_eq!(found, expected);
    }

    #[test]
    fn protocol_is_seen_by_this_table() {
        use super::super::finals::Reveal;
        use super::super::time::Time;
        use super::super::visibility::{Relation, Rules, visible};
        let (right, wrong) = (Some(Verdict::Accepted), Some(Verdict::WrongAnswer));
        let secret = |name: &str, verdict| Test {
            comment: "expected 42".to_owned(),
            ..test(name, false, verdict)
        };
        let protocol = Protocol {
            messages: "warning".to_owned(),
            tests: vec![
                test("sample", true, right),
                secret("one", right),
                secret("two", wrong),
                secret("three", wrong),
            ],
            ..Protocol::default()
        };
        // Level: messages, tests, comments of checkers.
        let table = [
            (Reveal::Hidden, "", "", 0),
            (Reveal::Nothing, "warning", "sample", 0),
            (Reveal::Score, "warning", "sample", 0),
            (Reveal::Status, "warning", "sample", 0),
            (Reveal::First, "warning", "sample two", 0),
            (Reveal::All, "warning", "sample one two three", 3),
        ];
        for (reveal, messages, names, comments) in table {
            let rules = Rules {
                reveal,
                full_results: Time::NEVER,
            };
            let seen = visible(Relation::Author, Some(rules), Time(0));
            let found = protocol.clone().seen(seen);
            let found_names: Vec<&str> = found.tests.iter().map(|it| it.name.as_str()).collect();
            let found_comments = found.tests.iter().filter(|it| it.comment == "expected 42");
            assert_eq!(found.messages, messages, "{reveal:?}");
            assert_eq!(found_names.join(" "), names, "{reveal:?}");
            assert_eq!(found_comments.count(), comments, "{reveal:?}");
        }
    }

    #[test]
    fn initial_verdict_is_that_of_the_first_failing_initial_test() {
        let mut protocol = Protocol {
            tests: vec![
                test("1", true, Some(Verdict::Accepted)),
                test("2", false, Some(Verdict::WrongAnswer)),
                test("3", true, None),
            ],
            ..Protocol::default()
        };
        assert_eq!(initial_verdict(&protocol.tests), Verdict::Accepted);
        let late = test("4", true, Some(Verdict::TimeLimit));
        protocol.tests.push(late);
        assert_eq!(initial_verdict(&protocol.tests), Verdict::TimeLimit);
    }

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(cut("aüb", 2), "a");
        assert_eq!(cut("aüb", 9), "aüb");
    }
}
