//! Judging on other machines, with a real nats-server and real workers.

#[allow(unreachable_pub, dead_code, reason = "tests share the module")]
mod support;

use async_nats::{Client, ConnectOptions, Event};
use futures_util::StreamExt;
use millibox_fleet::class::Class;
use millibox_fleet::connection::{Credentials, Server};
use millibox_fleet::introduction::{Introduction, Toolchain};
use millibox_fleet::message::{self, Claim, Rejection, Reply, Request};
use millibox_fleet::queue::{Lease, Task};
use millibox_fleet::result::{Failure, FailureKind, Outcome, Protocol, Verdict};
use millibox_fleet::subject;
use rustix::process::{Pid, Signal, kill_process};
use sqlx::{Connection, PgConnection, Row, SqliteConnection};
use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use support::contest::{Contest, contestant, first_admin, make_contest_of, submit};
use support::nats::{self, Nats};
use support::{Browser, Site, archive, files_of_sum, with_each_database};

const RIGHT: &[u8] = b"a, b = map(int, input().split())\nprint(a + b)\n";
const WRONG: &[u8] = b"print(3)\n";
/// It passes the first test and never ends on the second one. It sleeps, so it needs no CPU time.
const ENDLESS: &[u8] = b"import time\na, b = map(int, input().split())\nprint(a + b)\n\
    while a != 1: time.sleep(1)\n";
/// It sleeps, so it needs no CPU time.
const SLOW: &[u8] =
    b"import time\ntime.sleep(1.5)\na, b = map(int, input().split())\nprint(a + b)\n";
/// A timeout so long that only a hang exceeds it.
const HANG_TIMEOUT: Duration = Duration::from_secs(60);

/// The names of the workers that each site has.
const WORKERS: [&str; 4] = ["a", "b", "c", "d"];

/// A site that serves workers, and the message server between them.
struct Fleet {
    site: Site,
    nats: Nats,
    admin: Browser,
    contest: Contest,
}

/// The state of a submission's latest judgement.
#[derive(Debug, Clone, PartialEq)]
struct Judgement {
    state: String,
    attempt: i64,
    failures: i64,
    worker: Option<String>,
    verdict: Option<String>,
    initial_verdict: Option<String>,
    score: Option<i64>,
    max_score: Option<i64>,
    ended_at: Option<i64>,
    protocol: Option<String>,
}

impl Judgement {
    /// The result, without times and figures.
    fn result(&self) -> (Option<String>, Option<String>, Option<i64>, Protocol) {
        let protocol = self.protocol.as_deref().expect("a result");
        let mut protocol: Protocol = serde_json::from_str(protocol).expect("a protocol");
        for test in &mut protocol.tests {
            (test.cpu_time_ns, test.memory_bytes) = (None, None);
            // The reason of an exceeded limit contains the time.
            if test.verdict == Some(Verdict::TimeLimit) {
                test.reason = String::new();
            }
        }
        let verdicts = (self.verdict.clone(), self.initial_verdict.clone());
        (verdicts.0, verdicts.1, self.score, protocol)
    }
}

/// A row of either database.
enum AnyRow {
    Sqlite(sqlx::sqlite::SqliteRow),
    Postgres(sqlx::postgres::PgRow),
}

/// The first row of a statement with one value.
fn row<T: Send>(
    site: &Site,
    sql: &'static str,
    value: i64,
    read: impl FnOnce(AnyRow) -> T + Send,
) -> T {
    let file = format!("sqlite://{}", site.data().join("site.db").display());
    let database = site.database();
    let find = async || match database {
        Some(url) => {
            let mut connection = PgConnection::connect(url).await.expect("PostgreSQL");
            let query = sqlx::query(sql).bind(value);
            AnyRow::Postgres(query.fetch_one(&mut connection).await.expect("a row"))
        }
        None => {
            let mut connection = SqliteConnection::connect(&file).await.expect("SQLite");
            let query = sqlx::query(sql).bind(value);
            AnyRow::Sqlite(query.fetch_one(&mut connection).await.expect("a row"))
        }
    };
    // The caller may be a task of another runtime.
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| read(block_on(find())));
        thread.join().expect("a row")
    })
}

fn judgement(site: &Site, submission: i64) -> Judgement {
    const SQL: &str = "SELECT state, attempt, failures, worker, verdict, initial_verdict, score,
            max_score, ended_at, protocol
         FROM judgement WHERE submission_id = $1 ORDER BY id DESC LIMIT 1";
    macro_rules! read {
        ($row:expr, $($field:ident)*) => {
            Judgement { $($field: $row.get(stringify!($field)),)* }
        };
    }
    row(site, SQL, submission, |row| match row {
        AnyRow::Sqlite(row) => read!(row, state attempt failures worker verdict initial_verdict
            score max_score ended_at protocol),
        AnyRow::Postgres(row) => read!(row, state attempt failures worker verdict initial_verdict
            score max_score ended_at protocol),
    })
}

/// Runs a future to its end.
fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(future)
}

/// Waits until a value exists.
fn eventually<T>(what: &str, mut value: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + HANG_TIMEOUT;
    loop {
        if let Some(value) = value() {
            return value;
        }
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The package, with tests that wait for no time limit.
fn patient_package() -> Vec<u8> {
    let mut files = files_of_sum();
    files.retain(|(name, _)| *name != ".timelimit");
    files.push((".timelimit", "3600\n"));
    archive(&files)
}

/// Whether nats-server is installed. Otherwise, the test is skipped.
fn has_nats() -> bool {
    match nats::program() {
        Ok(_) => true,
        Err(reason) => {
            millibox_tests::skip(&reason);
            false
        }
    }
}

fn leaked(texts: Vec<String>) -> &'static [&'static str] {
    let texts: Vec<&'static str> = texts
        .into_iter()
        .map(|text| &*Box::leak(text.into_boxed_str()))
        .collect();
    Box::leak(texts.into_boxed_slice())
}

impl Fleet {
    /// Starts a site that does not judge itself, and adds the workers.
    fn start(database: Option<String>, lease: u64, package: &[u8]) -> Fleet {
        Fleet::start_with(database, lease, package, false)
    }

    fn start_with(database: Option<String>, lease: u64, package: &[u8], is_tls: bool) -> Fleet {
        let mut site = Site::start(database);
        let mut admin = first_admin(&site);
        let contest = make_contest_of(&mut admin, package);
        let nats = Fleet::serve(&mut site, lease, is_tls);
        let admin = admin.moved(&site);
        Fleet {
            site,
            nats,
            admin,
            contest,
        }
    }

    /// Starts a message server, and the site again, which then serves workers.
    fn serve(site: &mut Site, lease: u64, is_tls: bool) -> Nats {
        let workers = WORKERS.iter().map(|name| (*name, vec!["add", *name]));
        for (name, arguments) in workers.chain([("site", vec!["site"])]) {
            let file = site.run(&["fleet"], &arguments).output();
            site.write_secret(&format!("{name}.key"), &file);
        }
        let rules = site.run(&["fleet"], &["rules"]).output();
        let nats = Nats::start(&site.path(""), &rules, is_tls);
        let mut options = vec![
            "--nats".to_owned(),
            nats.url(),
            "--nats-creds".to_owned(),
            "site.key".to_owned(),
            "--judge-here".to_owned(),
            "no".to_owned(),
            "--lease".to_owned(),
            lease.to_string(),
        ];
        if is_tls {
            options.extend(["--nats-ca".to_owned(), nats::CERTIFICATE.to_owned()]);
        }
        site.kill();
        site.set_options(leaked(options));
        site.restart();
        nats
    }

    fn worker(&self, name: &str) -> Worker {
        self.worker_with(name, &[])
    }

    /// Starts a worker that judges one submission at a time.
    fn worker_with(&self, name: &str, options: &[&str]) -> Worker {
        self.start_worker(name, &[&["--slots", "1"], options].concat())
    }

    fn start_worker(&self, name: &str, options: &[&str]) -> Worker {
        self.run_worker(name, options, self.site.companion("millibox-worker"))
    }

    /// Starts a worker whose directory for temporary files is a disk of 1 MiB. Needs root.
    fn worker_with_small_disk(&self, name: &str) -> Worker {
        const MOUNT: &str = "mount -t tmpfs -o size=1m,mode=1777 none \"$TMPDIR\" && exec \"$@\"";
        let disk = self.site.path("disk");
        std::fs::create_dir(&disk).expect("a new directory");
        let worker = self.site.companion("millibox-worker");
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "--", "sh", "-c", MOUNT, "sh"])
            .arg(worker.get_program())
            .args(worker.get_args())
            .env("HOME", self.site.path(""))
            .env("TMPDIR", disk)
            .current_dir(self.site.path(""))
            .stdin(Stdio::null());
        self.run_worker(name, &["--slots", "1"], command)
    }

    fn run_worker(&self, name: &str, options: &[&str], mut command: Command) -> Worker {
        command
            .args([
                "--nats",
                &self.nats.url(),
                "--creds",
                &format!("{name}.key"),
            ])
            .args(["--cache", &format!("cache-{name}")])
            .args(["--backend", "rlimit"])
            .args(options)
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("a worker");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("a line of the worker");
        assert!(line.contains(&format!("judging as {name}")), "{line}");
        Worker { child }
    }

    fn contestant(&mut self, login: &str) -> Browser {
        contestant(&self.site, &mut self.admin, &self.contest, login)
    }

    /// The latest judgement of a submission.
    fn judgement(&self, submission: i64) -> Judgement {
        judgement(&self.site, submission)
    }

    /// The number of current judgements of a submission.
    fn current(&self, submission: i64) -> i64 {
        const SQL: &str = "SELECT COUNT(*) AS count FROM judgement
             WHERE submission_id = $1 AND current = 1";
        row(&self.site, SQL, submission, |row| match row {
            AnyRow::Sqlite(row) => row.get("count"),
            AnyRow::Postgres(row) => row.get("count"),
        })
    }

    /// Waits until the result of a submission is stored. Pages show the initial verdict earlier.
    fn wait_until_accepted(&self, submission: i64) {
        eventually("the submission has no result", || {
            let found = self.judgement(submission);
            (found.state == "done").then(|| {
                assert_eq!(found.verdict.as_deref(), Some("accepted"), "{found:?}");
            })
        });
    }

    /// Waits until a worker judges a submission.
    fn wait_until_running(&self, submission: i64, worker: &str) {
        eventually("the submission is not judged", || {
            let found = self.judgement(submission);
            let is_own = found.worker.as_deref() == Some(&format!("{worker}/judge-1"));
            (found.state == "running" && is_own).then_some(())
        });
    }

    /// Connects with the key of a worker. The events of the connection are collected.
    async fn client(&self, name: &str) -> (Client, Arc<Mutex<Vec<String>>>) {
        self.client_with(name, Duration::from_secs(3)).await
    }

    /// Like [`Fleet::client`], with the time that it waits for a reply.
    async fn client_with(
        &self,
        name: &str,
        timeout: Duration,
    ) -> (Client, Arc<Mutex<Vec<String>>>) {
        let file = std::fs::read_to_string(self.site.path(&format!("{name}.key")));
        let file = file.expect("a file with a key");
        let seed = file.lines().find_map(|line| line.strip_prefix("seed: "));
        let events = Arc::new(Mutex::new(Vec::new()));
        let collected = events.clone();
        let client = ConnectOptions::new()
            .nkey(seed.expect("a key").to_owned())
            .custom_inbox_prefix(subject::reply_prefix(&name.parse().expect("a name")))
            .request_timeout(Some(timeout))
            .event_callback(move |event: Event| {
                collected.lock().expect("events").push(event.to_string());
                std::future::ready(())
            })
            .connect(self.nats.url())
            .await;
        (client.expect("a connection"), events)
    }
}

/// A running worker.
struct Worker {
    child: Child,
}

impl Worker {
    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("a running worker");
    }

    /// Waits for the end. Returns the exit status.
    fn end(&mut self) -> Option<i32> {
        let child = &mut self.child;
        let status = eventually("the worker does not end", || {
            child.try_wait().expect("a child")
        });
        status.code()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request under the name of a worker.
async fn send(client: &Client, name: &str, request: &Request) -> Option<Reply> {
    let subject = subject::request(&name.parse().expect("a name"));
    let encoded = message::encode(request).expect("a message");
    let reply = client.request(subject, encoded.into()).await.ok()?;
    Some(message::decode(&reply.payload).expect("a reply"))
}

/// Requests a task for a worker.
async fn claim(client: &Client, name: &str, classes: &[Class]) -> Option<Reply> {
    send(client, name, &patient_claim(classes, 1000)).await
}

/// A request for a task, with the time that it waits.
fn patient_claim(classes: &[Class], wait_ms: u64) -> Request {
    Request::Claim(Claim {
        slot: "test".to_owned(),
        classes: classes.to_vec(),
        languages: vec!["python3".to_owned()],
        wait_ms,
    })
}

fn task(reply: Option<Reply>) -> Task {
    match reply {
        Some(Reply::Task(task)) => *task,
        reply => panic!("no task: {reply:?}"),
    }
}

/// Changes the database of a site.
fn change(site: &Site, sql: &'static str) {
    let file = format!("sqlite://{}", site.data().join("site.db").display());
    block_on(async {
        let mut connection = SqliteConnection::connect(&file).await.expect("SQLite");
        let changed = sqlx::query(sql).execute(&mut connection).await;
        changed.expect("a changed row");
    });
}

/// Introduces a worker with a version of Python.
async fn introduce(client: &Client, name: &str, python: &str) {
    let introduction = Introduction {
        version: "0".to_owned(),
        slots: 1,
        classes: Class::ALL.to_vec(),
        toolchains: vec![Toolchain::new("python3", python)],
        calibration_ns: 1,
    };
    let reply = send(client, name, &Request::Introduce(Box::new(introduction))).await;
    assert_eq!(reply, Some(Reply::Done));
}

fn wrong_outcome() -> Outcome {
    Outcome {
        initial_verdict: Verdict::WrongAnswer,
        verdict: Verdict::WrongAnswer,
        score: 0,
        max_score: None,
        cpu_time_ns: None,
        memory_bytes: None,
        as_expected: None,
        protocol: Protocol::default(),
    }
}

/// Leases end after seconds, so a busy machine would end them too early (see .ci/test).
mod alone {
    use super::*;

    #[test]
    fn worker_reports_the_results_that_the_site_has_itself() {
        if !has_nats() {
            return;
        }
        with_each_database(|database| {
            let mut files = files_of_sum();
            files.retain(|(name, _)| *name != ".timelimit");
            files.push((".timelimit", "1\n"));
            let mut site = Site::start(database);
            let mut admin = first_admin(&site);
            let contest = make_contest_of(&mut admin, &archive(&files));
            let mut bob = contestant(&site, &mut admin, &contest, "bob");
            let sources: [(&str, &[u8]); 5] = [
                ("a.py", RIGHT),
                ("a.py", WRONG),
                ("a.py", b"raise ValueError\n"),
                ("a.py", b"while True: pass\n"),
                ("a.c", b"this is no program\n"),
            ];
            let path = format!("/round-problems/{}/submit", contest.problem);
            let submit_all = |bob: &mut Browser| {
                sources.map(|source| bob.upload(&path, &[("language", "")], source).id())
            };
            let here = submit_all(&mut bob);
            for id in here {
                eventually("the submission has no result", || {
                    (judgement(&site, id).state == "done").then_some(())
                });
            }
            let nats = Fleet::serve(&mut site, 10, false);
            let fleet = Fleet {
                admin: admin.moved(&site),
                site,
                nats,
                contest,
            };
            let there = submit_all(&mut bob.moved(&fleet.site));
            let _worker = fleet.worker("a");
            for (here, there) in here.into_iter().zip(there) {
                let remote = eventually("the submission has no result", || {
                    let found = fleet.judgement(there);
                    (found.state == "done").then_some(found)
                });
                let local = fleet.judgement(here);
                assert_eq!(local.state, "done");
                assert_eq!(local.worker.as_deref(), Some("judge-1"));
                assert_eq!(remote.worker.as_deref(), Some("a/judge-1"));
                assert_eq!(remote.result(), local.result());
                assert_eq!(remote.max_score, local.max_score);
            }
        });
    }

    #[test]
    fn killed_worker_is_replaced_and_one_judgement_is_current() {
        if !has_nats() {
            return;
        }
        // PostgreSQL if it is installed: another test uses both databases.
        let database = support::postgres::database().ok();
        let mut fleet = Fleet::start(database, 3, &patient_package());
        let mut bob = fleet.contestant("bob");
        let mut first = fleet.worker("a");
        let id = submit(&mut bob, &fleet.contest, SLOW).id();
        fleet.wait_until_running(id, "a");
        // The lease is renewed once, so the attempt has begun.
        std::thread::sleep(Duration::from_millis(500));
        first.signal(Signal::KILL);
        first.end();
        let _second = fleet.worker("b");
        fleet.wait_until_accepted(id);
        let found = fleet.judgement(id);
        // On a busy machine, the second worker may lose its lease, too.
        assert!(found.attempt >= 2 && found.failures >= 1, "{found:?}");
        assert_eq!(found.worker.as_deref(), Some("b/judge-1"));
        assert_eq!(fleet.current(id), 1);
    }

    #[test]
    fn report_of_a_worker_that_was_stopped_for_longer_than_its_lease_is_refused() {
        if !has_nats() {
            return;
        }
        let mut fleet = Fleet::start(None, 3, &patient_package());
        let mut bob = fleet.contestant("bob");
        let first = fleet.worker("a");
        let id = submit(&mut bob, &fleet.contest, SLOW).id();
        fleet.wait_until_running(id, "a");
        std::thread::sleep(Duration::from_millis(500));
        first.signal(Signal::STOP);
        let mut second = fleet.worker("b");
        fleet.wait_until_accepted(id);
        let before = fleet.judgement(id);
        assert_eq!(before.worker.as_deref(), Some("b/judge-1"));
        second.signal(Signal::TERM);
        assert_eq!(second.end(), Some(0));
        first.signal(Signal::CONT);
        // The worker gives up the old attempt, and judges the next submission.
        let next = submit(&mut bob, &fleet.contest, RIGHT).id();
        fleet.wait_until_accepted(next);
        assert_eq!(fleet.judgement(next).worker.as_deref(), Some("a/judge-1"));
        assert_eq!(fleet.judgement(id), before);
        assert_eq!(fleet.current(id), 1);
    }

    #[test]
    fn messages_of_an_old_attempt_change_nothing() {
        if !has_nats() {
            return;
        }
        let mut fleet = Fleet::start(None, 3, &patient_package());
        let mut bob = fleet.contestant("bob");
        let id = submit(&mut bob, &fleet.contest, RIGHT).id();
        block_on(async {
            let (client, _) = fleet.client("a").await;
            let other = claim(&client, "a", &[Class::Practice]).await;
            assert_eq!(other, Some(Reply::NoTask));
            // A lease that was never renewed ends without a failure: no worker received the task.
            let lost = task(claim(&client, "a", &[Class::Contest]).await);
            assert_eq!((lost.source.as_slice(), lost.makes_way), (RIGHT, false));
            eventually("the lease does not end", || {
                let found = fleet.judgement(id);
                (found.state == "queued").then(|| assert_eq!(found.failures, 0))
            });
            let old = task(claim(&client, "a", &Class::ALL).await).lease;
            assert_eq!(old.attempt, lost.lease.attempt + 1);
            let renewed = send(&client, "a", &Request::Renew { lease: old }).await;
            assert_eq!(renewed, Some(Reply::Done));
            let _worker = fleet.worker_with("b", &["--classes", "contest,practice"]);
            fleet.wait_until_accepted(id);
            let before = fleet.judgement(id);
            assert!(before.attempt >= 3 && before.failures >= 1, "{before:?}");
            let forged = Lease {
                attempt: before.attempt,
                ..old
            };
            for lease in [lost.lease, old, forged] {
                let outcome = Box::new(wrong_outcome());
                for request in [
                    Request::Finish { lease, outcome },
                    Request::Renew { lease },
                    Request::Part { lease, offset: 0 },
                    Request::SetInitial {
                        lease,
                        verdict: Verdict::WrongAnswer,
                    },
                ] {
                    let reply = send(&client, "a", &request).await;
                    assert_eq!(reply, Some(Reply::Lost), "{request:?}");
                }
            }
            assert_eq!(fleet.judgement(id), before);
        });
    }

    #[test]
    fn greedy_workers_leave_places_for_the_requests_of_others() {
        if !has_nats() {
            return;
        }
        let mut fleet = Fleet::start(None, 30, &patient_package());
        let mut bob = fleet.contestant("bob");
        block_on(async {
            // Each sends more than its share.
            let mut greedy = tokio::task::JoinSet::new();
            for name in ["a", "b", "c"] {
                let (client, _) = fleet.client_with(name, HANG_TIMEOUT).await;
                for _ in 0..800 {
                    let client = client.clone();
                    greedy.spawn(async move {
                        let request = patient_claim(&[Class::Practice], 10_000);
                        send(&client, name, &request).await
                    });
                }
            }
            let first = greedy.join_next().await.map(Result::unwrap);
            assert_eq!(first, Some(Some(Reply::Rejected(Rejection::Busy))));
            let (client, _) = fleet.client_with("d", HANG_TIMEOUT).await;
            let id = submit(&mut bob, &fleet.contest, RIGHT).id();
            let request = patient_claim(&[Class::Contest], 10_000);
            let task = task(send(&client, "d", &request).await);
            assert_eq!(task.submission, id);
            let mut busy = 1;
            while let Some(reply) = greedy.join_next().await {
                match reply.unwrap() {
                    Some(Reply::Rejected(Rejection::Busy)) => busy += 1,
                    reply => assert_eq!(reply, Some(Reply::NoTask)),
                }
            }
            assert_eq!(busy, 3 * (800 - 768));
        });
    }

    #[test]
    fn slots_of_a_worker_wait_with_one_request() {
        if !has_nats() {
            return;
        }
        let mut fleet = Fleet::start(None, 30, &patient_package());
        // The test replies in its place.
        fleet.site.kill();
        block_on(async {
            let own = Credentials::read(&fleet.site.path("site.key")).unwrap();
            let server = Server {
                url: fleet.nats.url(),
                ca: None,
            };
            let site = server.connect_site(Some(&own), || {}).await.unwrap();
            let mut requests = site.subscribe(subject::all_requests()).await.unwrap();
            site.flush().await.unwrap();
            let mut worker = fleet.start_worker("a", &["--slots", "4"]);
            let mut slots = HashSet::new();
            let mut waiting = None;
            while slots.len() < 3 {
                // A second request would arrive in this time.
                let wait = Duration::from_millis(300);
                let limit = if waiting.is_some() {
                    wait
                } else {
                    HANG_TIMEOUT
                };
                let next = tokio::time::timeout(limit, requests.next()).await;
                let (to, reply) = match next {
                    Ok(message) => {
                        let message = message.unwrap();
                        match message::decode(&message.payload).unwrap() {
                            Request::Claim(claim) => {
                                let before = waiting.replace(message.reply.unwrap());
                                assert_eq!(before, None, "a second slot waits at the site");
                                slots.insert(claim.slot);
                                continue;
                            }
                            _ => (message.reply.unwrap(), Reply::Done),
                        }
                    }
                    Err(_) => (waiting.take().expect("a request"), Reply::NoTask),
                };
                let reply = message::encode(&reply).unwrap();
                site.publish(to, reply.into()).await.unwrap();
            }
            worker.signal(Signal::TERM);
            let reply = message::encode(&Reply::NoTask).unwrap();
            site.publish(waiting.unwrap(), reply.into()).await.unwrap();
            site.flush().await.unwrap();
            assert_eq!(worker.end(), Some(0));
        });
    }

    #[test]
    fn restart_of_message_server_and_site_loses_no_submission() {
        if !has_nats() {
            return;
        }
        let mut fleet = Fleet::start(None, 30, &patient_package());
        let mut bob = fleet.contestant("bob");
        let _worker = fleet.worker("a");
        let first = submit(&mut bob, &fleet.contest, SLOW).id();
        fleet.wait_until_running(first, "a");
        fleet.nats.kill();
        let second = submit(&mut bob, &fleet.contest, RIGHT).id();
        fleet.nats.restart();
        for id in [first, second] {
            fleet.wait_until_accepted(id);
            assert_eq!(fleet.current(id), 1);
        }
        // A worker keeps its lease when the site is started again.
        let third = submit(&mut bob, &fleet.contest, SLOW).id();
        fleet.wait_until_running(third, "a");
        fleet.site.kill_and_restart();
        fleet.wait_until_accepted(third);
        let found = fleet.judgement(third);
        // If the worker had not renewed its first lease yet, there may be a second attempt.
        assert!(found.failures == 0 && found.attempt <= 2, "{found:?}");
    }

    /// A worker ends a judgement while the message server is away for longer than the lease.
    fn result_survives_outage(lease: u64, begin: fn(&mut Nats), end: fn(&mut Nats), seconds: u64) {
        if !has_nats() {
            return;
        }
        let mut fleet = Fleet::start(None, lease, &patient_package());
        let mut bob = fleet.contestant("bob");
        let _worker = fleet.worker("a");
        let id = submit(&mut bob, &fleet.contest, SLOW).id();
        fleet.wait_until_running(id, "a");
        // The lease is renewed once, so the attempt has begun.
        std::thread::sleep(Duration::from_millis(500));
        begin(&mut fleet.nats);
        std::thread::sleep(Duration::from_secs(seconds));
        let before = fleet.judgement(id);
        assert_eq!((&before.state[..], before.failures), ("running", 0));
        end(&mut fleet.nats);
        fleet.wait_until_accepted(id);
        let found = fleet.judgement(id);
        assert_eq!((found.attempt, found.failures), (1, 0), "{found:?}");
    }

    #[test]
    fn result_survives_an_outage_of_the_message_server() {
        result_survives_outage(3, Nats::kill, Nats::restart, 8);
    }

    #[test]
    fn result_survives_a_hang_of_the_message_server() {
        let stop = |nats: &mut Nats| nats.signal(Signal::STOP);
        let resume = |nats: &mut Nats| nats.signal(Signal::CONT);
        // The site notices after 10 s that the server does not reply.
        result_survives_outage(15, stop, resume, 22);
    }

    #[test]
    fn processes_of_a_site_share_workers_and_one_may_end() {
        if !has_nats() {
            return;
        }
        let database = match support::postgres::database() {
            Ok(database) => database,
            Err(reason) => return millibox_tests::skip(&reason),
        };
        let mut fleet = Fleet::start(Some(database), 3, &patient_package());
        let mut bob = fleet.contestant("bob");
        let named = |name: &str| -> Vec<String> {
            let options = fleet
                .site
                .options()
                .iter()
                .map(|option| (*option).to_owned());
            options
                .chain(["--process".to_owned(), name.to_owned()])
                .collect()
        };
        let (first, second) = (leaked(named("one")), leaked(named("two")));
        fleet.site.kill();
        fleet.site.set_options(first);
        fleet.site.restart();
        let beside = fleet.site.beside(second);
        bob = bob.moved(&fleet.site);
        let mut other = beside.browser(&bob);
        let mut admin = beside.browser(&fleet.admin);
        let _workers = [fleet.worker("a"), fleet.worker("b")];
        let ids: Vec<i64> = (0..12)
            .map(|number| match number % 2 {
                0 => submit(&mut bob, &fleet.contest, RIGHT).id(),
                _ => submit(&mut other, &fleet.contest, RIGHT).id(),
            })
            .collect();
        for id in &ids {
            fleet.wait_until_accepted(*id);
            assert_eq!((fleet.judgement(*id).failures, fleet.current(*id)), (0, 1));
        }
        // Each process has served some requests, and each shows the progress that workers report.
        let endless = submit(&mut bob, &fleet.contest, ENDLESS).id();
        let page = format!("/submissions/{endless}");
        admin.wait_for(&page, "1 of 2 tests are judged");
        fleet
            .admin
            .clone()
            .moved(&fleet.site)
            .wait_for(&page, "1 of 2 tests are judged");
        let slow = submit(&mut other, &fleet.contest, SLOW).id();
        fleet.site.kill();
        fleet.wait_until_accepted(slow);
        let cancel = format!("{page}/cancel");
        assert_eq!(admin.post(&cancel, &[]).status, 303);
        let last = submit(&mut other, &fleet.contest, RIGHT).id();
        fleet.wait_until_accepted(last);
    }

    #[test]
    fn worker_that_fails_where_others_succeed_returns_after_a_check() {
        if !has_nats() {
            return;
        }
        let mut fleet = Fleet::start(None, 30, &patient_package());
        let mut bob = fleet.contestant("bob");
        for _ in 0..2 {
            let id = submit(&mut bob, &fleet.contest, RIGHT).id();
            block_on(async {
                let (client, _) = fleet.client("a").await;
                let task = task(claim(&client, "a", &Class::ALL).await);
                let failure = Failure {
                    kind: FailureKind::Machine,
                    reason: "the disk of box a is full".to_owned(),
                };
                let lease = task.lease;
                let reply = send(&client, "a", &Request::Fail { lease, failure }).await;
                assert_eq!(reply, Some(Reply::Done));
            });
            let mut other = fleet.worker("b");
            fleet.wait_until_accepted(id);
            other.signal(Signal::TERM);
            other.end();
        }
        let page = fleet.admin.get("/workers").body;
        assert!(page.contains("on probation"), "{page}");
        assert!(page.contains("the disk of box a is full"), "{page}");
        let id = submit(&mut bob, &fleet.contest, RIGHT).id();
        block_on(async {
            let (client, _) = fleet.client("a").await;
            let reply = claim(&client, "a", &Class::ALL).await;
            assert_eq!(reply, Some(Reply::NoTask), "it judges nothing");
        });
        // The check would be due after a minute.
        change(
            &fleet.site,
            "UPDATE fleet_worker SET check_at = 0 WHERE name = 'a'",
        );
        let _worker = fleet.worker("a");
        fleet.wait_until_accepted(id);
        let page = fleet.admin.get("/workers").body;
        assert!(!page.contains("on probation"), "{page}");
    }

    #[test]
    fn package_that_does_not_fit_on_the_disk_of_a_worker_is_the_fault_of_the_machine() {
        const SQL: &str = "SELECT judgement.fault AS reason, fault.kind AS kind
             FROM judgement JOIN fault ON fault.id = judgement.fault_id
             WHERE judgement.submission_id = $1";
        if !has_nats() {
            return;
        }
        if !rustix::process::geteuid().is_root() {
            millibox_tests::skip("only root can mount a small disk");
            return;
        }
        let large = " ".repeat(2 << 20);
        let mut files = files_of_sum();
        files.push(("attachments/large.txt", &large));
        let mut fleet = Fleet::start(None, 30, &archive(&files));
        let _worker = fleet.worker_with_small_disk("a");
        let mut bob = fleet.contestant("bob");
        let id = submit(&mut bob, &fleet.contest, RIGHT).id();
        let failed = eventually("the attempts do not fail", || {
            let found = fleet.judgement(id);
            (found.state == "fault").then_some(found)
        });
        assert_eq!(failed.failures, 3, "{failed:?}");
        let (reason, kind): (String, String) = row(&fleet.site, SQL, id, |row| match row {
            AnyRow::Sqlite(row) => (row.get("reason"), row.get("kind")),
            AnyRow::Postgres(row) => (row.get("reason"), row.get("kind")),
        });
        assert!(reason.contains("No space left on device"), "{reason}");
        assert_eq!(kind, "machine", "{reason}");
    }

    #[test]
    fn worker_with_an_unusual_version_does_not_judge_that_language() {
        if !has_nats() {
            return;
        }
        let mut fleet = Fleet::start(None, 30, &patient_package());
        let mut bob = fleet.contestant("bob");
        let options = fleet
            .site
            .options()
            .iter()
            .map(|option| (*option).to_owned());
        let same = ["--toolchains".to_owned(), "same".to_owned()];
        let options = leaked(options.chain(same).collect());
        fleet.site.kill();
        fleet.site.set_options(options);
        fleet.site.restart();
        bob = bob.moved(&fleet.site);
        fleet.admin = fleet.admin.clone().moved(&fleet.site);
        let id = submit(&mut bob, &fleet.contest, RIGHT).id();
        block_on(async {
            let [a, b, c] = ["a", "b", "c"].map(|name| fleet.client_with(name, HANG_TIMEOUT));
            let ((a, _), (b, _), (c, _)) = tokio::join!(a, b, c);
            let requested = claim(&a, "a", &Class::ALL).await;
            assert_eq!(requested, Some(Reply::NoTask), "its version is unknown");
            introduce(&a, "a", "Python 3.9").await;
            introduce(&b, "b", "Python 3.11").await;
            introduce(&c, "c", "Python 3.11").await;
            // The site knows the versions of all workers after some seconds.
            tokio::time::sleep(Duration::from_secs(6)).await;
            let refused = claim(&a, "a", &Class::ALL).await;
            assert_eq!(refused, Some(Reply::NoTask), "most have another version");
            assert_eq!(task(claim(&b, "b", &Class::ALL).await).submission, id);
        });
        let page = fleet.admin.get("/workers").body;
        assert!(page.contains("does not judge that language"), "{page}");
    }

    #[test]
    fn workers_measure_the_time_limits() {
        if !has_nats() {
            return;
        }
        with_each_database(|database| {
            let mut files = files_of_sum();
            let solutions: [(&str, &[u8]); 2] = [
                // It needs more than the limit of the package.
                (
                    "submissions/accepted/slow.py",
                    b"import time\nwhile time.process_time() < 1.5: pass\n\
                      a, b = map(int, input().split())\nprint(a + b)\n",
                ),
                ("submissions/accepted/fast.py", RIGHT),
            ];
            for (name, source) in &solutions {
                files.push((name, std::str::from_utf8(source).expect("a text")));
            }
            files.retain(|(name, _)| *name != ".timelimit");
            files.push((".timelimit", "1\n"));
            let mut fleet = Fleet::start(database, 30, &archive(&files));
            let start = |fleet: &mut Fleet| {
                let path = format!("/problems/{}/limits", fleet.contest.package);
                let job = fleet.admin.post(&path, &[]);
                job.location.expect("a job")
            };
            // No worker runs yet.
            let job = start(&mut fleet);
            fleet.admin.wait_for(&job, "waiting for a worker");
            let mut first = fleet.worker_with("a", &["--classes", "practice,model"]);
            let _second = fleet.worker_with("b", &["--classes", "contest"]);
            let page = fleet
                .admin
                .wait_until(&job, |body| body.contains(">done<"))
                .body;
            assert!(page.contains("accepted/slow.py: measured"), "{page}");
            assert!(page.contains("accepted/fast.py: measured"), "{page}");
            // The limit follows from the slow one: at least 1.5 s, times 2 by default.
            let limit = page.split("limit ").nth(1).expect("a limit");
            let limit: f64 = limit
                .split(' ')
                .next()
                .expect("a number")
                .parse()
                .expect("seconds");
            assert!(limit >= 3.0, "{page}");
            first.signal(Signal::TERM);
            first.end();

            // A job that is stopped removes its measurement, and the worker judges again.
            let job = start(&mut fleet);
            fleet.admin.wait_for(&job, "waiting for a worker");
            let stopped = fleet.admin.post(&format!("{job}/cancel"), &[]);
            assert_eq!(stopped.status, 303, "{stopped:#?}");
            fleet
                .admin
                .wait_until(&job, |body| body.contains(">cancelled<"));
            let mut bob = fleet.contestant("bob");
            let id = submit(&mut bob, &fleet.contest, RIGHT).id();
            fleet.wait_until_accepted(id);
        });
    }

    #[test]
    fn worker_shows_its_tests_obeys_a_stop_and_finishes_before_it_ends() {
        if !has_nats() {
            return;
        }
        let mut fleet = Fleet::start(None, 3600, &patient_package());
        let mut bob = fleet.contestant("bob");
        let mut worker = fleet.worker("a");
        let endless = submit(&mut bob, &fleet.contest, ENDLESS).id();
        fleet.wait_until_running(endless, "a");
        let page = format!("/submissions/{endless}");
        fleet.admin.wait_for(&page, "1 of 2 tests are judged");
        let right = submit(&mut bob, &fleet.contest, RIGHT).id();
        let cancel = format!("/submissions/{endless}/cancel");
        assert_eq!(fleet.admin.post(&cancel, &[]).status, 303);
        // The lease is renewed much later, so only the message can stop the worker.
        fleet.wait_until_accepted(right);
        assert_eq!(fleet.judgement(endless).state, "cancelled");

        let slow = submit(&mut bob, &fleet.contest, SLOW).id();
        fleet.wait_until_running(slow, "a");
        worker.signal(Signal::TERM);
        let next = submit(&mut bob, &fleet.contest, RIGHT).id();
        assert_eq!(worker.end(), Some(0));
        let found = fleet.judgement(slow);
        assert_eq!((found.state.as_str(), found.attempt), ("done", 1));
        assert_eq!(found.verdict.as_deref(), Some("accepted"));
        let waits = fleet.judgement(next);
        assert_eq!((waits.state.as_str(), waits.attempt), ("queued", 0));
    }

    #[test]
    fn worker_can_neither_read_nor_send_messages_of_another_worker() {
        if !has_nats() {
            return;
        }
        let mut fleet = Fleet::start(None, 30, &patient_package());
        let mut bob = fleet.contestant("bob");
        let id = submit(&mut bob, &fleet.contest, RIGHT).id();
        block_on(async {
            let (client, events) = fleet.client("a").await;
            let denied = |what: &str| {
                eventually(what, || {
                    let events = events.lock().expect("events");
                    let mut events = events.iter().map(|event| event.to_lowercase());
                    let is_denied = |event: &String| {
                        event.contains("permissions violation")
                            && event.contains(&what.to_lowercase())
                    };
                    events.any(|event| is_denied(&event)).then_some(())
                });
            };
            // Requests under the name of b, which would take the task.
            assert_eq!(claim(&client, "b", &Class::ALL).await, None);
            denied("millibox.v1.request.b");
            for subject in [
                "millibox.v1.reply.b.>",
                "millibox.v1.stop.b",
                "millibox.v1.request.*",
                "millibox.>",
            ] {
                let _subscriber = client.subscribe(subject).await.expect("a subscriber");
                client.flush().await.expect("a flush");
                denied(subject);
            }
            for subject in ["millibox.v1.stop.b", "millibox.v1.reply.b.x"] {
                let sent = client.publish(subject, "{}".into()).await;
                sent.expect("a message");
                client.flush().await.expect("a flush");
                denied(subject);
            }
            assert_eq!(fleet.judgement(id).state, "queued");
            // The site does not send a reply to the subject of another worker.
            let (other, _) = fleet.client("b").await;
            let mut replies = other
                .subscribe("millibox.v1.reply.b.forged")
                .await
                .expect("replies");
            let encoded = message::encode(&Request::WayUsed).expect("a message");
            let forged = client.publish_with_reply(
                "millibox.v1.request.a",
                "millibox.v1.reply.b.forged",
                encoded.into(),
            );
            forged.await.expect("a message");
            client.flush().await.expect("a flush");
            let received = futures_util::StreamExt::next(&mut replies);
            let received = tokio::time::timeout(Duration::from_secs(1), received).await;
            assert!(received.is_err(), "{received:?}");
            // A lease belongs to its worker.
            let found = task(claim(&other, "b", &Class::ALL).await);
            let lease = found.lease;
            let part = Request::Part { lease, offset: 0 };
            assert_eq!(send(&client, "a", &part).await, Some(Reply::Lost));
            let sent = send(&other, "b", &part).await;
            let is_package =
                matches!(&sent, Some(Reply::Part { bytes }) if bytes.starts_with(b"PK"));
            assert!(is_package, "{sent:?}");
            // A disabled worker is rejected at once.
            fleet.site.run(&["fleet"], &["disable", "b"]).output();
            let rejected = Some(Reply::Rejected(Rejection::Worker));
            assert_eq!(send(&other, "b", &part).await, rejected);
            let listed = fleet.site.run(&["fleet"], &["list"]).output();
            assert!(listed.contains("b\tdisabled"), "{listed}");
            let rules = fleet.site.run(&["fleet"], &["rules"]).output();
            assert!(!rules.contains("request.b"), "{rules}");
            // A client without a key is rejected by the server.
            let stranger = async_nats::connect(fleet.nats.url()).await;
            assert!(stranger.is_err());
        });
    }

    #[test]
    fn worker_trusts_neither_an_unknown_server_nor_a_package_with_a_wrong_digest() {
        if !has_nats() {
            return;
        }
        if !nats::has_openssl() {
            return millibox_tests::skip("openssl is not installed; install the package openssl");
        }
        let package = patient_package();
        let mut fleet = Fleet::start_with(None, 30, &package, true);
        let mut bob = fleet.contestant("bob");
        let id = submit(&mut bob, &fleet.contest, RIGHT).id();
        // Without the certificate, this worker does not connect.
        let stranger = fleet.worker("b");
        let digest = millibox_fleet::digest::Digest::of(&package);
        let blob = fleet.site.data().join("blobs").join(digest.as_str());
        let mut changed = std::fs::read(&blob).expect("the package");
        assert_eq!(changed, package);
        let last = changed.len() - 1;
        changed[last] ^= 1;
        std::fs::write(&blob, &changed).expect("a changed package");
        std::thread::sleep(Duration::from_secs(2));
        let waits = fleet.judgement(id);
        assert_eq!((waits.state.as_str(), waits.attempt), ("queued", 0));
        drop(stranger);
        let _worker = fleet.worker_with("a", &["--nats-ca", nats::CERTIFICATE]);
        fleet.admin.wait_for("/faults", "/faults/1");
        let fault = fleet.admin.get("/faults/1");
        assert!(
            fault.body.contains("was sent with the digest"),
            "{fault:#?}"
        );
        let found = fleet.judgement(id);
        assert_eq!((found.state.as_str(), found.failures), ("fault", 3));
        std::fs::write(&blob, &package).expect("the right package");
        assert_eq!(fleet.admin.post("/faults/1/close", &[]).status, 303);
        fleet.wait_until_accepted(id);
    }

    #[test]
    fn page_shows_the_machines_of_workers_and_disables_them() {
        if !has_nats() {
            return;
        }
        let mut fleet = Fleet::start(None, 3600, &patient_package());
        let page = fleet.admin.get("/workers").body;
        assert_eq!(page.matches("never seen").count(), WORKERS.len(), "{page}");
        let _worker = fleet.worker("a");
        let page = fleet.admin.wait_for("/workers", ">ready<").body;
        assert!(
            page.contains("0 / 1") && page.contains("Python 3"),
            "{page}"
        );
        assert!(!page.contains("Different versions"), "{page}");
        let mut bob = fleet.contestant("bob");
        let endless = submit(&mut bob, &fleet.contest, ENDLESS).id();
        fleet.wait_until_running(endless, "a");
        fleet.admin.wait_for("/workers", "1 / 1");

        block_on(async {
            let (client, _) = fleet.client("b").await;
            let mut introduction = Introduction {
                version: "<b>9.9</b>".to_owned(),
                slots: 7,
                classes: vec![Class::Rejudge],
                toolchains: vec![Toolchain::new("python3", "Python 2.4")],
                calibration_ns: 1_000_000,
            };
            let introduce = |one: &Introduction| Request::Introduce(Box::new(one.clone()));
            let reply = send(&client, "b", &introduce(&introduction)).await;
            assert_eq!(reply, Some(Reply::Done));
            introduction.toolchains = vec![Toolchain::new("", "")];
            let reply = send(&client, "b", &introduce(&introduction)).await;
            assert_eq!(reply, Some(Reply::Rejected(Rejection::Request)));
            let page = fleet.admin.get("/workers").body;
            assert!(page.contains("Different versions"), "{page}");
            assert!(page.contains("Python 2.4 (b)"), "{page}");
            assert!(page.contains("&lt;b&gt;9.9") && !page.contains("<b>9.9"));

            let action = page.split("action=\"/workers/").nth(2).expect("a form");
            let id = action.split('"').next().expect("an id");
            let path = format!("/workers/{id}");
            let name = page.split("Disable ").nth(2).expect("a button");
            assert!(name.starts_with("b<"), "{name}");
            assert_eq!(fleet.admin.post(&path, &[]).status, 303);
            let reply = claim(&client, "b", &Class::ALL).await;
            assert_eq!(reply, Some(Reply::Rejected(Rejection::Worker)));
            let page = fleet.admin.get("/workers").body;
            assert!(page.contains(">disabled<"), "{page}");
            assert!(!page.contains("Different versions"), "{page}");
            let fields = [("enabled", "1")];
            assert_eq!(fleet.admin.post(&path, &fields).status, 303);
            let reply = claim(&client, "b", &Class::ALL).await;
            assert_eq!(reply, Some(Reply::NoTask));
        });
        let listed = fleet.site.run(&["fleet"], &["list"]).output();
        assert!(listed.contains("<b>9.9</b>\t7 slots"), "{listed}");
        let stop = format!("/submissions/{endless}/cancel");
        assert_eq!(fleet.admin.post(&stop, &[]).status, 303);
    }

    #[test]
    fn options_that_do_not_fit_are_rejected() {
        let site = Site::start(None);
        let taken = site.run(&["fleet"], &["add", "box-1"]);
        assert!(taken.output().contains("seed: SU"));
        for (arguments, reason) in [
            (&["add", "box-1"][..], "is taken"),
            (&["add", "site"], "belongs to the site"),
            (&["add", "Box"], "no name of a worker"),
            (&["disable", "box-2"], "no worker named box-2"),
            (&["rules"], "has no key"),
        ] {
            let ran = site.run(&["fleet"], arguments);
            assert_ne!(ran.code, Some(0), "{ran:#?}");
            assert!(ran.error.contains(reason), "{ran:#?}");
        }
        let mut alone = site.companion("millibox-site");
        alone.args(["--data", "other", "--judge-here", "no"]);
        let output = alone.output().expect("a program");
        assert!(!output.status.success(), "{output:?}");
    }
}
