//! Interactive problems: the solution talks to an interactor, both in the sandbox.
//!
//! ```text
//!             ┌─────────────── pipe ──────────────→┐
//!  interactor │                                    │ solution
//!             └←────────────── pipe ───────────────┘
//! ```
//!
//! Who ends first decides: an interactor that has said "wrong answer" has said so whatever its
//! leaving does to the solution, and a solution that crashes has crashed whatever the interactor
//! then says of the silence. Programs learn of each other's end by their pipes alone, so the judge
//! decides *when* they learn it: it keeps a descriptor of every end of every pipe, and lets go of
//! a program's ends only when the moment of its end is known. What one does because of the
//! other's end is later, for certain. `docs/interactive.md` has the rules and their reasons.
//!
//! | file | what |
//! | --- | --- |
//! | `link` | one direction of the conversation: a pipe of which we keep both ends, or a relay |
//! | `play` | watches both programs until both have ended |
//! | `decide` | the verdict |

mod decide;
mod link;
mod play;

use crate::convention::{Answer, interpret};
use crate::feedback::{Feedback, FeedbackPlace};
use crate::program::{Executable, Limits};
use crate::staging::Staged;
use crate::verdict::{COMMENT_LIMIT, TestResult};
use link::Link;
use millibox::{Request, Supervisor, World};
use millibox_package::model::{Convention, Test};
use rustix::fs::MemfdFlags;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

pub use decide::AT_ONCE;

/// How the two programs are joined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// By two pipes, with nobody between them: a message costs what it costs without a judge.
    /// A program that closes its standard output and lives on is not noticed: the other sees
    /// the end of its input when that program ends.
    #[default]
    Direct,
    /// By four pipes, with the judge moving what comes: two more switches for each message. A
    /// program that closes its standard output and lives on is noticed, and the solution's output
    /// is counted, to the byte.
    Relay,
}

/// Where the interactor sees the tests' data, and where it may write.
const DATA: &str = "/judge/data";
const PLACE: &str = "/judge/place";

/// An interactor that is ready to run on the tests of one problem, one after another.
#[derive(Debug)]
pub struct Interactor {
    executable: Executable,
    convention: Convention,
    limits: Limits,
    flags: Vec<OsString>,
    data: Arc<Staged>,
    place: FeedbackPlace,
    world: World,
}

impl Interactor {
    /// Makes an interactor ready.
    ///
    /// `limits` are those of the interactor's own work: what the solution's time (real time)
    /// leaves it besides is added to its CPU time and real time, so that no solution can drive it
    /// over them. `data` holds the tests' files; `flags` are for tests without flags of their own.
    ///
    /// # Errors
    /// No place for the files that it writes can be made.
    pub fn new(
        supervisor: &Supervisor,
        executable: Executable,
        convention: Convention,
        flags: &[String],
        limits: Limits,
        data: Arc<Staged>,
    ) -> io::Result<Interactor> {
        let place = FeedbackPlace::new(supervisor.ids())?;
        let world = executable.world.clone().read_only(data.path(), DATA).read_write(place.path(), PLACE);
        let flags = flags.iter().map(OsString::from).collect();
        Ok(Interactor { executable, convention, limits, flags, data, place, world })
    }

    /// Its run beside a solution with these limits.
    fn request(&self, test: &Test, solution: &Limits) -> Result<Request, String> {
        // Until the solution has ended, whatever happens is the solution's doing or its limit's.
        let limits = Limits {
            cpu_time: self.limits.cpu_time + solution.real_time,
            real_time: self.limits.real_time + solution.real_time + AT_ONCE,
            ..self.limits
        };
        let arguments = self.arguments(test)?;
        Ok(self.executable.request_in(&self.world, &limits, &arguments).output_limit(self.limits.output))
    }

    fn arguments(&self, test: &Test) -> Result<Vec<OsString>, String> {
        let seen = |file: &Path| match self.data.relative(file) {
            Some(relative) => Ok(Path::new(DATA).join(relative).into_os_string()),
            None => Err(format!("{} is not among the files of the tests", file.display())),
        };
        let input = seen(&test.input)?;
        let answer = test.answer.as_deref().map(seen).transpose()?;
        let feedback = format!("{PLACE}/{}", Feedback::NAME);
        let mut arguments = match self.convention {
            Convention::Icpc => {
                let answer = answer.ok_or_else(|| format!("test {} has no answer file", test.name))?;
                // Validators append a file's name to it as it is.
                vec![input, answer, format!("{feedback}/").into()]
            }
            Convention::Sim => return Ok(vec![input]),
            Convention::Testlib => {
                [Some(input), Some(format!("{feedback}/output").into()), answer].into_iter().flatten().collect()
            }
        };
        match &test.checker_flags {
            Some(flags) => arguments.extend(flags.iter().map(OsString::from)),
            None => arguments.extend(self.flags.iter().cloned()),
        }
        Ok(arguments)
    }
}

/// Judges a solution on one test.
///
/// Both programs run in one slot of the supervisor ([`Supervisor::run_pair`]), so any number of
/// tests may be judged at once, each with an [`Interactor`] of its own.
///
/// `limits` are the solution's. Its real time is not its own alone: it passes while the
/// interactor thinks. [`Limits::output`] is the most that it may write to any one file, and with
/// [`Mode::Relay`] to its standard output; with [`Mode::Direct`] nobody counts that: what the
/// interactor does not read stays in the pipe, and a solution that goes on writes no more.
pub fn judge(
    supervisor: &Supervisor,
    solution: &Executable,
    interactor: &mut Interactor,
    test: &Test,
    limits: &Limits,
    mode: Mode,
) -> TestResult {
    try_judge(supervisor, solution, interactor, test, limits, mode).unwrap_or_else(TestResult::judge_error)
}

fn try_judge(
    supervisor: &Supervisor,
    solution: &Executable,
    interactor: &mut Interactor,
    test: &Test,
    limits: &Limits,
    mode: Mode,
) -> Result<TestResult, String> {
    let feedback = interactor.place.fresh().map_err(|error| error.to_string())?;
    let report = rustix::fs::memfd_create("interactor", MemfdFlags::CLOEXEC)
        .map_err(|errno| format!("cannot make a memfd for the interactor's standard error: {errno}"))?;
    let report = Arc::new(report);

    let from_interactor = Link::make(mode, None)?;
    let from_solution = Link::make(mode, Some(limits.output))?;
    let arguments: Vec<OsString> = test.arguments.iter().map(OsString::from).collect();
    let requests = [
        interactor
            .request(test, limits)?
            .stdin(from_solution.reader)
            .stdout(from_interactor.writer)
            .stderr(report.clone()),
        solution
            .request(limits, &arguments)
            .stdin(from_interactor.reader)
            .stdout(from_solution.writer)
            .output_limit(limits.output),
    ];
    let handles = supervisor.run_pair([&requests[0], &requests[1]]).map_err(|error| error.to_string())?;
    // What we keep of the pipes is the links' to keep.
    drop(requests);

    let convention = interactor.convention;
    let ended = play::play(&handles, from_interactor.link, from_solution.link, |run| {
        // Its standard output was the solution's to read.
        interpret(convention, run, b"", &written(&report), &feedback)
    })?;
    Ok(decide::decide(ended))
}

/// The beginning of what the interactor wrote to its standard error.
fn written(report: &OwnedFd) -> Vec<u8> {
    let mut bytes = vec![0; COMMENT_LIMIT * 2];
    let length = rustix::io::pread(report, &mut bytes[..], 0).unwrap_or(0);
    bytes.truncate(length);
    bytes
}

/// Both programs have ended.
struct Ended {
    solution: millibox::RunResult,
    interactor: millibox::RunResult,
    answer: Answer,
}
