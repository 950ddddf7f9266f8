//! Helpers of the sandbox's tests.
//!
//! * [`builder`], [`supervisor`]: a sandbox with the best backend of this machine;
//! * [`request`]: a request to run the [`probe`], by descriptor, in the minimal world;
//! * [`run`]: runs a request and returns its [`Output`];
//! * [`not_started`], [`sandbox_error`]: the error of a result, which tests compare by its fields;
//! * [`has_cgroups_or_skips`], [`skip`]: report a test that cannot run here. They write
//!   `SKIPPED: ...` to standard error, and a line to the file that `MILLIBOX_SKIPS` names;
//! * [`shared_cache`]: compiled programs and prepared libraries that tests share;
//! * [`keep_rotating_part`]: selects the cases of one run of a large cross product;
//! * [`eventually`], [`descendants`], [`Footprint`]: check that no process or cgroup remains.
//!
//! The tests need no privileges. Started by root, the sandbox runs as another user, so tests set
//! the permissions of bound files ([`directory`]).

mod cache;
mod client;
mod files;
pub mod nats;
mod outcome;
mod processes;
mod random;
mod rotation;
mod sandbox;
mod skips;

pub use cache::{cache_directory, shared_cache};
pub use client::{ClientOutput, client};
pub use files::{
    copy_executable, copy_probe, directory, executable, open, pipe, read_all, read_line, readable,
    set_mode, write_script,
};
pub use outcome::{Output, not_started, result, run, run_probe, sandbox_error, wait};
pub use processes::{
    Footprint, Process, SPAWNER, descendants, ends_within, eventually, kill, process, process_name,
    processes, processes_with_argument, programs, stop, token, unique_sleep,
};
pub use random::Random;
pub use rotation::{keep_rotating_part, rotating_variant};
pub use sandbox::{
    HANG_TIMEOUT, builder, probe, request, start, start_sleeper, supervisor, world_with_proc,
};
pub use skips::{has_cgroups_or_skips, is_root, may_raise_limits, skip, skip_named, status_mask};
