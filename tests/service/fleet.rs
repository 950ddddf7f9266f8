//! Front ends and executors, with a real nats-server between them.

use crate::server::{Answer, Fleet, Server, programs, read_to_end};
use async_nats::{ConnectOptions, Event};
use millibox_tests::nats;
use millibox_tests::{HANG_TIMEOUT, eventually};
use rustix::process::Signal;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Languages whose versions are known quickly, and few places, so that a fleet is soon full.
const CONFIG: &str = "languages = ['bash', 'c', 'python3']\n";

/// A run that lasts long enough to be interrupted.
fn slow() -> Value {
    json!({ "command": ["sh", "-c", "sleep 8; echo done"] })
}

impl Fleet {
    fn config(&self, text: &str) -> std::path::PathBuf {
        let path = self.directory.path().join("service.toml");
        std::fs::write(&path, text).expect("a configuration file");
        path
    }

    fn executor(&self, name: &str, config: &Path) -> Server {
        Server::spawn(
            programs(self.command(name), &[])
                .arg("--config")
                .arg(config),
        )
    }

    fn front(&self, name: &str, config: &Path) -> Server {
        let mut command = self.command(name);
        command.args(["--front", "--listen", "127.0.0.1:0", "--config"]);
        Server::spawn(command.arg(config))
    }
}

/// The number of executors that a front end uses.
fn executors(front: &Server) -> u64 {
    front.get("/readyz").json()["executors"]
        .as_u64()
        .unwrap_or(0)
}

fn wait_for_executors(front: &Server, number: u64) {
    assert!(
        eventually(HANG_TIMEOUT, || executors(front) == number),
        "{:?}",
        front.get("/readyz")
    );
}

/// The name of the executor that runs something, as the metrics of a front end show it.
fn busy(front: &Server) -> Option<String> {
    let metrics = front.get("/metrics").body;
    let mut lines = metrics.lines();
    lines.find_map(|line| {
        let rest = line.strip_prefix("millibox_front_executor_running{executor=\"")?;
        let (name, number) = rest.split_once("\"} ")?;
        (number != "0").then(|| name.to_owned())
    })
}

fn wait_until_busy(front: &Server) -> String {
    let mut found = None;
    let is_busy = || {
        found = busy(front);
        found.is_some()
    };
    assert!(eventually(HANG_TIMEOUT, is_busy), "nothing runs");
    found.unwrap_or_default()
}

/// A path, a request and a part of its response.
type Case = (&'static str, fn() -> Value, fn(&Value) -> Value);

/// A request of each interface, and the part of the response that does not depend on time.
const REQUESTS: [Case; 6] = [
    (
        "/v1/runs",
        || json!({ "command": ["sh", "-c", "echo $((6 * 7)); exit 3"] }),
        |found| found["tests"][0]["stdout"].clone(),
    ),
    (
        "/run",
        || {
            json!({ "cmd": [{ "args": ["sh", "-c", "echo 42"], "env": ["PATH=/usr/bin:/bin"],
                "files": [{ "content": "" }, { "name": "stdout", "max": 100 }],
                "cpuLimit": 10_000_000_000_u64, "memoryLimit": 67_108_864, "procLimit": 10 }] })
        },
        |found| json!([found[0]["status"], found[0]["files"]]),
    ),
    (
        "/api/v2/execute",
        || json!({ "language": "bash", "version": "*", "files": [{ "content": "echo 42" }] }),
        |found| found["run"]["stdout"].clone(),
    ),
    (
        "/run_code",
        || json!({ "language": "bash", "code": "echo 42", "run_timeout": 10 }),
        |found| json!([found["status"], found["run_result"]["stdout"]]),
    ),
    (
        "/submissions?wait=true",
        || json!({ "language_id": 46, "source_code": "echo 42" }),
        |found| json!([found["status"], found["stdout"]]),
    ),
    ("/unknown", || json!({}), Value::clone),
];

#[test]
fn front_end_responds_as_a_service_does() {
    let Some(fleet) = Fleet::start() else { return };
    let config = fleet.config(CONFIG);
    let _executor = fleet.executor("box-1", &config);
    let front = fleet.front("web", &config);
    let direct = Server::with_config("", CONFIG);
    wait_for_executors(&front, 1);
    for (path, request, part) in REQUESTS {
        let (one, other) = (front.post(path, &request()), direct.post(path, &request()));
        assert_eq!(one.status, other.status, "{path}: {one:?}");
        assert_eq!(part(&one.json()), part(&other.json()), "{path}: {one:?}");
        let kind = |answer: &Answer| answer.header("content-type").map(str::to_owned);
        assert_eq!(kind(&one), kind(&other), "{path}");
    }
    for path in [
        "/version",
        "/languages",
        "/api/v2/runtimes",
        "/v1/runtimes",
        "/",
    ] {
        let (one, other) = (front.get(path), direct.get(path));
        assert_eq!(
            (one.status, &one.body),
            (other.status, &other.body),
            "{path}"
        );
    }
    assert_eq!(front.get("/healthz").body, "ok\n");
}

#[test]
fn large_bodies_pass_in_both_directions() {
    let Some(fleet) = Fleet::start() else { return };
    let config = fleet.config(CONFIG);
    let _executors = ["box-1", "box-2"].map(|name| fleet.executor(name, &config));
    let front = fleet.front("web", &config);
    wait_for_executors(&front, 2);
    // Much larger than a message and than the window of a tunnel.
    let content: Vec<u8> = (0..4_u32 << 20)
        .map(|number| (number % 251) as u8)
        .collect();
    let digest = digest_hex(&content);
    let path = format!("/v1/files/{digest}");
    let stored = front.request("PUT", &path, &[], content.clone());
    assert_eq!(stored.status, 201, "{}", stored.body);
    let mut response = ureq::get(format!("{}{path}", front.url))
        .call()
        .expect("a response");
    let body = response
        .body_mut()
        .with_config()
        .limit(1 << 30)
        .read_to_vec();
    assert!(body.expect("a body") == content);
    // The file is found by the requests that refer to it, whichever executor is less busy.
    for _ in 0..4 {
        let run = front.post(
            "/v1/runs",
            &json!({ "command": ["sh", "-c", "wc -c < big"],
                     "files": { "big": { "sha256": digest } } }),
        );
        assert_eq!(
            run.json()["tests"][0]["stdout"]["text"],
            "4194304\n",
            "{run:?}"
        );
    }
}

fn digest_hex(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The number of requests that a front end has sent again.
fn repetitions(front: &Server) -> u64 {
    let metrics = front.get("/metrics").body;
    let mut lines = metrics.lines();
    let number = lines.find_map(|line| line.strip_prefix("millibox_front_repetitions_total "));
    number.expect("a figure").parse().expect("a number")
}

/// Sends a slow run, and lets `interrupt` act on the executor that runs it. Returns the response,
/// and the number of repetitions since the interruption.
fn interrupted(interrupt: impl Fn(&Server)) -> (Answer, u64) {
    let fleet = Fleet::start().expect("a fleet");
    let config = fleet.config(CONFIG);
    let names = ["box-1", "box-2"];
    let executors = names.map(|name| fleet.executor(name, &config));
    let front = fleet.front("web", &config);
    wait_for_executors(&front, 2);
    let (answer, before) = std::thread::scope(|scope| {
        let running = scope.spawn(|| front.post("/v1/runs", &slow()));
        let name = wait_until_busy(&front);
        let before = repetitions(&front);
        let index = names
            .iter()
            .position(|known| *known == name)
            .expect("an executor");
        interrupt(&executors[index]);
        (running.join().expect("a response"), before)
    });
    let repeated = repetitions(&front) - before;
    for executor in &executors {
        executor.signal(Signal::CONT);
    }
    (answer, repeated)
}

#[test]
fn request_on_a_killed_executor_is_sent_to_another_one() {
    if nats::program().is_err() {
        return millibox_tests::skip("nats-server is not installed");
    }
    let (answer, repeated) = interrupted(|executor| executor.signal(Signal::KILL));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["tests"][0]["stdout"]["text"], "done\n");
    assert!(repeated >= 1);
}

#[test]
fn request_on_a_stopped_executor_is_sent_to_another_one() {
    if nats::program().is_err() {
        return millibox_tests::skip("nats-server is not installed");
    }
    let stop = |executor: &Server| millibox_tests::kill(executor.service_pid(), Signal::STOP);
    let (answer, _) = interrupted(|executor| {
        stop(executor);
        let executor = executor.service_pid();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(12));
            millibox_tests::kill(executor, Signal::CONT);
        });
    });
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["tests"][0]["stdout"]["text"], "done\n");
}

#[test]
fn request_ends_before_its_executor_does() {
    if nats::program().is_err() {
        return millibox_tests::skip("nats-server is not installed");
    }
    let (answer, repeated) = interrupted(|executor| executor.signal(Signal::TERM));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(repeated, 0);
}

#[test]
fn restart_of_the_message_server_only_delays_requests() {
    let Some(mut fleet) = Fleet::start() else {
        return;
    };
    let config = fleet.config(CONFIG);
    let _executor = fleet.executor("box-1", &config);
    let front = fleet.front("web", &config);
    wait_for_executors(&front, 1);
    let answer = std::thread::scope(|scope| {
        let running = scope.spawn(|| front.post("/v1/runs", &slow()));
        wait_until_busy(&front);
        fleet.nats.kill();
        fleet.nats.restart();
        running.join().expect("a response")
    });
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["tests"][0]["stdout"]["text"], "done\n");
}

#[test]
fn results_are_found_from_another_front_end() {
    let Some(fleet) = Fleet::start() else { return };
    let config = fleet.config(CONFIG);
    let _executors = ["box-1", "box-2"].map(|name| fleet.executor(name, &config));
    let fronts = ["web", "web-2"].map(|name| fleet.front(name, &config));
    for front in &fronts {
        wait_for_executors(front, 2);
    }
    for number in 0..6 {
        let code = format!("echo {number}");
        let request = json!({ "language_id": 46, "source_code": code });
        let token = fronts[0].post("/submissions", &request).json()["token"].clone();
        let path = format!("/submissions/{}", token.as_str().expect("a token"));
        let ended = || {
            let found = fronts[1].get(&path);
            assert_eq!(found.status, 200, "{found:?}");
            found.json()["stdout"] == format!("{number}\n")
        };
        assert!(eventually(HANG_TIMEOUT, ended));
        let mut request = json!({ "command": ["sh", "-c", code] });
        request["wait_ms"] = json!(0);
        let id = fronts[0].post("/v1/runs", &request).json()["id"].clone();
        let path = format!("/v1/runs/{}", id.as_str().expect("an id"));
        let ended = || fronts[1].get(&path).json()["state"] == "ended";
        assert!(
            eventually(HANG_TIMEOUT, ended),
            "{:?}",
            fronts[1].get(&path)
        );
    }
}

#[test]
fn full_fleet_is_reported_as_each_interface_does() {
    let Some(fleet) = Fleet::start() else { return };
    let config = format!("{CONFIG}[queue]\nmax_requests = 1\n[running]\ncpu_slots = 1\n");
    let config = fleet.config(&config);
    let _executors = ["box-1", "box-2"].map(|name| fleet.executor(name, &config));
    let front = fleet.front("web", &config);
    wait_for_executors(&front, 2);
    let body = json!({ "command": ["sleep", "100"], "limits": { "wall_ms": 120_000 } }).to_string();
    // Two run and two wait.
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(front.begin_post("/v1/runs", "Content-Type: application/json\r\n", &body));
        // The choice follows from what the executors have announced.
        let is_known = || {
            let load = front.get("/readyz").json();
            let number = |name: &str| load[name].as_u64().unwrap_or(0);
            number("running") + number("queued") == held.len() as u64
        };
        assert!(
            eventually(HANG_TIMEOUT, is_known),
            "{:?}",
            front.get("/readyz")
        );
    }
    let is_full = || front.get("/readyz").json()["status"] == "saturated";
    assert!(
        eventually(HANG_TIMEOUT, is_full),
        "{:?}",
        front.get("/readyz")
    );
    let statuses = REQUESTS[..2].iter().map(|(path, request, _)| {
        let answer = front.post(path, &request());
        (answer.status, answer.header("retry-after").is_some())
    });
    let statuses: Vec<_> = statuses.collect();
    // As from a service alone. Runs of the other dialects have slots of their own.
    assert_eq!(statuses[0], (503, true));
    assert_eq!(statuses[1].0, 500);
    drop(held);
    let is_free = || front.get("/readyz").json()["running"] == 0;
    assert!(
        eventually(HANG_TIMEOUT, is_free),
        "{:?}",
        front.get("/readyz")
    );
}

#[test]
fn front_end_without_executors_reports_overload_in_each_dialect() {
    let Some(fleet) = Fleet::start() else { return };
    let front = fleet.front("web", &fleet.config(CONFIG));
    let begin = Instant::now();
    for ((path, request, _), expected) in REQUESTS[..5].iter().zip([429, 500, 503, 504, 503]) {
        let answer = front.post(path, &request());
        assert_eq!(answer.status, expected, "{path}: {answer:?}");
        assert!(
            answer.body.contains("machine") || expected != 504,
            "{answer:?}"
        );
    }
    // Only the first ones wait for an executor.
    assert!(begin.elapsed() < HANG_TIMEOUT);
    assert_eq!(front.get("/readyz").status, 503);
    assert_eq!(front.get("/healthz").status, 200);
}

#[test]
fn executor_with_other_tokens_is_not_used() {
    let Some(fleet) = Fleet::start() else { return };
    let open = fleet.config(CONFIG);
    let _executor = fleet.executor("box-1", &open);
    let digest = digest_hex(b"secret");
    let text = format!("{CONFIG}[[token]]\nname = 'a'\nsha256 = '{digest}'\nadmin = true\n");
    let closed = fleet.directory.path().join("closed.toml");
    std::fs::write(&closed, text).expect("a configuration file");
    let front = fleet.front("web", &closed);
    // The executor is known, and not used.
    let bearer = [("authorization", "Bearer secret")];
    let known = || {
        let metrics = front.request("GET", "/metrics", &bearer, "").body;
        metrics.contains("millibox_front_executor_usable{executor=\"box-1\"} 0")
    };
    assert!(eventually(HANG_TIMEOUT, known));
    assert_eq!(front.post("/v1/runs", &slow()).status, 429);
    let _second = fleet.executor("box-2", &closed);
    wait_for_executors(&front, 1);
    assert_eq!(front.post("/v1/runs", &slow()).status, 401);
    let run = json!({ "command": ["true"] }).to_string();
    assert_eq!(front.request("POST", "/v1/runs", &bearer, run).status, 200);
}

#[test]
fn stolen_key_of_an_executor_reads_and_answers_no_requests_of_others() {
    let Some(fleet) = Fleet::start() else { return };
    let config = fleet.config(CONFIG);
    let _executor = fleet.executor("box-1", &config);
    let front = fleet.front("web", &config);
    wait_for_executors(&front, 1);
    runtime().block_on(async {
        let events = Arc::new(Mutex::new(Vec::new()));
        let noted = events.clone();
        let options = options(&fleet, "box-2").event_callback(move |event| {
            if let Event::ServerError(error) = event {
                noted
                    .lock()
                    .expect("events")
                    .push(error.to_string().to_lowercase());
            }
            std::future::ready(())
        });
        let client = options.connect(fleet.nats.url()).await;
        let client = client.expect("a client");
        let denied = async |what: &str| {
            for _ in 0..600 {
                let is_denied = |event: &String| {
                    event.contains("permissions violation") && event.contains(&what.to_lowercase())
                };
                if events.lock().expect("events").iter().any(is_denied) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            panic!("{what} is not denied: {events:?}");
        };
        for subject in [
            "millibox.serve.v1.up.box-1.*",
            "millibox.serve.v1.down.web.*",
            "millibox.serve.v1.load.*",
            "millibox.serve.>",
            ">",
        ] {
            let _subscriber = client.subscribe(subject).await.expect("a subscriber");
            client.flush().await.expect("a flush");
            denied(&format!("subscription to \"{subject}\"")).await;
        }
        for subject in [
            "millibox.serve.v1.up.box-1.web",
            "millibox.serve.v1.down.web.box-1",
            "millibox.serve.v1.load.box-1",
        ] {
            client
                .publish(subject, "x".into())
                .await
                .expect("a message");
            client.flush().await.expect("a flush");
            denied(&format!("publish to \"{subject}\"")).await;
        }
    });
    let connected = runtime().block_on(async_nats::connect(fleet.nats.url()));
    assert!(connected.is_err());
}

#[test]
fn keys_of_others_are_rejected_and_certificates_are_checked() {
    if !nats::has_openssl() {
        return millibox_tests::skip("openssl is not installed; install the package openssl");
    }
    let Some(fleet) = Fleet::start_with(true) else {
        return;
    };
    let config = fleet.config(CONFIG);
    let certificate = fleet.directory.path().join(nats::CERTIFICATE);
    let trusting = |name: &str| {
        let mut command = fleet.command(name);
        command
            .arg("--nats-ca")
            .arg(&certificate)
            .arg("--config")
            .arg(&config);
        command
    };
    let _executor = Server::spawn(&mut programs(trusting("box-1"), &[]));
    // This one does not trust the server.
    let _stranger = fleet.executor("box-2", &config);
    let front = Server::spawn(trusting("web").args(["--front", "--listen", "127.0.0.1:0"]));
    wait_for_executors(&front, 1);
    assert_eq!(
        front
            .post("/v1/runs", &json!({ "command": ["true"] }))
            .status,
        200
    );
    assert_eq!(executors(&front), 1);
    millibox_tests::set_mode(fleet.key("box-2").as_path(), 0o644);
    let output = programs(fleet.command("box-2"), &[])
        .output()
        .expect("an end");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && error.contains("chmod 600"),
        "{error}"
    );
    for (arguments, reason) in [
        (&["serve", "--front"][..], "--nats"),
        (&["serve", "--nats", "nats://a"], "--nats-creds"),
        (
            &["serve", "fleet", "key", "A"],
            "no name of a worker or service",
        ),
    ] {
        let mut command = Command::new(millibox_tests::executable("millibox"));
        let output = command.args(arguments).output().expect("an end");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && error.contains(reason),
            "{error}"
        );
    }
}

#[test]
fn client_that_leaves_ends_its_run() {
    let Some(fleet) = Fleet::start() else { return };
    let config = fleet.config(CONFIG);
    let _executor = fleet.executor("box-1", &config);
    let front = fleet.front("web", &config);
    wait_for_executors(&front, 1);
    let body = json!({ "cmd": [{ "args": ["/bin/sleep", "1000"], "files": [{ "content": "" }],
        "cpuLimit": 10_000_000_000_u64, "clockLimit": 500_000_000_000_u64,
        "memoryLimit": 67_108_864, "procLimit": 10 }] });
    let connection = front.begin_post(
        "/run",
        "Content-Type: application/json\r\n",
        &body.to_string(),
    );
    wait_until_busy(&front);
    drop(connection);
    assert!(eventually(HANG_TIMEOUT, || busy(&front).is_none()));
}

/// The statuses of the responses on a connection that is read to its end.
fn statuses(server: &Server, bytes: &str) -> Vec<String> {
    let text = read_to_end(server.connection(bytes.as_bytes()));
    let lines = text.split("HTTP/1.1 ").skip(1);
    lines.map(|line| line[..3].to_owned()).collect()
}

#[test]
fn ambiguous_requests_are_handled_as_by_a_service() {
    let Some(fleet) = Fleet::start() else { return };
    let config = fleet.config(CONFIG);
    let _executor = fleet.executor("box-1", &config);
    let front = fleet.front("web", &config);
    let direct = Server::with_config("", CONFIG);
    wait_for_executors(&front, 1);
    let body = json!({ "command": ["true"] }).to_string();
    let length = body.len();
    let second = "GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let chunked = format!("{length:x}\r\n{body}\r\n0\r\n\r\n{second}");
    let post = |headers: &str, body: &str| {
        let json = "Content-Type: application/json";
        format!("POST /v1/runs HTTP/1.1\r\nHost: localhost\r\n{json}\r\n{headers}\r\n{body}")
    };
    let plain = format!("{body}{second}");
    let wide = format!("Content-Length: {}\r\n", plain.len());
    for (request, expected) in [
        (
            post(&format!("Content-Length: {length}\r\n"), &plain),
            Some(2),
        ),
        // The second request is a part of the body, and not a request.
        (
            post(&format!("Connection: close\r\n{wide}"), &plain),
            Some(1),
        ),
        (
            post(&format!("Content-Length: {length}\r\n{wide}"), &plain),
            Some(1),
        ),
        (post("Transfer-Encoding: chunked\r\n", &chunked), Some(2)),
        (
            post(&format!("{wide}Transfer-Encoding: chunked\r\n"), &chunked),
            Some(1),
        ),
        (
            post(&format!("Transfer-Encoding: chunked\r\n{wide}"), &chunked),
            Some(1),
        ),
        (post("Transfer-Encoding: gzip\r\n", &chunked), Some(1)),
        (
            post(
                &format!("Connection: close, content-length\r\n{wide}"),
                &plain,
            ),
            Some(1),
        ),
        (
            format!("GET /version HTTP/1.1\r\nHost: localhost\r\nUpgrade: h2c\r\n\r\n{second}"),
            None,
        ),
        (
            "GET http://foreign.example/version HTTP/1.1\r\nHost: localhost\r\n\
             Connection: close\r\n\r\n"
                .to_owned(),
            Some(1),
        ),
        (
            "GET /metrics HTTP/1.1\r\nHost: foreign.example\r\nConnection: close\r\n\r\n"
                .to_owned(),
            Some(1),
        ),
    ] {
        let found = statuses(&front, &request);
        assert_eq!(found, statuses(&direct, &request), "{request}");
        assert!(
            expected.is_none_or(|number| number == found.len()),
            "{found:?}: {request}"
        );
    }
}

#[test]
fn strangers_leave_room_for_clients_with_tokens() {
    let Some(fleet) = Fleet::start() else { return };
    let digest = digest_hex(b"secret");
    let token = format!("[[token]]\nname = 'a'\nsha256 = '{digest}'\n");
    let config = format!("{CONFIG}[queue]\nmax_bytes = 4194304\n{token}");
    let config = fleet.config(&config);
    let _executor = fleet.executor("box-1", &config);
    let front = fleet.front("web", &config);
    wait_for_executors(&front, 1);
    // The token of a form is in its body, so the front end waits for the bodies.
    let held: Vec<_> = (0..40)
        .map(|_| {
            front.connection(
                b"POST /judgings HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n",
            )
        })
        .collect();
    // Some are rejected, because their memory would exceed the strangers' share.
    let is_rejected = || {
        held.iter().any(|mut stream| {
            let mut status = [0; 12];
            let _ = stream.set_read_timeout(Some(Duration::from_millis(20)));
            stream
                .read_exact(&mut status)
                .is_ok_and(|()| status.ends_with(b"429"))
        })
    };
    assert!(eventually(HANG_TIMEOUT, is_rejected));
    let run = json!({ "command": ["true"] }).to_string();
    for _ in 0..3 {
        let bearer = [("authorization", "Bearer secret")];
        let answer = front.request("POST", "/v1/runs", &bearer, run.clone());
        assert_eq!(answer.status, 200, "{answer:?}");
    }
}

/// The options of a client with a key, without a service.
fn options(fleet: &Fleet, name: &str) -> ConnectOptions {
    let key = std::fs::read_to_string(fleet.key(name)).expect("a key");
    let seed = key.lines().find_map(|line| line.strip_prefix("seed: "));
    let options = ConnectOptions::new().nkey(seed.expect("a seed").to_owned());
    // A busy server ends connections whose clients authenticate too slowly.
    options.retry_on_initial_connect()
}

/// The client of a key, without a service.
async fn client(fleet: &Fleet, name: &str) -> async_nats::Client {
    let client = options(fleet, name).connect(fleet.nats.url()).await;
    client.expect("a client")
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime")
}

/// A message with a kind, an epoch and the number of a tunnel, as `frame.rs` encodes it.
fn message(kind: u8, epoch: u64, number: u64, payload: &[u8]) -> Vec<u8> {
    let mut message = vec![kind];
    message.extend_from_slice(&epoch.to_be_bytes());
    message.extend_from_slice(&number.to_be_bytes());
    message.extend_from_slice(&[0; 4]);
    message.extend_from_slice(payload);
    message
}

#[test]
fn executor_with_a_forgotten_tunnel_is_asked_to_end_it() {
    let Some(fleet) = Fleet::start() else { return };
    let _front = fleet.front("web", &fleet.config(CONFIG));
    runtime().block_on(async {
        use futures_util::StreamExt;
        let client = client(&fleet, "box-2").await;
        let subscriber = client.subscribe("millibox.serve.v1.up.box-2.*").await;
        let mut subscriber = subscriber.expect("a subscriber");
        let subject = "millibox.serve.v1.down.web.box-2";
        let found = async {
            loop {
                // The front end may not have subscribed yet.
                let data = message(3, 7, 8, b"late");
                client
                    .publish(subject, data.into())
                    .await
                    .expect("a message");
                let pause = Duration::from_millis(200);
                if let Ok(found) = tokio::time::timeout(pause, subscriber.next()).await {
                    return found.expect("a message").payload;
                }
            }
        };
        let found = tokio::time::timeout(HANG_TIMEOUT, found).await;
        assert_eq!(found.expect("a message"), message(6, 7, 8, b""));
    });
}

#[test]
fn forged_messages_of_a_front_end_harm_no_other_one() {
    let Some(fleet) = Fleet::start() else { return };
    let config = fleet.config(CONFIG);
    let _executor = fleet.executor("box-1", &config);
    let front = fleet.front("web", &config);
    wait_for_executors(&front, 1);
    let running = std::thread::scope(|scope| {
        let running = scope.spawn(|| front.post("/v1/runs", &slow()));
        wait_until_busy(&front);
        runtime().block_on(async {
            let client = client(&fleet, "web-2").await;
            let subject = "millibox.serve.v1.up.box-1.web-2";
            for number in 0..5000_u64 {
                let kind = (number % 9) as u8;
                let payload = vec![b'{'; (number % 2000) as usize];
                let mut forged = message(kind, number, number, &payload);
                forged.truncate((number % 3000) as usize);
                client
                    .publish(subject, forged.into())
                    .await
                    .expect("a message");
            }
            client.flush().await.expect("a flush");
        });
        running.join().expect("a response")
    });
    assert_eq!(running.status, 200, "{running:?}");
    // The forged starts are forgotten, and the front end itself is served.
    let second = fleet.front("web-2", &config);
    let run = json!({ "command": ["true"] });
    let is_served = || second.post("/v1/runs", &run).status == 200;
    assert!(eventually(HANG_TIMEOUT, is_served));
}
