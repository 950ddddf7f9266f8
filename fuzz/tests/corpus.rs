//! Processes the corpus and some new inputs.
//!
//! The seed is constant by default, so every test run processes the same inputs. `make fuzz` uses
//! other inputs. `MILLIBOX_FUZZ_SECONDS` sets the seconds per target (default: 2), and
//! `MILLIBOX_SEED` the seed (default: 1).

use millibox_fuzz::engine::{check, fuzz};
use millibox_fuzz::targets::ALL;
use std::time::Duration;

/// The maximum number of inputs per target. Because of this bound, all fast machines process the
/// same inputs.
const MAX_INPUTS: u64 = 20_000;

fn environment_number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn corpus_and_new_inputs_violate_no_property() {
    let seed = environment_number("MILLIBOX_SEED").unwrap_or(1);
    let seconds = environment_number("MILLIBOX_FUZZ_SECONDS").unwrap_or(2);
    eprintln!("MILLIBOX_SEED={seed}");
    let mut violations = Vec::new();
    for target in &ALL {
        for (path, bytes) in target.corpus() {
            if let Some(message) = check(target, &bytes) {
                violations.push(format!("{}: {message}", path.display()));
            }
        }
        match fuzz(target, seed, Duration::from_secs(seconds), MAX_INPUTS) {
            Ok(summary) => eprintln!("{}: {} inputs", target.name, summary.inputs),
            Err(violation) => {
                let shown = String::from_utf8_lossy(&violation.input)
                    .escape_debug()
                    .to_string();
                violations.push(format!(
                    "{} with \"{shown}\": {}",
                    target.name, violation.message
                ));
            }
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}
