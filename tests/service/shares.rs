//! Shared pools: one greedy client, and one modest client that is still served.
//!
//! The tests print how much longer the modest client waits than without the greedy one.

use crate::clients::tokens;
use crate::server::Server;
use crate::v1::sha256;
use millibox_tests::{HANG_TIMEOUT, eventually};
use serde_json::json;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const CLIENTS: [&str; 2] = ["greedy", "modest"];

fn server(config: &str) -> Server {
    Server::with_config("", &format!("{config}\n{}", tokens(&CLIENTS)))
}

/// The slowest of several answers to a modest client.
fn slowest(mut ask: impl FnMut()) -> Duration {
    let times = (0..5).map(|_| {
        let begin = Instant::now();
        ask();
        begin.elapsed()
    });
    times.max().expect("times")
}

/// Prints how the greedy client affects the modest one.
fn compare(pool: &str, idle: Duration, busy: Duration) {
    let ratio = busy.as_secs_f64() / idle.as_secs_f64();
    println!(
        "{pool}: {} ms idle, {} ms busy, ratio {ratio:.1}",
        idle.as_millis(),
        busy.as_millis()
    );
}

fn echo(server: &Server) {
    let answer = server.post_of("modest", "/v1/runs", &json!({ "command": ["echo", "x"] }));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["tests"][0]["stdout"]["text"], "x\n");
}

/// Sends a request with the token of the greedy client, and does not read the answer.
fn begin_greedy(server: &Server, path: &str, body: &str) -> TcpStream {
    let headers = "Authorization: Bearer greedy\r\nContent-Type: application/json\r\n";
    server.begin_post(path, headers, body)
}

#[test]
fn request_with_many_tests_leaves_the_slot_to_others() {
    let server = server("[running]\ncpu_slots = 1");
    let idle = slowest(|| echo(&server));
    let many = json!({ "command": ["sleep", "0.02"], "tests": vec![json!({}); 10_000] });
    let _greedy: Vec<_> = (0..4)
        .map(|_| begin_greedy(&server, "/v1/runs", &many.to_string()))
        .collect();
    let is_busy = || {
        let info = server.request_of("modest", "GET", "/v1/info", "").json();
        info["running"] == 1 && info["queued"] == 3
    };
    assert!(eventually(HANG_TIMEOUT, is_busy));
    compare("slots", idle, slowest(|| echo(&server)));
}

#[test]
fn queue_has_room_for_a_modest_client() {
    let server = server("[queue]\nmax_requests = 8\n[running]\ncpu_slots = 1");
    let idle = slowest(|| echo(&server));
    let run = json!({ "command": ["sleep", "0.1"], "queue_ms": 60_000 }).to_string();
    let connections: Vec<_> = (0..20)
        .map(|_| begin_greedy(&server, "/v1/runs", &run))
        .collect();
    compare("queue", idle, slowest(|| echo(&server)));
    drop(connections);
}

#[test]
fn stores_keep_what_a_modest_client_has() {
    let server = server("[files]\nmax_bytes = 1000000\n[results]\nmax_bytes = 1000000");
    let modest_run = server.post_of("modest", "/v1/runs", &json!({ "command": ["true"] }));
    let id = modest_run.json()["id"].as_str().unwrap().to_owned();
    let put = |client: &str, content: Vec<u8>| {
        let path = format!("/v1/files/{}", sha256(&content));
        server.request_of(client, "PUT", &path, content).status
    };
    let statuses: Vec<u16> = (0..20).map(|n| put("greedy", vec![n; 100_000])).collect();
    assert!(
        statuses.starts_with(&[201; 5]) && statuses.ends_with(&[507; 10]),
        "{statuses:?}"
    );
    assert_eq!(put("modest", vec![100; 100_000]), 201);
    // Equal contents count as well.
    let mut ids = 0;
    let form = "--limit\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\
                \r\nx\r\n--limit--\r\n";
    let kind = ("content-type", "multipart/form-data; boundary=limit");
    for _ in 0..10 {
        let headers = [("authorization", "Bearer modest"), kind];
        ids += u32::from(server.request("POST", "/file", &headers, form).status == 200);
    }
    assert_eq!(ids, 10);
    let large = json!({ "command": ["sh", "-c", "head -c 400000 /dev/zero | tr '\\0' a"] });
    for _ in 0..6 {
        assert_eq!(server.post_of("greedy", "/v1/runs", &large).status, 200);
    }
    let kept = server.request_of("modest", "GET", &format!("/v1/runs/{id}"), "");
    assert_eq!(kept.status, 200, "{kept:?}");
}

#[test]
fn judge0_queue_has_room_for_a_modest_client() {
    let server = server("[judge0]\nmax_queued = 10\n[running]\ncpu_slots = 1");
    let text = json!({ "language_id": 43, "source_code": "x" });
    let ask = || {
        let answer = server.post_of("modest", "/submissions?wait=true", &text);
        assert_eq!(
            (answer.status, &answer.json()["stdout"]),
            (201, &json!("x"))
        );
    };
    let idle = slowest(ask);
    let slow = json!({ "language_id": 46, "source_code": "sleep 0.1" });
    let statuses: Vec<u16> = (0..30)
        .map(|_| server.post_of("greedy", "/submissions", &slow).status)
        .collect();
    assert!(statuses.contains(&503), "{statuses:?}");
    compare("queue of Judge0", idle, slowest(ask));
}

#[test]
fn streams_and_consoles_of_one_client_end_at_its_share() {
    let server = server("max_connections = 80");
    let run = json!({ "command": ["sleep", "100"], "limits": { "wall_ms": 200_000 } });
    let start = |client| {
        let answer = server.post_of(
            client,
            "/v1/runs",
            &json!({
                "command": run["command"], "limits": run["limits"], "wait_ms": 0,
            }),
        );
        answer.json()["id"].as_str().unwrap().to_owned()
    };
    let greedy = start("greedy");
    let open = |client: &str, id: &str| {
        let request = format!(
            "GET /v1/runs/{id}/events HTTP/1.1\r\nHost: localhost\r\n\
             Authorization: Bearer {client}\r\n\r\n"
        );
        let mut stream = server.connection(request.as_bytes());
        let mut status = [0; 12];
        stream.read_exact(&mut status).expect("an answer");
        (stream, String::from_utf8_lossy(&status[9..]).into_owned())
    };
    let streams: Vec<_> = (0..25).map(|_| open("greedy", &greedy)).collect();
    let statuses: Vec<&str> = streams.iter().map(|(_, status)| &status[..]).collect();
    // Half of the 40 streams, which are half of the connections.
    assert_eq!((statuses[19], statuses[20]), ("200", "429"), "{statuses:?}");
    let modest = start("modest");
    assert_eq!(open("modest", &modest).1, "200");
    let path = format!("/v1/runs/{modest}");
    assert_eq!(server.request_of("modest", "GET", &path, "").status, 200);
    drop(streams);
}

#[test]
fn connections_of_one_address_leave_room_for_others() {
    let server = Server::with_config("", "max_connections = 20");
    // 127.0.0.1 has a share. The others of 127.0.0.0/8 are other addresses.
    let connections: Vec<_> = (0..30)
        .map(|_| TcpStream::connect(server.address()).expect("a connection"))
        .collect();
    let from = |address: &str| {
        let port = server.address().rsplit(':').next().expect("a port");
        let socket = rustix::net::socket(
            rustix::net::AddressFamily::INET,
            rustix::net::SocketType::STREAM,
            None,
        );
        let socket = socket.expect("a socket");
        let local: std::net::SocketAddrV4 = format!("{address}:0").parse().unwrap();
        rustix::net::bind(&socket, &local).expect("an address");
        let remote: std::net::SocketAddrV4 = format!("127.0.0.1:{port}").parse().unwrap();
        rustix::net::connect(&socket, &remote).expect("a connection");
        let mut stream = TcpStream::from(socket);
        stream
            .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .expect("a request");
        crate::server::read_to_end(stream)
    };
    let answer = from("127.0.0.2");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let refused = connections.into_iter().filter(|stream| {
        let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
        let mut stream = stream;
        let mut start = [0; 12];
        stream.read_exact(&mut start).is_ok() && start.ends_with(b"503")
    });
    assert_eq!(refused.count(), 20);
}

#[test]
fn slow_receiver_of_results_delays_only_its_client() {
    // One receiver never answers, the other one does.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let prompt = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = |listener: &TcpListener| format!("http://{}/", listener.local_addr().unwrap());
    let config = format!(
        "judge0_callbacks = ['{}', '{}']\n[judge0]\nmax_queued = 100",
        url(&silent),
        url(&prompt)
    );
    let server = server(&config);
    let received = std::sync::Arc::new(AtomicUsize::new(0));
    let count = received.clone();
    let answering = prompt.try_clone().unwrap();
    std::thread::spawn(move || {
        for stream in answering.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut piece = [0; 4096];
            let _ = stream.read(&mut piece);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    let submit = |client, receiver: &TcpListener| {
        let submission =
            json!({ "language_id": 43, "source_code": "x", "callback_url": url(receiver) });
        server
            .post_of(client, "/submissions?wait=true", &submission)
            .status
    };
    for _ in 0..30 {
        assert_eq!(submit("greedy", &silent), 201);
    }
    assert_eq!(submit("modest", &prompt), 201);
    // The other results wait for 15 s each.
    let arrived = || received.load(Ordering::Relaxed) == 1;
    assert!(
        eventually(Duration::from_secs(10), arrived),
        "the result arrives"
    );
}

#[test]
fn upload_to_a_missing_address_is_answered_on_every_interface() {
    let server = Server::start("");
    let body = vec![b'x'; 24 << 20];
    for path in [
        "/missing",
        "/v1/missing",
        "/api/v2/missing",
        "/file/missing/x",
        "/v1/files/x",
    ] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        let mut connection = server.connection(head.as_bytes());
        connection
            .write_all(&body)
            .expect("the service reads the upload");
        let mut start = [0; 12];
        connection.read_exact(&mut start).expect("an answer");
        assert!(start.starts_with(b"HTTP/1.1 4"), "{path}: {start:?}");
    }
}

#[test]
fn bodies_without_a_token_use_no_share() {
    let server = server("[queue]\nmax_bytes = 67108864");
    let head = "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Content-Length: 67108864\r\n\r\n{";
    let strangers: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut stream = server.connection(head.as_bytes());
            let mut start = [0; 12];
            stream.read_exact(&mut start).expect("an early answer");
            assert!(start.ends_with(b"401"), "{start:?}");
            stream
        })
        .collect();
    let run = json!({ "command": ["true"] });
    assert_eq!(server.post_of("modest", "/v1/runs", &run).status, 200);
    drop(strangers);
}

#[test]
fn reads_are_refused_for_foreign_names_without_tokens() {
    let server = Server::start("");
    let status = |host: &str, path: &str| {
        let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let answer = crate::server::read_to_end(server.connection(head.as_bytes()));
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    for path in [
        "/v1/info",
        "/metrics",
        "/file",
        "/statistics",
        "/system_info",
        "/",
        "/docs",
    ] {
        assert_eq!(status("evil.example:8080", path), "403", "{path}");
        assert_eq!(status(server.address(), path), "200", "{path}");
    }
    let tokens = server_with_token();
    let head = "GET /healthz HTTP/1.1\r\nHost: any.example\r\nConnection: close\r\n\r\n";
    let answer = crate::server::read_to_end(tokens.connection(head.as_bytes()));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

fn server_with_token() -> Server {
    Server::with_config("", &tokens(&["a"]))
}

#[test]
fn running_requests_of_one_client_leave_turns_to_others() {
    let server = server("[running]\ncpu_slots = 2");
    let idle = slowest(|| echo(&server));
    let batch = json!({
        "command": ["sleep", "0.02"], "runs": vec![json!({}); 2000],
    });
    let _greedy = begin_greedy(&server, "/v1/batches", &batch.to_string());
    std::thread::sleep(Duration::from_millis(200));
    compare("turns", idle, slowest(|| echo(&server)));
}
