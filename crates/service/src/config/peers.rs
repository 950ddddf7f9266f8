//! Limits of the dialects, under the names that the replaced services use.

use super::TmpfsOptions;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The options of the go-judge dialect that are options of the original.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GoJudgeConfig {
    /// go-judge's `mount.yaml`, which describes the files that commands see.
    pub mount_conf: Option<PathBuf>,
    /// The options of the directories `/w` and `/tmp`. They have no effect with `mount_conf`.
    pub tmp_fs_param: TmpfsOptions,
    /// Bytes of memory that a command may use beyond its limit before it is killed.
    pub extra_memory_limit: u64,
    /// The largest file that a command may write and the largest output of a collector, in bytes.
    pub output_limit: u64,
    /// The largest file that is returned, in bytes.
    pub copy_out_limit: u64,
    /// Open files of one process.
    pub open_file_limit: u64,
}

impl Default for GoJudgeConfig {
    fn default() -> GoJudgeConfig {
        GoJudgeConfig {
            mount_conf: None,
            tmp_fs_param: TmpfsOptions::default(),
            extra_memory_limit: 16 << 10,
            output_limit: 256 << 20,
            copy_out_limit: 256 << 20,
            open_file_limit: 256,
        }
    }
}

/// Bounds of the submissions of the Judge0 dialect, which are kept in memory.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Judge0Config {
    /// The maximum number of waiting submissions.
    pub max_queued: usize,
    /// How long a submission is kept after its end, in seconds.
    pub keep_s: u64,
    /// The maximum sum of the sizes of all submissions with their results, in bytes.
    pub max_bytes: u64,
    /// Whether clients with the right `admin` may delete submissions.
    pub delete: bool,
    /// The maximum number of submissions in a batch.
    pub max_submission_batch_size: usize,
    /// Defaults and maxima for submission limits, under the names in `/config_info`, such
    /// as `cpu_time_limit` and `max_cpu_time_limit`.
    pub limits: BTreeMap<String, f64>,
}

impl Default for Judge0Config {
    fn default() -> Judge0Config {
        Judge0Config {
            max_queued: 100,
            keep_s: 3600,
            max_bytes: 256 << 20,
            delete: false,
            max_submission_batch_size: 20,
            limits: BTreeMap::new(),
        }
    }
}

/// The limits of the Piston dialect.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PistonConfig {
    /// Limits of all languages.
    pub limits: PistonLimits,
    /// Limits of single languages, which replace those of all languages and of packages.
    pub limit_overrides: BTreeMap<String, PistonLimits>,
}

/// Limits of a language in Piston. Each is both the default and the maximum, like every configured
/// limit in Piston. Times are in milliseconds and sizes in bytes; -1 means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the names are those of Piston's documentation")]
pub struct PistonLimits {
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

impl PistonLimits {
    /// These limits, and the others where these have none.
    #[must_use]
    pub fn or(self, others: PistonLimits) -> PistonLimits {
        PistonLimits {
            compile_timeout: self.compile_timeout.or(others.compile_timeout),
            run_timeout: self.run_timeout.or(others.run_timeout),
            compile_cpu_time: self.compile_cpu_time.or(others.compile_cpu_time),
            run_cpu_time: self.run_cpu_time.or(others.run_cpu_time),
            compile_memory_limit: self.compile_memory_limit.or(others.compile_memory_limit),
            run_memory_limit: self.run_memory_limit.or(others.run_memory_limit),
            max_process_count: self.max_process_count.or(others.max_process_count),
            max_open_files: self.max_open_files.or(others.max_open_files),
            max_file_size: self.max_file_size.or(others.max_file_size),
            output_max_size: self.output_max_size.or(others.output_max_size),
        }
    }
}

impl PistonConfig {
    /// The limits of a language whose package has these limits.
    pub fn of(&self, language: &str, of_package: PistonLimits) -> PistonLimits {
        let own = self.limit_overrides.get(language).copied();
        own.unwrap_or_default().or(of_package).or(self.limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_a_language_precede_those_of_its_package_and_of_all() {
        let text = "[limits]\nrun_timeout = 1\nrun_cpu_time = 1\nmax_open_files = 1\n\
                    [limit_overrides.c]\nrun_timeout = 3\n";
        let config: PistonConfig = toml::from_str(text).unwrap();
        let package = PistonLimits {
            run_timeout: Some(2),
            run_cpu_time: Some(2),
            ..PistonLimits::default()
        };
        let limits = config.of("c", package);
        let times = (
            limits.run_timeout,
            limits.run_cpu_time,
            limits.max_open_files,
        );
        assert_eq!(times, (Some(3), Some(2), Some(1)));
        assert_eq!(config.of("d", package).run_timeout, Some(2));
    }
}
