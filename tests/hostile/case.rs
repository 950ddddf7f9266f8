//! One program on one backend under one profile: the scene, the run, and what came of it.

use crate::compile::{self, Built, Failure};
use crate::header::{Condition, Control, Ending, Except, Expect, Pair, Profile, Program, With};
use crate::machine::{BackendKey, Kind, Machine};
use millibox::{
    Backend, Budget, Handle, Mount, Network, Request, RunResult, Supervisor, World, move_output,
};
use millibox_judge::feedback::{Feedback, FeedbackPlace};
use millibox_tests::{
    eventually, is_root, may_raise_limits, open, pipe, processes_that_say, read_line, share, token,
    wait,
};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{Read, Seek};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A program, and how it is run.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    pub program: &'a Program,
    pub backend: BackendKey,
    pub profile: Profile,
    /// What is taken out, to see that the program notices.
    pub without: Option<Control>,
    /// Only what comes of a neighbour is looked at: see [`Case::neighbour`].
    pub beside: bool,
}

/// What came of a case.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Held {
    pub ending: Ending,
    /// Not held, and documented.
    pub exception: bool,
    /// Not held, and it should be.
    pub known_failure: Option<String>,
}

/// Why a case has no result, or a wrong one.
#[derive(Debug)]
pub enum Trouble {
    /// It cannot be tried here.
    Skipped(String),
    Failed(String),
}

impl From<String> for Trouble {
    fn from(why: String) -> Trouble {
        Trouble::Failed(why)
    }
}

/// What stands in files that must stay as they are.
const UNTOUCHED: &str = "untouched\n";
/// Of output, where nothing else is said.
const OUTPUT: u64 = 8 << 20;
/// How long after its limit a program may say at the latest that it lives (`alive_ns=`): much, on a
/// busy machine.
const LATE: Duration = Duration::from_secs(6);

impl Case<'_> {
    pub fn name(&self) -> String {
        let profile = match (self.without, self.profile) {
            _ if self.beside => "beside",
            (Some(_), _) => "control",
            (None, Profile::Separate) => "separate",
            (None, profile) => profile.name(),
        };
        format!(
            "{}::{}::{profile}",
            self.program.full_name(),
            self.backend.name()
        )
    }

    fn holds(&self, condition: Condition) -> bool {
        match condition {
            Condition::Rlimit => self.backend == BackendKey::Rlimit,
            Condition::Hybrid => self.backend == BackendKey::Hybrid,
            Condition::Cgroup2 => self.backend == BackendKey::Cgroup2,
            Condition::None => self.profile == Profile::None,
            Condition::User => !is_root(),
            Condition::Bounded => !may_raise_limits(),
        }
    }

    /// The last exception that fits.
    fn except(&self) -> Option<&Except> {
        let fits = |except: &&Except| except.when.iter().all(|condition| self.holds(*condition));
        self.program.header.except.iter().rfind(fits)
    }

    fn wants(&self, what: With) -> bool {
        self.program.header.with.contains(&what)
    }

    /// Runs the program in one slot, and `/bin/true` over and over in the other slot of the same
    /// supervisor: the longest time that one of these took, as their caller sees it. None may fail.
    /// What comes of the program is looked at elsewhere.
    pub fn neighbour(&self, machine: &Machine) -> Result<Duration, Trouble> {
        let built = self.build(machine)?;
        let mut scene = Scene::new(self, machine, built)?;
        let kind = Kind {
            backend: self.backend,
            separate_pid1: self.profile == Profile::Separate,
            slots: 2,
        };
        let supervisor = machine.supervisor(kind)?;
        let longest = scene.beside(&supervisor)?;
        scene.aftermath(&supervisor)?;
        machine.give_back(kind, supervisor);
        Ok(longest)
    }

    fn build(&self, machine: &Machine) -> Result<Built, Trouble> {
        compile::build(self.program, &machine.executables).map_err(|failure| match failure {
            Failure::Missing(why) => Trouble::Skipped(why),
            Failure::Wrong(why) => Trouble::Failed(why),
        })
    }

    /// Does it.
    pub fn run(&self, machine: &Machine) -> Result<Held, Trouble> {
        let built = self.build(machine)?;
        let mut scene = Scene::new(self, machine, built)?;
        if self.without == Some(Control::Bare) {
            return scene.bare();
        }
        let kind = Kind {
            backend: self.backend,
            separate_pid1: self.profile == Profile::Separate,
            slots: if self.program.header.pair == Some(Pair::Beside) {
                2
            } else {
                1
            },
        };
        let supervisor = machine.supervisor(kind)?;
        let held = scene
            .play(&supervisor)
            .and_then(|held| scene.aftermath(&supervisor).map(|()| held))?;
        machine.give_back(kind, supervisor);
        Ok(held)
    }
}

/// What a run is surrounded by.
struct Scene<'a> {
    case: &'a Case<'a>,
    machine: &'a Machine,
    built: Built,
    directory: TempDir,
    feedback: Option<(FeedbackPlace, Feedback)>,
    terminal: Option<OwnedFd>,
    token: String,
}

impl<'a> Scene<'a> {
    fn new(case: &'a Case<'a>, machine: &'a Machine, built: Built) -> Result<Scene<'a>, Trouble> {
        let io = |error: std::io::Error| Trouble::Failed(format!("the scene: {error}"));
        let directory = millibox_tests::directory();
        let path = |name: &str| directory.path().join(name);
        for (name, mode) in [("box", 0o777), ("shared", 0o755), ("outside", 0o777)] {
            fs::create_dir(path(name)).map_err(io)?;
            share(&path(name), mode);
        }
        for name in ["shared/note", "outside/note"] {
            fs::write(path(name), UNTOUCHED).map_err(io)?;
            share(&path(name), 0o666);
        }
        if let Built::Executable(executable) = &built {
            let copy = |name: &str, mode: u32| -> Result<PathBuf, Trouble> {
                // By another process: a child that another thread starts just now would inherit
                // what we write to, and who is written to cannot be executed (ETXTBSY).
                let copied = std::process::Command::new("cp")
                    .args([executable, &path(name)])
                    .status()
                    .map_err(io)?;
                if !copied.success() {
                    return Err(Trouble::Failed(format!("cp: {copied}")));
                }
                share(&path(name), mode);
                Ok(path(name))
            };
            let root = |what: &str| match is_root() {
                true => Ok(()),
                false => Err(Trouble::Skipped(format!("only root can make {what}"))),
            };
            if case.wants(With::Program) || case.wants(With::ProgramDescriptor) {
                copy("shared/program", 0o777)?;
            }
            if case.wants(With::Setuid) {
                root("a set-user-id program of root's")?;
                copy("shared/setuid", 0o6755)?;
            }
            if case.wants(With::FileCapabilities) {
                root("a program with file capabilities")?;
                let capable = copy("shared/capable", 0o755)?;
                // struct vfs_cap_data, version 2, effective: CAP_CHOWN and CAP_NET_BIND_SERVICE.
                let words = [0x0200_0001u32, 1 | 1 << 10, 0, 0, 0];
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                rustix::fs::setxattr(
                    &capable,
                    "security.capability",
                    &bytes,
                    rustix::fs::XattrFlags::empty(),
                )
                .map_err(|errno| {
                    Trouble::Skipped(format!("file capabilities cannot be set here: {errno}"))
                })?;
            }
            if case.wants(With::Device) {
                root("a device node")?;
                use rustix::fs::{CWD, FileType, Mode};
                let zero = rustix::fs::makedev(1, 5);
                rustix::fs::mknodat(
                    CWD,
                    path("shared/device"),
                    FileType::CharacterDevice,
                    Mode::RUSR,
                    zero,
                )
                .map_err(|errno| {
                    Trouble::Skipped(format!("device nodes cannot be made here: {errno}"))
                })?;
                share(&path("shared/device"), 0o666);
            }
        }
        if let Built::Script { path: script, .. } = &built {
            fs::copy(script, path("attack")).map_err(io)?;
            share(&path("attack"), 0o644);
        }
        let feedback = match case.wants(With::Feedback) {
            true => {
                let place = FeedbackPlace::new(machine.ids).map_err(|error| io(error.into()))?;
                let feedback = place.fresh().map_err(|error| io(error.into()))?;
                Some((place, feedback))
            }
            false => None,
        };
        if case.wants(With::Cgroups) && machine.cgroups.is_none() {
            return Err(Trouble::Skipped("there are no cgroups to bind".to_owned()));
        }
        Ok(Scene {
            case,
            machine,
            built,
            directory,
            feedback,
            terminal: None,
            token: token(),
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn world(&self, role: &str) -> Result<World, Trouble> {
        let header = &self.case.program.header;
        let mut world = World::empty().system().dev("/dev").mount(Mount::Tmpfs {
            at: b"/tmp".to_vec(),
            size: header.tmp_size.map(|size| size.0),
            inodes: header.tmp_inodes,
            mode: 0o1777,
            read_only: false,
            no_exec: false,
        });
        if let Built::Script { .. } = self.built {
            world = world.read_only(self.path("attack"), "/attack");
        }
        for with in &header.with {
            world = match with {
                With::Proc => world.mount(Mount::proc("/proc")),
                With::Box => world.read_write(self.path("box"), "/box"),
                With::Shared
                | With::Setuid
                | With::FileCapabilities
                | With::Device
                | With::Program => world.read_only(self.path("shared"), "/shared"),
                With::Loopback => world.network(Network::Loopback),
                With::Root => world.uid(0).gid(0),
                With::Cgroups => {
                    let cgroups = self.machine.cgroups.clone().unwrap_or_default();
                    world.read_write(cgroups, "/sys/fs/cgroup")
                }
                With::MountOnPlanted if role == "look" => world.mount(Mount::tmpfs("/box/planted")),
                With::Feedback => match &self.feedback {
                    Some((place, _)) => world.read_write(place.path(), "/box"),
                    None => world,
                },
                With::Terminal
                | With::MountOnPlanted
                | With::ProgramDescriptor
                | With::NamespaceStdin
                | With::FileStdin
                | With::FileStdout
                | With::PipeLimit => world,
            };
        }
        Ok(match (self.case.profile, self.case.without) {
            (Profile::None, _) | (_, Some(Control::Seccomp)) => world.without_seccomp(),
            _ => world,
        })
    }

    /// What every program is told: see hostile.h.
    fn arguments(&self, role: &str) -> Vec<String> {
        let machine = self.machine;
        let clock = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let up = clock.tv_sec * 1_000_000_000 + clock.tv_nsec;
        vec![
            role.to_owned(),
            self.token.clone(),
            machine.port.to_string(),
            machine.socket.clone(),
            machine.sentinel().to_string(),
            machine.host_name.clone(),
            self.directory.path().display().to_string(),
            up.to_string(),
        ]
    }

    fn request(&mut self, role: &str) -> Result<Request, Trouble> {
        let case = self.case;
        let mut request = match &self.built {
            _ if case.wants(With::Program) => Request::new("/shared/program"),
            _ if case.wants(With::ProgramDescriptor) => {
                Request::from_descriptor(open(&self.path("shared/program"))).arg(&case.program.name)
            }
            Built::Executable(path) => Request::from_descriptor(open(path)).arg(&case.program.name),
            Built::Script { interpreter, .. } => Request::new(*interpreter).arg("/attack"),
        };
        request = request.args(self.arguments(role)).world(&self.world(role)?);
        let limits = case.program.header.limits;
        if !matches!(case.without, Some(Control::Limits | Control::AllLimits)) {
            request = request
                .memory_limit(limits.memory.0)
                .process_limit(limits.processes)
                .cpu_time_limit(limits.cpu.0);
            if let Some(output) = limits.output {
                request = request.output_limit(output.0);
            }
            if limits.descriptors > 0 {
                request = request.rlimit("NOFILE", limits.descriptors);
            }
        }
        if case.without != Some(Control::AllLimits) {
            let real = if case.without.is_some() {
                Duration::from_secs(50)
            } else {
                limits.real.0
            };
            request = request.real_time_limit(real);
        }
        let file = |path: PathBuf| open(&path);
        if case.wants(With::NamespaceStdin) {
            request = request.stdin(file("/proc/self/ns/mnt".into()));
        } else if case.wants(With::FileStdin) {
            request = request.stdin(file(self.path("shared/note")));
        } else if case.wants(With::Terminal) {
            let flags = rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY;
            let terminal = || -> rustix::io::Result<(OwnedFd, OwnedFd)> {
                let master = rustix::pty::openpt(flags)?;
                rustix::pty::grantpt(&master)?;
                rustix::pty::unlockpt(&master)?;
                let name = rustix::pty::ptsname(&master, Vec::new())?;
                let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
                Ok((
                    master,
                    rustix::fs::open(name.as_c_str(), flags, rustix::fs::Mode::empty())?,
                ))
            };
            let (master, slave) = terminal().map_err(|errno| {
                Trouble::Skipped(format!("there are no pseudo-terminals here: {errno}"))
            })?;
            self.terminal = Some(master);
            request = request.stdin(slave);
        }
        Ok(request)
    }

    /// Runs to the end, with at most the allowed output read; what was written, too.
    fn once(
        &mut self,
        supervisor: &Supervisor,
        role: &str,
    ) -> Result<(RunResult, String), Trouble> {
        let io = |error: std::io::Error| Trouble::Failed(format!("the run's output: {error}"));
        let request = self.request(role)?;
        let mut output = tempfile::tempfile().map_err(io)?;
        let result = if self.case.wants(With::FileStdout) {
            let copy: OwnedFd = output.try_clone().map_err(io)?.into();
            wait(
                &supervisor
                    .run(&request.stdout(copy))
                    .map_err(|error| error.to_string())?,
            )
        } else {
            let limit = match self.case.without {
                Some(Control::Limits | Control::AllLimits) => 1 << 30,
                _ => self
                    .case
                    .program
                    .header
                    .limits
                    .output
                    .map_or(OUTPUT, |output| output.0),
            };
            let ((from, to), (from_error, to_error)) = (pipe(), pipe());
            let handle = supervisor
                .run(&request.stdout(to).stderr(to_error))
                .map_err(|error| error.to_string())?;
            let budget = Budget::new(limit);
            // Errors to nowhere: what is limited is both together.
            let nowhere = fs::OpenOptions::new()
                .write(true)
                .open("/dev/null")
                .map_err(io)?;
            std::thread::scope(|scope| {
                scope.spawn(|| move_output(from, output.as_fd(), &budget, &handle));
                scope.spawn(|| move_output(from_error, nowhere.as_fd(), &budget, &handle));
                wait(&handle)
            })
        };
        let mut said = String::new();
        output.rewind().map_err(io)?;
        let mut bytes = Vec::new();
        output.take(1 << 16).read_to_end(&mut bytes).map_err(io)?;
        said.push_str(&String::from_utf8_lossy(&bytes));
        Ok((result, said))
    }

    fn play(&mut self, supervisor: &Supervisor) -> Result<Held, Trouble> {
        let scene = self;
        match (scene.case.program.header.pair, scene.case.without) {
            (None, _) => scene.single(supervisor, "run"),
            (Some(_), Some(Control::Together)) => scene.single(supervisor, "both"),
            (Some(Pair::After), _) => {
                let (planted, said) = scene.once(supervisor, "plant")?;
                if Ending::of(&planted.outcome) != Some(Ending::Contained) {
                    return Err(format!("nothing was planted: {planted}: {said}").into());
                }
                scene.looks(supervisor)
            }
            (Some(Pair::Beside), _) => {
                let (from, to) = pipe();
                let request = scene.request("plant")?.stdout(to);
                let planted: Handle = supervisor
                    .run(&request)
                    .map_err(|error| error.to_string())?;
                drop(request);
                let line = read_line(&from);
                if line != "ready" {
                    return Err(format!("nothing was planted: {line}").into());
                }
                let held = scene.looks(supervisor)?;
                if let Ok(Some(result)) = planted.try_wait() {
                    return Err(format!("the neighbour was ended: {result}").into());
                }
                planted.kill();
                wait(&planted);
                Ok(held)
            }
        }
    }

    /// See [`Case::neighbour`].
    fn beside(&mut self, supervisor: &Supervisor) -> Result<Duration, Trouble> {
        let role = if self.case.program.header.pair.is_some() {
            "plant"
        } else {
            "run"
        };
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let neighbour = scope.spawn(|| {
                let innocent = innocent();
                let mut longest = Duration::ZERO;
                loop {
                    // Once more after the end: what the program left is being taken apart then.
                    let is_last = is_over.load(SeqCst);
                    let begin = Instant::now();
                    let handle = supervisor
                        .run(&innocent)
                        .map_err(|error| format!("the neighbour: {error}"))?;
                    let result = wait(&handle);
                    longest = longest.max(begin.elapsed());
                    if Ending::of(&result.outcome) != Some(Ending::Contained) {
                        return Err(Trouble::Failed(format!("the neighbour: {result}")));
                    }
                    if is_last {
                        return Ok(longest);
                    }
                }
            });
            let hostile = self.once(supervisor, role);
            is_over.store(true, SeqCst);
            let longest = neighbour.join().expect("no panic")?;
            hostile.map(|_| longest)
        })
    }

    /// Looks more often than there are runners, of which one that is still being cleaned up is left
    /// out. Without what holds it, it need not get through but where it has planted something.
    fn looks(&mut self, supervisor: &Supervisor) -> Result<Held, Trouble> {
        let mut held = self.single(supervisor, "look");
        for _ in 1..6 {
            if held.is_ok() != self.case.without.is_none() {
                break;
            }
            held = self.single(supervisor, "look");
        }
        held
    }

    fn single(&mut self, supervisor: &Supervisor, role: &str) -> Result<Held, Trouble> {
        let (result, said) = self.once(supervisor, role)?;
        let Some(ending) = Ending::of(&result.outcome) else {
            return Err(format!("no run: {result}: {said}").into());
        };
        let held = self.judge(ending, &format!("{said}{result}"))?;
        if self.case.without.is_none() {
            self.figures(&result, &said)?;
        }
        Ok(held)
    }

    /// Compares what came with what must come.
    fn judge(&self, ending: Ending, said: &str) -> Result<Held, Trouble> {
        let said = said.trim();
        if let Some(control) = self.case.without {
            return match ending {
                Ending::Escaped => Ok(Held {
                    ending,
                    exception: false,
                    known_failure: None,
                }),
                _ => Err(
                    format!("without {control} it must get through, but: {ending}: {said}").into(),
                ),
            };
        }
        let except = self.case.except();
        let expect: &Expect =
            except.map_or(&self.case.program.header.expect, |except| &except.expect);
        if !expect.0.contains(&ending) {
            let wanted: Vec<String> = expect.0.iter().map(Ending::to_string).collect();
            return Err(format!("{ending}, not {}: {said}", wanted.join(" or ")).into());
        }
        // Where an exception may be met, it has been if something else came than is expected
        // elsewhere; or if the ending is the same, and the exception is one of figures.
        let usual = &self.case.program.header.expect;
        let differs = !usual.0.contains(&ending) || usual == expect;
        let exception = differs && except.is_some_and(|except| except.exception.is_some());
        let known_failure = except.and_then(|except| except.known_failure.clone());
        Ok(Held {
            ending,
            exception,
            known_failure,
        })
    }

    /// What must hold of the figures, whatever a program does.
    fn figures(&self, result: &RunResult, said: &str) -> Result<(), Trouble> {
        let figures = &result.figures;
        let limits = self.case.program.header.limits;
        let cpu_ns = figures.cpu_user_ns + figures.cpu_system_ns;
        let ns = |time: Duration| time.as_nanos() as u64;
        let said_ns = |key: &str| {
            let line = said
                .lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
            line.and_then(|number| number.trim().parse::<u64>().ok())
                .unwrap_or(0)
        };
        let alive_ns = said
            .lines()
            .filter_map(|line| line.strip_prefix("alive_ns=")?.parse::<u64>().ok())
            .max();
        let cgroup = self.case.backend.backend() != Backend::Rlimit;
        let ending = Ending::of(&result.outcome);
        let exception = self
            .case
            .except()
            .is_some_and(|except| except.exception.is_some());
        // A limit that is exceeded for a documented reason is not exceeded by much.
        let most_memory = limits.memory.0 + if exception { limits.memory.0 / 4 } else { 0 };
        let is = |wanted: Ending| ending.as_ref() == Some(&wanted);
        let wrong = [
            (
                is(Ending::RealTimeLimit) && figures.real_time_ns < ns(limits.real.0),
                "less real time than the limit",
            ),
            (
                is(Ending::CpuTimeLimit) && cpu_ns < ns(limits.cpu.0),
                "less CPU time than the limit",
            ),
            (
                cgroup && figures.peak_memory_bytes > most_memory,
                "more memory than the limit",
            ),
            (
                cgroup
                    && is(Ending::MemoryLimit)
                    && !self.case.program.header.uncharged
                    && figures.peak_memory_bytes < limits.memory.0 / 10 * 8,
                "a memory limit far below it",
            ),
            (
                figures
                    .peak_processes
                    .is_some_and(|peak| peak > limits.processes),
                "more processes than the limit",
            ),
            (
                !exception && cpu_ns < said_ns("cpu_ns"),
                "less CPU time than the program has seen",
            ),
            (
                figures.real_time_ns < said_ns("real_ns"),
                "less real time than the program has seen",
            ),
            (
                alive_ns.unwrap_or(0) > ns(limits.real.0 + LATE),
                "processes that live long after the limit",
            ),
            (
                result.backend != self.case.backend.backend(),
                "another backend",
            ),
        ];
        match wrong.iter().find(|(wrong, _)| *wrong) {
            Some((_, what)) => Err(format!("figures: {what}: {figures:?}: {said}").into()),
            None => Ok(()),
        }
    }

    /// The same program as a plain process of the same user.
    fn bare(&mut self) -> Result<Held, Trouble> {
        let Built::Executable(path) = &self.built else {
            return Err("only an executable can be run bare".to_owned().into());
        };
        let mut command = std::process::Command::new(path);
        command
            .args(self.arguments("run"))
            .current_dir("/")
            .stdin(std::process::Stdio::null());
        if is_root() {
            command.uid(self.machine.ids.0).gid(self.machine.ids.1);
        }
        let output = command.output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let ending = output
            .status
            .code()
            .map_or(Ending::Signaled(0), |code| match code {
                0 => Ending::Contained,
                1 => Ending::Escaped,
                code => Ending::Exited(code),
            });
        self.judge(ending, &said)
    }

    /// That nothing survives, nothing is harmed, and the next runs work.
    fn aftermath(&self, supervisor: &Supervisor) -> Result<(), Trouble> {
        let survivors = || processes_that_say(&self.token);
        if !eventually(Duration::from_secs(5), || survivors().is_empty()) {
            return Err(format!("processes survive: {:?}", survivors()).into());
        }
        let mut harmed = self.machine.harmed();
        for name in ["shared/note", "outside/note"] {
            // Where an exception is documented, this file is what it is about.
            let excepted = self
                .case
                .except()
                .is_some_and(|except| except.exception.is_some())
                && name == "shared/note";
            if !excepted && fs::read_to_string(self.path(name)).ok().as_deref() != Some(UNTOUCHED) {
                harmed.push(format!("{name} was changed"));
            }
        }
        let outside = fs::read_dir(self.path("outside")).map_or(0, Iterator::count);
        if outside != 1 {
            harmed.push("something was made in outside".to_owned());
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        if mounts.contains(&*self.directory.path().to_string_lossy()) {
            harmed.push("a mount is left".to_owned());
        }
        if let Some((_, feedback)) = &self.feedback {
            harmed.extend(collect(feedback));
        }
        if !harmed.is_empty() {
            return Err(harmed.join("; ").into());
        }
        for _ in 0..2 {
            let handle = supervisor
                .run(&innocent())
                .map_err(|error| format!("the next run: {error}"))?;
            let result = wait(&handle);
            if Ending::of(&result.outcome) != Some(Ending::Contained) {
                return Err(format!("the next run: {result}").into());
            }
        }
        Ok(())
    }
}

/// A run that harms nobody.
fn innocent() -> Request {
    Request::new("/bin/true")
        .memory_limit(64 << 20)
        .process_limit(1)
        .real_time_limit(Duration::from_secs(20))
}

impl Drop for Scene<'_> {
    fn drop(&mut self) {
        // As deep as a program has made it: the directory's own removal needs a descriptor for each
        // level.
        let _ = std::process::Command::new("rm")
            .arg("-rf")
            .arg(self.path("box"))
            .status();
    }
}

/// Reads what a checker could have left, as the judge does. What it gets must be what stands in
/// regular files of the run's own.
fn collect(feedback: &Feedback) -> Vec<String> {
    let mut wrong = Vec::new();
    for name in ["judgemessage.txt", "teammessage.txt", "score.txt"] {
        match feedback.read(name, 1 << 16) {
            Ok(Some(bytes)) if !bytes.starts_with(b"own") => {
                wrong.push(format!("{name} was read, and is of the host's"))
            }
            _ => {}
        }
    }
    wrong
}
