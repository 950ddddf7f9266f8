//! Metrics of a front end.

use super::error::RelayError;
use super::roster::Shown;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ExecutorLabels {
    executor: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    reason: &'static str,
}

type ExecutorGauge = Family<ExecutorLabels, Gauge>;

/// All figures.
#[derive(Debug)]
pub struct Figures {
    registry: Registry,
    failures: Family<ReasonLabels, Counter>,
    repetitions: Counter,
    tunnels: Gauge,
    usable: ExecutorGauge,
    slots: ExecutorGauge,
    running: ExecutorGauge,
    queued: ExecutorGauge,
}

impl Figures {
    /// All figures at zero.
    pub fn new() -> Figures {
        let mut figures = Figures {
            registry: Registry::with_prefix("millibox_front"),
            failures: Family::default(),
            repetitions: Counter::default(),
            tunnels: Gauge::default(),
            usable: Family::default(),
            slots: Family::default(),
            running: Family::default(),
            queued: Family::default(),
        };
        let registry = &mut figures.registry;
        let help = "Requests that no executor has answered";
        registry.register("failures", help, figures.failures.clone());
        let help = "Requests that were sent again to an executor";
        registry.register("repetitions", help, figures.repetitions.clone());
        let help = "Requests at executors";
        registry.register("tunnels", help, figures.tunnels.clone());
        for (name, help, gauge) in [
            (
                "executor_usable",
                "Whether requests are sent to an executor",
                &figures.usable,
            ),
            (
                "executor_slots",
                "Runs that an executor runs at the same time",
                &figures.slots,
            ),
            (
                "executor_running",
                "Runs that run on an executor",
                &figures.running,
            ),
            (
                "executor_queued",
                "Requests that wait at an executor",
                &figures.queued,
            ),
        ] {
            registry.register(name, help, gauge.clone());
        }
        figures
    }

    /// Counts a request that no executor has answered.
    pub fn count_failure(&self, error: RelayError) {
        let reason = match error {
            RelayError::Share => "share",
            RelayError::NoExecutor => "no_executor",
            RelayError::NotAccepted => "not_accepted",
            RelayError::Lost => "lost",
        };
        self.failures.get_or_create(&ReasonLabels { reason }).inc();
    }

    /// Counts a request that is sent again.
    pub fn count_repetition(&self) {
        self.repetitions.inc();
    }

    /// All figures in the text format of OpenMetrics.
    pub fn encode(&self, executors: &[Shown], tunnels: usize) -> String {
        self.tunnels.set(i64::try_from(tunnels).unwrap_or(i64::MAX));
        for gauge in [&self.usable, &self.slots, &self.running, &self.queued] {
            gauge.clear();
        }
        for one in executors {
            let labels = ExecutorLabels {
                executor: one.name.to_string(),
            };
            for (gauge, value) in [
                (&self.usable, u32::from(one.is_usable)),
                (&self.slots, one.load.slots),
                (&self.running, one.load.running),
                (&self.queued, one.load.queued),
            ] {
                gauge.get_or_create(&labels).set(i64::from(value));
            }
        }
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }
}
