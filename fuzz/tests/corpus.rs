//! The corpus, and some seconds of new inputs. `MILLIBOX_FUZZ_SECONDS` says how many for each
//! target, `MILLIBOX_SEED` where the random numbers begin.

use millibox_fuzz::engine::{fuzz, look};
use millibox_fuzz::targets::ALL;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn every_target_holds() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64);
    let seed = number("MILLIBOX_SEED").unwrap_or(now);
    let seconds = number("MILLIBOX_FUZZ_SECONDS").unwrap_or(2);
    eprintln!("MILLIBOX_SEED={seed}");
    let mut broken = Vec::new();
    for target in &ALL {
        for (path, bytes) in target.corpus() {
            if let Some(why) = look(target, &bytes) {
                broken.push(format!("{}: {why}", path.display()));
            }
        }
        match fuzz(target, seed, Duration::from_secs(seconds)) {
            Ok(done) => eprintln!("{}: {} inputs", target.name, done.inputs),
            Err(found) => {
                let shown = String::from_utf8_lossy(&found.input).escape_debug().to_string();
                broken.push(format!("{} with \"{shown}\": {}", target.name, found.why));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
