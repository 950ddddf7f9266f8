//! A conversation of the programs `ask` and `answer`, bare, observed or sandboxed.

use crate::programs::{
    PROGRAM_ARGUMENT, executable, sys, talk,
    under::{Observer, Usage},
};
use crate::{Error, bare};
use millibox::{Handle, Outcome, Request, RunResult, Supervisor, World};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

/// The CPUs that the lab may use.
pub fn cpus() -> Result<Vec<usize>, Error> {
    let all = sched_getaffinity(None).map_err(Error::system("get the CPU affinity"))?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|&cpu| all.is_set(cpu))
        .collect())
}

/// Starts a command on these CPUs.
pub fn spawn_on(cpus: &[usize], command: &mut Command) -> Result<Child, Error> {
    let failed = |errno: rustix::io::Errno| Error::system("choose CPUs")(errno);
    let before = sched_getaffinity(None).map_err(failed)?;
    let mut few = CpuSet::new();
    cpus.iter().for_each(|&cpu| few.set(cpu));
    // The child inherits the affinity.
    sched_setaffinity(None, &few).map_err(failed)?;
    let child = command.spawn();
    sched_setaffinity(None, &before).map_err(failed)?;
    let name = command.get_program().to_string_lossy().into_owned();
    child.map_err(Error::system(format!("run {name}")))
}

/// The CPUs of the two programs.
#[derive(Debug, Clone)]
pub struct Placement {
    /// The name in a table's id.
    pub id: &'static str,
    /// The description for readers.
    pub what: &'static str,
    /// The CPUs of the interactor.
    pub ask: Vec<usize>,
    /// The CPUs of the solution and of its observer.
    pub answer: Vec<usize>,
}

/// The possible placements on this machine.
pub fn placements() -> Result<Vec<Placement>, Error> {
    let all = cpus()?;
    let mut ways = vec![Placement {
        id: "anywhere",
        what: "no affinity",
        ask: all.clone(),
        answer: all.clone(),
    }];
    if let [first, .., last] = all[..] {
        ways.push(Placement {
            id: "separate",
            what: "separate CPUs",
            ask: vec![first],
            answer: vec![last],
        });
    }
    let first = all[..1].to_vec();
    ways.push(Placement {
        id: "same",
        what: "the same CPU",
        ask: first.clone(),
        answer: first,
    });
    Ok(ways)
}

/// The times of one conversation, per query.
#[derive(Debug, Clone, Copy)]
pub struct QueryTimes {
    /// The real time from the first answer to the last, in nanoseconds.
    pub query_ns: f64,
    /// The CPU time of the solution, in nanoseconds.
    pub cpu_ns: f64,
    /// The CPU time of the solution and of its observer, in nanoseconds.
    pub all_cpu_ns: f64,
}

/// Starts conversations.
#[derive(Debug)]
pub struct Conversation<'a> {
    program: PathBuf,
    descriptor: Arc<OwnedFd>,
    supervisor: &'a Supervisor,
    queries: u64,
}

impl<'a> Conversation<'a> {
    /// Prepares conversations of this number of queries.
    pub fn new(supervisor: &'a Supervisor, queries: u64) -> Result<Conversation<'a>, Error> {
        let program = executable().map_err(Error::system("find the lab's programs"))?;
        let descriptor =
            File::open(&program).map_err(Error::system(format!("open {}", program.display())))?;
        Ok(Conversation {
            program,
            descriptor: Arc::new(descriptor.into()),
            supervisor,
            queries,
        })
    }

    fn command(&self, before: &[&str], last: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(PROGRAM_ARGUMENT).args(before);
        if !before.is_empty() {
            command.arg(&self.program).arg(PROGRAM_ARGUMENT);
        }
        command.args(last).env_clear();
        command
    }

    /// Creates a request to run one of the lab's programs.
    pub fn request(
        &self,
        arguments: &[&str],
        cpus: &[usize],
        world: &World,
    ) -> Result<Request, Error> {
        Ok(Request::from_descriptor(self.descriptor.clone())
            .args(["millibox-lab", PROGRAM_ARGUMENT])
            .args(arguments.iter().copied())
            .world(world)
            .cpus(cpus.iter().copied()))
    }

    /// Runs a solution under an observer with a bare interactor. If `session` is true, the solution
    /// has its own session.
    pub fn under(
        &self,
        observer: Observer,
        session: bool,
        places: &Placement,
    ) -> Result<QueryTimes, Error> {
        let queries = self.queries.to_string();
        let program = self.program.to_string_lossy();
        let apart = ["place", "session", "--", &program, PROGRAM_ARGUMENT];
        let before = if session { &apart[..] } else { &[] };
        let mut solution = self.command(
            &[before, &["under", observer.name()]].concat(),
            &["answer", &queries],
        );
        let solution = solution
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut solution = spawn_on(&places.answer, solution)?;
        let (to, from) = (solution.stdin.take(), solution.stdout.take());
        let (Some(to), Some(from)) = (to, from) else {
            return Err(Error::other("no pipes"));
        };
        let [query_ns, _] = self.ask(from.into(), to.into(), places)?;
        let (used, all) = used(solution, observer)?;
        let queries = self.queries as f64;
        Ok(QueryTimes {
            query_ns,
            cpu_ns: cpu(&used) / queries,
            all_cpu_ns: all / queries,
        })
    }

    /// Runs a solution in the sandbox with a bare interactor.
    pub fn solution_sandboxed(
        &self,
        limit: impl Fn(Request) -> Request,
        places: &Placement,
    ) -> Result<QueryTimes, Error> {
        let (to_read, to) = pipe()?;
        let (from, from_write) = pipe()?;
        let queries = self.queries.to_string();
        let request = self.request(&["answer", &queries], &places.answer, &World::minimal())?;
        let handle = self
            .supervisor
            .run(&limit(request.stdin(to_read).stdout(from_write)))?;
        let [query_ns, _] = self.ask(from.into(), to.into(), places)?;
        let result = handle.wait()?;
        expect(&result, 0)?;
        let cpu_ns = (result.figures.cpu_user_ns + result.figures.cpu_system_ns) as f64
            / self.queries as f64;
        Ok(QueryTimes {
            query_ns,
            cpu_ns,
            all_cpu_ns: cpu_ns,
        })
    }

    /// Runs the bare interactor and returns the times of `asked`.
    fn ask(&self, from: Stdio, to: Stdio, places: &Placement) -> Result<[f64; 2], Error> {
        let mut command = self.command(&[], &["ask", &self.queries.to_string()]);
        let mut asks = spawn_on(
            &places.ask,
            command.stdin(from).stdout(to).stderr(Stdio::piped()),
        )?;
        // This closes the lab's ends of the pipes.
        drop(command);
        let printed = read_end(asks.stderr.take())?;
        let status = asks
            .wait()
            .map_err(Error::system("wait for the program that asks"))?;
        self.asked(&printed, status.code())
    }

    /// Parses the interactor's report, which consists of the real time and the interactor's CPU
    /// time per query.
    fn asked(&self, printed: &str, code: Option<i32>) -> Result<[f64; 2], Error> {
        let numbers: Vec<f64> = printed
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        let queries = self.queries.saturating_sub(1).max(1) as f64;
        match (code, &numbers[..]) {
            (Some(42), [real, cpu]) => Ok([real / queries, cpu / queries]),
            _ => Err(Error::other(format!(
                "the program that asks exited with {code:?}: {}",
                printed.trim()
            ))),
        }
    }

    /// Runs both programs bare, each in the given places (see the program `place`). Returns the
    /// real time and the interactor's CPU time, in nanoseconds per query.
    pub fn bare_pair(
        &self,
        ask: &[&str],
        answer: &[&str],
        places: &Placement,
    ) -> Result<[f64; 2], Error> {
        let queries = self.queries.to_string();
        let of = |place: &[&str], what: &[&str]| match place {
            [] => self.command(&[], what),
            place => {
                let before: Vec<&str> = std::iter::once("place")
                    .chain(place.iter().copied())
                    .chain(["--"])
                    .collect();
                self.command(&before, what)
            }
        };
        let mut solution = of(answer, &["answer", &queries]);
        let mut solution = spawn_on(
            &places.answer,
            solution.stdin(Stdio::piped()).stdout(Stdio::piped()),
        )?;
        let (to, from) = (solution.stdin.take(), solution.stdout.take());
        let (Some(to), Some(from)) = (to, from) else {
            return Err(Error::other("no pipes"));
        };
        let mut command = of(ask, &["ask", &queries]);
        let mut asks = spawn_on(
            &places.ask,
            command.stdin(from).stdout(to).stderr(Stdio::piped()),
        )?;
        drop(command);
        let printed = read_end(asks.stderr.take())?;
        let status = asks
            .wait()
            .map_err(Error::system("wait for the program that asks"))?;
        solution
            .wait()
            .map_err(Error::system("wait for the solution"))?;
        self.asked(&printed, status.code())
    }

    /// Like [`Conversation::bare_pair`], but with both programs in the sandbox.
    pub fn sandboxed_pair(
        &self,
        limit: impl Fn(Request) -> Request,
        places: &Placement,
        world: &World,
    ) -> Result<[f64; 2], Error> {
        let (to_read, to) = pipe()?;
        let (from, from_write) = pipe()?;
        let (printed, said_write) = pipe()?;
        let queries = self.queries.to_string();
        let ask = self.request(&["ask", &queries], &places.ask, world)?;
        let ask = limit(ask.stdin(from).stdout(to).stderr(said_write));
        let answer = self.request(&["answer", &queries], &places.answer, world)?;
        let answer = limit(answer.stdin(to_read).stdout(from_write));
        let handles: [Handle; 2] = self.supervisor.run_pair([&ask, &answer])?;
        drop((ask, answer));
        let printed = read_end(Some(printed))?;
        let [ask, answer] = [handles[0].wait()?, handles[1].wait()?];
        expect(&answer, 0)?;
        expect(&ask, 42)?;
        self.asked(&printed, Some(42))
    }

    /// Runs the batch solution under an observer. Returns the real time, the CPU time, and the CPU
    /// time including the observer's.
    pub fn batch_under(
        &self,
        observer: Observer,
        files: &BatchFiles,
        cpus: &[usize],
    ) -> Result<[f64; 3], Error> {
        let mut command = self.command(&["under", observer.name()], &["batch"]);
        let output = files.output()?;
        let command = command
            .stdin(files.input()?)
            .stdout(files.writer(&output)?)
            .stderr(Stdio::piped());
        let begin = Instant::now();
        let child = spawn_on(cpus, command)?;
        let (used, all) = used(child, observer)?;
        let real = begin.elapsed().as_nanos() as f64;
        files.check(output, self.queries)?;
        Ok([real, cpu(&used), all])
    }

    /// Runs the batch solution in the sandbox, timed from the call to the result.
    pub fn batch_sandboxed(
        &self,
        limit: impl Fn(Request) -> Request,
        files: &BatchFiles,
        cpus: &[usize],
    ) -> Result<[f64; 3], Error> {
        let output = files.output()?;
        let request = self.request(&["batch"], cpus, &World::minimal())?;
        let request = limit(
            request
                .stdin(OwnedFd::from(files.input()?))
                .stdout(OwnedFd::from(files.writer(&output)?)),
        );
        let begin = Instant::now();
        let figures = bare::sandboxed(self.supervisor, &request)?.figures;
        let real = begin.elapsed().as_nanos() as f64;
        files.check(output, self.queries)?;
        let cpu = (figures.cpu_user_ns + figures.cpu_system_ns) as f64;
        Ok([real, cpu, cpu])
    }
}

/// The input and output of the batch solution.
#[derive(Debug)]
pub struct BatchFiles {
    input: PathBuf,
    directory: PathBuf,
}

impl BatchFiles {
    /// Writes all queries into a file in `directory`.
    pub fn new(directory: &Path, queries: u64) -> Result<BatchFiles, Error> {
        let input = directory.join("queries");
        std::fs::write(&input, talk::queries(queries))
            .map_err(Error::system("write the queries"))?;
        Ok(BatchFiles {
            input,
            directory: directory.to_owned(),
        })
    }

    fn input(&self) -> Result<File, Error> {
        File::open(&self.input).map_err(Error::system("open the queries"))
    }

    fn output(&self) -> Result<File, Error> {
        tempfile::tempfile_in(&self.directory)
            .map_err(Error::system("create a file for the answers"))
    }

    fn writer(&self, output: &File) -> Result<File, Error> {
        output
            .try_clone()
            .map_err(Error::system("open the answers"))
    }

    fn check(&self, mut output: File, queries: u64) -> Result<(), Error> {
        let mut text = String::new();
        let read = output
            .rewind()
            .and_then(|()| output.read_to_string(&mut text));
        read.map_err(Error::system("read the answers"))?;
        if talk::is_correct(&text, queries) {
            Ok(())
        } else {
            Err(Error::other("the batch's answers are wrong"))
        }
    }
}

/// Returns the CPU time of an observed program, and the total with its observer in nanoseconds.
fn used(mut child: Child, observer: Observer) -> Result<(Usage, f64), Error> {
    let printed = read_end(child.stderr.take())?;
    let all = sys::wait(child.id() as i32).map_err(Error::system("wait for a program"))?;
    let line = printed.lines().last().unwrap_or("");
    let used: Usage = serde_json::from_str(line).map_err(|error| {
        Error::other(format!("{}: {error}: {}", observer.name(), printed.trim()))
    })?;
    if used.code != 0 {
        return Err(Error::other(format!(
            "{}: the program exited with {}: {}",
            observer.name(),
            used.code,
            printed.trim()
        )));
    }
    let all = match observer {
        Observer::Ptrace | Observer::Notify | Observer::NotifySync => {
            (all.user_us + all.system_us) as f64 * 1000.0
        }
        // Nothing watches the program: the observer has started it and sleeps.
        _ => cpu(&used),
    };
    Ok((used, all))
}

fn cpu(used: &Usage) -> f64 {
    (used.user_us + used.system_us) as f64 * 1000.0
}

/// Reads a file to its end.
pub fn read_end(from: Option<impl Into<OwnedFd>>) -> Result<String, Error> {
    let mut text = String::new();
    if let Some(from) = from {
        File::from(from.into())
            .read_to_string(&mut text)
            .map_err(Error::system("read a program's output"))?;
    }
    Ok(text)
}

/// Creates a pipe. Returns its read end and its write end.
pub fn pipe() -> Result<(OwnedFd, OwnedFd), Error> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(Error::system("create a pipe"))
}

fn expect(result: &RunResult, code: i32) -> Result<(), Error> {
    match &result.outcome {
        Outcome::Exited(exited) if *exited == code => Ok(()),
        _ => Err(Error::other(format!("in the sandbox: {result}"))),
    }
}
