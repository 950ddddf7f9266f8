//! Starts and ends `millibox serve`.

use millibox_tests::{PATIENCE, ends_within, executable};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A running service, which ends with this value.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// `http://HOST:PORT`.
    pub url: String,
    /// The backend of the sandbox.
    pub backend: String,
    config: Option<tempfile::NamedTempFile>,
}

impl Server {
    /// Starts a service that serves one dialect alone, without configuration.
    pub fn start(dialect: &str) -> Server {
        Server::launch(dialect, None)
    }

    /// Starts a service that serves one dialect alone, with this configuration.
    pub fn with_config(dialect: &str, config: &str) -> Server {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), config).unwrap();
        Server::launch(dialect, Some(file))
    }

    /// Without cgroups, limits of single processes must be chosen by name.
    fn launch(dialect: &str, config: Option<tempfile::NamedTempFile>) -> Server {
        let server = Server::with_backend("auto", dialect, config);
        if server.backend == "rlimit" {
            let mut server = server;
            let config = server.config.take();
            drop(server);
            return Server::with_backend("rlimit", dialect, config);
        }
        server
    }

    fn with_backend(
        backend: &str,
        dialect: &str,
        config: Option<tempfile::NamedTempFile>,
    ) -> Server {
        let mut command = Command::new(executable("millibox"));
        command.args(["serve", "--listen", &format!("{dialect}=127.0.0.1:0")]);
        command.args(["--backend", backend]);
        if let Some(config) = &config {
            command.arg("--config").arg(config.path());
        }
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        // serving WHAT on http://HOST:PORT (BACKEND backend)
        let words: Vec<&str> = line.split_whitespace().collect();
        let url = words.get(3).unwrap_or_else(|| panic!("{line:?}"));
        Server {
            url: (*url).to_owned(),
            backend: words[4].trim_start_matches('(').to_owned(),
            child,
            config,
        }
    }

    /// `HOST:PORT`.
    pub fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(pid) = i32::try_from(self.child.id()) {
            millibox_tests::kill(pid, rustix::process::Signal::TERM);
        }
        // Kills it after that time.
        ends_within(&mut self.child, PATIENCE);
    }
}
