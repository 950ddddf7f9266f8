//! Tests of `millibox judge` on whole packages.
//!
//! Most submissions are scripts, which need no compilation.

mod failures;
mod files;
mod grading;
mod limits;
mod others;
mod reports;
mod verdicts;

use crate::package::has_cgroups;
use millibox::{BackendChoice, Supervisor};
use millibox_judge::judge::Machine;

const DOUBLE: &str = "read n\necho $((n * 2))\n";
const SPIN: &str = "while :; do :; done\n";

fn machine(jobs: usize) -> Machine {
    let choice = if has_cgroups() {
        BackendChoice::Auto
    } else {
        BackendChoice::Rlimit
    };
    Machine::start(Supervisor::builder().backend(choice), Some(jobs), &[])
        .unwrap_or_else(|error| panic!("{error}"))
}

const VALIDATOR: &str = "read n < $1; read a; shift 3\n\
    [ \"$a\" = crash ] && exit 1\n\
    echo \"$* for $a\" > $0.x 2>/dev/null; [ $((a - n)) = $n ] && exit 42; exit 43\n";
