//! Which submission of a user to a problem counts: the final one.
//!
//! There are two final submissions. The *full* final is chosen by complete results. The *initial*
//! final, which contestants see before the full results, is chosen only by results that they may
//! know, so it reveals nothing else.

use super::score::Score;
use super::verdict::Verdict;
use crate::db::text_enum;
use std::cmp::Reverse;

text_enum! {
    /// How the final submission is chosen.
    FinalMethod {
        /// The last one that compiles.
        LastCompiling = "last_compiling",
        /// The one with the most points; of several, the one with the best verdict, then the latest
        /// one.
        Best = "best",
        /// The same one, but the points are those of the best subtasks of all submissions.
        Subtasks = "subtasks",
    }
}

text_enum! {
    /// What contestants see of results before the time of the full results. Each level shows what
    /// the levels before it show.
    Reveal {
        /// Only that the submission has arrived.
        Hidden = "hidden",
        /// The initial tests.
        Nothing = "nothing",
        /// The points.
        Score = "score",
        /// Points and verdict.
        Status = "status",
        /// Also the first test that failed.
        First = "first",
        /// All tests.
        All = "all",
    }
}

impl Reveal {
    /// Whether the initial tests are shown.
    pub fn shows_initial(self) -> bool {
        self != Reveal::Hidden
    }

    /// Whether the points are shown.
    pub fn shows_score(self) -> bool {
        !matches!(self, Reveal::Hidden | Reveal::Nothing)
    }

    /// Whether the verdict on all tests is shown.
    pub fn shows_verdict(self) -> bool {
        matches!(self, Reveal::Status | Reveal::First | Reveal::All)
    }
}

/// A submission of one user to one problem, with its results so far. Lists of attempts are in the
/// order of their times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The id of the submission. The staff may hand in a file with an earlier time, so ids do not
    /// tell the order.
    pub id: i64,
    /// Whether it may become final.
    pub counts: bool,
    /// The verdict on the initial tests.
    pub initial: Option<Verdict>,
    /// The complete result.
    pub full: Option<Verdict>,
    /// The points of the complete result.
    pub score: Option<Score>,
}

fn compiles(verdict: Option<Verdict>) -> bool {
    verdict.is_some_and(|verdict| verdict != Verdict::CompileError)
}

/// Whether an attempt may be the final one, by complete results (`None`) or by a level of feedback.
pub fn is_candidate(level: Option<Reveal>, one: &Attempt) -> bool {
    one.counts
        && match level {
            None => compiles(one.full) && one.score.is_some(),
            Some(Reveal::Hidden) => true,
            Some(level) if level.shows_verdict() => compiles(one.full),
            Some(_) => compiles(one.initial),
        }
}

/// The final submission by complete results.
pub fn full_final(method: FinalMethod, attempts: &[Attempt]) -> Option<&Attempt> {
    let mut candidates = attempts.iter().filter(|one| is_candidate(None, one));
    match method {
        FinalMethod::LastCompiling => candidates.next_back(),
        // Of several, this is the last one.
        FinalMethod::Best | FinalMethod::Subtasks => {
            candidates.max_by_key(|one| (one.score, Reverse(one.full)))
        }
    }
}

/// The final submission by what contestants may know before the full results.
pub fn initial_final(
    method: FinalMethod,
    reveal: Reveal,
    attempts: &[Attempt],
) -> Option<&Attempt> {
    let mut candidates = attempts
        .iter()
        .filter(|one| is_candidate(Some(reveal), one));
    match (method, reveal) {
        (FinalMethod::LastCompiling, _) | (_, Reveal::Hidden) => candidates.next_back(),
        (_, Reveal::Nothing) => candidates.max_by_key(|one| Reverse(one.initial)),
        (_, Reveal::Score) => candidates.max_by_key(|one| (one.score, Reverse(one.initial))),
        _ => candidates.max_by_key(|one| (one.score, Reverse(one.full))),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::select;

    /// Attempts with few different values, so that ties are frequent.
    pub fn attempts() -> impl Strategy<Value = Vec<Attempt>> {
        let verdict = || proptest::option::of(select(Verdict::ALL));
        let attempt = (
            any::<bool>(),
            verdict(),
            verdict(),
            proptest::option::of(0i64..3),
        );
        proptest::collection::vec(attempt, 0..8).prop_map(|list| {
            let attempts = (1..).zip(list);
            attempts
                .map(|(id, (counts, initial, full, score))| Attempt {
                    id,
                    counts,
                    initial,
                    full,
                    score: score.map(Score),
                })
                .collect()
        })
    }

    fn rank(verdict: Option<Verdict>) -> usize {
        let place = |known: &Verdict| Some(*known) == verdict;
        Verdict::ALL.iter().position(place).unwrap_or(usize::MAX)
    }

    /// Whether `one` is preferred to `other`, written case by case.
    fn beats(
        method: FinalMethod,
        reveal: Option<Reveal>,
        (position, one): (usize, &Attempt),
        (other_position, other): (usize, &Attempt),
    ) -> bool {
        if method != FinalMethod::LastCompiling && reveal != Some(Reveal::Hidden) {
            let score = reveal != Some(Reveal::Nothing);
            if score && one.score != other.score {
                return one.score > other.score;
            }
            let verdict = |attempt: &Attempt| match reveal {
                Some(Reveal::Nothing | Reveal::Score) => rank(attempt.initial),
                _ => rank(attempt.full),
            };
            if verdict(one) != verdict(other) {
                return verdict(one) < verdict(other);
            }
        }
        position > other_position
    }

    fn is_candidate(reveal: Option<Reveal>, attempt: &Attempt) -> bool {
        let compiled =
            |verdict: Option<Verdict>| !matches!(verdict, None | Some(Verdict::CompileError));
        attempt.counts
            && match reveal {
                None => compiled(attempt.full) && attempt.score.is_some(),
                Some(Reveal::Hidden) => true,
                Some(Reveal::Nothing | Reveal::Score) => compiled(attempt.initial),
                Some(_) => compiled(attempt.full),
            }
    }

    /// The only candidate that beats all other ones.
    pub fn naive(
        method: FinalMethod,
        reveal: Option<Reveal>,
        attempts: &[Attempt],
    ) -> Option<&Attempt> {
        let candidates: Vec<(usize, &Attempt)> = attempts
            .iter()
            .enumerate()
            .filter(|(_, one)| is_candidate(reveal, one))
            .collect();
        let best = candidates.iter().copied().find(|one| {
            candidates
                .iter()
                .all(|other| other.0 == one.0 || beats(method, reveal, *one, *other))
        });
        best.map(|(_, one)| one)
    }

    proptest! {
        #[test]
        fn finals_equal_a_naive_recomputation(attempts in attempts()) {
            for method in FinalMethod::ALL {
                prop_assert_eq!(full_final(*method, &attempts), naive(*method, None, &attempts));
                for reveal in Reveal::ALL {
                    prop_assert_eq!(
                        initial_final(*method, *reveal, &attempts),
                        naive(*method, Some(*reveal), &attempts)
                    );
                }
            }
        }

        /// If nothing is revealed, complete results change nothing that contestants see.
        #[test]
        fn initial_final_is_independent_of_hidden_results(
            attempts in attempts(),
            others in attempts(),
        ) {
            let mut changed = attempts.clone();
            for (one, other) in changed.iter_mut().zip(&others) {
                (one.full, one.score) = (other.full, other.score);
            }
            let id = |method, reveal, attempts: &[Attempt]| {
                initial_final(method, reveal, attempts).map(|one| one.id)
            };
            for method in FinalMethod::ALL.iter().copied() {
                let reveal = Reveal::Nothing;
                prop_assert_eq!(id(method, reveal, &attempts), id(method, reveal, &changed));
            }
            for (one, other) in changed.iter_mut().zip(&others) {
                one.initial = other.initial;
            }
            for method in FinalMethod::ALL.iter().copied() {
                let reveal = Reveal::Hidden;
                prop_assert_eq!(id(method, reveal, &attempts), id(method, reveal, &changed));
            }
        }
    }
}
