//! Runs programs with input from memory and captured output: `cargo run -p millibox --example
//! capture` (after `make build`).

use millibox::{Request, Supervisor};
use std::time::Duration;

/// The maximum amount of data that a program may write.
const MAX_OUTPUT_BYTES: u64 = 64 << 10;

fn main() -> Result<(), millibox::Error> {
    let supervisor = Supervisor::start()?;
    let limited = |request: Request| request.real_time_limit(Duration::from_secs(5));

    let sort = limited(Request::new("/usr/bin/sort").arg("-n").input("10\n9\n1\n"));
    let sorted = supervisor.output(&sort, MAX_OUTPUT_BYTES)?;
    print!(
        "{}; it wrote:\n{}",
        sorted.result,
        String::from_utf8_lossy(&sorted.stdout)
    );

    let endless = supervisor.output(&limited(Request::new("/usr/bin/yes")), MAX_OUTPUT_BYTES)?;
    println!(
        "{}; it wrote {} bytes, and more: {}",
        endless.result,
        endless.stdout.len(),
        endless.truncated
    );
    Ok(())
}
