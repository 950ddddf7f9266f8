//! Computes the limits of a test from options, package and defaults.
//!
//! docs/guide/judge.md lists the defaults and their reasons.

use super::options::Options;
use millibox_languages::program::Limits;
use millibox_package::model::{Format, Problem, Test};
use std::time::Duration;

const MIB: u64 = 1 << 20;
/// Memory limit if the package states none, the same as in problemtools and DOMjudge.
const DEFAULT_MEMORY_BYTES: u64 = 2048 * MIB;
/// Minimum of the output limit if the package states none, from the ICPC formats.
const MIN_OUTPUT_BYTES_ICPC: u64 = 8 * MIB;
/// The same for Sim. Sim's own limit is 1 GiB, and all answers are much shorter.
const MIN_OUTPUT_BYTES_SIM: u64 = 64 * MIB;
/// Maximum number of processes and threads of a submission. Sim does not allow threads.
const MAX_PROCESSES_ICPC: u32 = 64;
const MAX_PROCESSES_SIM: u32 = 1;

/// The limits of a test. `computed` is its time limit if neither options nor package state one.
pub(super) fn of_test(
    problem: &Problem,
    test: &Test,
    options: &Options,
    computed: Option<Duration>,
) -> Limits {
    let cpu_time = options
        .time_limit
        .or(stated(problem, test))
        .or(computed)
        .unwrap_or_default();
    Limits {
        cpu_time,
        real_time: Limits::real_time_for(cpu_time),
        memory: options
            .memory_limit
            .or(test.memory)
            .or(problem.limits.memory)
            .unwrap_or(DEFAULT_MEMORY_BYTES),
        output: problem
            .limits
            .output
            .unwrap_or_else(|| output(problem, test)),
        processes: if problem.format == Format::Sim {
            MAX_PROCESSES_SIM
        } else {
            MAX_PROCESSES_ICPC
        },
    }
}

/// The time limit that the package states.
pub(super) fn stated(problem: &Problem, test: &Test) -> Option<Duration> {
    test.cpu_time.or(problem.limits.cpu_time)
}

/// The output limit: twice the length of the answer, or the minimum of the format.
fn output(problem: &Problem, test: &Test) -> u64 {
    let least = if problem.format == Format::Sim {
        MIN_OUTPUT_BYTES_SIM
    } else {
        MIN_OUTPUT_BYTES_ICPC
    };
    let answer = test
        .answer
        .as_ref()
        .and_then(|answer| answer.metadata().ok())
        .map_or(0, |metadata| metadata.len());
    least.max(answer.saturating_mul(2))
}
