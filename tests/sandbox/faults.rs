//! Injects a fault at every system call that a request needs. The fault is reported or makes no
//! difference. The run never has weaker isolation, the next request works, and nothing remains.
//!
//! The kernel itself provides the faults. `faulty` starts the supervisor under a seccomp listener,
//! so that the test can answer each call of the supervisor's processes, or kill a process at this
//! moment. The test first records a request. It then repeats the request once for each call, with a
//! fault at that call.
//!
//! `MILLIBOX_FAULTS=N` tries every fault with each call of a request, from the N-th call on,
//! instead of one fault with each. It tries every call of a start, instead of some chosen at
//! random.

#![allow(unsafe_code, reason = "answers seccomp notifications with ioctl(2)")]

use millibox::{Error, Outcome, Supervisor};
use millibox_tests::{
    Footprint, Random, builder, directory, eventually, executable, pipe, request, set_mode, skip,
    world_with_proc,
};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The process that makes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Keeper,
    Supervisor,
    Spawner,
    Mounter,
    Runner,
    Zygote,
    Pid1,
    Target,
}

/// A call: the `count`-th call with this number by this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    role: Role,
    number: i32,
    count: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The call returns this errno.
    Errno(i32),
    /// This process is killed while the call waits.
    Kill(Role),
    /// All runners of the caller are killed. The call waits until they and all their descendants
    /// are gone.
    NoRunners,
}

/// close(2) closes the descriptor even if it returns an error. The other calls have no errors.
const CANNOT_FAIL: [i64; 11] = [
    libc::SYS_close,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_set_tid_address,
    libc::SYS_umask,
    // These wait for existing children, with valid arguments.
    libc::SYS_wait4,
    libc::SYS_waitid,
];

const FAULTS: [Fault; 10] = [
    Fault::Errno(libc::ENOMEM),
    Fault::Kill(Role::Target),
    Fault::Errno(libc::EMFILE),
    Fault::Kill(Role::Pid1),
    Fault::Errno(libc::ENOSPC),
    Fault::Kill(Role::Zygote),
    Fault::Errno(libc::EAGAIN),
    Fault::Kill(Role::Runner),
    Fault::Kill(Role::Supervisor),
    Fault::Kill(Role::Spawner),
];

/// The name of the threads that answer the calls.
const ANSWER_THREAD: &str = "answers";

/// Runners of the single slot. One of them has a prepared run.
const RUNNERS_PER_SLOT: usize = 2;

#[derive(Default)]
struct Recording {
    /// How often each call was made since the recording began.
    counts: BTreeMap<(Role, i32), usize>,
    /// All calls, in order.
    seen: Vec<Point>,
    fault: Option<(Point, Fault)>,
    fired: bool,
    /// All processes that made a call.
    pids: BTreeSet<i32>,
    last: Option<Instant>,
}

/// The directory of `faulty`, and the recording of the processes that were started through it.
struct FaultInjector {
    directory: TempDir,
    watch: Arc<Mutex<Recording>>,
}

impl FaultInjector {
    fn new() -> FaultInjector {
        let directory = directory();
        let copy = directory.path().join("millibox-supervisor");
        std::fs::copy(executable("faulty"), &copy).expect("a copy of faulty");
        set_mode(&copy, 0o755);
        let real = executable("millibox-supervisor");
        std::fs::write(
            directory.path().join("supervisor"),
            real.as_os_str().as_encoded_bytes(),
        )
        .expect("a file");
        let listener = UnixListener::bind(directory.path().join("socket")).expect("a socket");
        set_mode(&directory.path().join("socket"), 0o777);
        let watch = Arc::new(Mutex::new(Recording::default()));
        let shared = watch.clone();
        std::thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let watch = shared.clone();
                let named = std::thread::Builder::new().name(ANSWER_THREAD.to_owned());
                named
                    .spawn(move || answer(&receive_listener(&socket), &watch))
                    .expect("a thread");
            }
        });
        FaultInjector { directory, watch }
    }

    fn watch(&self) -> MutexGuard<'_, Recording> {
        self.watch
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn executable(&self) -> PathBuf {
        self.directory.path().join("millibox-supervisor")
    }

    fn start(&self) -> Result<Supervisor, Error> {
        builder()
            .slots(1)
            .runners_per_slot(RUNNERS_PER_SLOT)
            .executable(self.executable())
            .start()
    }

    /// Starts a new recording, with this fault. Returns whether the previous fault happened; if
    /// not, it never will.
    fn arm(&self, fault: Option<(Point, Fault)>) -> bool {
        std::mem::replace(
            &mut *self.watch(),
            Recording {
                fault,
                ..Recording::default()
            },
        )
        .fired
    }

    /// Waits until no process has made a call for a while, and none waits for a CPU. The next run
    /// is then prepared.
    fn settle(&self, supervisor: &Supervisor) {
        let quiet = Duration::from_millis(8);
        let quiet = || self.watch().last.is_none_or(|last| last.elapsed() > quiet);
        eventually(Duration::from_secs(5), || {
            quiet() && all_sleep(supervisor) && quiet() && all_sleep(supervisor)
        });
    }
}

/// Returns whether all processes wait: those of the supervisor, and the threads that answer their
/// calls.
/// its calls.
fn all_sleep(supervisor: &Supervisor) -> bool {
    // The state is field 3, after the last ')' (proc_pid_stat(5)). A process that waits for a
    // vforked child is in state 'D'.
    let sleeps = |stat: PathBuf| {
        let stat = std::fs::read_to_string(stat).unwrap_or_default();
        !stat
            .rsplit(')')
            .next()
            .is_some_and(|fields| matches!(fields.trim_start().as_bytes().first(), Some(b'R')))
    };
    let threads = std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let is_answering = |thread: &PathBuf| {
        std::fs::read(thread.join("comm"))
            .is_ok_and(|name| name.trim_ascii() == ANSWER_THREAD.as_bytes())
    };
    millibox_tests::descendants(supervisor.pid())
        .iter()
        .all(|process| sleeps(format!("/proc/{}/stat", process.pid).into()))
        && threads
            .filter(is_answering)
            .all(|thread| sleeps(thread.join("stat")))
}

/// Receives the listener that `faulty` sends.
fn receive_listener(socket: &UnixStream) -> OwnedFd {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut pid = [0; 4];
    rustix::net::recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut pid)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )
    .expect("a message");
    let mut descriptors = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    let listener = descriptors
        .next()
        .and_then(|mut all| all.next())
        .expect("a listener");
    // The sender is a child of this process.
    let sender = rustix::process::Pid::from_raw(i32::from_ne_bytes(pid));
    let _ = rustix::process::waitpid(sender, rustix::process::WaitOptions::empty());
    listener
}

/// The role of a process. `None` if it is a program or has ended.
fn role(pid: i32) -> Option<Role> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap_or_default()
    };
    Some(match field("Name:").trim() {
        "millibox-supervi" => Role::Keeper,
        "millibox-supe" | "millibox-super" => Role::Supervisor,
        "millibox-nurse" => Role::Spawner,
        "millibox-mount" => Role::Mounter,
        "millibox-runner" => Role::Runner,
        // All three processes have this name. pid1 and target are in their own PID namespace.
        "millibox-zygote" => match field("NSpid:").split_whitespace().last() {
            Some("1") => Role::Pid1,
            Some("2") => Role::Target,
            _ => Role::Zygote,
        },
        _ => return None,
    })
}

// SECCOMP_IOCTL_NOTIF_RECV and _SEND (linux/seccomp.h), the same on x86-64 and aarch64.
const RECEIVE: u64 = 0xc050_2100;
const SEND: u64 = 0xc018_2101;

/// Answers calls until no process is left that could make one.
fn answer(listener: &OwnedFd, watch: &Mutex<Recording>) {
    loop {
        let mut ready = [rustix::event::PollFd::new(
            listener,
            rustix::event::PollFlags::IN,
        )];
        let _ = rustix::event::poll(&mut ready, None);
        if !ready[0].revents().contains(rustix::event::PollFlags::IN) {
            return;
        }
        let mut call = MaybeUninit::<libc::seccomp_notif>::zeroed();
        // SAFETY: the kernel requires zeroed memory of this size, and fills it.
        let call = unsafe {
            if libc::ioctl(listener.as_raw_fd(), RECEIVE, call.as_mut_ptr()) != 0 {
                continue; // The caller is dead.
            }
            call.assume_init()
        };
        let mut answer = libc::seccomp_notif_resp {
            id: call.id,
            val: 0,
            error: 0,
            flags: libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
        };
        let pid = call.pid as i32;
        if let Some(role) = role(pid) {
            let mut watch = watch
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner());
            let count = watch.counts.entry((role, call.data.nr)).or_default();
            *count += 1;
            let point = Point {
                role,
                number: call.data.nr,
                count: *count,
            };
            watch.seen.push(point);
            watch.pids.insert(pid);
            watch.last = Some(Instant::now());
            match watch.fault {
                Some((at, fault)) if at == point && !watch.fired => {
                    watch.fired = true;
                    match fault {
                        Fault::Errno(_) if CANNOT_FAIL.contains(&at.number.into()) => {}
                        Fault::Errno(errno) => {
                            answer.flags = 0;
                            answer.error = -errno;
                        }
                        Fault::Kill(victim) => kill(victim, role, pid),
                        Fault::NoRunners => kill_runners(pid),
                    }
                }
                _ => {}
            }
        }
        // SAFETY: the kernel reads a structure of this type.
        unsafe { libc::ioctl(listener.as_raw_fd(), SEND, &raw const answer) };
    }
}

/// Kills the caller itself if `whom` is its role, otherwise its nearest relative with this role.
fn kill(victim: Role, role: Role, pid: i32) {
    let parent = |pid: i32| millibox_tests::process(pid).map(|process| process.parent);
    let mut at = Some(pid);
    if victim == role {
        return millibox_tests::kill(pid, rustix::process::Signal::KILL);
    }
    while let Some(now) = at.filter(|now| *now > 1) {
        let below = millibox_tests::descendants(now as u32);
        if let Some(found) = below
            .iter()
            .find(|process| self::role(process.pid) == Some(victim))
        {
            return millibox_tests::kill(found.pid, rustix::process::Signal::KILL);
        }
        if self::role(now).is_none_or(|role| role <= Role::Supervisor) {
            return;
        }
        at = parent(now);
    }
}

/// Implements [`Fault::NoRunners`].
fn kill_runners(supervisor: i32) {
    let below = millibox_tests::descendants(supervisor as u32);
    let runners = below
        .iter()
        .filter(|process| role(process.pid) == Some(Role::Runner));
    // Listed before the kills, because orphans have another parent.
    let families: Vec<Vec<_>> = runners
        .map(|runner| millibox_tests::descendants(runner.pid as u32))
        .collect();
    for family in &families {
        millibox_tests::kill(family[0].pid, rustix::process::Signal::KILL);
    }
    let families: Vec<i32> = families
        .iter()
        .flatten()
        .map(|process| process.pid)
        .collect();
    eventually(Duration::from_secs(10), || {
        families
            .iter()
            .all(|pid| millibox_tests::process(*pid).is_none())
    });
}

/// The lines in which a run describes its isolation, without those that vary between runs.
fn walls(text: &str) -> Vec<String> {
    const VARIES: [&str; 12] = [
        "pending=",
        "Vm",
        "Rss",
        "Pid:",
        "voluntary",
        "nonvoluntary",
        "Cpus_allowed",
        "Mems",
        "HugetlbPages",
        "SigQ",
        "cpus=",
        "Threads",
    ];
    text.lines()
        .filter(|line| !VARIES.iter().any(|varies| line.starts_with(varies)))
        // Mount and parent ids, device numbers of fresh mounts.
        .map(|line| match line.split_once(" - ") {
            Some((mount, kind)) => {
                let fields: Vec<&str> = mount.split(' ').skip(3).collect();
                format!("{} - {kind}", fields.join(" "))
            }
            None => line.to_owned(),
        })
        .collect()
}

/// Asserts that two runs have the same isolation, and names the differences.
fn same_walls(what: &str, walls: &[String], expected: &[String]) {
    let without = |these: &[String], those: &[String]| -> Vec<String> {
        these
            .iter()
            .filter(|line| !those.contains(line))
            .cloned()
            .collect()
    };
    let (more, less) = (without(walls, expected), without(expected, walls));
    assert!(
        more.is_empty() && less.is_empty(),
        "{what}: the run has different walls: {more:#?} instead of {less:#?}"
    );
}

/// The result of a request: the walls of the run, or an error message.
enum Attempt {
    Ran(Vec<String>),
    Failed(String),
    /// The supervisor is dead, with this last message.
    Died(String),
}

fn try_request(supervisor: &Supervisor) -> Attempt {
    let (read, write) = pipe();
    let request = request(["walls"])
        .world(&world_with_proc())
        .real_time_limit(Duration::from_secs(50))
        .stdout(write);
    let run = supervisor.run(&request);
    drop(request);
    let result = run.and_then(|handle| handle.wait_timeout(millibox_tests::HANG_TIMEOUT));
    match result {
        Ok(Some(result)) => match &result.outcome {
            Outcome::Exited(0) => {
                let figures = result.figures;
                let cpu = figures.cpu_user_ns + figures.cpu_system_ns;
                assert!(
                    figures.peak_memory_bytes > 100_000 && figures.peak_memory_bytes < 64 << 20,
                    "{result:?}"
                );
                // At least a little time, but not that of earlier runs.
                assert!(
                    cpu > 100_000 && cpu <= 2 * figures.real_time_ns,
                    "{result:?}"
                );
                assert!(
                    figures.peak_processes.is_none_or(|peak| peak == 1),
                    "{result:?}"
                );
                Attempt::Ran(walls(&String::from_utf8_lossy(&millibox_tests::read_all(
                    read,
                ))))
            }
            Outcome::NotStarted(error) | Outcome::SandboxError(error) => {
                assert!(
                    error.errno.is_some() || error.hint.is_some(),
                    "no cause: {error:?}"
                );
                Attempt::Failed(error.to_string())
            }
            // Another process killed it, not the program.
            Outcome::Signaled(9) => Attempt::Failed("killed by signal KILL".to_owned()),
            _ => panic!("neither an error nor a result of the program: {result}"),
        },
        Ok(None) => panic!("no result"),
        Err(Error::Died(words)) => Attempt::Died(words),
        Err(error) => panic!("{error}"),
    }
}

fn assert_works(supervisor: &Supervisor, expected: &[String]) {
    match try_request(supervisor) {
        Attempt::Ran(walls) => same_walls("the next", &walls, expected),
        Attempt::Failed(why) | Attempt::Died(why) => panic!("the next request fails: {why}"),
    }
}

/// Numbers of descriptors and processes of the supervisor and its descendants.
fn size(supervisor: &Supervisor) -> (usize, usize) {
    let family = millibox_tests::descendants(supervisor.pid());
    let descriptors = |pid: i32| {
        std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, |entries| entries.flatten().count())
    };
    (
        family.iter().map(|process| descriptors(process.pid)).sum(),
        family.len(),
    )
}

/// The same numbers after every runner has had a run.
fn size_at_rest(injector: &FaultInjector, supervisor: &Supervisor, expected: &[String]) -> (usize, usize) {
    for _ in 0..4 {
        assert_works(supervisor, expected);
        injector.settle(supervisor);
    }
    size(supervisor)
}

#[derive(Debug, Default)]
struct Tally {
    points: usize,
    fired: usize,
    no_difference: usize,
    refused: usize,
    died: usize,
}

#[test]
fn fault_at_any_call_of_a_request_is_reported_or_harmless() {
    let injector = FaultInjector::new();
    let mut supervisor = match injector.start() {
        Ok(supervisor) => supervisor,
        Err(error) => return skip(&format!("no seccomp listener is available: {error}")),
    };
    let Attempt::Ran(expected) = try_request(&supervisor) else {
        panic!("the request fails without a fault")
    };
    assert!(expected.len() > 60, "{expected:?}");
    for _ in 0..4 {
        assert_works(&supervisor, &expected);
        injector.settle(&supervisor);
    }
    // Record one request, and the preparation after it.
    injector.arm(None);
    assert_works(&supervisor, &expected);
    injector.settle(&supervisor);
    let points = injector.watch().seen.clone();
    for role in [Role::Supervisor, Role::Zygote, Role::Pid1, Role::Target] {
        assert!(
            points.iter().any(|point| point.role == role),
            "{role:?} makes no call: {points:?}"
        );
    }
    let all = std::env::var("MILLIBOX_FAULTS")
        .ok()
        .map(|from| from.parse::<usize>().expect("a number"));
    let mut tally = Tally {
        points: points.len(),
        ..Tally::default()
    };
    let mut before = size_at_rest(&injector, &supervisor, &expected);
    for (index, point) in points.iter().enumerate().skip(all.unwrap_or(0)) {
        let these = if all.is_some() {
            0..FAULTS.len()
        } else {
            index % FAULTS.len()..index % FAULTS.len() + 1
        };
        for fault in &FAULTS[these] {
            // The kernel closes the descriptor even if close(2) returns an error.
            if i64::from(point.number) == libc::SYS_close && matches!(fault, Fault::Errno(_)) {
                continue;
            }
            let footprint = Footprint::of(&supervisor);
            let what = format!("{fault:?} at call {index}, {point:?}");
            injector.arm(Some((*point, *fault)));
            let attempt =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| try_request(&supervisor)));
            let attempt = attempt.unwrap_or_else(|_| panic!("{what}"));
            let description = match &attempt {
                Attempt::Ran(_) => "no difference",
                Attempt::Failed(why) | Attempt::Died(why) => why,
            };
            eprintln!("{what}: {description}");
            injector.settle(&supervisor);
            let fired = injector.arm(None);
            tally.fired += usize::from(fired);
            match attempt {
                Attempt::Ran(ref walls) => {
                    tally.no_difference += 1;
                    same_walls(&what, walls, &expected);
                }
                Attempt::Failed(ref why) | Attempt::Died(ref why) if !fired => {
                    panic!("{what}: the fault did not happen, but the request failed: {why}")
                }
                Attempt::Failed(_) => tally.refused += 1,
                Attempt::Died(ref why) => {
                    tally.died += 1;
                    assert!(
                        why.contains("signal") || why.contains("cannot "),
                        "{what}: {why:?}"
                    );
                }
            }
            // A fault after the result may have hit the preparation of a later run. Which runner
            // has that run depends on timing. The fault is reported once, and later requests work.
            let mut is_reported = matches!(attempt, Attempt::Failed(_));
            for _ in 0..RUNNERS_PER_SLOT {
                if !fired || supervisor.is_dead() {
                    break;
                }
                match try_request(&supervisor) {
                    Attempt::Ran(walls) => same_walls(&what, &walls, &expected),
                    Attempt::Failed(why) => {
                        assert!(!is_reported, "{what}: reported twice: {why:?}");
                        is_reported = true;
                    }
                    Attempt::Died(_) => {}
                }
                injector.settle(&supervisor);
            }
            // The supervisor may also have died after the result.
            let next = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                (0..RUNNERS_PER_SLOT).for_each(|_| assert_works(&supervisor, &expected));
            }));
            if next.is_err() {
                assert!(supervisor.is_dead(), "{what}: the next request fails");
                drop(supervisor);
                footprint.assert_gone();
                supervisor = injector
                    .start()
                    .unwrap_or_else(|error| panic!("{what}: {error}"));
                before = size_at_rest(&injector, &supervisor, &expected);
            }
        }
    }
    let after = size_at_rest(&injector, &supervisor, &expected);
    // The number of prepared runners varies. Each has an additional zygote, pid1 and target, with
    // about 25 descriptors each.
    let more = after.1.saturating_sub(before.1);
    assert!(
        more <= 2 * 3 && after.0 <= before.0 + 26 * more + 20,
        "{before:?} became {after:?}"
    );
    let footprint = Footprint::of(&supervisor);
    drop(supervisor);
    footprint.assert_gone();
    eprintln!("{tally:?}");
    assert!(
        tally.fired * 2 > tally.points,
        "less than half of the faults happened: {tally:?}"
    );
}

/// The first message that the supervisor sends for a request is the launch. Nothing of the run has
/// started then.
#[test]
fn runners_killed_before_the_launch_are_replaced() {
    let injector = FaultInjector::new();
    let supervisor = match injector.start() {
        Ok(supervisor) => supervisor,
        Err(error) => return skip(&format!("no seccomp listener is available: {error}")),
    };
    let Attempt::Ran(expected) = try_request(&supervisor) else {
        panic!("the request fails without a fault")
    };
    for _ in 0..3 {
        injector.settle(&supervisor);
        let launch = Point {
            role: Role::Supervisor,
            number: libc::SYS_sendmsg as i32,
            count: 1,
        };
        injector.arm(Some((launch, Fault::NoRunners)));
        assert_works(&supervisor, &expected);
        assert!(injector.arm(None), "the supervisor did not send the launch");
    }
    assert_works(&supervisor, &expected);
}

/// The cgroups in these directories that one of these processes created.
fn cgroups_of(parents: &BTreeSet<PathBuf>, pids: &BTreeSet<i32>) -> Vec<PathBuf> {
    let entries = parents
        .iter()
        .filter_map(|parent| std::fs::read_dir(parent).ok())
        .flatten()
        .flatten();
    let is_created_by_pids = |path: &PathBuf| {
        // The keeper names cgroups millibox-PID-RANDOM.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let maker = name
            .strip_prefix("millibox-")
            .and_then(|rest| rest.split_once('-')?.0.parse().ok());
        maker.is_some_and(|maker: i32| pids.contains(&maker))
    };
    entries
        .map(|entry| entry.path())
        .filter(is_created_by_pids)
        .collect()
}

#[test]
fn fault_at_any_call_of_a_start_is_reported_or_harmless() {
    let injector = FaultInjector::new();
    let first = match injector.start() {
        Ok(supervisor) => supervisor,
        Err(error) => return skip(&format!("no seccomp listener is available: {error}")),
    };
    let Attempt::Ran(expected) = try_request(&first) else {
        panic!("the request fails without a fault")
    };
    let parents: BTreeSet<PathBuf> = first
        .cgroups()
        .filter_map(|path| path.parent().map(PathBuf::from))
        .collect();
    drop(first);
    // Record a start and a first request, for which the template must be mounted.
    injector.arm(None);
    let second = injector.start().unwrap_or_else(|error| panic!("{error}"));
    assert_works(&second, &expected);
    let points = injector.watch().seen.clone();
    drop(second);
    assert!(
        points.iter().any(|point| point.role == Role::Mounter),
        "no mounter runs"
    );

    let mut random = Random::new();
    let all = std::env::var_os("MILLIBOX_FAULTS").is_some();
    let chosen: Vec<usize> = match all {
        true => (0..points.len()).collect(),
        false => (0..40)
            .map(|_| random.below(points.len() as u64) as usize)
            .collect(),
    };
    let (mut fired, mut reported) = (0, 0);
    for index in chosen {
        let (point, fault) = (
            points[index],
            FAULTS[random.below(FAULTS.len() as u64) as usize],
        );
        let what = format!("{fault:?} at call {index}, {point:?}");
        injector.arm(Some((point, fault)));
        let description = match injector.start() {
            Err(error) => error.to_string(),
            Ok(supervisor) => {
                let attempt = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    try_request(&supervisor)
                }));
                match attempt.unwrap_or_else(|_| panic!("{what}")) {
                    Attempt::Ran(walls) => {
                        same_walls(&what, &walls, &expected);
                        "no difference".to_owned()
                    }
                    Attempt::Failed(why) | Attempt::Died(why) => why,
                }
            }
        };
        eprintln!("{what}: {description}");
        let (hit, pids) = {
            let watch = injector.watch();
            (watch.fired, watch.pids.clone())
        };
        fired += usize::from(hit);
        if description != "no difference" {
            reported += 1;
            assert!(
                hit,
                "{what}: the fault did not happen, but the start failed: {description}"
            );
            let words = [
                "cannot ",
                "killed",
                "signal",
                "error",
                "a runner exited",
                "the spawner",
            ]
            .iter()
            .any(|word| description.contains(word));
            assert!(
                words && !description.contains("panicked"),
                "{what}: {description:?}"
            );
        }
        let left = || -> Vec<i32> {
            // A PID may belong to an unrelated process by now.
            pids.iter()
                .copied()
                .filter(|pid| millibox_tests::process(*pid).is_some() && role(*pid).is_some())
                .collect()
        };
        assert!(
            eventually(Duration::from_secs(10), || left().is_empty()),
            "{what}: {description}: remaining processes: {:?}",
            left()
        );
        let cgroups = || cgroups_of(&parents, &pids);
        assert!(
            eventually(Duration::from_secs(10), || cgroups().is_empty()),
            "{what}: remaining cgroups: {:?}",
            cgroups()
        );
    }
    injector.arm(None);
    let last = injector.start().unwrap_or_else(|error| panic!("{error}"));
    assert_works(&last, &expected);
    eprintln!(
        "{fired} faults at {} calls, {reported} reported",
        points.len()
    );
    assert!(
        fired > 10 && reported > 5,
        "{fired} faults, {reported} reported"
    );
}
