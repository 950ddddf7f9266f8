//! Many requests at once: slots, CPUs, waiting, and the end of the supervisor.

use crate::{builder, supervisor};
use millibox::{Error, Outcome, Request};
use millibox_tests::{
    eventually, pipe, processes_with_argument, request, result, run, run_probe, start,
    start_sleeper, token, wait,
};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[test]
fn results_can_be_waited_for_in_any_order() {
    let supervisor = supervisor();
    let submit = |code: i32| {
        supervisor
            .run(&request(["exit", &code.to_string()]))
            .unwrap()
    };
    let handles: Vec<_> = (0..60).map(|code| (code, submit(code))).collect();
    for (code, handle) in handles.iter().rev().step_by(2).chain(handles.iter()) {
        assert_eq!(wait(handle).outcome, Outcome::Exited(*code));
    }
}

/// Long requests are sent in memfds, which are created only when the request is sent.
#[test]
fn long_waiting_requests_use_no_descriptors() {
    let supervisor = start(builder().slots(1));
    let (first, _read) = start_sleeper(&supervisor, &[]);
    let long = request(["exit", "5"]).arg("x".repeat(100_000));
    let handles: Vec<_> = (0..300).map(|_| supervisor.run(&long).unwrap()).collect();
    let links = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .flatten()
        .map(|entry| std::fs::read_link(entry.path()));
    let files = links
        .flatten()
        .filter(|to| to.to_string_lossy().contains("millibox-request"))
        .count();
    // Other tests may be sending long requests at the same time.
    assert!(
        files < 50,
        "{files} of the client's descriptors belong to waiting requests"
    );
    first.kill();
    for handle in &handles {
        assert_eq!(wait(handle).outcome, Outcome::Exited(5));
    }
}

#[test]
fn thousand_outstanding_requests_of_one_thread_finish() {
    let supervisor = start(builder().slots(1));
    let (first, _read) = start_sleeper(&supervisor, &[]);
    let (read, write) = pipe();
    let submit = |code: i32| {
        let request = request(["exit", &code.to_string()]).stdout(write.clone());
        (code, supervisor.run(&request).unwrap())
    };
    let handles: Vec<_> = (0..1000).map(|index| submit(index % 100)).collect();
    // No call waited for the running program.
    assert!(first.try_wait().unwrap().is_none());
    assert!(
        handles
            .iter()
            .all(|(_, handle)| handle.try_wait().unwrap().is_none())
    );
    // Waiting runs use no more descriptors of the supervisor than its credits allow.
    if let Ok(open) = std::fs::read_dir(format!("/proc/{}/fd", supervisor.info().pid())) {
        assert!(
            open.count() < 200,
            "a waiting run uses a descriptor of the supervisor"
        );
    } else {
        millibox_tests::skip("this process may not read the supervisor's descriptors");
    }
    first.kill();
    for (code, handle) in &handles {
        assert_eq!(wait(handle).outcome, Outcome::Exited(*code));
    }
    drop(write);
    assert_eq!(millibox_tests::read_all(read), b"");
}

#[test]
fn many_threads_can_share_a_supervisor() {
    let supervisor = supervisor();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let supervisor = &supervisor;
            scope.spawn(move || {
                for index in 0..25 {
                    let code = (thread * 25 + index) % 250;
                    assert_eq!(
                        result(supervisor, &request(["exit", &code.to_string()])).outcome,
                        Outcome::Exited(code)
                    );
                }
            });
        }
    });
}

#[test]
fn slots_run_in_parallel() {
    let supervisor = start(builder().slots(3));
    assert_eq!(supervisor.info().slots(), 3);
    // Each program reports that it is running while the others are still sleeping.
    let sleepers: Vec<_> = (0..3).map(|_| start_sleeper(&supervisor, &[])).collect();
    assert!(
        sleepers
            .iter()
            .all(|(handle, _)| handle.try_wait().unwrap().is_none())
    );
}

#[test]
fn result_event_can_be_polled() {
    let supervisor = supervisor();
    let (handle, _read) = start_sleeper(&supervisor, &[]);
    assert!(!millibox_tests::readable(
        handle.event().unwrap(),
        Duration::from_millis(50)
    ));
    assert!(
        handle
            .wait_timeout(Duration::from_millis(50))
            .unwrap()
            .is_none()
    );
    handle.kill();
    assert!(millibox_tests::readable(
        handle.event().unwrap(),
        millibox_tests::HANG_TIMEOUT
    ));
    assert_eq!(handle.try_wait().unwrap().unwrap().outcome, Outcome::Killed);
    // A second call returns the same result. The event also works if it is requested after the end.
    assert_eq!(wait(&handle).outcome, Outcome::Killed);
    let done = supervisor.run(&Request::new("/bin/true")).unwrap();
    wait(&done);
    assert!(millibox_tests::readable(
        done.event().unwrap(),
        Duration::ZERO
    ));
}

#[test]
fn run_with_cpus_is_confined_to_them() {
    let supervisor = supervisor();
    let output = run(&supervisor, &request(["scheduling"]).cpus([0]));
    assert_eq!(output.value("cpus"), "0");
    // The next run uses all CPUs again.
    if std::thread::available_parallelism().is_ok_and(|n| n.get() > 1) {
        assert_ne!(run_probe(&supervisor, &["scheduling"]).value("cpus"), "0");
    }
}

#[test]
fn pinned_slots_have_one_cpu_each() {
    let supervisor = start(builder().slots(2).pin_slots(true));
    let (first, second) = (pipe(), pipe());
    let submit = |write: &Arc<OwnedFd>| {
        supervisor
            .run(&request(["scheduling"]).stdout(write.clone()))
            .unwrap()
    };
    let handles: Vec<_> = [&first.1, &second.1].into_iter().map(submit).collect();
    assert!(
        handles
            .iter()
            .all(|handle| wait(handle).outcome == Outcome::Exited(0))
    );
    for (read, write) in [first, second] {
        drop(write);
        let text = String::from_utf8(millibox_tests::read_all(read)).unwrap();
        let cpus = text
            .lines()
            .find_map(|line| line.strip_prefix("cpus="))
            .unwrap();
        assert!(
            cpus.parse::<u32>().is_ok(),
            "the CPUs of a pinned slot are {cpus}"
        );
    }
}

#[test]
fn dropping_supervisor_kills_its_runs() {
    // A supervisor that waited for its runs would be killed after six seconds. On a busy machine, a
    // drop may occasionally be slow.
    let slow = (0..3)
        .map(|_| time_to_drop_with_runs())
        .take_while(|took| *took > Duration::from_secs(4))
        .count();
    assert!(slow < 3, "the supervisor waits for its runs");
}

fn time_to_drop_with_runs() -> Duration {
    let supervisor = supervisor();
    let token = token();
    let (running, read) = start_sleeper(&supervisor, &[&token]);
    let waiting: Vec<_> = (0..20)
        .map(|_| {
            supervisor
                .run(&request(["sleep", "100000", &token]))
                .unwrap()
        })
        .collect();
    let done = supervisor
        .run(&request(["exit", "3"]).current_dir("/nowhere"))
        .unwrap();
    let footprint = millibox_tests::Footprint::of(&supervisor);
    let begin = Instant::now();
    drop(supervisor);
    let took = begin.elapsed();
    footprint.assert_gone();
    assert!(eventually(Duration::from_secs(5), || {
        processes_with_argument(&token).is_empty()
    }));
    assert_eq!(millibox_tests::read_all(read), b"");
    // Handles outlive their supervisor.
    assert!(matches!(running.wait(), Err(Error::Died(_))));
    assert!(
        waiting
            .iter()
            .all(|handle| matches!(handle.wait(), Err(Error::Died(_))))
    );
    drop(done);
    took
}
