//! The queue, its results and faults.

use super::super::judgement::{Failure, Remote};
use super::super::{fleet_worker, probation, record};
use super::*;
use crate::core::judgement::State;
use millibox_fleet::class::Class;

const BROKEN: Failure<'_> = Failure {
    kind: fault::Kind::Machine,
    reason: "broken",
    has_ended: false,
};
const BROKEN_PACKAGE: Failure<'_> = Failure {
    kind: fault::Kind::Package,
    reason: "broken",
    has_ended: false,
};

#[test]
fn queue_is_fair_between_users() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let bob = add_user(db, "bob", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        let mut expected = Vec::new();
        for _ in 0..3 {
            expected.push(submit(db, ada, sum, None).await.0);
        }
        let of_bob = submit(db, bob, sum, None).await.0;
        expected.insert(1, of_bob);
        let mut order = Vec::new();
        while let Some(task) = judgement::claim(db, "w", NOW, LEASE).await.unwrap() {
            order.push(task.submission_id);
        }
        assert_eq!(order, expected);
    });
}

record! { Step { detail: String, } }

#[test]
fn index_gives_the_queue_in_its_order() {
    with_each(async |db| {
        // PostgreSQL would read the whole table, because it is empty.
        if let Db::Sqlite { .. } = db {
            let plan: Vec<Step> = db
                .all(
                    "EXPLAIN QUERY PLAN SELECT id FROM judgement WHERE state = 'queued'
                     ORDER BY priority DESC, turn, id LIMIT 1",
                    values![],
                )
                .await
                .unwrap();
            let steps: Vec<_> = plan.iter().map(|step| &step.detail).collect();
            let [only] = steps[..] else {
                panic!("the queue is sorted: {steps:?}")
            };
            assert!(only.contains("judgement_queue (state=?)"), "{only}");
        }
    });
}

#[test]
fn attempt_whose_lease_has_ended_changes_nothing() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        let (id, judged) = submit(db, ada, sum, None).await;
        let first = judgement::claim(db, "1", NOW, LEASE)
            .await
            .unwrap()
            .unwrap();
        assert_eq!((first.id, first.attempt), (judged, 1));
        assert_eq!(first.content, b"int main() {}");
        assert!(
            judgement::claim(db, "2", NOW, LEASE)
                .await
                .unwrap()
                .is_none()
        );
        assert_eq!(judgement::expire(db, NOW, LEASE).await.unwrap(), 0);
        let later = NOW.after(2 * LEASE);
        assert_eq!(judgement::expire(db, later, LEASE).await.unwrap(), 1);
        let second = judgement::claim(db, "2", later, LEASE)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(second.attempt, 2);

        let wrong = outcome(Verdict::WrongAnswer, 0);
        assert!(
            !judgement::finish(db, judged, 1, &wrong, later)
                .await
                .unwrap()
        );
        assert!(!judgement::renew(db, judged, 1, later).await.unwrap());
        assert!(
            !judgement::set_initial(db, judged, 1, Verdict::WrongAnswer)
                .await
                .unwrap()
        );
        assert!(
            !judgement::fail(db, judged, 1, &BROKEN_PACKAGE, later)
                .await
                .unwrap()
        );
        let found = submission::by_id(db, id).await.unwrap().unwrap();
        assert_eq!((found.state, found.initial_verdict), (State::Running, None));

        assert!(
            judgement::renew(db, judged, 2, later.after(LEASE))
                .await
                .unwrap()
        );
        assert!(
            judgement::set_initial(db, judged, 2, Verdict::Accepted)
                .await
                .unwrap()
        );
        let right = outcome(Verdict::Accepted, 100);
        assert!(
            judgement::finish(db, judged, 2, &right, later)
                .await
                .unwrap()
        );
        assert!(
            !judgement::finish(db, judged, 2, &wrong, later)
                .await
                .unwrap()
        );
        let found = submission::by_id(db, id).await.unwrap().unwrap();
        assert_eq!(
            (found.verdict, found.score),
            (Some(Verdict::Accepted), Some(100))
        );
        let details = judgement::details(db, judged).await.unwrap().unwrap();
        assert_eq!(details.protocol.as_deref(), Some("{}"));
    });
}

#[test]
fn failing_judge_ends_in_a_fault_and_never_in_a_verdict() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        let (id, judged) = submit(db, ada, sum, None).await;
        for attempt in 1..=judgement::MAX_FAILURES {
            let task = judgement::claim(db, "w", NOW, LEASE)
                .await
                .unwrap()
                .unwrap();
            assert_eq!(task.attempt, attempt);
            assert!(
                judgement::fail(db, judged, attempt, &BROKEN, NOW)
                    .await
                    .unwrap()
            );
        }
        assert!(
            judgement::claim(db, "w", NOW, LEASE)
                .await
                .unwrap()
                .is_none()
        );
        let found = submission::by_id(db, id).await.unwrap().unwrap();
        assert_eq!((found.state, found.verdict), (State::Fault, None));
        let details = judgement::details(db, judged).await.unwrap().unwrap();
        assert_eq!(details.fault.as_deref(), Some("broken"));

        let (crashing, _) = submit(db, ada, sum, None).await;
        let mut now = NOW;
        for _ in 0..judgement::MAX_FAILURES {
            judgement::claim(db, "w", now, LEASE)
                .await
                .unwrap()
                .unwrap();
            now = now.after(2 * LEASE);
            assert_eq!(judgement::expire(db, now, LEASE).await.unwrap(), 1);
        }
        assert!(
            judgement::claim(db, "w", now, LEASE)
                .await
                .unwrap()
                .is_none()
        );
        let entries = judgement::queue(db, 10).await.unwrap();
        let of = |id| {
            entries
                .iter()
                .find(|entry| entry.submission_id == id)
                .unwrap()
        };
        assert_eq!(of(crashing).state, State::Fault);
    });
}

#[test]
fn old_judgement_stays_current_until_the_new_one_has_a_result() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        let (submission_id, first) = submit(db, ada, sum, None).await;
        judgement::claim(db, "w", NOW, LEASE)
            .await
            .unwrap()
            .unwrap();
        let wrong = outcome(Verdict::WrongAnswer, 0);
        assert!(judgement::finish(db, first, 1, &wrong, NOW).await.unwrap());
        assert!(!judgement::is_open(db, submission_id).await.unwrap());
        let mut tx = db.begin().await.unwrap();
        let new = NewJudgement {
            submission_id,
            version_id: sum.1,
            user_id: ada,
            priority: judgement::AGAIN,
            is_first: false,
        };
        let second = judgement::insert(&mut tx, &new, NOW).await.unwrap();
        submission::set_kind(&mut tx, submission_id, Kind::Ignored)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        assert!(judgement::is_open(db, submission_id).await.unwrap());
        let verdict = async || {
            let found = submission::by_id(db, submission_id).await.unwrap().unwrap();
            (found.judgement_id, found.verdict)
        };
        judgement::claim(db, "w", NOW, LEASE)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(verdict().await, (first, Some(Verdict::WrongAnswer)));
        assert_eq!(judgement::release(db, None).await.unwrap(), 1);
        let task = judgement::claim(db, "w", NOW, LEASE)
            .await
            .unwrap()
            .unwrap();
        let right = outcome(Verdict::Accepted, 100);
        assert!(
            judgement::finish(db, second, task.attempt, &right, NOW)
                .await
                .unwrap()
        );
        assert_eq!(verdict().await, (second, Some(Verdict::Accepted)));
        let source = submission::source(db, submission_id)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            (source.file_name.as_str(), &*source.content),
            ("a.cpp", &b"int main() {}"[..])
        );
    });
}

async fn claim(db: &Db) -> Option<judgement::Task> {
    judgement::claim(db, "w", NOW, LEASE).await.unwrap()
}

#[test]
fn closed_fault_queues_its_judgements_with_the_current_version() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        let (first, judged) = submit(db, ada, sum, None).await;
        let (second, _) = submit(db, ada, sum, None).await;
        for submission in [first, second] {
            let task = claim(db).await.unwrap();
            assert_eq!(task.submission_id, submission);
            let failed = judgement::fail(db, task.id, task.attempt, &BROKEN_PACKAGE, NOW).await;
            assert!(failed.unwrap());
        }
        assert!(
            claim(db).await.is_none(),
            "a broken package is not tried again"
        );
        let reader = |user, all| fault::Reader { user, all };
        let own = reader(ada, false);
        let faults = fault::page(db, own, 10).await.unwrap();
        let [fault] = &faults[..] else {
            panic!("{faults:?}")
        };
        assert_eq!((fault.kind, fault.closed_at), (fault::Kind::Package, None));
        assert_eq!(fault::hanging(db, fault.id, own).await.unwrap().len(), 2);
        let failures = fault::failures(db, fault.id, own, 10).await.unwrap();
        assert_eq!((failures.len(), failures[0].reason.as_str()), (2, "broken"));
        let stranger = add_user(db, "eve", Role::User).await;
        assert!(
            fault::page(db, reader(stranger, false), 10)
                .await
                .unwrap()
                .is_empty()
        );
        let all = fault::page(db, reader(stranger, true), 10).await.unwrap();
        assert_eq!(all.len(), 1);

        let mut tx = db.begin().await.unwrap();
        let version =
            problem::insert_version(&mut tx, &new_version(sum.0, "repaired", ada), NOW).await;
        let version = version.unwrap();
        assert_eq!(fault::close(&mut tx, fault.id, own, NOW).await.unwrap(), 2);
        assert_eq!(fault::close(&mut tx, fault.id, own, NOW).await.unwrap(), 0);
        tx.commit().await.unwrap();
        let task = claim(db).await.unwrap();
        assert_eq!(
            (task.id, task.version_id, task.attempt),
            (judged, version, 2)
        );
        assert!(
            !judgement::finish(db, judged, 1, &outcome(Verdict::Accepted, 1), NOW)
                .await
                .unwrap()
        );
        assert!(
            judgement::finish(db, judged, 2, &outcome(Verdict::Accepted, 1), NOW)
                .await
                .unwrap()
        );
        let closed = fault::by_id(db, fault.id).await.unwrap().unwrap();
        assert_eq!(closed.closed_at, Some(NOW));
    });
}

#[test]
fn restarts_of_the_site_do_not_count_as_failures() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        let (_, judged) = submit(db, ada, sum, None).await;
        for _ in 0..2 * judgement::MAX_FAILURES {
            claim(db).await.unwrap();
            assert_eq!(judgement::release(db, None).await.unwrap(), 1);
        }
        let task = claim(db).await.unwrap();
        assert!(
            judgement::fail(db, judged, task.attempt, &BROKEN, NOW)
                .await
                .unwrap()
        );
        assert!(claim(db).await.is_some(), "this was the first failure");
    });
}

#[test]
fn cancelled_judgement_accepts_no_result() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        let (running, judged) = submit(db, ada, sum, None).await;
        let (waiting, _) = submit(db, ada, sum, None).await;
        claim(db).await.unwrap();
        let mut tx = db.begin().await.unwrap();
        for submission in [running, waiting] {
            let cancelled = judgement::cancel_of_submission(&mut tx, submission, NOW).await;
            assert_eq!(cancelled.unwrap().len(), 1);
        }
        tx.commit().await.unwrap();
        assert!(claim(db).await.is_none());
        assert!(!judgement::renew(db, judged, 1, NOW).await.unwrap());
        assert!(
            !judgement::finish(db, judged, 1, &outcome(Verdict::Accepted, 1), NOW)
                .await
                .unwrap()
        );
        assert!(!judgement::fail(db, judged, 1, &BROKEN, NOW).await.unwrap());
        assert_eq!(judgement::release(db, None).await.unwrap(), 0);
        let found = submission::by_id(db, running).await.unwrap().unwrap();
        assert_eq!((found.state, found.verdict), (State::Cancelled, None));
    });
}

/// A round with a problem in a new contest.
pub(super) async fn add_round_problem(db: &Db, (problem, version): (i64, i64)) -> i64 {
    use contest::{RoundFields, RoundProblemFields};
    let mut tx = db.begin().await.unwrap();
    let contest = contest::insert(&mut tx, "Cup", contest::Visibility::Private, NOW).await;
    let fields = RoundFields {
        name: "Round".to_owned(),
        begins: Time::ALWAYS,
        ends: Time::NEVER,
        full_results: Time::NEVER,
        ranking_from: Time::ALWAYS,
    };
    let round = contest::insert_round(&mut tx, contest.unwrap(), &fields)
        .await
        .unwrap();
    let fields = RoundProblemFields {
        version_id: version,
        label: "A".to_owned(),
        name: "Sum".to_owned(),
        final_method: FinalMethod::Best,
        reveal: Reveal::Nothing,
    };
    let id = contest::insert_round_problem(&mut tx, round, problem, &fields)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    id
}

#[test]
fn paused_problem_waits_and_others_do_not() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let bob = add_user(db, "bob", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        let attached = add_round_problem(db, sum).await;
        let pause = async |allow| {
            let mut tx = db.begin().await.unwrap();
            contest::set_allow_judge(&mut tx, attached, allow)
                .await
                .unwrap();
            tx.commit().await.unwrap();
        };
        pause(false).await;
        let (paused, _) = submit(db, ada, sum, Some(attached)).await;
        let (other, _) = submit(db, bob, sum, None).await;
        assert_eq!(claim(db).await.unwrap().submission_id, other);
        assert!(claim(db).await.is_none());
        pause(true).await;
        assert_eq!(claim(db).await.unwrap().submission_id, paused);
    });
}

#[test]
fn judgement_makes_way_for_contests_without_a_failure() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        let (practice, judged) = submit(db, ada, sum, None).await;
        let first = claim(db).await.unwrap();
        assert_eq!((first.id, first.priority), (judged, judgement::PRACTICE));
        let waiting = async |before| {
            let waiting = judgement::waiting_in_contests(db, before).await.unwrap();
            let waiting = waiting.into_iter();
            waiting
                .map(|one| (one.language, one.count))
                .collect::<Vec<_>>()
        };
        assert_eq!(waiting(NOW).await, []);

        let (contest, other) = submit(db, ada, sum, None).await;
        into_contest(db, other).await;
        let early = NOW.before(LEASE);
        assert_eq!(waiting(early).await, []);
        assert_eq!(waiting(NOW).await, [("cpp20".to_owned(), 1)]);
        // Only the attempt that has the lease makes way, and only once.
        assert!(!judgement::make_way(db, judged, 2, &[]).await.unwrap());
        for attempt in 1..=2 {
            assert!(judgement::make_way(db, judged, attempt, &[]).await.unwrap());
            assert!(!judgement::make_way(db, judged, attempt, &[]).await.unwrap());
            let wrong = outcome(Verdict::WrongAnswer, 0);
            let stored = judgement::finish(db, judged, attempt, &wrong, NOW).await;
            assert!(!stored.unwrap(), "the lease has ended");
            assert!(
                !judgement::fail(db, judged, attempt, &BROKEN, NOW)
                    .await
                    .unwrap()
            );
            if attempt == 1 {
                let next = claim(db).await.unwrap();
                assert_eq!(next.submission_id, contest);
                let kept = judgement::make_way(db, other, next.attempt, &[]).await;
                assert!(!kept.unwrap(), "a contest makes no way");
                let right = outcome(Verdict::Accepted, 100);
                let stored = judgement::finish(db, other, next.attempt, &right, NOW).await;
                assert!(stored.unwrap());
            }
            let again = claim(db).await.unwrap();
            assert_eq!((again.id, again.attempt), (judged, attempt + 1));
        }
        let last = 3;
        let kept = judgement::make_way(db, judged, last, &[]).await;
        assert!(!kept.unwrap(), "it has made way too often");
        let right = outcome(Verdict::Accepted, 100);
        assert!(
            judgement::finish(db, judged, last, &right, NOW)
                .await
                .unwrap()
        );
        let found = submission::by_id(db, practice).await.unwrap().unwrap();
        assert_eq!(
            (found.state, found.verdict),
            (State::Done, Some(Verdict::Accepted))
        );
        let details = judgement::details(db, judged).await.unwrap().unwrap();
        assert_eq!(details.fault, None);
    });
}

#[test]
fn judgement_that_has_begun_last_makes_way() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        for _ in 0..3 {
            submit(db, ada, sum, None).await;
        }
        let mut tasks = Vec::new();
        // The first two begin at the same time.
        for now in [NOW, NOW, NOW.after(Duration::from_secs(1))] {
            let task = judgement::claim(db, "w", now, LEASE).await.unwrap();
            tasks.push(task.unwrap());
        }
        let makes_way = async |index: usize| {
            let task: &judgement::Task = &tasks[index];
            judgement::make_way(db, task.id, task.attempt, &[])
                .await
                .unwrap()
        };
        assert!(!makes_way(0).await);
        assert!(!makes_way(1).await);
        assert!(makes_way(2).await);
        assert!(!makes_way(0).await);
        assert!(makes_way(1).await);
        assert!(makes_way(0).await);
        // A failed attempt is no interruption, and a judgement that can no longer make way does not
        // keep an earlier one from it.
        let later = NOW.after(Duration::from_secs(2));
        let again = async || {
            let task = judgement::claim(db, "w", later, LEASE).await.unwrap();
            task.unwrap()
        };
        let mut task = again().await;
        assert!(
            judgement::fail(db, task.id, task.attempt, &BROKEN, later)
                .await
                .unwrap()
        );
        task = again().await;
        assert!(
            judgement::make_way(db, task.id, task.attempt, &[])
                .await
                .unwrap()
        );
        task = again().await;
        assert!(
            !judgement::make_way(db, task.id, task.attempt, &[])
                .await
                .unwrap()
        );
        let other = again().await;
        assert_ne!(other.id, task.id);
        assert!(
            judgement::make_way(db, other.id, other.attempt, &[])
                .await
                .unwrap()
        );
    });
}

#[test]
fn remote_worker_leases_only_its_classes_and_languages() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        let (_, judged) = submit(db, ada, sum, None).await;
        let id = add_worker(db, "box").await;
        let claim = async |classes: &[Class], languages: &[&str]| {
            let languages: Vec<String> = languages.iter().map(ToString::to_string).collect();
            let remote = Remote {
                id,
                classes,
                languages: &languages,
            };
            let task = judgement::claim_for(db, "box/1", Some(&remote), NOW, LEASE).await;
            task.unwrap().map(|task| task.id)
        };
        let own: Option<Language> = db
            .first("SELECT language AS name FROM submission", values![])
            .await
            .unwrap();
        let own = own.unwrap().name;
        let longer = format!("{own}x");
        for (classes, languages) in [
            (&[][..], &[own.as_str()][..]),
            (&[Class::Contest, Class::Rejudge, Class::Model], &[&own]),
            (&Class::ALL, &[]),
            (&Class::ALL, &["cobol", &longer]),
        ] {
            assert_eq!(
                claim(classes, languages).await,
                None,
                "{classes:?} {languages:?}"
            );
        }
        let found = claim(&[Class::Practice], &["cobol", &own]).await;
        assert_eq!(found, Some(judged));
        let worker = fleet_worker::of_judgement(db, judged).await.unwrap();
        assert_eq!(worker.map(|worker| worker.id), Some(id));
    });
}

record! { Language { name: String, } }

#[test]
fn remote_lease_survives_a_restart_and_counts_only_after_its_renewal() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        let (_, judged) = submit(db, ada, sum, None).await;
        let (own, other) = (add_worker(db, "one").await, add_worker(db, "two").await);
        let languages = languages(db).await;
        let remote = Remote {
            id: own,
            classes: &Class::ALL,
            languages: &languages,
        };
        let first_lease = LEASE / 3;
        for attempt in 1..=5 {
            let task = judgement::claim_for(db, "one/1", Some(&remote), NOW, first_lease);
            assert_eq!(task.await.unwrap().unwrap().attempt, attempt);
            let later = NOW.after(LEASE);
            let expired = judgement::expire(db, later, first_lease).await;
            assert_eq!(expired.unwrap(), 1, "no worker has received the task");
        }
        let task = judgement::claim_for(db, "one/1", Some(&remote), NOW, first_lease);
        assert_eq!(task.await.unwrap().unwrap().attempt, 6);
        assert_eq!(judgement::release(db, None).await.unwrap(), 0);
        let is_held = async |attempt, worker| {
            let held = judgement::held(db, judged, attempt, worker).await;
            held.unwrap().is_some()
        };
        assert!(is_held(6, own).await);
        assert!(!is_held(6, other).await && !is_held(5, own).await);
        let renewed = judgement::renew(db, judged, 6, NOW.after(LEASE)).await;
        assert!(renewed.unwrap());
        let later = NOW.after(2 * LEASE);
        let expired = judgement::expire(db, later, first_lease).await;
        assert_eq!(expired.unwrap(), 1);
        assert!(!is_held(6, own).await);
        let failed: Option<Language> = db
            .first("SELECT worker AS name FROM attempt_failure", values![])
            .await
            .unwrap();
        assert_eq!(failed.unwrap().name, "one/1");
        // The site itself judges now, and gives up its lease at the next start.
        let here = judgement::claim(db, "judge-1", later, LEASE).await.unwrap();
        assert_eq!(here.unwrap().attempt, 7);
        assert_eq!(judgement::release(db, None).await.unwrap(), 1);
    });
}

/// The language of the submissions.
async fn languages(db: &Db) -> [String; 1] {
    let language: Option<Language> = db
        .first("SELECT language AS name FROM submission", values![])
        .await
        .unwrap();
    [language.unwrap().name]
}

/// What a worker on another machine leases.
async fn claim_by(db: &Db, worker: i64, languages: &[String], now: Time) -> Option<i64> {
    let remote = Remote {
        id: worker,
        classes: &Class::ALL,
        languages,
    };
    let task = judgement::claim_for(db, "slot", Some(&remote), now, LEASE).await;
    task.unwrap().map(|task| task.id)
}

/// A worker on another machine leases the next judgement. Returns its attempt.
async fn lease_to(db: &Db, worker: (i64, &str), languages: &[String], now: Time) -> (i64, i64) {
    let remote = Remote {
        id: worker.0,
        classes: &Class::ALL,
        languages,
    };
    let slot = format!("{}/judge-1", worker.1);
    let task = judgement::claim_for(db, &slot, Some(&remote), now, LEASE).await;
    let task = task.unwrap().expect("a judgement");
    judgement::renew(db, task.id, task.attempt, now.after(2 * LEASE))
        .await
        .unwrap();
    (task.id, task.attempt)
}

async fn is_on_probation(db: &Db, worker: i64) -> bool {
    let found = fleet_worker::by_id(db, worker).await.unwrap().unwrap();
    found.probation_at.is_some()
}

#[test]
fn worker_that_fails_where_others_succeed_is_checked() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        let bad = (add_worker(db, "bad").await, "bad");
        let good = (add_worker(db, "good").await, "good");
        let mut now = NOW;
        for round in 0..2 {
            assert!(!is_on_probation(db, bad.0).await, "round {round}");
            submit(db, ada, sum, None).await;
            let languages = languages(db).await;
            let (id, attempt) = lease_to(db, bad, &languages, now).await;
            assert!(
                judgement::fail(db, id, attempt, &BROKEN, now)
                    .await
                    .unwrap()
            );
            let (id, attempt) = lease_to(db, good, &languages, now).await;
            let finished =
                judgement::finish(db, id, attempt, &outcome(Verdict::Accepted, 1), now).await;
            assert!(finished.unwrap());
        }
        assert!(is_on_probation(db, bad.0).await);
        assert!(!is_on_probation(db, good.0).await);

        let begin = async |now| probation::begin_check(db, bad.0, now, LEASE).await.unwrap();
        let minute = Duration::from_secs(60);
        assert_eq!(begin(now).await, None, "no check is due");
        now = now.after(minute);
        assert_eq!(begin(now).await, Some(1));
        assert_eq!(begin(now).await, None, "one check at a time");
        let end = async |attempt, failed, now| {
            let ended = probation::end_check(db, bad.0, attempt, failed, now).await;
            ended.unwrap()
        };
        assert!(!end(2, None, now).await, "a different check");
        assert!(end(1, Some("no space"), now).await);
        assert!(!end(1, None, now).await, "it has ended");
        assert_eq!(begin(now.after(minute)).await, None, "the pause doubles");
        now = now.after(2 * minute);
        assert_eq!(begin(now).await, Some(2));
        // The worker ends during its check, and receives another one.
        now = now.after(2 * LEASE);
        assert_eq!(begin(now).await, Some(3));
        assert!(!probation::renew_check(db, bad.0, 2, now).await.unwrap());
        assert!(
            probation::renew_check(db, bad.0, 3, now.after(LEASE))
                .await
                .unwrap()
        );
        assert!(end(3, None, now).await);
        assert!(!is_on_probation(db, bad.0).await);
        assert_eq!(begin(now.after(minute * 1000)).await, None);
        assert_eq!(
            probation::begin_check(db, good.0, now, LEASE)
                .await
                .unwrap(),
            None
        );
    });
}

#[test]
fn failures_of_all_workers_are_no_evidence() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        let own = (add_worker(db, "own").await, "own");
        let mut now = NOW;
        for _ in 0..3 {
            submit(db, ada, sum, None).await;
            let languages = languages(db).await;
            // It succeeds itself at last.
            for _ in 0..2 {
                let (id, attempt) = lease_to(db, own, &languages, now).await;
                assert!(
                    judgement::fail(db, id, attempt, &BROKEN, now)
                        .await
                        .unwrap()
                );
                now = now.after(LEASE);
            }
            let (id, attempt) = lease_to(db, own, &languages, now).await;
            let finished =
                judgement::finish(db, id, attempt, &outcome(Verdict::Accepted, 1), now).await;
            assert!(finished.unwrap());
        }
        assert!(!is_on_probation(db, own.0).await);
    });
}

async fn state_of(db: &Db, submission: i64) -> State {
    let states = judgement::queue(db, 10).await.unwrap();
    let mut states = states
        .into_iter()
        .filter(|one| one.submission_id == submission);
    states.next().unwrap().state
}

#[test]
fn package_is_to_blame_if_two_attempts_of_workers_say_so() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        let one = (add_worker(db, "one").await, "one");
        let two = (add_worker(db, "two").await, "two");
        let (submission, _) = submit(db, ada, sum, None).await;
        let languages = languages(db).await;
        let (id, attempt) = lease_to(db, one, &languages, NOW).await;
        let failed = judgement::fail(db, id, attempt, &BROKEN_PACKAGE, NOW).await;
        assert!(failed.unwrap());
        assert_eq!(state_of(db, submission).await, State::Queued);
        let again = claim_by(db, one.0, &languages, NOW).await;
        assert_eq!(again, None, "others come first");
        let (id, attempt) = lease_to(db, two, &languages, NOW).await;
        let failed = judgement::fail(db, id, attempt, &BROKEN_PACKAGE, NOW).await;
        assert!(failed.unwrap());
        assert_eq!(state_of(db, submission).await, State::Fault);
        // A single worker tries again after some time.
        let (submission, _) = submit(db, ada, sum, None).await;
        let mut now = NOW;
        for state in [State::Queued, State::Fault] {
            let (id, attempt) = lease_to(db, one, &languages, now).await;
            let failed = judgement::fail(db, id, attempt, &BROKEN_PACKAGE, now).await;
            assert!(failed.unwrap());
            assert_eq!(state_of(db, submission).await, state);
            now = now.after(LEASE);
        }
    });
}

#[test]
fn disabled_worker_loses_its_leases_and_receives_no_more() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        let one = (add_worker(db, "one").await, "one");
        let two = (add_worker(db, "two").await, "two");
        let (submission, _) = submit(db, ada, sum, None).await;
        let languages = languages(db).await;
        let (id, attempt) = lease_to(db, one, &languages, NOW).await;
        let mut tx = db.begin().await.unwrap();
        fleet_worker::disable(&mut tx, one.0).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(state_of(db, submission).await, State::Queued);
        assert!(!judgement::renew(db, id, attempt, NOW).await.unwrap());
        assert_eq!(claim_by(db, one.0, &languages, NOW).await, None);
        let (_, attempt) = lease_to(db, two, &languages, NOW).await;
        assert_eq!(attempt, 2);
        let mut tx = db.begin().await.unwrap();
        fleet_worker::disable(&mut tx, two.0).await.unwrap();
        fleet_worker::enable(&mut tx, one.0, NOW).await.unwrap();
        tx.commit().await.unwrap();
        // Neither attempt is a failure.
        let (_, attempt) = lease_to(db, one, &languages, NOW).await;
        assert_eq!(attempt, 3);
        let failures: Option<Number> = db
            .first("SELECT failures AS number FROM judgement", values![])
            .await
            .unwrap();
        assert_eq!(failures.unwrap().number, 0);
    });
}

record! { Number { number: i64, } }

#[test]
fn lease_that_was_renewed_meanwhile_does_not_end() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        submit(db, ada, sum, None).await;
        let own = (add_worker(db, "own").await, "own");
        let (id, attempt) = lease_to(db, own, &languages(db).await, NOW).await;
        let ended = Failure {
            has_ended: true,
            ..BROKEN
        };
        let fail = async |now| judgement::fail(db, id, attempt, &ended, now).await.unwrap();
        assert!(!fail(NOW).await);
        assert!(fail(NOW.after(3 * LEASE)).await);
    });
}

#[test]
fn judgements_of_silent_workers_are_given_back_without_a_failure() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        let own = (add_worker(db, "own").await, "own");
        let (remote, _) = submit(db, ada, sum, None).await;
        lease_to(db, own, &languages(db).await, NOW).await;
        let (local, _) = submit(db, ada, sum, None).await;
        judgement::claim(db, "judge-1", NOW, LEASE).await.unwrap();
        let give_back = async |now| judgement::give_back_silent(db, now).await.unwrap();
        assert_eq!(
            give_back(NOW.after(LEASE)).await,
            0,
            "the lease has not ended"
        );
        assert_eq!(give_back(NOW.after(3 * LEASE)).await, 1);
        assert_eq!(state_of(db, remote).await, State::Queued);
        assert_eq!(state_of(db, local).await, State::Running);
        let failures: Option<Number> = db
            .first("SELECT MAX(failures) AS number FROM judgement", values![])
            .await
            .unwrap();
        assert_eq!(failures.unwrap().number, 0);
    });
}

#[test]
fn submission_that_ends_two_workers_is_set_aside() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        let workers = [
            (add_worker(db, "one").await, "one"),
            (add_worker(db, "two").await, "two"),
        ];
        // The same worker twice, or two workers.
        for (ending, expected) in [([0, 0], State::Queued), ([0, 1], State::Fault)] {
            let (submission, _) = submit(db, ada, sum, None).await;
            let languages = languages(db).await;
            let mut now = NOW;
            for index in ending {
                lease_to(db, workers[index], &languages, now).await;
                let later = now.after(3 * LEASE);
                assert_eq!(judgement::expire(db, later, LEASE).await.unwrap(), 1);
                now = later.after(LEASE);
            }
            assert_eq!(state_of(db, submission).await, expected);
            if expected == State::Queued {
                let (id, attempt) = lease_to(db, workers[1], &languages, NOW).await;
                let finished =
                    judgement::finish(db, id, attempt, &outcome(Verdict::Accepted, 1), NOW).await;
                assert!(finished.unwrap());
            }
        }
        assert!(!is_on_probation(db, workers[0].0).await);
    });
}

#[test]
fn named_process_queues_only_its_own_judgements_again() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Public).await;
        for worker in ["a/judge-1", "a/judge-2", "ab/judge-1", "judge-1"] {
            submit(db, ada, sum, None).await;
            judgement::claim(db, worker, NOW, LEASE)
                .await
                .unwrap()
                .unwrap();
        }
        for (process, released) in [("b", 0), ("a", 2), ("ab", 1), ("a", 0)] {
            assert_eq!(
                judgement::release(db, Some(process)).await.unwrap(),
                released,
                "{process}"
            );
        }
        assert_eq!(judgement::release(db, None).await.unwrap(), 1);
    });
}
