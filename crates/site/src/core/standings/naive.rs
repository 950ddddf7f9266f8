//! A second, slow implementation of the same ranking, for tests.

use super::super::finals::tests::naive as naive_final;
use super::super::verdict::Verdict;
use super::*;
use crate::core::finals::{Attempt, Reveal};

/// The rows of a table, in any order.
pub type Rows = Vec<(i64, Option<usize>, Total, Vec<Cell>)>;

struct View<'a> {
    data: &'a Data,
    scope: &'a Scope,
    now: Time,
}

/// The rows of all tables.
pub fn rows(data: &Data, scope: &Scope, now: Time) -> Vec<Rows> {
    let view = View { data, scope, now };
    let shown: Vec<&Round> = data
        .rounds
        .iter()
        .filter(|round| scope.rounds.iter().any(|one| one.round == round.id))
        .collect();
    let mut tables = Vec::new();
    if shown.iter().any(|round| round.mode == Mode::Points) {
        let rounds: Vec<&Round> = shown
            .iter()
            .copied()
            .filter(|one| one.mode == Mode::Points)
            .collect();
        tables.push(view.rows(&rounds, Mode::Points));
    }
    for round in shown {
        if round.mode == Mode::Icpc {
            tables.push(view.rows(&[round], Mode::Icpc));
        }
    }
    tables
}

/// The rows of a table in the form of [`rows`], sorted by participant.
pub fn of_table(table: &Table) -> Rows {
    let mut rows: Rows = table
        .rows
        .iter()
        .map(|row| (row.participant, row.place, row.total, row.cells.clone()))
        .collect();
    rows.sort_by_key(|row| row.0);
    rows
}

impl View<'_> {
    fn rows(&self, rounds: &[&Round], mode: Mode) -> Rows {
        let mut rows = Rows::new();
        for one in &self.data.participants {
            let is_secret = one.hidden || one.disqualified.is_some();
            if is_secret && self.scope.audience == Audience::Public {
                continue;
            }
            if let Some(group) = &self.scope.group
                && *group != one.group_name
            {
                continue;
            }
            let mut cells = Vec::new();
            let mut has_any = false;
            for problem in &self.data.problems {
                for round in rounds {
                    if problem.round_id == round.id {
                        has_any |= !self.attempts(one, problem).is_empty();
                        cells.push(self.cell(one, round, problem));
                    }
                }
            }
            // A submission that does not compile leaves a cell with points empty.
            let is_empty = |cell: &Cell| {
                matches!(
                    cell,
                    Cell::Points {
                        found: None,
                        pending: 0
                    }
                )
            };
            let is_listed = match mode {
                Mode::Points => !cells.iter().all(is_empty),
                Mode::Icpc => {
                    let is_contestant = one.role == Some(MemberRole::Contestant);
                    has_any || one.user_id.is_none() || (is_contestant && one.team_id.is_none())
                }
            };
            if is_listed {
                let total = self.total(one, rounds, mode, &cells);
                rows.push((one.id, None, total, cells));
            }
        }
        let ranked: Vec<Total> = rows
            .iter()
            .filter(|row| self.is_ranked(row.0))
            .map(|row| row.2)
            .collect();
        for row in &mut rows {
            if self.is_ranked(row.0) {
                let better = ranked.iter().filter(|other| beats(other, &row.2)).count();
                row.1 = Some(better + 1);
            }
        }
        rows.sort_by_key(|row| row.0);
        rows
    }

    fn is_ranked(&self, participant: i64) -> bool {
        let one = self
            .data
            .participants
            .iter()
            .find(|one| one.id == participant);
        one.is_some_and(|one| !one.hidden && !one.unofficial && one.disqualified.is_none())
    }

    fn attempts(&self, one: &Entry, problem: &RoundProblem) -> Vec<&Brief> {
        let all = self.data.submissions.iter();
        let mut attempts: Vec<&Brief> = all
            .filter(|brief| {
                brief.kind == Kind::Normal
                    && brief.participant_id == one.id
                    && brief.round_problem_id == problem.id
            })
            .collect();
        attempts.sort_by_key(|brief| (brief.submitted_at, brief.id));
        attempts
    }

    fn is_secret(&self, round: &Round, brief: &Brief) -> bool {
        self.scope.audience == Audience::Public
            && round.freeze_at <= self.now
            && self.now < round.thaw_at
            && brief.submitted_at >= round.freeze_at
    }

    fn cell(&self, one: &Entry, round: &Round, problem: &RoundProblem) -> Cell {
        let attempts = self.attempts(one, problem);
        if round.mode == Mode::Icpc {
            return Cell::Icpc(self.icpc(one, round, problem));
        }
        let mut pending = 0;
        let mut known = Vec::new();
        for brief in attempts {
            if self.is_secret(round, brief) {
                pending += 1;
            } else {
                known.push(Attempt {
                    id: brief.id,
                    counts: true,
                    initial: brief.initial_verdict,
                    full: brief.verdict,
                    score: brief
                        .score
                        .map(|score| Score(score).scaled(brief.max_score, problem.max_points)),
                });
            }
        }
        let is_full = self
            .scope
            .rounds
            .iter()
            .any(|one| one.round == round.id && one.is_full);
        let reveal = if is_full { None } else { Some(problem.reveal) };
        let found = naive_final(problem.final_method, reveal, &known).map(|found| Final {
            submission: found.id,
            verdict: match reveal {
                Some(Reveal::Hidden) => None,
                Some(Reveal::Nothing | Reveal::Score) => found.initial,
                _ => found.full,
            },
            score: if matches!(reveal, Some(Reveal::Nothing | Reveal::Hidden)) {
                None
            } else {
                found.score
            },
        });
        Cell::Points { found, pending }
    }

    /// Microseconds since the participant's beginning.
    fn time(&self, one: &Entry, round: &Round, brief: &Brief) -> i64 {
        let start = self
            .data
            .starts
            .iter()
            .find(|start| start.participant_id == one.id && start.round_id == round.id);
        let delay = one.delay_seconds * 1_000_000;
        let begin = match (round.window_seconds, start) {
            (Some(_), Some(start)) => start.started_at.0,
            (Some(_), None) => round.ends.0 + delay,
            (None, _) => round.begins.0 + delay,
        };
        (brief.submitted_at.0 - begin).max(0)
    }

    fn verdict(&self, round: &Round, brief: &Brief) -> Option<Verdict> {
        if self.is_secret(round, brief) {
            None
        } else {
            brief.verdict
        }
    }

    fn icpc(&self, one: &Entry, round: &Round, problem: &RoundProblem) -> icpc::Cell {
        let attempts = self.attempts(one, problem);
        let accepted = attempts
            .iter()
            .find(|brief| self.verdict(round, brief) == Some(Verdict::Accepted));
        let is_wrong = |brief: &&&Brief| {
            let verdict = self.verdict(round, brief);
            !matches!(
                verdict,
                None | Some(Verdict::CompileError | Verdict::Accepted)
            )
        };
        let Some(accepted) = accepted else {
            let unknown = |brief: &&&Brief| self.verdict(round, brief).is_none();
            return icpc::Cell {
                wrong: attempts.iter().filter(is_wrong).count() as i64,
                pending: attempts.iter().filter(unknown).count() as i64,
                solved: None,
                last: attempts.last().map(|brief| brief.id),
            };
        };
        let order = |brief: &Brief| (brief.submitted_at, brief.id);
        let before = attempts
            .iter()
            .filter(|brief| order(brief) < order(accepted));
        let key = (self.time(one, round, accepted), accepted.id);
        let is_first = self.data.participants.iter().all(|other| {
            let attempts = self.attempts(other, problem);
            !self.is_ranked(other.id)
                || attempts.iter().all(|brief| {
                    let rival = (self.time(other, round, brief), brief.id);
                    let verdict = self.verdict(round, brief);
                    rival >= key || !matches!(verdict, None | Some(Verdict::Accepted))
                })
        });
        icpc::Cell {
            wrong: before.filter(is_wrong).count() as i64,
            pending: 0,
            solved: Some(icpc::Solved {
                submission: accepted.id,
                time: key.0,
                is_first: is_first && self.is_ranked(one.id),
            }),
            last: Some(accepted.id),
        }
    }

    fn total(&self, one: &Entry, rounds: &[&Round], mode: Mode, cells: &[Cell]) -> Total {
        if mode == Mode::Points {
            let mut sum = 0;
            for cell in cells {
                if let Cell::Points {
                    found: Some(found), ..
                } = cell
                {
                    sum += found.score.map_or(0, |score| score.0);
                }
            }
            return Total::Points(Score(sum));
        }
        let (mut solved, mut penalty, mut last) = (0, one.penalty_minutes, 0);
        for cell in cells {
            let Cell::Icpc(cell) = cell else { continue };
            let Some(found) = cell.solved else { continue };
            let minute = found.time / 60_000_000;
            solved += 1;
            penalty += minute + cell.wrong * rounds[0].penalty_minutes;
            last = last.max(minute);
        }
        Total::Icpc {
            solved,
            penalty,
            last,
        }
    }
}

/// Whether a result is better than another one.
fn beats(one: &Total, other: &Total) -> bool {
    match (*one, *other) {
        (Total::Points(one), Total::Points(other)) => one > other,
        (
            Total::Icpc {
                solved,
                penalty,
                last,
            },
            Total::Icpc {
                solved: solved2,
                penalty: penalty2,
                last: last2,
            },
        ) => {
            solved > solved2
                || (solved == solved2 && penalty < penalty2)
                || (solved == solved2 && penalty == penalty2 && last < last2)
        }
        _ => false,
    }
}
