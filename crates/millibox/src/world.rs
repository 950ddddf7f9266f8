//! What a program sees.

use crate::{Error, RequestError};
use millibox_seccomp::{Arch, Program};
use millibox_wire::{Located, Mount, Network, Source, WorldProblem};
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxFlags, makedev, openat2, stat, statx,
};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Files, ids, network and system calls of a run. Cheap to clone.
///
/// Two runs with equal worlds share the prepared mount namespace, and the second one's
/// start is prepared while the first one runs. Worlds are equal if they are made in the same way and their sources are
/// the same files: asking for a run looks, without waiting, so a file or directory that has been put in another's place is what
/// the next run sees. What is mounted below a directory later is not seen.
#[derive(Debug, Clone)]
pub struct World {
    wire: millibox_wire::World,
    /// It has the default seccomp profile, which is another with a loopback interface.
    default_seccomp: bool,
    /// As the supervisor reads it, or what is wrong with it.
    encoded: Arc<OnceLock<Result<Vec<u8>, RequestError>>>,
}

/// Programs and libraries of the system, where a distribution puts them.
const SYSTEM: [&str; 6] = ["/bin", "/lib", "/lib32", "/lib64", "/sbin", "/usr"];
/// What the loader and `update-alternatives` need besides.
const SYSTEM_CONFIGURATION: [&str; 2] = ["/etc/alternatives", "/etc/ld.so.cache"];

impl World {
    /// An empty read-only root, the default seccomp profile, no network.
    pub fn empty() -> World {
        let wire = millibox_wire::World {
            seccomp: Some(default_profile(Network::None).to_vec()),
            ..Default::default()
        };
        World {
            wire,
            default_seccomp: true,
            encoded: Arc::default(),
        }
    }

    /// A minimal read-only root with the system's programs and libraries, a /dev of null,
    /// zero, full, random and urandom, a fresh writable /tmp, the default seccomp profile,
    /// no network. What is not there on the host is left out.
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

    /// Adds the system's programs and libraries, read-only.
    #[must_use]
    pub fn system(mut self) -> World {
        for path in SYSTEM.into_iter().chain(SYSTEM_CONFIGURATION) {
            // With a merged /usr, /bin and its like are links (file-hierarchy(7)).
            if let Ok(target) = std::fs::read_link(path) {
                self = self.mount(Mount::Symlink {
                    target: bytes(&target),
                    path: path.into(),
                });
            } else if Path::new(path).exists() {
                self = self.mount(Mount::read_only(path, path));
            }
        }
        self
    }

    /// Adds a directory with null, zero, full, random, urandom, and links to the run's own
    /// descriptors (which work if there is a procfs at /proc).
    #[must_use]
    pub fn dev(self, at: impl AsRef<Path>) -> World {
        self.mount(Mount::Devices {
            at: bytes(at.as_ref()),
        })
    }

    /// Adds a mount operation after those that are there.
    #[must_use]
    pub fn mount(self, mount: Mount) -> World {
        self.with(|wire| wire.mounts.push(mount))
    }

    /// Adds a file or directory of the host, read-only, with all below it. Both paths are absolute: with a relative
    /// one no run is taken in.
    #[must_use]
    pub fn read_only(self, source: impl AsRef<Path>, at: impl AsRef<Path>) -> World {
        self.mount(Mount::read_only(bytes(source.as_ref()), bytes(at.as_ref())))
    }

    /// Adds a file or directory of the host, writable as far as the supervisor's user may, with all below it. Both
    /// paths are absolute: with a relative one no run is taken in.
    #[must_use]
    pub fn read_write(self, source: impl AsRef<Path>, at: impl AsRef<Path>) -> World {
        self.mount(Mount::read_write(
            bytes(source.as_ref()),
            bytes(at.as_ref()),
        ))
    }

    /// User id inside, but `u32::MAX`, which is none to the kernel; without it the same as outside.
    #[must_use]
    pub fn uid(self, uid: u32) -> World {
        self.with(|wire| wire.uid = Some(uid))
    }

    /// Group id inside, but `u32::MAX`, which is none to the kernel; without it the same as outside.
    #[must_use]
    pub fn gid(self, gid: u32) -> World {
        self.with(|wire| wire.gid = Some(gid))
    }

    /// Network: none, or a loopback interface of the run's own.
    ///
    /// Without one the default profile refuses sockets of AF_INET, AF_INET6 and AF_NETLINK (EAFNOSUPPORT).
    #[must_use]
    pub fn network(self, network: Network) -> World {
        let default_seccomp = self.default_seccomp;
        self.with(|wire| {
            wire.network = network;
            if default_seccomp {
                wire.seccomp = Some(default_profile(network).to_vec());
            }
        })
    }

    /// The default seccomp profile, which a world has from the beginning.
    #[must_use]
    pub fn default_seccomp(mut self) -> World {
        self.default_seccomp = true;
        let network = self.wire.network;
        self.network(network)
    }

    /// A seccomp policy instead of the default profile.
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
    ///     why = "Nobody to talk to."
    ///     syscalls = ["socket", "socketpair"]
    /// "#
    /// .parse()?;
    /// let world = World::minimal().seccomp(&policy)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The policy is too long for a program.
    pub fn seccomp(self, policy: &millibox_seccomp::Policy) -> Result<World, Error> {
        let program = millibox_seccomp::compile(policy, Arch::native()).map_err(|error| {
            RequestError::SeccompPolicy {
                policy: policy.name().to_owned(),
                error,
            }
        })?;
        Ok(self.with_seccomp(Some(program.as_bytes())))
    }

    /// A compiled seccomp program (`struct sock_filter[]`) instead of the default profile.
    /// It must allow execveat(2) with any arguments, or no program can be executed.
    ///
    /// # Errors
    /// The bytes are no program that the kernel would take.
    pub fn seccomp_program(self, program: &[u8]) -> Result<World, Error> {
        let program = Program::from_bytes(program).map_err(RequestError::SeccompProgram)?;
        let allow = 0x7fff_0000;
        let native = Arch::native();
        let execveat = native.number("execveat").unwrap_or(0);
        match millibox_seccomp::constant_action(&program, native, execveat) {
            // The answer hangs on arguments: the kernel will tell.
            None => {}
            Some(action) if action == allow => {}
            Some(action) => {
                return Err(RequestError::SeccompRefusesExec { action }.into());
            }
        }
        Ok(self.with_seccomp(Some(program.as_bytes())))
    }

    /// A compiled seccomp program, read from a descriptor from its beginning.
    ///
    /// # Errors
    /// The descriptor cannot be read at an offset, or see [`World::seccomp_program`].
    pub fn seccomp_descriptor(self, descriptor: impl AsFd) -> Result<World, Error> {
        let bytes = read_all(descriptor.as_fd())?;
        self.seccomp_program(&bytes)
    }

    /// No seccomp program at all. Namespaces, dropped capabilities and limits still hold;
    /// but the kernel's whole surface is open to the program: for measuring only.
    #[must_use]
    pub fn without_seccomp(self) -> World {
        self.with_seccomp(None)
    }

    /// Mount operations, in order.
    pub fn mounts(&self) -> &[Mount] {
        &self.wire.mounts
    }

    /// Sources of binds: paths on the host.
    pub fn sources(&self) -> impl Iterator<Item = PathBuf> {
        self.wire.mounts.iter().filter_map(|mount| match mount {
            Mount::Bind { source, .. } => Some(PathBuf::from(std::ffi::OsStr::from_bytes(source))),
            _ => None,
        })
    }

    fn with_seccomp(mut self, program: Option<Vec<u8>>) -> World {
        self.default_seccomp = false;
        self.with(|wire| wire.seccomp = program)
    }

    fn with(mut self, change: impl FnOnce(&mut millibox_wire::World)) -> World {
        change(&mut self.wire);
        self.encoded = Arc::default();
        self
    }

    /// As the supervisor reads it, with what its sources are now.
    pub(crate) fn located(&self) -> Result<Vec<u8>, Error> {
        let encode = || {
            self.wire
                .mounts
                .iter()
                .try_for_each(Mount::check)
                .map_err(RequestError::World)?;
            for (method, id) in [("World::uid", self.wire.uid), ("World::gid", self.wire.gid)] {
                if id == Some(u32::MAX) {
                    return Err(WorldProblem::NoId {
                        method: method.to_owned(),
                    }
                    .into());
                }
            }
            Ok(millibox_wire::encode(&self.wire))
        };
        match self.encoded.get_or_init(encode) {
            Ok(bytes) => Ok(Located::encoding(
                bytes,
                &self.wire.mounts.iter().map(source).collect(),
            )),
            Err(error) => Err(error.clone().into()),
        }
    }
}

impl Default for World {
    fn default() -> World {
        World::minimal()
    }
}

/// How often a source is looked for before it is taken for one that the kernel does not remember: a look takes a
/// microsecond or two, another world a thousand.
const LOOKS: usize = 64;

/// What a mount's source is now, by what the kernel remembers: a file system that hangs (FUSE, NFS) must not keep our
/// caller waiting. What it does not remember, or what cannot be looked at, the builder of the world will see.
fn source(mount: &Mount) -> Source {
    let Mount::Bind {
        source, no_follow, ..
    } = mount
    else {
        return Source::None;
    };
    let path = source.as_slice();
    let resolve = if *no_follow {
        ResolveFlags::NO_SYMLINKS
    } else {
        ResolveFlags::NO_MAGICLINKS
    };
    let look = || {
        openat2(
            CWD,
            path,
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
            resolve | ResolveFlags::CACHED,
        )
    };
    // EAGAIN says that the kernel does not remember it, and also that a mount has come or gone anywhere on the machine
    // meanwhile (mount_lock in fs/namespace.c): where we are busy, that is one look of some.
    let mut found = look();
    for _ in 1..LOOKS {
        if !matches!(found, Err(Errno::AGAIN)) {
            break;
        }
        found = look();
    }
    let found = match found {
        Ok(found) => statx(
            found,
            "",
            AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC,
            StatxFlags::INO,
        )
        .map(|seen| {
            (
                makedev(seen.stx_dev_major, seen.stx_dev_minor),
                seen.stx_ino,
            )
        }),
        // Before Linux 5.12, or refused by a seccomp program around us.
        Err(Errno::NOSYS | Errno::INVAL | Errno::PERM) => {
            stat(path).map(|seen| (seen.st_dev, seen.st_ino))
        }
        Err(errno) => Err(errno),
    };
    match found {
        Ok((device, inode)) => Source::Is { device, inode },
        Err(_) => {
            static NEXT: AtomicU64 = AtomicU64::new(0);
            Source::Unknown(NEXT.fetch_add(1, Ordering::Relaxed))
        }
    }
}

fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

/// The default profile, compiled once for each network.
fn default_profile(network: Network) -> &'static [u8] {
    static PROGRAMS: [OnceLock<Vec<u8>>; 2] = [OnceLock::new(), OnceLock::new()];
    let (program, policy): (_, fn(&str) -> Option<millibox_seccomp::Policy>) = match network {
        Network::None => (&PROGRAMS[0], millibox_seccomp::profile),
        Network::Loopback => (&PROGRAMS[1], millibox_seccomp::profile_with_loopback),
    };
    program.get_or_init(|| {
        let policy = policy("default").expect("the default profile is built in");
        millibox_seccomp::compile(&policy, Arch::native())
            .expect("the default profile compiles")
            .as_bytes()
    })
}

fn read_all(descriptor: BorrowedFd) -> Result<Vec<u8>, Error> {
    const LONGEST: usize = millibox_seccomp::MAX_INSTRUCTIONS * 8 + 8;
    let mut bytes = vec![0; LONGEST];
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::io::pread(descriptor, &mut bytes[filled..], filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(rustix::io::Errno::SPIPE) => {
                return Err(RequestError::SeccompNotSeekable.into());
            }
            Err(errno) => return Err(Error::system("read the seccomp program")(errno)),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}
