//! Sets of submissions that are judged again.

use super::super::rejudging::{Filter, NewSet, SetState};
use super::*;
use crate::core::access::{self, Viewer};
use crate::db::contest::MemberRole;

pub(super) async fn insert_set(db: &Db, filter: &Filter, auto_apply: bool) -> (i64, u64) {
    let mut tx = db.begin().await.unwrap();
    let new = NewSet {
        reason: "",
        filter,
        contest_id: None,
        problem_id: None,
        auto_apply,
        priority: rejudging::PRIORITY,
        user: 1,
        all: true,
    };
    let found = rejudging::insert(&mut tx, &new, NOW).await.unwrap();
    tx.commit().await.unwrap();
    found
}

/// Judges everything that waits. The score of each submission is its id.
async fn judge_all(db: &Db, verdict: Verdict) -> Vec<i64> {
    let mut order = Vec::new();
    while let Some(task) = judgement::claim(db, "w", NOW, LEASE).await.unwrap() {
        let outcome = outcome(verdict, task.submission_id);
        let finished = judgement::finish(db, task.id, task.attempt, &outcome, NOW).await;
        assert!(finished.unwrap());
        order.push(task.submission_id);
    }
    order
}

async fn verdict(db: &Db, id: i64) -> Option<Verdict> {
    submission::by_id(db, id).await.unwrap().unwrap().verdict
}

async fn state(db: &Db, id: i64) -> SetState {
    rejudging::by_id(db, id).await.unwrap().unwrap().state
}

#[test]
fn set_changes_results_when_it_is_applied_and_not_before() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        let first = submit(db, ada, sum, None).await.0;
        let second = submit(db, ada, sum, None).await.0;
        judge_all(db, Verdict::WrongAnswer).await;
        let filter = Filter {
            problem: Some(sum.0),
            ..Filter::default()
        };
        let (set, size) = insert_set(db, &filter, false).await;
        assert_eq!(size, 2);
        let other = submit(db, ada, sum, None).await.0;
        let mut tx = db.begin().await.unwrap();
        assert!(!rejudging::apply(&mut tx, set, NOW).await.unwrap());
        drop(tx);
        let order = judge_all(db, Verdict::Accepted).await;
        assert_eq!(order, [other, first, second], "a set has a lower priority");
        assert_eq!(verdict(db, first).await, Some(Verdict::WrongAnswer));
        let items = rejudging::items(db, set).await.unwrap();
        let pair = (items[0].old_verdict, items[0].verdict);
        assert_eq!(pair, (Some(Verdict::WrongAnswer), Some(Verdict::Accepted)));

        let mut tx = db.begin().await.unwrap();
        assert!(rejudging::apply(&mut tx, set, NOW).await.unwrap());
        assert!(!rejudging::apply(&mut tx, set, NOW).await.unwrap());
        assert!(
            rejudging::drop_set(&mut tx, set, NOW)
                .await
                .unwrap()
                .is_none()
        );
        tx.commit().await.unwrap();
        for id in [first, second] {
            assert_eq!(verdict(db, id).await, Some(Verdict::Accepted));
            assert_eq!(judgement::history(db, id).await.unwrap().len(), 2);
        }
        let items = rejudging::items(db, set).await.unwrap();
        assert_eq!(
            items[0].old_verdict,
            Some(Verdict::WrongAnswer),
            "the replaced results"
        );
        let found = rejudging::by_id(db, set).await.unwrap().unwrap();
        assert_eq!(
            (found.state, found.size, found.open),
            (SetState::Applied, 2, 0)
        );
        let filter = Filter {
            set: Some(set),
            ..Filter::default()
        };
        let (again, size) = insert_set(db, &filter, false).await;
        assert_eq!(size, 2);
        let found = rejudging::by_id(db, again).await.unwrap().unwrap();
        assert_eq!((found.repeat_of, found.open), (Some(set), 2));
    });
}

#[test]
fn dropped_set_changes_nothing() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        let first = submit(db, ada, sum, None).await.0;
        submit(db, ada, sum, None).await;
        judge_all(db, Verdict::WrongAnswer).await;
        let (set, _) = insert_set(db, &Filter::default(), false).await;
        let task = judgement::claim(db, "w", NOW, LEASE)
            .await
            .unwrap()
            .unwrap();
        let mut tx = db.begin().await.unwrap();
        let cancelled = rejudging::drop_set(&mut tx, set, NOW).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(cancelled.unwrap().len(), 2);
        let late = outcome(Verdict::Accepted, 1);
        assert!(!judgement::finish(db, task.id, 1, &late, NOW).await.unwrap());
        assert!(judge_all(db, Verdict::Accepted).await.is_empty());
        assert_eq!(verdict(db, first).await, Some(Verdict::WrongAnswer));
    });
}

#[test]
fn automatically_applied_set_waits_for_its_last_result() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        let first = submit(db, ada, sum, None).await.0;
        submit(db, ada, sum, None).await;
        judge_all(db, Verdict::WrongAnswer).await;
        let (set, _) = insert_set(db, &Filter::default(), true).await;
        let task = judgement::claim(db, "w", NOW, LEASE)
            .await
            .unwrap()
            .unwrap();
        let right = outcome(Verdict::Accepted, 1);
        assert!(
            judgement::finish(db, task.id, 1, &right, NOW)
                .await
                .unwrap()
        );
        assert_eq!(state(db, set).await, SetState::Open);
        assert_eq!(verdict(db, first).await, Some(Verdict::WrongAnswer));
        judge_all(db, Verdict::Accepted).await;
        assert_eq!(state(db, set).await, SetState::Applied);
        assert_eq!(verdict(db, first).await, Some(Verdict::Accepted));
    });
}

#[test]
fn filter_chooses_submissions() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let bob = add_user(db, "bob", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        let attached = super::judging::add_round_problem(db, sum).await;
        let one = submit(db, ada, sum, Some(attached)).await.0;
        judge_all(db, Verdict::WrongAnswer).await;
        submit(db, bob, sum, None).await;
        let of = async |filter: Filter| insert_set(db, &filter, false).await.1;
        let none = Filter::default;
        assert_eq!(of(none()).await, 2);
        let round_problem = contest::round_problem(db, attached).await.unwrap().unwrap();
        let filters = [
            Filter {
                contest: Some(round_problem.contest_id),
                ..none()
            },
            Filter {
                round: Some(round_problem.round_id),
                ..none()
            },
            Filter {
                round_problem: Some(attached),
                ..none()
            },
            Filter {
                user: Some(ada),
                ..none()
            },
            Filter {
                submission: Some(one),
                ..none()
            },
            Filter {
                verdict: Some(Verdict::WrongAnswer),
                ..none()
            },
        ];
        for filter in filters {
            assert_eq!(of(filter.clone()).await, 1, "{filter:?}");
        }
        let wrong = [
            Filter {
                language: Some("rust".to_owned()),
                ..none()
            },
            Filter {
                version: Some(99),
                ..none()
            },
            Filter {
                problem: Some(99),
                ..none()
            },
            Filter {
                verdict: Some(Verdict::Accepted),
                ..none()
            },
        ];
        for filter in wrong {
            assert_eq!(of(filter.clone()).await, 0, "{filter:?}");
        }
    });
}

#[test]
fn list_has_the_sets_that_the_rule_shows() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::Admin).await;
        let bob = add_user(db, "bob", Role::User).await;
        let mut problems = vec![(None, None)];
        for owner in [ada, bob] {
            let id = add_problem(db, owner, Visibility::Private).await.0;
            problems.push((Some(id), Some(owner == bob)));
        }
        let mut contests = vec![(None, None)];
        for role in [
            None,
            Some(MemberRole::Contestant),
            Some(MemberRole::Moderator),
            Some(MemberRole::Owner),
        ] {
            let mut tx = db.begin().await.unwrap();
            let id = contest::insert(&mut tx, "Cup", contest::Visibility::Private, NOW);
            let id = id.await.unwrap();
            if let Some(role) = role {
                contest::join(&mut tx, id, bob, role, NOW).await.unwrap();
            }
            tx.commit().await.unwrap();
            let manages = matches!(role, Some(MemberRole::Moderator | MemberRole::Owner));
            contests.push((Some(id), Some(manages)));
        }
        let viewer = |id, role| Viewer {
            user: Some((id, role)),
        };
        let viewers = [viewer(ada, Role::Admin), viewer(bob, Role::User)];
        let mut expected = [Vec::new(), Vec::new()];
        for (contest_id, manages) in &contests {
            for (problem_id, owns) in &problems {
                let new = NewSet {
                    reason: "",
                    filter: &Filter::default(),
                    contest_id: *contest_id,
                    problem_id: *problem_id,
                    auto_apply: false,
                    priority: rejudging::PRIORITY,
                    user: bob,
                    all: true,
                };
                let mut tx = db.begin().await.unwrap();
                let (id, _) = rejudging::insert(&mut tx, &new, NOW).await.unwrap();
                tx.commit().await.unwrap();
                for (viewer, expected) in viewers.iter().zip(&mut expected) {
                    if access::rejudging(*viewer, *manages, *owns, true) {
                        expected.insert(0, id);
                    }
                }
            }
        }
        assert!(expected[1].len() < expected[0].len() && !expected[1].is_empty());
        for (viewer, expected) in viewers.iter().zip(expected) {
            let sets = rejudging::page(db, viewer.id().unwrap(), viewer.is_admin(), 100).await;
            let found: Vec<i64> = sets.unwrap().iter().map(|set| set.id).collect();
            assert_eq!(found, expected, "{viewer:?}");
        }
    });
}
