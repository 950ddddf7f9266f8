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
    /// The page, the source, the initial verdict and its protocol.
    pub page: bool,
    /// The points.
    pub score: bool,
    /// The full verdict.
    pub verdict: bool,
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
    let reveals = |least: &[Reveal]| rules.is_some_and(|rules| least.contains(&rules.reveal));
    let (page, all) = match relation {
        Relation::Stranger => (false, false),
        Relation::Author => (true, is_over),
        Relation::Owner | Relation::Staff => (true, true),
    };
    Visible {
        page,
        score: all || (page && reveals(&[Reveal::Score, Reveal::Status])),
        verdict: all || (page && reveals(&[Reveal::Status])),
        protocol: all,
        faults: matches!(relation, Relation::Owner | Relation::Staff),
        manage: relation == Relation::Staff,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relation, revealing (`None`: outside contests), before or after the full results: page,
    /// score, verdict, protocol, faults, manage.
    #[test]
    fn submission_is_visible_by_this_table() {
        use Relation::{Author, Owner, Staff, Stranger};
        use Reveal::{Nothing, Score, Status};
        let table = [
            (Stranger, None, "------", "------"),
            (Stranger, Some(Nothing), "------", "------"),
            (Stranger, Some(Score), "------", "------"),
            (Stranger, Some(Status), "------", "------"),
            (Author, None, "psvt--", "psvt--"),
            (Author, Some(Nothing), "p-----", "psvt--"),
            (Author, Some(Score), "ps----", "psvt--"),
            (Author, Some(Status), "psv---", "psvt--"),
            (Owner, None, "psvtf-", "psvtf-"),
            (Owner, Some(Nothing), "psvtf-", "psvtf-"),
            (Staff, None, "psvtfm", "psvtfm"),
            (Staff, Some(Nothing), "psvtfm", "psvtfm"),
            (Staff, Some(Score), "psvtfm", "psvtfm"),
            (Staff, Some(Status), "psvtfm", "psvtfm"),
        ];
        for (relation, reveal, before, after) in table {
            for (now, expected) in [(9, before), (10, after)] {
                let rules = reveal.map(|reveal| Rules {
                    reveal,
                    full_results: Time(10),
                });
                let found = visible(relation, rules, Time(now));
                let flags = [
                    found.page,
                    found.score,
                    found.verdict,
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
    fn full_results_that_never_come_stay_hidden() {
        let rules = Rules {
            reveal: Reveal::Nothing,
            full_results: Time::NEVER,
        };
        let found = visible(Relation::Author, Some(rules), Time::now());
        assert!(found.page && !found.verdict && !found.protocol && !found.score);
    }
}
