//! The world of a program: the files, ids, network and system calls that it sees.

use crate::{Error, Mount, ProcMount, RequestMistake, TmpfsMount, WorldProblem};
use crate::{convert, sources};
use millibox_explain::Rules;
use millibox_seccomp::{Arch, Policy, Program, default_profile};
use millibox_wire::Located;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The environment variables that programs expect in [`World::standard`]: names and values.
///
/// LeakSanitizer, which is a part of AddressSanitizer, stops the program's threads with ptrace(2)
/// when the program ends. The sandbox refuses that, and each program would then end with an error,
/// so `LSAN_OPTIONS` turns the search for leaks off. All other checks of AddressSanitizer work.
///
/// ```
/// let mut request = millibox::Request::new("/usr/bin/env");
/// for (name, value) in millibox::STANDARD_ENVIRONMENT {
///     request = request.env(name, value);
/// }
/// ```
pub const STANDARD_ENVIRONMENT: [(&str, &str); 4] = [
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("HOME", "/tmp"),
    ("LANG", "C.UTF-8"),
    NO_LEAK_SANITIZER,
];

/// The variable that turns LeakSanitizer off (see [`STANDARD_ENVIRONMENT`]).
pub const NO_LEAK_SANITIZER: (&str, &str) = ("LSAN_OPTIONS", "detect_leaks=0");

/// Everything that a program sees: files, ids, network and system calls. A clone is cheap.
///
/// Runs in equal worlds share the prepared mount namespace, and the target of the next run is
/// prepared during the current run. Two worlds are equal if they were built in the same way and
/// their sources are the same files. Each request looks up the sources without waiting, so if a
/// file is replaced, the next run sees the new file. The next run does not see mounts that were
/// added below a source later.
///
/// ```
/// use millibox::{Mount, World};
///
/// let world = World::minimal()
///     .read_only("/etc/hostname", "/etc/hostname")
///     .mount(Mount::proc("/proc"));
/// assert!(world.mounts().len() > 2);
/// ```
#[derive(Debug, Clone)]
pub struct World {
    mounts: Vec<Mount>,
    uid: Option<u32>,
    gid: Option<u32>,
    network: Network,
    seccomp: Option<Vec<u8>>,
    /// Whether the default seccomp profile is set. Its program depends on the network and on the
    /// terminals.
    default_seccomp: bool,
    /// The policy from which `seccomp` was compiled, if it is neither the default profile nor
    /// unknown.
    policy: Option<Arc<Policy>>,
    /// The program of which the runs are copies.
    program: Option<millibox_wire::Prepare>,
    /// The encoding for the supervisor, or the mistakes in the world.
    encoded: Arc<OnceLock<Result<Vec<u8>, Vec<RequestMistake>>>>,
}

/// The network of a run.
///
/// ```
/// use millibox::{Network, World};
///
/// // A server and its client can communicate inside one run.
/// let world = World::minimal().network(Network::Loopback);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Network {
    /// A network namespace in which no interface is up.
    #[default]
    None,
    /// A network namespace for this run, in which the loopback interface is up.
    Loopback,
}

/// The directories of the system's programs and libraries.
const SYSTEM: [&str; 6] = ["/bin", "/lib", "/lib32", "/lib64", "/sbin", "/usr"];
/// The files that the loader and `update-alternatives` need.
const SYSTEM_CONFIGURATION: [&str; 2] = ["/etc/alternatives", "/etc/ld.so.cache"];
/// Files and directories that libraries read: fonts and the certificates of authorities.
/// [`is_language`] adds directories. /etc/ssl/certs as a whole may contain the certificate of the
/// host itself, which names it (`ssl-cert-snakeoil.pem`), so only files for all authorities are
/// shown. OpenSSL finds them through links in /usr.
const CONFIGURATION: [&str; 4] = [
    "/etc/fonts",
    "/etc/ssl/certs/ca-bundle.crt",
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/ssl/certs/java",
];

/// Whether a directory in /etc with this name contains settings of Java or Python. Links in /usr
/// lead to them, such as that of Python's `sitecustomize.py`. Other packages may have names that
/// only begin with `python`.
fn is_language(name: &[u8]) -> bool {
    let is_version = |rest: &[u8]| rest.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'.'));
    name.starts_with(b"java") || name.strip_prefix(b"python").is_some_and(is_version)
}

/// The bounds of /dev/shm.
const SHARED_MEMORY_BYTES: u64 = 256 << 20;
const SHARED_MEMORY_INODES: u64 = 20_000;

/// The /dev/shm of a world: a tmpfs in which shm_open(3) and sem_open(3) create their files.
fn shared_memory() -> TmpfsMount {
    Mount::tmpfs("/dev/shm")
        .size_limit(SHARED_MEMORY_BYTES)
        .inode_limit(SHARED_MEMORY_INODES)
}

/// The number of binary digits after the first four.
fn dropped_digits(bytes: u64) -> u32 {
    (u64::BITS - bytes.leading_zeros()).saturating_sub(4)
}

/// The number without its binary digits after the first four.
fn rounded_down(bytes: u64) -> u64 {
    let dropped = dropped_digits(bytes);
    bytes >> dropped << dropped
}

/// The least size of a file system that has no binary digits after the first four, and that a run
/// with this memory limit cannot exceed.
fn rounded_up(bytes: u64) -> u64 {
    let down = rounded_down(bytes);
    let step = if down < bytes {
        1 << dropped_digits(bytes)
    } else {
        0
    };
    // The kernel stores the number in a signed long.
    down.saturating_add(step).clamp(1, i64::MAX as u64)
}

fn is_bounded_by_memory(tmpfs: &TmpfsMount) -> bool {
    tmpfs.size.is_none() && !tmpfs.read_only
}

impl World {
    /// Returns a world with an empty read-only root, the default seccomp profile and no network.
    pub fn empty() -> World {
        World {
            mounts: Vec::new(),
            uid: None,
            gid: None,
            network: Network::None,
            seccomp: Some(default_program(Network::None, false).to_vec()),
            default_seccomp: true,
            policy: None,
            program: None,
            encoded: Arc::default(),
        }
    }

    /// Returns a world with a read-only root, the system's programs and libraries, a /dev with
    /// null, zero, full, random and urandom, a fresh writable /tmp, the default seccomp profile and
    /// no network. Paths that do not exist on the host are left out.
    pub fn minimal() -> World {
        static MINIMAL: OnceLock<World> = OnceLock::new();
        MINIMAL
            .get_or_init(|| {
                World::empty()
                    .system()
                    .dev("/dev")
                    .mount(Mount::tmpfs("/tmp"))
            })
            .clone()
    }

    /// Returns the minimal world with what programs expect of a usual machine in addition: a
    /// bounded /dev/shm, names of users and hosts and other configuration in /etc, and the files
    /// in /proc and /sys that describe the machine
    /// ([`ProcMount::system_files`](crate::ProcMount::system_files), [`Mount::sys`]). The home
    /// directory of the run's user is /tmp.
    ///
    /// ```
    /// use millibox::World;
    ///
    /// let world = World::standard().memory(64 << 20);
    /// assert!(world.mounts().iter().any(|mount| mount.path().ends_with("shm")));
    /// ```
    pub fn standard() -> World {
        static STANDARD: OnceLock<World> = OnceLock::new();
        STANDARD
            .get_or_init(|| {
                World::minimal()
                    .mount(shared_memory())
                    .configuration("/tmp")
                    .mount(Mount::sys("/sys"))
                    .mount(Mount::proc("/proc").system_files())
            })
            .clone()
    }

    /// Adds the configuration that programs expect in /etc ([`Mount::etc`]), and read-only those of
    /// the host's files and directories there that contain no secrets.
    #[must_use]
    pub fn configuration(mut self, home: impl Into<PathBuf>) -> World {
        self = self.mount(Mount::etc("/etc", home));
        let entries = std::fs::read_dir("/etc").into_iter().flatten().flatten();
        let languages = entries.filter(|entry| is_language(entry.file_name().as_encoded_bytes()));
        let languages = languages.map(|entry| entry.path());
        let mut languages: Vec<PathBuf> = languages.filter(|path| path.is_dir()).collect();
        languages.sort();
        for path in CONFIGURATION
            .map(PathBuf::from)
            .into_iter()
            .chain(languages)
        {
            if path.exists() {
                self = self.read_only(&path, &path);
            }
        }
        self
    }

    /// Sets the memory that the world's /proc/meminfo states, rounded down to four binary digits,
    /// and the size of each writable tmpfs without a
    /// [`size_limit`](crate::TmpfsMount::size_limit), rounded up. Because of the rounding, runs
    /// with similar limits share their template. This is no limit on memory: set
    /// [`Request::memory_limit`](crate::Request::memory_limit) to the same value.
    #[must_use]
    pub fn memory(self, bytes: u64) -> World {
        let stated = Some(rounded_down(bytes));
        let size = Some(rounded_up(bytes));
        let differs = |mount: &Mount| match mount {
            Mount::Proc(ProcMount { system, .. }) => system.is_some_and(|system| system != stated),
            Mount::Tmpfs(tmpfs) => is_bounded_by_memory(tmpfs) && tmpfs.memory != size,
            _ => false,
        };
        if !self.mounts.iter().any(differs) {
            return self;
        }
        self.with(|world| {
            for mount in &mut world.mounts {
                match mount {
                    Mount::Proc(ProcMount {
                        system: Some(system),
                        ..
                    }) => *system = stated,
                    Mount::Tmpfs(tmpfs) if is_bounded_by_memory(tmpfs) => tmpfs.memory = size,
                    _ => {}
                }
            }
        })
    }

    /// Adds the system's programs and libraries, read-only.
    #[must_use]
    pub fn system(mut self) -> World {
        for path in SYSTEM.into_iter().chain(SYSTEM_CONFIGURATION) {
            // With a merged /usr, /bin and similar directories are links (file-hierarchy(7)).
            if let Ok(target) = std::fs::read_link(path) {
                self = self.mount(Mount::symlink(target, path));
            } else if Path::new(path).exists() {
                self = self.mount(Mount::read_only(path, path));
            }
        }
        self
    }

    /// Adds a directory with the devices null, zero, full, random and urandom. It also contains
    /// links to the run's own descriptors, which work if a procfs is mounted at /proc.
    #[must_use]
    pub fn dev(self, at: impl AsRef<Path>) -> World {
        self.mount(Mount::devices(at.as_ref()))
    }

    /// Appends a mount operation.
    #[must_use]
    pub fn mount(self, mount: impl Into<Mount>) -> World {
        let mount = mount.into();
        let changes_profile = self.default_seccomp && matches!(mount, Mount::Terminals { .. });
        let world = self.with(|world| world.mounts.push(mount));
        if changes_profile {
            world.default_seccomp()
        } else {
            world
        }
    }

    /// Adds /dev/pts and /dev/ptmx, with which a program can create up to 16 pseudo-terminals, as
    /// `script` and pexpect do. Each run has its own. The default seccomp profile then also allows
    /// the changes of a terminal's modes and size that such programs make.
    ///
    /// A seccomp program cannot distinguish terminals. So do not pass a terminal of the caller to a
    /// run in such a world: the program could turn off its echo, for example.
    ///
    /// ```
    /// use millibox::{Outcome, Request, Supervisor, World};
    ///
    /// let Ok(supervisor) = Supervisor::start() else { return };
    /// let request = Request::new("/usr/bin/script")
    ///     .args(["--quiet", "--return", "--command", "tty", "/dev/null"])
    ///     .world(&World::standard().terminals());
    /// assert_eq!(supervisor.run(&request).unwrap().wait().unwrap().outcome, Outcome::Exited(0));
    /// ```
    #[must_use]
    pub fn terminals(self) -> World {
        self.mount(Mount::terminals("/dev/pts"))
    }

    /// Adds a file or directory of the host, read-only, including its submounts. Both paths must be
    /// absolute, or the request is rejected.
    #[must_use]
    pub fn read_only(self, source: impl AsRef<Path>, at: impl AsRef<Path>) -> World {
        self.mount(Mount::read_only(source.as_ref(), at.as_ref()))
    }

    /// Adds a file or directory of the host, including its submounts. The run may write wherever
    /// the supervisor's user may write. Both paths must be absolute, or the request is rejected.
    #[must_use]
    pub fn read_write(self, source: impl AsRef<Path>, at: impl AsRef<Path>) -> World {
        self.mount(Mount::read_write(source.as_ref(), at.as_ref()))
    }

    /// Sets the user id inside the sandbox. The default is the user id outside the sandbox.
    /// `u32::MAX` is not valid.
    #[must_use]
    pub fn uid(self, uid: u32) -> World {
        self.with(|world| world.uid = Some(uid))
    }

    /// Sets the group id inside the sandbox. The default is the group id outside the sandbox.
    /// `u32::MAX` is not valid.
    #[must_use]
    pub fn gid(self, gid: u32) -> World {
        self.with(|world| world.gid = Some(gid))
    }

    /// Sets the network: none, or a loopback interface that only this run uses.
    ///
    /// Without a network the default profile refuses sockets of AF_INET, AF_INET6 and AF_NETLINK
    /// with EAFNOSUPPORT.
    #[must_use]
    pub fn network(self, network: Network) -> World {
        let default_seccomp = self.default_seccomp;
        let terminals = self.has_terminals();
        self.with(|world| {
            world.network = network;
            if default_seccomp {
                world.seccomp = Some(default_program(network, terminals).to_vec());
            }
        })
    }

    fn has_terminals(&self) -> bool {
        let is_terminals = |mount: &Mount| matches!(mount, Mount::Terminals { .. });
        self.mounts.iter().any(is_terminals)
    }

    /// Sets the default seccomp profile, which every new world has.
    #[must_use]
    pub fn default_seccomp(mut self) -> World {
        self.default_seccomp = true;
        let network = self.network;
        self.network(network)
    }

    /// Replaces the default seccomp profile with a policy.
    ///
    /// ```
    /// use millibox::World;
    /// use millibox::seccomp::Policy;
    ///
    /// let policy: Policy = r#"
    ///     name = "no sockets"
    ///     description = "Everything else."
    ///     default = "allow"
    ///
    ///     [[rule]]
    ///     action = "errno:EACCES"
    ///     why = "The program must not communicate."
    ///     syscalls = ["socket", "socketpair"]
    /// "#
    /// .parse()?;
    /// let world = World::minimal().seccomp(&policy)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The compiled policy is too long.
    pub fn seccomp(self, policy: &millibox_seccomp::Policy) -> Result<World, Error> {
        let program = millibox_seccomp::compile(policy, Arch::native()).map_err(|error| {
            RequestMistake::SeccompPolicy {
                policy: policy.name().to_owned(),
                error,
            }
        })?;
        let policy = Arc::new(policy.clone());
        let world = self.with_seccomp(Some(program.as_bytes()));
        Ok(world.with(|world| world.policy = Some(policy)))
    }

    /// Replaces the default profile with a compiled seccomp program (`struct sock_filter[]`). The
    /// program must allow execveat(2) with any arguments, or no program can be executed.
    ///
    /// # Errors
    /// The kernel would reject the program, or it refuses execveat(2).
    pub fn seccomp_program(self, program: &[u8]) -> Result<World, Error> {
        let program = Program::from_bytes(program).map_err(RequestMistake::SeccompProgram)?;
        let allow = 0x7fff_0000;
        let native = Arch::native();
        let execveat = native.number("execveat").unwrap_or(0);
        match millibox_seccomp::constant_action(&program, native, execveat) {
            // The answer depends on the arguments of the call.
            None => {}
            Some(action) if action == allow => {}
            Some(action) => {
                return Err(RequestMistake::SeccompRefusesExec { action }.into());
            }
        }
        Ok(self.with_seccomp(Some(program.as_bytes())))
    }

    /// Reads a compiled seccomp program from the beginning of a file; see
    /// [`World::seccomp_program`].
    ///
    /// # Errors
    /// The descriptor cannot be read at an offset, or the program is not valid.
    pub fn seccomp_descriptor(self, descriptor: impl AsFd) -> Result<World, Error> {
        let bytes = read_all(descriptor.as_fd())?;
        self.seccomp_program(&bytes)
    }

    /// Removes the seccomp program. Namespaces, dropped capabilities and limits still apply, but
    /// the program can reach all system calls of the kernel. Use it for measuring only.
    #[must_use]
    pub fn without_seccomp(self) -> World {
        self.with_seccomp(None)
    }

    /// The mount operations in order.
    pub fn mounts(&self) -> &[Mount] {
        &self.mounts
    }

    /// The sources of bind mounts, which are paths on the host.
    pub fn sources(&self) -> impl Iterator<Item = PathBuf> {
        self.mounts.iter().filter_map(|mount| match mount {
            Mount::Bind(bind) => Some(bind.source().to_owned()),
            _ => None,
        })
    }

    /// Returns the same world with runs that are copies of a program.
    pub(crate) fn with_program(self, program: millibox_wire::Prepare) -> World {
        self.with(|world| world.program = Some(program))
    }

    /// Returns the same world with runs that execute their own program.
    pub(crate) fn without_program(self) -> World {
        self.with(|world| world.program = None)
    }

    /// The compiled seccomp program, and the policy from which it was compiled, if known.
    pub(crate) fn rules(&self) -> Rules {
        let program = self.seccomp.as_deref();
        let policy = if self.default_seccomp {
            let has_loopback = self.network == Network::Loopback;
            Some(default_profile(has_loopback, self.has_terminals()))
        } else {
            self.policy.as_deref().cloned()
        };
        Rules {
            program: program.and_then(|bytes| Program::from_bytes(bytes).ok()),
            policy,
        }
    }

    fn with_seccomp(mut self, program: Option<Vec<u8>>) -> World {
        self.default_seccomp = false;
        self.policy = None;
        self.with(|world| world.seccomp = program)
    }

    fn with(mut self, change: impl FnOnce(&mut World)) -> World {
        change(&mut self);
        self.encoded = Arc::default();
        self
    }

    /// The mistakes in the world.
    pub(crate) fn mistakes(&self) -> &[RequestMistake] {
        self.encoded().err().unwrap_or_default()
    }

    /// Encodes the world for the supervisor, with the identities of its mount sources' current
    /// files. Returns `None` if the world has mistakes.
    pub(crate) fn located(&self) -> Option<Vec<u8>> {
        let world = self.encoded().ok()?;
        let sources = self.mounts.iter().map(sources::find).collect();
        Some(Located::encoding(world, &sources))
    }

    fn encoded(&self) -> Result<&[u8], &[RequestMistake]> {
        let encoded = self.encoded.get_or_init(|| self.encode());
        encoded.as_deref().map_err(Vec::as_slice)
    }

    fn encode(&self) -> Result<Vec<u8>, Vec<RequestMistake>> {
        let wire = millibox_wire::World {
            mounts: self.mounts.iter().map(convert::mount_to_wire).collect(),
            uid: self.uid,
            gid: self.gid,
            network: network_to_wire(self.network),
            seccomp: self.seccomp.clone(),
            prepare: self.program.clone(),
        };
        let mut mistakes: Vec<RequestMistake> = wire
            .mounts
            .iter()
            .filter_map(|mount| mount.check().err())
            .map(RequestMistake::World)
            .collect();
        for (name, id) in [("user id", self.uid), ("group id", self.gid)] {
            if id == Some(u32::MAX) {
                let name = name.to_owned();
                mistakes.push(WorldProblem::NoId { name }.into());
            }
        }
        if mistakes.is_empty() {
            Ok(millibox_wire::encode(&wire))
        } else {
            Err(mistakes)
        }
    }
}

impl Default for World {
    fn default() -> World {
        World::minimal()
    }
}

fn network_to_wire(network: Network) -> millibox_wire::Network {
    match network {
        Network::None => millibox_wire::Network::None,
        Network::Loopback => millibox_wire::Network::Loopback,
    }
}

/// The default profile for each kind of network, with or without pseudo-terminals. `build.rs`
/// compiles it.
fn default_program(network: Network, terminals: bool) -> &'static [u8] {
    match (network, terminals) {
        (Network::None, false) => include_bytes!(concat!(env!("OUT_DIR"), "/default.bpf")),
        (Network::None, true) => include_bytes!(concat!(env!("OUT_DIR"), "/terminal.bpf")),
        (Network::Loopback, false) => include_bytes!(concat!(env!("OUT_DIR"), "/loopback.bpf")),
        (Network::Loopback, true) => {
            include_bytes!(concat!(env!("OUT_DIR"), "/loopback_terminal.bpf"))
        }
    }
}

fn read_all(descriptor: BorrowedFd) -> Result<Vec<u8>, Error> {
    const MAX_PROGRAM_BYTES: usize = millibox_seccomp::MAX_INSTRUCTIONS * 8 + 8;
    let mut bytes = vec![0; MAX_PROGRAM_BYTES];
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::io::pread(descriptor, &mut bytes[filled..], filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(rustix::io::Errno::SPIPE) => {
                return Err(RequestMistake::SeccompNotSeekable.into());
            }
            Err(errno) => return Err(Error::system("read the seccomp program")(errno)),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
