//! The corpus, and some new inputs, the same ones each time: what is new is found by `make fuzz`, and not
//! by whoever runs the tests next. `MILLIBOX_FUZZ_SECONDS` says how long for each target,
//! `MILLIBOX_SEED` where the random numbers begin.

use millibox_fuzz::engine::{fuzz, look};
use millibox_fuzz::targets::ALL;
use std::time::Duration;

/// Inputs for each target at most, so that a faster machine does not look at others.
const MOST: u64 = 20_000;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn every_target_holds() {
    let seed = number("MILLIBOX_SEED").unwrap_or(1);
    let seconds = number("MILLIBOX_FUZZ_SECONDS").unwrap_or(2);
    eprintln!("MILLIBOX_SEED={seed}");
    let mut broken = Vec::new();
    for target in &ALL {
        for (path, bytes) in target.corpus() {
            if let Some(why) = look(target, &bytes) {
                broken.push(format!("{}: {why}", path.display()));
            }
        }
        match fuzz(target, seed, Duration::from_secs(seconds), MOST) {
            Ok(done) => eprintln!("{}: {} inputs", target.name, done.inputs),
            Err(found) => {
                let shown = String::from_utf8_lossy(&found.input).escape_debug().to_string();
                broken.push(format!("{} with \"{shown}\": {}", target.name, found.why));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
