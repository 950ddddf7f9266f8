//! The limits of a job: defaults, the values of the request, and their maxima.

use super::error::RequestError;
use crate::config::LimitsConfig;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::time::Duration;

/// Piston's default limits of time, in milliseconds.
const DEFAULT_COMPILE_MS: u64 = 10_000;
const DEFAULT_RUN_MS: u64 = 3_000;
/// The memory limit of a package's compiler if the request does not specify one. Piston has no
/// limit here, and compilers of C++ and Rust need several hundred MiB.
const DEFAULT_COMPILE_MEMORY_BYTES: u64 = 1 << 30;

/// The limits of both stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constraints {
    /// The limits of the compile stage.
    pub compile: StageLimits,
    /// The limits of the run stage.
    pub run: StageLimits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageLimits {
    /// Time from start to end.
    pub real_time: Duration,
    /// CPU time of all processes.
    pub cpu_time: Duration,
    /// Memory limit that the request or the package specifies, in bytes.
    pub memory_bytes: Option<u64>,
    /// Memory limit if none is specified, in bytes.
    pub default_memory_bytes: u64,
}

impl StageLimits {
    /// The memory limit, in bytes.
    pub fn memory_or_default(&self) -> u64 {
        self.memory_bytes.unwrap_or(self.default_memory_bytes)
    }
}

/// Limits that a package sets for its language (`limit_overrides` in metadata.json). Each is both
/// the default and the maximum, like every configured limit in Piston.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the names are those of Piston's documentation")]
pub struct Overrides {
    pub compile_timeout: Option<i64>,
    pub run_timeout: Option<i64>,
    pub compile_cpu_time: Option<i64>,
    pub run_cpu_time: Option<i64>,
    pub compile_memory_limit: Option<i64>,
    pub run_memory_limit: Option<i64>,
    pub max_process_count: Option<u32>,
    pub max_open_files: Option<u64>,
    pub max_file_size: Option<u64>,
    pub output_max_size: Option<u64>,
}

/// A configured limit.
#[derive(Debug, Clone, Copy)]
struct Bound {
    /// The value if the request does not specify one.
    default: u64,
    /// The largest value; 0 means no limit.
    max: u64,
    /// Whether a negative value in the request means the same as a missing one.
    negative_is_none: bool,
}

impl Bound {
    fn new(override_value: Option<i64>, default: u64, max: u64) -> Bound {
        match override_value.map(u64::try_from) {
            None | Some(Ok(0)) => Bound {
                default: default.min(max),
                max,
                negative_is_none: false,
            },
            Some(Ok(value)) => Bound {
                default: value,
                max: value,
                negative_is_none: false,
            },
            // The package removes the limit as far as the service allows.
            Some(Err(_)) => Bound {
                default: max,
                max,
                negative_is_none: true,
            },
        }
    }
}

impl Constraints {
    /// Reads and checks the limits of a request, in Piston's order.
    ///
    /// # Errors
    /// A limit is not a number, too large or negative.
    pub fn read(
        body: &Map<String, Value>,
        overrides: &Overrides,
        limits: &LimitsConfig,
    ) -> Result<Constraints, RequestError> {
        let max = &limits.max;
        let memory = |value: Option<i64>| match value.map(u64::try_from) {
            Some(Ok(bytes)) if bytes > 0 => Bound::new(value, 0, 0),
            _ => Bound {
                default: 0,
                max: max.memory_bytes,
                negative_is_none: true,
            },
        };
        let read = |name, bound| limit(body, name, bound);
        let compile_memory = read(
            "compile_memory_limit",
            memory(overrides.compile_memory_limit),
        )?;
        let run_memory = read("run_memory_limit", memory(overrides.run_memory_limit))?;
        let time = |name, value, default, max| read(name, Bound::new(value, default, max));
        let compile_real = time(
            "compile_timeout",
            overrides.compile_timeout,
            DEFAULT_COMPILE_MS,
            max.wall_ms,
        )?;
        let run_real = time(
            "run_timeout",
            overrides.run_timeout,
            DEFAULT_RUN_MS,
            max.wall_ms,
        )?;
        let compile_cpu = time(
            "compile_cpu_time",
            overrides.compile_cpu_time,
            DEFAULT_COMPILE_MS,
            max.cpu_ms,
        )?;
        let run_cpu = time(
            "run_cpu_time",
            overrides.run_cpu_time,
            DEFAULT_RUN_MS,
            max.cpu_ms,
        )?;
        let stage = |real_ms, cpu_ms, memory: u64, default_memory_bytes: u64| StageLimits {
            real_time: Duration::from_millis(real_ms),
            cpu_time: Duration::from_millis(cpu_ms),
            memory_bytes: (memory > 0).then_some(memory),
            default_memory_bytes: default_memory_bytes.min(max.memory_bytes),
        };
        let compile_default = limits
            .default
            .memory_bytes
            .max(DEFAULT_COMPILE_MEMORY_BYTES);
        Ok(Constraints {
            compile: stage(compile_real, compile_cpu, compile_memory, compile_default),
            run: stage(run_real, run_cpu, run_memory, limits.default.memory_bytes),
        })
    }
}

/// One limit of a request. 0 selects the largest value. For memory, that is the service's default,
/// because the request specifies no value.
fn limit(body: &Map<String, Value>, name: &'static str, bound: Bound) -> Result<u64, RequestError> {
    let value = match body.get(name) {
        None | Some(Value::Null) => return Ok(bound.default),
        Some(Value::Bool(false)) => return Ok(bound.default),
        Some(Value::String(text)) if text.is_empty() => return Ok(bound.default),
        Some(Value::Number(number)) => number.as_f64().unwrap_or(f64::MAX),
        Some(_) => return Err(RequestError::NotNumber(name)),
    };
    if value == 0.0 {
        // No limit, as far as the service allows.
        return Ok(if bound.default == 0 { 0 } else { bound.max });
    }
    if value < 0.0 {
        return if bound.negative_is_none {
            Ok(bound.default)
        } else {
            Err(RequestError::Negative(name))
        };
    }
    #[allow(clippy::cast_precision_loss, reason = "limits are far below 2^53")]
    let is_above = bound.max > 0 && value > bound.max as f64;
    if is_above {
        return Err(RequestError::AboveLimit {
            name,
            limit: bound.max,
        });
    }
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the value is positive, and the cast saturates"
    )]
    let whole = value.ceil() as u64;
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(body: Value, overrides: &Overrides) -> Result<Constraints, String> {
        let Value::Object(body) = body else {
            panic!("not an object")
        };
        Constraints::read(&body, overrides, &LimitsConfig::default())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn absent_null_and_zero_limits_are_skipped() {
        let none = Overrides::default();
        let read = |body| read(body, &none).unwrap();
        let defaults = read(json!({}));
        assert_eq!(defaults.compile.real_time.as_millis(), 10_000);
        assert_eq!(defaults.run.cpu_time.as_millis(), 3_000);
        assert_eq!(defaults.run.memory_bytes, None);
        let skipped =
            read(json!({ "run_timeout": null, "run_memory_limit": 0, "run_cpu_time": "" }));
        assert_eq!(skipped, defaults);
        // Pyston always sends -1 for memory.
        assert_eq!(
            read(json!({ "run_memory_limit": -1, "compile_memory_limit": -1 })),
            defaults
        );
        assert_eq!(
            read(json!({ "run_timeout": 0 })).run.real_time.as_millis(),
            600_000
        );
        let named = read(json!({ "run_timeout": 1500.5, "run_memory_limit": 1 << 20 }));
        assert_eq!(named.run.real_time.as_millis(), 1_501);
        assert_eq!(named.run.memory_or_default(), 1 << 20);
    }

    #[test]
    fn wrong_limits_are_named_in_the_order_of_piston() {
        let none = Overrides::default();
        let error = |body| read(body, &none).unwrap_err();
        assert_eq!(
            error(json!({ "run_timeout": "3000" })),
            "If specified, run_timeout must be a number"
        );
        assert_eq!(
            error(json!({ "compile_timeout": true })),
            "If specified, compile_timeout must be a number"
        );
        assert_eq!(
            error(json!({ "run_timeout": 600_001 })),
            "run_timeout cannot exceed the configured limit of 600000"
        );
        assert_eq!(
            error(json!({ "run_cpu_time": -1 })),
            "run_cpu_time must be non-negative"
        );
        let all = json!({
            "run_cpu_time": -1, "compile_cpu_time": -1, "run_timeout": -1, "compile_timeout": -1,
            "run_memory_limit": 1e30, "compile_memory_limit": [],
        });
        let Value::Object(mut all) = all else {
            panic!("not an object")
        };
        for name in [
            "compile_memory_limit",
            "run_memory_limit",
            "compile_timeout",
            "run_timeout",
            "compile_cpu_time",
            "run_cpu_time",
        ] {
            assert!(error(Value::Object(all.clone())).contains(name), "{name}");
            all.remove(name);
        }
    }

    #[test]
    fn overrides_are_default_and_maximum() {
        let overrides = Overrides {
            run_timeout: Some(900_000),
            run_memory_limit: Some(100),
            compile_timeout: Some(-1),
            ..Overrides::default()
        };
        let defaults = read(json!({}), &overrides).unwrap();
        assert_eq!(defaults.run.real_time.as_millis(), 900_000);
        assert_eq!(defaults.run.memory_bytes, Some(100));
        assert_eq!(defaults.compile.real_time.as_millis(), 600_000);
        assert_eq!(
            read(json!({ "run_memory_limit": 101 }), &overrides).unwrap_err(),
            "run_memory_limit cannot exceed the configured limit of 100"
        );
        assert_eq!(
            read(json!({ "run_memory_limit": -1 }), &overrides).unwrap_err(),
            "run_memory_limit must be non-negative"
        );
    }
}
