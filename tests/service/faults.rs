//! Supervisors that are killed during requests.

use crate::server::Server;
use millibox_tests::{HANG_TIMEOUT, eventually, kill};
use rustix::process::Signal;
use serde_json::json;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const CLIENTS: usize = 32;
const REQUESTS_OF_A_CLIENT: usize = 10;

/// Kills the supervisors of a service. Returns their number.
fn kill_supervisors(server: &Server) -> usize {
    let supervisors = server.supervisors();
    for pid in &supervisors {
        kill(*pid, Signal::KILL);
    }
    supervisors.len()
}

#[test]
fn killed_supervisors_are_never_blamed_on_the_program() {
    let server = Server::start("");
    let failures = Mutex::new(Vec::new());
    let (done, blamed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let request = |name: &str| {
        let script = format!("sleep 0.02; echo {name}; exit 3");
        let answer = server.post("/v1/runs", &json!({ "command": ["sh", "-c", script] }));
        let document = answer.json();
        match answer.status {
            200 => {
                let test = &document["tests"][0];
                let is_right = test["outcome"] == "exited"
                    && test["exit_code"] == 3
                    && test["stdout"]["text"] == format!("{name}\n");
                if is_right {
                    done.fetch_add(1, Ordering::Relaxed);
                } else if test["blame"] == "service" {
                    blamed.fetch_add(1, Ordering::Relaxed);
                } else {
                    failures.lock().unwrap().push(answer);
                }
            }
            500 if document["code"] == "sandbox_error" => {
                blamed.fetch_add(1, Ordering::Relaxed);
            }
            _ => failures.lock().unwrap().push(answer),
        }
    };
    let mut kills = 0;
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let request = &request;
                scope.spawn(move || {
                    for number in 0..REQUESTS_OF_A_CLIENT {
                        request(&format!("{client}-{number}"));
                    }
                })
            })
            .collect();
        for round in 1..=3 {
            let target = round * CLIENTS * REQUESTS_OF_A_CLIENT / 5;
            let is_reached =
                || done.load(Ordering::Relaxed) + blamed.load(Ordering::Relaxed) >= target;
            assert!(eventually(HANG_TIMEOUT, is_reached));
            kills += kill_supervisors(&server);
        }
        for client in clients {
            client.join().unwrap();
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(kills > 0, "a supervisor was killed");
    let total = done.load(Ordering::Relaxed) + blamed.load(Ordering::Relaxed);
    assert_eq!(total, CLIENTS * REQUESTS_OF_A_CLIENT);
    assert!(done.load(Ordering::Relaxed) > 0);
    let after = server.post("/v1/runs", &json!({ "command": ["true"] }));
    assert_eq!(after.json()["tests"][0]["exit_code"], 0, "{after:?}");
}
