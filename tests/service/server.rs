//! A running `millibox serve`, and requests to it.

use millibox_tests::nats::{self, Nats};
use millibox_tests::{HANG_TIMEOUT, descendants, ends_within, executable, process_name};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// The languages of a service whose configuration does not list any.
const LANGUAGES: &str = "languages = ['bash', 'c', 'cpp', 'go', 'java', 'javascript', 'pascal', \
    'python3', 'rust', 'scripts']\n";

/// With this environment variable, all tests send their requests through a front end.
const FRONT: &str = "MILLIBOX_TEST_FRONT";

/// A running service. Dropping the value stops the service.
pub struct Server {
    child: Child,
    /// The front end that relays the requests, and the NATS server.
    front: Option<(Fleet, Box<Server>)>,
    /// `http://HOST:PORT`.
    pub url: String,
    /// The backend that limits runs, such as `rlimit`.
    pub backend: String,
}

/// The answer to a request.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: String,
    headers: ureq::http::HeaderMap,
}

/// A C++ source that keeps the compiler busy for minutes: GCC bounds only the operations of each
/// constant expression.
pub fn slow_source() -> String {
    let function = "constexpr unsigned long f(unsigned long n) {\n\
        for (long i = 0; i < 100; i++)\n\
        for (long j = 0; j < 100'000; j++) n ^= i * j;\n\
        return n;\n}\n";
    let constants =
        (0..500).map(|number| format!("constexpr unsigned long a{number} = f({number});\n"));
    format!(
        "{function}{}int main() {{}}\n",
        constants.collect::<String>()
    )
}

/// The arguments that a service needs on this machine: without cgroups, the weaker backend has to
/// be chosen by name.
pub fn backend() -> &'static [&'static str] {
    static HAS_CGROUPS: OnceLock<bool> = OnceLock::new();
    let has_cgroups = || millibox_tests::supervisor().info().backend().to_string() != "rlimit";
    match *HAS_CGROUPS.get_or_init(has_cgroups) {
        true => &[],
        false => &["--backend", "rlimit"],
    }
}

/// Adds what a service that runs programs needs on this machine.
pub fn programs(mut command: Command, arguments: &[&str]) -> Command {
    let caches = millibox_tests::cache_directory();
    let names_backend = arguments.contains(&"--backend");
    let backend = if names_backend { &[] } else { backend() };
    command
        .envs(caches.iter().map(|path| ("XDG_CACHE_HOME", path)))
        .args(backend)
        .args(arguments);
    command
}

/// A NATS server, and the keys of services that meet there.
pub struct Fleet {
    pub nats: Nats,
    pub directory: tempfile::TempDir,
}

/// The names of the front ends and executors of a fleet.
const FRONTS: [&str; 2] = ["web", "web-2"];
const EXECUTORS: [&str; 2] = ["box-1", "box-2"];

impl Fleet {
    /// Starts a NATS server, or returns `None` after reporting the test as skipped.
    pub fn start() -> Option<Fleet> {
        Fleet::start_with(false)
    }

    /// Like [`Fleet::start`], with or without TLS.
    pub fn start_with(is_tls: bool) -> Option<Fleet> {
        if let Err(reason) = nats::program() {
            millibox_tests::skip(&reason);
            return None;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(format!("{name}.key"));
        let run = |arguments: &[&str]| {
            let mut command = Command::new(executable("millibox"));
            let output = command.args(["serve", "fleet"]).args(arguments).output();
            let output = output.expect("the command runs");
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).expect("UTF-8")
        };
        let mut rules = vec!["rules".to_owned()];
        let fronts = FRONTS.map(|name| ("--front", name));
        for (option, name) in fronts
            .into_iter()
            .chain(EXECUTORS.map(|name| ("--executor", name)))
        {
            std::fs::write(path(name), run(&["key", name])).expect("a key");
            let private = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(path(name), private).expect("a private key");
            rules.push(option.to_owned());
            rules.push(path(name).display().to_string());
        }
        let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
        let nats = Nats::start(directory.path(), &run(&rules), is_tls);
        Some(Fleet { nats, directory })
    }

    /// The file with a key.
    pub fn key(&self, name: &str) -> PathBuf {
        self.directory.path().join(format!("{name}.key"))
    }

    /// The command of a service with this name.
    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new(executable("millibox"));
        command
            .args(["serve", "--nats", &self.nats.url(), "--nats-creds"])
            .arg(self.key(name));
        command
    }
}

impl Server {
    /// Starts a service that serves only one dialect, or everything if the name is empty.
    pub fn start(dialect: &str) -> Server {
        Server::with_config(dialect, "")
    }

    /// Starts a service that serves everything on one address.
    pub fn everything() -> Server {
        Server::start("")
    }

    /// Like [`Server::start`], with this text as its configuration file.
    pub fn with_config(dialect: &str, config: &str) -> Server {
        Server::with_arguments(dialect, config, &[])
    }

    /// Like [`Server::with_config`], with additional arguments.
    pub fn with_arguments(dialect: &str, config: &str, arguments: &[&str]) -> Server {
        let listen = match dialect {
            "" => "127.0.0.1:0".to_owned(),
            dialect => format!("{dialect}=127.0.0.1:0"),
        };
        // Once the service answers, it has read the file.
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        // Compilers of all languages would need seconds to report their versions.
        let languages = match config.contains("languages =") {
            true => "",
            false => LANGUAGES,
        };
        std::fs::write(file.path(), format!("{languages}{config}")).expect("a configuration file");
        let config = ["--config".as_ref(), file.path().as_os_str()];
        if std::env::var_os(FRONT).is_some()
            && let Some(fleet) = Fleet::start()
        {
            let executor = fleet.command("box-1");
            let mut server = Server::spawn(programs(executor, arguments).args(config));
            let mut front = fleet.command("web");
            front.args(["--front", "--listen", &listen]).args(config);
            let front = Server::spawn(front.args(arguments));
            server.url.clone_from(&front.url);
            server.front = Some((fleet, Box::new(front)));
            return server;
        }
        let mut command = Command::new(executable("millibox"));
        command.args(["serve", "--listen", &listen]);
        Server::spawn(programs(command, arguments).args(config))
    }

    /// Whether a front end relays the requests.
    pub fn is_behind_front(&self) -> bool {
        self.front.is_some()
    }

    /// Sends a signal to the process that was started.
    pub fn signal(&self, signal: rustix::process::Signal) {
        millibox_tests::kill(i32::try_from(self.pid()).expect("a pid"), signal);
    }

    /// Starts a service with this command, and waits until it serves.
    pub fn spawn(command: &mut Command) -> Server {
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .expect("the service starts");
        let stdout = child.stdout.take().expect("the output of the service");
        let mut line = String::new();
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("a line of the service");
        let words: Vec<&str> = line.split_whitespace().collect();
        let (url, backend) = match words[..] {
            ["serving", _, "on", url, backend, _] => (url, backend),
            ["serving", "front", "ends", "as", _, backend, _] => ("", backend),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                panic!("the service printed {line:?}");
            }
        };
        Server {
            child,
            front: None,
            url: url.to_owned(),
            backend: backend.trim_start_matches('(').to_owned(),
        }
    }

    /// The service of a dialect that all tests running at this time share.
    pub fn shared(dialect: &'static str) -> Arc<Server> {
        static SHARED: Mutex<Vec<(&str, Weak<Server>)>> = Mutex::new(Vec::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        let living = shared
            .iter()
            .filter(|(name, _)| *name == dialect)
            .find_map(|(_, server)| server.upgrade());
        if let Some(server) = living {
            return server;
        }
        let server = Arc::new(Server::start(dialect));
        shared.retain(|(name, _)| *name != dialect);
        shared.push((dialect, Arc::downgrade(&server)));
        server
    }

    /// `HOST:PORT`.
    pub fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// The process that was started: the service, or the process of root that has started it.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The peak of the resident memory of the process that answers requests, in bytes.
    pub fn peak_memory_bytes(&self) -> u64 {
        peak_memory_bytes(self.service_pid())
    }

    /// The sum of the same peaks of all supervisors, in bytes.
    pub fn supervisors_peak_memory_bytes(&self) -> u64 {
        self.supervisors().into_iter().map(peak_memory_bytes).sum()
    }

    /// The process that answers requests.
    pub fn service_pid(&self) -> i32 {
        let started = i32::try_from(self.pid()).expect("a pid");
        let is_service = |process: &millibox_tests::Process| {
            process.parent == started && process_name(process.pid) == "millibox-serve"
        };
        descendants(self.pid())
            .into_iter()
            .find(is_service)
            .map_or(started, |process| process.pid)
    }

    /// The processes that the service has started as supervisors.
    pub fn supervisors(&self) -> Vec<i32> {
        descendants(self.pid())
            .into_iter()
            .filter(|process| i32::try_from(self.pid()) == Ok(process.parent))
            .map(|process| process.pid)
            .filter(|pid| process_name(*pid).starts_with("millibox-super"))
            .collect()
    }

    /// Waits for the end of the process.
    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().expect("the service ends")
    }

    /// Sends a request with the method GET.
    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &[], "")
    }

    /// Sends a body of JSON with the method POST.
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Some("application/json"), &body.to_string())
    }

    /// Sends a request with any method, content type and body.
    pub fn send(&self, method: &str, path: &str, kind: Option<&str>, body: &str) -> Answer {
        let headers: Vec<(&str, &str)> = kind
            .map(|kind| ("content-type", kind))
            .into_iter()
            .collect();
        self.request(method, path, &headers, body)
    }

    /// Sends a request with any method, headers and body.
    pub fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Vec<u8>>,
    ) -> Answer {
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(body.into()).expect("a request");
        Answer::of(agent().run(request))
    }

    /// A connection that has sent these bytes.
    pub fn connection(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address()).expect("a connection");
        stream.write_all(bytes).expect("the request is sent");
        stream
    }

    /// Sends a request with the method POST, and returns the connection without reading an answer.
    pub fn begin_post(&self, path: &str, headers: &str, body: &str) -> TcpStream {
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\n\
             Content-Length: {length}\r\n{headers}\r\n{body}"
        );
        self.connection(head.as_bytes())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(pid) = i32::try_from(self.child.id())
            && matches!(self.child.try_wait(), Ok(None))
        {
            millibox_tests::kill(pid, rustix::process::Signal::TERM);
        }
        // Kills the process after that time.
        ends_within(&mut self.child, HANG_TIMEOUT);
    }
}

impl Answer {
    fn of(response: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Answer {
        let mut response = response.expect("an answer");
        let body = response.body_mut().read_to_vec().expect("a body");
        Answer {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: String::from_utf8_lossy(&body).into_owned(),
        }
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body)
            .unwrap_or_else(|error| panic!("{error} in {:?}", self.body))
    }

    /// A header of the answer.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

fn peak_memory_bytes(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
    let status = status.expect("the status of a process");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|peak| peak.trim().strip_suffix(" kB"));
    let kib = kib.and_then(|kib| kib.trim().parse::<u64>().ok());
    kib.expect("the peak of the memory") << 10
}

/// Reads a connection to its end.
pub fn read_to_end(mut stream: TcpStream) -> String {
    let mut text = Vec::new();
    let _ = stream.read_to_end(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .allow_non_standard_methods(true)
        .build()
        .new_agent()
}

/// The interpreter of a Python client's virtual environment, or `None` after reporting the test as
/// skipped.
pub fn python_client(name: &str) -> Option<PathBuf> {
    client(name, "bin/python")
}

/// A file of an installed client, or `None` after reporting the test as skipped.
pub fn client(name: &str, file: &str) -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/clients");
    let path = target.join(name).join(file);
    if path.exists() {
        return Some(path);
    }
    millibox_tests::skip(&format!(
        "the client {name} is not installed; `make test-clients` installs it"
    ));
    None
}
