//! Two programs that talk: `ask` and `answer`, with something around them or nothing.

use crate::programs::{
    MARK, executable, sys, talk,
    under::{Around, Used},
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

/// The CPUs that we may use.
pub fn cpus() -> Result<Vec<usize>, Error> {
    let all = sched_getaffinity(None).map_err(Error::system("ask for the CPUs that we may use"))?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| all.is_set(cpu)).collect())
}

/// Starts a command on these CPUs.
pub fn spawn_on(cpus: &[usize], command: &mut Command) -> Result<Child, Error> {
    let failed = |errno: rustix::io::Errno| Error::system("choose CPUs")(errno);
    let before = sched_getaffinity(None).map_err(failed)?;
    let mut few = CpuSet::new();
    cpus.iter().for_each(|&cpu| few.set(cpu));
    // It inherits them.
    sched_setaffinity(None, &few).map_err(failed)?;
    let child = command.spawn();
    sched_setaffinity(None, &before).map_err(failed)?;
    let name = command.get_program().to_string_lossy().into_owned();
    child.map_err(Error::system(format!("run {name}")))
}

/// Where the two run. With more than two CPUs, "anywhere" is any of them.
#[derive(Debug, Clone)]
pub struct Places {
    /// In a table's name.
    pub id: &'static str,
    /// For a person.
    pub what: &'static str,
    /// CPUs of who asks.
    pub ask: Vec<usize>,
    /// CPUs of the solution and of what watches it.
    pub answer: Vec<usize>,
}

/// The ways that there are here to place two programs.
pub fn places() -> Result<Vec<Places>, Error> {
    let all = cpus()?;
    let mut ways = vec![Places { id: "anywhere", what: "no affinity", ask: all.clone(), answer: all.clone() }];
    if let [first, .., last] = all[..] {
        ways.push(Places { id: "separate", what: "separate CPUs", ask: vec![first], answer: vec![last] });
    }
    let first = all[..1].to_vec();
    ways.push(Places { id: "same", what: "the same CPU", ask: first.clone(), answer: first });
    Ok(ways)
}

/// What came of one conversation.
#[derive(Debug, Clone, Copy)]
pub struct Talked {
    /// From the first answer to the last, for each query, in nanoseconds.
    pub query_ns: f64,
    /// CPU time of the solution, for each query, in nanoseconds.
    pub cpu_ns: f64,
    /// The same of the solution and of what watches it.
    pub all_cpu_ns: f64,
}

/// How conversations are made.
#[derive(Debug)]
pub struct Table<'a> {
    program: PathBuf,
    descriptor: Arc<OwnedFd>,
    supervisor: &'a Supervisor,
    queries: u64,
}

impl<'a> Table<'a> {
    /// With so many queries each.
    pub fn new(supervisor: &'a Supervisor, queries: u64) -> Result<Table<'a>, Error> {
        let program = executable().map_err(Error::system("find the lab's programs"))?;
        let descriptor = File::open(&program).map_err(Error::system(format!("open {}", program.display())))?;
        Ok(Table { program, descriptor: Arc::new(descriptor.into()), supervisor, queries })
    }

    fn command(&self, before: &[&str], last: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(MARK).args(before);
        if !before.is_empty() {
            command.arg(&self.program).arg(MARK);
        }
        command.args(last).env_clear();
        command
    }

    /// One of the programs in the sandbox.
    pub fn request(&self, arguments: &[&str], cpus: &[usize], world: &World) -> Result<Request, Error> {
        Ok(Request::from_descriptor(self.descriptor.clone())
            .args(["millibox", MARK])
            .args(arguments.iter().copied())
            .world(world)
            .cpus(cpus.iter().copied()))
    }

    /// A solution with `around` around it, in a session of its own if so wanted, asked by a bare program.
    pub fn under(&self, around: Around, session: bool, places: &Places) -> Result<Talked, Error> {
        let queries = self.queries.to_string();
        let program = self.program.to_string_lossy();
        let apart = ["place", "session", "--", &program, MARK];
        let before = if session { &apart[..] } else { &[] };
        let mut solution = self.command(&[before, &["under", around.name()]].concat(), &["answer", &queries]);
        let solution = solution.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut solution = spawn_on(&places.answer, solution)?;
        let (to, from) = (solution.stdin.take(), solution.stdout.take());
        let (Some(to), Some(from)) = (to, from) else { return Err(Error::says("no pipes")) };
        let [query_ns, _] = self.ask(from.into(), to.into(), places)?;
        let (used, all) = used(solution, around)?;
        let queries = self.queries as f64;
        Ok(Talked { query_ns, cpu_ns: cpu(&used) / queries, all_cpu_ns: all / queries })
    }

    /// A solution in the sandbox, asked by a bare program.
    pub fn solution_sandboxed(&self, limit: impl Fn(Request) -> Request, places: &Places) -> Result<Talked, Error> {
        let (to_read, to) = pipe()?;
        let (from, from_write) = pipe()?;
        let queries = self.queries.to_string();
        let request = self.request(&["answer", &queries], &places.answer, &World::minimal())?;
        let handle = self.supervisor.run(&limit(request.stdin(to_read).stdout(from_write)))?;
        let [query_ns, _] = self.ask(from.into(), to.into(), places)?;
        let result = handle.wait()?;
        expect(&result, 0)?;
        let cpu_ns = (result.figures.cpu_user_ns + result.figures.cpu_system_ns) as f64 / self.queries as f64;
        Ok(Talked { query_ns, cpu_ns, all_cpu_ns: cpu_ns })
    }

    /// Runs the bare `ask`; see `asked`.
    fn ask(&self, from: Stdio, to: Stdio, places: &Places) -> Result<[f64; 2], Error> {
        let mut command = self.command(&[], &["ask", &self.queries.to_string()]);
        let mut asks = spawn_on(&places.ask, command.stdin(from).stdout(to).stderr(Stdio::piped()))?;
        // Our ends of the pipes go with the command.
        drop(command);
        let said = read_end(asks.stderr.take())?;
        let status = asks.wait().map_err(Error::system("wait for the program that asks"))?;
        self.asked(&said, status.code())
    }

    /// What `ask` said, for each query: real time, and its own CPU time.
    fn asked(&self, said: &str, code: Option<i32>) -> Result<[f64; 2], Error> {
        let numbers: Vec<f64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let queries = self.queries.saturating_sub(1).max(1) as f64;
        match (code, &numbers[..]) {
            (Some(42), [real, cpu]) => Ok([real / queries, cpu / queries]),
            _ => Err(Error::says(format!("the program that asks exited with {code:?}: {}", said.trim()))),
        }
    }

    /// Both bare, each in the places that are named (see the program `place`). Nanoseconds for a query, of real time
    /// and of CPU time of the one who asks.
    pub fn bare_pair(&self, ask: &[&str], answer: &[&str], places: &Places) -> Result<[f64; 2], Error> {
        let queries = self.queries.to_string();
        let of = |place: &[&str], what: &[&str]| match place {
            [] => self.command(&[], what),
            place => {
                let before: Vec<&str> = std::iter::once("place").chain(place.iter().copied()).chain(["--"]).collect();
                self.command(&before, what)
            }
        };
        let mut solution = of(answer, &["answer", &queries]);
        let mut solution = spawn_on(&places.answer, solution.stdin(Stdio::piped()).stdout(Stdio::piped()))?;
        let (to, from) = (solution.stdin.take(), solution.stdout.take());
        let (Some(to), Some(from)) = (to, from) else { return Err(Error::says("no pipes")) };
        let mut command = of(ask, &["ask", &queries]);
        let mut asks = spawn_on(&places.ask, command.stdin(from).stdout(to).stderr(Stdio::piped()))?;
        drop(command);
        let said = read_end(asks.stderr.take())?;
        let status = asks.wait().map_err(Error::system("wait for the program that asks"))?;
        solution.wait().map_err(Error::system("wait for the solution"))?;
        self.asked(&said, status.code())
    }

    /// The same of both in the sandbox.
    pub fn sandboxed_pair(
        &self,
        limit: impl Fn(Request) -> Request,
        places: &Places,
        world: &World,
    ) -> Result<[f64; 2], Error> {
        let (to_read, to) = pipe()?;
        let (from, from_write) = pipe()?;
        let (said, said_write) = pipe()?;
        let queries = self.queries.to_string();
        let ask = self.request(&["ask", &queries], &places.ask, world)?;
        let ask = limit(ask.stdin(from).stdout(to).stderr(said_write));
        let answer = self.request(&["answer", &queries], &places.answer, world)?;
        let answer = limit(answer.stdin(to_read).stdout(from_write));
        let handles: [Handle; 2] = self.supervisor.run_pair([&ask, &answer])?;
        drop((ask, answer));
        let said = read_end(Some(said))?;
        let [ask, answer] = [handles[0].wait()?, handles[1].wait()?];
        expect(&answer, 0)?;
        expect(&ask, 42)?;
        self.asked(&said, Some(42))
    }

    /// The batch form with `around` around the solution, from start to end.
    pub fn batch_under(&self, around: Around, files: &Files, cpus: &[usize]) -> Result<[f64; 3], Error> {
        let mut command = self.command(&["under", around.name()], &["batch"]);
        let output = files.output()?;
        let command = command.stdin(files.input()?).stdout(files.writer(&output)?).stderr(Stdio::piped());
        let begin = Instant::now();
        let child = spawn_on(cpus, command)?;
        let (used, all) = used(child, around)?;
        let real = begin.elapsed().as_nanos() as f64;
        files.check(output, self.queries)?;
        Ok([real, cpu(&used), all])
    }

    /// The batch form in the sandbox, from the call to the result.
    pub fn batch_sandboxed(
        &self,
        limit: impl Fn(Request) -> Request,
        files: &Files,
        cpus: &[usize],
    ) -> Result<[f64; 3], Error> {
        let output = files.output()?;
        let request = self.request(&["batch"], cpus, &World::minimal())?;
        let request = limit(request.stdin(OwnedFd::from(files.input()?)).stdout(OwnedFd::from(files.writer(&output)?)));
        let begin = Instant::now();
        let figures = bare::sandboxed(self.supervisor, &request)?.figures;
        let real = begin.elapsed().as_nanos() as f64;
        files.check(output, self.queries)?;
        let cpu = (figures.cpu_user_ns + figures.cpu_system_ns) as f64;
        Ok([real, cpu, cpu])
    }
}

/// The batch form's input.
#[derive(Debug)]
pub struct Files {
    input: PathBuf,
    directory: PathBuf,
}

impl Files {
    /// Writes all questions into a file in `directory`.
    pub fn new(directory: &Path, queries: u64) -> Result<Files, Error> {
        let input = directory.join("questions");
        std::fs::write(&input, talk::questions(queries)).map_err(Error::system("write the questions"))?;
        Ok(Files { input, directory: directory.to_owned() })
    }

    fn input(&self) -> Result<File, Error> {
        File::open(&self.input).map_err(Error::system("open the questions"))
    }

    fn output(&self) -> Result<File, Error> {
        tempfile::tempfile_in(&self.directory).map_err(Error::system("make a file for the answers"))
    }

    fn writer(&self, output: &File) -> Result<File, Error> {
        output.try_clone().map_err(Error::system("open the answers"))
    }

    fn check(&self, mut output: File, queries: u64) -> Result<(), Error> {
        let mut text = String::new();
        let read = output.rewind().and_then(|()| output.read_to_string(&mut text));
        read.map_err(Error::system("read the answers"))?;
        if talk::is_right(&text, queries) { Ok(()) } else { Err(Error::says("the batch's answers are wrong")) }
    }
}

/// What a command with something around it used: the program by itself, and all in nanoseconds.
fn used(mut child: Child, around: Around) -> Result<(Used, f64), Error> {
    let said = read_end(child.stderr.take())?;
    let all = sys::wait(child.id() as i32).map_err(Error::system("wait for a program"))?;
    let line = said.lines().last().unwrap_or("");
    let used: Used = serde_json::from_str(line)
        .map_err(|error| Error::says(format!("{}: {error}: {}", around.name(), said.trim())))?;
    if used.code != 0 {
        return Err(Error::says(format!("{}: the program exited with {}: {}", around.name(), used.code, said.trim())));
    }
    let all = match around {
        Around::Ptrace | Around::Notify | Around::NotifySync => (all.user_us + all.system_us) as f64 * 1000.0,
        // Nobody watches: what is around has started the program, and waits.
        _ => cpu(&used),
    };
    Ok((used, all))
}

fn cpu(used: &Used) -> f64 {
    (used.user_us + used.system_us) as f64 * 1000.0
}

/// Reads to the end.
pub fn read_end(from: Option<impl Into<OwnedFd>>) -> Result<String, Error> {
    let mut text = String::new();
    if let Some(from) = from {
        File::from(from.into()).read_to_string(&mut text).map_err(Error::system("read what a program said"))?;
    }
    Ok(text)
}

/// A pipe: reading end, writing end.
pub fn pipe() -> Result<(OwnedFd, OwnedFd), Error> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(Error::system("make a pipe"))
}

fn expect(result: &RunResult, code: i32) -> Result<(), Error> {
    match &result.outcome {
        Outcome::Exited(exited) if *exited == code => Ok(()),
        _ => Err(Error::says(format!("in the sandbox: {result}"))),
    }
}
