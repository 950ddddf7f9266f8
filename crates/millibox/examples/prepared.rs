//! Compares three ways to run a Python program: executing it, copying a prepared interpreter, and
//! posix_spawn(3) without a sandbox. The kinds of runs alternate in blocks.
//!
//! ```sh
//! cargo build --release -p millibox-supervisor -p millibox-ready
//! cargo run --release -p millibox --example prepared -- 300 pass
//! cargo run --release -p millibox --example prepared -- 100 'import numpy' numpy
//! ```
//!
//! If `PYTHONPATH` names a directory, the programs find modules there.
//!
//! The arguments are the number of runs of each kind, the program, and the modules to import
//! beforehand.

use millibox::{Outcome, Prepare, Request, Start, Supervisor, World};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PYTHON: &str = "/usr/bin/python3";
/// The number of consecutive runs of one kind.
const BLOCK: usize = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let runs: usize = arguments.next().map_or(Ok(100), |text| text.parse())?;
    let code = arguments.next().unwrap_or_else(|| "pass".to_owned());
    let supervisor = Supervisor::start()?;
    let mut world = World::minimal();
    let mut prepare = Prepare::python(PYTHON, arguments);
    let mut request = Request::new(PYTHON).args(["-c", &code]);
    let path = std::env::var_os("PYTHONPATH").filter(|path| !path.is_empty());
    if let Some(path) = &path {
        world = world.read_only(path, path);
        prepare = prepare.env("PYTHONPATH", path);
        request = request.env("PYTHONPATH", path);
    }
    let prepared = world.prepare(&prepare)?;
    let cold = request.clone().world(&world);
    let copy = request.prepared(&prepared);
    let run = |request: &Request, is_copy: bool| {
        let result = supervisor.run(request)?.wait()?;
        assert_eq!(result.outcome, Outcome::Exited(0), "{result}");
        assert_eq!(matches!(result.start, Start::Prepared { .. }), is_copy);
        Ok::<_, millibox::Error>(())
    };
    let bare = || {
        let status = Command::new(PYTHON)
            .args(["-c", &code])
            .env_clear()
            .envs(path.iter().map(|path| ("PYTHONPATH", path)))
            .stdin(Stdio::null())
            .status();
        assert!(status.is_ok_and(|status| status.success()));
    };
    // The first runs start the interpreters.
    for _ in 0..4 {
        run(&cold, false)?;
        run(&copy, true)?;
        bare();
    }
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..runs.div_ceil(BLOCK) {
        for (kind, times) in times.iter_mut().enumerate() {
            for _ in 0..BLOCK {
                let begin = Instant::now();
                match kind {
                    0 => bare(),
                    1 => run(&cold, false)?,
                    _ => run(&copy, true)?,
                }
                times.push(begin.elapsed());
            }
        }
    }
    let [bare, cold, copy] = times.map(median);
    for (name, time) in [("bare", bare), ("executed", cold), ("copied", copy)] {
        let ratio = time.as_secs_f64() / bare.as_secs_f64();
        println!("{name:10} {:8} us {ratio:6.3}", time.as_micros());
    }
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
