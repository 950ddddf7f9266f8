//! Grade sheets: what the members of a class have reached in several contests.

use super::participation::State;
use super::score::Score;
use super::standings::{Data, Total, tables};
use super::time::Time;
use crate::db::contest::Mode;
use std::collections::HashMap;

/// A contest of a sheet.
#[derive(Debug)]
pub struct Contest {
    /// The name.
    pub name: String,
    /// What its ranking follows from.
    pub data: std::sync::Arc<Data>,
    /// The participant that each user is, alone or with a team.
    pub participants: HashMap<i64, i64>,
}

/// The result of a pupil in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grade {
    /// The pupil did not take part.
    Absent,
    /// The pupil was disqualified.
    Disqualified,
    /// Points.
    Points(Score),
    /// The number of solved problems.
    Solved(i64),
}

/// A sheet.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sheet {
    /// The headings: the contest, the names of its rounds, and their mode.
    pub columns: Vec<(String, String, Mode)>,
    /// The grades of each user, in the order of the columns.
    pub rows: Vec<Vec<Grade>>,
}

impl Sheet {
    /// The sheet of users. It contains everything that the staff sees: full results, and results
    /// that a freeze hides from contestants.
    pub fn new(users: &[i64], contests: &[Contest], now: Time) -> Sheet {
        let mut sheet = Sheet {
            columns: Vec::new(),
            rows: vec![Vec::new(); users.len()],
        };
        for contest in contests {
            for table in tables(&contest.data, &contest.data.of_staff(), now) {
                let name = contest.name.clone();
                let rounds = table.rounds.join(", ");
                sheet.columns.push((name, rounds, table.mode));
                let rows = table.rows.iter().map(|row| (row.participant, row));
                let rows: HashMap<i64, _> = rows.collect();
                for (user, grades) in users.iter().zip(&mut sheet.rows) {
                    let row = contest.participants.get(user).and_then(|id| rows.get(id));
                    grades.push(match row {
                        None => Grade::Absent,
                        Some(row) if row.state == State::Disqualified => Grade::Disqualified,
                        Some(row) => match row.total {
                            Total::Points(score) => Grade::Points(score),
                            Total::Icpc { solved, .. } => Grade::Solved(solved),
                        },
                    });
                }
            }
        }
        sheet
    }

    /// The sums of a row: of the points, and of the solved problems.
    pub fn sums(grades: &[Grade]) -> (Score, i64) {
        let mut sums = (Score(0), 0);
        for grade in grades {
            match grade {
                Grade::Points(score) => sums.0.0 += score.0,
                Grade::Solved(solved) => sums.1 += solved,
                Grade::Absent | Grade::Disqualified => {}
            }
        }
        sums
    }
}
