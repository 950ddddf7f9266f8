//! The lab: what the sandbox costs, measured side by side with the bare program and with what a
//! user would pick instead.
//!
//! The words of this world, in the order in which they turn into each other:
//!
//! * an **experiment** ([`Experiment`]) repeats one question of a paper; [`experiments::ALL`] lists them;
//! * it makes one or more **comparisons** ([`Comparison`]) of **variants** ([`Variant`]): the same work done in
//!   several ways, by turns, so that all of them see the same machine at the same time;
//! * each turn of a variant gives a **sample**: one number for each **metric** ([`Metric`]);
//! * all samples of a comparison become a **table** ([`Table`]): median, mean, deviation, percentiles, and the ratio to
//!   the first variant with a bootstrap confidence interval ([`statistics`]);
//! * tables, **claims** ([`Claim`]: what was wanted, and whether it holds) and notes make a **report** ([`Report`]);
//! * [`output`] writes reports as JSON, Markdown, plots (SVG), and one page (HTML) for all of them.
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
//! | `lab` | what every experiment is given: scale, seed, how to start supervisors, peers, a directory |
//! | `runner` | measuring variants by turns |
//! | `statistics` | summaries, bootstrap, Welch's t-test |
//! | `table`, `report` | what was found |
//! | `machine` | where it was found |
//! | `output` | writing it: JSON, Markdown, SVG, HTML |
//! | `bare` | the same programs without a sandbox |
//! | `interrupt` | an end from outside |
//! | `experiments` | one file each |
//! | `programs` | what they run, hidden in the command |

#![deny(unsafe_code)]

pub mod bare;
mod error;
pub mod experiments;
mod interrupt;
mod lab;
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
pub use lab::{Lab, Options, Progress, Scale, find};
pub use machine::Machine;
pub use report::{Claim, Holds, Report, Test};
pub use runner::{Comparison, Plan, Variant};
pub use table::{Figure, Figures, Measured, Metric, Missing, Samples, Table, Unit};
