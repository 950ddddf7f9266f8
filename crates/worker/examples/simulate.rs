//! Simulates many workers in one process, to measure what a large fleet costs the site and its
//! servers. A simulated worker sends the messages of a real one, but runs no program: each task
//! ends after a fixed time with the verdict `accepted`. `tests/fleet/measure.py scale` uses it.
//!
//! ```text
//! simulate URL DIRECTORY SLOTS MILLISECONDS
//! ```
//!
//! DIRECTORY has a file `NAME.key` for each worker.

use async_nats::Client;
use millibox_fleet::class::Class;
use millibox_fleet::connection::{Credentials, Server};
use millibox_fleet::introduction::{Introduction, Toolchain};
use millibox_fleet::message::{self, Claim, Reply, Request};
use millibox_fleet::queue::Task;
use millibox_fleet::result::{Outcome, Protocol, Test, Verdict};
use millibox_fleet::subject;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

type Failure = Box<dyn Error + Send + Sync>;

/// The language of all tasks.
const LANGUAGE: &str = "python3";
/// How long a request for a task waits, as that of a real worker.
const CLAIM_WAIT_MS: u64 = 4000;
const INTRODUCTION_INTERVAL: Duration = Duration::from_secs(60);
/// The pause after a request that the site does not serve.
const PAUSE: Duration = Duration::from_secs(1);
/// The tests of the problem.
const TESTS: usize = 3;

#[derive(Clone)]
struct Worker {
    client: Client,
    subject: String,
    slots: u16,
    duration: Duration,
    /// Held by the slot that requests a task.
    claiming: Arc<Mutex<()>>,
}

impl Worker {
    async fn send(&self, request: &Request) -> Result<Reply, Failure> {
        let bytes = message::encode(request)?;
        let reply = self
            .client
            .request(self.subject.clone(), bytes.into())
            .await?;
        Ok(message::decode(&reply.payload)?)
    }

    async fn introduce(self) -> Result<(), Failure> {
        let introduction = Introduction {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            slots: self.slots,
            classes: Class::ALL.to_vec(),
            toolchains: vec![Toolchain::new(LANGUAGE, "simulated")],
            calibration_ns: 1,
        };
        let request = Request::Introduce(Box::new(introduction));
        loop {
            let pause = match self.send(&request).await {
                Ok(Reply::Done) => INTRODUCTION_INTERVAL,
                _ => PAUSE,
            };
            tokio::time::sleep(pause).await;
        }
    }

    async fn work(self, slot: u16) -> Result<(), Failure> {
        let claim = Request::Claim(Claim {
            slot: format!("judge-{}", slot + 1),
            classes: Class::ALL.to_vec(),
            languages: vec![LANGUAGE.to_owned()],
            wait_ms: CLAIM_WAIT_MS,
        });
        loop {
            let claiming = self.claiming.lock().await;
            let reply = self.send(&claim).await;
            drop(claiming);
            match reply {
                Ok(Reply::Task(task)) => self.judge(&task).await?,
                Ok(Reply::NoTask) => {}
                _ => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    async fn judge(&self, task: &Task) -> Result<(), Failure> {
        let renewals = {
            let (worker, lease, interval) = (self.clone(), task.lease, task.renewal_interval());
            tokio::spawn(async move {
                loop {
                    let _ = worker.send(&Request::Renew { lease }).await;
                    tokio::time::sleep(interval).await;
                }
            })
        };
        tokio::time::sleep(self.duration).await;
        let tests: Vec<Test> = (0..TESTS).map(test).collect();
        let verdict = Verdict::Accepted;
        let lease = task.lease;
        self.send(&Request::SetInitial { lease, verdict }).await?;
        for from in 0..TESTS {
            let tests = tests[from..=from].to_vec();
            let of = TESTS;
            self.send(&Request::Show {
                lease,
                from,
                tests,
                of,
            })
            .await?;
        }
        let outcome = Box::new(Outcome {
            initial_verdict: verdict,
            verdict,
            score: 1_000_000,
            max_score: Some(1_000_000),
            cpu_time_ns: Some(20_000_000),
            memory_bytes: Some(8 << 20),
            as_expected: None,
            protocol: Protocol {
                tests,
                ..Protocol::default()
            },
        });
        self.send(&Request::Finish { lease, outcome }).await?;
        renewals.abort();
        Ok(())
    }
}

fn test(number: usize) -> Test {
    Test {
        name: format!("secret/{}", number + 1),
        group: "secret".to_owned(),
        initial: number == 0,
        verdict: Some(Verdict::Accepted),
        cpu_time_ns: Some(20_000_000),
        cpu_time_limit_ns: Some(10_000_000_000),
        memory_bytes: Some(8 << 20),
        memory_limit_bytes: Some(256 << 20),
        ..Test::default()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, directory, slots, milliseconds] = &arguments[..] else {
        return Err("usage: simulate URL DIRECTORY SLOTS MILLISECONDS".into());
    };
    let server = Server {
        url: url.clone(),
        ca: None,
    };
    let slots = slots.parse()?;
    let duration = Duration::from_millis(milliseconds.parse()?);
    let mut running = tokio::task::JoinSet::new();
    for entry in Path::new(directory).read_dir()? {
        let own = Credentials::read(&entry?.path())?;
        let worker = Worker {
            client: server.connect_worker(&own).await?,
            subject: subject::request(own.name()),
            slots,
            duration,
            claiming: Arc::default(),
        };
        running.spawn(worker.clone().introduce());
        for slot in 0..slots {
            running.spawn(worker.clone().work(slot));
        }
    }
    // The first error ends all of them.
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    Ok(())
}
