//! A program with input, its output caught, and both limited: `cargo run -p millibox --example capture` (after
//! `make build`).
//!
//! Input comes from memory, output goes through a pipe, on which the limit is held. What is in between, waiting, reading
//! and limiting, takes a thread for each run that goes on at once.

use millibox::{Budget, Moved, Request, RunResult, Supervisor, move_output};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// More than this is not written by anybody here.
const MOST_OUTPUT: u64 = 1 << 16;

/// What came of a run, and what it wrote.
struct Captured {
    result: RunResult,
    output: String,
    /// There was more of it, for which the run was ended if it had not ended by itself.
    cut: bool,
}

fn capture(supervisor: &Supervisor, request: Request, input: &[u8]) -> Result<Captured, Box<dyn std::error::Error>> {
    let mut stdin = in_memory()?;
    stdin.write_all(input)?;
    stdin.rewind()?;
    let (from, into) = std::io::pipe()?;
    let request = request.stdin(OwnedFd::from(stdin)).stdout(OwnedFd::from(into));
    let handle = supervisor.run(&request)?;
    // It has an end of the pipe, too, and there would be no end of output.
    drop(request);
    let mut stdout = in_memory()?;
    let cut = move_output(from, &stdout, &Budget::new(MOST_OUTPUT), &handle)? == Moved::LimitReached;
    let result = handle.wait()?;
    let mut output = String::new();
    stdout.rewind()?;
    stdout.read_to_string(&mut output)?;
    Ok(Captured { result, output, cut })
}

fn in_memory() -> std::io::Result<File> {
    Ok(File::from(rustix::fs::memfd_create("capture", rustix::fs::MemfdFlags::CLOEXEC)?))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let supervisor = Supervisor::start()?;
    let limited = |request: Request| request.real_time_limit(Duration::from_secs(5));

    let sorted = capture(&supervisor, limited(Request::new("/usr/bin/sort").arg("-n")), b"10\n9\n1\n")?;
    print!("{}; it wrote:\n{}", sorted.result, sorted.output);

    let endless = capture(&supervisor, limited(Request::new("/usr/bin/yes")), b"")?;
    println!("{}; it wrote {} bytes, and more: {}", endless.result, endless.output.len(), endless.cut);
    Ok(())
}
