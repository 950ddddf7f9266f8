//! Each process is killed at any moment. The other processes report its death, and nothing remains.

mod client;
mod runners;
mod shortages;
mod supervisor;

use millibox::{EndReason, Error, Handle};
use millibox_tests::HANG_TIMEOUT;
use std::time::Duration;

const CLEANUP_TIMEOUT: Duration = Duration::from_secs(5);

fn died(handle: &Handle) -> EndReason {
    match handle.wait_timeout(HANG_TIMEOUT) {
        Err(Error::Died(why)) => why,
        other => panic!("{other:?}"),
    }
}
