//! Programs that use the sandbox through a binding, and measure it: one in C and one in Python.
//!
//! A driver reads commands from its standard input, and answers each with a line of times. So the
//! driver reads its clocks itself, and its variants alternate with those of this process.

use crate::{Error, Lab, bare};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The interpreter of the driver in Python.
pub const PYTHON: &str = "/usr/bin/python3";
/// The time that a driver and its supervisor may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// The files of the Python package, except the native half.
const PACKAGE: [(&str, &str); 6] = [
    (
        "__init__.py",
        include_str!("../../../../python/python/millibox/__init__.py"),
    ),
    (
        "__main__.py",
        include_str!("../../../../python/python/millibox/__main__.py"),
    ),
    (
        "_check.py",
        include_str!("../../../../python/python/millibox/_check.py"),
    ),
    (
        "_files.py",
        include_str!("../../../../python/python/millibox/_files.py"),
    ),
    (
        "_judge.py",
        include_str!("../../../../python/python/millibox/_judge.py"),
    ),
    (
        "_sandbox.py",
        include_str!("../../../../python/python/millibox/_sandbox.py"),
    ),
];

/// A running driver, which ends on drop.
#[derive(Debug)]
pub struct Driver {
    name: &'static str,
    child: Child,
    /// `None` after the end.
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    messages: std::fs::File,
}

impl Driver {
    /// Compiles and starts the driver in C, with one slot.
    ///
    /// # Errors
    /// The library was not built, no compiler exists, or the driver does not start.
    pub fn c(lab: &Lab) -> Result<Driver, Error> {
        let library = built("libmillibox_c.a", "cargo build -p millibox-c --lib")?;
        let header = include_str!("../../../../c/include/millibox.h");
        write(&lab.directory().join("millibox.h"), header.as_bytes())?;
        let include = format!("-I{}", lab.directory().display());
        let library = library.to_string_lossy();
        // The libraries that the Rust standard library needs, as in crates/c/link.
        let options = [
            "-O2",
            &include,
            &library,
            "-lpthread",
            "-ldl",
            "-lm",
            "-lgcc_s",
        ];
        let source = include_str!("../../../programs/bindings.c");
        let program = lab.compile_c("bindings", source, &options)?;
        let mut command = Command::new(program);
        command.arg(lab.backend().to_string()).arg(limits(lab));
        Driver::start("C", command)
    }

    /// Starts the driver in Python, with this number of slots.
    ///
    /// # Errors
    /// The package was not built, Python is missing, or the driver does not start.
    pub fn python(lab: &Lab, slots: usize) -> Result<Driver, Error> {
        let native = built("lib_native.so", "cargo build -p millibox-python --lib")?;
        let packages = lab.directory().join("bindings-python");
        let package = packages.join("millibox");
        std::fs::create_dir_all(&package).map_err(Error::system("make a Python package"))?;
        for (name, text) in PACKAGE {
            write(&package.join(name), text.as_bytes())?;
        }
        let copy = package.join("_native.abi3.so");
        if !copy.exists() {
            std::fs::copy(&native, copy)
                .map_err(Error::system(format!("copy {}", native.display())))?;
        }
        let script = lab.directory().join("bindings.py");
        write(&script, include_bytes!("../../../programs/bindings.py"))?;
        let mut command = Command::new(PYTHON);
        command.arg(script).arg(packages);
        command.args([&lab.backend().to_string(), &slots.to_string(), limits(lab)]);
        Driver::start("Python", command)
    }

    /// Starts a driver. It finds the files of millibox where this program finds them.
    fn start(name: &'static str, mut command: Command) -> Result<Driver, Error> {
        for (variable, file) in [
            ("MILLIBOX_SUPERVISOR", "millibox-supervisor"),
            ("MILLIBOX_STAGE", "millibox-stage"),
            ("MILLIBOX_READY", "libmillibox_ready.so"),
        ] {
            if let (None, Some(path)) = (std::env::var_os(variable), beside(file)) {
                command.env(variable, path);
            }
        }
        let messages = tempfile::tempfile().map_err(Error::system("make a temporary file"))?;
        let copy = messages.try_clone();
        let copy = copy.map_err(Error::system("copy a descriptor"))?;
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(copy)
            // A Ctrl-C must reach only the lab, which then ends its drivers.
            .process_group(0);
        let failed = || Error::system::<std::io::Error>(format!("start the driver in {name}"));
        let mut child = command.spawn().map_err(failed())?;
        let commands = child.stdin.take();
        let (Some(commands), Some(answers)) = (commands, child.stdout.take()) else {
            return Err(failed()(std::io::ErrorKind::BrokenPipe.into()));
        };
        let mut driver = Driver {
            name,
            child,
            commands: Some(commands),
            answers: BufReader::new(answers),
            messages,
        };
        // The driver answers once it has started its sandbox.
        driver.ask("run 0", 0)?;
        Ok(driver)
    }

    /// Sends a command that is answered with the times of `count` runs. Returns the real time and
    /// the driver's CPU time of each run, in nanoseconds.
    ///
    /// # Errors
    /// A run fails, and with it the driver.
    pub fn ask(&mut self, command: &str, count: usize) -> Result<Vec<[f64; 2]>, Error> {
        let sent = match &mut self.commands {
            Some(commands) => writeln!(commands, "{command}"),
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        };
        let mut line = String::new();
        let read = sent.and_then(|()| self.answers.read_line(&mut line));
        let times: Result<Vec<f64>, _> = line.split_whitespace().map(str::parse).collect();
        match (read, times) {
            (Ok(_), Ok(times)) if times.len() == 2 * count && line.ends_with('\n') => {
                let runs = times.chunks_exact(2);
                Ok(runs.map(|times| [times[0], times[1]]).collect())
            }
            _ => Err(Error::Driver {
                name: self.name,
                command: command.to_owned(),
                message: self.message(),
            }),
        }
    }

    /// What the driver has written to standard error before its end.
    fn message(&mut self) -> String {
        self.end();
        let mut text = String::new();
        let _ = self.messages.rewind();
        let _ = self.messages.read_to_string(&mut text);
        text.trim_end().to_owned()
    }

    fn end(&mut self) {
        // The driver ends at the end of its input.
        self.commands = None;
        if !bare::exits_within(&self.child, END_TIMEOUT).unwrap_or(false) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.end();
    }
}

/// Times that a driver measures in blocks. A driver that waits for a command after each run would
/// find cold caches.
#[derive(Debug)]
pub struct Times {
    way: &'static str,
    block: usize,
    times: VecDeque<[f64; 2]>,
}

impl Times {
    /// Times of this command, which is sent for `block` runs at once.
    pub fn new(way: &'static str, block: usize) -> Times {
        Times {
            way,
            block,
            times: VecDeque::new(),
        }
    }

    /// The times of the next run.
    ///
    /// # Errors
    /// The errors of [`Driver::ask`].
    pub fn next(&mut self, driver: &mut Driver) -> Result<Vec<f64>, Error> {
        if self.times.is_empty() {
            let command = format!("{} {}", self.way, self.block);
            self.times = driver.ask(&command, self.block)?.into();
        }
        Ok(self.times.pop_front().into_iter().flatten().collect())
    }
}

fn limits(lab: &Lab) -> &'static str {
    if lab.limits_process_trees() { "1" } else { "0" }
}

fn write(path: &Path, content: &[u8]) -> Result<(), Error> {
    std::fs::write(path, content).map_err(Error::system(format!("write {}", path.display())))
}

/// A file beside this program.
fn beside(name: &str) -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.with_file_name(name);
    path.exists().then_some(path)
}

/// A binding, which cargo builds beside this program.
fn built(name: &'static str, command: &'static str) -> Result<PathBuf, Error> {
    beside(name).ok_or(Error::NotBuilt { name, command })
}
