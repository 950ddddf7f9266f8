//! A running `millibox serve`.

use crate::{Error, Lab};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The time that the service may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(10);
const END_POLL: Duration = Duration::from_millis(20);

/// The service, which ends on drop.
pub struct Server {
    child: Child,
    /// The address on which it listens.
    pub address: SocketAddr,
}

impl Server {
    /// Starts the service with its defaults and the lab's backend, and waits until it serves.
    ///
    /// # Errors
    /// The service does not start.
    pub fn start(lab: &Lab, millibox: &Path) -> Result<Server, Error> {
        let mut child = Command::new(millibox)
            .args(["serve", "--listen", "127.0.0.1:0", "--backend"])
            .arg(lab.backend().to_string())
            .env("XDG_CACHE_HOME", lab.directory().join("service"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Error::system("start millibox serve"))?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            // If the service ends before it prints a line, `line` stays empty.
            let _ = BufReader::new(stdout).read_line(&mut line);
        }
        let address = line
            .split_whitespace()
            .find_map(|word| word.strip_prefix("http://")?.parse().ok());
        let unusable = SocketAddr::from(([0, 0, 0, 0], 0));
        let server = Server {
            child,
            address: address.unwrap_or(unusable),
        };
        match address {
            Some(_) => Ok(server),
            None => Err(Error::other("millibox serve did not start")),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(pid) = rustix::process::Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let begin = Instant::now();
        while begin.elapsed() < END_TIMEOUT && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(END_POLL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
