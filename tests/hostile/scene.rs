//! The environment of a case: files on the host, the world and the request.

use crate::case::{Case, CaseError};
use crate::compile::{self, Built, Form};
use crate::header::{Control, Profile, With};
use crate::innocent::Template;
use crate::machine::Machine;
use millibox::{Mount, Network, Prepare, Request, World};
use millibox_judge::feedback::{Feedback, FeedbackPlace};
use millibox_tests::{is_root, open, set_mode, token};
use rustix::fs::{CWD, FileType, Mode, OFlags, XattrFlags};
use rustix::pty::OpenptFlags;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// The content of files that must stay unchanged.
pub const UNTOUCHED: &str = "untouched\n";
/// The modules that a template of Python imports.
const PYTHON_MODULES: [&str; 3] = ["json", "random", "socket"];
/// The real-time limit of control runs.
const CONTROL_REAL_TIME: Duration = Duration::from_secs(50);

/// The files, directories and descriptors of a case.
pub struct Scene<'a> {
    pub case: &'a Case<'a>,
    pub machine: &'a Machine,
    pub built: Built,
    pub directory: TempDir,
    pub feedback: Option<(FeedbackPlace, Feedback)>,
    terminal: Option<OwnedFd>,
    /// A string in the command line of every process of the run.
    pub token: String,
}

impl<'a> Scene<'a> {
    pub fn new(
        case: &'a Case<'a>,
        machine: &'a Machine,
        built: Built,
    ) -> Result<Scene<'a>, CaseError> {
        let directory = millibox_tests::directory();
        let path = |name: &str| directory.path().join(name);
        for (name, mode) in [("box", 0o777), ("shared", 0o755), ("outside", 0o777)] {
            fs::create_dir(path(name)).map_err(scene_error)?;
            set_mode(&path(name), mode);
        }
        for name in ["shared/note", "outside/note"] {
            fs::write(path(name), UNTOUCHED).map_err(scene_error)?;
            set_mode(&path(name), 0o666);
        }
        match &built {
            Built::Executable(executable) => {
                create_special_files(case, executable, &path("shared"))?;
                if case.copy {
                    copy(executable, &path("attack"), 0o755)?;
                }
            }
            Built::Script { path: script, .. } => {
                fs::copy(script, path("attack")).map_err(scene_error)?;
                set_mode(&path("attack"), 0o644);
            }
        }
        if case.copy {
            let launcher = compile::launcher(&machine.executables)?;
            copy(&launcher, &path("launcher"), 0o755)?;
            let innocent = compile::innocent(Form::Library, &machine.executables)?;
            copy(&innocent, &path("innocent"), 0o755)?;
        }
        let feedback = if case.wants(With::Feedback) {
            let place = FeedbackPlace::new(machine.ids).map_err(scene_error)?;
            let feedback = place.fresh().map_err(scene_error)?;
            Some((place, feedback))
        } else {
            None
        };
        if case.wants(With::Cgroups) && machine.cgroups.is_none() {
            let why = "the machine has no cgroups to bind";
            return Err(CaseError::Skipped(why.to_owned()));
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

    /// A path in the directory of the scene.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The world of a role.
    fn world(&self, role: &str) -> Result<World, CaseError> {
        let header = &self.case.program.header;
        let mut temporary = Mount::tmpfs("/tmp");
        if let Some(size) = header.tmp_size {
            temporary = temporary.size_limit(size.0);
        }
        if let Some(inodes) = header.tmp_inodes {
            temporary = temporary.inode_limit(inodes);
        }
        let mut world = World::empty().system().dev("/dev").mount(temporary);
        if self.case.copy || self.has_script() {
            world = world.read_only(self.path("attack"), "/attack");
        }
        if self.case.copy {
            world = world.read_only(self.path("launcher"), "/launcher");
            world = world.read_only(self.path("innocent"), "/innocent");
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
                With::Standard => World::standard()
                    .mounts()
                    .iter()
                    .filter(|mount| {
                        let mut known = world.mounts().iter();
                        !known.any(|other| other.path() == mount.path())
                    })
                    .fold(world.clone(), |world, mount| world.mount(mount.clone())),
                With::PseudoTerminals => world.terminals(),
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
                | With::NullStreams
                | With::PipeLimit => world,
            };
        }
        Ok(match (self.case.profile, self.case.without) {
            (Profile::None, _) | (_, Some(Control::Seccomp)) => world.without_seccomp(),
            _ => world,
        })
    }

    /// The arguments of every program. hostile.h names them.
    pub fn arguments(&self, role: &str) -> Vec<String> {
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

    /// Checks whether the program is a script.
    pub fn has_script(&self) -> bool {
        matches!(self.built, Built::Script { .. })
    }

    /// The program of the template, if the program runs as a copy.
    pub fn template(&self) -> Option<Template> {
        match &self.built {
            _ if !self.case.copy => None,
            Built::Script { interpreter, .. } if interpreter.ends_with("python3") => {
                Some(Template::Python(interpreter))
            }
            _ => Some(Template::Launcher),
        }
    }

    /// Makes a request run in the world of a role.
    pub fn in_world(&self, request: Request, role: &str) -> Result<Request, CaseError> {
        let world = self.world(role)?;
        let prepare = match self.template() {
            None => return Ok(request.world(&world)),
            Some(Template::Launcher) => Prepare::new("/launcher"),
            Some(Template::Python(interpreter)) => Prepare::python(interpreter, PYTHON_MODULES),
        };
        let prepared = world.prepare(&prepare);
        let prepared = prepared.map_err(|error| CaseError::Failed(error.to_string()))?;
        Ok(request.prepared(&prepared))
    }

    /// Builds the request for a role: `run`, or `plant`, `look` or `both` for a pair.
    pub fn request(&mut self, role: &str) -> Result<Request, CaseError> {
        let case = self.case;
        let mut request = match &self.built {
            _ if case.wants(With::Program) => Request::new("/shared/program"),
            _ if case.wants(With::ProgramDescriptor) && case.copy => {
                let why = "a copy executes no file of its request";
                return Err(CaseError::Skipped(why.to_owned()));
            }
            Built::Executable(_) if case.copy => Request::new("/attack"),
            _ if case.wants(With::ProgramDescriptor) => {
                Request::from_descriptor(open(&self.path("shared/program"))).arg(&case.program.name)
            }
            Built::Executable(path) => Request::from_descriptor(open(path)).arg(&case.program.name),
            Built::Script { interpreter, .. } => Request::new(*interpreter).arg("/attack"),
        };
        request = self.in_world(request.args(self.arguments(role)), role)?;
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
                CONTROL_REAL_TIME
            } else {
                limits.real.0
            };
            request = request.real_time_limit(real);
        }
        if case.wants(With::NamespaceStdin) {
            request = request.stdin(open(Path::new("/proc/self/ns/mnt")));
        } else if case.wants(With::FileStdin) {
            request = request.stdin(open(&self.path("shared/note")));
        } else if case.wants(With::Terminal) {
            let (master, slave) = open_terminal().map_err(|errno| {
                CaseError::Skipped(format!("cannot open a pseudo-terminal: {errno}"))
            })?;
            self.terminal = Some(master);
            request = request.stdin(slave);
        }
        Ok(request)
    }
}

impl Drop for Scene<'_> {
    fn drop(&mut self) {
        // `TempDir` needs a descriptor for each level of nested directories, and a program may have
        // made too many levels.
        let _ = Command::new("rm").arg("-rf").arg(self.path("box")).status();
    }
}

fn scene_error(error: impl std::error::Error) -> CaseError {
    CaseError::Failed(format!("cannot create the scene: {error}"))
}

/// Creates the files in /shared that [`With`] names.
fn create_special_files(
    case: &Case<'_>,
    executable: &Path,
    shared: &Path,
) -> Result<(), CaseError> {
    if case.wants(With::Program) || case.wants(With::ProgramDescriptor) {
        copy(executable, &shared.join("program"), 0o777)?;
    }
    if case.wants(With::Setuid) {
        require_root("a set-user-id program of root")?;
        copy(executable, &shared.join("setuid"), 0o6755)?;
    }
    if case.wants(With::FileCapabilities) {
        require_root("a program with file capabilities")?;
        let capable = shared.join("capable");
        copy(executable, &capable, 0o755)?;
        // struct vfs_cap_data, version 2, effective: CAP_CHOWN and CAP_NET_BIND_SERVICE.
        let words = [0x0200_0001u32, 1 | 1 << 10, 0, 0, 0];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        rustix::fs::setxattr(&capable, "security.capability", &bytes, XattrFlags::empty())
            .map_err(|errno| {
                CaseError::Skipped(format!("cannot set file capabilities: {errno}"))
            })?;
    }
    if case.wants(With::Device) {
        require_root("a device node")?;
        let device = shared.join("device");
        let zero = rustix::fs::makedev(1, 5);
        rustix::fs::mknodat(CWD, &device, FileType::CharacterDevice, Mode::RUSR, zero)
            .map_err(|errno| CaseError::Skipped(format!("cannot create a device node: {errno}")))?;
        set_mode(&device, 0o666);
    }
    Ok(())
}

/// Copies an executable in another process. If this process wrote the copy, a child that another
/// thread forks at that moment would inherit a writable descriptor, and the copy could not be
/// executed (ETXTBSY).
fn copy(executable: &Path, target: &Path, mode: u32) -> Result<(), CaseError> {
    let status = Command::new("cp").args([executable, target]).status();
    let status = status.map_err(scene_error)?;
    if !status.success() {
        return Err(CaseError::Failed(format!("cp: {status}")));
    }
    set_mode(target, mode);
    Ok(())
}

fn require_root(what: &str) -> Result<(), CaseError> {
    if is_root() {
        return Ok(());
    }
    Err(CaseError::Skipped(format!("only root can create {what}")))
}

/// Opens a new pseudo-terminal. Returns the master and the slave.
fn open_terminal() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    rustix::pty::grantpt(&master)?;
    rustix::pty::unlockpt(&master)?;
    let name = rustix::pty::ptsname(&master, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY;
    let slave = rustix::fs::open(name.as_c_str(), flags, Mode::empty())?;
    Ok((master, slave))
}
