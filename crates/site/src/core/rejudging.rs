//! The changes that a set of judgements would make.

use super::standings::Row;
use super::verdict::Verdict;
use std::collections::BTreeMap;

/// The number of submissions for each pair of old and new verdicts. The worst verdict comes last,
/// and no verdict comes first.
pub type Matrix = BTreeMap<(Option<Verdict>, Option<Verdict>), usize>;

/// Counts submissions by old and new verdict.
pub fn matrix(pairs: impl Iterator<Item = (Option<Verdict>, Option<Verdict>)>) -> Matrix {
    let mut matrix = Matrix::new();
    for pair in pairs {
        *matrix.entry(pair).or_default() += 1;
    }
    matrix
}

/// A participant whose place or result changes. `None`: the participant is not in the ranking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankChange {
    /// The old row.
    pub old: Option<Row>,
    /// The new row.
    pub new: Option<Row>,
}

/// The participants whose places or results differ between two rankings, in the order of their new
/// places.
pub fn rank_changes(old: &[Row], new: &[Row]) -> Vec<RankChange> {
    let find = |rows: &[Row], id| rows.iter().find(|row| row.participant == id).cloned();
    let is_new = |row: &&Row| !new.iter().any(|one| one.participant == row.participant);
    let gone = old.iter().filter(is_new);
    let of = |row: &Option<Row>| row.as_ref().map(|row| (row.place, row.total));
    new.iter()
        .chain(gone)
        .map(|row| RankChange {
            old: find(old, row.participant),
            new: find(new, row.participant),
        })
        .filter(|change| of(&change.old) != of(&change.new))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::score::Score;
    use super::super::standings::Total;
    use super::*;
    use crate::core::participation::State;

    fn row(place: usize, participant: i64, total: i64) -> Row {
        Row {
            place: Some(place),
            participant,
            name: String::new(),
            organization: String::new(),
            group: String::new(),
            state: State::TakesPart,
            total: Total::Points(Score(total)),
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
        let old = [row(1, 7, 5), row(2, 8, 4), row(3, 9, 3)];
        let new = [row(1, 8, 4), row(2, 9, 3), row(3, 6, 1)];
        let found = rank_changes(&old, &new);
        let id = |row: &Option<Row>| row.as_ref().map(|row| row.participant);
        let changed: Vec<(Option<i64>, Option<i64>)> = found
            .iter()
            .map(|change| (id(&change.old), id(&change.new)))
            .collect();
        let expected = [
            (Some(8), Some(8)),
            (Some(9), Some(9)),
            (None, Some(6)),
            (Some(7), None),
        ];
        assert_eq!(changed, expected);
        assert!(rank_changes(&old, &old).is_empty());
    }
}
