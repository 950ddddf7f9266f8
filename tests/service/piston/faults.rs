//! Runs whose supervisor is killed.

use super::{program, with};
use crate::server::Server;
use millibox_tests::{HANG_TIMEOUT, descendants, eventually, processes_with_argument};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// The memory suffices for one run, so another request is refused while it runs. The number of
/// slots tells the supervisor for real time from the other one.
const CONFIG: &str = "\
[running]
memory_bytes = 268435456
cpu_slots = 1
real_slots = 3
[queue]
wait_ms = 50
";

/// Kills the supervisor for real time when it exists, and waits until it has gone.
fn kill_supervisor(server: &Server) {
    let supervisor = || {
        let family = descendants(server.pid());
        processes_with_argument("--slots=3")
            .into_iter()
            .map(|process| process.pid)
            .find(|pid| family.iter().any(|process| process.pid == *pid))
    };
    assert!(eventually(HANG_TIMEOUT, || supervisor().is_some()));
    let pid = supervisor().expect("a supervisor");
    kill_process(Pid::from_raw(pid).expect("a pid"), Signal::KILL).expect("a living process");
    assert!(eventually(HANG_TIMEOUT, || supervisor() != Some(pid)));
}

/// Executes a request, and kills the supervisor some times while it runs.
fn execute_with_kills(request: &Value, kills: usize) -> (u16, Value) {
    let server = Server::with_config("piston", CONFIG);
    let short = program("bash", "true");
    let status = || server.post("/api/v2/execute", &short).status;
    assert_eq!(status(), 200);
    let answer = std::thread::scope(|scope| {
        let answer = scope.spawn(|| server.post("/api/v2/execute", request));
        assert!(eventually(HANG_TIMEOUT, || status() == 503));
        for _ in 0..kills {
            kill_supervisor(&server);
        }
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
    // The output of the first attempt is no part of it.
    assert_eq!(answer["run"]["output"], "1\n2\n");
}

#[test]
fn run_whose_supervisors_are_killed_returns_500() {
    let request = with(
        program("bash", "sleep 600"),
        &json!({ "run_timeout": 600_000 }),
    );
    let (status, answer) = execute_with_kills(&request, 2);
    assert_eq!(status, 500, "{answer}");
    assert!(answer["message"].is_string(), "{answer}");
}
