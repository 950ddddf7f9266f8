//! Small requests that could make the service keep much: memory, descriptors and stored files.

use crate::clients::tokens;
use crate::server::Server;
use millibox_tests::{HANG_TIMEOUT, Random, eventually};
use serde_json::{Value, json};
use std::io::Read;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

/// Content that is `bytes` long.
fn content(bytes: u64) -> Vec<u8> {
    vec![b'a'; bytes as usize]
}

#[test]
fn run_changes_no_stored_file_through_its_descriptors() {
    let server = Server::with_config("", &tokens(&["a", "b"]));
    let original = b"original\n";
    let digest = server.store_of("a", original);
    let id = server.upload_of("a", original);
    let script = "for fd in 0 1 2 3; do \
                  (echo changed > /proc/self/fd/$fd) 2>/dev/null; \
                  (echo changed >> /proc/self/fd/$fd) 2>/dev/null; \
                  (truncate -s 0 /proc/self/fd/$fd) 2>/dev/null; done; true";
    let run = json!({ "command": ["sh", "-c", script], "stdin": { "sha256": digest } });
    assert_eq!(server.post_of("a", "/v1/runs", &run).status, 200);
    for files in [
        json!([{ "fileId": id }, { "fileId": id }, { "fileId": id }, { "fileId": id }]),
        json!([{ "fileId": id }, { "name": "stdout", "max": 100 }, { "fileId": id }]),
    ] {
        let command = json!({
            "args": ["sh", "-c", script], "env": ["PATH=/usr/bin:/bin"], "files": files,
            "cpuLimit": 10_000_000_000_u64, "clockLimit": 20_000_000_000_u64,
            "memoryLimit": 64 * MIB, "procLimit": 10,
        });
        let answer = server.post_of("a", "/run", &json!({ "cmd": [command] }));
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let text = String::from_utf8_lossy(original);
    let path = format!("/v1/files/{digest}");
    assert_eq!(server.request_of("a", "GET", &path, "").body, text);
    let path = format!("/file/{id}");
    assert_eq!(server.request_of("a", "GET", &path, "").body, text);
    let read = json!({ "command": ["cat"], "stdin": { "sha256": digest } });
    let answer = server.post_of("a", "/v1/runs", &read).json();
    assert_eq!(answer["tests"][0]["stdout"]["text"], *text, "{answer}");
}

#[test]
fn run_changes_no_device_of_the_host() {
    use std::os::unix::fs::MetadataExt;
    let server = Server::start("");
    let times = || {
        let null = std::fs::metadata("/dev/null").expect("a null device");
        (null.mtime(), null.mtime_nsec())
    };
    let before = times();
    // A run with files receives its standard input from the service.
    let run = json!({
        "command": ["sh", "-c", "touch -c /proc/self/fd/0; cat; echo discarded > /dev/null"],
        "files": { "a": { "text": "" } },
    });
    let answer = server.post("/v1/runs", &run).json();
    assert_eq!(answer["tests"][0]["outcome"], "exited", "{answer}");
    assert_eq!(times(), before);
}

#[test]
fn large_stored_input_is_read_to_its_end() {
    let server = Server::start("");
    let bytes = 70 * MIB;
    let digest = server.store_of("", &content(bytes));
    let run = json!({ "command": ["wc", "-c"], "stdin": { "sha256": digest } });
    let answer = server.post("/v1/runs", &run).json();
    let text = format!("{bytes}\n");
    assert_eq!(answer["tests"][0]["stdout"]["text"], *text, "{answer}");
}

#[test]
fn references_to_one_file_cost_its_memory_once() {
    let server = Server::start("");
    let digest = server.store_of("", &content(32 * MIB));
    let test = json!({ "expected": { "sha256": digest } });
    let run = json!({ "command": ["true"], "tests": vec![test; 8] });
    let (before, _) = server.usage();
    let (memory, _) = server.peak_usage(|| {
        let answer = server.post("/v1/runs", &run);
        assert_eq!(answer.json()["tests"][7]["passed"], false, "{answer:?}");
    });
    let growth = memory - before;
    println!("the memory grew by {} MiB", growth / MIB);
    assert!(growth < 160 * MIB, "the memory grew by {growth} bytes");
}

#[test]
fn references_of_waiting_requests_hold_no_descriptors() {
    let server = Server::with_config("", "[running]\ncpu_slots = 1");
    let digest = server.store_of("", b"input");
    let blocking = json!({ "command": ["sleep", "100"], "queue_ms": 60_000 });
    let _blocking = server.begin_post("/v1/runs", "", &blocking.to_string());
    crate::v1::await_running(&server, 1);
    let test = json!({ "stdin": { "sha256": digest } });
    let run = json!({ "command": ["true"], "tests": vec![test; 1000] }).to_string();
    let (_, before) = server.usage();
    let _waiting: Vec<TcpStream> = (0..4)
        .map(|_| server.begin_post("/v1/runs", "", &run))
        .collect();
    let are_queued = || server.get("/v1/info").json()["queued"] == 4;
    assert!(eventually(HANG_TIMEOUT, are_queued));
    let (_, after) = server.usage();
    println!("{before} descriptors, then {after}");
    assert!(after < before + 100, "{before} descriptors, then {after}");
}

#[test]
fn files_beyond_the_working_directory_are_refused_before_they_are_read() {
    let server = Server::start("");
    let digest = server.store_of("", &content(32 * MIB));
    let id = server.upload_of("", &content(32 * MIB));
    let names = |file: &Value| -> Value {
        let files = (0..24).map(|number| (format!("f{number}"), file.clone()));
        Value::Object(files.collect())
    };
    let run = json!({
        "command": ["true"], "files": names(&json!({ "sha256": digest })),
        "limits": { "files_bytes": MIB },
    });
    let group = json!({ "cmd": [{
        "args": ["/bin/true"], "files": [], "copyIn": names(&json!({ "fileId": id })),
        "cpuLimit": 10_000_000_000_u64, "memoryLimit": 64 * MIB, "procLimit": 10,
    }] });
    let (before, _) = server.usage();
    let (memory, _) = server.peak_usage(|| {
        let answer = server.post("/v1/runs", &run);
        assert_eq!(
            (answer.status, &answer.json()["field"]),
            (422, &json!("files"))
        );
        let answer = server.post("/run", &group).json();
        assert_eq!(answer[0]["status"], "File Error", "{answer}");
    });
    let growth = memory - before;
    println!("the memory grew by {} MiB", growth / MIB);
    assert!(growth < 32 * MIB, "the memory grew by {growth} bytes");
}

#[test]
fn outputs_of_all_tests_have_one_budget_and_are_compared_as_a_whole() {
    let config = "[requests]\nanswer_bytes = 3145728\nheld_bytes = 67108864";
    let server = Server::with_config("", config);
    let expected = server.store_of("", &content(MIB));
    let test = json!({ "expected": { "sha256": expected } });
    let run = json!({
        "command": ["sh", "-c", "head -c 1048576 /dev/zero | tr '\\0' a"],
        "tests": vec![test; 5],
    });
    let answer = server.post("/v1/runs", &run).json();
    let tests = answer["tests"].as_array().unwrap();
    let shown: Vec<_> = tests
        .iter()
        .map(|test| {
            assert_eq!(test["stdout"]["bytes"], MIB, "{test}");
            assert_eq!(test["passed"], true);
            (
                test["stdout"]["text"].as_str().unwrap().len() as u64,
                test["stdout"]["truncated"].clone(),
            )
        })
        .collect();
    let (whole, nothing) = ((MIB, json!(false)), (0, json!(true)));
    let whole_ones = [whole.clone(), whole.clone(), whole];
    assert_eq!(
        (&shown[..3], &shown[3..]),
        (&whole_ones[..], &[nothing.clone(), nothing][..])
    );
    let greedy = json!({
        "command": ["true"], "limits": { "output_bytes": 64 * MIB },
    });
    // It may need more than all requests together may hold, so it runs alone.
    let alone = server.post("/v1/runs", &greedy);
    assert_eq!(alone.status, 200, "{alone:?}");
}

#[test]
fn collected_output_of_a_group_has_one_budget() {
    let server = Server::with_config("", "[requests]\nanswer_bytes = 1048576");
    // Upstream allows 256 MiB for each name.
    let names: Vec<String> = (0..60)
        .map(|number| format!("./{}f", "./".repeat(number)))
        .collect();
    let command = json!({
        "args": ["sh", "-c", "head -c 16777216 /dev/zero > f"], "env": ["PATH=/usr/bin:/bin"],
        "files": [], "copyOut": names, "cpuLimit": 10_000_000_000_u64,
        "clockLimit": 60_000_000_000_u64, "memoryLimit": 64 * MIB, "procLimit": 10,
    });
    let (before, _) = server.usage();
    let (memory, _) = server.peak_usage(|| {
        let answer = server.post("/run", &json!({ "cmd": [command] })).json();
        let errors = answer[0]["fileError"].as_array().unwrap();
        assert_eq!(errors.last().unwrap()["type"], "CopyOutSizeExceeded");
    });
    let growth = memory - before;
    println!("the memory grew by {} MiB", growth / MIB);
    // The answer contains a mebibyte. The rest is read, and then dropped.
    assert!(growth < 512 * MIB, "the memory grew by {growth} bytes");
}

/// The configuration of the test below. [`BOUND_BYTES`] follows from it as docs/reference/serve.md
/// states.
const CONFIG: &str = "[requests]\nheld_bytes = 100663296\nanswer_bytes = 8388608\n\
    [queue]\nmax_bytes = 16777216\n[results]\nmax_bytes = 16777216\nmax_event_bytes = 1048576\n\
    [judge0]\nmax_bytes = 16777216\n";
const BASE_BYTES: u64 = 256 * MIB;
const BOUND_BYTES: u64 = BASE_BYTES + (96 + 16 + 16 + 16) * MIB;
/// Descriptors of the service beside those of connections.
const BOUND_DESCRIPTORS: u64 = 1500;
const GREEDY_CLIENTS: usize = 6;
/// How long a greedy client waits for an answer. Then its request is cancelled.
const PATIENCE: Duration = Duration::from_secs(2);
const MAX_BODY_BYTES: usize = 64 << 10;

/// What the greedy client has stored.
struct Stored {
    digests: Vec<String>,
    ids: Vec<String>,
}

impl Stored {
    fn blob(&self, random: &mut Random) -> Value {
        json!({ "sha256": self.digests[random.below(self.digests.len() as u64) as usize] })
    }

    fn file(&self, random: &mut Random) -> Value {
        json!({ "fileId": self.ids[random.below(self.ids.len() as u64) as usize] })
    }
}

/// Up to this number of values.
fn several(
    random: &mut Random,
    most: u64,
    mut value: impl FnMut(&mut Random, u64) -> Value,
) -> Vec<Value> {
    let most = 1 + random.below(most);
    let count = 1 + random.below(most);
    (0..count).map(|number| value(random, number)).collect()
}

fn named(values: Vec<Value>) -> Value {
    let pairs = values.into_iter().enumerate();
    Value::Object(
        pairs
            .map(|(number, value)| (format!("f{number}"), value))
            .collect(),
    )
}

fn limits(random: &mut Random) -> Value {
    json!({
        "cpu_ms": 1000, "wall_ms": 2000, "memory_bytes": 64 * MIB,
        "output_bytes": 1 + random.below(32 * MIB), "files_bytes": 1 + random.below(64 * MIB),
    })
}

/// A program that may write much.
fn program(random: &mut Random) -> String {
    let bytes = 1 + random.below(24 * MIB);
    [
        "cat".to_owned(),
        "true".to_owned(),
        format!("head -c {bytes} /dev/zero"),
        format!("head -c {bytes} /dev/zero | tee f0 f1 f2 >&2"),
    ][random.below(4) as usize]
        .clone()
}

fn run_request(stored: &Stored, random: &mut Random) -> Value {
    let mut run = json!({
        "command": ["sh", "-c", program(random)], "queue_ms": 1000, "limits": limits(random),
        "tests": several(random, 400, |random, _| json!({
            "stdin": stored.blob(random), "expected": stored.blob(random),
        })),
    });
    if random.below(2) == 0 {
        let files = several(random, 300, |random, _| stored.blob(random));
        run["files"] = named(files);
    }
    if random.below(2) == 0 {
        run["outputs"] = several(random, 500, |_, number| json!(format!("f{}", number % 4))).into();
    }
    run
}

fn command_request(stored: &Stored, random: &mut Random) -> Value {
    json!({
        "args": ["sh", "-c", program(random)], "env": ["PATH=/usr/bin:/bin"],
        "files": several(random, 60, |random, number| match number {
            0 => stored.file(random),
            number if random.below(2) == 0 => {
                json!({ "name": format!("c{number}"), "max": random.below(64 * MIB) })
            }
            _ => stored.file(random),
        }),
        "copyIn": named(several(random, 200, |random, _| stored.file(random))),
        "copyOut": several(random, 200, |_, number| {
            json!(format!("{}f0?", "./".repeat(number as usize % 30)))
        }),
        "cpuLimit": 1_000_000_000, "clockLimit": 2_000_000_000_u64,
        "memoryLimit": 64 * MIB, "procLimit": 20,
    })
}

/// A request of at most 64 KiB to one of the interfaces.
fn request(stored: &Stored, random: &mut Random) -> (&'static str, String) {
    loop {
        let (path, body) = match random.below(9) {
            0 | 1 => ("/v1/runs", run_request(stored, random)),
            2 => (
                "/v1/batches",
                json!({ "runs": several(random, 20, |random, _| run_request(stored, random)) }),
            ),
            3 => (
                "/v1/judgings",
                json!({
                    "package": stored.blob(random),
                    "submission": named(several(random, 300, |random, _| stored.blob(random))),
                }),
            ),
            4 | 5 => (
                "/run",
                json!({
                    "cmd": several(random, 20, |random, _| command_request(stored, random)),
                }),
            ),
            6 => (
                "/api/v2/execute",
                json!({
                    "language": "bash", "version": "*", "run_timeout": 2000,
                    "files": several(random, 300, |random, _| {
                        json!({ "content": program(random) })
                    }),
                }),
            ),
            7 => (
                "/run_code",
                json!({
                    "language": "bash", "code": program(random), "run_timeout": 2,
                    "fetch_files": several(random, 2000, |_, number| {
                        json!(format!("f{}", number % 3))
                    }),
                }),
            ),
            _ => (
                "/submissions/batch",
                json!({
                    "submissions": several(random, 20, |random, _| json!({
                        "language_id": 46, "source_code": program(random), "number_of_runs": 20,
                        "max_file_size": 4096,
                    })),
                }),
            ),
        };
        let body = body.to_string();
        if body.len() <= MAX_BODY_BYTES {
            return (path, body);
        }
    }
}

/// Sends random requests of one client from several threads, while a modest client must still get
/// responses. Prints and checks the peaks of memory and descriptors.
fn flood(cases: usize) {
    let config = format!("{CONFIG}{}", tokens(&["greedy", "modest"]));
    let server = Server::with_config("", &config);
    let sizes = [1 << 10, 4 * MIB, 24 * MIB];
    let stored = Stored {
        digests: sizes
            .map(|bytes| server.store_of("greedy", &content(bytes)))
            .to_vec(),
        ids: sizes
            .map(|bytes| server.upload_of("greedy", &content(bytes)))
            .to_vec(),
    };
    let modest = || {
        let run = json!({ "command": ["echo", "modest"] });
        let begin = Instant::now();
        let answer = server.post_of("modest", "/v1/runs", &run);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.json()["tests"][0]["stdout"]["text"], "modest\n");
        begin.elapsed()
    };
    let idle = (0..10).map(|_| modest()).max().expect("times");
    let is_done = AtomicBool::new(false);
    let mut slowest = Duration::ZERO;
    let (memory, descriptors) = server.peak_usage(|| {
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..GREEDY_CLIENTS)
                .map(|_| {
                    scope.spawn(|| {
                        let mut random = Random::new();
                        for _ in 0..cases.div_ceil(GREEDY_CLIENTS) {
                            let (path, body) = request(&stored, &mut random);
                            send(&server, path, &body);
                        }
                    })
                })
                .collect();
            scope.spawn(|| {
                for client in clients {
                    let _ = client.join();
                }
                is_done.store(true, Ordering::Relaxed);
            });
            while !is_done.load(Ordering::Relaxed) {
                slowest = slowest.max(modest());
                std::thread::sleep(Duration::from_millis(20));
            }
        });
    });
    println!(
        "{cases} requests: {} MiB of {} MiB, {descriptors} descriptors; the slowest answer to a \
         modest client took {} ms, and {} ms without the others",
        memory / MIB,
        BOUND_BYTES / MIB,
        slowest.as_millis(),
        idle.as_millis(),
    );
    assert!(memory < BOUND_BYTES, "the service used {memory} bytes");
    assert!(descriptors < BOUND_DESCRIPTORS, "{descriptors} descriptors");
    modest();
}

/// Sends a request, and waits a while for its answer.
fn send(server: &Server, path: &str, body: &str) {
    let headers = "Authorization: Bearer greedy\r\nX-Auth-Token: greedy\r\n\
                   Content-Type: application/json\r\nConnection: close\r\n";
    let mut connection = server.begin_post(path, headers, body);
    let end = Instant::now() + PATIENCE;
    let mut piece = [0; 1 << 16];
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        let _ = connection.set_read_timeout(Some(left.max(Duration::from_millis(1))));
        if !matches!(connection.read(&mut piece), Ok(1..)) {
            return;
        }
    }
}

#[test]
fn random_small_requests_stay_within_the_stated_memory_and_descriptors() {
    flood(60);
}

#[test]
#[ignore = "takes minutes; run it by name, against a release build"]
fn thousands_of_random_small_requests_stay_within_the_stated_memory_and_descriptors() {
    flood(3000);
}
