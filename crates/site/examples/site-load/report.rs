//! The measurements.

use crate::cpu::Usage;
use millibox_site_client::{Answer, Result, Site};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The requests of one kind.
#[derive(Debug, Default)]
struct Kind {
    milliseconds: Vec<f64>,
    bytes: usize,
    errors: usize,
    first_error: Option<String>,
}

/// All requests.
#[derive(Debug, Default)]
pub struct Records {
    kinds: Mutex<BTreeMap<&'static str, Kind>>,
    events: std::sync::atomic::AtomicU64,
}

impl Records {
    fn change(&self, kind: &'static str, change: impl FnOnce(&mut Kind)) {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        change(kinds.entry(kind).or_default());
    }

    /// Counts an error.
    pub fn fail(&self, kind: &'static str, error: &str) {
        self.change(kind, |kind| {
            kind.errors += 1;
            kind.first_error.get_or_insert_with(|| error.to_owned());
        });
    }

    /// Adds a measurement of a request without a body.
    pub fn add(&self, kind: &'static str, passed: Duration) {
        let passed = passed.as_secs_f64() * 1000.0;
        self.change(kind, |kind| kind.milliseconds.push(passed));
    }

    /// Counts an event.
    pub fn event(&self) {
        self.events
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    /// Measures a request. An answer with another status is an error.
    pub async fn time(
        &self,
        kind: &'static str,
        status: u16,
        request: impl Future<Output = Result<Answer>>,
    ) -> Option<Answer> {
        let begin = Instant::now();
        let answer = request.await;
        let passed = begin.elapsed().as_secs_f64() * 1000.0;
        match answer.and_then(|answer| answer.expect(status)) {
            Ok(answer) => {
                self.change(kind, |kind| {
                    kind.milliseconds.push(passed);
                    kind.bytes += answer.bytes;
                });
                Some(answer)
            }
            Err(error) => {
                self.fail(kind, &error.to_string());
                None
            }
        }
    }
}

/// A part of the test, with the CPU time at its start.
pub struct Phase {
    name: &'static str,
    begin: Instant,
    usage: Usage,
}

impl Phase {
    /// Begins a part.
    pub fn begin(name: &'static str, site: &Site) -> Phase {
        Phase {
            name,
            begin: Instant::now(),
            usage: Usage::now(site),
        }
    }
}

/// The result of the test.
#[derive(Debug)]
pub struct Report {
    database: &'static str,
    phases: Vec<(&'static str, f64, Usage)>,
    submissions: Value,
    day: Value,
    pages: BTreeMap<&'static str, Value>,
    events: u64,
}

/// A quantile of sorted numbers; 0 without any.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let index = (share * sorted.len() as f64).ceil() as usize;
    let index = index.saturating_sub(1).min(last);
    sorted.get(index).copied().unwrap_or_default()
}

impl Report {
    /// An empty report.
    pub fn new(is_postgres: bool) -> Report {
        Report {
            database: if is_postgres { "PostgreSQL" } else { "SQLite" },
            phases: Vec::new(),
            submissions: Value::Null,
            day: Value::Null,
            pages: BTreeMap::new(),
            events: 0,
        }
    }

    /// Ends a part.
    pub fn add(&mut self, phase: Phase, site: &Site) {
        let usage = Usage::now(site).since(phase.usage);
        let wall = phase.begin.elapsed().as_secs_f64();
        self.phases.push((phase.name, wall, usage));
    }

    /// Adds the figures of the submissions at the end of the test.
    pub fn submissions(&mut self, wanted: usize, sent: usize, lost: usize, judging: Duration) {
        self.submissions = json!({
            "planned": wanted, "accepted": sent, "lost": lost + (wanted - sent.min(wanted)),
            "judged_after_s": round(judging.as_secs_f64()),
        });
    }

    /// Adds the figures of a contest.
    pub fn day(&mut self, figures: Value) {
        self.day = figures;
    }

    /// All requests.
    pub fn pages(&mut self, records: &Records) {
        let kinds = records.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, kind) in kinds.iter() {
            let mut sorted = kind.milliseconds.clone();
            sorted.sort_by(f64::total_cmp);
            let value = json!({
                "requests": sorted.len(), "errors": kind.errors, "first_error": kind.first_error,
                "p50_ms": round(quantile(&sorted, 0.5)), "p99_ms": round(quantile(&sorted, 0.99)),
                "max_ms": round(quantile(&sorted, 1.0)),
                "bytes": kind.bytes / sorted.len().max(1),
            });
            self.pages.insert(name, value);
        }
        self.events = records.events.load(std::sync::atomic::Ordering::Relaxed);
    }

    /// The report for programs.
    pub fn json(&self) -> Value {
        let phases: Vec<Value> = self
            .phases
            .iter()
            .map(|(name, wall, usage)| {
                json!({
                    "phase": name, "seconds": round(*wall), "cpu_pages_s": round(usage.pages),
                    "cpu_judging_s": round(usage.judging), "cpu_client_s": round(usage.client),
                    "cpu_database_s": round(usage.database),
                })
            })
            .collect();
        let cpus = std::thread::available_parallelism().map_or(0, usize::from);
        json!({
            "database": self.database, "cpus": cpus, "kernel": kernel(), "pages": self.pages,
            "events": self.events, "submissions": self.submissions, "phases": phases,
            "day": self.day,
        })
    }

    /// The report for people, as tables in Markdown.
    pub fn table(&self) -> String {
        let mut text = String::new();
        let mut line = |line: String| {
            // Writing to memory succeeds.
            let _ = writeln!(text, "{line}");
        };
        line(format!("{}, Linux {}\n", self.database, kernel()));
        line("| page | requests | errors | p50 ms | p99 ms | max ms | bytes |".to_owned());
        line("| --- | ---: | ---: | ---: | ---: | ---: | ---: |".to_owned());
        for (name, page) in &self.pages {
            let cell = |key: &str| page[key].to_string();
            let keys = ["requests", "errors", "p50_ms", "p99_ms", "max_ms", "bytes"];
            let cells: Vec<String> = keys.map(cell).to_vec();
            line(format!("| {name} | {} |", cells.join(" | ")));
            if let Some(error) = page["first_error"].as_str() {
                line(format!("\n{name}: {error}\n"));
            }
        }
        line(format!(
            "\nEvents of rankings and submissions: {}",
            self.events
        ));
        match &self.day {
            Value::Null => line(format!("Submissions: {}\n", self.submissions)),
            day => line(format!("Contest: {day:#}\n")),
        }
        line("| phase | s | CPU pages | CPU judging | CPU database | CPU client |".to_owned());
        line("| --- | ---: | ---: | ---: | ---: | ---: |".to_owned());
        for (name, wall, usage) in &self.phases {
            line(format!(
                "| {name} | {wall:.1} | {:.1} | {:.1} | {:.1} | {:.1} |",
                usage.pages, usage.judging, usage.database, usage.client
            ));
        }
        text
    }
}

fn kernel() -> String {
    let release = rustix::system::uname();
    release.release().to_string_lossy().into_owned()
}

/// Milliseconds with one decimal.
pub fn milliseconds(duration: Duration) -> f64 {
    round(duration.as_secs_f64() * 1000.0)
}

fn round(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}
