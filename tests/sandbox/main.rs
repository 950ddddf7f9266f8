//! Tests of the sandbox on the real kernel, one module for each feature.

mod alone;
mod cancel;
mod clock;
mod command;
mod containers;
mod cpus;
mod death;
mod descriptors;
mod faults;
mod figures;
mod growth;
mod inheritance;
mod isolation_between_runs;
mod leftovers;
mod limits;
mod mounts;
mod namespaces;
mod network;
mod output;
mod pairs;
mod pool;
mod prepared;
mod privileges;
mod protocol;
mod requests;
mod results;
mod rlimits;
mod seccomp;
mod setbacks;
mod standard;
mod supervisor_arguments;
mod terminals;
mod worlds;

/// Whether runs can be copies of a prepared program.
const HAS_COPIES: bool = true;

/// The builder with which the tests of this executable start supervisors.
fn builder() -> millibox::Builder {
    millibox_tests::builder()
}

fn supervisor() -> millibox::Supervisor {
    millibox_tests::start(builder())
}
