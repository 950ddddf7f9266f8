//! `--prepared`: runs as copies of one prepared interpreter, for measuring.

use super::options::Args;
use crate::failure::Failure;
use crate::signals::Signals;
use millibox::{Outcome, Prepare, Prepared, Request, Supervisor, World};
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The directories of interpreters that are named without a path.
const DIRECTORIES: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

/// Prepares the interpreter that PROGRAM names, with the variables of the run.
pub fn prepare(args: &Args, world: &World) -> Result<Prepared, Failure> {
    let named = Path::new(args.program.first().map_or(OsStr::new(""), |name| name));
    let is_python = named
        .file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"python"));
    if !is_python {
        return Err(Failure::option(
            "--prepared: PROGRAM must be a Python interpreter, such as python3",
        ));
    }
    let is_path = named.as_os_str().as_encoded_bytes().contains(&b'/');
    let interpreter = if is_path {
        named.to_owned()
    } else {
        let places = DIRECTORIES.map(|directory| Path::new(directory).join(named));
        let found = places.into_iter().find(|place| place.exists());
        found.unwrap_or_else(|| PathBuf::from(named))
    };
    let modules: [&str; 0] = [];
    let prepare = args.environment().fold(
        Prepare::python(interpreter, modules),
        |prepare, (name, value)| prepare.env(name, value),
    );
    Ok(world.prepare(&prepare)?)
}

/// The times of runs, from the request to the result.
pub struct Times {
    runs: usize,
    first: Duration,
    median: Duration,
}

/// Makes this number of runs, without input and output. `None` without runs, if one cannot begin,
/// or if a signal ended the measurement.
pub fn measure(
    supervisor: &Supervisor,
    request: &Request,
    runs: usize,
    signals: &Signals,
) -> Result<Option<Times>, Failure> {
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        if signals.caught().is_some() {
            return Ok(None);
        }
        let begin = Instant::now();
        let result = supervisor.run(request)?.wait()?;
        times.push(begin.elapsed());
        if let Outcome::NotStarted(_) | Outcome::SandboxError(_) = result.outcome {
            // The run that follows reports why.
            return Ok(None);
        }
    }
    let Some(&first) = times.first() else {
        return Ok(None);
    };
    times.sort_unstable();
    Ok(Some(Times {
        runs,
        first,
        median: times[times.len() / 2],
    }))
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |time: Duration| time.as_micros();
        write!(
            f,
            "{} copies: median {} us; the first took {} us, including the start of the interpreter",
            self.runs,
            micros(self.median),
            micros(self.first)
        )
    }
}
