//! go-judge, a server with an HTTP interface. The experiment `peers` keeps one connection to it,
//! and `service` keeps several.

use super::PreparedPeer;
use crate::{Error, Lab};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The request: /bin/true, with limits.
pub const REQUEST_BODY: &str = r#"{"cmd":[{"args":["/bin/true"],"env":["PATH=/usr/bin:/bin"],"files":[{"content":""},{"name":"stdout","max":1024},{"name":"stderr","max":1024}],"cpuLimit":10000000000,"clockLimit":10000000000,"memoryLimit":268435456,"procLimit":16}]}"#;

/// The server, which ends on drop.
pub struct Server {
    child: Child,
    /// The address on which it listens.
    pub address: SocketAddr,
}

impl Server {
    /// Starts the server with these options in addition to its defaults, and waits until it
    /// answers.
    ///
    /// # Errors
    /// The server does not start.
    pub fn start(lab: &Lab, path: &Path, options: &[&str]) -> Result<Server, Error> {
        let directory = lab.directory().join("go-judge");
        std::fs::create_dir_all(&directory)
            .map_err(Error::system("create a directory for go-judge"))?;
        let failed = |what: &'static str| Error::system::<std::io::Error>(what);
        // Find a free port. Another process could use it before go-judge does, but that is
        // unlikely.
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failed("find a port"))?;
        let address = listener.local_addr().map_err(failed("find a port"))?;
        drop(listener);
        let child = Command::new(path)
            .current_dir(&directory)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", &directory)
            .arg("-http-addr")
            .arg(address.to_string())
            .args(["-release", "-silent", "-cgroup-prefix"])
            .arg(super::cgroups_of("go-judge"))
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed("start go-judge"))?;
        let mut server = Server { child, address };
        let begin = Instant::now();
        while let Err(error) = TcpStream::connect(address) {
            if begin.elapsed() > Duration::from_secs(10) {
                return Err(Error::System {
                    what: "connect to go-judge".to_owned(),
                    error,
                });
            }
            if let Ok(Some(status)) = server.child.try_wait() {
                return Err(Error::other(format!("go-judge did not start: {status}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // After SIGTERM go-judge removes its cgroups.
        if let Some(pid) = rustix::process::Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(5) && matches!(self.child.try_wait(), Ok(None))
        {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        // The server leaves its own cgroups. The cgroups of its containers are empty by now.
        super::remove_cgroups(&super::cgroups_of("go-judge"), &["api", "containers", ""]);
    }
}

/// Starts the server for one run at a time, and one connection to it.
pub(super) fn prepare(lab: &Lab, path: &Path) -> Result<PreparedPeer, Error> {
    let failed = |what: &'static str| Error::system::<std::io::Error>(what);
    let server = Server::start(lab, path, &["-parallelism", "1"])?;
    let stream = TcpStream::connect(server.address).map_err(failed("connect to go-judge"))?;
    stream
        .set_nodelay(true)
        .map_err(failed("set a socket's option"))?;
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .map_err(failed("set a socket's option"))?;
    let mut connection = BufReader::new(stream);
    ask(&mut connection)?;
    Ok(PreparedPeer {
        run: Box::new(move || {
            // The server ends with this closure.
            let _server = &server;
            ask(&mut connection)
        }),
        about: "a server, over HTTP on one connection: it runs the program in a prepared \
                container, with limits and figures by cgroups where it finds them (it reuses the \
                container with its namespaces; no seccomp program)",
    })
}

/// Sends one request and reads the answer.
fn ask(connection: &mut BufReader<TcpStream>) -> Result<(), Error> {
    let failed = |what: &'static str| Error::system::<std::io::Error>(what);
    let head = format!(
        "POST /run HTTP/1.1\r\nHost: localhost\r\nContent-Type: \
         application/json\r\nContent-Length: {}\r\n\r\n",
        REQUEST_BODY.len()
    );
    connection
        .get_mut()
        .write_all(
            [head.as_bytes(), REQUEST_BODY.as_bytes()]
                .concat()
                .as_slice(),
        )
        .map_err(failed("send go-judge a request"))?;
    let mut length = None;
    loop {
        let mut line = String::new();
        if connection
            .read_line(&mut line)
            .map_err(failed("read go-judge's answer"))?
            == 0
        {
            return Err(Error::other("go-judge closed its connection"));
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse::<usize>().ok();
        }
    }
    let length = length
        .filter(|length| *length < 1 << 20)
        .ok_or_else(|| Error::other("go-judge's answer has no length"))?;
    let mut body = vec![0; length];
    connection
        .read_exact(&mut body)
        .map_err(failed("read go-judge's answer"))?;
    let body = String::from_utf8_lossy(&body);
    if body.contains("\"Accepted\"") {
        Ok(())
    } else {
        Err(Error::other(format!("go-judge answered {body}")))
    }
}
