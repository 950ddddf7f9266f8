//! Sends one request repeatedly over several connections. Prints the number of answers per second
//! and the response times as JSON.
//!
//! `load http://HOST:PORT/PATH BODY_FILE CONNECTIONS SECONDS`
#![allow(clippy::print_stdout, reason = "the figures are the output")]

use std::io::{Error, ErrorKind};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

#[derive(Default)]
struct Answers {
    times: Vec<Duration>,
    /// Answers with a status other than 200.
    failed: usize,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, body, connections, seconds] = &arguments[..] else {
        return Err(Error::other(
            "usage: load URL BODY_FILE CONNECTIONS SECONDS",
        ));
    };
    let invalid = |_| Error::from(ErrorKind::InvalidInput);
    let connections: usize = connections.parse().map_err(invalid)?;
    let seconds: u64 = seconds.parse().map_err(invalid)?;
    let (address, path) = url
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('/'))
        .ok_or(ErrorKind::InvalidInput)?;
    let body = std::fs::read(body)?;
    let head = format!(
        "POST /{path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    let request = [head.as_bytes(), &body].concat();
    let begin = Instant::now();
    let end = begin + Duration::from_secs(seconds);
    let clients = (0..connections).map(|_| client(address, &request, end));
    let answers = futures_util::future::try_join_all(clients).await?;
    let elapsed = begin.elapsed().as_secs_f64();
    let failed: usize = answers.iter().map(|answers| answers.failed).sum();
    let mut times: Vec<Duration> = answers
        .into_iter()
        .flat_map(|answers| answers.times)
        .collect();
    times.sort_unstable();
    let quantile = |percent: usize| {
        let index = (times.len() * percent / 100).min(times.len().saturating_sub(1));
        times.get(index).map(|time| time.as_secs_f64() * 1e3)
    };
    let figures = serde_json::json!({
        "connections": connections,
        "requests": times.len(),
        "failed": failed,
        "requests_per_second": times.len() as f64 / elapsed,
        "p50_ms": quantile(50),
        "p99_ms": quantile(99),
    });
    println!("{figures}");
    Ok(())
}

async fn client(address: &str, request: &[u8], end: Instant) -> Result<Answers, Error> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    let mut answers = Answers::default();
    while Instant::now() < end {
        let begin = Instant::now();
        stream.get_mut().write_all(request).await?;
        let status = answer(&mut stream).await?;
        answers.times.push(begin.elapsed());
        answers.failed += usize::from(status != 200);
    }
    Ok(answers)
}

/// Reads an answer and returns its status.
async fn answer(stream: &mut BufReader<TcpStream>) -> Result<u16, Error> {
    let mut line = String::new();
    let mut status = 0;
    let mut length = 0;
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let text = line.trim_end().to_ascii_lowercase();
        if text.is_empty() {
            break;
        }
        if let Some(rest) = text.strip_prefix("http/1.1 ") {
            status = rest
                .get(..3)
                .and_then(|code| code.parse().ok())
                .unwrap_or(0);
        } else if let Some(value) = text.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(status)
}
