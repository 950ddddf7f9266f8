//! More requests than the service has capacity.

use crate::server::Server;
use millibox_tests::{HANG_TIMEOUT, eventually};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;

const CLIENTS: usize = 64;
const REQUESTS_OF_A_CLIENT: usize = 10;

#[test]
fn requests_beyond_capacity_are_answered_within_the_rules() {
    let config = "[queue]\nmax_requests = 16\n[running]\ncpu_slots = 2";
    let server = Server::with_config("", config);
    let answers = Mutex::new(BTreeMap::<String, usize>::new());
    let request = |client: usize, number: usize| {
        let name = format!("{client}-{number}");
        let patience = if client.is_multiple_of(4) { 1 } else { 60_000 };
        let request = json!({
            "command": ["sh", "-c", format!("sleep 0.01; echo {name}")],
            "queue_ms": patience,
        });
        let answer = server.post("/v1/runs", &request);
        let document = answer.json();
        let kind = match answer.status {
            200 => {
                let test = &document["tests"][0];
                assert_eq!(test["outcome"], "exited", "{answer:?}");
                assert_eq!(test["stdout"]["text"], format!("{name}\n"));
                "done".to_owned()
            }
            503 | 504 => {
                assert!(answer.header("retry-after").is_some(), "{answer:?}");
                document["code"].as_str().unwrap().to_owned()
            }
            _ => panic!("{answer:?}"),
        };
        *answers.lock().unwrap().entry(kind).or_default() += 1;
    };
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let request = &request;
            scope.spawn(move || {
                for number in 0..REQUESTS_OF_A_CLIENT {
                    request(client, number);
                }
            });
        }
    });
    let answers = answers.into_inner().unwrap();
    let total: usize = answers.values().sum();
    assert_eq!(total, CLIENTS * REQUESTS_OF_A_CLIENT, "{answers:?}");
    assert!(answers["done"] > 0, "{answers:?}");
    assert!(answers.contains_key("queue_full"), "{answers:?}");
    let kinds: Vec<&str> = answers.keys().map(|kind| &kind[..]).collect();
    let allowed = ["done", "queue_full", "queue_timeout"];
    assert!(kinds.iter().all(|kind| allowed.contains(kind)), "{kinds:?}");

    let is_idle = || {
        let info = server.get("/v1/info").json();
        let figures = ["running", "queued", "queued_bytes", "running_memory_bytes"];
        figures.iter().all(|name| info[*name] == 0)
    };
    assert!(
        eventually(HANG_TIMEOUT, is_idle),
        "{}",
        server.get("/v1/info").body
    );
    assert_eq!(server.get("/readyz").status, 200);
    let after: Value = server
        .post("/v1/runs", &json!({ "command": ["true"] }))
        .json();
    assert_eq!(after["tests"][0]["exit_code"], 0, "{after}");
}
