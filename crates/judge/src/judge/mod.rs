//! The judge as a whole: from a package and its submissions to reports.
//!
//! ```no_run
//! use millibox_judge::judge::{Judge, Machine, Options};
//! use millibox_languages::cache::Cache;
//! use millibox_languages::suite::Suites;
//!
//! let problem = millibox_package::read("problems/hello".as_ref())?;
//! let machine = Machine::start(millibox::Supervisor::builder(), None, &[])?;
//! let judge = Judge::new(&machine, Suites::builtin(), Cache::of_user()?, Options::default());
//! let prepared = judge.problem(problem, &mut |_| ())?;
//! for report in judge.submissions(&prepared, &prepared.problem().submissions, &mut |_| ()) {
//!     println!("{}: {:?}", report.name, report.verdict);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Each file uses only files above it in this table:
//!
//! | file | content |
//! | --- | --- |
//! | `machine` | the supervisor, and its replacement if it is killed |
//! | `options` | the caller's settings |
//! | `event` | what the judge reports while it works |
//! | `fault` | why a package cannot be judged |
//! | `choose` | the submissions that a name or path selects |
//! | `pressure` | whether the machine had too few CPUs for its work |
//! | `limits` | the limits of a test, from options, package and defaults |
//! | `prepared` | a problem on which submissions can be judged |
//! | `base` | the judge itself, with its suites and compilers |
//! | `prepare` | compiling a package's programs and staging its data |
//! | `compile` | compiling a submission with the files and limits of the problem |
//! | `pool` | the threads that judge submissions |
//! | `measure` | time limits from the times of accepted submissions |
//! | `problem` | preparing and measuring a problem |
//! | `submission` | judging submissions and reporting their results |

mod base;
mod choose;
mod compile;
mod event;
mod fault;
mod limits;
mod machine;
mod measure;
mod options;
mod pool;
mod prepare;
mod prepared;
mod pressure;
mod problem;
mod submission;

pub use base::Judge;
pub use choose::{SelectionError, choose};
pub use event::{Event, Observer};
pub use fault::{Measurement, MeasurementFault, PackageError, PackageFault, PackageProblem, Role};
pub use machine::{Machine, MachineError, Supervisors};
pub use options::Options;
pub use prepared::{PreparedProblem, TimeLimit};
