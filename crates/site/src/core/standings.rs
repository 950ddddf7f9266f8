//! The ranking of a contest for one audience.
//!
//! All rounds that are scored by points share one table, whose totals cover all their problems.
//! Each round in ICPC mode has its own table.

use super::access::ContestAccess;
use super::finals::{self, FinalMethod};
use super::icpc;
use super::participant::OwnTimes;
use super::participation::State;
use super::points::{self, Final};
use super::score::Score;
use super::subtasks;
use super::time::Time;
use crate::db::contest::{MemberRole, Mode, Round, RoundProblem};
use crate::db::participant::{self, Entry, Start};
use crate::db::submission::{Brief, Kind};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::{self, Display};

#[cfg(test)]
pub(crate) mod naive;
pub mod statistics;

/// Everything that a ranking follows from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Data {
    pub rounds: Vec<Round>,
    pub problems: Vec<RoundProblem>,
    pub participants: Vec<Entry>,
    pub starts: Vec<Start>,
    /// In the order of their ids, which may differ from that of their times.
    pub submissions: Vec<Brief>,
}

/// The viewers for which a ranking is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Audience {
    /// Contestants and guests.
    Public,
    /// The staff: everything, without a freeze.
    Staff,
}

/// A round in a ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shown {
    /// The round.
    pub round: i64,
    /// Whether the viewers see the full results of the round.
    pub is_full: bool,
}

impl Shown {
    /// A round in rankings and statistics, for a viewer with these times of the round; `None` if it
    /// is not shown.
    pub fn of(access: ContestAccess, round: &Round, times: OwnTimes, now: Time) -> Option<Shown> {
        let is_shown = access.sees_ranking(times.begins, round.ranking_from, now);
        is_shown.then(|| Shown {
            round: round.id,
            is_full: access.sees_full_results(times.full_results, now),
        })
    }
}

/// What a ranking contains. Viewers with equal scopes see equal rankings.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scope {
    pub audience: Audience,
    /// The rounds that the viewers may see.
    pub rounds: Vec<Shown>,
    /// Only participants of this group.
    pub group: Option<String>,
}

/// A ranking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The names of the rounds.
    pub rounds: Vec<String>,
    pub mode: Mode,
    /// Minutes of penalty for each wrong attempt.
    pub penalty_minutes: i64,
    /// The time from which new results are hidden.
    pub frozen_since: Option<Time>,
    pub problems: Vec<Head>,
    /// The best first.
    pub rows: Vec<Row>,
}

/// The header of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub id: i64,
    pub label: String,
    pub name: String,
    pub colour: String,
}

/// A participant in a ranking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The place, from 1; `None` if the participant has no place. Equal results share a place.
    pub place: Option<usize>,
    pub participant: i64,
    pub name: String,
    pub organization: String,
    pub group: String,
    pub state: State,
    pub total: Total,
    pub cells: Vec<Cell>,
}

/// The result of a participant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Total {
    /// The sum of the points that are not hidden.
    Points(Score),
    /// In ICPC mode.
    Icpc {
        solved: i64,
        penalty: i64,
        /// The minute of the last accepted submission. It breaks ties between equal penalties.
        last: i64,
    },
}

/// The result of a participant in a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// By points.
    Points {
        found: Option<Final>,
        /// Submissions that the freeze hides.
        pending: i64,
    },
    /// In ICPC mode.
    Icpc(icpc::Cell),
}

impl Cell {
    fn is_empty(&self) -> bool {
        match self {
            Cell::Points { found, pending } => found.is_none() && *pending == 0,
            Cell::Icpc(cell) => cell.last.is_none(),
        }
    }
}

impl Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Total::Points(score) => write!(f, "{score}"),
            Total::Icpc {
                solved, penalty, ..
            } => write!(f, "{solved} ({penalty})"),
        }
    }
}

impl Total {
    /// The sort key. Smaller keys are better, and equal keys share a place.
    fn key(&self) -> (Reverse<i64>, i64, i64) {
        match self {
            Total::Points(score) => (Reverse(score.0), 0, 0),
            Total::Icpc {
                solved,
                penalty,
                last,
            } => (Reverse(*solved), *penalty, *last),
        }
    }
}

impl Data {
    /// The scope of the staff: everything.
    pub fn of_staff(&self) -> Scope {
        let rounds = self.rounds.iter();
        Scope {
            audience: Audience::Staff,
            rounds: rounds
                .map(|round| Shown {
                    round: round.id,
                    is_full: true,
                })
                .collect(),
            group: None,
        }
    }

    /// The next time at which rankings change without a change of the data: the beginning or end of
    /// a freeze.
    pub fn next_change(&self, now: Time) -> Time {
        let times = self
            .rounds
            .iter()
            .flat_map(|one| [one.freeze_at, one.thaw_at]);
        times
            .filter(|time| *time > now)
            .min()
            .unwrap_or(Time::NEVER)
    }

    /// The groups of the participants that an audience sees.
    pub fn groups(&self, audience: Audience) -> Vec<&str> {
        let is_seen = |one: &&Entry| audience == Audience::Staff || one.state().rights().is_public;
        let seen = self.participants.iter().filter(is_seen);
        let all = seen.map(|one| one.group_name.as_str());
        let mut groups: Vec<&str> = all.filter(|group| !group.is_empty()).collect();
        groups.sort_unstable();
        groups.dedup();
        groups
    }
}

/// The tables of a scope: first that of the rounds with points, then those of rounds in ICPC mode.
pub fn tables(data: &Data, scope: &Scope, now: Time) -> Vec<Table> {
    let shown = |round: &&Round| scope.rounds.iter().any(|one| one.round == round.id);
    let rounds = || data.rounds.iter().filter(shown);
    let points: Vec<&Round> = rounds().filter(|one| one.mode == Mode::Points).collect();
    let icpc = rounds().filter(|one| one.mode == Mode::Icpc);
    let maker = Maker::new(data, scope, now);
    let combined = (!points.is_empty()).then(|| maker.table(Mode::Points, &points));
    combined
        .into_iter()
        .chain(icpc.map(|round| maker.table(Mode::Icpc, &[round])))
        .collect()
}

/// The submissions of participants to problems of rounds.
type Index<'a> = HashMap<(i64, i64), Vec<&'a Brief>>;

struct Maker<'a> {
    data: &'a Data,
    scope: &'a Scope,
    now: Time,
    participants: Vec<&'a Entry>,
    submissions: Index<'a>,
    /// The clocks by participant and round.
    starts: HashMap<(i64, i64), Time>,
}

impl<'a> Maker<'a> {
    fn new(data: &'a Data, scope: &'a Scope, now: Time) -> Maker<'a> {
        let is_staff = scope.audience == Audience::Staff;
        let participants = data.participants.iter().filter(|one| {
            let fits = scope
                .group
                .as_ref()
                .is_none_or(|group| *group == one.group_name);
            fits && (is_staff || one.state().rights().is_public)
        });
        let mut submissions = Index::new();
        for one in &data.submissions {
            if one.kind == Kind::Normal {
                let key = (one.participant_id, one.round_problem_id);
                submissions.entry(key).or_default().push(one);
            }
        }
        for list in submissions.values_mut() {
            list.sort_by_key(|one| (one.submitted_at, one.id));
        }
        let starts = data.starts.iter();
        Maker {
            data,
            scope,
            now,
            participants: participants.collect(),
            submissions,
            starts: starts
                .map(|one| ((one.participant_id, one.round_id), one.started_at))
                .collect(),
        }
    }

    fn table(&self, mode: Mode, rounds: &[&Round]) -> Table {
        let is_public = self.scope.audience == Audience::Public;
        let columns: Vec<(&Round, &RoundProblem)> = self
            .data
            .problems
            .iter()
            .filter_map(|problem| {
                let round = rounds.iter().find(|round| round.id == problem.round_id)?;
                Some((*round, problem))
            })
            .collect();
        let frozen = rounds
            .iter()
            .filter(|one| is_public && one.freeze().is_on(self.now));
        let mut table = Table {
            rounds: rounds.iter().map(|round| round.name.clone()).collect(),
            mode,
            penalty_minutes: rounds.first().map_or(0, |round| round.penalty_minutes),
            frozen_since: frozen.map(|round| round.freeze_at).min(),
            problems: columns.iter().map(|(_, problem)| head(problem)).collect(),
            rows: self
                .participants
                .iter()
                .map(|one| self.row(one, &columns, mode))
                .filter(|(one, row)| is_listed(one, row, mode))
                .map(|(_, row)| row)
                .collect(),
        };
        if mode == Mode::Icpc {
            self.mark_first(&columns, &mut table.rows);
        }
        table
            .rows
            .sort_by_key(|row| (row.total.key(), row.participant));
        place(&mut table.rows);
        table
    }

    fn row(
        &self,
        one: &'a Entry,
        columns: &[(&Round, &RoundProblem)],
        mode: Mode,
    ) -> (&'a Entry, Row) {
        let cells: Vec<Cell> = columns
            .iter()
            .map(|(round, problem)| match mode {
                Mode::Points => self.points(one, round, problem),
                Mode::Icpc => Cell::Icpc(icpc::cell(&self.attempts(one, round, problem))),
            })
            .collect();
        let minutes = columns
            .first()
            .map_or(0, |(round, _)| round.penalty_minutes);
        let row = Row {
            place: None,
            participant: one.id,
            name: one.shown_name().to_owned(),
            organization: one.organization.clone(),
            group: one.group_name.clone(),
            state: one.state(),
            total: total(&cells, mode, minutes, one.penalty_minutes),
            cells,
        };
        (one, row)
    }

    fn of(&self, one: &Entry, problem: &RoundProblem) -> &[&'a Brief] {
        let found = self.submissions.get(&(one.id, problem.id));
        found.map_or(&[], Vec::as_slice)
    }

    /// Whether the freeze hides the result of a submission.
    fn hides(&self, round: &Round, one: &Brief) -> bool {
        let is_public = self.scope.audience == Audience::Public;
        is_public && round.freeze().hides(one.submitted_at, self.now)
    }

    fn points(&self, one: &Entry, round: &Round, problem: &RoundProblem) -> Cell {
        let (hidden, known): (Vec<&Brief>, Vec<&Brief>) = self
            .of(one, problem)
            .iter()
            .partition(|brief| self.hides(round, brief));
        let attempts: Vec<finals::Attempt> = known
            .iter()
            .map(|brief| finals::Attempt {
                id: brief.id,
                counts: true,
                initial: brief.initial_verdict,
                full: brief.verdict,
                score: brief
                    .score
                    .map(|score| Score(score).scaled(brief.max_score, problem.max_points)),
            })
            .collect();
        let shown = self
            .scope
            .rounds
            .iter()
            .find(|shown| shown.round == round.id);
        let column = points::Column {
            method: problem.final_method,
            reveal: problem.revealed(),
            is_full: shown.is_some_and(|shown| shown.is_full),
        };
        let mut found = points::cell(column, &attempts);
        if problem.final_method == FinalMethod::Subtasks
            && let Some(Final {
                score: Some(score), ..
            }) = &mut found
        {
            let level = (!column.is_full).then_some(column.reveal);
            let counted = known.iter().zip(&attempts);
            let counted = counted.filter(|(_, one)| finals::is_candidate(level, one));
            let counted: Vec<&Brief> = counted.map(|(brief, _)| *brief).collect();
            let points = counted.iter().filter_map(|brief| {
                let groups = brief.group_scores.as_deref();
                Some((groups, Score(brief.score?)))
            });
            // Only the sum is rounded.
            let max = counted.iter().filter_map(|brief| brief.max_score).max();
            let sum = subtasks::best(points).scaled(max, problem.max_points);
            *score = sum.max(*score);
        }
        Cell::Points {
            found,
            pending: i64::try_from(hidden.len()).unwrap_or(i64::MAX),
        }
    }

    /// When a round begins for a participant; `None` if it has no beginning.
    fn begins(&self, one: &Entry, round: &Round) -> Option<Time> {
        let started_at = self.starts.get(&(one.id, round.id)).copied();
        let personal = participant::personal(one.delay_seconds, one.extra_seconds, started_at);
        let begins = round.schedule().times(personal).begins;
        (begins != Time::ALWAYS).then_some(begins)
    }

    fn attempts(&self, one: &Entry, round: &Round, problem: &RoundProblem) -> Vec<icpc::Attempt> {
        let begins = self.begins(one, round);
        self.of(one, problem)
            .iter()
            .map(|brief| icpc::Attempt {
                submission: brief.id,
                // Without a beginning, no time passes.
                time: begins.map_or(0, |begins| passed(begins, brief.submitted_at)),
                verdict: brief.verdict.filter(|_| !self.hides(round, brief)),
            })
            .collect()
    }

    /// Marks the cells whose participants solved a problem first. The group does not matter.
    fn mark_first(&self, columns: &[(&Round, &RoundProblem)], rows: &mut [Row]) {
        for (index, (round, problem)) in columns.iter().enumerate() {
            let rivals = self.data.participants.iter().filter(|one| is_ranked(one));
            let rivals: Vec<Vec<icpc::Attempt>> = rivals
                .map(|one| self.attempts(one, round, problem))
                .collect();
            let rivals: Vec<&[icpc::Attempt]> = rivals.iter().map(Vec::as_slice).collect();
            let Some(first) = icpc::first(&rivals) else {
                continue;
            };
            for row in &mut *rows {
                if let Some(Cell::Icpc(icpc::Cell {
                    solved: Some(solved),
                    ..
                })) = row.cells.get_mut(index)
                {
                    solved.is_first = solved.submission == first;
                }
            }
        }
    }
}

/// Microseconds between two points in time.
fn passed(from: Time, to: Time) -> i64 {
    to.0.saturating_sub(from.0).max(0)
}

fn head(problem: &RoundProblem) -> Head {
    Head {
        id: problem.id,
        label: problem.label.clone(),
        name: problem.name.clone(),
        colour: problem.colour.clone(),
    }
}

/// Whether a participant has a place.
fn is_ranked(one: &Entry) -> bool {
    one.state().rights().has_place
}

/// A participant with submissions is listed. In ICPC mode, teams and contestants without a team are
/// also listed.
fn is_listed(one: &Entry, row: &Row, mode: Mode) -> bool {
    let takes_part = match one.user_id {
        None => true,
        Some(_) => one.role == Some(MemberRole::Contestant) && one.team_id.is_none(),
    };
    (mode == Mode::Icpc && takes_part) || row.cells.iter().any(|cell| !cell.is_empty())
}

fn total(cells: &[Cell], mode: Mode, minutes_of_wrong: i64, adjustment: i64) -> Total {
    if mode == Mode::Points {
        let scores = cells.iter().filter_map(|cell| match cell {
            Cell::Points { found, .. } => found.and_then(|found| found.score),
            Cell::Icpc(_) => None,
        });
        return Total::Points(scores.sum());
    }
    let (mut solved, mut penalty, mut last) = (0, adjustment, 0);
    for cell in cells {
        if let Cell::Icpc(cell) = cell
            && let Some(found) = cell.solved
        {
            solved += 1;
            penalty = cell.penalty(minutes_of_wrong).saturating_add(penalty);
            last = found.minutes().max(last);
        }
    }
    Total::Icpc {
        solved,
        penalty,
        last,
    }
}

/// Gives places to sorted rows.
fn place(rows: &mut [Row]) {
    let mut above: Option<(Total, usize)> = None;
    let ranked = rows.iter_mut().filter(|row| row.state.rights().has_place);
    for (number, row) in (1..).zip(ranked) {
        let place = match above {
            Some((total, place)) if total.key() == row.total.key() => place,
            _ => number,
        };
        above = Some((row.total, place));
        row.place = Some(place);
    }
}

#[cfg(test)]
pub(crate) mod tests;
