//! The result of a judgement, as it is stored.

use serde::{Deserialize, Serialize};

/// The verdict on a submission. The order, from best to worst, is that of finals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// All tests passed.
    Accepted,
    /// Wrong output.
    WrongAnswer,
    /// Too much time.
    TimeLimit,
    /// Too much memory.
    MemoryLimit,
    /// Too much output.
    OutputLimit,
    /// The program failed.
    RunTimeError,
    /// The compiler rejects the source.
    CompileError,
}

impl Verdict {
    /// All verdicts, from best to worst.
    pub const ALL: &[Verdict] = &[
        Verdict::Accepted,
        Verdict::WrongAnswer,
        Verdict::TimeLimit,
        Verdict::MemoryLimit,
        Verdict::OutputLimit,
        Verdict::RunTimeError,
        Verdict::CompileError,
    ];

    /// The stored text.
    pub fn text(self) -> &'static str {
        match self {
            Verdict::Accepted => "accepted",
            Verdict::WrongAnswer => "wrong_answer",
            Verdict::TimeLimit => "time_limit",
            Verdict::MemoryLimit => "memory_limit",
            Verdict::OutputLimit => "output_limit",
            Verdict::RunTimeError => "run_time_error",
            Verdict::CompileError => "compile_error",
        }
    }

    /// The value of a stored text.
    pub fn of_text(text: &str) -> Option<Verdict> {
        let mut all = Verdict::ALL.iter().copied();
        all.find(|verdict| verdict.text() == text)
    }
}

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

/// The result of a judgement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The verdict on the initial tests.
    pub initial_verdict: Verdict,
    /// The verdict.
    pub verdict: Verdict,
    /// The points, in millionths.
    pub score: i64,
    /// The maximum points, in millionths.
    pub max_score: Option<i64>,
    /// The largest CPU time of a test.
    pub cpu_time_ns: Option<i64>,
    /// The largest peak memory of a test.
    pub memory_bytes: Option<i64>,
    /// Whether the package expects this result; `None` if it expects none.
    pub as_expected: Option<bool>,
    /// All details.
    pub protocol: Protocol,
}

/// What has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The package cannot be judged. A different attempt would be useless.
    Package,
    /// The machine.
    Machine,
}

/// Why an attempt has no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What has failed.
    pub kind: FailureKind,
    /// The evidence.
    pub reason: String,
}

/// Tests of a running judgement that have results.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    /// The results.
    pub tests: Vec<Test>,
    /// The number of all tests.
    pub of: usize,
}

impl Progress {
    /// The maximum number of tests whose results are shown while a judgement runs.
    pub const MAX_TESTS: usize = 100_000;

    /// Adds a report of the results from the test `from` on, and returns the number of results. A
    /// doubled report changes nothing. If an earlier report was lost, the number states from which
    /// test on the worker must report again.
    pub fn add(&mut self, from: usize, tests: Vec<Test>, of: usize) -> usize {
        let end = from.saturating_add(tests.len());
        if from <= self.tests.len() && end <= Progress::MAX_TESTS {
            self.tests.truncate(from);
            self.tests.extend(tests);
            self.of = of;
        }
        self.tests.len()
    }
}

impl Protocol {
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

impl Outcome {
    /// The same result with comments and reasons of at most this many bytes.
    #[must_use]
    pub fn with_short_texts(mut self, bytes: usize) -> Outcome {
        for test in &mut self.protocol.tests {
            test.comment.truncate(cut(&test.comment, bytes).len());
            test.reason.truncate(cut(&test.reason, bytes).len());
        }
        self
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

/// The beginning of a text with at most this many bytes.
pub fn cut(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
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
    fn stored_text_is_that_of_messages() {
        for verdict in Verdict::ALL {
            assert_eq!(Verdict::of_text(verdict.text()), Some(*verdict));
            let json = serde_json::to_string(verdict).unwrap();
            assert_eq!(json, format!("\"{}\"", verdict.text()));
        }
        assert_eq!(Verdict::of_text("judge_error"), None);
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
    fn initial_verdict_is_that_of_the_first_failing_initial_test() {
        let mut tests = vec![
            test("1", true, Some(Verdict::Accepted)),
            test("2", false, Some(Verdict::WrongAnswer)),
            test("3", true, None),
        ];
        assert_eq!(initial_verdict(&tests), Verdict::Accepted);
        tests.push(test("4", true, Some(Verdict::TimeLimit)));
        assert_eq!(initial_verdict(&tests), Verdict::TimeLimit);
    }

    #[test]
    fn lost_report_of_progress_is_requested_again_and_a_doubled_one_is_harmless() {
        let tests = |range: std::ops::Range<usize>| {
            let names = range.map(|number| test(&number.to_string(), false, None));
            names.collect::<Vec<_>>()
        };
        let mut progress = Progress::default();
        assert_eq!(progress.add(0, tests(0..2), 5), 2);
        assert_eq!(progress.add(0, tests(0..2), 5), 2);
        assert_eq!(progress.add(4, tests(4..5), 5), 2, "a report was lost");
        assert_eq!(progress.add(2, tests(2..5), 5), 5);
        let expected = Progress {
            tests: tests(0..5),
            of: 5,
        };
        assert_eq!(progress, expected);
        let many = tests(0..Progress::MAX_TESTS);
        assert_eq!(progress.add(5, many, 9), 5, "too many tests");
        assert_eq!(progress.add(usize::MAX, tests(0..1), 9), 5);
        assert_eq!(progress, expected);
    }

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(cut("aüb", 2), "a");
        assert_eq!(cut("aüb", 9), "aüb");
    }
}
