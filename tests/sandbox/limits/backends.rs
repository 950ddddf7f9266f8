//! The choice of a backend, and limits without cgroups.

use super::MIB;
use crate::{builder, supervisor};
use millibox::{
    Backend, BackendChoice, BackendStep, Error, Outcome, Request, RequestMistake, StartError, Step,
    SupervisorHint, SupervisorStep,
};
use millibox_tests::{request, result, run, start, wait};
use std::time::Duration;

#[test]
fn weaker_backend_is_used_only_if_requested() {
    let automatic = supervisor();
    if automatic.info().backend() == Backend::Rlimit {
        for request in [
            request(["exit", "0"]).memory_limit(32 * MIB),
            request(["exit", "0"]).process_limit(3),
            request(["exit", "0"]).cpu_time_limit(Duration::from_secs(1)),
            request(["exit", "0"])
                .cpu_bandwidth(Duration::from_millis(10), Duration::from_millis(20)),
        ] {
            let error = automatic.run(&request).unwrap_err();
            assert!(matches!(
                error.request_mistakes(),
                [RequestMistake::NeedsCgroup { .. }]
            ));
        }
        assert!(!automatic.info().declined().is_empty());
        let chosen = builder().backend(BackendChoice::Hybrid).start();
        assert!(lacks_backend(&chosen.map(drop), "hybrid"));
    }
    let chosen = builder().backend(BackendChoice::Cgroup2).start();
    if automatic.info().backend() != Backend::Cgroup2 {
        assert!(lacks_backend(&chosen.map(drop), "cgroup2"));
    }
}

fn lacks_backend(started: &Result<(), Error>, backend: &str) -> bool {
    let Err(Error::Start(StartError::Failed { error, .. })) = started else {
        return false;
    };
    let has_cause = match &error.hint {
        Some(SupervisorHint::Refused(causes)) => !causes.is_empty(),
        _ => false,
    };
    error.step == SupervisorStep::Backend && error.subject.as_deref() == Some(backend) && has_cause
}

#[test]
fn refusal_names_backend_step_and_file() {
    let automatic = start(builder());
    for refusal in automatic.info().declined() {
        assert_ne!(refusal.backend, automatic.info().backend());
        assert!(!refusal.causes.is_empty(), "{refusal}");
    }
    // This cgroup does not exist in any hierarchy.
    let Err(Error::Start(StartError::Failed { error, .. })) =
        builder().cgroup_parent("/millibox-missing").start()
    else {
        panic!("a supervisor started below a missing cgroup");
    };
    let Some(SupervisorHint::Declined(refusals)) = &error.hint else {
        panic!("{error:?}");
    };
    let backends: Vec<Backend> = refusals.iter().map(|refusal| refusal.backend).collect();
    assert_eq!(backends, [Backend::Cgroup2, Backend::Hybrid]);
    // If a backend is available here, it fails at the missing directory.
    for refusal in refusals {
        let cause = &refusal.causes[0];
        if refusal.backend == automatic.info().backend() {
            assert_eq!(cause.errno, Some(libc::ENOENT), "{refusal}");
            assert!(
                matches!(
                    cause.step,
                    BackendStep::CreateCgroup | BackendStep::CheckWritable
                ),
                "{refusal}"
            );
            let subject = cause.subject.as_deref().unwrap_or_default();
            assert!(subject.contains("/millibox-missing"), "{refusal}");
        }
    }
}

#[test]
fn rlimit_backend_enforces_its_limits() {
    let supervisor = start(builder().backend(BackendChoice::Rlimit));
    assert_eq!(supervisor.info().backend(), Backend::Rlimit);
    assert_eq!(supervisor.info().cgroups().count(), 0);
    let memory = run(&supervisor, &request(["map", "200"]).memory_limit(64 * MIB));
    assert_eq!(
        memory.number("errno"),
        i64::from(libc::ENOMEM),
        "{}",
        memory.result
    );
    assert_eq!(
        run(&supervisor, &request(["map", "20"]).memory_limit(64 * MIB)).number("errno"),
        0
    );
    for limit in [1, 2, 10] {
        let output = run(&supervisor, &request(["forks", "50"]).process_limit(limit));
        assert_eq!(
            (output.number("reached"), output.number("errno")),
            (i64::from(limit), i64::from(libc::EAGAIN))
        );
    }
    // Each of two concurrent runs has its own limit.
    let both: Vec<_> = (0..2)
        .map(|_| {
            supervisor
                .run(&request(["forks", "30"]).process_limit(40))
                .unwrap()
        })
        .collect();
    assert!(
        both.iter()
            .all(|handle| wait(handle).outcome == Outcome::Exited(0))
    );
    // The kernel's own limit, whose measurement is too high beside short-lived work, is longer.
    let kernel = run(
        &supervisor,
        &request(["limits"]).cpu_time_limit(Duration::from_millis(2500)),
    );
    assert_eq!(kernel.value(&libc::RLIMIT_CPU.to_string()), "12 12");
    for command in [&["spin", "60000"][..], &["spin-tree", "3", "60000"]] {
        let request = request(command.iter().copied()).cpu_time_limit(Duration::from_millis(60));
        let over = result(&supervisor, &request);
        assert_eq!(over.outcome, Outcome::CpuTimeLimit, "{command:?}: {over}");
    }
    // The result contains the CPU time that was measured when the limit was reached, although
    // processes end before the next measurement.
    for _ in 0..100 {
        let request = request(["spin-relays", "4", "2"]).cpu_time_limit(Duration::from_millis(20));
        let over = result(&supervisor, &request);
        let used = over.figures.cpu_user_ns + over.figures.cpu_system_ns;
        assert!(
            over.outcome == Outcome::CpuTimeLimit && used >= 20_000_000,
            "{over}: {:?}",
            over.figures
        );
    }
    let bandwidth =
        request(["exit", "0"]).cpu_bandwidth(Duration::from_millis(1), Duration::from_millis(2));
    let rejected = result(&supervisor, &bandwidth);
    assert!(
        matches!(&rejected.outcome, Outcome::NotStarted(error) if error.step == Step::CpuBandwidth),
        "{rejected}"
    );
    let real = result(
        &supervisor,
        &request(["sleep", "60000"]).real_time_limit(Duration::from_millis(10)),
    );
    assert_eq!(real.outcome, Outcome::RealTimeLimit);
    assert_eq!(
        result(&supervisor, &Request::new("/bin/true")).outcome,
        Outcome::Exited(0)
    );
}
