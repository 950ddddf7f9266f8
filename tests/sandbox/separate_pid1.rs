//! The tests that pid1 has a part in, with pid1 in an address space of its own.

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

fn builder() -> millibox::Builder {
    millibox_tests::builder().separate_pid1(true)
}

fn supervisor() -> millibox::Supervisor {
    millibox_tests::start(builder())
}
