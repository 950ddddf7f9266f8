//! Judges submissions of the contest site.
//!
//! The threads in [`judging`] take judgements from a queue. The site runs them in its own process,
//! with the queue in its database. The program `millibox-worker` runs them on another machine, with
//! a queue that sends each request to the site.
//!
//! | module | content |
//! | --- | --- |
//! | [`judging`] | threads that take judgements from a queue |
//! | [`outcome`] | the stored form of the judge's reports |
//! | [`archive`] | opens a package |
//! | [`stops`] | stops work that runs in this process |
//! | [`turns`] | lets workers and jobs that measure take turns on a CPU |
//! | [`cpus`] | CPUs of threads |
//! | [`calibration`] | a fixed computation, whose CPU time shows the speed of a machine |
//! | [`log`] | the log of a program that judges |
//! | [`connection`] | the connection to a NATS server, and files with keys |
#![forbid(unsafe_code)]

pub use millibox_fleet::connection;

pub mod archive;
pub mod calibration;
pub mod cpus;
pub mod judging;
pub mod log;
pub mod outcome;
pub mod stops;
pub mod turns;
