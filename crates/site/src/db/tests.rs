//! Each statement of each entity, on SQLite and on PostgreSQL.

mod jobs;
mod judging;
mod order;
mod participants;
pub(crate) mod parts;
mod passwords;
#[path = "../../tests/support/postgres.rs"]
mod postgres;
mod rights;
mod sets;
mod turns;

use super::judgement::{NewJudgement, Outcome};
use super::problem::{NewVersion, Visibility};
use super::submission::{self, Kind, NewSubmission};
use super::user::{NewUser, Role};
use super::*;
use crate::core::finals::{FinalMethod, Reveal};
use crate::core::time::Time;
use crate::core::verdict::Verdict;
use std::sync::atomic::{AtomicU64, Ordering};

const LEASE: Duration = Duration::from_secs(30);
const NOW: Time = Time(1_000_000_000);

/// How long each transaction waits before its commit, in milliseconds.
pub(crate) static COMMIT_DELAY_MS: AtomicU64 = AtomicU64::new(0);

/// Gives other transactions the time to read what this one is about to change.
pub(crate) async fn delay_commit() {
    let delay = COMMIT_DELAY_MS.load(Ordering::Relaxed);
    if delay > 0 {
        tokio::time::sleep(Duration::from_millis(delay)).await;
    }
}

/// Runs a test with a new database of each kind.
pub(crate) fn with_each(test: impl AsyncFn(&Db)) {
    let version = usize::try_from(migrate::known()).expect("a version");
    with_each_of_version(version, test);
}

/// Runs a test with a new database of each kind that an earlier version has created.
fn with_each_of_version(version: usize, test: impl AsyncFn(&Db)) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let directory = tempfile::tempdir().expect("a directory");
    runtime.block_on(async {
        let path = directory.path().join("site.db");
        let db = Db::sqlite(&path).await.expect("a database");
        assert_eq!(migrate::migrate_to(&db, version).await.expect("tables"), 0);
        test(&db).await;
        db.close().await;
        match postgres::database() {
            Ok(url) => {
                let db = Db::postgres(&url).await.expect("a database");
                assert_eq!(migrate::migrate_to(&db, version).await.expect("tables"), 0);
                test(&db).await;
                db.close().await;
            }
            #[allow(clippy::print_stderr, reason = "a skipped test names the reason")]
            Err(reason) => eprintln!("SKIPPED with PostgreSQL: {reason}"),
        }
    });
}

pub(crate) async fn add_user(db: &Db, login: &str, role: Role) -> i64 {
    let mut tx = db.begin().await.unwrap();
    let new = NewUser {
        login,
        name: "A name",
        password: "hash",
        role,
    };
    let id = user::insert(&mut tx, &new, NOW).await.unwrap();
    tx.commit().await.unwrap();
    id
}

fn new_version(problem_id: i64, digest: &str, user: i64) -> NewVersion<'_> {
    NewVersion {
        problem_id,
        digest,
        manifest: "{}",
        note: "",
        user,
    }
}

/// Adds a problem with one version. Returns their ids.
pub(crate) async fn add_problem(db: &Db, owner: i64, visibility: Visibility) -> (i64, i64) {
    let mut tx = db.begin().await.unwrap();
    let id = problem::insert(&mut tx, "Sum", visibility, owner, NOW)
        .await
        .unwrap();
    let version = problem::insert_version(&mut tx, &new_version(id, "digest", owner), NOW)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    (id, version)
}

/// Adds a submission with its first judgement. Returns their ids.
pub(crate) async fn submit(
    db: &Db,
    user_id: i64,
    (problem_id, version_id): (i64, i64),
    round_problem_id: Option<i64>,
) -> (i64, i64) {
    let mut tx = db.begin().await.unwrap();
    let participant_id = match round_problem_id {
        Some(id) => Some(participants::of_problem(&mut tx, id, user_id).await),
        None => None,
    };
    let new = NewSubmission {
        user_id,
        problem_id,
        round_problem_id,
        participant_id,
        language: "cpp20",
        kind: Kind::Normal,
        file_name: "a.cpp",
        source: b"int main() {}",
    };
    let submission_id = submission::insert(&mut tx, &new, NOW).await.unwrap();
    let new = NewJudgement {
        submission_id,
        version_id,
        user_id,
        priority: judgement::PRACTICE,
        is_first: true,
    };
    let judgement = judgement::insert(&mut tx, &new, NOW).await.unwrap();
    tx.commit().await.unwrap();
    (submission_id, judgement)
}

/// Gives a queued judgement the priority of a submission to a contest.
pub(crate) async fn into_contest(db: &Db, judgement: i64) {
    let mut tx = db.begin().await.unwrap();
    tx.execute(
        "UPDATE judgement SET priority = $2 WHERE id = $1",
        values![judgement, judgement::CONTEST],
    )
    .await
    .unwrap();
    tx.commit().await.unwrap();
}

/// Adds a worker on another machine.
pub(crate) async fn add_worker(db: &Db, name: &str) -> i64 {
    let mut tx = db.begin().await.unwrap();
    let key = format!("U{name}");
    let id = fleet_worker::insert(&mut tx, name, &key, NOW).await;
    tx.commit().await.unwrap();
    id.unwrap()
}

fn outcome(verdict: Verdict, score: i64) -> Outcome {
    Outcome {
        initial_verdict: Verdict::Accepted,
        verdict,
        score,
        max_score: Some(100),
        cpu_time_ns: Some(1),
        memory_bytes: None,
        as_expected: None,
        protocol: "{}".to_owned(),
    }
}

#[test]
fn migration_is_applied_once_and_newer_versions_are_rejected() {
    with_each(async |db| {
        assert_eq!(migrate::migrate(db).await.unwrap(), migrate::known());
        let mut tx = db.begin().await.unwrap();
        let newer = "INSERT INTO schema_version (version, applied_at) VALUES (99, 0)";
        tx.execute(newer, values![]).await.unwrap();
        tx.commit().await.unwrap();
        let refused = migrate::migrate(db).await;
        assert!(
            matches!(refused, Err(DbError::Newer { found: 99, .. })),
            "{refused:?}"
        );
    });
}

#[test]
fn users_have_unique_logins_in_any_case() {
    with_each(async |db| {
        assert!(!user::has_admin(db).await.unwrap());
        let id = add_user(db, "Ada", Role::Admin).await;
        assert!(user::has_admin(db).await.unwrap());
        let mut tx = db.begin().await.unwrap();
        let new = NewUser {
            login: "ada",
            name: "",
            password: "",
            role: Role::User,
        };
        let error = user::insert(&mut tx, &new, NOW).await.unwrap_err();
        assert!(error.is_duplicate(), "{error:?}");
        drop(tx);
        let found = user::by_login(db, "ADA").await.unwrap().unwrap();
        assert_eq!(
            (found.id, found.login.as_str(), found.role),
            (id, "Ada", Role::Admin)
        );
        let mut tx = db.begin().await.unwrap();
        user::update(&mut tx, id, Role::Teacher, Some(NOW))
            .await
            .unwrap();
        user::set_password(&mut tx, id, "other").await.unwrap();
        tx.commit().await.unwrap();
        let found = user::by_id(db, id).await.unwrap().unwrap();
        assert_eq!(
            (found.password.as_str(), found.disabled_at),
            ("other", Some(NOW))
        );
        assert!(!user::has_admin(db).await.unwrap());
        assert_eq!(user::page(db, 0, 10).await.unwrap().len(), 1);
        assert!(user::page(db, id, 10).await.unwrap().is_empty());
    });
}

#[test]
fn session_ends_by_time_by_request_and_with_its_user() {
    with_each(async |db| {
        let id = add_user(db, "ada", Role::User).await;
        let later = NOW.after(LEASE);
        let mut tx = db.begin().await.unwrap();
        for hash in [[1; 32], [2; 32], [3; 32]] {
            session::insert(&mut tx, hash, id, NOW, later)
                .await
                .unwrap();
        }
        tx.commit().await.unwrap();
        let user_of = async |hash| session::user(db, hash, NOW).await.unwrap();
        assert_eq!(user_of([1; 32]).await.unwrap().id, id);
        assert!(session::user(db, [1; 32], later).await.unwrap().is_none());
        let mut tx = db.begin().await.unwrap();
        assert_eq!(session::delete(&mut tx, [1; 32]).await.unwrap(), 1);
        tx.commit().await.unwrap();
        assert!(user_of([1; 32]).await.is_none() && user_of([2; 32]).await.is_some());
        let mut tx = db.begin().await.unwrap();
        user::update(&mut tx, id, Role::User, Some(NOW))
            .await
            .unwrap();
        tx.commit().await.unwrap();
        assert!(
            user_of([2; 32]).await.is_none(),
            "a disabled user has no session"
        );
        let mut tx = db.begin().await.unwrap();
        assert_eq!(session::delete_expired(&mut tx, NOW).await.unwrap(), 0);
        assert_eq!(session::delete_of_user(&mut tx, id).await.unwrap(), 2);
        tx.commit().await.unwrap();
    });
}

#[test]
fn problems_are_listed_by_visibility_and_versions_are_numbered() {
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::Teacher).await;
        let bob = add_user(db, "bob", Role::User).await;
        let public = add_problem(db, ada, Visibility::Public).await;
        add_problem(db, ada, Visibility::ContestOnly).await;
        add_problem(db, ada, Visibility::Private).await;
        let count = async |user, contest_only, all| {
            let page = problem::page(db, 0, user, contest_only, all, 10).await;
            page.unwrap().len()
        };
        assert_eq!(count(bob, false, false).await, 1);
        assert_eq!(count(bob, true, false).await, 2);
        assert_eq!(count(ada, false, false).await, 3);
        assert_eq!(count(bob, false, true).await, 3);
        let mut tx = db.begin().await.unwrap();
        let second = problem::insert_version(&mut tx, &new_version(public.0, "other", ada), NOW)
            .await
            .unwrap();
        problem::update(&mut tx, public.0, "New", Visibility::Private)
            .await
            .unwrap();
        tx.commit().await.unwrap();
        let current = problem::current_version(db, public.0)
            .await
            .unwrap()
            .unwrap();
        assert_eq!((current.id, current.number), (second, 2));
        let numbers: Vec<i64> = problem::versions(db, public.0)
            .await
            .unwrap()
            .iter()
            .map(|version| version.number)
            .collect();
        assert_eq!(numbers, [2, 1]);
        assert_eq!(
            problem::version(db, public.1)
                .await
                .unwrap()
                .unwrap()
                .digest,
            "digest"
        );
        let found = problem::by_id(db, public.0).await.unwrap().unwrap();
        assert_eq!(
            (found.name.as_str(), found.visibility),
            ("New", Visibility::Private)
        );
    });
}

#[test]
fn contest_has_rounds_problems_members_and_a_link() {
    use contest::{MemberRole, RoundFields, RoundProblemFields};
    with_each(async |db| {
        let ada = add_user(db, "ada", Role::Teacher).await;
        let bob = add_user(db, "bob", Role::User).await;
        let sum = add_problem(db, ada, Visibility::Private).await;
        let mut tx = db.begin().await.unwrap();
        let id = contest::insert(&mut tx, "Cup", contest::Visibility::Private, NOW)
            .await
            .unwrap();
        contest::join(&mut tx, id, ada, MemberRole::Owner, NOW)
            .await
            .unwrap();
        contest::join(&mut tx, id, ada, MemberRole::Contestant, NOW)
            .await
            .unwrap();
        let mut fields = RoundFields {
            name: "First".to_owned(),
            begins: Time::ALWAYS,
            ends: NOW,
            full_results: NOW,
            ranking_from: Time::NEVER,
        };
        let round = contest::insert_round(&mut tx, id, &fields).await.unwrap();
        fields.name = "Second".to_owned();
        let second = contest::insert_round(&mut tx, id, &fields).await.unwrap();
        fields.name = "Last".to_owned();
        contest::update_round(&mut tx, second, &fields)
            .await
            .unwrap();
        let mut fields = RoundProblemFields {
            version_id: sum.1,
            label: "A".to_owned(),
            name: "Sum".to_owned(),
            final_method: FinalMethod::Best,
            reveal: Reveal::Nothing,
        };
        let attached = contest::insert_round_problem(&mut tx, round, sum.0, &fields)
            .await
            .unwrap();
        fields.reveal = Reveal::Score;
        contest::update_round_problem(&mut tx, attached, &fields)
            .await
            .unwrap();
        contest::set_entry_link(&mut tx, id, [1; 32], NOW)
            .await
            .unwrap();
        contest::set_entry_link(&mut tx, id, [2; 32], NOW)
            .await
            .unwrap();
        tx.commit().await.unwrap();

        assert_eq!(
            contest::role(db, id, ada).await.unwrap(),
            Some(MemberRole::Owner)
        );
        assert_eq!(contest::role(db, id, bob).await.unwrap(), None);
        let rounds = contest::rounds(db, id).await.unwrap();
        assert_eq!(rounds[1].name, "Last");
        assert_eq!(
            (rounds[0].begins, rounds[0].ranking_from),
            (Time::ALWAYS, Time::NEVER)
        );
        let found = contest::round_problem(db, attached).await.unwrap().unwrap();
        assert_eq!((found.reveal, found.contest_id), (Reveal::Score, id));
        assert_eq!(contest::problems(db, id).await.unwrap().len(), 1);
        assert!(contest::round(db, round).await.unwrap().is_some());
        assert!(contest::by_entry_link(db, [1; 32]).await.unwrap().is_none());
        assert_eq!(
            contest::by_entry_link(db, [2; 32])
                .await
                .unwrap()
                .unwrap()
                .id,
            id
        );
        let pages = async |user, all| {
            contest::page(db, i64::MAX, user, all, 10)
                .await
                .unwrap()
                .len()
        };
        assert_eq!((pages(ada, false).await, pages(bob, false).await), (1, 0));
        assert_eq!(pages(bob, true).await, 1);

        let mut tx = db.begin().await.unwrap();
        contest::update(&mut tx, id, "Cup", contest::Visibility::Public)
            .await
            .unwrap();
        for zone in [None, Some("Europe/Berlin")] {
            contest::set_time_zone(&mut tx, id, zone).await.unwrap();
            let found = contest::by_id(&mut tx, id).await.unwrap().unwrap();
            assert_eq!(found.time_zone.as_deref(), zone);
            user::set_time_zone(&mut tx, bob, zone).await.unwrap();
            let found = user::by_id(&mut tx, bob).await.unwrap().unwrap();
            assert_eq!(found.time_zone.as_deref(), zone);
        }
        contest::join(&mut tx, id, bob, MemberRole::Contestant, NOW)
            .await
            .unwrap();
        contest::set_role(&mut tx, id, bob, MemberRole::Moderator)
            .await
            .unwrap();
        contest::delete_entry_link(&mut tx, id).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(pages(-1, false).await, 1);
        assert!(contest::by_entry_link(db, [2; 32]).await.unwrap().is_none());
        let members = contest::members(db, id).await.unwrap();
        assert_eq!(members[1].role, MemberRole::Moderator);
        let mut tx = db.begin().await.unwrap();
        assert_eq!(contest::leave(&mut tx, id, bob).await.unwrap(), 1);
        tx.commit().await.unwrap();
        assert!(contest::by_id(db, id).await.unwrap().is_some());

        let (submission, _) = submit(db, bob, sum, Some(attached)).await;
        let brief = submission::briefs(db, id, (0, i64::MAX)).await.unwrap();
        assert_eq!(
            (brief[0].id, brief[0].round_problem_id),
            (submission, attached)
        );
        for user in [None, Some(bob)] {
            let filter = submission::Filter {
                contest: Some(id),
                user,
                ..submission::Filter::default()
            };
            assert_eq!(submission::page(db, filter, 10).await.unwrap().len(), 1);
        }
        let filter = submission::Filter {
            problem: Some(sum.0),
            ..submission::Filter::default()
        };
        assert!(submission::page(db, filter, 10).await.unwrap().is_empty());
    });
}
