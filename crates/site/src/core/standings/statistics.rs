//! The statistics of a contest for one audience.
//!
//! They reveal no more than the ranking. For the public, the results are counted from the cells of
//! the ranking. So a freeze and results that are not full apply here as well, and attempts that the
//! ranking leaves out do not count. The number of submissions and their times are not secret. The
//! staff sees the results of all submissions.

use super::*;
use crate::core::score;
use crate::core::verdict::Verdict;
use std::collections::BTreeMap;

/// The maximum number of bars in a time histogram.
const MAX_TIMES: i64 = 40;
/// The maximum number of bars in a point histogram, apart from the last one.
const MAX_SUMS: i64 = 10;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
/// The possible widths of a bar that is shorter than a day, in seconds.
const WIDTHS: [i64; 12] = [
    60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400,
];

/// The outcome of a submission or an attempt, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// This verdict.
    Verdict(Verdict),
    /// Any verdict but "accepted". The ranking does not reveal which.
    Rejected,
    /// No verdict that the viewer may know.
    Pending,
}

/// The number of values in each of several intervals of equal width. Empty intervals are included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// The width of an interval.
    pub width: i64,
    /// The lower bounds of the intervals in ascending order, with the numbers of values.
    pub bars: Vec<(i64, usize)>,
}

/// The submissions whose results are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// All submissions.
    All,
    /// For each participant, the submission that counts, by points.
    Finals,
    /// The attempts that the ranking in ICPC mode counts.
    Attempts,
}

/// The statistics of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statistics {
    /// The name of the round.
    pub round: String,
    pub mode: Mode,
    /// The time from which new results are hidden.
    pub frozen_since: Option<Time>,
    /// Whether some results are those of only the initial tests.
    pub is_initial: bool,
    /// Whether times are measured from the beginning of the round for the participant. Otherwise,
    /// they are measured from the first submission.
    pub has_begin: bool,
    /// Submissions by the time of the round, in microseconds.
    pub times: Histogram,
    pub basis: Basis,
    /// Results by problem.
    pub results: Vec<(Head, BTreeMap<Outcome, usize>)>,
    /// Participants by their points in millionths, or by the number of solved problems. Empty if
    /// the points are hidden.
    pub totals: Histogram,
}

impl Histogram {
    /// Counts values in bars of a width. The first bar contains `from`, or the smallest value if
    /// that is smaller.
    fn new(values: &[i64], width: i64, from: i64) -> Histogram {
        let mut counts = BTreeMap::<i64, usize>::new();
        for value in values {
            *counts.entry(value.div_euclid(width)).or_default() += 1;
        }
        let bars = match (counts.first_key_value(), counts.last_key_value()) {
            (Some((first, _)), Some((last, _))) => (from.div_euclid(width).min(*first)..=*last)
                .map(|bar| (bar * width, counts.get(&bar).copied().unwrap_or(0)))
                .collect(),
            _ => Vec::new(),
        };
        Histogram { width, bars }
    }

    /// Submissions by time.
    fn of_times(times: &[i64]) -> Histogram {
        let (first, last) = (times.iter().min(), times.iter().max());
        let (first, last) = (first.copied().unwrap_or(0), last.copied().unwrap_or(0));
        let fits = |width: &i64| (last - first) / width < MAX_TIMES;
        let short = WIDTHS.iter().map(|seconds| seconds * SECOND).find(fits);
        let width = short.unwrap_or_else(|| DAY * nice((last - first) / DAY / MAX_TIMES + 1));
        Histogram::new(times, width, first)
    }

    /// Participants by points. The scale begins at 0.
    fn of_sums(sums: &[i64]) -> Histogram {
        let first = sums.iter().min().copied().unwrap_or(0).min(0);
        let last = sums.iter().max().copied().unwrap_or(0);
        let width = match last.saturating_sub(first) {
            0 => score::UNIT,
            range => nice((range / MAX_SUMS).max(1)),
        };
        Histogram::new(sums, width, 0)
    }
}

/// The smallest number that is at least `least` and is 1, 2 or 5 times a power of ten.
pub fn nice(least: i64) -> i64 {
    let mut power: i64 = 1;
    loop {
        for factor in [1, 2, 5] {
            let number = power.saturating_mul(factor);
            if number >= least {
                return number;
            }
        }
        power = power.saturating_mul(10);
    }
}

/// The statistics of the rounds of a scope, in the order of the rounds.
pub fn statistics(data: &Data, scope: &Scope, now: Time) -> Vec<Statistics> {
    let maker = Maker::new(data, scope, now);
    let find = |round: &Round| scope.rounds.iter().find(|one| one.round == round.id);
    let shown = data.rounds.iter().filter_map(|one| Some((one, find(one)?)));
    shown
        .map(|(round, shown)| maker.statistics(round, shown.is_full))
        .collect()
}

impl Maker<'_> {
    fn statistics(&self, round: &Round, is_full: bool) -> Statistics {
        let table = self.table(round.mode, &[round]);
        let of_round = |one: &&RoundProblem| one.round_id == round.id;
        let problems: Vec<&RoundProblem> = self.data.problems.iter().filter(of_round).collect();
        let basis = match (self.scope.audience, round.mode) {
            (Audience::Staff, _) => Basis::All,
            (Audience::Public, Mode::Points) => Basis::Finals,
            (Audience::Public, Mode::Icpc) => Basis::Attempts,
        };
        let (has_begin, times) = self.times(round, &problems);
        let outcomes = |index: usize, problem: &RoundProblem| match basis {
            Basis::All => self.outcomes(problem),
            Basis::Finals | Basis::Attempts => {
                let cells = table.rows.iter().filter_map(|row| row.cells.get(index));
                cells.flat_map(outcomes_of_cell).collect()
            }
        };
        let results = problems.iter().enumerate().map(|(index, problem)| {
            let mut counts = BTreeMap::new();
            for (outcome, count) in outcomes(index, problem) {
                *counts.entry(outcome).or_default() += count;
            }
            counts.retain(|_, count| *count > 0);
            (head(problem), counts)
        });
        Statistics {
            round: round.name.clone(),
            mode: round.mode,
            frozen_since: table.frozen_since,
            is_initial: !is_full && problems.iter().any(|one| !one.revealed().shows_verdict()),
            has_begin,
            times: Histogram::of_times(&times),
            basis,
            results: results.collect(),
            totals: totals(&table),
        }
    }

    /// The times of all submissions in a round, and whether the round has a beginning.
    fn times(&self, round: &Round, problems: &[&RoundProblem]) -> (bool, Vec<i64>) {
        let of = |one: &Entry| {
            let mine = problems.iter().flat_map(|problem| self.of(one, problem));
            let times: Vec<Time> = mine.map(|brief| brief.submitted_at).collect();
            (self.begins(one, round), times)
        };
        let all: Vec<_> = self.participants.iter().map(|one| of(one)).collect();
        let first = all.iter().flat_map(|(_, times)| times).min().copied();
        let times = all.iter().flat_map(|(begins, times)| {
            let begins = begins.or(first).unwrap_or(Time::ALWAYS);
            times.iter().map(move |time| passed(begins, *time))
        });
        (round.begins != Time::ALWAYS, times.collect())
    }

    /// The outcomes of all submissions to a problem.
    fn outcomes(&self, problem: &RoundProblem) -> Vec<(Outcome, usize)> {
        let all = self.participants.iter();
        let all = all.flat_map(|one| self.of(one, problem));
        all.map(|brief| (brief.verdict.map_or(Outcome::Pending, Outcome::Verdict), 1))
            .collect()
    }
}

/// The outcomes that a cell of the ranking reveals.
fn outcomes_of_cell(cell: &Cell) -> Vec<(Outcome, usize)> {
    let number = |count: i64| usize::try_from(count).unwrap_or(0);
    match cell {
        Cell::Points { found, pending } => {
            let found = found.and_then(|found| found.verdict);
            let found = found.map(|verdict| (Outcome::Verdict(verdict), 1));
            let pending = (Outcome::Pending, number(*pending));
            found.into_iter().chain([pending]).collect()
        }
        Cell::Icpc(cell) => vec![
            (
                Outcome::Verdict(Verdict::Accepted),
                usize::from(cell.solved.is_some()),
            ),
            (Outcome::Rejected, number(cell.wrong)),
            (Outcome::Pending, number(cell.pending)),
        ],
    }
}

/// The participants by their totals in a ranking.
fn totals(table: &Table) -> Histogram {
    let totals = table.rows.iter().map(|row| match row.total {
        Total::Points(score) => score.0,
        Total::Icpc { solved, .. } => solved,
    });
    let totals: Vec<i64> = totals.collect();
    if table.mode == Mode::Icpc {
        return Histogram::new(&totals, 1, 0);
    }
    let mut cells = table.rows.iter().flat_map(|row| &row.cells);
    let is_known = cells.any(
        |cell| matches!(cell, Cell::Points { found: Some(found), .. } if found.score.is_some()),
    );
    Histogram::of_sums(if is_known { &totals } else { &[] })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{at, brief, entry, problem, round};
    use super::*;
    use crate::core::access::{self, Viewer};
    use crate::core::participant::Personal;
    use crate::db::contest::Visibility;
    use crate::db::user::Role;
    use std::fmt::Write;

    /// A round from minute 100 to 300, frozen from minute 200 to 450, with a ranking from minute
    /// 110 and full results from minute 400.
    fn contest(mode: Mode, now: i64) -> Data {
        let (right, wrong) = (Some(Verdict::Accepted), Some(Verdict::WrongAnswer));
        let submissions = [
            // The initial tests pass.
            Brief {
                initial_verdict: right,
                ..brief(1, 1, 150, wrong)
            },
            // Of a hidden participant.
            brief(2, 2, 160, right),
            Brief {
                kind: Kind::Ignored,
                ..brief(3, 1, 170, right)
            },
            brief(4, 1, 250, right),
            brief(5, 1, 260, Some(Verdict::TimeLimit)),
        ];
        let made = submissions.into_iter();
        Data {
            rounds: vec![Round {
                begins: at(100),
                ends: at(300),
                ranking_from: at(110),
                freeze_at: at(200),
                thaw_at: at(450),
                full_results: at(400),
                ..round(1, mode)
            }],
            problems: vec![RoundProblem {
                mode,
                ..problem(1, 1)
            }],
            participants: vec![
                entry(1),
                Entry {
                    hidden: true,
                    ..entry(2)
                },
            ],
            starts: Vec::new(),
            submissions: made.filter(|one| one.submitted_at <= at(now)).collect(),
        }
    }

    fn sum(histogram: &Histogram) -> usize {
        histogram.bars.iter().map(|(_, count)| count).sum()
    }

    /// The number of submissions; results, with `a` for accepted, `w` for wrong answers, `l` for a
    /// limit, `r` for rejected and `?` for pending; participants by total.
    fn words(data: &Data, access: ContestAccess, audience: Audience, now: Time) -> String {
        let times = |one: &Round| one.schedule().times(Personal::default());
        let rounds = data.rounds.iter();
        let scope = Scope {
            audience,
            rounds: rounds
                .filter_map(|one| Shown::of(access, one, times(one), now))
                .collect(),
            group: None,
        };
        let found = statistics(data, &scope, now);
        let Some(found) = found.first() else {
            return "-".to_owned();
        };
        let mut words = format!("{}:", sum(&found.times));
        for (outcome, count) in &found.results[0].1 {
            let letter = match outcome {
                Outcome::Verdict(Verdict::Accepted) => 'a',
                Outcome::Verdict(Verdict::WrongAnswer) => 'w',
                Outcome::Verdict(_) => 'l',
                Outcome::Rejected => 'r',
                Outcome::Pending => '?',
            };
            write!(words, " {count}{letter}").unwrap();
        }
        for (total, count) in found.totals.bars.iter().filter(|(_, count)| *count > 0) {
            write!(words, " {count}x{total}").unwrap();
        }
        words
    }

    #[test]
    fn statistics_are_visible_by_this_table() {
        use MemberRole::{Contestant, Moderator, Owner};
        // Each phase: before the round, before the ranking is shown, running, frozen, over, with
        // full results, thawed.
        let phases = [90, 105, 180, 280, 350, 420, 500];
        // Guests and contestants in a round with points, then in ICPC mode; then the staff.
        let points = [
            "-",
            "-",
            "1: 1a",
            "3: 1a 2?",
            "3: 1a 2?",
            "3: 1w 2? 1x0",
            "3: 1a 1x100",
        ];
        let icpc = [
            "-",
            "-",
            "1: 1r 1x0",
            "3: 1r 2? 1x0",
            "3: 1r 2? 1x0",
            "3: 1r 2? 1x0",
            "3: 1a 1r 1x1",
        ];
        let all = |totals: [&'static str; 4]| {
            let [none, before, early, late] = totals;
            let (early, late) = (format!("2: 1a 1w {early}"), format!("4: 2a 1w 1l {late}"));
            let late = || late.clone();
            [
                none.into(),
                before.into(),
                early,
                late(),
                late(),
                late(),
                late(),
            ]
        };
        let staff = [
            (Mode::Points, all(["0:", "0:", "1x0 1x100", "2x100"])),
            (Mode::Icpc, all(["0: 2x0", "0: 2x0", "1x0 1x1", "2x1"])),
        ];
        let user = |role| Viewer {
            user: Some((1, role)),
        };
        let viewers = [
            (Viewer { user: None }, None),
            (user(Role::User), Some(Contestant)),
            (user(Role::User), Some(Moderator)),
            (user(Role::User), Some(Owner)),
            (user(Role::Admin), None),
        ];
        for (viewer, member) in viewers {
            let access = access::contest(viewer, Visibility::Public, member);
            for ((mode, staff), public) in staff.iter().zip([points, icpc]) {
                for (index, minute) in phases.into_iter().enumerate() {
                    let (data, now) = (contest(*mode, minute), at(minute));
                    let guest = ContestAccess {
                        manage: false,
                        ..access
                    };
                    let found = words(&data, guest, Audience::Public, now);
                    assert_eq!(
                        found, public[index],
                        "{member:?}, {mode:?}, {minute}: public"
                    );
                    if access.manage {
                        let found = words(&data, access, Audience::Staff, now);
                        assert_eq!(found, staff[index], "{member:?}, {mode:?}, {minute}");
                    }
                }
            }
        }
        // Only members see a private contest.
        assert!(!access::contest(user(Role::User), Visibility::Private, None).view);
    }

    #[test]
    fn histogram_has_few_bars_of_equal_width() {
        let minutes = |list: &[i64]| list.iter().map(|one| one * 60 * SECOND).collect::<Vec<_>>();
        // Times in minutes: minutes of a bar, number of bars.
        let table: [(&[i64], i64, usize); 5] = [
            (&[], 1, 0),
            (&[7], 1, 1),
            (&[3, 42], 1, 40),
            (&[0, 299], 10, 30),
            (&[1_000_000, 2_000_000], 28_800, 36),
        ];
        for (times, width, bars) in table {
            let found = Histogram::of_times(&minutes(times));
            assert_eq!(found.width / 60 / SECOND, width, "{times:?}");
            assert_eq!(
                (found.bars.len(), sum(&found)),
                (bars, times.len()),
                "{times:?}"
            );
        }
        let bounds = |sums: &[i64]| -> Vec<i64> {
            let found = Histogram::of_sums(sums);
            found.bars.into_iter().map(|(from, _)| from).collect()
        };
        assert_eq!(
            bounds(&[100, 30]),
            (0..=10).map(|bar| bar * 10).collect::<Vec<_>>()
        );
        assert_eq!(bounds(&[0]), [0]);
        assert_eq!(bounds(&[-3, 4]), (-3..=4).collect::<Vec<_>>());
        assert_eq!([1, 3, 11, 100, 101].map(nice), [1, 5, 20, 100, 200]);
        assert_eq!(nice(i64::MAX), i64::MAX);
    }
}
