//! Limits on time, memory, stack, output and processes.

use super::{assert_accepted, assert_limit, assert_run_time_error};
use crate::setting::{Data, MIB, judge_subject, limits, subject, supervisor};
use millibox::Outcome;
use millibox_judge::batch::Worker;
use millibox_judge::checker::CheckerInstance;
use millibox_judge::failure::RunFault;
use millibox_judge::verdict::Verdict;
use millibox_languages::program::Limits;
use millibox_tests::{eventually, has_cgroups_or_skips, processes_with_argument, token};
use std::time::Duration;

#[test]
fn submission_over_time_limit_has_time_limit_verdict() {
    let supervisor = supervisor();
    let little_cpu = Limits {
        cpu_time: Duration::from_millis(60),
        ..limits()
    };
    let spun = judge_subject(&supervisor, &["spin", "100000"], "", "", &little_cpu);
    assert_limit(&spun, Verdict::TimeLimit, RunFault::CpuTime);
    let short = Limits {
        real_time: Duration::from_millis(400),
        ..limits()
    };
    let slept = judge_subject(&supervisor, &["sleep", "100000"], "", "", &short);
    assert_limit(&slept, Verdict::TimeLimit, RunFault::RealTime);
    // A submission that waits for more input sees the end of its input.
    assert_accepted(&judge_subject(&supervisor, &["echo"], "", "", &limits()));
    assert_accepted(&judge_subject(
        &supervisor,
        &["spin", "10"],
        "",
        "",
        &limits(),
    ));
}

#[test]
fn submission_over_memory_limit_has_memory_limit_verdict() {
    let supervisor = supervisor();
    if !has_cgroups_or_skips(&supervisor) {
        return;
    }
    let small = Limits {
        memory: 32 * MIB,
        ..limits()
    };
    assert_limit(
        &judge_subject(&supervisor, &["eat", "200"], "", "", &small),
        Verdict::MemoryLimit,
        RunFault::Memory,
    );
    assert_accepted(&judge_subject(
        &supervisor,
        &["eat", "20"],
        "",
        "done\n",
        &small,
    ));
    let tiny = Limits {
        memory: 4096,
        ..limits()
    };
    assert_limit(
        &judge_subject(&supervisor, &["exit", "0"], "", "", &tiny),
        Verdict::MemoryLimit,
        RunFault::Memory,
    );
    // The memory that the suite needs is added to the limit.
    let mut needy = subject();
    needy.memory = 64 * MIB;
    let result = Data::new("", "done\n").judge(
        &mut Worker::new(&supervisor),
        &needy,
        &["eat", "60"],
        &small,
        &CheckerInstance::Exact,
        &[],
    );
    assert_accepted(&result);
}

#[test]
fn submission_over_memory_without_cgroups_is_run_time_error() {
    let supervisor =
        millibox_tests::start(millibox_tests::builder().backend(millibox::BackendChoice::Rlimit));
    let small = Limits {
        memory: 32 * MIB,
        ..limits()
    };
    let eaten = judge_subject(&supervisor, &["eat", "200"], "", "", &small);
    assert_run_time_error(&eaten, Outcome::Exited(12));
    assert_accepted(&judge_subject(
        &supervisor,
        &["eat", "10"],
        "",
        "done\n",
        &small,
    ));
}

#[test]
fn stack_limit_equals_memory_limit() {
    let supervisor = supervisor();
    // The recursion needs 100 MiB of stack. By default, a process may use 8 MiB.
    assert_accepted(&judge_subject(
        &supervisor,
        &["recurse", "25000"],
        "",
        "done\n",
        &limits(),
    ));
    let endless = judge_subject(&supervisor, &["recurse", "1000000000"], "", "", &limits());
    assert!(
        matches!(
            endless.verdict,
            Verdict::MemoryLimit | Verdict::RunTimeError
        ),
        "{endless:?}"
    );
}

#[test]
fn endless_output_has_output_limit_verdict() {
    let supervisor = supervisor();
    let small = Limits {
        output: 3 * MIB,
        ..limits()
    };
    let flood = judge_subject(&supervisor, &["flood"], "", "", &small);
    assert_limit(&flood, Verdict::OutputLimit, RunFault::Output);
}

#[test]
fn fork_bomb_has_time_limit_verdict_and_is_killed() {
    let supervisor = supervisor();
    let short = Limits {
        cpu_time: Duration::from_millis(200),
        real_time: Duration::from_millis(600),
        ..limits()
    };
    let token = token();
    let bomb = judge_subject(&supervisor, &["fork-bomb", &token], "", "", &short);
    assert_eq!(bomb.verdict, Verdict::TimeLimit, "{bomb:?}");
    assert_accepted(&judge_subject(
        &supervisor,
        &["echo"],
        "still",
        "still",
        &limits(),
    ));
    assert!(eventually(Duration::from_secs(5), || {
        processes_with_argument(&token).is_empty()
    }));
}
