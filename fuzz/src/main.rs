//! `fuzz [--seconds N] [--seed N] [--input FILE] [TARGET...]`: see the library.

use millibox_fuzz::engine::{self, Broken};
use millibox_fuzz::targets;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const USAGE: &str = "usage: fuzz [--seconds N] [--seed N] [--input FILE] [TARGET...]";

struct Options {
    seconds: u64,
    seed: u64,
    input: Option<PathBuf>,
    targets: Vec<&'static targets::Target>,
}

fn options() -> Result<Options, String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64);
    let mut options = Options { seconds: 60, seed: now, input: None, targets: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"));
        let number = |text: String| text.parse::<u64>().map_err(|_| format!("{word}: {text:?} is no number"));
        match word.as_str() {
            "--seconds" => options.seconds = number(value()?)?,
            "--seed" => options.seed = number(value()?)?,
            "--input" => options.input = Some(value()?.into()),
            name => match targets::ALL.iter().find(|target| target.name == name) {
                Some(target) => options.targets.push(target),
                None => {
                    let names: Vec<&str> = targets::ALL.iter().map(|target| target.name).collect();
                    return Err(format!("there is no target {name:?}; those there are: {}\n{USAGE}", names.join(", ")));
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
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    if let Some(path) = &options.input {
        let input = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for target in &options.targets {
            println!("{}: {}", target.name, engine::look(target, &input).unwrap_or_else(|| "holds".to_owned()));
        }
        return ExitCode::SUCCESS;
    }
    // Each panic is told once, with its input.
    std::panic::set_hook(Box::new(|_| {}));
    println!("seed {}", options.seed);
    let each = Duration::from_secs(options.seconds) / u32::try_from(options.targets.len()).unwrap_or(1);
    let mut code = ExitCode::SUCCESS;
    for target in options.targets {
        match engine::fuzz(target, options.seed, each, u64::MAX) {
            Ok(done) => println!(
                "{}: {} inputs, {} branches, {} inputs reached something new",
                target.name, done.inputs, done.edges, done.kept
            ),
            Err(Broken { input, why }) => {
                let path = engine::save(Path::new(env!("CARGO_MANIFEST_DIR")), target.name, &input);
                println!("{}: BROKEN by {}: {why}", target.name, path.display());
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}
