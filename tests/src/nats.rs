//! A nats-server for tests, from the Debian package of that name.

use rustix::process::{Pid, Signal, kill_process};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A running server with rules. It keeps its address when it is started again.
pub struct Nats {
    child: Child,
    program: PathBuf,
    configuration: PathBuf,
    port: u16,
    is_tls: bool,
}

/// The file with the certificate of a server with TLS, in its directory.
pub const CERTIFICATE: &str = "nats-cert.pem";
const KEY: &str = "nats-key.pem";

/// The executable, or the reason for its absence.
pub fn program() -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Debian installs servers in a directory that PATH may lack.
    let directories = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let mut found = directories.map(|directory| directory.join("nats-server"));
    found
        .find(|program| program.is_file())
        .ok_or_else(|| "nats-server is not installed; install the package nats-server".to_owned())
}

/// Whether certificates can be created.
pub fn has_openssl() -> bool {
    let version = Command::new("openssl").arg("version").output();
    version.is_ok_and(|output| output.status.success())
}

impl Nats {
    /// Starts a server with these rules. Its files are in `directory`.
    pub fn start(directory: &Path, rules: &str, is_tls: bool) -> Nats {
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("an address").port();
        drop(free);
        let configuration = directory.join("nats.conf");
        let tls = match is_tls {
            true => certify(directory),
            false => String::new(),
        };
        let text = format!("listen: \"127.0.0.1:{port}\"\n{tls}{rules}\n");
        std::fs::write(&configuration, text).expect("a written file");
        let program = program().expect("nats-server");
        Nats {
            child: launch(&program, &configuration, port),
            program,
            configuration,
            port,
            is_tls,
        }
    }

    /// The address.
    pub fn url(&self) -> String {
        let scheme = if self.is_tls { "tls" } else { "nats" };
        format!("{scheme}://127.0.0.1:{}", self.port)
    }

    /// Kills the server.
    pub fn kill(&mut self) {
        self.child.kill().expect("a running server");
        self.child.wait().expect("an end");
    }

    /// Sends a signal to the server, for example to stop it.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a running server");
    }

    /// Starts the killed server again.
    pub fn restart(&mut self) {
        self.child = launch(&self.program, &self.configuration, self.port);
    }
}

/// Creates a certificate that no authority has signed. Returns the part of the configuration that
/// names it.
fn certify(directory: &Path) -> String {
    let (certificate, key) = (directory.join(CERTIFICATE), directory.join(KEY));
    let status = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "2"])
        .args([
            "-subj",
            "/CN=nats",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
        ])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .stderr(Stdio::null())
        .status();
    assert!(status.is_ok_and(|status| status.success()), "a certificate");
    format!(
        "tls {{ cert_file: {:?}, key_file: {:?} }}\n",
        certificate.display().to_string(),
        key.display().to_string()
    )
}

fn launch(program: &Path, configuration: &Path, port: u16) -> Child {
    let child = Command::new(program)
        .arg("-c")
        .arg(configuration)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a server");
    let end = Instant::now() + Duration::from_secs(30);
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Instant::now() < end, "nats-server does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

impl Drop for Nats {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
