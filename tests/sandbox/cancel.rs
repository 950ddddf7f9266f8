//! Cancelling and killing runs at every moment.

use crate::{builder, supervisor};
use millibox::{Mount, Outcome, Request, World};
use millibox_tests::{
    Random, eventually, pipe, processes_with_argument, read_all, request, result, start,
    start_sleeper, token, wait,
};
use std::time::{Duration, Instant};

const CLEANUP_TIMEOUT: Duration = Duration::from_secs(5);

#[test]
fn running_program_is_cancelled() {
    let supervisor = supervisor();
    let token = token();
    let (handle, read) = start_sleeper(&supervisor, &[&token]);
    assert_eq!(processes_with_argument(&token).len(), 1);
    handle.cancel();
    // The reader sees the end of the output, although the handle still exists.
    assert_eq!(read_all(read), b"");
    assert!(eventually(CLEANUP_TIMEOUT, || processes_with_argument(
        &token
    )
    .is_empty()));
    assert_eq!(wait(&handle).outcome, Outcome::Cancelled);
    // Cancelling again has no effect.
    handle.cancel();
    handle.cancel();
    assert_eq!(wait(&handle).outcome, Outcome::Cancelled);
    assert_eq!(
        result(&supervisor, &Request::new("/bin/true")).outcome,
        Outcome::Exited(0)
    );
}

#[test]
fn waiting_run_is_cancelled() {
    let supervisor = start(builder().slots(1));
    let (first, _first_read) = start_sleeper(&supervisor, &[]);
    let token = token();
    let neighbour = supervisor.run(&request(["exit", "8"])).unwrap();
    let pipes: Vec<_> = (0..100)
        .map(|_| {
            let (read, write) = pipe();
            (
                supervisor
                    .run(&request(["sleep", "100000", &token]).stdout(write))
                    .unwrap(),
                read,
            )
        })
        .collect();
    let last = supervisor.run(&request(["exit", "9"])).unwrap();
    // Some of the requests have reached the supervisor; the others are still in the client.
    for (handle, read) in pipes {
        handle.cancel();
        assert_eq!(wait(&handle).outcome, Outcome::Cancelled);
        assert_eq!(read_all(read), b"");
    }
    assert!(first.try_wait().unwrap().is_none());
    first.kill();
    assert_eq!(wait(&neighbour).outcome, Outcome::Exited(8));
    assert_eq!(wait(&last).outcome, Outcome::Exited(9));
    assert!(processes_with_argument(&token).is_empty());
}

#[test]
fn ended_run_is_not_changed_by_cancel_or_kill() {
    let supervisor = supervisor();
    let handle = supervisor.run(&request(["exit", "5"])).unwrap();
    assert_eq!(wait(&handle).outcome, Outcome::Exited(5));
    handle.cancel();
    handle.kill();
    assert_eq!(wait(&handle).outcome, Outcome::Exited(5));
}

#[test]
fn dropped_handle_cancels_its_run() {
    let supervisor = supervisor();
    let token = token();
    let (handle, read) = start_sleeper(&supervisor, &[&token]);
    let (neighbour, _neighbour_read) = start_sleeper(&supervisor, &[]);
    let queued = supervisor
        .run(&request(["sleep", "100000", &token]))
        .unwrap();
    drop(queued);
    drop(handle);
    assert_eq!(read_all(read), b"");
    assert!(eventually(CLEANUP_TIMEOUT, || processes_with_argument(
        &token
    )
    .is_empty()));
    assert!(neighbour.try_wait().unwrap().is_none());
    neighbour.kill();
    assert_eq!(wait(&neighbour).outcome, Outcome::Killed);
}

#[test]
fn all_processes_of_a_run_are_killed() {
    let supervisor = supervisor();
    let token = token();
    let (read, write) = pipe();
    let handle = supervisor
        .run(&request(["orphans", "20", "100000", &token]).stdout(write))
        .unwrap();
    assert_eq!(wait(&handle).outcome, Outcome::Exited(0));
    assert_eq!(read_all(read), b"done\n");
    assert!(
        eventually(CLEANUP_TIMEOUT, || processes_with_argument(&token)
            .is_empty()),
        "orphans survive the first process"
    );
    // The same applies to a cancelled run.
    let handle = supervisor
        .run(&request(["forks-stay", "20", &token]))
        .unwrap();
    assert!(eventually(CLEANUP_TIMEOUT, || processes_with_argument(
        &token
    )
    .len()
        == 21));
    handle.cancel();
    assert!(eventually(CLEANUP_TIMEOUT, || processes_with_argument(
        &token
    )
    .is_empty()));
}

#[test]
fn run_is_killed_from_another_thread() {
    let supervisor = supervisor();
    let (handle, _read) = start_sleeper(&supervisor, &[]);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| wait(&handle));
        std::thread::sleep(Duration::from_millis(50));
        assert!(!waiter.is_finished());
        handle.kill();
        let result = waiter.join().unwrap();
        assert_eq!(
            (&result.outcome, result.signal, result.exit_code),
            (&Outcome::Killed, Some(libc::SIGKILL), None)
        );
        assert!(result.figures.real_time_ns >= 50_000_000);
    });
}

#[test]
fn waiting_run_is_killed() {
    let supervisor = start(builder().slots(1));
    let (first, _read) = start_sleeper(&supervisor, &[]);
    let waiting: Vec<_> = (0..100)
        .map(|_| supervisor.run(&request(["sleep", "100000"])).unwrap())
        .collect();
    for handle in &waiting {
        handle.kill();
        let result = wait(handle);
        assert_eq!(
            (&result.outcome, result.signal),
            (&Outcome::Killed, Some(libc::SIGKILL))
        );
    }
    assert!(first.try_wait().unwrap().is_none());
}

/// Ends runs at random moments and checks that their outcomes are allowed.
fn end_at_random_moments(end: impl Fn(&millibox::Handle), allowed: &[Outcome]) {
    let supervisor = supervisor();
    let mut random = Random::new();
    let token = token();
    let mut seen = std::collections::BTreeMap::new();
    for round in 0..300 {
        let neighbour = supervisor.run(&request(["exit", "6"])).unwrap();
        // Every fourth run has a new world.
        let new = Mount::create_dir(format!("/mark-{round}"), 0o755);
        let world = if round % 4 == 0 {
            World::minimal().mount(new)
        } else {
            World::minimal()
        };
        let handle = supervisor
            .run(&request(["sleep", "100000", &token]).world(&world))
            .unwrap();
        let moment = Instant::now() + Duration::from_micros(random.below(3000));
        while Instant::now() < moment {
            std::hint::spin_loop();
        }
        end(&handle);
        let result = wait(&handle);
        assert!(allowed.contains(&result.outcome), "round {round}: {result}");
        if result.figures.real_time_ns != 0 || result.outcome == Outcome::Killed {
            assert_eq!(result.signal, Some(libc::SIGKILL), "round {round}");
        }
        *seen.entry(result.figures.real_time_ns != 0).or_insert(0) += 1;
        assert_eq!(
            wait(&neighbour).outcome,
            Outcome::Exited(6),
            "round {round}"
        );
    }
    eprintln!("runs that had reached their exec: {seen:?}");
    assert!(eventually(CLEANUP_TIMEOUT, || processes_with_argument(
        &token
    )
    .is_empty()));
    assert_eq!(
        result(&supervisor, &Request::new("/bin/true")).outcome,
        Outcome::Exited(0)
    );
}

#[test]
fn run_killed_at_random_moment_reports_killed() {
    end_at_random_moments(millibox::Handle::kill, &[Outcome::Killed]);
}

#[test]
fn run_cancelled_at_random_moment_reports_cancelled() {
    end_at_random_moments(millibox::Handle::cancel, &[Outcome::Cancelled]);
}

#[test]
fn killing_a_large_run_does_not_delay_others() {
    let supervisor = supervisor();
    let (read, write) = pipe();
    let token = token();
    let large = supervisor
        .run(&request(["forks-stay", "400", &token]).stdout(write))
        .unwrap();
    assert_eq!(millibox_tests::read_line(&read), "ready");
    assert_eq!(processes_with_argument(&token).len(), 401);
    large.kill();
    let begin = Instant::now();
    assert_eq!(
        result(&supervisor, &Request::new("/bin/true")).outcome,
        Outcome::Exited(0)
    );
    assert!(begin.elapsed() < CLEANUP_TIMEOUT, "{:?}", begin.elapsed());
    assert_eq!(wait(&large).outcome, Outcome::Killed);
    assert_eq!(processes_with_argument(&token), []);
}
