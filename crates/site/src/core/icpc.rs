//! ICPC scoring: the number of solved problems counts, then the lowest penalty.

use super::verdict::Verdict;

/// Microseconds in a minute.
const MINUTE: i64 = 60_000_000;

/// A submission that counts. Attempts are ordered by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// The submission.
    pub submission: i64,
    /// Microseconds since the beginning of the round for the participant.
    pub time: i64,
    /// The verdict; `None` if it is pending or the ranking is frozen.
    pub verdict: Option<Verdict>,
}

/// The accepted attempt of a participant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Solved {
    /// The submission.
    pub submission: i64,
    /// Microseconds since the beginning of the round for the participant.
    pub time: i64,
    /// Whether no other participant solved the problem earlier.
    pub is_first: bool,
}

impl Solved {
    /// Whole minutes since the beginning.
    pub fn minutes(&self) -> i64 {
        self.time / MINUTE
    }
}

/// The result of a participant in a problem.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cell {
    /// Rejected attempts before the accepted one. Compile errors are free.
    pub wrong: i64,
    /// Attempts without a known verdict, if the problem is not solved.
    pub pending: i64,
    /// The first accepted attempt.
    pub solved: Option<Solved>,
    /// The last attempt that the cell counts.
    pub last: Option<i64>,
}

impl Cell {
    /// Minutes of penalty.
    pub fn penalty(&self, minutes_of_wrong: i64) -> i64 {
        self.solved.map_or(0, |solved| {
            let wrong = self.wrong.saturating_mul(minutes_of_wrong);
            solved.minutes().saturating_add(wrong)
        })
    }
}

/// The result of the attempts of one participant in one problem.
pub fn cell(attempts: &[Attempt]) -> Cell {
    let mut cell = Cell::default();
    for attempt in attempts {
        cell.last = Some(attempt.submission);
        match attempt.verdict {
            None => cell.pending += 1,
            Some(Verdict::CompileError) => {}
            Some(Verdict::Accepted) => {
                cell.pending = 0;
                cell.solved = Some(Solved {
                    submission: attempt.submission,
                    time: attempt.time,
                    is_first: false,
                });
                break;
            }
            Some(_) => cell.wrong += 1,
        }
    }
    cell
}

/// The submission that solved a problem first. `rivals` has the attempts of each ranked
/// participant. While an earlier attempt is pending, the first solution is unknown.
pub fn first(rivals: &[&[Attempt]]) -> Option<i64> {
    let key = |attempt: &Attempt| (attempt.time, attempt.submission);
    let all = || rivals.iter().flat_map(|attempts| attempts.iter());
    let is_accepted = |attempt: &&Attempt| attempt.verdict == Some(Verdict::Accepted);
    let best = all().filter(is_accepted).map(key).min()?;
    let is_open = all().any(|attempt| attempt.verdict.is_none() && key(attempt) < best);
    (!is_open).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Attempts from text: `a` accepted, `w` wrong, `t` time limit, `c` compile error, `?` pending;
    /// one every 90 seconds.
    fn attempts(text: &str) -> Vec<Attempt> {
        (1..)
            .zip(text.chars())
            .map(|(number, c)| Attempt {
                submission: number,
                time: number * 90_000_000,
                verdict: match c {
                    'a' => Some(Verdict::Accepted),
                    'w' => Some(Verdict::WrongAnswer),
                    't' => Some(Verdict::TimeLimit),
                    'c' => Some(Verdict::CompileError),
                    _ => None,
                },
            })
            .collect()
    }

    #[test]
    fn cell_follows_this_table() {
        // Attempts: wrong, pending, solved at this minute, penalty, last.
        let table = [
            ("", 0, 0, None, 0, None),
            ("a", 0, 0, Some(1), 1, Some(1)),
            ("wta", 2, 0, Some(4), 44, Some(3)),
            ("cwca", 1, 0, Some(6), 26, Some(4)),
            ("cc", 0, 0, None, 0, Some(2)),
            ("wt", 2, 0, None, 0, Some(2)),
            ("w??", 1, 2, None, 0, Some(3)),
            ("awwa", 0, 0, Some(1), 1, Some(1)),
            ("a??", 0, 0, Some(1), 1, Some(1)),
            ("w?a", 1, 0, Some(4), 24, Some(3)),
            ("?c", 0, 1, None, 0, Some(2)),
        ];
        for (text, wrong, pending, minute, penalty, last) in table {
            let found = cell(&attempts(text));
            let solved = found.solved.map(|solved| solved.minutes());
            assert_eq!(
                (
                    found.wrong,
                    found.pending,
                    solved,
                    found.penalty(20),
                    found.last
                ),
                (wrong, pending, minute, penalty, last),
                "{text}"
            );
        }
    }

    #[test]
    fn first_is_known_when_no_earlier_attempt_is_pending() {
        let at = |submission, time, verdict| Attempt {
            submission,
            time,
            verdict,
        };
        let (right, wrong) = (Some(Verdict::Accepted), Some(Verdict::WrongAnswer));
        let ada = [at(1, 5, wrong), at(4, 30, right)];
        let bob = [at(2, 20, right)];
        assert_eq!(first(&[&ada, &bob]), Some(2));
        assert_eq!(first(&[&ada, &[]]), Some(4));
        assert_eq!(first(&[&ada[..1], &[]]), None);
        assert_eq!(first(&[&bob, &[at(3, 19, None)]]), None);
        assert_eq!(first(&[&bob, &[at(3, 21, None)]]), Some(2));
        // Of two submissions at the same time, the one with the lower number was first.
        assert_eq!(first(&[&bob, &[at(1, 20, right)]]), Some(1));
    }
}
