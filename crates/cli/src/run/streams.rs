//! Standard streams, and the limit on their output.

use super::options::Args;
use crate::failure::{Failure, no_thread};
use crate::report_file::{FileIdentity, ReportFile};
use crate::signals::Signals;
use millibox::{Budget, Handle, Moved, Request, move_output};
use rustix::fs::{FileType, OFlags, SeekFrom};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long, after a signal, the command waits for a reader that does not read.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// The files that options name for standard streams and for the report.
#[derive(Debug, Default)]
pub struct Named {
    pub stdin: Option<PathBuf>,
    pub stdout: Option<PathBuf>,
    pub stderr: Option<PathBuf>,
    pub report: Option<PathBuf>,
}

impl Named {
    pub fn of(args: &Args) -> Named {
        let Args {
            stdin,
            stdout,
            stderr,
            report,
            ..
        } = args;
        Named {
            stdin: stdin.clone(),
            stdout: stdout.clone(),
            stderr: stderr.clone(),
            report: report.clone(),
        }
    }

    fn stdin(&self) -> Option<FileIdentity> {
        file_identity(&self.stdin, FileIdentity::of_open(std::io::stdin()))
    }

    /// For each output: option, name, named file, and the file of millibox's own stream.
    fn outputs(
        &self,
    ) -> [(
        &'static str,
        &'static str,
        &Option<PathBuf>,
        Option<FileIdentity>,
    ); 2] {
        [
            (
                "--stdout",
                "standard output",
                &self.stdout,
                FileIdentity::of_open(std::io::stdout()),
            ),
            (
                "--stderr",
                "standard error",
                &self.stderr,
                FileIdentity::of_open(std::io::stderr()),
            ),
        ]
    }
}

fn file_identity(named: &Option<PathBuf>, own: Option<FileIdentity>) -> Option<FileIdentity> {
    named.as_deref().map_or(own, FileIdentity::of)
}

/// Checks that no output file truncates the input. Both outputs may go to one file.
pub fn are_apart(named: &Named) -> Result<(), Failure> {
    let stdin = named.stdin();
    for (option, _, named, _) in named.outputs() {
        if let Some(path) = named
            && stdin.is_some()
            && stdin == FileIdentity::of(path)
        {
            return Err(Failure::option(format!(
                "{option} {}: this file is also standard input, which would be emptied before it \
                 is read; use different files",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Checks that the report does not replace a file of a standard stream.
pub fn is_apart(report: &ReportFile, named: &Named) -> Result<(), Failure> {
    let taken = |what: &str| {
        let path = report.path().display();
        Err(Failure::option(format!(
            "--report {path}: {what} this file; use different files"
        )))
    };
    let (replaces, writes) = (report.replaces(), report.writes());
    if replaces.is_some() && replaces == named.stdin() {
        return taken("standard input is read from");
    }
    for (option, what, named, own) in named.outputs() {
        // A file that is opened twice has two positions. But a report on standard output shares the
        // position of a standard error that goes to the same file.
        let has_own_position = named.is_some() && !(option == "--stderr" && report.is_stdout());
        let to = file_identity(named, own);
        if to.is_some() && (replaces == to || (has_own_position && writes == to)) {
            return taken(&format!("{what} is written to"));
        }
    }
    Ok(())
}

/// The program's streams. `None` means /dev/null.
pub struct Streams {
    stdin: Option<Arc<OwnedFd>>,
    stdout: Option<Arc<OwnedFd>>,
    stderr: Option<Arc<OwnedFd>>,
    limit: Option<u64>,
    pipes: Vec<Pipe>,
}

/// The read end of a pipe that the program writes to, and the destination of its bytes.
struct Pipe {
    from: OwnedFd,
    to: Arc<OwnedFd>,
    name: &'static str,
}

impl Streams {
    /// Opens the named files; the other streams are millibox's own.
    pub fn open(args: &Args) -> Result<Streams, Failure> {
        let stdin = match &args.stdin {
            Some(path) => Some(opened("--stdin", path, File::open(path))?),
            None => own(std::io::stdin()),
        };
        let stdout = match &args.stdout {
            Some(path) => Some(created("--stdout", path)?),
            None => own(std::io::stdout()),
        };
        let stderr = match &args.stderr {
            // A FIFO may have only one reader, so it is opened once.
            Some(path) if args.stdout.as_ref() == Some(path) => stdout.clone(),
            Some(path) => Some(created("--stderr", path)?),
            None => own(std::io::stderr()),
        };
        // If millibox writes to the same file, both must share one position: otherwise a message
        // would overwrite output of the program.
        let stdout = stdout.map(|stream| at_own_position(stream, args.stdout.is_some()));
        let stderr = stderr.map(|stream| at_own_position(stream, args.stderr.is_some()));
        // Both outputs to one file share one position, so that neither overwrites the other. For
        // two inherited streams the caller has decided.
        let named = args.stdout.is_some() || args.stderr.is_some();
        let stderr = match (&stdout, &stderr) {
            (Some(one), Some(other)) if named && same_file(one, other) => stdout.clone(),
            _ => stderr,
        };
        Ok(Streams {
            stdin,
            stdout,
            stderr,
            limit: args.output_limit,
            pipes: Vec::new(),
        })
    }

    /// Gives the request its descriptors, or, with an output limit, pipes that lead to them.
    pub fn give_to(&mut self, mut request: Request) -> Result<Request, Failure> {
        if let Some(stdin) = &self.stdin {
            request = request.stdin(stdin.clone());
        }
        let (stdout, stderr) = match self.limit {
            None => (self.stdout.clone(), self.stderr.clone()),
            Some(_) => {
                let stdout = self
                    .stdout
                    .clone()
                    .map(|to| self.pipe(to, "standard output"))
                    .transpose()?;
                let stderr = match &self.stderr {
                    // With 2>&1, a single pipe keeps the order of the output.
                    Some(to)
                        if self
                            .stdout
                            .as_ref()
                            .is_some_and(|other| same_file(to, other)) =>
                    {
                        stdout.clone()
                    }
                    Some(to) => Some(self.pipe(to.clone(), "standard error")?),
                    None => None,
                };
                (stdout, stderr)
            }
        };
        if let Some(stdout) = stdout {
            request = request.stdout(stdout);
        }
        if let Some(stderr) = stderr {
            request = request.stderr(stderr);
        }
        Ok(request)
    }

    fn pipe(&mut self, to: Arc<OwnedFd>, name: &'static str) -> Result<Arc<OwnedFd>, Failure> {
        let (from, program_end) = pipe_with(PipeFlags::CLOEXEC).map_err(|errno| {
            Failure::sandbox(format!("cannot create a pipe for {name}: {errno}"))
        })?;
        self.pipes.push(Pipe { from, to, name });
        Ok(Arc::new(program_end))
    }

    /// Starts to move the output.
    pub fn move_all(self, run: &Arc<Handle>) -> Movers {
        let budget = Arc::new(Budget::new(self.limit.unwrap_or(u64::MAX)));
        let (done, waits) = channel();
        for Pipe { from, to, name } in self.pipes {
            let (budget, its_run, its_done) = (budget.clone(), run.clone(), done.clone());
            let work = move || {
                let moved = move_output(&from, &to, &budget, &its_run);
                // The receiver no longer exists only if the command is about to exit.
                let _ = its_done.send(moved.map_err(|error| {
                    // The program must not continue while its output is lost.
                    its_run.kill();
                    Failure::sandbox(format!("cannot write to {name}: {error}"))
                }));
            };
            if let Err(error) = std::thread::Builder::new().spawn(work) {
                // The same applies if no thread reads its output.
                run.kill();
                let _ = done.send(Err(no_thread(&format!("that moves {name}"), &error)));
            }
        }
        Movers { waits }
    }
}

/// The threads that move output.
pub struct Movers {
    waits: Receiver<Result<Moved, Failure>>,
}

impl Movers {
    /// Waits until all output is moved, and returns whether it exceeded the limit. After a signal,
    /// a reader that does not read makes this an error.
    pub fn wait(self, signals: &Signals) -> Result<Moved, Failure> {
        let mut all = Moved::All;
        let mut failed = None;
        let mut deadline = None;
        loop {
            match self.waits.recv_timeout(Duration::from_millis(50)) {
                Ok(Ok(Moved::LimitReached)) => all = Moved::LimitReached,
                Ok(Ok(_)) => {}
                Ok(Err(why)) => failed = failed.or(Some(why)),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    if signals.caught().is_some()
                        && Instant::now() > *deadline.get_or_insert(Instant::now() + DRAIN_TIMEOUT)
                    {
                        failed = failed.or_else(|| {
                            let why = "the reader of the program's output does not read";
                            Some(Failure::sandbox(why))
                        });
                        break;
                    }
                }
            }
        }
        match failed {
            None => Ok(all),
            Some(failure) => Err(Failure {
                step: "output",
                ..failure
            }),
        }
    }
}

/// A copy of a stream of millibox; `None` if the stream is closed.
fn own(stream: impl AsFd) -> Option<Arc<OwnedFd>> {
    fcntl_dupfd_cloexec(stream, 3).ok().map(Arc::new)
}

/// Returns millibox's own standard error in place of a named file, if both are the same file.
fn at_own_position(stream: Arc<OwnedFd>, named: bool) -> Arc<OwnedFd> {
    match own(std::io::stderr()) {
        Some(own)
            if named && is_file(&stream) && same_file(&stream, &own) && can_be_written(&own) =>
        {
            // Opening the file by its name has emptied it.
            let _ = rustix::fs::seek(&own, SeekFrom::Start(0));
            own
        }
        _ => stream,
    }
}

fn can_be_written(stream: &OwnedFd) -> bool {
    rustix::fs::fcntl_getfl(stream).is_ok_and(|flags| flags & OFlags::RWMODE != OFlags::RDONLY)
}

fn is_file(stream: &OwnedFd) -> bool {
    rustix::fs::fstat(stream).is_ok_and(|status| FileType::from_raw_mode(status.st_mode).is_file())
}

fn created(option: &str, path: &Path) -> Result<Arc<OwnedFd>, Failure> {
    opened(
        option,
        path,
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(path),
    )
}

fn opened(option: &str, path: &Path, file: std::io::Result<File>) -> Result<Arc<OwnedFd>, Failure> {
    file.map(|file| Arc::new(OwnedFd::from(file)))
        .map_err(|error| Failure::option(format!("{option} {}: {error}", path.display())))
}

fn same_file(one: &OwnedFd, other: &OwnedFd) -> bool {
    match (rustix::fs::fstat(one), rustix::fs::fstat(other)) {
        (Ok(one), Ok(other)) => (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino),
        _ => false,
    }
}
