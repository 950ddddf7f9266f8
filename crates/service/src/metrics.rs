//! Figures of the service for Prometheus.

use crate::core::execution::ExecutionReport;
use crate::core::queue::Load;
use millibox::Outcome;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Labels of a counted execution.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: String,
    interface: String,
}

/// Labels of a counted judging.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VerdictLabels {
    verdict: String,
}

/// Labels of a counted request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InterfaceLabels {
    interface: String,
}

/// All figures.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    executions: Family<OutcomeLabels, Counter>,
    refusals: Family<InterfaceLabels, Counter>,
    judgings: Family<VerdictLabels, Counter>,
    sandbox_errors: Counter,
    queued: Histogram,
    setup: Histogram,
    run: Histogram,
    queue_length: Gauge,
    running: Gauge,
    running_memory: Gauge,
    /// Executions by outcome, in the order of [`OUTCOME_NAMES`], from all interfaces.
    totals: [AtomicU64; OUTCOME_NAMES.len()],
    refused: AtomicU64,
}

/// The names of all outcomes in answers and metrics.
pub const OUTCOME_NAMES: [&str; 10] = [
    "exited",
    "signaled",
    "cpu_time_limit",
    "real_time_limit",
    "memory_limit",
    "output_limit",
    "cancelled",
    "killed",
    "not_started",
    "sandbox_error",
];

/// Counts since the start, over all interfaces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Executions by outcome, in the order of [`OUTCOME_NAMES`].
    pub executions: [u64; OUTCOME_NAMES.len()],
    /// Requests that were not admitted.
    pub refused: u64,
}

impl Totals {
    /// Executions with any outcome.
    pub fn executed(&self) -> u64 {
        self.executions.iter().sum()
    }
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics::new()
    }
}

impl Metrics {
    /// All figures at zero.
    pub fn new() -> Metrics {
        let seconds = || Histogram::new(exponential_buckets(0.000_5, 2.0, 18));
        let mut metrics = Metrics {
            registry: Registry::with_prefix("millibox"),
            executions: Family::default(),
            refusals: Family::default(),
            judgings: Family::default(),
            sandbox_errors: Counter::default(),
            queued: seconds(),
            setup: seconds(),
            run: seconds(),
            queue_length: Gauge::default(),
            running: Gauge::default(),
            running_memory: Gauge::default(),
            totals: Default::default(),
            refused: AtomicU64::new(0),
        };
        let registry = &mut metrics.registry;
        registry.register(
            "executions",
            "Executed programs by outcome and interface",
            metrics.executions.clone(),
        );
        registry.register(
            "judgings",
            "Judged submissions by verdict",
            metrics.judgings.clone(),
        );
        registry.register(
            "refusals",
            "Requests that were not admitted",
            metrics.refusals.clone(),
        );
        registry.register(
            "sandbox_errors",
            "Executions that failed because of the sandbox or the service",
            metrics.sandbox_errors.clone(),
        );
        for (name, help, histogram) in [
            ("queued", "Time in the queue", &metrics.queued),
            (
                "setup",
                "Time from admission to the first execution",
                &metrics.setup,
            ),
            ("run", "Real time of executions", &metrics.run),
        ] {
            registry.register_with_unit(name, help, Unit::Seconds, histogram.clone());
        }
        registry.register(
            "queue_length",
            "Requests that wait",
            metrics.queue_length.clone(),
        );
        registry.register("running", "Requests that run", metrics.running.clone());
        registry.register_with_unit(
            "running_memory",
            "The sum of the memory limits of running requests",
            Unit::Bytes,
            metrics.running_memory.clone(),
        );
        metrics
    }

    /// Counts an execution.
    pub fn count_execution(&self, interface: &str, report: &ExecutionReport) {
        let outcome = outcome_name(&report.outcome);
        if let Some(index) = OUTCOME_NAMES.iter().position(|name| *name == outcome) {
            self.totals[index].fetch_add(1, Ordering::Relaxed);
        }
        self.executions
            .get_or_create(&OutcomeLabels {
                outcome: outcome.to_owned(),
                interface: interface.to_owned(),
            })
            .inc();
        if matches!(report.outcome, Outcome::SandboxError(_)) {
            self.sandbox_errors.inc();
        }
        self.run
            .observe(Duration::from_nanos(report.figures.real_time_ns).as_secs_f64());
    }

    /// Counts a judged submission, which waited this time in the queue.
    pub fn count_judging(&self, verdict: &str, queued: Duration) {
        let verdict = verdict.to_owned();
        self.judgings
            .get_or_create(&VerdictLabels { verdict })
            .inc();
        self.queued.observe(queued.as_secs_f64());
    }

    /// Counts a failure of the service for a request that has no report.
    pub fn count_service_error(&self) {
        self.sandbox_errors.inc();
    }

    /// Counts a request that was not admitted.
    pub fn count_refusal(&self, interface: &str) {
        self.refused.fetch_add(1, Ordering::Relaxed);
        self.refusals
            .get_or_create(&InterfaceLabels {
                interface: interface.to_owned(),
            })
            .inc();
    }

    /// Records the time in the queue and the setup time of an admitted request.
    pub fn observe_admission(&self, queued: Duration, setup: Duration) {
        self.queued.observe(queued.as_secs_f64());
        self.setup.observe(setup.as_secs_f64());
    }

    /// Counts since the start.
    pub fn totals(&self) -> Totals {
        Totals {
            executions: std::array::from_fn(|index| self.totals[index].load(Ordering::Relaxed)),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }

    /// All figures in the text format of OpenMetrics.
    pub fn encode(&self, load: Load) -> String {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        self.queue_length.set(number(load.queued as u64));
        self.running.set(number(load.running as u64));
        self.running_memory.set(number(load.memory_bytes));
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }
}

/// The name of an outcome in answers and metrics.
pub fn outcome_name(outcome: &Outcome) -> &'static str {
    outcome.name()
}
