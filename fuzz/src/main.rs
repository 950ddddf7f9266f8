//! The command `fuzz [--seconds N] [--seed N] [--input FILE] [TARGET...]`; see the library.

use millibox_fuzz::engine::{self, Violation};
use millibox_fuzz::targets::{self, Target};
use std::num::ParseIntError;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use thiserror::Error;

const USAGE: &str = "usage: fuzz [--seconds N] [--seed N] [--input FILE] [TARGET...]";

struct Options {
    seconds: u64,
    seed: u64,
    input: Option<PathBuf>,
    targets: Vec<&'static Target>,
}

#[derive(Debug, Error)]
enum OptionError {
    #[error("{option} needs a value")]
    MissingValue { option: String },
    #[error("{option}: {value:?} is not a number: {error}")]
    InvalidNumber {
        option: String,
        value: String,
        error: ParseIntError,
    },
    #[error("unknown target {name:?}; use one of: {}", target_names())]
    UnknownTarget { name: String },
}

fn target_names() -> String {
    targets::ALL.map(|target| target.name).join(", ")
}

fn options() -> Result<Options, OptionError> {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(1, |time| time.as_nanos() as u64);
    let mut options = Options {
        seconds: 60,
        seed: now,
        input: None,
        targets: Vec::new(),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments.next().ok_or_else(|| OptionError::MissingValue {
                option: argument.clone(),
            })
        };
        let number = |value: String| {
            value
                .parse::<u64>()
                .map_err(|error| OptionError::InvalidNumber {
                    option: argument.clone(),
                    value,
                    error,
                })
        };
        match argument.as_str() {
            "--seconds" => options.seconds = number(value()?)?,
            "--seed" => options.seed = number(value()?)?,
            "--input" => options.input = Some(value()?.into()),
            name => match targets::ALL.iter().find(|target| target.name == name) {
                Some(target) => options.targets.push(target),
                None => {
                    return Err(OptionError::UnknownTarget {
                        name: name.to_owned(),
                    });
                }
            },
        }
    }
    if options.targets.is_empty() {
        options.targets = targets::ALL.iter().collect();
    }
    Ok(options)
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(error) => {
            eprintln!("fuzz: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if let Some(path) = &options.input {
        let input =
            std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for target in &options.targets {
            let violation = engine::check(target, &input);
            println!(
                "{}: {}",
                target.name,
                violation.unwrap_or_else(|| "no violation".to_owned())
            );
        }
        return ExitCode::SUCCESS;
    }
    // Suppress the default message; the violation below contains the text of the panic.
    std::panic::set_hook(Box::new(|_| {}));
    println!("seed {}", options.seed);
    let time_per_target =
        Duration::from_secs(options.seconds) / u32::try_from(options.targets.len()).unwrap_or(1);
    let mut code = ExitCode::SUCCESS;
    for target in options.targets {
        match engine::fuzz(target, options.seed, time_per_target, u64::MAX) {
            Ok(summary) => println!(
                "{}: {} inputs, {} branches, {} inputs reached new code",
                target.name, summary.inputs, summary.edges, summary.kept
            ),
            Err(Violation { input, message }) => {
                let path = engine::save(Path::new(env!("CARGO_MANIFEST_DIR")), target.name, &input);
                println!(
                    "{}: VIOLATION by {}: {message}",
                    target.name,
                    path.display()
                );
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}
