//! Runs whose supervisor is killed.

use super::{program, with};
use crate::server::Server;
use millibox_tests::{HANG_TIMEOUT, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The supervisors of the service.
fn children(server: &Server) -> BTreeSet<i32> {
    server.supervisors().into_iter().collect()
}

/// Kills a supervisor that is not in `known`, and adds it. Returns whether one was found.
fn kill_supervisor(server: &Server, known: &mut BTreeSet<i32>) -> bool {
    let found = children(server).difference(known).next().copied();
    if let Some(pid) = found {
        // It may have ended in the meantime.
        let _ = kill_process(Pid::from_raw(pid).expect("a pid"), Signal::KILL);
        known.insert(pid);
    }
    found.is_some()
}

/// How many runs have begun, as the service reports. A second run that checks this could be
/// admitted before the first.
fn running(server: &Server) -> u64 {
    let info = server.get("/v1/info").json();
    info["running_real_time"]
        .as_u64()
        .expect("a number of runs")
}

/// Executes a request, and kills up to `kills` supervisors while it runs. A kill before the run has
/// begun does not count against it.
fn execute_with_kills(request: &Value, kills: usize) -> (u16, Value) {
    let server = Server::everything();
    // The supervisor for real time starts with the first run.
    let mut known = children(&server);
    let short = program("bash", "true");
    let status = || server.post("/api/v2/execute", &short).status;
    assert_eq!(status(), 200);
    let answer = std::thread::scope(|scope| {
        let answer = scope.spawn(|| server.post("/api/v2/execute", request));
        assert!(eventually(HANG_TIMEOUT, || running(&server) == 1));
        let mut killed = 0;
        assert!(eventually(HANG_TIMEOUT, || {
            if killed < kills && kill_supervisor(&server, &mut known) {
                killed += 1;
            }
            answer.is_finished()
        }));
        answer.join().expect("an answer")
    });
    // The service still works.
    assert!(eventually(HANG_TIMEOUT, || status() == 200));
    (answer.status, answer.json())
}

#[test]
fn run_is_repeated_when_its_supervisor_is_killed() {
    let request = with(
        program(
            "python",
            "import time; print(1, flush=True); time.sleep(3); print(2)",
        ),
        &json!({ "run_timeout": 600_000 }),
    );
    let (status, answer) = execute_with_kills(&request, 1);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["run"]["stdout"], "1\n2\n");
    // The result does not contain the output of the first attempt.
    assert_eq!(answer["run"]["output"], "1\n2\n");
}

#[test]
fn run_whose_supervisors_are_killed_returns_500() {
    let request = with(
        program("bash", "sleep 600"),
        &json!({ "run_timeout": 600_000 }),
    );
    let (status, answer) = execute_with_kills(&request, usize::MAX);
    assert_eq!(status, 500, "{answer}");
    assert!(answer["message"].is_string(), "{answer}");
}
