//! Virtual participation: a user takes part in a round after it, with a clock of the user's own.
//!
//! The user's submissions for practice count for it. The ranking is that of the round at the time
//! on the clock: each submission of a participant has the time since the round began for the
//! participant. Nothing is stored but the start of the clock, so no result of the round can change.

use super::participant::Schedule;
use super::standings::{Audience, Data, Scope, Shown, Table, tables};
use super::time::Time;
use crate::db::contest::{MemberRole, Round};
use crate::db::participant::{Entry, personal};
use crate::db::submission::{Brief, Kind};
use std::collections::HashMap;
use std::time::Duration;

/// The number of the user in the ranking, which no participant has.
pub const ROW: i64 = -1;

/// A virtual participation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    pub started_at: Time,
    pub length: Duration,
}

impl Run {
    /// When the clock ends.
    pub fn ends(self) -> Time {
        self.started_at.after(self.length)
    }

    /// The participation if its user ends it at a time.
    pub fn ended(self, at: Time) -> Run {
        Run {
            length: self.length.min(between(self.started_at, at)),
            ..self
        }
    }

    /// Whether the clock runs.
    pub fn is_on(self, now: Time) -> bool {
        self.started_at <= now && now < self.ends()
    }

    /// The time on the clock when something happens; `None` before its start and after its end.
    fn since_start(self, at: Time) -> Option<Duration> {
        self.is_on(at).then(|| between(self.started_at, at))
    }
}

fn between(from: Time, to: Time) -> Duration {
    Duration::from_micros(to.0.saturating_sub(from.0).max(0).unsigned_abs())
}

/// How long a virtual participation in a round lasts: the personal time, or the time of the round.
/// `None` if the round has no beginning or no end.
pub fn length(schedule: Schedule) -> Option<Duration> {
    let has_times = schedule.begins != Time::ALWAYS && schedule.ends != Time::NEVER;
    let whole = || between(schedule.begins, schedule.ends);
    has_times.then(|| schedule.window.unwrap_or_else(whole))
}

/// The ranking of a round with the user. During the participation it is as it was for contestants
/// and guests at the time on the clock, and after it the final one. `own` are the user's
/// submissions with the participant [`ROW`]. `None` if the round does not exist.
pub fn ranking(
    data: &Data,
    round: i64,
    (name, own): (String, Vec<Brief>),
    run: Run,
    now: Time,
) -> Option<Table> {
    let round = data.rounds.iter().find(|one| one.id == round)?;
    let is_over = !run.is_on(now);
    let elapsed = run.since_start(now).unwrap_or(run.length);
    let seen_at = round.begins.after(elapsed);
    let mut submissions = mapped(data, round);
    submissions.retain(|one| is_over || one.submitted_at <= seen_at);
    for one in own {
        if let Some(passed) = run.since_start(one.submitted_at) {
            submissions.push(Brief {
                participant_id: ROW,
                kind: Kind::Normal,
                submitted_at: round.begins.after(passed),
                ..one
            });
        }
    }
    let participants = data.participants.iter().cloned().map(|one| Entry {
        delay_seconds: 0,
        extra_seconds: 0,
        ..one
    });
    let mut shared = Round {
        window_seconds: None,
        ..round.clone()
    };
    if is_over {
        (shared.freeze_at, shared.thaw_at) = (Time::NEVER, Time::NEVER);
    }
    let problems = data.problems.iter().filter(|one| one.round_id == round.id);
    let shown = Shown {
        round: round.id,
        is_full: is_over || round.schedule().full_results <= seen_at,
    };
    let scope = Scope {
        audience: Audience::Public,
        rounds: vec![shown],
        group: None,
    };
    let data = Data {
        rounds: vec![shared],
        problems: problems.cloned().collect(),
        participants: participants.chain([entry(name)]).collect(),
        starts: Vec::new(),
        submissions,
    };
    tables(&data, &scope, seen_at).into_iter().next()
}

/// The submissions to a round, with the times at which they would have been made if the round had
/// begun for all participants at its beginning.
fn mapped(data: &Data, round: &Round) -> Vec<Brief> {
    let problems = data.problems.iter().filter(|one| one.round_id == round.id);
    let problems: Vec<i64> = problems.map(|one| one.id).collect();
    let starts = data.starts.iter().filter(|one| one.round_id == round.id);
    let starts: HashMap<i64, Time> = starts
        .map(|one| (one.participant_id, one.started_at))
        .collect();
    let begins = data.participants.iter().map(|one| {
        let started_at = starts.get(&one.id).copied();
        let own = personal(one.delay_seconds, one.extra_seconds, started_at);
        (one.id, round.schedule().times(own).begins)
    });
    let begins: HashMap<i64, Time> = begins.collect();
    let submissions = data.submissions.iter().filter_map(|one| {
        let own = begins.get(&one.participant_id)?;
        let is_in_round = problems.contains(&one.round_problem_id);
        is_in_round.then(|| Brief {
            submitted_at: round.begins.after(between(*own, one.submitted_at)),
            ..one.clone()
        })
    });
    submissions.collect()
}

/// The user in the ranking: without a place, so that no participant loses one.
fn entry(name: String) -> Entry {
    Entry {
        id: ROW,
        user_id: None,
        name,
        user_name: None,
        login: None,
        organization: String::new(),
        group_name: String::new(),
        hidden: false,
        unofficial: true,
        delay_seconds: 0,
        extra_seconds: 0,
        penalty_minutes: 0,
        disqualified: None,
        role: Some(MemberRole::Contestant),
        team_id: None,
    }
}

/// The place that the user would have; `None` if the ranking does not list the user.
pub fn place(table: &Table) -> Option<usize> {
    // Of equal results, that of the user comes first.
    let own = table.rows.iter().position(|row| row.participant == ROW)?;
    let above = table.rows[..own].iter().filter(|row| row.place.is_some());
    Some(1 + above.count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::standings::tests::{at, brief, entry as participant, problem, round};
    use crate::core::standings::{Cell, Total};
    use crate::core::verdict::Verdict;
    use crate::db::contest::Mode;
    use crate::db::participant::Start;

    const MINUTE: Duration = Duration::from_secs(60);

    fn run() -> Run {
        Run {
            started_at: at(10_000),
            length: 300 * MINUTE,
        }
    }

    /// The names and the solved problems in a ranking, and the place of the user.
    fn seen(data: &Data, own: &[Brief], minute: i64) -> (Vec<(i64, i64)>, Option<usize>) {
        let own = ("Eve".to_owned(), own.to_vec());
        let table = ranking(data, 1, own, run(), at(10_000 + minute)).expect("a ranking");
        let rows = table.rows.iter().map(|row| match row.total {
            Total::Icpc { solved, .. } => (row.participant, solved),
            Total::Points(score) => (row.participant, score.0),
        });
        (rows.collect(), place(&table))
    }

    #[test]
    fn ranking_is_as_it_was_at_the_time_on_the_clock() {
        let right = Some(Verdict::Accepted);
        let mut data = Data {
            rounds: vec![round(1, Mode::Icpc)],
            problems: vec![problem(1, 1)],
            participants: vec![participant(1), participant(2), participant(3)],
            // Minutes 20, 50 and 80 of the round.
            submissions: vec![
                brief(1, 1, 120, right),
                brief(2, 2, 150, right),
                brief(3, 3, 180, right),
            ],
            ..Data::default()
        };
        // The user solves the problem in minute 30 of the own clock, and again after its end.
        let own = [brief(4, ROW, 10_030, right), brief(5, ROW, 10_301, right)];
        let table = [
            (30, [(1, 1), (ROW, 1), (2, 0), (3, 0)]),
            (50, [(1, 1), (ROW, 1), (2, 1), (3, 0)]),
            (400, [(1, 1), (ROW, 1), (2, 1), (3, 1)]),
        ];
        for (minute, expected) in &table {
            assert_eq!(seen(&data, &own, *minute).0, expected, "{minute}");
        }
        assert_eq!(seen(&data, &own, 50).1, Some(2));
        // Before the own submission, the list has everyone without a result.
        assert_eq!(seen(&data, &[], 19).0.len(), 4);
        // The second participant began 40 minutes late, and is then the first one.
        data.participants[1].delay_seconds = 40 * 60;
        let expected = vec![(2, 1), (1, 1), (ROW, 1), (3, 0)];
        assert_eq!(seen(&data, &own, 30).0, expected);
        // With personal clocks, the time since the own start counts.
        data.participants[1].delay_seconds = 0;
        data.rounds[0].window_seconds = Some(300 * 60);
        let start = |id, minute| Start {
            participant_id: id,
            round_id: 1,
            started_at: at(minute),
        };
        data.starts = vec![start(1, 100), start(2, 145), start(3, 100)];
        assert_eq!(seen(&data, &own, 30).0, expected);
    }

    #[test]
    fn virtual_participation_shows_no_more_than_the_round_did() {
        let right = Some(Verdict::Accepted);
        let mut data = Data {
            rounds: vec![round(1, Mode::Icpc), round(2, Mode::Icpc)],
            problems: vec![problem(1, 1), problem(2, 2)],
            participants: (1..=4).map(participant).collect(),
            submissions: (1..=4).map(|id| brief(id, id, 120, right)).collect(),
            ..Data::default()
        };
        // Another round, a hidden and a disqualified participant.
        data.submissions[3].round_problem_id = 2;
        data.participants[1].hidden = true;
        data.participants[2].disqualified = Some("copied".to_owned());
        let expected = vec![(1, 1), (4, 0), (ROW, 0)];
        let mut found = seen(&data, &[], 200).0;
        found.sort_by_key(|(id, _)| (*id == ROW, *id));
        assert_eq!(found, expected);
        // The freeze counts while the clock runs.
        data.rounds[0].freeze_at = at(110);
        for (minute, expected) in [(200, 0), (300, 1)] {
            let found = seen(&data, &[], minute).0;
            assert!(found.contains(&(1, expected)), "{minute}: {found:?}");
        }
        // Points that contestants did not see before the full results.
        data.rounds[0] = round(1, Mode::Points);
        data.rounds[0].full_results = at(400);
        let cell = |minute: i64| {
            let own = ("Eve".to_owned(), Vec::new());
            let table = ranking(&data, 1, own, run(), at(10_000 + minute)).expect("a ranking");
            match table.rows[0].cells[0] {
                Cell::Points { found, .. } => found.and_then(|found| found.score),
                Cell::Icpc(_) => None,
            }
        };
        assert_eq!(cell(200), None);
        assert!(cell(300).is_some());
    }

    #[test]
    fn participation_lasts_as_long_as_the_round_or_its_personal_time() {
        let (begin, end) = (at(100), at(400));
        let hour = Some(3600);
        for (begins, ends, window, expected) in [
            (begin, end, None, Some(300 * MINUTE)),
            (begin, end, hour, Some(60 * MINUTE)),
            (Time::ALWAYS, end, hour, None),
            (begin, Time::NEVER, None, None),
        ] {
            let schedule = Schedule::new(begins, ends, Time::ALWAYS, window);
            assert_eq!(length(schedule), expected, "{begins:?} {ends:?}");
        }
        let run = run();
        for (minute, is_on) in [
            (9_999, false),
            (10_000, true),
            (10_299, true),
            (10_300, false),
        ] {
            assert_eq!(run.is_on(at(minute)), is_on, "{minute}");
        }
        let ended = run.ended(at(10_100));
        assert!(ended.is_on(at(10_099)) && !ended.is_on(at(10_100)));
        assert_eq!(run.ended(at(11_000)), run);
    }
}
