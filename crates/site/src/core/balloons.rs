//! Balloons: one for each participant and problem that is solved in a round in ICPC mode.

use super::standings::{Cell, Data, tables};
use super::time::Time;
use crate::db::contest::Mode;
use std::collections::HashMap;

/// A balloon that a participant has earned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balloon {
    /// The accepted submission.
    pub submission: i64,
    pub submitted_at: Time,
    pub round_problem: i64,
    pub participant: i64,
    /// The name of the participant.
    pub name: String,
    /// The group, such as a room.
    pub group: String,
    pub label: String,
    pub problem: String,
    pub colour: String,
    /// Whether no other participant was earlier.
    pub is_first: bool,
}

/// The balloons of a contest in the order of the submissions. Those that a freeze hides now are
/// left out unless `in_freeze`: a balloon would tell the result.
pub fn balloons(data: &Data, in_freeze: bool, now: Time) -> Vec<Balloon> {
    let times: HashMap<i64, Time> = data
        .submissions
        .iter()
        .map(|one| (one.id, one.submitted_at))
        .collect();
    let freezes: HashMap<i64, _> = data
        .problems
        .iter()
        .filter_map(|problem| {
            let mut rounds = data.rounds.iter();
            let round = rounds.find(|round| round.id == problem.round_id)?;
            Some((problem.id, round.freeze()))
        })
        .collect();
    let mut found = Vec::new();
    let tables = tables(data, &data.of_staff(), now);
    for table in tables.iter().filter(|table| table.mode == Mode::Icpc) {
        for row in &table.rows {
            for (head, cell) in table.problems.iter().zip(&row.cells) {
                let Cell::Icpc(cell) = cell else { continue };
                let Some(solved) = cell.solved else { continue };
                let submitted_at = times.get(&solved.submission).copied();
                let submitted_at = submitted_at.unwrap_or(Time::NEVER);
                let freeze = freezes.get(&head.id);
                let is_hidden = freeze.is_some_and(|freeze| freeze.hides(submitted_at, now));
                if is_hidden && !in_freeze {
                    continue;
                }
                found.push(Balloon {
                    submission: solved.submission,
                    submitted_at,
                    round_problem: head.id,
                    participant: row.participant,
                    name: row.name.clone(),
                    group: row.group.clone(),
                    label: head.label.clone(),
                    problem: head.name.clone(),
                    colour: head.colour.clone(),
                    is_first: solved.is_first,
                });
            }
        }
    }
    found.sort_by_key(|one| one.submission);
    found
}
