//! Random pairs of all requests that change something, at the same time, on each database.
//!
//! After each pair, statements of SQL check rules that no single request can break: an
//! administrator exists, each contest has an owner, and so on. No response may be a failure of the
//! site. A worker and the runner of jobs take part like requests.
//!
//! `MILLIBOX_PAIRS=2000` sets the number of pairs on each database, and `MILLIBOX_SEED` the random
//! numbers.

mod requests;

use crate::app::App;
use crate::blobs::Blobs;
use crate::core::party::Party;
use crate::core::password::Passwords;
use crate::core::time::Time;
use crate::core::token::Token;
use crate::core::verdict::Verdict;
use crate::db::api_token::{self, Scope};
use crate::db::judgement::{self, Failure, Outcome};
use crate::db::tests::{COMMIT_DELAY_MS, with_each};
use crate::db::user::{self, NewUser, Role};
use crate::db::{Db, Executor, contest, fault, fleet_worker, reset, session, setting, values};
use crate::jobs::JobRunner;
use crate::judging::languages::Language;
use crate::text::Locales;
use axum::Router;
use axum::http::StatusCode;
use axum::response::Response;
use http_body_util::BodyExt;
use millibox::Builder;
use millibox_languages::cache::Cache;
use millibox_languages::suite::Suites;
use millibox_worker::turns::Turns;
use requests::{Change, Objects};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::Barrier;
use tower::ServiceExt;

const PASSWORD: &str = "correct horse";
/// The number of pairs if the environment does not set it.
const PAIRS: usize = 100;
/// The number of pairs after which other users, contests and problems are used. Requests that
/// delete make the earlier ones useless after a while.
const GROUP: usize = 20;
/// How long a transaction of a pair waits before its commit, in milliseconds. The other one can
/// then read what the first one is about to change.
const COMMIT_DELAY: u64 = 8;
const LEASE: Duration = Duration::from_secs(60);

/// Rules that hold after each request. Each statement finds what breaks its rule.
const RULES: [(&str, &str); 10] = [
    (
        "a contest has an owner",
        "SELECT id FROM contest WHERE NOT EXISTS (SELECT user_id FROM membership
            WHERE contest_id = contest.id AND role = 'owner')",
    ),
    (
        "a submission has a current judgement",
        "SELECT id FROM submission WHERE NOT EXISTS (SELECT judgement.id FROM judgement
            WHERE submission_id = submission.id AND current = 1)",
    ),
    (
        "a submission has one current judgement",
        "SELECT one.id FROM judgement AS one JOIN judgement AS other
            ON other.submission_id = one.submission_id AND other.id > one.id
         WHERE one.current = 1 AND other.current = 1",
    ),
    (
        "a problem has a version",
        "SELECT id FROM problem WHERE NOT EXISTS (SELECT package_version.id FROM package_version
            WHERE problem_id = problem.id)",
    ),
    (
        "a number belongs to one version of a problem",
        "SELECT one.id FROM package_version AS one JOIN package_version AS other
            ON other.problem_id = one.problem_id AND other.number = one.number
         WHERE other.id > one.id",
    ),
    (
        "a login belongs to one user",
        "SELECT one.id FROM users AS one JOIN users AS other ON other.login_key = one.login_key
         WHERE other.id > one.id",
    ),
    (
        "a label belongs to one problem of a round",
        "SELECT one.id FROM round_problem AS one JOIN round_problem AS other
            ON other.round_id = one.round_id AND other.label = one.label
         WHERE other.id > one.id",
    ),
    (
        "a submission belongs to the contest of its participant",
        "SELECT submission.id FROM submission
         JOIN participant ON participant.id = submission.participant_id
         JOIN round_problem ON round_problem.id = submission.round_problem_id
         JOIN round ON round.id = round_problem.round_id
         WHERE participant.contest_id <> round.contest_id",
    ),
    (
        "an ended set of judgements has none that waits",
        "SELECT rejudging.id FROM rejudging JOIN judgement ON rejudging_id = rejudging.id
         WHERE rejudging.state <> 'open' AND judgement.state IN ('queued', 'running')",
    ),
    (
        "a job does not fail because of the database",
        "SELECT id FROM job_line WHERE line LIKE 'database: %'",
    ),
];

/// Pseudo-random numbers (SplitMix64).
pub struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).expect("a small number");
        usize::try_from(self.next() % bound).expect("a small number")
    }
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// A user with a session and a token for programs.
#[derive(Debug, Clone)]
struct Actor {
    id: i64,
    login: String,
    session: String,
    token: String,
}

/// One of the two things that happen at the same time.
#[derive(Debug, Clone)]
enum Act {
    Request(Change, Actor),
    /// A worker judges a submission, or fails to.
    Judge(bool),
    /// The runner of jobs does a job.
    Job,
}

/// The site in which a group of pairs runs.
struct Fixture {
    app: Arc<App>,
    router: Router,
    runner: Arc<JobRunner>,
    actors: Vec<Actor>,
    objects: Objects,
}

fn app(db: &Db, blobs: &Blobs, passwords: &Passwords) -> Arc<App> {
    let suites = Suites::builtin();
    let python = Language::new(suites.named("python3").expect("a suite"));
    Arc::new(App::new(
        db.clone(),
        blobs.clone(),
        vec![python],
        Locales::built_in(),
        passwords.clone(),
        None,
        false,
    ))
}

impl Fixture {
    async fn new(db: &Db, blobs: &Blobs, passwords: &Passwords, group: usize) -> Fixture {
        let app = app(db, blobs, passwords);
        let runner = JobRunner {
            measures_elsewhere: false,
            app: app.clone(),
            builder: Builder::default(),
            suites: Suites::builtin(),
            cache: Cache::none(),
            handle: Handle::current(),
            cpus: Vec::new(),
            turns: Arc::new(Turns::of(&[0])),
        };
        let mut world = Fixture {
            router: crate::http::router(app.clone()),
            app,
            runner: Arc::new(runner),
            actors: Vec::new(),
            objects: Objects::default(),
        };
        world.objects.group = group;
        world.add_users().await;
        world.prepare().await;
        world
    }

    fn db(&self) -> &Db {
        &self.app.db
    }

    /// Adds the only two administrators, two teachers and two contestants.
    async fn add_users(&mut self) {
        let hash = self
            .app
            .passwords
            .hash(Party::User(0), PASSWORD)
            .await
            .expect("a hash");
        let now = Time::now();
        let mut tx = self.db().begin().await.expect("a transaction");
        let group = self.objects.group;
        for (name, role) in [
            ("bob", Role::User),
            ("kim", Role::User),
            ("tea", Role::Teacher),
            ("joe", Role::Teacher),
            ("ada", Role::Admin),
            ("eve", Role::Admin),
        ] {
            let login = format!("{name}{group}");
            let new = NewUser {
                login: &login,
                name,
                password: &hash,
                role,
            };
            let id = user::insert(&mut tx, &new, now).await.expect("a user");
            let (session, token) = (Token::random(), Token::random());
            let later = now.after(LEASE * 60);
            session::insert(&mut tx, session.digest(), id, now, later)
                .await
                .expect("a session");
            api_token::insert(&mut tx, token.digest(), id, "t", Scope::Manage, now, later)
                .await
                .expect("a token");
            self.actors.push(Actor {
                id,
                login: login.clone(),
                session: session.hex(),
                token: token.hex(),
            });
        }
        let first = self.actors[0].id;
        tx.execute(
            "UPDATE users SET role = 'user' WHERE role = 'admin' AND id < $1",
            values![first],
        )
        .await
        .expect("no other administrator");
        tx.execute("DELETE FROM job_line", values![])
            .await
            .expect("no logs");
        let (link, sign_up) = (Token::random(), Token::random());
        let later = now.after(LEASE * 60);
        reset::insert(&mut tx, link.digest(), first, now, later)
            .await
            .expect("a link");
        self.objects.links.insert("reset", link.hex());
        let digest = crate::core::token::hex(&sign_up.digest());
        for (name, value) in [(setting::SIGN_UP, "link"), (setting::SIGN_UP_LINK, &digest)] {
            setting::set(&mut tx, name, value).await.expect("a setting");
        }
        self.objects.links.insert("sign-up", sign_up.hex());
        let worker = format!("worker-{group}");
        fleet_worker::insert(&mut tx, &worker, &worker, now)
            .await
            .expect("a worker");
        tx.commit().await.expect("a commit");
    }

    /// Lets the users make contests, problems and submissions.
    async fn prepare(&mut self) {
        let mut random = Random(7);
        let [bob, kim, tea, joe, ada] = [0, 1, 2, 3, 4].map(|index| self.actors[index].clone());
        let problems = [(&tea, "/problems/new"), (&joe, "/problems/new")];
        let contests = [
            (&ada, "/contests/new"),
            (&ada, "/contests/{id}/rounds"),
            (&ada, "/rounds/{id}/problems"),
            (&ada, "/contests/new"),
            (&ada, "/contests/{id}/rounds"),
            (&ada, "/rounds/{id}/problems"),
        ];
        for (actor, route) in problems.into_iter().chain(contests) {
            self.send(actor, route, &mut random).await;
        }
        let found = self
            .db()
            .rows("SELECT id FROM contest ORDER BY id DESC LIMIT 2", values![]);
        let found = found.await.expect("contests");
        let contests: Vec<i64> = found
            .iter()
            .map(|row| row.get("id").expect("an id"))
            .collect();
        let now = Time::now();
        let mut tx = self.db().begin().await.expect("a transaction");
        for contest in contests {
            for (actor, role) in [
                (&tea, contest::MemberRole::Owner),
                (&joe, contest::MemberRole::Owner),
                (&bob, contest::MemberRole::Contestant),
                (&kim, contest::MemberRole::Contestant),
            ] {
                contest::join(&mut tx, contest, actor.id, role, now)
                    .await
                    .expect("a member");
            }
            // Only the two teachers remain as owners.
            contest::leave(&mut tx, contest, ada.id)
                .await
                .expect("no member");
            crate::db::print::set_printing(&mut tx, contest, true)
                .await
                .expect("a printer");
            let entry = Token::random();
            contest::set_entry_link(&mut tx, contest, entry.digest(), now)
                .await
                .expect("a link");
            self.objects.links.insert("enter", entry.hex());
        }
        tx.commit().await.expect("a commit");
        for _ in 0..3 {
            for actor in [&bob, &kim] {
                self.send(actor, "/round-problems/{id}/submit", &mut random)
                    .await;
            }
        }
        for is_failure in [false, false, true] {
            self.judge(is_failure).await;
        }
        for (actor, route) in [
            (&bob, "/contests/{id}/clarifications"),
            (&ada, "/contests/{id}/announcements"),
            (&ada, "/contests/{id}/files"),
            (&ada, "/contests/{id}/canned-answers"),
            (&bob, "/contests/{id}/print"),
            (&ada, "/problems/{id}/statement"),
        ] {
            self.send(actor, route, &mut random).await;
        }
    }

    async fn send(&mut self, actor: &Actor, route: &str, random: &mut Random) {
        let db = self.app.db.clone();
        self.objects.read(&db).await;
        let change = Change::of(route, &self.objects, random);
        let answer = self.respond(&change, actor).await;
        let status = answer.status();
        let body = answer.into_body().collect().await.expect("a body");
        let body = String::from_utf8_lossy(&body.to_bytes()).into_owned();
        // Contestants may choose a contest in which they have not submitted anything.
        let is_contestant = self.actors[..2].iter().any(|one| one.id == actor.id);
        let is_done = status.is_success() || status.is_redirection() || is_contestant;
        assert!(
            is_done && !status.is_server_error(),
            "{status} {change:?} {body}"
        );
    }

    async fn respond(&self, change: &Change, actor: &Actor) -> Response {
        let mut request = change.request(&actor.session, &actor.token);
        let address: IpAddr = Ipv4Addr::LOCALHOST.into();
        request.extensions_mut().insert(address);
        let answer = self.router.clone().oneshot(request).await;
        answer.expect("an answer")
    }

    async fn judge(&self, is_failure: bool) {
        let (db, now) = (self.db(), Time::now());
        let task = judgement::claim(db, "w", now, LEASE).await.expect("a task");
        let Some(task) = task else {
            return;
        };
        if is_failure {
            let failure = Failure {
                kind: fault::Kind::Package,
                reason: "a test",
                has_ended: false,
            };
            let failed = judgement::fail(db, task.id, task.attempt, &failure, now).await;
            failed.expect("a failure");
            return;
        }
        let outcome = Outcome {
            initial_verdict: Verdict::Accepted,
            verdict: Verdict::Accepted,
            score: 100,
            max_score: Some(100),
            cpu_time_ns: Some(1),
            memory_bytes: None,
            as_expected: None,
            protocol: "{}".to_owned(),
        };
        let finished = judgement::finish(db, task.id, task.attempt, &outcome, now).await;
        finished.expect("a result");
    }

    async fn act(&self, act: &Act) -> String {
        match act {
            Act::Judge(is_failure) => {
                self.judge(*is_failure).await;
                String::new()
            }
            Act::Job => {
                let runner = self.runner.clone();
                let job = tokio::task::spawn_blocking(move || runner.run_next());
                job.await.expect("a job").expect("the database works");
                String::new()
            }
            Act::Request(change, actor) => {
                let answer = self.respond(change, actor).await;
                let status = answer.status();
                if status == StatusCode::UNPROCESSABLE_ENTITY || status.is_server_error() {
                    let body = answer.into_body().collect().await.expect("a body");
                    let body = String::from_utf8_lossy(&body.to_bytes()).into_owned();
                    return format!("{} {body}", status.as_u16());
                }
                status.as_u16().to_string()
            }
        }
    }

    /// Signs in again all users whose sessions were ended by earlier requests, except disabled
    /// users.
    async fn sign_in(&self) {
        let now = Time::now();
        for actor in &self.actors {
            let token = Token::of_hex(&actor.session).expect("a token");
            let found = session::user(self.db(), token.digest(), now).await;
            if found.expect("a session").is_some() {
                continue;
            }
            let found = user::by_id(self.db(), actor.id).await.expect("a user");
            if found.is_some_and(|user| user.disabled_at.is_none()) {
                let mut tx = self.db().begin().await.expect("a transaction");
                let later = now.after(LEASE * 60);
                session::delete(&mut tx, token.digest())
                    .await
                    .expect("no session");
                session::insert(&mut tx, token.digest(), actor.id, now, later)
                    .await
                    .expect("a session");
                tx.commit().await.expect("a commit");
            }
        }
    }

    /// Jobs that need a sandbox do not take part.
    async fn cancel_long_jobs(&self) {
        let mut tx = self.db().begin().await.expect("a transaction");
        let sql = "UPDATE job SET state = 'cancelled' WHERE state = 'queued'
            AND kind IN ('compile_statements', 'reset_limits')";
        tx.execute(sql, values![]).await.expect("no jobs");
        tx.commit().await.expect("a commit");
    }

    fn choose(&self, routes: &[String], random: &mut Random) -> Act {
        match random.below(routes.len() + 12) {
            0..=3 => Act::Judge(false),
            4 => Act::Judge(true),
            5..=11 => Act::Job,
            index => {
                let change = Change::of(&routes[index - 12], &self.objects, random);
                // Administrators may do most things; contestants have own submissions.
                let actor = [4, 5, 4, 5, 4, 5, 2, 3, 0, 1][random.below(10)];
                Act::Request(change, self.actors[actor].clone())
            }
        }
    }

    /// Chooses the act that happens next to the first one: a different act, the same act again, or
    /// the same act by a different user.
    fn choose_other(&self, first: &Act, routes: &[String], random: &mut Random) -> Act {
        match (random.below(5), first) {
            (0, first) => first.clone(),
            (1, Act::Request(change, _)) => {
                let actor = random.below(self.actors.len());
                let change = Change::of(&change.route, &self.objects, random);
                Act::Request(change, self.actors[actor].clone())
            }
            _ => self.choose(routes, random),
        }
    }

    /// Returns the acts of two administrators, or of two owners of a contest: each takes the other
    /// one's right.
    fn duel(&self, random: &mut Random) -> [Act; 2] {
        let is_contest = random.below(2) == 0;
        let contest = is_contest.then(|| self.objects.id("contests", random));
        let [first, second] = if is_contest { [2, 3] } else { [4, 5] };
        [(first, second), (second, first)].map(|(by, of)| {
            let (by, of) = (&self.actors[by], &self.actors[of]);
            Act::Request(Change::demotion(contest, of.id, &of.login), by.clone())
        })
    }

    async fn check(&self, pair: &str) {
        for (rule, sql) in RULES {
            let broken = self.db().rows(sql, values![]).await.expect("rows");
            let ids = broken.iter().map(|row| row.get("id").expect("an id"));
            let ids: Vec<i64> = ids.collect();
            assert!(ids.is_empty(), "{rule}: {ids:?} after {pair}");
        }
        let has_admin = user::has_admin(self.db()).await.expect("users");
        assert!(has_admin, "no administrator after {pair}");
    }
}

/// Lets two visitors create the first administrator with the same link.
async fn set_up(db: &Db, blobs: &Blobs, passwords: &Passwords) {
    let app = app(db, blobs, passwords);
    let path = app.setup_path().await.expect("users").expect("a link");
    let router = crate::http::router(app);
    let requests = ["one", "two"].map(|login| {
        let (router, path) = (router.clone(), path.clone());
        let body = format!("login={login}&name=A&password=correct+horse");
        tokio::spawn(async move {
            let request = axum::http::Request::post(path)
                .header("content-type", "application/x-www-form-urlencoded")
                .header("sec-fetch-site", "same-origin")
                .body(axum::body::Body::from(body));
            let answer = router.oneshot(request.expect("a request")).await;
            answer.expect("an answer").status()
        })
    });
    let mut statuses = Vec::new();
    for request in requests {
        statuses.push(request.await.expect("an answer"));
    }
    statuses.sort();
    assert_eq!(statuses, [StatusCode::SEE_OTHER, StatusCode::NOT_FOUND]);
}

#[test]
#[allow(clippy::print_stderr, reason = "the figures of a long run")]
fn pairs_of_changes_at_the_same_time_keep_all_rules() {
    let pairs = variable("MILLIBOX_PAIRS").map_or(PAIRS, |pairs| {
        usize::try_from(pairs).expect("a small number")
    });
    let clock = || u64::from(std::process::id()) ^ u64::try_from(Time::now().0).unwrap_or(0);
    let seed = variable("MILLIBOX_SEED").unwrap_or_else(clock);
    eprintln!("MILLIBOX_SEED={seed}");
    with_each(async |db| {
        let directory = tempfile::tempdir().expect("a directory");
        let blobs = Blobs::open(&directory.path().join("blobs")).expect("a directory");
        let passwords = Passwords::new(2).expect("a hash");
        set_up(db, &blobs, &passwords).await;
        let routes = requests::routes(&crate::http::router(app(db, &blobs, &passwords))).await;
        let mut random = Random(seed);
        let mut statuses = BTreeMap::<String, usize>::new();
        let mut successful = BTreeSet::new();
        let mut world = None;
        for number in 0..pairs {
            if number % GROUP == 0 {
                let new = Fixture::new(db, &blobs, &passwords, number / GROUP).await;
                world = Some(Arc::new(new));
            }
            let group = world.as_mut().expect("a site");
            group.sign_in().await;
            group.cancel_long_jobs().await;
            let changed = Arc::get_mut(group).expect("no other task");
            changed.objects.read(db).await;
            let acts = if random.below(10) == 0 {
                group.duel(&mut random)
            } else {
                let first = group.choose(&routes, &mut random);
                let second = group.choose_other(&first, &routes, &mut random);
                [first, second]
            };
            let barrier = Arc::new(Barrier::new(2));
            let tasks = acts.clone().map(|act| {
                let (group, barrier) = (group.clone(), barrier.clone());
                tokio::spawn(async move {
                    barrier.wait().await;
                    group.act(&act).await
                })
            });
            COMMIT_DELAY_MS.store(COMMIT_DELAY, Ordering::Relaxed);
            let mut answers = Vec::new();
            for task in tasks {
                answers.push(
                    task.await
                        .unwrap_or_else(|error| panic!("{error} {acts:#?}")),
                );
            }
            COMMIT_DELAY_MS.store(0, Ordering::Relaxed);
            let pair = format!("pair {number} of seed {seed}: {acts:#?} {answers:?}");
            for (act, answer) in acts.iter().zip(&answers) {
                if let (Act::Request(change, _), Some('2' | '3')) = (act, answer.chars().next()) {
                    successful.insert(change.route.clone());
                }
                let failed = answer.starts_with('5');
                assert!(!failed, "a request failed: {pair}");
                let status = answer.split(' ').next().unwrap_or_default();
                *statuses.entry(status.to_owned()).or_default() += 1;
            }
            group.check(&pair).await;
        }
        let never: Vec<_> = routes
            .iter()
            .filter(|route| !successful.contains(*route))
            .collect();
        eprintln!("{pairs} pairs of {} routes: {statuses:?}", routes.len());
        eprintln!("never successful: {never:?}");
    });
}
