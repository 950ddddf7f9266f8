//! Unmodified clients from other projects.

use super::Judge;
use crate::server::Server;
use millibox_tests::HANG_TIMEOUT;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests)
}

/// Runs the script of a client with these arguments. It must print that it passed.
fn run(client: &str, arguments: &[PathBuf]) {
    let script = root().join(format!("tests/service/clients/{client}.py"));
    let output = Command::new(python(client))
        .arg(script)
        .args(arguments)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(output.stdout, b"passed\n", "{errors}");
}

fn python(client: &str) -> PathBuf {
    root().join(format!("target/clients/{client}/bin/python"))
}

/// Whether the client is installed. If not, reports the test as skipped.
fn is_installed(client: &str) -> bool {
    let is_installed = python(client).exists();
    if !is_installed {
        let reason = format!("the client {client} is not installed: make test-clients");
        millibox_tests::skip(&reason);
    }
    is_installed
}

#[test]
fn python_client_compiles_and_runs() {
    if is_installed("go-judge") {
        let judge = Judge::start();
        run("go-judge", &[judge.server.url.clone().into()]);
    }
}

#[test]
fn grpc_client_runs_commands_stores_files_and_converses() {
    if is_installed("go-judge-grpc") {
        let server = Server::start("go-judge-grpc");
        let protocol = root().join("crates/service/proto");
        run("go-judge-grpc", &[server.address().into(), protocol]);
    }
}

/// The client above is not installed everywhere, and without HTTP/2 no gRPC client works.
#[test]
fn grpc_address_speaks_http2() {
    let server = Server::start("go-judge-grpc");
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(HANG_TIMEOUT)).unwrap();
    // The preface and an empty SETTINGS frame (RFC 9113, sections 3.4 and 6.5).
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .unwrap();
    let mut header = [0; 9];
    stream.read_exact(&mut header).unwrap();
    assert_eq!(header[3], 4, "the answer begins with settings: {header:?}");
}
