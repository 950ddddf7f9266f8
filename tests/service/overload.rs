//! More requests than the service has capacity for.

use crate::server::{Server, read_to_end};
use millibox_tests::{HANG_TIMEOUT, eventually};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::{Duration, Instant};

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

    assert_idle(&server);
}

/// Asserts that nothing runs or waits, and that the service carries out the next request.
fn assert_idle(server: &Server) {
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

/// An interface, with a request as its clients send it.
struct Interface {
    path: &'static str,
    /// The request for a program that prints this name.
    request: fn(&str) -> Value,
    /// The kind of an answer that the interface allows: `done` or a refusal.
    kind: fn(&Plain, &str) -> Option<&'static str>,
}

/// An answer as it was received.
#[derive(Debug)]
struct Plain {
    status: u16,
    head: String,
    body: Value,
}

impl Plain {
    fn read(connection: TcpStream) -> Option<Plain> {
        let text = read_to_end(connection);
        let (head, body) = text.split_once("\r\n\r\n")?;
        Some(Plain {
            status: head.split(' ').nth(1)?.parse().ok()?,
            head: head.to_ascii_lowercase(),
            body: serde_json::from_str(body).ok()?,
        })
    }

    fn may_be_retried(&self) -> bool {
        self.head.contains("\r\nretry-after: ")
    }
}

fn script(name: &str) -> String {
    format!("sleep 0.01; echo {name}")
}

fn is_line(text: &Value, name: &str) -> bool {
    text.as_str().is_some_and(|text| text.trim_end() == name)
}

const INTERFACES: [Interface; 5] = [
    Interface {
        path: "/v1/runs",
        request: |name| json!({ "command": ["sh", "-c", script(name)], "queue_ms": 2_000 }),
        kind: |answer, name| match (answer.status, answer.body["code"].as_str()) {
            (200, _) => is_line(&answer.body["tests"][0]["stdout"]["text"], name).then_some("done"),
            (503, Some("queue_full")) if answer.may_be_retried() => Some("queue_full"),
            (504, Some("queue_timeout")) if answer.may_be_retried() => Some("queue_timeout"),
            _ => None,
        },
    },
    Interface {
        path: "/run",
        request: |name| {
            json!({ "cmd": [{
                "args": ["sh", "-c", script(name)],
                "env": ["PATH=/usr/bin:/bin"],
                "files": [{ "content": "" }, { "name": "stdout", "max": 100 }],
                "cpuLimit": 10_000_000_000_u64,
                "clockLimit": 20_000_000_000_u64,
                "memoryLimit": 67_108_864,
                "procLimit": 10,
            }] })
        },
        kind: |answer, name| match answer.status {
            200 => is_line(&answer.body[0]["files"]["stdout"], name).then_some("done"),
            500 => (answer.body == "worker queue is full").then_some("queue_full"),
            _ => None,
        },
    },
    Interface {
        path: "/api/v2/execute",
        request: |name| {
            let files = [json!({ "content": script(name) })];
            json!({ "language": "bash", "version": "*", "files": files })
        },
        kind: |answer, name| match answer.status {
            200 => is_line(&answer.body["run"]["stdout"], name).then_some("done"),
            503 => answer.body["message"].is_string().then_some("refused"),
            _ => None,
        },
    },
    Interface {
        path: "/run_code",
        request: |name| {
            json!({ "language": "bash", "code": script(name), "compile_timeout": 1,
                    "run_timeout": 10 })
        },
        kind: |answer, name| match answer.status {
            200 => is_line(&answer.body["run_result"]["stdout"], name).then_some("done"),
            504 => answer.may_be_retried().then_some("refused"),
            _ => None,
        },
    },
    Interface {
        path: "/submissions?wait=true",
        request: |name| json!({ "language_id": 46, "source_code": script(name) }),
        kind: |answer, name| match answer.status {
            201 => is_line(&answer.body["stdout"], name).then_some("done"),
            503 => (answer.body["error"] == "queue is full").then_some("queue_full"),
            _ => None,
        },
    },
];

/// Measures how many requests of a few clients the service carries out per second.
fn capacity(server: &Server, interface: &Interface) -> f64 {
    let begin = Instant::now();
    let requests = 4 * 25;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..requests / 4 {
                    let answer = request(server, interface, "measured");
                    let kind = answer
                        .as_ref()
                        .and_then(|it| (interface.kind)(it, "measured"));
                    assert_eq!(kind, Some("done"), "{answer:?}");
                }
            });
        }
    });
    f64::from(requests) / begin.elapsed().as_secs_f64()
}

fn request(server: &Server, interface: &Interface, name: &str) -> Option<Plain> {
    let body = (interface.request)(name).to_string();
    let headers = "Content-Type: application/json\r\nConnection: close\r\n";
    Plain::read(server.begin_post(interface.path, headers, &body))
}

/// Sends requests at four times the rate that the service can sustain, each on its own connection.
/// Checks that each answer is one that the interface allows, and that the service is idle soon
/// afterwards.
fn overload(interface: &Interface, requests: usize) {
    let config = format!(
        "[queue]\nmax_requests = {}\n[running]\ncpu_slots = 2\nreal_slots = 2\n\
         [judge0]\nmax_queued = 100\n[sandbox_fusion]\nwait_ms = 500",
        requests / 10
    );
    let server = Server::with_config("", &config);
    let rate = 4.0 * capacity(&server, interface);
    let before = server.peak_memory_bytes();
    let (kinds, wrong) = (Mutex::new(BTreeMap::new()), Mutex::new(Vec::new()));
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for number in 0..requests {
            let due = Duration::from_secs_f64(number as f64 / rate);
            std::thread::sleep(due.saturating_sub(begin.elapsed()));
            let (server, kinds, wrong) = (&server, &kinds, &wrong);
            let client = move || {
                let name = format!("program-{number}");
                let answer = request(server, interface, &name);
                match answer.as_ref().and_then(|it| (interface.kind)(it, &name)) {
                    Some(kind) => *kinds.lock().unwrap().entry(kind).or_insert(0) += 1,
                    None => wrong.lock().unwrap().push(answer),
                }
            };
            let thread = std::thread::Builder::new().stack_size(256 << 10);
            thread.spawn_scoped(scope, client).expect("a thread");
        }
    });
    let answered = begin.elapsed();
    let kinds: BTreeMap<&str, usize> = kinds.into_inner().unwrap();
    let wrong = wrong.into_inner().unwrap();
    assert!(
        wrong.is_empty(),
        "{}: {:#?}",
        interface.path,
        &wrong[..wrong.len().min(5)]
    );
    let total: usize = kinds.values().sum();
    assert_eq!(total, requests, "{}: {kinds:?}", interface.path);
    assert!(
        kinds.contains_key("done") && kinds.len() > 1,
        "{}: {kinds:?}",
        interface.path
    );
    let end = Instant::now();
    assert_idle(&server);
    let growth = server.peak_memory_bytes().saturating_sub(before);
    println!(
        "{}: {requests} requests, {rate:.0} each second, answered in {:.1} s: {kinds:?}; the peak \
         of the memory of the service is {} MiB, {} MiB more than before, and that of the \
         supervisors {} MiB; idle {} ms after the last answer",
        interface.path,
        answered.as_secs_f64(),
        server.peak_memory_bytes() >> 20,
        growth >> 20,
        server.supervisors_peak_memory_bytes() >> 20,
        end.elapsed().as_millis(),
    );
    assert!(
        growth < 512 << 20,
        "{}: the memory grew by {growth} bytes",
        interface.path
    );
}

#[test]
fn each_interface_answers_overload_within_its_rules() {
    for interface in &INTERFACES {
        overload(interface, 300);
    }
}

#[test]
#[ignore = "takes minutes; run it by name"]
fn each_interface_answers_10_000_requests_of_overload_within_its_rules() {
    for interface in &INTERFACES {
        overload(interface, 10_000);
    }
}
