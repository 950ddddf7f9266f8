//! What a set of judgements would change.

use super::ranking::Rank;
use super::verdict::Verdict;
use std::collections::BTreeMap;

/// Numbers of submissions by old and new verdict; the worst verdict last, none before all.
pub type Matrix = BTreeMap<(Option<Verdict>, Option<Verdict>), usize>;

/// Counts submissions by old and new verdict.
pub fn matrix(pairs: impl Iterator<Item = (Option<Verdict>, Option<Verdict>)>) -> Matrix {
    let mut matrix = Matrix::new();
    for pair in pairs {
        *matrix.entry(pair).or_default() += 1;
    }
    matrix
}

/// A user whose place or sum changes. `None`: the user is not in the ranking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankChange {
    /// The user.
    pub user: i64,
    /// The old row.
    pub old: Option<Rank>,
    /// The new row.
    pub new: Option<Rank>,
}

/// The users whose places or sums differ between two rankings, in the order of their new places.
pub fn rank_changes(old: &[Rank], new: &[Rank]) -> Vec<RankChange> {
    let find = |ranks: &[Rank], user| ranks.iter().find(|rank| rank.user == user).cloned();
    let users = new.iter().chain(old).map(|rank| rank.user);
    let mut changes: Vec<RankChange> = Vec::new();
    for user in users {
        if changes.iter().any(|change| change.user == user) {
            continue;
        }
        let (old, new) = (find(old, user), find(new, user));
        let of = |rank: &Option<Rank>| rank.as_ref().map(|rank| (rank.place, rank.total));
        if of(&old) != of(&new) {
            changes.push(RankChange { user, old, new });
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::super::score::Score;
    use super::*;

    fn rank(place: usize, user: i64, total: i64) -> Rank {
        Rank {
            place,
            user,
            total: Score(total),
            cells: Vec::new(),
        }
    }

    #[test]
    fn verdicts_are_counted_by_pair() {
        let (accepted, wrong) = (Some(Verdict::Accepted), Some(Verdict::WrongAnswer));
        let pairs = [(accepted, wrong), (accepted, wrong), (None, accepted)];
        let found = matrix(pairs.into_iter());
        assert_eq!(found[&(accepted, wrong)], 2);
        assert_eq!(found[&(None, accepted)], 1);
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn users_with_other_places_or_sums_are_listed() {
        let old = [rank(1, 7, 5), rank(2, 8, 4), rank(3, 9, 3)];
        let new = [rank(1, 8, 4), rank(2, 9, 3), rank(3, 6, 1)];
        let found = rank_changes(&old, &new);
        let users: Vec<i64> = found.iter().map(|change| change.user).collect();
        assert_eq!(users, [8, 9, 6, 7]);
        assert_eq!((&found[2].old, &found[3].new), (&None, &None));
        assert!(rank_changes(&old, &old).is_empty());
    }
}
