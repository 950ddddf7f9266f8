//! A load generator: sends one HTTP request again and again, or each of several requests once, over
//! a number of connections.
//!
//! The load generator shares the CPUs with the server that it measures, so it must use little CPU
//! time. A single thread waits with poll(2) for all connections, keeps them open and reads no more
//! of an answer than necessary.

use crate::{Error, interrupt};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// The time that a server may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// The number of bytes to read at a time.
const CHUNK_BYTES: usize = 4096;

/// A request that is sent again and again.
#[derive(Debug, Clone)]
pub struct Load {
    address: SocketAddr,
    request: Vec<u8>,
    success: &'static str,
}

/// Requests that are sent once each.
#[derive(Debug, Clone)]
pub struct Batch {
    address: SocketAddr,
    requests: Vec<Vec<u8>>,
    success: &'static str,
}

/// The results of a load.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The measured time.
    pub duration: Duration,
    /// The time that each answer took, for the answers that arrived within `duration`.
    pub answers: Vec<Duration>,
    /// The CPU time that the load generator used for each answer, in nanoseconds.
    pub cpu_ns: f64,
}

impl Load {
    /// Creates a POST request with a JSON body. The body of a successful answer contains `success`.
    pub fn new(address: SocketAddr, path: &str, body: &str, success: &'static str) -> Load {
        Load {
            address,
            request: post(address, path, body),
            success,
        }
    }

    /// Keeps a request in flight on each connection. A warm-up that lasts a fifth of the time comes
    /// first and is not counted.
    ///
    /// # Errors
    /// The server cannot be reached, or an answer is not a success.
    pub fn turn(&self, connections: usize, duration: Duration) -> Result<Turn, Error> {
        let mut clients = (0..connections)
            .map(|_| Client::connect(self.address))
            .collect::<Result<Vec<_>, _>>()?;
        let from = Instant::now() + duration / 5;
        let end = from + duration;
        let cpu = cpu_time();
        for client in &mut clients {
            client.send(&self.request)?;
        }
        let mut answers = Vec::new();
        let mut all_answers = 0_u64;
        exchange(clients, self.success, |client| {
            let now = Instant::now();
            all_answers += 1;
            if (from..end).contains(&now) {
                answers.push(now - client.sent);
            }
            if now < end {
                client.send(&self.request)?;
            }
            Ok(now < end)
        })?;
        let cpu = cpu_time().saturating_sub(cpu);
        Ok(Turn {
            duration,
            answers,
            cpu_ns: cpu.as_nanos() as f64 / all_answers as f64,
        })
    }
}

impl Batch {
    /// Creates POST requests with these JSON bodies. The body of a successful answer contains
    /// `success`.
    pub fn new(
        address: SocketAddr,
        path: &str,
        bodies: impl Iterator<Item = String>,
        success: &'static str,
    ) -> Batch {
        Batch {
            address,
            requests: bodies.map(|body| post(address, path, &body)).collect(),
            success,
        }
    }

    /// Sends each request once, and keeps a request in flight on each connection.
    ///
    /// # Errors
    /// The server cannot be reached, or an answer is not a success.
    pub fn send(&self, connections: usize) -> Result<Turn, Error> {
        let mut requests = self.requests.iter();
        let cpu = cpu_time();
        let begin = Instant::now();
        let mut clients = Vec::new();
        for request in requests.by_ref().take(connections) {
            let mut client = Client::connect(self.address)?;
            client.send(request)?;
            clients.push(client);
        }
        let mut answers = Vec::new();
        exchange(clients, self.success, |client| {
            answers.push(client.sent.elapsed());
            let next = requests.next();
            next.map_or(Ok(()), |request| client.send(request))?;
            Ok(next.is_some())
        })?;
        let cpu = cpu_time().saturating_sub(cpu);
        Ok(Turn {
            duration: begin.elapsed(),
            cpu_ns: cpu.as_nanos() as f64 / answers.len().max(1) as f64,
            answers,
        })
    }
}

/// Receives the answers of clients that have each sent a request. After each answer, `next` sends
/// the client's next request, and returns whether there is one.
fn exchange(
    mut clients: Vec<Client>,
    success: &str,
    mut next: impl FnMut(&mut Client) -> Result<bool, Error>,
) -> Result<(), Error> {
    while !clients.is_empty() {
        interrupt::check()?;
        let ready = wait(&clients)?;
        for at in (0..clients.len()).rev().filter(|at| ready[*at]) {
            let client = &mut clients[at];
            if client.receive(success)? && !next(client)? {
                clients.swap_remove(at);
            }
        }
    }
    Ok(())
}

/// A POST request with a JSON body.
fn post(address: SocketAddr, path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: \
         application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    request.into_bytes()
}

impl Turn {
    /// The measured time for each answer, in nanoseconds.
    pub fn wall_ns(&self) -> f64 {
        self.duration.as_nanos() as f64 / self.answers.len().max(1) as f64
    }
}

/// The CPU time of this thread.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// Waits until at least one client has data to read. Returns for each client whether it has.
fn wait(clients: &[Client]) -> Result<Vec<bool>, Error> {
    let mut polled: Vec<PollFd<'_>> = clients
        .iter()
        .map(|client| PollFd::new(&client.stream, PollFlags::IN))
        .collect();
    let timeout = Timespec {
        tv_sec: ANSWER_TIMEOUT.as_secs() as i64,
        tv_nsec: 0,
    };
    match poll(&mut polled, Some(&timeout)) {
        Ok(0) => Err(Error::other(format!(
            "no answer within {} s",
            ANSWER_TIMEOUT.as_secs()
        ))),
        // A signal arrived; the caller checks for it.
        Err(Errno::INTR) => Ok(vec![false; clients.len()]),
        Ok(_) => Ok(polled.iter().map(|one| !one.revents().is_empty()).collect()),
        Err(errno) => Err(Error::system("wait for answers")(errno)),
    }
}

/// A connection with at most one request in flight.
struct Client {
    stream: TcpStream,
    sent: Instant,
    answer: Vec<u8>,
}

impl Client {
    fn connect(address: SocketAddr) -> Result<Client, Error> {
        let failed = || Error::system::<std::io::Error>(format!("connect to {address}"));
        let stream = TcpStream::connect(address).map_err(failed())?;
        stream.set_nodelay(true).map_err(failed())?;
        Ok(Client {
            stream,
            sent: Instant::now(),
            answer: Vec::with_capacity(CHUNK_BYTES),
        })
    }

    fn send(&mut self, request: &[u8]) -> Result<(), Error> {
        self.sent = Instant::now();
        self.stream
            .write_all(request)
            .map_err(Error::system("send a request"))
    }

    /// Reads the available data. Returns whether the answer is complete.
    fn receive(&mut self, success: &str) -> Result<bool, Error> {
        let mut chunk = [0; CHUNK_BYTES];
        let read = self
            .stream
            .read(&mut chunk)
            .map_err(Error::system("read an answer"))?;
        if read == 0 {
            return Err(Error::other("the server closed a connection"));
        }
        self.answer.extend_from_slice(&chunk[..read]);
        let Some(body) = body(&self.answer)? else {
            return Ok(false);
        };
        let is_success = self.answer.starts_with(b"HTTP/1.1 20")
            && body
                .windows(success.len())
                .any(|part| part == success.as_bytes());
        if !is_success {
            let answer = String::from_utf8_lossy(&self.answer).into_owned();
            return Err(Error::other(format!("the server answered {answer}")));
        }
        self.answer.clear();
        Ok(true)
    }
}

/// The body of an answer, once it is complete.
fn body(answer: &[u8]) -> Result<Option<&[u8]>, Error> {
    const END_OF_HEAD: &[u8] = b"\r\n\r\n";
    let Some(end) = answer.windows(4).position(|part| part == END_OF_HEAD) else {
        return Ok(None);
    };
    let (head, body) = (&answer[..end], &answer[end + END_OF_HEAD.len()..]);
    let length = head
        .split(|byte| *byte == b'\n')
        .filter_map(|line| std::str::from_utf8(line).ok()?.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse::<usize>().ok())
        .ok_or_else(|| Error::other("an answer has no length"))?;
    Ok((body.len() >= length).then_some(body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn body_is_complete_at_its_length() {
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc";
        assert_eq!(body(answer).unwrap(), Some(&b"abc"[..]));
        assert_eq!(body(&answer[..answer.len() - 1]).unwrap(), None);
        assert_eq!(body(b"HTTP/1.1 200 OK\r\n").unwrap(), None);
        assert!(body(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }

    /// Answers each request on one connection with this body.
    fn serve(body: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut request = [0; 4096];
            while stream.read(&mut request).is_ok_and(|read| read > 0) {
                let length = body.len();
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
                stream.write_all(answer.as_bytes()).expect("an answer");
            }
        });
        address
    }

    #[test]
    fn answers_of_a_server_are_counted_and_failures_reported() {
        // Long enough for an answer on a machine that other tests keep busy.
        let duration = Duration::from_secs(1);
        let load = |body| Load::new(serve(body), "/run", "{}", "Accepted");
        let turn = load("[Accepted]").turn(1, duration).expect("a turn");
        assert!(!turn.answers.is_empty());
        assert!(turn.wall_ns() > 0.0 && turn.cpu_ns > 0.0);
        assert!(load("[Internal Error]").turn(1, duration).is_err());
        let batch = |body| {
            let bodies = ["{}", "[]", "1"].map(str::to_owned);
            Batch::new(serve(body), "/run", bodies.into_iter(), "Accepted")
        };
        let turn = batch("[Accepted]").send(1).expect("a batch");
        assert_eq!(turn.answers.len(), 3);
        assert!(batch("[Internal Error]").send(1).is_err());
    }
}
