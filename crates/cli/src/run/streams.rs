//! Standard streams, and the limit on what comes out of them.

use super::options::Args;
use crate::failure::{Failure, no_thread};
use crate::report_file::{ReportFile, Spot};
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

/// How long output that nobody reads is waited for after a signal.
const PATIENCE: Duration = Duration::from_millis(200);

/// Files that options name for standard streams, and for the report.
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

    fn stdin(&self) -> Option<Spot> {
        spot(&self.stdin, Spot::of_open(std::io::stdin()))
    }

    /// Each output's option, name, named file, and what our own one is.
    fn outputs(&self) -> [(&'static str, &'static str, &Option<PathBuf>, Option<Spot>); 2] {
        [
            (
                "--stdout",
                "standard output",
                &self.stdout,
                Spot::of_open(std::io::stdout()),
            ),
            (
                "--stderr",
                "standard error",
                &self.stderr,
                Spot::of_open(std::io::stderr()),
            ),
        ]
    }
}

fn spot(named: &Option<PathBuf>, own: Option<Spot>) -> Option<Spot> {
    named.as_deref().map_or(own, Spot::of)
}

/// Makes sure that input is not emptied before it is read. Both outputs may go to one file.
pub fn are_apart(named: &Named) -> Result<(), Failure> {
    let stdin = named.stdin();
    for (option, _, named, _) in named.outputs() {
        if let Some(path) = named
            && stdin.is_some()
            && stdin == Spot::of(path)
        {
            return Err(Failure::option(format!(
                "{option} {}: standard input comes from there, and would be emptied before it is \
                 read; give each a file of its own",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Makes sure that a report takes the place of no regular file that is read or written otherwise.
pub fn is_apart(report: &ReportFile, named: &Named) -> Result<(), Failure> {
    let taken = |what: &str| {
        let path = report.path().display();
        Err(Failure::option(format!(
            "--report {path}: {what} already; give each a place of its own"
        )))
    };
    let (replaces, writes) = (report.replaces(), report.writes());
    if replaces.is_some() && replaces == named.stdin() {
        return taken("standard input comes from there");
    }
    for (option, what, named, own) in named.outputs() {
        // What is opened once more has a position of its own. But to our own output standard error
        // gets with it.
        let anew = named.is_some() && !(option == "--stderr" && report.is_stdout());
        let to = spot(named, own);
        if to.is_some() && (replaces == to || (anew && writes == to)) {
            return taken(&format!("{what} goes there"));
        }
    }
    Ok(())
}

/// Where the program's streams come from and go to. `None`: /dev/null.
pub struct Streams {
    stdin: Option<Arc<OwnedFd>>,
    stdout: Option<Arc<OwnedFd>>,
    stderr: Option<Arc<OwnedFd>>,
    limit: Option<u64>,
    pipes: Vec<Pipe>,
}

/// What the program writes to, seen from our end, and where it goes.
struct Pipe {
    from: OwnedFd,
    to: Arc<OwnedFd>,
    name: &'static str,
}

impl Streams {
    /// Opens the files that are named; the others are our own.
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
            // Of a FIFO's reader there may be no second one.
            Some(path) if args.stdout.as_ref() == Some(path) => stdout.clone(),
            Some(path) => Some(created("--stderr", path)?),
            None => own(std::io::stderr()),
        };
        // And if we write to it as well, it is to be our position: a line of ours would go over
        // what the program wrote.
        let stdout = stdout.map(|stream| at_our_position(stream, args.stdout.is_some()));
        let stderr = stderr.map(|stream| at_our_position(stream, args.stderr.is_some()));
        // One file, one position: neither writes over the other. If both are our own, who started
        // us has seen to that.
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

    /// Gives the request its descriptors: these, or with a limit pipes that lead to them.
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
                    // Both to one place (2>&1): one pipe keeps the order of what is written.
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
        let (from, into) = pipe_with(PipeFlags::CLOEXEC)
            .map_err(|errno| Failure::sandbox(format!("cannot make a pipe for {name}: {errno}")))?;
        self.pipes.push(Pipe { from, to, name });
        Ok(Arc::new(into))
    }

    /// Starts to move what comes out.
    pub fn move_all(self, run: &Arc<Handle>) -> Movers {
        let budget = Arc::new(Budget::new(self.limit.unwrap_or(u64::MAX)));
        let (done, waits) = channel();
        for Pipe { from, to, name } in self.pipes {
            let (budget, its_run, its_done) = (budget.clone(), run.clone(), done.clone());
            let work = move || {
                let moved = move_output(&from, &to, &budget, &its_run);
                // Nobody listens any more only if we are about to exit.
                let _ = its_done.send(moved.map_err(|error| {
                    // The program cannot be left to run on with its output lost.
                    its_run.kill();
                    format!("cannot write to {name}: {error}")
                }));
            };
            if let Err(error) = std::thread::Builder::new().spawn(work) {
                // Nor with nobody who reads it.
                run.kill();
                let _ = done.send(Err(no_thread(&format!("that moves {name}"), &error).message));
            }
        }
        Movers { waits }
    }
}

/// Threads that move output.
pub struct Movers {
    waits: Receiver<Result<Moved, String>>,
}

impl Movers {
    /// Waits until all is moved. Says whether there was more than the limit. After a signal, a
    /// reader that does not read is not waited for any longer: then not all has arrived.
    pub fn wait(self, signals: &Signals) -> Result<Moved, Failure> {
        let mut all = Moved::All;
        let mut failed = None;
        let mut deadline = None;
        loop {
            match self.waits.recv_timeout(Duration::from_millis(50)) {
                Ok(Ok(Moved::All)) => {}
                Ok(Ok(Moved::LimitReached)) => all = Moved::LimitReached,
                Ok(Err(why)) => failed = failed.or(Some(why)),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    if signals.caught().is_some()
                        && Instant::now() > *deadline.get_or_insert(Instant::now() + PATIENCE)
                    {
                        failed = failed.or_else(|| {
                            Some("nobody reads what the program has written".to_owned())
                        });
                        break;
                    }
                }
            }
        }
        match failed {
            None => Ok(all),
            Some(why) => Err(Failure {
                step: "output",
                ..Failure::sandbox(why)
            }),
        }
    }
}

/// A copy of one of our own streams; `None` if it is closed.
fn own(stream: impl AsFd) -> Option<Arc<OwnedFd>> {
    fcntl_dupfd_cloexec(stream, 3).ok().map(Arc::new)
}

/// Instead of an emptied file that was opened by its name, our own standard error, if that leads to
/// the same.
fn at_our_position(stream: Arc<OwnedFd>, named: bool) -> Arc<OwnedFd> {
    match own(std::io::stderr()) {
        Some(ours)
            if named && is_file(&stream) && same_file(&stream, &ours) && can_be_written(&ours) =>
        {
            // What stood before is gone.
            let _ = rustix::fs::seek(&ours, SeekFrom::Start(0));
            ours
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
