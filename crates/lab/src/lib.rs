//! The lab measures the cost of the sandbox, side by side with the bare program and with
//! alternatives to millibox.
//!
//! The lab works as follows:
//!
//! * An **experiment** ([`Experiment`]) asks one question, in most cases that of a paper;
//!   [`experiments::ALL`] lists them.
//! * It makes one or more **comparisons** ([`Comparison`]) of **variants** ([`Variant`]), which are
//!   several ways to do the same work. Variants alternate, so that all of them see the same machine
//!   at the same time.
//! * Each turn of a variant yields a **sample**, which is one number for each **metric**
//!   ([`Metric`]).
//! * The samples of a comparison become a **table** ([`Table`]): median, mean, deviation,
//!   percentiles, and the ratio to the first variant with a bootstrap confidence interval
//!   ([`statistics`]).
//! * Tables, **claims** ([`Claim`]: a target, and whether it holds) and notes make a **report**
//!   ([`Report`]).
//! * [`output`] writes reports as JSON, Markdown, plots (SVG), and one page (HTML) for all of them.
//!
//! The executable `millibox-lab` (`main.rs`) is the command line of this library.
//!
//! ```no_run
//! use millibox_lab::{Comparison, Error, Lab, Metric, Options, Plan, Unit, Variant};
//! use std::time::Duration;
//!
//! let lab = Lab::new(Options::default())?;
//! let pause = |ms| move || {
//!     let begin = std::time::Instant::now();
//!     std::thread::sleep(Duration::from_millis(ms));
//!     Ok(vec![begin.elapsed().as_nanos() as f64])
//! };
//! let table = Comparison::new("pauses", "Two pauses")
//!     .metric(Metric::new("real time", Unit::Nanoseconds))
//!     .variant(Variant::new("1 ms", pause(1)))
//!     .variant(Variant::new("2 ms", pause(2)))
//!     .plan(Plan { rounds: 20, ..Plan::default() })
//!     .measure(&lab)?;
//! println!("{}", table.ratio("2 ms", "real time").unwrap());
//! # Ok::<(), Error>(())
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `lab` | the context of every experiment: scale, seed, supervisors, peers, a directory |
//! | `runner` | measurement of alternating variants |
//! | `statistics` | summaries, bootstrap, Welch's t-test |
//! | `table`, `report` | results |
//! | `machine` | the description of the machine |
//! | `output` | results as JSON, Markdown, SVG, HTML |
//! | `bare` | programs without a sandbox, and single sandboxed runs |
//! | `load` | requests to a server over HTTP |
//! | `interrupt` | an orderly end after a signal |
//! | `experiments` | one file for each experiment |
//! | `programs` | the programs that experiments run, hidden in the command |
//! | `sys` | system calls that the safe crates used here do not provide |

#![deny(unsafe_code)]

pub mod bare;
mod error;
pub mod experiments;
mod interrupt;
mod lab;
mod load;
mod machine;
pub mod output;
pub mod programs;
mod report;
mod runner;
pub mod statistics;
mod sys;
mod table;

pub use error::Error;
pub use experiments::Experiment;
pub use interrupt::interrupt;
pub use lab::{Lab, Options, Progress, Scale, find_executable};
pub use machine::Machine;
pub use report::{Claim, ClaimStatus, Report, WelchTest};
pub use runner::{Comparison, Plan, Variant};
pub use table::{MeasuredVariant, Metric, MissingVariant, PlotKind, Samples, Summary, Table, Unit};
