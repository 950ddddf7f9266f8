//! What a submission may use on each test, and where that comes from.
//!
//! docs/guide/judge.md has the defaults and their reasons.

use super::Options;
use millibox_languages::program::Limits;
use millibox_package::model::{Format, Problem, Test};
use std::time::Duration;

const MIB: u64 = 1 << 20;
/// Memory where the package says nothing: what problemtools and DOMjudge give.
const DEFAULT_MEMORY_BYTES: u64 = 2048 * MIB;
/// Output where the package says nothing: what the ICPC formats say.
const MIN_OUTPUT_BYTES_ICPC: u64 = 8 * MIB;
/// Sim's own limit is 1 GiB, which nobody's answer comes near.
const MIN_OUTPUT_BYTES_SIM: u64 = 64 * MIB;
/// Processes and threads of a submission, where threads are allowed.
const MAX_PROCESSES_ICPC: u32 = 64;
const MAX_PROCESSES_SIM: u32 = 1;

/// Limits of one test. `computed` is its time limit where neither options nor package have one.
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

/// Enough for twice the answer, whatever its length.
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
