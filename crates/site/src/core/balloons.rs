//! Balloons: one for each participant and problem that is solved in a round in ICPC mode.
//!
//! A later judgement can change an accepted submission to a rejected one. If its balloon was
//! already delivered, the balloon stays in the list, so that the staff notices.

use super::standings::{Cell, Data, tables};
use super::time::Time;
use crate::db::balloon::Delivered;
use crate::db::contest::Mode;
use std::collections::HashMap;

/// A balloon that a participant has earned or has.
#[derive(Debug, Clone)]
pub struct Balloon {
    pub round_problem: i64,
    pub participant: i64,
    /// The name of the participant.
    pub name: String,
    /// The group, such as a room.
    pub group: String,
    pub label: String,
    pub problem: String,
    pub colour: String,
    /// The solution; `None`: the problem is no longer solved.
    pub solved: Option<Solved>,
    /// The delivery; `None`: the balloon waits.
    pub delivered: Option<Delivered>,
}

/// The accepted submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Solved {
    pub submission: i64,
    pub submitted_at: Time,
    /// Whether no other participant was earlier.
    pub is_first: bool,
}

/// The balloons of a contest: first those that were delivered without a solution, then those that
/// wait in the order of the submissions, then the others. Those that a freeze hides now do not
/// wait unless `in_freeze`: a balloon would tell the result.
pub fn balloons(
    data: &Data,
    delivered: Vec<Delivered>,
    in_freeze: bool,
    now: Time,
) -> Vec<Balloon> {
    if !data.problems.iter().any(|one| one.mode == Mode::Icpc) {
        return Vec::new();
    }
    let mut delivered: HashMap<(i64, i64), Delivered> = delivered
        .into_iter()
        .map(|one| ((one.participant_id, one.round_problem_id), one))
        .collect();
    let times: HashMap<i64, Time> = data
        .submissions
        .iter()
        .map(|one| (one.id, one.submitted_at))
        .collect();
    let mut found = Vec::new();
    let tables = tables(data, &data.of_staff(), now);
    for table in tables.iter().filter(|table| table.mode == Mode::Icpc) {
        for row in &table.rows {
            for (head, cell) in table.problems.iter().zip(&row.cells) {
                let Cell::Icpc(cell) = cell else { continue };
                let delivered = delivered.remove(&(row.participant, head.id));
                if delivered.is_none() && !row.state.rights().gets_balloons {
                    continue;
                }
                let solved = cell.solved.map(|solved| Solved {
                    submission: solved.submission,
                    submitted_at: times
                        .get(&solved.submission)
                        .copied()
                        .unwrap_or(Time::NEVER),
                    is_first: solved.is_first,
                });
                let waits = solved.is_some_and(|solved| {
                    in_freeze || !is_hidden(data, head.id, solved.submitted_at, now)
                });
                if delivered.is_none() && !waits {
                    continue;
                }
                found.push(Balloon {
                    round_problem: head.id,
                    participant: row.participant,
                    name: row.name.clone(),
                    group: row.group.clone(),
                    label: head.label.clone(),
                    problem: head.name.clone(),
                    colour: head.colour.clone(),
                    solved,
                    delivered,
                });
            }
        }
    }
    // Participants without submissions may have no row.
    found.extend(delivered.into_values().filter_map(|one| lost(data, one)));
    found.sort_by_key(|one| {
        let group = match (&one.solved, &one.delivered) {
            (None, _) => 0,
            (_, None) => 1,
            _ => 2,
        };
        let submission = one.solved.map_or(0, |solved| solved.submission);
        (group, submission, one.participant, one.round_problem)
    });
    found
}

fn is_hidden(data: &Data, round_problem: i64, submitted_at: Time, now: Time) -> bool {
    let problem = data.problems.iter().find(|one| one.id == round_problem);
    let round = |id| data.rounds.iter().find(|round| round.id == id);
    let round = problem.and_then(|one| round(one.round_id));
    round.is_some_and(|round| round.freeze().hides(submitted_at, now))
}

/// A balloon of a participant that no ranking lists. Rounds that are no longer in ICPC mode have no
/// balloons.
fn lost(data: &Data, delivered: Delivered) -> Option<Balloon> {
    let mut problems = data.problems.iter();
    let problem = problems.find(|one| one.id == delivered.round_problem_id)?;
    let mut participants = data.participants.iter();
    let participant = participants.find(|one| one.id == delivered.participant_id)?;
    (problem.mode == Mode::Icpc).then(|| Balloon {
        round_problem: problem.id,
        participant: participant.id,
        name: participant.shown_name().to_owned(),
        group: participant.group_name.clone(),
        label: problem.label.clone(),
        problem: problem.name.clone(),
        colour: problem.colour.clone(),
        solved: None,
        delivered: Some(delivered),
    })
}
