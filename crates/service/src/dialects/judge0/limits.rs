//! The limits of a submission: defaults, bounds, and the values of the configuration.

use std::collections::BTreeMap;

/// A limit of a submission, with its default and its bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitRule {
    /// The name of the field.
    pub name: &'static str,
    /// The value of a submission that does not specify one.
    pub default: f64,
    /// The smallest value.
    pub min: Min,
    /// The largest value.
    pub max: f64,
    /// Whether fractions are kept.
    pub decimal: bool,
}

/// The smallest value of a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Min {
    /// This value.
    At(f64),
    /// More than this value.
    Above(f64),
}

const fn rule(name: &'static str, default: f64, min: Min, max: f64, decimal: bool) -> LimitRule {
    LimitRule {
        name,
        default,
        min,
        max,
        decimal,
    }
}

/// CPU time in seconds.
pub const CPU_TIME: LimitRule = rule("cpu_time_limit", 5.0, Min::At(0.0), 15.0, true);
/// CPU time in seconds beyond the limit before the program is killed.
pub const CPU_EXTRA_TIME: LimitRule = rule("cpu_extra_time", 1.0, Min::At(0.0), 5.0, true);
/// Real time in seconds.
pub const WALL_TIME: LimitRule = rule("wall_time_limit", 10.0, Min::At(1.0), 20.0, true);
/// Memory in KiB.
pub const MEMORY: LimitRule = rule("memory_limit", 128_000.0, Min::At(2048.0), 512_000.0, false);
/// The stack in KiB.
pub const STACK: LimitRule = rule("stack_limit", 64_000.0, Min::At(0.0), 128_000.0, false);
/// Processes and threads.
pub const PROCESSES: LimitRule = rule(
    "max_processes_and_or_threads",
    60.0,
    Min::Above(0.0),
    120.0,
    false,
);
/// The size of each file and of each output, in KiB.
pub const FILE_SIZE: LimitRule = rule("max_file_size", 1024.0, Min::At(0.0), 4096.0, false);
/// The number of times that the program is run.
pub const RUNS: LimitRule = rule("number_of_runs", 1.0, Min::Above(0.0), 20.0, false);

/// The number of [`LIMITS`]. A length computed from `LIMITS` makes rustc report a cycle (E0391) in
/// release builds.
pub(super) const LIMIT_COUNT: usize = 8;

/// All limits.
pub const LIMITS: [LimitRule; LIMIT_COUNT] = [
    CPU_TIME,
    CPU_EXTRA_TIME,
    WALL_TIME,
    MEMORY,
    STACK,
    PROCESSES,
    FILE_SIZE,
    RUNS,
];

/// The limits of this service: [`LIMITS`] with the values of the configuration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits([LimitRule; LIMIT_COUNT]);

impl Default for Limits {
    fn default() -> Limits {
        Limits(LIMITS)
    }
}

/// Why the limits of the configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitsError {
    /// No limit has this name.
    #[error("judge0.limits.{0} is unknown; the names are those of Judge0's /config_info")]
    Unknown(String),
    /// A default or maximum is out of range.
    #[error("judge0.limits: the default of {0} must be between its minimum and its maximum")]
    Range(&'static str),
}

impl Limits {
    /// Applies the values of the configuration: `NAME` is a default and `max_NAME` a maximum.
    ///
    /// # Errors
    /// A name is unknown, or a default is not below its maximum.
    pub fn new(values: &BTreeMap<String, f64>) -> Result<Limits, LimitsError> {
        let mut limits = LIMITS;
        for (name, value) in values {
            let unknown = || LimitsError::Unknown(name.clone());
            // One default begins with `max_`, too.
            if let Some(rule) = limits.iter_mut().find(|rule| rule.name == name) {
                rule.default = *value;
                continue;
            }
            let limit = name.strip_prefix("max_").ok_or_else(unknown)?;
            let rule = limits.iter_mut().find(|rule| rule.name == limit);
            rule.ok_or_else(unknown)?.max = *value;
        }
        for rule in &limits {
            let is_large_enough = match rule.min {
                Min::At(min) => rule.default >= min,
                Min::Above(min) => rule.default > min,
            };
            if !is_large_enough || rule.default > rule.max || !rule.max.is_finite() {
                return Err(LimitsError::Range(rule.name));
            }
        }
        Ok(Limits(limits))
    }

    /// The limits, in the order of [`LIMITS`].
    pub fn rules(&self) -> &[LimitRule; LIMIT_COUNT] {
        &self.0
    }
}
