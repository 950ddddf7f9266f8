//! Rankings of random histories, and individual rules.

use super::*;
use crate::core::finals::{FinalMethod, Reveal};
use crate::core::verdict::Verdict;
use proptest::prelude::*;
use proptest::sample::select;

const MINUTE: i64 = 60_000_000;

pub fn at(minute: i64) -> Time {
    Time(minute * MINUTE)
}

pub fn round(id: i64, mode: Mode) -> Round {
    Round {
        id,
        contest_id: 1,
        name: format!("Round {id}"),
        begins: at(100),
        ends: at(400),
        full_results: at(400),
        ranking_from: Time::ALWAYS,
        mode,
        penalty_minutes: 20,
        freeze_at: Time::NEVER,
        thaw_at: Time::NEVER,
        window_seconds: None,
    }
}

pub fn problem(id: i64, round_id: i64) -> RoundProblem {
    RoundProblem {
        id,
        round_id,
        contest_id: 1,
        problem_id: id,
        version_id: id,
        label: format!("P{id}"),
        name: format!("Problem {id}"),
        final_method: FinalMethod::Best,
        reveal: Reveal::Nothing,
        colour: String::new(),
        max_points: None,
        allow_judge: true,
        begins: at(100),
        ends: at(400),
        full_results: at(400),
        mode: Mode::Points,
        freeze_at: Time::NEVER,
        thaw_at: Time::NEVER,
        window_seconds: None,
    }
}

pub fn entry(id: i64) -> Entry {
    Entry {
        id,
        user_id: Some(id),
        name: String::new(),
        user_name: Some(format!("User {id}")),
        login: Some(format!("user{id}")),
        organization: String::new(),
        group_name: String::new(),
        hidden: false,
        unofficial: false,
        delay_seconds: 0,
        extra_seconds: 0,
        penalty_minutes: 0,
        disqualified: None,
        role: Some(MemberRole::Contestant),
        team_id: None,
    }
}

pub fn brief(id: i64, participant_id: i64, minute: i64, verdict: Option<Verdict>) -> Brief {
    Brief {
        id,
        participant_id,
        round_problem_id: 1,
        kind: Kind::Normal,
        submitted_at: at(minute),
        initial_verdict: verdict,
        verdict,
        score: verdict.map(|verdict| if verdict == Verdict::Accepted { 100 } else { 0 }),
        max_score: Some(100),
        group_scores: None,
    }
}

fn public(rounds: &[i64]) -> Scope {
    Scope {
        audience: Audience::Public,
        rounds: rounds
            .iter()
            .map(|id| Shown {
                round: *id,
                is_full: true,
            })
            .collect(),
        group: None,
    }
}

/// Places and participants in the order of the rows.
fn order(table: &Table) -> Vec<(Option<usize>, i64)> {
    let rows = table.rows.iter();
    rows.map(|row| (row.place, row.participant)).collect()
}

#[test]
fn best_subtasks_of_all_submissions_are_added_where_points_are_shown() {
    let wrong = Some(Verdict::WrongAnswer);
    let of = |id, minute, groups: &str, score| Brief {
        score: Some(score),
        group_scores: Some(groups.to_owned()),
        ..brief(id, 1, minute, wrong)
    };
    let mut data = Data {
        rounds: vec![round(1, Mode::Points)],
        problems: vec![problem(1, 1)],
        participants: vec![entry(1)],
        submissions: vec![
            of(1, 110, r#"{"1":30,"2":0}"#, 30),
            of(2, 120, r#"{"1":0,"2":50}"#, 50),
        ],
        ..Data::default()
    };
    // Method, level, whether full results are shown, freeze: points.
    let table = [
        (
            FinalMethod::Best,
            Reveal::Score,
            true,
            Time::NEVER,
            Some(50),
        ),
        (
            FinalMethod::Subtasks,
            Reveal::Score,
            true,
            Time::NEVER,
            Some(80),
        ),
        (
            FinalMethod::Subtasks,
            Reveal::Score,
            false,
            Time::NEVER,
            Some(80),
        ),
        (
            FinalMethod::Subtasks,
            Reveal::Nothing,
            false,
            Time::NEVER,
            None,
        ),
        (
            FinalMethod::Subtasks,
            Reveal::Hidden,
            false,
            Time::NEVER,
            None,
        ),
        // The freeze hides the second submission.
        (
            FinalMethod::Subtasks,
            Reveal::Score,
            true,
            at(115),
            Some(30),
        ),
    ];
    for (method, reveal, is_full, freeze_at, expected) in table {
        (data.problems[0].final_method, data.problems[0].reveal) = (method, reveal);
        data.rounds[0].freeze_at = freeze_at;
        let mut scope = public(&[1]);
        scope.rounds[0].is_full = is_full;
        let table = &tables(&data, &scope, at(200))[0];
        let Cell::Points {
            found: Some(found), ..
        } = table.rows[0].cells[0]
        else {
            panic!("{table:#?}");
        };
        assert_eq!(found.score, expected.map(Score), "{method:?} {reveal:?}");
        assert_eq!(
            table.rows[0].total,
            Total::Points(Score(expected.unwrap_or(0)))
        );
    }
}

#[test]
fn points_of_a_round_replace_those_of_the_package() {
    let wrong = Some(Verdict::WrongAnswer);
    let points = |points: i64| points * super::super::score::UNIT;
    let of = |id, minute, groups: &str, score, max| Brief {
        score: Some(points(score)),
        max_score: Some(points(max)),
        group_scores: Some(groups.to_owned()),
        ..brief(id, 1, minute, wrong)
    };
    let groups = [r#"{"1":1000000,"2":0}"#, r#"{"1":0,"2":1000000}"#];
    let mut data = Data {
        rounds: vec![round(1, Mode::Points)],
        problems: vec![problem(1, 1)],
        participants: vec![entry(1)],
        submissions: vec![of(1, 110, groups[0], 1, 3), of(2, 120, groups[1], 1, 3)],
        ..Data::default()
    };
    // Method, points of the round; hundredths of a point in the ranking. Thirds are rounded once:
    // after the subtasks are added.
    let table = [
        (FinalMethod::Best, None, 100),
        (FinalMethod::Best, Some(10), 333),
        (FinalMethod::LastCompiling, Some(10), 333),
        (FinalMethod::Subtasks, None, 200),
        (FinalMethod::Subtasks, Some(10), 667),
    ];
    for (method, worth, hundredths) in table {
        data.problems[0].final_method = method;
        data.problems[0].max_points = worth;
        let found = tables(&data, &public(&[1]), at(500))[0].rows[0].total;
        let expected = Score(hundredths * points(1) / 100);
        assert_eq!(found, Total::Points(expected), "{method:?} {worth:?}");
    }
    // A new version of the package has more points, so the old full result stays the best one.
    data.submissions = vec![of(1, 110, "{}", 3, 3), of(2, 120, "{}", 4, 8)];
    for method in [FinalMethod::Best, FinalMethod::Subtasks] {
        data.problems[0].final_method = method;
        let found = tables(&data, &public(&[1]), at(500))[0].rows[0].total;
        assert_eq!(found, Total::Points(Score(points(10))), "{method:?}");
    }
}

#[test]
fn file_with_an_earlier_time_precedes_submissions_with_lower_numbers() {
    let (right, wrong) = (Some(Verdict::Accepted), Some(Verdict::WrongAnswer));
    let mut data = Data {
        rounds: vec![round(1, Mode::Icpc)],
        problems: vec![problem(1, 1)],
        participants: vec![entry(1)],
        submissions: vec![brief(1, 1, 150, right), brief(2, 1, 120, wrong)],
        ..Data::default()
    };
    let total = |data: &Data| tables(data, &public(&[1]), at(200))[0].rows[0].total;
    let expected = Total::Icpc {
        solved: 1,
        penalty: 70,
        last: 50,
    };
    assert_eq!(total(&data), expected);
    data.rounds[0].mode = Mode::Points;
    data.problems[0].final_method = FinalMethod::LastCompiling;
    assert_eq!(total(&data), Total::Points(Score(100)));
}

#[test]
fn icpc_ranking_counts_problems_then_penalty_then_last_minute() {
    let (right, wrong) = (Some(Verdict::Accepted), Some(Verdict::WrongAnswer));
    let mut data = Data {
        rounds: vec![round(1, Mode::Icpc)],
        problems: vec![problem(1, 1), problem(2, 1)],
        participants: (1..=5).map(entry).collect(),
        ..Data::default()
    };
    let second = |brief: Brief| Brief {
        round_problem_id: 2,
        ..brief
    };
    data.submissions = vec![
        brief(1, 1, 110, wrong),
        // 10 + 20 and 50: 80.
        brief(2, 1, 110, right),
        second(brief(3, 1, 150, right)),
        // 20 and 60: 80, but later.
        brief(4, 2, 120, right),
        second(brief(5, 2, 160, right)),
        // One problem at minute 5, with an adjustment that makes the total equal to that of
        // participant 4.
        brief(6, 3, 105, right),
        brief(7, 4, 115, right),
    ];
    data.participants[3].penalty_minutes = -10;
    let scope = public(&[1]);
    let table = &tables(&data, &scope, at(300))[0];
    assert_eq!(
        order(table),
        [
            (Some(1), 1),
            (Some(2), 2),
            (Some(3), 3),
            (Some(4), 4),
            (Some(5), 5)
        ]
    );
    // The last minutes, 5 and 15, break the tie between equal penalties of 5.
    let last = |index: usize| table.rows[index].total;
    assert_eq!(
        last(2),
        Total::Icpc {
            solved: 1,
            penalty: 5,
            last: 5
        }
    );
    assert_eq!(
        last(3),
        Total::Icpc {
            solved: 1,
            penalty: 5,
            last: 15
        }
    );

    data.participants[0].unofficial = true;
    data.participants[2].hidden = true;
    let table = &tables(&data, &scope, at(300))[0];
    assert_eq!(
        order(table),
        [(None, 1), (Some(1), 2), (Some(2), 4), (Some(3), 5)]
    );
    let staff = Scope {
        audience: Audience::Staff,
        ..scope
    };
    assert_eq!(order(&tables(&data, &staff, at(300))[0])[2], (None, 3));
}

#[test]
fn freeze_shows_later_submissions_as_pending_to_the_public_only() {
    let (right, wrong) = (Some(Verdict::Accepted), Some(Verdict::WrongAnswer));
    for mode in [Mode::Points, Mode::Icpc] {
        let mut frozen = round(1, mode);
        frozen.freeze_at = at(200);
        frozen.thaw_at = at(500);
        let data = Data {
            rounds: vec![frozen],
            problems: vec![problem(1, 1)],
            participants: vec![entry(1)],
            submissions: vec![brief(1, 1, 199, wrong), brief(2, 1, 200, right)],
            ..Data::default()
        };
        let cell = |audience, now| {
            let scope = Scope {
                audience,
                ..public(&[1])
            };
            let table = tables(&data, &scope, now).remove(0);
            (table.frozen_since, table.rows[0].cells[0])
        };
        let is_solved = |cell| match cell {
            Cell::Points { found, pending } => {
                let score = found.and_then(|found| found.score);
                (score == Some(Score(100)), pending)
            }
            Cell::Icpc(cell) => (cell.solved.is_some(), cell.pending),
        };
        let (since, found) = cell(Audience::Public, at(200));
        assert_eq!((since, is_solved(found)), (Some(at(200)), (false, 1)));
        let (since, found) = cell(Audience::Staff, at(200));
        assert_eq!((since, is_solved(found)), (None, (true, 0)));
        let (since, found) = cell(Audience::Public, at(500));
        assert_eq!((since, is_solved(found)), (None, (true, 0)));
    }
}

#[test]
fn rounds_in_icpc_mode_have_tables_of_their_own() {
    let data = Data {
        rounds: vec![
            round(1, Mode::Points),
            round(2, Mode::Icpc),
            round(3, Mode::Points),
        ],
        ..Data::default()
    };
    let names = |scope: &[i64]| -> Vec<Vec<String>> {
        let tables = tables(&data, &public(scope), at(1));
        tables.into_iter().map(|table| table.rounds).collect()
    };
    assert_eq!(
        names(&[1, 2, 3]),
        [vec!["Round 1", "Round 3"], vec!["Round 2"]]
    );
    assert_eq!(names(&[2]), [["Round 2"]]);
    assert!(names(&[]).is_empty());
}

/// A contest with few different values, so that ties are frequent.
fn contests() -> impl Strategy<Value = Data> {
    let minute = || 90i64..410;
    let rounds = proptest::collection::vec(
        (
            select(Mode::ALL),
            minute(),
            minute(),
            proptest::option::of(30i64..90),
        ),
        3,
    );
    let problems = proptest::collection::vec((select(FinalMethod::ALL), select(Reveal::ALL)), 5);
    let participants = proptest::collection::vec(
        (any::<u8>(), 0i64..3, 0i64..2, any::<bool>(), any::<bool>()),
        5,
    );
    let starts = proptest::collection::vec((1i64..=5, 1i64..=3, minute()), 0..6);
    let verdict = || proptest::option::of(select(Verdict::ALL));
    let submissions = proptest::collection::vec(
        (
            1i64..=5,
            1i64..=5,
            minute(),
            verdict(),
            verdict(),
            0i64..3,
            any::<bool>(),
        ),
        0..30,
    );
    (rounds, problems, participants, starts, submissions).prop_map(
        |(rounds, problems, participants, starts, submissions)| Data {
            rounds: (1..)
                .zip(rounds)
                .map(|(id, (mode, freeze, thaw, window))| Round {
                    freeze_at: at(freeze),
                    thaw_at: at(thaw),
                    window_seconds: window.map(|minutes| minutes * 60),
                    ..round(id, mode)
                })
                .collect(),
            problems: (1..)
                .zip(problems)
                .map(|(id, (final_method, reveal))| RoundProblem {
                    final_method,
                    reveal,
                    ..problem(id, id % 3 + 1)
                })
                .collect(),
            participants: (1..)
                .zip(participants)
                .map(|(id, (flags, delay, adjustment, is_team, in_team))| Entry {
                    hidden: flags % 4 == 0,
                    unofficial: flags % 5 == 0,
                    disqualified: (flags % 7 == 0).then(String::new),
                    group_name: if flags % 2 == 0 { "g" } else { "" }.to_owned(),
                    delay_seconds: delay * 90,
                    penalty_minutes: adjustment * 20,
                    user_id: (!is_team).then_some(id),
                    team_id: in_team.then_some(1),
                    role: (flags % 3 != 0).then_some(MemberRole::Contestant),
                    ..entry(id)
                })
                .collect(),
            starts: starts
                .into_iter()
                .map(|(participant_id, round_id, minute)| ((participant_id, round_id), at(minute)))
                .collect::<HashMap<_, _>>()
                .into_iter()
                .map(|((participant_id, round_id), started_at)| Start {
                    participant_id,
                    round_id,
                    started_at,
                })
                .collect(),
            submissions: (1..)
                .zip(submissions)
                .map(
                    |(id, (participant, problem, minute, initial, full, score, counts))| Brief {
                        round_problem_id: problem,
                        initial_verdict: initial,
                        score: full.map(|_| score),
                        kind: if counts { Kind::Normal } else { Kind::Ignored },
                        ..brief(id, participant, minute, full)
                    },
                )
                .collect(),
        },
    )
}

fn scopes() -> impl Strategy<Value = Scope> {
    let rounds = proptest::collection::btree_map(1i64..=3, any::<bool>(), 0..=3);
    (any::<bool>(), rounds, any::<bool>()).prop_map(|(is_staff, rounds, has_group)| Scope {
        audience: if is_staff {
            Audience::Staff
        } else {
            Audience::Public
        },
        rounds: rounds
            .into_iter()
            .map(|(round, is_full)| Shown { round, is_full })
            .collect(),
        group: has_group.then(|| "g".to_owned()),
    })
}

proptest! {
    #[test]
    fn ranking_equals_a_naive_recomputation(
        data in contests(), scope in scopes(), now in 80i64..420,
    ) {
        let found = tables(&data, &scope, at(now));
        let expected = naive::rows(&data, &scope, at(now));
        let rows: Vec<naive::Rows> = found.iter().map(naive::of_table).collect();
        prop_assert_eq!(rows, expected);
        for table in &found {
            let places: Vec<usize> = table.rows.iter().filter_map(|row| row.place).collect();
            prop_assert!(places.is_sorted(), "{:?}", places);
        }
    }

    /// The public ranking and the public statistics are independent of hidden results: those of
    /// submissions in a freeze, and those of all tests before the full results.
    #[test]
    fn public_ranking_is_independent_of_hidden_results(
        data in contests(),
        others in contests(),
        scope in scopes(),
    ) {
        let mut data = data;
        for round in &mut data.rounds {
            round.freeze_at = at(250);
            round.thaw_at = Time::NEVER;
        }
        for problem in &mut data.problems {
            let mut rounds = data.rounds.iter();
            let round = rounds.find(|round| round.id == problem.round_id);
            problem.mode = round.map_or(problem.mode, |round| round.mode);
        }
        let mut changed = data.clone();
        for (one, other) in changed.submissions.iter_mut().zip(&others.submissions) {
            let mut problems = data.problems.iter();
            let problem = problems.find(|problem| problem.id == one.round_problem_id).unwrap();
            let mut shown = scope.rounds.iter();
            let is_full = shown.any(|shown| shown.round == problem.round_id && shown.is_full);
            let is_frozen = one.submitted_at >= at(250);
            if is_frozen {
                one.initial_verdict = other.initial_verdict;
            }
            if is_frozen || (!is_full && !problem.revealed().shows_score()) {
                one.verdict = other.verdict;
                one.score = other.score;
            }
        }
        let scope = Scope { audience: Audience::Public, ..scope };
        let now = at(300);
        prop_assert_eq!(tables(&data, &scope, now), tables(&changed, &scope, now));
        prop_assert_eq!(
            statistics::statistics(&data, &scope, now),
            statistics::statistics(&changed, &scope, now)
        );
    }
}
