//! Repeats the tests that involve pid1 with pid1 in its own address space.

mod cancel;
mod death;
mod descriptors;
mod figures;
mod inheritance;
mod isolation_between_runs;
mod limits;
mod mounts;
mod namespaces;
mod network;
mod pairs;
mod requests;
mod results;
mod rlimits;
mod seccomp;
mod worlds;

/// A prepared program needs a pid1 in its runner's memory.
const HAS_COPIES: bool = false;

fn builder() -> millibox::Builder {
    millibox_tests::builder().separate_pid1(true)
}

fn supervisor() -> millibox::Supervisor {
    millibox_tests::start(builder())
}
