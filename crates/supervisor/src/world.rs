//! The worlds that the supervisor knows, and their templates.
//!
//! The worlds form a bounded cache, which drops the least recently used worlds that no request and
//! no runner uses.

use crate::cpus;
use crate::launch::{TemplateFigures, UNLIMITED};
use crate::prepared::Order;
use crate::setup::Setup;
use crate::spawner::Spawner;
use crate::sys::{self, Errno, calls, process};
use crate::template::{self, Plan};
use millibox_seccomp::Program;
use millibox_wire::frame::MAX_INLINE;
use millibox_wire::{
    Hint, Located, Mount, Outcome, Prepare, RunError, Step, TemplateProblem, World, WorldError,
    WorldProblem, decode, path,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, OwnedFd};

/// The time for which runs start cold, or fail, after a template could not be prepared.
const RETRY_INTERVAL_NS: u64 = 10_000_000_000;

/// The maximum number of worlds in the cache, unless more are in use at the same time.
const MAX_WORLDS: usize = 64;

/// The number of a known world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct WorldId(pub u32);

enum Template {
    New,
    Building {
        mounter: i32,
        socket: OwnedFd,
        plan: Plan,
    },
    Built {
        namespace: OwnedFd,
        order: Box<Order>,
    },
}

struct KnownWorld {
    key: Box<[u8]>,
    world: World,
    /// Whether the world's programs may choose their CPUs.
    may_choose_cpus: bool,
    makes_namespaces: bool,
    template: Template,
    /// The reason why the template of the world's program could not be prepared, and the time
    /// (`CLOCK_MONOTONIC_RAW`).
    problem: Option<(TemplateProblem, u64)>,
    /// The lowest CPU time that a template of the world's program has used until it was ready;
    /// `UNLIMITED` if unknown.
    least_template_cpu_ns: u64,
    /// The number of requests that use the world.
    users: usize,
    last_used: u64,
}

/// The cache of worlds.
#[derive(Default)]
pub struct Worlds {
    known: BTreeMap<u32, KnownWorld>,
    by_key: BTreeMap<Box<[u8]>, u32>,
    next: u32,
    clock: u64,
}

impl Worlds {
    /// Finds or adds the world that these bytes encode as a [`Located`]. `devices` is the mount
    /// point of all devices as one mount, if that mount exists.
    pub fn find_or_add(
        &mut self,
        bytes: &[u8],
        devices: Option<&str>,
    ) -> Result<WorldId, WorldError> {
        if let Some(&id) = self.by_key.get(bytes) {
            return Ok(WorldId(id));
        }
        let located: Located =
            decode(bytes).map_err(|error| WorldProblem::Malformed(error.to_string()))?;
        let Located { world, .. } = crate::devices::expand(located, devices);
        template::plan(&world)?;
        let program = world
            .seccomp
            .as_deref()
            .map(Program::from_bytes)
            .transpose();
        let program = program.map_err(|error| WorldProblem::Seccomp(error.to_string()))?;
        let may_choose_cpus = cpus::may_choose(program.as_ref());
        let makes_namespaces = cpus::may_make_namespaces(program.as_ref());
        // The world must fit into a message to the spawner.
        let max_bytes = MAX_INLINE - 1024;
        if bytes.len() > max_bytes {
            return Err(WorldProblem::TooLong {
                bytes: bytes.len() as u64,
                max_bytes: max_bytes as u64,
            }
            .into());
        }
        let id = self.next;
        self.next += 1;
        let key: Box<[u8]> = bytes.into();
        self.by_key.insert(key.clone(), id);
        let template = Template::New;
        self.known.insert(
            id,
            KnownWorld {
                key,
                world,
                may_choose_cpus,
                makes_namespaces,
                template,
                problem: None,
                least_template_cpu_ns: UNLIMITED,
                users: 0,
                last_used: 0,
            },
        );
        Ok(WorldId(id))
    }

    /// Registers a request that uses this world.
    pub fn hold(&mut self, id: WorldId) {
        self.clock += 1;
        if let Some(known) = self.known.get_mut(&id.0) {
            known.users += 1;
            known.last_used = self.clock;
        }
    }

    /// Unregisters a request. If no other request waits for the mounter of the world, the mounter
    /// is killed, because it may hang on a file system. The caller must reap the returned process.
    /// The next request starts another mounter.
    pub fn release(&mut self, id: WorldId) -> Option<i32> {
        let known = self.known.get_mut(&id.0)?;
        known.users -= 1;
        let Template::Building { mounter, .. } = known.template else {
            return None;
        };
        if known.users > 0 {
            return None;
        }
        known.template = Template::New;
        let _ = calls::kill(mounter, libc::SIGKILL);
        Some(mounter)
    }

    /// Drops a template that has changed, so that the next request builds a new one.
    pub fn forget_template(&mut self, id: WorldId) {
        if let Some(known) = self.known.get_mut(&id.0)
            && matches!(known.template, Template::Built { .. })
        {
            known.template = Template::New;
        }
    }

    /// Whether runners can receive this world.
    pub fn is_built(&self, id: WorldId) -> bool {
        matches!(
            self.known.get(&id.0),
            Some(KnownWorld {
                template: Template::Built { .. },
                ..
            })
        )
    }

    /// The order for a runner, and the descriptor of the template.
    pub fn order(&self, id: WorldId) -> Option<(&Order, i32)> {
        match self.known.get(&id.0)? {
            KnownWorld {
                template: Template::Built { namespace, order },
                ..
            } => Some((order, namespace.as_raw_fd())),
            _ => None,
        }
    }

    /// The program of which the runs in a world are copies.
    pub fn program(&self, id: WorldId) -> Option<&Prepare> {
        self.known.get(&id.0)?.world.prepare.as_ref()
    }

    /// Returns the same world with runs that execute their programs.
    pub fn without_program(
        &mut self,
        id: WorldId,
        devices: Option<&str>,
    ) -> Result<WorldId, WorldError> {
        let Some(known) = self.known.get(&id.0) else {
            return Ok(id);
        };
        let mut located: Located =
            decode(&known.key).map_err(|error| WorldProblem::Malformed(error.to_string()))?;
        located.world.prepare = None;
        self.find_or_add(&millibox_wire::encode(&located), devices)
    }

    /// Records that the template of a world's program could not be prepared.
    pub fn set_problem(&mut self, id: WorldId, problem: TemplateProblem, at_ns: u64) {
        if let Some(known) = self.known.get_mut(&id.0) {
            known.problem = Some((problem, at_ns));
        }
    }

    /// The lowest CPU time that a template of a world's program has used until it was ready. Each
    /// run is charged for this time. The time of one start depends on the load of the machine at
    /// that moment, and would be charged to all runs of that template.
    pub fn least_template_cpu_ns(&self, id: WorldId) -> u64 {
        self.known
            .get(&id.0)
            .map_or(UNLIMITED, |known| known.least_template_cpu_ns)
    }

    /// Records the figures of a run's template.
    pub fn record_template(&mut self, id: WorldId, figures: &TemplateFigures) {
        if let Some(known) = self.known.get_mut(&id.0)
            && figures.is_template != 0
        {
            known.least_template_cpu_ns = known.least_template_cpu_ns.min(figures.cpu_ns);
        }
    }

    /// The problem of a world's program, if it is so recent that the next run should not try again.
    pub fn recent_problem(&self, id: WorldId) -> Option<TemplateProblem> {
        let (problem, at_ns) = self.known.get(&id.0)?.problem?;
        let age_ns = calls::monotonic_raw_ns().saturating_sub(at_ns);
        (age_ns < RETRY_INTERVAL_NS).then_some(problem)
    }

    /// Whether programs in this world may choose CPUs that their requests do not name.
    pub fn may_choose_cpus(&self, id: WorldId) -> bool {
        self.known
            .get(&id.0)
            .is_none_or(|known| known.may_choose_cpus)
    }

    /// One of a world's mounts, for messages.
    pub fn mount(&self, id: WorldId, number: usize) -> Option<&Mount> {
        self.known.get(&id.0)?.world.mounts.get(number)
    }

    /// Starts the mounter of a new world, and returns the socket to watch.
    pub fn start_mounter(
        &mut self,
        id: WorldId,
        setup: &Setup,
        spawner: &Spawner,
    ) -> Result<Option<i32>, Outcome> {
        let Some(known) = self.known.get_mut(&id.0) else {
            return Ok(None);
        };
        if !matches!(known.template, Template::New) {
            return Ok(None);
        }
        let plan = template::plan(&known.world).map_err(invalid)?;
        let (ours, its) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(|errno| template_failed(errno.into()))?;
        let mounter = spawner
            .mounter(&known.key, &its, &setup.client)
            .map_err(template_failed)?;
        let socket = ours.as_raw_fd();
        known.template = Template::Building {
            mounter,
            socket: ours,
            plan,
        };
        // The ids inside default to those outside.
        known.world.uid.get_or_insert(setup.uid);
        known.world.gid.get_or_insert(setup.gid);
        Ok(Some(socket))
    }

    /// Reads the message of a mounter. The error is the outcome of the runs that wait for the
    /// world.
    pub fn handle_mounter(&mut self, id: WorldId) -> Result<(), Outcome> {
        let Some(known) = self.known.get_mut(&id.0) else {
            return Ok(());
        };
        let Template::Building { socket, .. } = &known.template else {
            return Ok(());
        };
        let mut bytes = vec![0; 4096];
        let received = calls::receive(socket.as_raw_fd(), &mut bytes, libc::MSG_DONTWAIT);
        if matches!(received, Err(Errno(libc::EAGAIN))) {
            // The event belongs to an earlier mounter of this world, which was killed.
            return Ok(());
        }
        let Template::Building { mounter, plan, .. } =
            std::mem::replace(&mut known.template, Template::New)
        else {
            return Ok(());
        };
        let waited = process::wait(mounter, libc::__WALL);
        let received = received.map_err(template_failed)?;
        let namespace = sys::adopt(received.descriptors[0]);
        match (bytes.get(..received.length), namespace) {
            (Some([b'B', s0, s1, s2, s3, s4, s5, s6, s7, directories @ ..]), Some(namespace)) => {
                let stage = u64::from_ne_bytes([*s0, *s1, *s2, *s3, *s4, *s5, *s6, *s7]);
                let directories: Vec<bool> = directories.iter().map(|&byte| byte != 0).collect();
                let order = Order {
                    uid: known.world.uid.unwrap_or(0),
                    gid: known.world.gid.unwrap_or(0),
                    network: known.world.network,
                    mounts: plan.run_mounts(&directories, stage),
                    seccomp: known.world.seccomp.clone(),
                    makes_namespaces: known.makes_namespaces,
                    program: known.world.prepare.clone(),
                };
                // The message also contains a byte for its kind.
                let length = 1 + millibox_wire::encode(&order).len();
                if length > MAX_INLINE {
                    let (bytes, max_bytes) = (length as u64, MAX_INLINE as u64);
                    return Err(invalid(
                        WorldProblem::RunMountsTooLong { bytes, max_bytes }.into(),
                    ));
                }
                known.template = Template::Built {
                    namespace,
                    order: Box::new(order),
                };
                Ok(())
            }
            (Some([b'F', numbers @ ..]), _) if numbers.len() == 12 => {
                let word = |at: usize| {
                    u32::from_ne_bytes([
                        numbers[at],
                        numbers[at + 1],
                        numbers[at + 2],
                        numbers[at + 3],
                    ])
                };
                let step = Step::from_number(word(0));
                let object = match known.world.mounts.get(word(8) as usize) {
                    Some(Mount::Bind { source, .. }) if step == Step::MountSource => {
                        path::shown(source)
                    }
                    Some(Mount::Bind { source, at, .. }) => {
                        format!("{} on {}", path::shown(source), path::shown(at))
                    }
                    Some(mount) => path::shown(mount.path()),
                    None => String::new(),
                };
                Err(Outcome::failed(
                    RunError::new(step)
                        .with_errno(word(4) as i32)
                        .with_subject(object),
                ))
            }
            _ => {
                let how = waited.map_or(-1, |waited| waited.status);
                let hint = Hint::Ended(process::end_of(how));
                Err(Outcome::failed(
                    RunError::new(Step::Template).with_hint(hint),
                ))
            }
        }
    }

    /// Drops a world whose template could not be built, so that the next request tries again.
    pub fn drop_failed(&mut self, id: WorldId) {
        if let Some(KnownWorld {
            template: Template::New,
            users: 0,
            ..
        }) = self.known.get(&id.0)
        {
            self.remove(id.0);
        }
    }

    fn remove(&mut self, id: u32) {
        if let Some(known) = self.known.remove(&id) {
            self.by_key.remove(&known.key);
        }
    }

    /// Drops the least recently used worlds beyond the bound. A runner that has prepared one of
    /// them keeps its namespace until it switches.
    pub fn trim(&mut self) {
        while self.known.len() > MAX_WORLDS {
            let oldest = self
                .known
                .iter()
                .filter(|(_, known)| {
                    known.users == 0 && !matches!(known.template, Template::Building { .. })
                })
                .min_by_key(|(_, known)| known.last_used)
                .map(|(id, _)| *id);
            match oldest {
                Some(id) => self.remove(id),
                None => return,
            }
        }
    }

    /// Kills all mounters.
    pub fn kill_mounters(&self) {
        for known in self.known.values() {
            if let Template::Building { mounter, .. } = &known.template {
                let _ = calls::kill(*mounter, libc::SIGKILL);
            }
        }
    }
}

/// The outcome of a run whose world is not valid.
fn invalid(error: WorldError) -> Outcome {
    Outcome::failed(RunError::new(Step::World).with_hint(Hint::World(error)))
}

/// The outcome of a run whose template could not be prepared.
fn template_failed(errno: Errno) -> Outcome {
    Outcome::failed(RunError::new(Step::Template).with_errno(errno.0))
}
