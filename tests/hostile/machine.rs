//! The state that all cases share: backends, supervisors, and objects of the host that programs try
//! to reach.

#![allow(
    unsafe_code,
    reason = "it creates keys and shared memory by plain system calls"
)]

use crate::innocent::Innocents;
use millibox::{Backend, BackendChoice, Builder, Supervisor};
use millibox_tests::{Footprint, eventually, is_root};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::Read;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

/// The configuration of a supervisor. Cases with the same configuration share supervisors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kind {
    pub backend: BackendKey,
    pub separate_pid1: bool,
    pub slots: usize,
    /// With one runner for each slot, a run certainly has the runner of the run before.
    pub has_one_runner: bool,
}

impl Kind {
    pub fn builder(self) -> Builder {
        let builder = Supervisor::builder()
            .backend(self.backend.choice())
            .slots(self.slots)
            .separate_pid1(self.separate_pid1);
        match self.has_one_runner {
            true => builder.runners_per_slot(1),
            false => builder,
        }
    }
}

/// [`Backend`] as a key of maps and records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum BackendKey {
    Cgroup2,
    Hybrid,
    Rlimit,
}

impl BackendKey {
    pub const ALL: [BackendKey; 3] = [BackendKey::Cgroup2, BackendKey::Hybrid, BackendKey::Rlimit];

    pub fn name(self) -> String {
        self.backend().to_string()
    }

    pub fn backend(self) -> Backend {
        match self {
            BackendKey::Cgroup2 => Backend::Cgroup2,
            BackendKey::Hybrid => Backend::Hybrid,
            BackendKey::Rlimit => Backend::Rlimit,
        }
    }

    fn choice(self) -> BackendChoice {
        match self {
            BackendKey::Cgroup2 => BackendChoice::Cgroup2,
            BackendKey::Hybrid => BackendChoice::Hybrid,
            BackendKey::Rlimit => BackendChoice::Rlimit,
        }
    }
}

/// The host, which must stay unchanged.
#[derive(Debug)]
pub struct Machine {
    /// The directory for executables.
    pub executables: PathBuf,
    /// User and group of the runs, outside the sandbox.
    pub ids: (u32, u32),
    /// A port of 127.0.0.1 on which this process listens.
    pub port: u16,
    /// An abstract socket on which this process listens.
    pub socket: String,
    pub host_name: String,
    /// The mount point of the cgroup hierarchies.
    pub cgroups: Option<PathBuf>,
    /// The runs that are compared with those of a fresh supervisor.
    pub innocents: Innocents,
    /// The times of devices, which belong to the host.
    device_times: Mutex<Vec<(&'static str, [i64; 4])>>,
    sentinel: Mutex<Child>,
    idle: Mutex<HashMap<Kind, Vec<Supervisor>>>,
    gone: Mutex<Vec<Footprint>>,
    _listeners: (TcpListener, UnixListener),
    _planted: Vec<OwnedFd>,
    segment: i32,
}

/// The key of the host's System V shared memory, without the port. The port distinguishes test
/// executables that run at the same time.
const SEGMENT_KEY: i32 = 0x4d42_0000;
/// The name of a key in the client's session keyring.
const KEY_NAME: &std::ffi::CStr = c"millibox-hostile";

impl Machine {
    /// Creates the objects that programs search for. Returns the available backends, and the other
    /// backends with the reasons.
    pub fn new() -> (Machine, Vec<BackendKey>, Vec<(BackendKey, String)>) {
        let (mut available, mut missing) = (Vec::new(), Vec::new());
        let (mut ids, mut idle) = ((0, 0), HashMap::new());
        // The usual soft limit on open files bounds the descriptors in flight of a user (unix(7)).
        let limit = getrlimit(Resource::Nofile).maximum;
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: limit.map(|limit| limit.min(1024)),
                maximum: limit,
            },
        );
        // Supervisors could inherit these descriptors, so they must exist before the first
        // supervisor starts.
        let planted = planted_descriptors();
        plant_key();
        for backend in BackendKey::ALL {
            let kind = Kind {
                backend,
                separate_pid1: false,
                slots: 1,
                has_one_runner: true,
            };
            match kind.builder().start() {
                Ok(supervisor) => {
                    ids = supervisor.info().ids();
                    idle.insert(kind, vec![supervisor]);
                    available.push(backend);
                }
                Err(error) => missing.push((backend, error.to_string())),
            }
        }
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = tcp.local_addr().expect("an address").port();
        let key = SEGMENT_KEY | i32::from(port);
        let socket = format!("millibox-hostile-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&socket).expect("a name");
        let unix = UnixListener::bind_addr(&address).expect("an abstract socket");
        // SAFETY: the call takes numbers only. `finish` removes the segment.
        let segment = unsafe { libc::shmget(key, 4096, libc::IPC_CREAT | 0o666) };
        let machine = Machine {
            executables: crate::compile::directory(),
            ids,
            port,
            socket,
            host_name: rustix::system::uname()
                .nodename()
                .to_string_lossy()
                .into_owned(),
            cgroups: Some(PathBuf::from("/sys/fs/cgroup")).filter(|path| path.is_dir()),
            innocents: Innocents::default(),
            device_times: Mutex::new(device_times()),
            sentinel: Mutex::new(sentinel(ids)),
            idle: Mutex::new(idle),
            gone: Mutex::default(),
            _listeners: (tcp, unix),
            _planted: planted,
            segment,
        };
        (machine, available, missing)
    }

    /// Returns a supervisor for exclusive use by one case. Earlier cases may have used it.
    pub fn supervisor(&self, kind: Kind) -> Result<Supervisor, String> {
        if let Some(supervisor) = self
            .idle
            .lock()
            .expect("no panic")
            .get_mut(&kind)
            .and_then(Vec::pop)
        {
            return Ok(supervisor);
        }
        kind.builder().start().map_err(|error| error.to_string())
    }

    /// Takes back a supervisor so that other cases can use it. The supervisor of a failed case is
    /// dropped instead.
    pub fn give_back(&self, kind: Kind, supervisor: Supervisor) {
        self.idle
            .lock()
            .expect("no panic")
            .entry(kind)
            .or_default()
            .push(supervisor);
    }

    /// The id of a process that belongs to the user of the runs.
    pub fn sentinel(&self) -> u32 {
        self.sentinel.lock().expect("no panic").id()
    }

    /// Reports changes to the host.
    pub fn harmed(&self) -> Vec<String> {
        let mut harmed = Vec::new();
        if !matches!(self.sentinel.lock().expect("no panic").try_wait(), Ok(None)) {
            harmed.push("a process of the host was ended".to_owned());
        }
        if rustix::system::uname().nodename().to_string_lossy() != self.host_name {
            harmed.push("the host's name has changed".to_owned());
        }
        // A running program may hold a lock for a moment.
        let free = || {
            let null = std::fs::File::open("/dev/null");
            null.is_ok_and(|null| flock(null, FlockOperation::NonBlockingLockExclusive).is_ok())
        };
        if !eventually(Duration::from_secs(20), free) {
            harmed.push("/dev/null of the host is locked".to_owned());
        }
        let mut times = self.device_times.lock().expect("no panic");
        for (time, now) in times.iter_mut().zip(device_times()) {
            if *time != now {
                harmed.push(format!("the times of {} of the host have changed", now.0));
                *time = now;
            }
        }
        harmed
    }

    /// Ends all supervisors. Reports their remains and changes to the host.
    pub fn finish(&self) -> Vec<String> {
        let all: Vec<Supervisor> = self
            .idle
            .lock()
            .expect("no panic")
            .drain()
            .flat_map(|(_, idle)| idle)
            .collect();
        let mut gone = std::mem::take(&mut *self.gone.lock().expect("no panic"));
        gone.extend(all.iter().map(Footprint::of));
        gone.extend(self.innocents.finish());
        drop(all);
        eventually(Duration::from_secs(5), || {
            gone.iter().all(|gone| gone.remaining().is_empty())
        });
        let mut left: Vec<String> = gone
            .iter()
            .map(Footprint::remaining)
            .filter(|left| !left.is_empty())
            .collect();
        left.extend(self.harmed());
        // SAFETY: the call takes numbers only, and `new` created the segment.
        unsafe { libc::shmctl(self.segment, libc::IPC_RMID, std::ptr::null_mut()) };
        let mut sentinel = self.sentinel.lock().expect("no panic");
        let _ = sentinel.kill();
        let _ = sentinel.wait();
        left
    }
}

/// Starts a process of the runs' user. It ends with this process, which keeps its standard input
/// open.
fn sentinel(ids: (u32, u32)) -> Child {
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", "echo; read x"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .current_dir("/");
    if is_root() {
        shell.uid(ids.0).gid(ids.1);
    }
    let mut child = shell.spawn().expect("a shell");
    // The first byte arrives after the exec.
    let mut byte = [0];
    let _ = child.stdout.as_mut().map(|stdout| stdout.read(&mut byte));
    child
}

/// Returns the times of the last access and change of devices that worlds contain. Ordinary use of
/// these devices leaves the times unchanged.
fn device_times() -> Vec<(&'static str, [i64; 4])> {
    let times = |path: &'static str| {
        let file = std::fs::metadata(path).ok()?;
        let times = [
            file.atime(),
            file.atime_nsec(),
            file.mtime(),
            file.mtime_nsec(),
        ];
        Some((path, times))
    };
    let paths = [
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/dev/random",
        "/dev/urandom",
    ];
    paths.into_iter().filter_map(times).collect()
}

/// Opens descriptors that every child process inherits.
fn planted_descriptors() -> Vec<OwnedFd> {
    let open =
        |path: &str, flags| rustix::fs::open(path, flags, Mode::empty()).expect("a descriptor");
    vec![
        open("/", OFlags::RDONLY | OFlags::DIRECTORY),
        open("/", OFlags::PATH | OFlags::DIRECTORY),
        open("/proc/self/ns/mnt", OFlags::RDONLY),
    ]
}

/// Creates a key that every child process would possess.
fn plant_key() {
    let value = b"value";
    // SAFETY: the strings end with NUL, and the length is that of the value. Both calls may fail.
    unsafe {
        libc::syscall(libc::SYS_keyctl, libc::KEYCTL_JOIN_SESSION_KEYRING, 0usize);
        libc::syscall(
            libc::SYS_add_key,
            c"user".as_ptr(),
            KEY_NAME.as_ptr(),
            value.as_ptr(),
            value.len(),
            libc::KEY_SPEC_SESSION_KEYRING,
        );
    }
}
