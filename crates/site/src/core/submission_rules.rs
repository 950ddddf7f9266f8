//! What contestants may submit: languages, size, number and pace.

use super::time::Time;
use std::time::Duration;

/// The rules of a round, or those of a problem in a round.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubmissionRules {
    /// The names of the allowed languages; empty if all are allowed.
    pub languages: Vec<String>,
    /// The number of submissions of a participant to a problem.
    pub max_submissions: Option<i64>,
    /// The time between two of them.
    pub interval: Option<Duration>,
    /// The size of a source, in bytes.
    pub max_bytes: Option<usize>,
}

/// What a participant has submitted to a problem so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Made {
    /// The number of submissions.
    pub count: i64,
    /// The time of the last one.
    pub last: Option<Time>,
}

/// Why a submission is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breach {
    /// The language is not allowed.
    Language,
    /// The source is too large.
    Size {
        /// The limit.
        max_bytes: usize,
    },
    /// The participant has made all submissions.
    Count {
        /// The limit.
        max: i64,
    },
    /// The participant must wait.
    Pace {
        /// The time that is left.
        wait: Duration,
    },
}

impl SubmissionRules {
    /// The rules of a problem. Those that the problem does not have are those of its round.
    #[must_use]
    pub fn in_round(self, round: SubmissionRules) -> SubmissionRules {
        SubmissionRules {
            languages: match self.languages.is_empty() {
                true => round.languages,
                false => self.languages,
            },
            max_submissions: self.max_submissions.or(round.max_submissions),
            interval: self.interval.or(round.interval),
            max_bytes: self.max_bytes.or(round.max_bytes),
        }
    }

    /// Whether a language is allowed.
    pub fn allows(&self, language: &str) -> bool {
        self.languages.is_empty() || self.languages.iter().any(|one| one == language)
    }

    /// Checks a source, independently of the time.
    ///
    /// # Errors
    /// The language is not allowed, or the source is too large.
    pub fn check_source(&self, language: &str, bytes: usize) -> Result<(), Breach> {
        if !self.allows(language) {
            return Err(Breach::Language);
        }
        match self.max_bytes {
            Some(max_bytes) if bytes > max_bytes => Err(Breach::Size { max_bytes }),
            _ => Ok(()),
        }
    }

    /// Checks whether a participant may submit again now.
    ///
    /// # Errors
    /// The participant has made all submissions, or must wait.
    pub fn check_made(&self, made: Made, now: Time) -> Result<(), Breach> {
        if let Some(max) = self.max_submissions
            && made.count >= max
        {
            return Err(Breach::Count { max });
        }
        if let (Some(interval), Some(last)) = (self.interval, made.last) {
            let next = last.after(interval);
            if now < next {
                let wait = Duration::from_micros(next.0.abs_diff(now.0));
                return Err(Breach::Pace { wait });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(languages: &[&str], max: Option<i64>, seconds: Option<u64>) -> SubmissionRules {
        SubmissionRules {
            languages: languages.iter().map(|&name| name.to_owned()).collect(),
            max_submissions: max,
            interval: seconds.map(Duration::from_secs),
            max_bytes: max.map(|max| max.unsigned_abs() as usize * 100),
        }
    }

    #[test]
    fn problem_has_its_own_rules_and_otherwise_those_of_its_round() {
        let round = rules(&["c"], Some(5), Some(60));
        // The rules of the problem, the rules that apply.
        let table = [
            (rules(&[], None, None), round.clone()),
            (
                rules(&["rust"], None, None),
                rules(&["rust"], Some(5), Some(60)),
            ),
            (rules(&[], Some(9), None), rules(&["c"], Some(9), Some(60))),
            (rules(&[], None, Some(1)), rules(&["c"], Some(5), Some(1))),
        ];
        for (problem, expected) in table {
            assert_eq!(
                problem.clone().in_round(round.clone()),
                expected,
                "{problem:?}"
            );
        }
    }

    #[test]
    fn source_is_checked_by_this_table() {
        let size = Breach::Size { max_bytes: 500 };
        let table = [
            (rules(&[], None, None), "c", usize::MAX, Ok(())),
            (rules(&["c"], None, None), "c", 1, Ok(())),
            (rules(&["c"], None, None), "rust", 1, Err(Breach::Language)),
            (rules(&[], Some(5), None), "c", 500, Ok(())),
            (rules(&[], Some(5), None), "c", 501, Err(size)),
        ];
        for (rules, language, bytes, expected) in table {
            assert_eq!(rules.check_source(language, bytes), expected, "{rules:?}");
        }
    }

    #[test]
    fn number_and_pace_are_checked_by_this_table() {
        let s = |seconds: i64| Time(seconds * 1_000_000);
        let wait = |seconds| {
            Err(Breach::Pace {
                wait: Duration::from_secs(seconds),
            })
        };
        let rules = |max, seconds| rules(&[], max, seconds);
        // Rules, submissions so far, time of the last one, now.
        let table = [
            (rules(None, None), 1000, Some(100), 100, Ok(())),
            (rules(Some(3), None), 2, Some(100), 100, Ok(())),
            (
                rules(Some(3), None),
                3,
                Some(100),
                500,
                Err(Breach::Count { max: 3 }),
            ),
            (rules(None, Some(60)), 0, None, 100, Ok(())),
            (rules(None, Some(60)), 1, Some(100), 100, wait(60)),
            (rules(None, Some(60)), 1, Some(100), 159, wait(1)),
            (rules(None, Some(60)), 1, Some(100), 160, Ok(())),
            (
                rules(Some(3), Some(60)),
                3,
                Some(100),
                101,
                Err(Breach::Count { max: 3 }),
            ),
        ];
        for (rules, count, last, now, expected) in table {
            let made = Made {
                count,
                last: last.map(s),
            };
            assert_eq!(
                rules.check_made(made, s(now)),
                expected,
                "{rules:?} {made:?} {now}"
            );
        }
    }
}
