//! What a user sees of a submission.

use super::finals::Reveal;
use super::time::Time;

/// The relation of a user to a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// Neither author nor staff.
    Stranger,
    /// The author.
    Author,
    /// The owner of the problem after the round, without a role in the contest.
    Owner,
    /// The staff of the contest or an administrator; outside contests, the owner of the problem.
    Staff,
}

/// The rules of the contest in which a submission was made.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// What is shown at once.
    pub reveal: Reveal,
    /// When everything is shown.
    pub full_results: Time,
}

/// What a user sees of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each part is shown or hidden independently"
)]
pub struct Visible {
    /// The page and the source.
    pub page: bool,
    /// The initial verdict, with the protocol of the initial tests and the compiler's messages.
    pub initial: bool,
    /// The points.
    pub score: bool,
    /// The full verdict.
    pub verdict: bool,
    /// The first test that failed.
    pub first: bool,
    /// The protocol of all tests.
    pub protocol: bool,
    /// Faults of the judge, and earlier judgements.
    pub faults: bool,
    /// The actions that change the submission.
    pub manage: bool,
}

/// What a user sees of a submission now. Outside contests there are no rules.
pub fn visible(relation: Relation, rules: Option<Rules>, now: Time) -> Visible {
    let is_over = rules.is_none_or(|rules| rules.full_results <= now);
    let reveals = |level: fn(Reveal) -> bool| rules.is_none_or(|rules| level(rules.reveal));
    let is_author = relation == Relation::Author;
    let (page, all) = match relation {
        Relation::Stranger => (false, false),
        Relation::Author => (true, is_over || reveals(|reveal| reveal == Reveal::All)),
        Relation::Owner | Relation::Staff => (true, true),
    };
    Visible {
        page,
        initial: all || (is_author && reveals(Reveal::shows_initial)),
        score: all || (is_author && reveals(Reveal::shows_score)),
        verdict: all || (is_author && reveals(Reveal::shows_verdict)),
        first: all || (is_author && reveals(|reveal| reveal == Reveal::First)),
        protocol: all,
        faults: matches!(relation, Relation::Owner | Relation::Staff),
        manage: relation == Relation::Staff,
    }
}

/// How a participant stands with a problem, by results that the participant sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A submission is accepted.
    Solved,
    /// A submission exists.
    Tried,
}

/// The mark of a problem; `None` without submissions.
pub fn mark(tried: bool, accepted: bool, visible: Visible) -> Option<Mark> {
    match (tried, accepted && visible.verdict) {
        (false, _) => None,
        (true, true) => Some(Mark::Solved),
        (true, false) => Some(Mark::Tried),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relation, revealing (`None`: outside contests), before or after the full results: page,
    /// initial tests, score, verdict, first failed test, protocol of all tests (`t`), faults (`x`),
    /// manage.
    #[test]
    fn submission_is_visible_by_this_table() {
        use Relation::{Author, Owner, Staff, Stranger};
        use Reveal::{All, First, Hidden, Nothing, Score, Status};
        const NONE: &str = "--------";
        const AUTHOR: &str = "pisvft--";
        const OWNER: &str = "pisvftx-";
        const STAFF: &str = "pisvftxm";
        let table = [
            (Stranger, None, NONE, NONE),
            (Author, None, AUTHOR, AUTHOR),
            (Author, Some(Hidden), "p-------", AUTHOR),
            (Author, Some(Nothing), "pi------", AUTHOR),
            (Author, Some(Score), "pis-----", AUTHOR),
            (Author, Some(Status), "pisv----", AUTHOR),
            (Author, Some(First), "pisvf---", AUTHOR),
            (Author, Some(All), AUTHOR, AUTHOR),
            (Owner, None, OWNER, OWNER),
            (Staff, None, STAFF, STAFF),
        ];
        let of_others = [(Stranger, NONE), (Owner, OWNER), (Staff, STAFF)];
        let of_others = of_others.into_iter().flat_map(|(relation, seen)| {
            let levels = Reveal::ALL.iter();
            levels.map(move |reveal| (relation, Some(*reveal), seen, seen))
        });
        for (relation, reveal, before, after) in table.into_iter().chain(of_others) {
            for (now, expected) in [(9, before), (10, after)] {
                let rules = reveal.map(|reveal| Rules {
                    reveal,
                    full_results: Time(10),
                });
                let found = visible(relation, rules, Time(now));
                let flags = [
                    found.page,
                    found.initial,
                    found.score,
                    found.verdict,
                    found.first,
                    found.protocol,
                    found.faults,
                    found.manage,
                ];
                let expected: Vec<bool> = expected.chars().map(|flag| flag != '-').collect();
                assert_eq!(flags[..], expected, "{relation:?} {reveal:?} at {now}");
            }
        }
    }

    #[test]
    fn mark_shows_no_verdict_that_the_author_does_not_see() {
        // Level, whether the full results are shown; the mark of an accepted submission.
        let table = [
            (Reveal::Hidden, false, Mark::Tried),
            (Reveal::Nothing, false, Mark::Tried),
            (Reveal::Score, false, Mark::Tried),
            (Reveal::Status, false, Mark::Solved),
            (Reveal::First, false, Mark::Solved),
            (Reveal::All, false, Mark::Solved),
            (Reveal::Hidden, true, Mark::Solved),
        ];
        for (reveal, is_full, expected) in table {
            let rules = Rules {
                reveal,
                full_results: if is_full { Time(5) } else { Time::NEVER },
            };
            let seen = visible(Relation::Author, Some(rules), Time(9));
            assert_eq!(
                mark(true, true, seen),
                Some(expected),
                "{reveal:?} {is_full}"
            );
            assert_eq!(mark(true, false, seen), Some(Mark::Tried));
            assert_eq!(mark(false, false, seen), None);
        }
    }

    #[test]
    fn full_results_that_never_come_stay_hidden() {
        let rules = Rules {
            reveal: Reveal::Nothing,
            full_results: Time::NEVER,
        };
        let found = visible(Relation::Author, Some(rules), Time::now());
        assert!(found.page && !found.verdict && !found.protocol && !found.score);
    }
}
