//! Rights on a problem are no rights on its uses.

use super::super::rejudging::{Filter, NewSet};
use super::judging::add_round_problem;
use super::*;
use crate::db::contest::MemberRole;
use crate::db::fault::{Kind as FaultKind, Reader};

const NONE: [i64; 0] = [];

/// A problem whose owner manages one of the two contests that use it, with a submission to each and
/// one outside contests.
struct Fixture {
    owner: i64,
    /// The manager of the other contest.
    manager: i64,
    problem: (i64, i64),
    /// The submissions: outside contests, in the owner's contest, in the other one.
    submissions: [i64; 3],
    /// The problems of the rounds: in the owner's contest, and in the other one.
    uses: [i64; 2],
}

async fn world(db: &Db) -> Fixture {
    let owner = add_user(db, "owner", Role::Teacher).await;
    let manager = add_user(db, "manager", Role::Teacher).await;
    let bob = add_user(db, "bob", Role::User).await;
    let problem = add_problem(db, owner, Visibility::Public).await;
    let mut uses = [0; 2];
    for (place, user) in uses.iter_mut().zip([owner, manager]) {
        *place = add_round_problem(db, problem).await;
        let found = contest::round_problem(db, *place).await.unwrap().unwrap();
        let mut tx = db.begin().await.unwrap();
        let role = MemberRole::Moderator;
        contest::join(&mut tx, found.contest_id, user, role, NOW)
            .await
            .unwrap();
        tx.commit().await.unwrap();
    }
    let mut submissions = [0; 3];
    for (id, place) in submissions
        .iter_mut()
        .zip([None, Some(uses[0]), Some(uses[1])])
    {
        *id = submit(db, bob, problem, place).await.0;
    }
    Fixture {
        owner,
        manager,
        problem,
        submissions,
        uses,
    }
}

#[test]
fn set_has_only_submissions_that_its_user_manages() {
    with_each(async |db| {
        let world = world(db).await;
        let filter = Filter {
            problem: Some(world.problem.0),
            ..Filter::default()
        };
        let [outside, own, other] = world.submissions;
        for (user, all, expected) in [
            (world.owner, false, vec![outside, own]),
            (world.manager, false, vec![other]),
            (world.manager, true, vec![outside, own, other]),
        ] {
            let new = NewSet {
                reason: "",
                filter: &filter,
                contest_id: None,
                problem_id: Some(world.problem.0),
                auto_apply: false,
                priority: rejudging::PRIORITY,
                user,
                all,
            };
            let mut tx = db.begin().await.unwrap();
            let (set, _) = rejudging::insert(&mut tx, &new, NOW).await.unwrap();
            tx.commit().await.unwrap();
            let items = rejudging::items(db, set).await.unwrap();
            let found: Vec<i64> = items.iter().map(|one| one.submission_id).collect();
            assert_eq!(found, expected, "{user} {all}");
            let is_whole = rejudging::manages_all(db, set, world.owner).await.unwrap();
            assert_eq!(is_whole, !expected.contains(&other));
            let listed = rejudging::page(db, world.owner, false, 10).await.unwrap();
            let is_listed = listed.iter().any(|one| one.id == set);
            assert_eq!(is_listed, is_whole, "the list follows the rule");
        }
    });
}

#[test]
fn fault_is_closed_for_the_submissions_that_its_user_manages() {
    with_each(async |db| {
        let world = world(db).await;
        let broken = judgement::Failure {
            kind: FaultKind::Package,
            reason: "broken",
            has_ended: false,
        };
        while let Some(task) = judgement::claim(db, "w", NOW, LEASE).await.unwrap() {
            let failed = judgement::fail(db, task.id, task.attempt, &broken, NOW).await;
            assert!(failed.unwrap());
        }
        let reader = |user, all| Reader { user, all };
        let [outside, own, other] = world.submissions;
        let stranger = add_user(db, "eve", Role::Teacher).await;
        let faults = fault::page(db, reader(world.owner, false), 10).await;
        let id = faults.unwrap()[0].id;
        for (user, all, expected) in [
            (world.owner, false, vec![outside, own]),
            (world.manager, false, vec![other]),
            (stranger, false, vec![]),
            (stranger, true, vec![outside, own, other]),
        ] {
            let reader = reader(user, all);
            let listed = fault::page(db, reader, 10).await.unwrap();
            assert_eq!(listed.is_empty(), expected.is_empty(), "{user}");
            let hanging = fault::hanging(db, id, reader).await.unwrap();
            let hanging: Vec<i64> = hanging.iter().map(|one| one.submission_id).collect();
            assert_eq!(hanging, expected, "{user}");
            let failures = fault::failures(db, id, reader, 10).await.unwrap();
            let mut failed: Vec<i64> = failures.iter().map(|one| one.submission_id).collect();
            failed.sort_unstable();
            assert_eq!(failed, expected, "{user}");
        }
        let close = async |user, all| {
            let mut tx = db.begin().await.unwrap();
            let queued = fault::close(&mut tx, id, reader(user, all), NOW).await;
            tx.commit().await.unwrap();
            let is_closed = fault::by_id(db, id).await.unwrap().unwrap().closed_at;
            (queued.unwrap(), is_closed.is_some())
        };
        assert_eq!(close(stranger, false).await, (0, false));
        assert_eq!(close(world.owner, false).await, (2, false));
        assert_eq!(close(world.manager, false).await, (1, true));
        assert_eq!(close(world.manager, true).await, (0, true));
    });
}

#[test]
fn merge_switches_rounds_that_are_managed_and_do_not_run() {
    with_each(async |db| {
        let world = world(db).await;
        // The rounds of these tests have no times, so they run.
        let taken = async |user, is_admin, now| {
            let uses = problem_use::uses(db, world.problem.0, user).await.unwrap();
            let taken = uses
                .into_iter()
                .filter(|one| one.takes_version(is_admin, now));
            taken.map(|one| one.round_problem_id).collect::<Vec<_>>()
        };
        assert_eq!(taken(world.owner, false, NOW).await, NONE);
        assert_eq!(taken(world.owner, true, NOW).await, NONE);
        for place in world.uses {
            let found = contest::round_problem(db, place).await.unwrap().unwrap();
            let mut tx = db.begin().await.unwrap();
            let fields = contest::RoundFields {
                name: "Round".to_owned(),
                begins: Time(10_000_000),
                ends: Time(20_000_000),
                full_results: Time::ALWAYS,
                ranking_from: Time::ALWAYS,
            };
            contest::update_round(&mut tx, found.round_id, &fields)
                .await
                .unwrap();
            tx.commit().await.unwrap();
        }
        let [own, other] = world.uses;
        for (now, runs) in [(9, false), (10, true), (19, true), (20, false)] {
            let now = Time(now * 1_000_000);
            let expected = |all: &[i64]| if runs { Vec::new() } else { all.to_vec() };
            assert_eq!(taken(world.owner, false, now).await, expected(&[own]));
            assert_eq!(taken(world.manager, false, now).await, expected(&[other]));
            assert_eq!(taken(world.owner, true, now).await, expected(&[own, other]));
        }
        // The participant with the most additional time still takes part.
        let found = contest::round_problem(db, own).await.unwrap().unwrap();
        let mut tx = db.begin().await.unwrap();
        let fields = participant::Fields {
            name: "Late".to_owned(),
            delay_seconds: 3,
            extra_seconds: 2,
            ..participant::Fields::default()
        };
        participant::insert(&mut tx, found.contest_id, None, &fields)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        let additional = participant::most_additional(db, found.contest_id).await;
        assert_eq!(additional.unwrap(), Duration::from_secs(5));
        assert_eq!(taken(world.owner, false, Time(24_000_000)).await, NONE);
        assert_eq!(taken(world.owner, false, Time(25_000_000)).await, [own]);
    });
}
