//! The ranking of a contest.

use super::finals::{Attempt, FinalMethod, Reveal, full_final, initial_final};
use super::score::Score;
use super::verdict::Verdict;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A problem of the ranking.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// The problem in its round.
    pub problem: i64,
    /// How finals are chosen.
    pub method: FinalMethod,
    /// What is shown before the full results.
    pub reveal: Reveal,
    /// Whether the viewer sees full results.
    pub is_full: bool,
}

/// What the viewer sees of a final submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// The submission.
    pub submission: i64,
    /// The verdict that the viewer may see.
    pub verdict: Option<Verdict>,
    /// The points. `None`: they are hidden and count 0.
    pub score: Option<Score>,
}

/// A user in the ranking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rank {
    /// The place, from 1. Equal sums share a place.
    pub place: usize,
    /// The user.
    pub user: i64,
    /// The sum of the points that are not hidden.
    pub total: Score,
    /// One cell for each column; `None` without a final submission.
    pub cells: Vec<Option<Cell>>,
}

/// The attempts by user and problem.
pub type Attempts = BTreeMap<(i64, i64), Vec<Attempt>>;

/// The ranking of all users with a final submission, the best first. Users with equal sums are in
/// the order of their ids.
pub fn ranking(columns: &[Column], attempts: &Attempts) -> Vec<Rank> {
    let mut users: Vec<i64> = attempts.keys().map(|(user, _)| *user).collect();
    users.dedup();
    let cells = |user: i64| -> Vec<Option<Cell>> {
        let of_problem = |column: &Column| {
            let attempts = attempts.get(&(user, column.problem))?;
            cell(column, attempts)
        };
        columns.iter().map(of_problem).collect()
    };
    let mut ranks: Vec<Rank> = users
        .into_iter()
        .map(|user| (user, cells(user)))
        .filter(|(_, cells)| cells.iter().any(Option::is_some))
        .map(|(user, cells)| Rank {
            place: 0,
            user,
            total: cells.iter().flatten().filter_map(|cell| cell.score).sum(),
            cells,
        })
        .collect();
    ranks.sort_by_key(|rank| (Reverse(rank.total), rank.user));
    for index in 0..ranks.len() {
        ranks[index].place = match index.checked_sub(1).map(|above| &ranks[above]) {
            Some(above) if above.total == ranks[index].total => above.place,
            _ => index + 1,
        };
    }
    ranks
}

fn cell(column: &Column, attempts: &[Attempt]) -> Option<Cell> {
    if column.is_full {
        let found = full_final(column.method, attempts)?;
        return Some(Cell {
            submission: found.id,
            verdict: found.full,
            score: found.score,
        });
    }
    let found = initial_final(column.method, column.reveal, attempts)?;
    Some(Cell {
        submission: found.id,
        verdict: match column.reveal {
            Reveal::Nothing | Reveal::Score => found.initial,
            Reveal::Status => found.full,
        },
        score: found.score.filter(|_| column.reveal != Reveal::Nothing),
    })
}

#[cfg(test)]
mod tests {
    use super::super::finals::tests::{attempts, naive};
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::select;

    const USERS: i64 = 5;
    const PROBLEMS: i64 = 3;

    fn columns() -> impl Strategy<Value = Vec<Column>> {
        let column = (select(FinalMethod::ALL), select(Reveal::ALL), any::<bool>());
        proptest::collection::vec(column, 3).prop_map(|list| {
            let columns = (0..).zip(list);
            columns
                .map(|(problem, (method, reveal, is_full))| Column {
                    problem,
                    method,
                    reveal,
                    is_full,
                })
                .collect()
        })
    }

    fn history() -> impl Strategy<Value = Attempts> {
        let key = (0..USERS, 0..PROBLEMS);
        proptest::collection::btree_map(key, attempts(), 0..12)
    }

    proptest! {
        #[test]
        fn ranking_equals_a_naive_recomputation(columns in columns(), history in history()) {
            let found = ranking(&columns, &history);
            for user in 0..USERS {
                let mut total = Score(0);
                let mut has_final = false;
                for column in &columns {
                    let none = Vec::new();
                    let attempts = history.get(&(user, column.problem)).unwrap_or(&none);
                    let reveal = (!column.is_full).then_some(column.reveal);
                    let Some(one) = naive(column.method, reveal, attempts) else { continue };
                    has_final = true;
                    if reveal != Some(Reveal::Nothing) {
                        total = total + one.score.unwrap_or_default();
                    }
                }
                let rank = found.iter().find(|rank| rank.user == user);
                prop_assert_eq!(rank.is_some(), has_final);
                let Some(rank) = rank else { continue };
                prop_assert_eq!(rank.total, total);
                let better = found.iter().filter(|other| other.total > total).count();
                prop_assert_eq!(rank.place, better + 1);
            }
        }

        /// The order of rows follows from the places.
        #[test]
        fn rows_are_sorted(columns in columns(), history in history()) {
            let found = ranking(&columns, &history);
            prop_assert!(found.is_sorted_by_key(|rank| (rank.place, rank.user)));
        }
    }

    #[test]
    fn hidden_points_are_absent_and_count_nothing() {
        let attempt = Attempt {
            id: 1,
            counts: true,
            initial: Some(Verdict::Accepted),
            full: Some(Verdict::WrongAnswer),
            score: Some(Score(5)),
        };
        let history = Attempts::from([((7, 0), vec![attempt])]);
        let mut column = Column {
            problem: 0,
            method: FinalMethod::Best,
            reveal: Reveal::Nothing,
            is_full: false,
        };
        let cell = |column: Column| ranking(&[column], &history)[0].cells[0].unwrap();
        assert_eq!(cell(column).score, None);
        assert_eq!(cell(column).verdict, Some(Verdict::Accepted));
        column.reveal = Reveal::Score;
        assert_eq!(cell(column).score, Some(Score(5)));
        assert_eq!(cell(column).verdict, Some(Verdict::Accepted));
        column.reveal = Reveal::Status;
        assert_eq!(cell(column).verdict, Some(Verdict::WrongAnswer));
    }
}
