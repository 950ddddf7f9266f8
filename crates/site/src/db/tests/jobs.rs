//! Jobs, and what they change.

use super::super::job::{self, Job, NewJob, State};
use super::*;
use crate::core::work::Work;

async fn add(db: &Db, user: i64, work: &Work) -> i64 {
    let args = serde_json::to_string(work).unwrap();
    let new = NewJob {
        kind: work.kind(),
        args: &args,
        problem_id: work.problem(),
        contest_id: work.contest(),
        keys: &work.keys(),
        user,
    };
    let mut tx = db.begin().await.unwrap();
    let id = job::insert(&mut tx, &new, NOW).await.unwrap();
    tx.commit().await.unwrap();
    id
}

async fn claim(db: &Db) -> Option<Job> {
    job::claim(db, NOW, LEASE).await.unwrap()
}

async fn end(db: &Db, job: &Job) -> bool {
    let mut tx = db.begin().await.unwrap();
    let ended = job::end(&mut tx, job, State::Done, Some("/"), NOW).await;
    tx.commit().await.unwrap();
    ended.unwrap()
}

#[test]
fn jobs_with_a_common_key_wait_for_each_other() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::Teacher).await;
        let limits = |problem| Work::ResetLimits { problem };
        let first = add(db, ada, &limits(1)).await;
        let second = add(db, ada, &limits(1)).await;
        let other = add(db, ada, &limits(2)).await;
        let merge = Work::MergeProblems {
            from: 1,
            into: 2,
            rejudge: false,
        };
        let running = claim(db).await.unwrap();
        assert_eq!(running.id, first);
        let merge = add(db, ada, &merge).await;
        let another = claim(db).await.unwrap();
        assert_eq!(another.id, other, "neither the second nor the merge");
        assert!(claim(db).await.is_none());
        assert!(end(db, &running).await && !end(db, &running).await);
        assert_eq!(
            claim(db).await.unwrap().id,
            second,
            "the merge waits for problem 2"
        );
        assert!(end(db, &another).await);
        assert!(claim(db).await.is_none());
        let second = job::by_id(db, second).await.unwrap().unwrap();
        assert!(end(db, &second).await);
        assert_eq!(claim(db).await.unwrap().id, merge);
        let done = job::page(db, ada, false, "done", 10).await.unwrap();
        assert_eq!(done.len(), 3);
        assert_eq!(job::of_problem(db, 2, 10).await.unwrap().len(), 2);
    });
}

#[test]
fn job_that_was_stopped_or_leased_again_cannot_end() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::Teacher).await;
        let id = add(db, ada, &Work::DeleteProblem { problem: 1 }).await;
        let first = claim(db).await.unwrap();
        let later = NOW.after(2 * LEASE);
        assert_eq!(job::expire(db, later).await.unwrap(), 1);
        let second = claim(db).await.unwrap();
        assert_eq!((second.id, second.attempt), (id, 2));
        assert!(!end(db, &first).await);
        assert_eq!(job::renew(db, id, 1, later).await.unwrap(), None);
        let renewed = job::renew(db, id, 2, later).await.unwrap();
        assert_eq!(renewed, Some(State::Running));
        let mut tx = db.begin().await.unwrap();
        assert!(!job::restart(&mut tx, id).await.unwrap());
        assert!(job::cancel(&mut tx, id, NOW).await.unwrap());
        assert!(!job::cancel(&mut tx, id, NOW).await.unwrap());
        tx.commit().await.unwrap();
        assert!(!end(db, &second).await && claim(db).await.is_none());
        let mut tx = db.begin().await.unwrap();
        assert!(job::stopped(&mut tx, &second, NOW).await.unwrap());
        assert!(job::restart(&mut tx, id).await.unwrap());
        tx.commit().await.unwrap();
        let third = claim(db).await.unwrap();
        assert_eq!(job::release(db, NOW).await.unwrap(), 1);
        assert!(!end(db, &third).await);
        let lines = ["one".to_owned(), "two".to_owned(), "three".to_owned()];
        job::write(db, id, &lines, NOW).await.unwrap();
        let found = job::lines(db, id, 2).await.unwrap();
        let found: Vec<&str> = found.iter().map(|line| line.line.as_str()).collect();
        assert_eq!(found, ["two", "three"]);
    });
}

async fn state_of(db: &Db, id: i64) -> State {
    job::by_id(db, id).await.unwrap().unwrap().state
}

async fn cancel(db: &Db, id: i64) -> bool {
    let mut tx = db.begin().await.unwrap();
    let cancelled = job::cancel(&mut tx, id, NOW).await.unwrap();
    tx.commit().await.unwrap();
    cancelled
}

async fn restart(db: &Db, id: i64) -> bool {
    let mut tx = db.begin().await.unwrap();
    let restarted = job::restart(&mut tx, id).await.unwrap();
    tx.commit().await.unwrap();
    restarted
}

#[test]
fn stopped_job_keeps_its_keys_until_its_programs_have_ended() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::Teacher).await;
        let work = Work::ResetLimits { problem: 1 };
        let id = add(db, ada, &work).await;
        let first = claim(db).await.unwrap();
        assert!(cancel(db, id).await);
        let next = add(db, ada, &work).await;
        assert!(claim(db).await.is_none(), "the programs still run");
        // A restart before the end would lose the stop.
        assert!(!restart(db, id).await && !cancel(db, id).await);
        let later = NOW.after(2 * LEASE);
        let renewed = job::renew(db, id, first.attempt, later).await.unwrap();
        assert_eq!(renewed, Some(State::Stopping));
        assert_eq!(job::expire(db, NOW.after(LEASE)).await.unwrap(), 0);
        assert_eq!(
            state_of(db, id).await,
            State::Stopping,
            "it has a new lease"
        );
        assert!(!end(db, &first).await, "it stores nothing");
        let mut tx = db.begin().await.unwrap();
        assert!(job::stopped(&mut tx, &first, NOW).await.unwrap());
        assert!(!job::stopped(&mut tx, &first, NOW).await.unwrap());
        tx.commit().await.unwrap();
        assert_eq!(state_of(db, id).await, State::Cancelled);
        let second = claim(db).await.unwrap();
        assert_eq!(second.id, next);
        assert!(restart(db, id).await);
        assert!(claim(db).await.is_none(), "the next job runs");
        assert!(end(db, &second).await);
        assert_eq!(claim(db).await.unwrap().attempt, 2);
    });
}

#[test]
fn stopped_job_stays_stopped_when_the_site_restarts_or_its_lease_ends() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::Teacher).await;
        let work = Work::ResetLimits { problem: 1 };
        for restarts in [true, false] {
            let id = add(db, ada, &work).await;
            claim(db).await.unwrap();
            assert!(cancel(db, id).await);
            let queued = if restarts {
                job::release(db, NOW).await
            } else {
                job::expire(db, NOW.after(2 * LEASE)).await
            };
            assert_eq!(queued.unwrap(), 0);
            assert_eq!(state_of(db, id).await, State::Cancelled);
            assert!(claim(db).await.is_none());
        }
    });
}

#[test]
fn users_take_turns_before_priorities_count() {
    with_each(async |db| {
        let greedy = add_user(db, "greedy", Role::Teacher).await;
        let modest = add_user(db, "modest", Role::Teacher).await;
        for problem in 1..=5 {
            add(db, greedy, &Work::DeleteProblem { problem }).await;
        }
        let mut users = Vec::new();
        for second in 1..=8 {
            if second == 3 || second == 6 {
                // The priority of this work is lower.
                add(db, modest, &Work::ResetLimits { problem: second }).await;
            }
            let now = NOW.after(std::time::Duration::from_secs(second.unsigned_abs()));
            if let Some(job) = job::claim(db, now, LEASE).await.unwrap() {
                assert!(end(db, &job).await);
                users.push(job.created_by);
            }
        }
        let [g, m] = [greedy, modest];
        assert_eq!(users, [g, g, m, g, g, m, g]);
    });
}

#[test]
fn equal_waiting_job_of_the_same_user_is_found() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::Teacher).await;
        let bob = add_user(db, "bob", Role::Teacher).await;
        let work = Work::ResetLimits { problem: 1 };
        let id = add(db, ada, &work).await;
        let args = serde_json::to_string(&work).unwrap();
        let find = async |user, args: &str| {
            let mut tx = db.begin().await.unwrap();
            let found = job::queued_like(&mut tx, user, work.kind(), args).await;
            (found.unwrap(), job::queued_of(&mut tx, user).await.unwrap())
        };
        assert_eq!(find(ada, &args).await, (Some(id), 1));
        assert_eq!(find(ada, "{}").await, (None, 1));
        assert_eq!(find(bob, &args).await, (None, 0));
        claim(db).await.unwrap();
        assert_eq!(find(ada, &args).await, (None, 0), "it runs");
    });
}

#[test]
fn merging_problems_does_not_change_results() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::Teacher).await;
        let from = add_problem(db, ada, Visibility::Private).await;
        let into = add_problem(db, ada, Visibility::Private).await;
        let attached = super::judging::add_round_problem(db, from).await;
        let (submission, _) = submit(db, ada, from, Some(attached)).await;
        let mut tx = db.begin().await.unwrap();
        let tags = [("trees".to_owned(), false), ("hard".to_owned(), true)];
        problem::set_tags(&mut tx, from.0, &tags).await.unwrap();
        problem::set_tags(&mut tx, into.0, &tags[..1])
            .await
            .unwrap();
        problem::set_label(&mut tx, into.0, "SUM").await.unwrap();
        assert!(problem::is_attached(&mut tx, from.0).await.unwrap());
        let merged = problem::merge(&mut tx, from.0, into.0, ada, NOW)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        let found = contest::round_problem(db, attached).await.unwrap().unwrap();
        assert_eq!((found.problem_id, found.version_id), (into.0, from.1));
        let current = problem::current_version(db, into.0).await.unwrap().unwrap();
        assert_eq!((Some(current.id), current.number), (merged, 3));
        assert!(problem::by_id(db, from.0).await.unwrap().is_none());
        let found = submission::by_id(db, submission).await.unwrap().unwrap();
        assert_eq!(found.problem_id, into.0);
        assert_eq!(problem::tags(db, into.0).await.unwrap().len(), 2);
        let mut tx = db.begin().await.unwrap();
        problem_use::use_version(&mut tx, attached, current.id)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        let found = contest::round_problem(db, attached).await.unwrap().unwrap();
        assert_eq!(found.version_id, current.id);
        let problems = contest::problems_of_round(db, found.round_id)
            .await
            .unwrap();
        assert_eq!(problems.len(), 1);
    });
}

#[test]
fn deleting_also_deletes_submissions() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::Teacher).await;
        let sum = add_problem(db, ada, Visibility::Private).await;
        let mut ids = Vec::new();
        for _ in 0..3 {
            let attached = super::judging::add_round_problem(db, sum).await;
            let (submission, _) = submit(db, ada, sum, Some(attached)).await;
            ids.push((attached, submission));
        }
        let (practice, _) = submit(db, ada, sum, None).await;
        let (model, _) = submit(db, ada, sum, None).await;
        let round_problem = async |id| contest::round_problem(db, id).await.unwrap().unwrap();
        let round = round_problem(ids[1].0).await.round_id;
        let contest_id = round_problem(ids[2].0).await.contest_id;
        let mut tx = db.begin().await.unwrap();
        submission::set_model(&mut tx, model, sum.1, "accepted/a.cpp")
            .await
            .unwrap();
        contest::delete_round_problem(&mut tx, ids[0].0)
            .await
            .unwrap();
        contest::delete_round(&mut tx, round).await.unwrap();
        contest::delete(&mut tx, contest_id).await.unwrap();
        tx.commit().await.unwrap();
        for (attached, submission) in ids {
            assert!(
                contest::round_problem(db, attached)
                    .await
                    .unwrap()
                    .is_none()
            );
            assert!(submission::by_id(db, submission).await.unwrap().is_none());
        }
        assert!(contest::by_id(db, contest_id).await.unwrap().is_none());
        assert_eq!(submission::models(db, sum.0).await.unwrap()[0].id, model);
        let mut tx = db.begin().await.unwrap();
        assert_eq!(submission::delete(&mut tx, practice).await.unwrap(), 1);
        assert!(!problem::is_attached(&mut tx, sum.0).await.unwrap());
        assert_eq!(problem::delete(&mut tx, sum.0).await.unwrap(), 1);
        tx.commit().await.unwrap();
        assert!(submission::by_id(db, model).await.unwrap().is_none());
        assert!(problem::version(db, sum.1).await.unwrap().is_none());
    });
}
