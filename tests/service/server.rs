//! A running `millibox serve`, and requests to it.

use millibox_tests::executable;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// A service that ends with this value.
pub struct Server {
    child: Child,
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

impl Server {
    /// Starts a service that serves one dialect alone.
    pub fn start(dialect: &str) -> Server {
        Server::with_config(dialect, "")
    }

    /// Like [`Server::start`], with a configuration file of this text.
    pub fn with_config(dialect: &str, config: &str) -> Server {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("config.toml");
        std::fs::write(&file, config).expect("a configuration file");
        let listen = format!("{dialect}=127.0.0.1:0");
        let spawn = |backend: &[&str]| {
            Server::spawn(
                Command::new(executable("millibox"))
                    .args(["serve", "--listen", &listen])
                    .args(backend)
                    .arg("--config")
                    .arg(&file),
            )
        };
        // Without cgroups, limits of memory hold only if the backend is chosen by name.
        static HAS_CGROUPS: OnceLock<bool> = OnceLock::new();
        if *HAS_CGROUPS.get_or_init(|| spawn(&[]).backend != "rlimit") {
            spawn(&[])
        } else {
            spawn(&["--backend", "rlimit"])
        }
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
        let ["serving", _, "on", url, backend, _] = words[..] else {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the service printed {line:?}");
        };
        Server {
            child,
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

    /// Sends a request with the method GET.
    pub fn get(&self, path: &str) -> Answer {
        Answer::of(agent().get(format!("{}{path}", self.url)).call())
    }

    /// Sends a body of JSON with the method POST.
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, Some("application/json"), &body.to_string())
    }

    /// Sends a request with any method, type and body.
    pub fn send(&self, method: &str, path: &str, kind: Option<&str>, body: &str) -> Answer {
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url));
        if let Some(kind) = kind {
            request = request.header("content-type", kind);
        }
        let request = request.body(body.to_owned()).expect("a request");
        Answer::of(agent().run(request))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(pid) = i32::try_from(self.child.id())
            .ok()
            .and_then(rustix::process::Pid::from_raw)
        {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let _ = self.child.wait();
    }
}

impl Answer {
    fn of(response: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Answer {
        let mut response = response.expect("an answer");
        Answer {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response.body_mut().read_to_string().expect("a body"),
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

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .allow_non_standard_methods(true)
        .build()
        .new_agent()
}

/// The interpreter of a Python client's virtual environment, or `None` after reporting the test as
/// skipped.
pub fn python_client(name: &str) -> Option<std::path::PathBuf> {
    client(name, "bin/python")
}

/// A file of an installed client, or `None` after reporting the test as skipped.
pub fn client(name: &str, file: &str) -> Option<std::path::PathBuf> {
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
