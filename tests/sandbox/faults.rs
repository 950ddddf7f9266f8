//! A fault at every call that a request takes: it is told in words or makes no difference, the run
//! never has less around it, the next request works, and nothing is left.
//!
//! The faults are the kernel's own: the supervisor's executable is started through `faulty`, which
//! lets us answer each of its family's calls, or kill somebody just then. First a request is
//! watched; then, call by call, the same request is made with a fault at that call.
//!
//! `MILLIBOX_FAULTS=N` takes every fault with each call of a request, from the N-th call on,
//! instead of one fault with each; and of a start every call, instead of some chosen at random.

#![allow(unsafe_code, reason = "it answers the kernel by ioctl(2)")]

use millibox::{Error, Outcome, Supervisor};
use millibox_tests::{
    Gone, Random, builder, directory, eventually, executable, pipe, request, share, skip,
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

/// Who makes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Keeper,
    Supervisor,
    Spawner,
    Builder,
    Runner,
    Zygote,
    Pid1,
    Target,
}

/// A call: the `count`-th of this number that this one makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    role: Role,
    number: i32,
    count: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The call answers this errno.
    Errno(i32),
    /// Somebody is killed while the call waits to be made.
    Kill(Role),
    /// All runners of the caller are killed, and the call waits until they are gone with all that
    /// lived on them.
    NoRunners,
}

/// Whatever close(2) answers, the descriptor is closed; the others have no errors.
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
    // Of children that there are, and with arguments that are right.
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

/// Name of the threads that answer the calls.
const ANSWERS: &str = "answers";

/// Of the one slot: what is prepared for a run is in one of them.
const RUNNERS: usize = 2;

#[derive(Default)]
struct Watch {
    /// How often each call was made since the beginning.
    counts: BTreeMap<(Role, i32), usize>,
    /// All of them, in order.
    seen: Vec<Point>,
    fault: Option<(Point, Fault)>,
    fired: bool,
    /// Everybody who made a call.
    pids: BTreeSet<i32>,
    last: Option<Instant>,
}

/// Where `faulty` lies, and what is known of those who were started through it.
struct Place {
    directory: TempDir,
    watch: Arc<Mutex<Watch>>,
}

impl Place {
    fn new() -> Place {
        let directory = directory();
        let copy = directory.path().join("millibox-supervisor");
        std::fs::copy(executable("faulty"), &copy).expect("a copy of faulty");
        share(&copy, 0o755);
        let real = executable("millibox-supervisor");
        std::fs::write(
            directory.path().join("supervisor"),
            real.as_os_str().as_encoded_bytes(),
        )
        .expect("a file");
        let listener = UnixListener::bind(directory.path().join("socket")).expect("a socket");
        share(&directory.path().join("socket"), 0o777);
        let watch = Arc::new(Mutex::new(Watch::default()));
        let for_all = watch.clone();
        std::thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                let watch = for_all.clone();
                let named = std::thread::Builder::new().name(ANSWERS.to_owned());
                named
                    .spawn(move || answer(&take(&socket), &watch))
                    .expect("a thread");
            }
        });
        Place { directory, watch }
    }

    fn watch(&self) -> MutexGuard<'_, Watch> {
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
            .runners_per_slot(RUNNERS)
            .executable(self.executable())
            .start()
    }

    /// Counts from here on; what is to happen when. Whether what was to happen before has happened:
    /// afterwards it does no more.
    fn arm(&self, fault: Option<(Point, Fault)>) -> bool {
        std::mem::replace(
            &mut *self.watch(),
            Watch {
                fault,
                ..Watch::default()
            },
        )
        .fired
    }

    /// Waits until nobody has made a call for a while, and nobody would if there were a CPU: the
    /// next run is prepared.
    fn settle(&self, supervisor: &Supervisor) {
        let quiet = Duration::from_millis(8);
        let quiet = || self.watch().last.is_none_or(|last| last.elapsed() > quiet);
        eventually(Duration::from_secs(5), || {
            quiet() && all_sleep(supervisor) && quiet() && all_sleep(supervisor)
        });
    }
}

/// Whether all wait for something to happen: the supervisor's family, and our threads that answer
/// its calls.
fn all_sleep(supervisor: &Supervisor) -> bool {
    // The state is field 3, after the last ')' (proc_pid_stat(5)). Who has been vforked from is in
    // 'D'.
    let sleeps = |stat: PathBuf| {
        let stat = std::fs::read_to_string(stat).unwrap_or_default();
        !stat
            .rsplit(')')
            .next()
            .is_some_and(|fields| matches!(fields.trim_start().as_bytes().first(), Some(b'R')))
    };
    let ours = std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let answers = |thread: &PathBuf| {
        std::fs::read(thread.join("comm")).is_ok_and(|name| name.trim_ascii() == ANSWERS.as_bytes())
    };
    millibox_tests::descendants(supervisor.info().pid())
        .iter()
        .all(|process| sleeps(format!("/proc/{}/stat", process.pid).into()))
        && ours
            .filter(answers)
            .all(|thread| sleeps(thread.join("stat")))
}

/// The listener that `faulty` sends.
fn take(socket: &UnixStream) -> OwnedFd {
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
    // Whoever sent it is our child.
    let sender = rustix::process::Pid::from_raw(i32::from_ne_bytes(pid));
    let _ = rustix::process::waitpid(sender, rustix::process::WaitOptions::empty());
    listener
}

/// Who a process is; `None`: a run's program, or nobody any more.
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
        "millibox-mount" => Role::Builder,
        "millibox-runner" => Role::Runner,
        // All three have the zygote's name; the last two are in a PID namespace of their own.
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

/// Answers calls until nobody is left who could make one.
fn answer(listener: &OwnedFd, watch: &Mutex<Watch>) {
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
        // SAFETY: the kernel fills what it is given, all zero as it wants it.
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
                        Fault::Kill(whom) => kill(whom, role, pid),
                        Fault::NoRunners => end_runners(pid),
                    }
                }
                _ => {}
            }
        }
        // SAFETY: the kernel reads what it is given.
        unsafe { libc::ioctl(listener.as_raw_fd(), SEND, &raw const answer) };
    }
}

/// Kills the caller itself if it is meant, else the nearest of the caller's family.
fn kill(whom: Role, role: Role, pid: i32) {
    let parent = |pid: i32| millibox_tests::process(pid).map(|process| process.parent);
    let mut at = Some(pid);
    if whom == role {
        return millibox_tests::kill(pid, rustix::process::Signal::KILL);
    }
    while let Some(now) = at.filter(|now| *now > 1) {
        let below = millibox_tests::descendants(now as u32);
        if let Some(found) = below
            .iter()
            .find(|process| self::role(process.pid) == Some(whom))
        {
            return millibox_tests::kill(found.pid, rustix::process::Signal::KILL);
        }
        if self::role(now).is_none_or(|role| role <= Role::Supervisor) {
            return;
        }
        at = parent(now);
    }
}

/// See [`Fault::NoRunners`].
fn end_runners(supervisor: i32) {
    let below = millibox_tests::descendants(supervisor as u32);
    let runners = below
        .iter()
        .filter(|process| role(process.pid) == Some(Role::Runner));
    // Before they are killed: who is left behind is another's.
    let with_theirs: Vec<Vec<_>> = runners
        .map(|runner| millibox_tests::descendants(runner.pid as u32))
        .collect();
    for family in &with_theirs {
        millibox_tests::kill(family[0].pid, rustix::process::Signal::KILL);
    }
    let with_theirs: Vec<i32> = with_theirs
        .iter()
        .flatten()
        .map(|process| process.pid)
        .collect();
    eventually(Duration::from_secs(10), || {
        with_theirs
            .iter()
            .all(|pid| millibox_tests::process(*pid).is_none())
    });
}

/// What a run says that it has around it, without what differs from run to run.
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

/// What one has and the other has not.
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
        "{what}: the run has other walls: {more:#?} instead of {less:#?}"
    );
}

/// What came of a request: the run's walls, or an error in words.
enum Came {
    Ran(Vec<String>),
    Refused(String),
    /// The supervisor is gone; its last words.
    Died(String),
}

fn ask(supervisor: &Supervisor) -> Came {
    let (read, write) = pipe();
    let request = request(["walls"])
        .world(&world_with_proc())
        .real_time_limit(Duration::from_secs(50))
        .stdout(write);
    let run = supervisor.run(&request);
    drop(request);
    let result = run.and_then(|handle| handle.wait_timeout(millibox_tests::PATIENCE));
    match result {
        Ok(Some(result)) => match &result.outcome {
            Outcome::Exited(0) => {
                let figures = result.figures;
                let cpu = figures.cpu_user_ns + figures.cpu_system_ns;
                assert!(
                    figures.peak_memory_bytes > 100_000 && figures.peak_memory_bytes < 64 << 20,
                    "{result:?}"
                );
                // Neither nothing nor what earlier runs have used.
                assert!(
                    cpu > 100_000 && cpu <= 2 * figures.real_time_ns,
                    "{result:?}"
                );
                assert!(
                    figures.peak_processes.is_none_or(|peak| peak == 1),
                    "{result:?}"
                );
                Came::Ran(walls(&String::from_utf8_lossy(&millibox_tests::read_all(
                    read,
                ))))
            }
            Outcome::NotStarted(error) | Outcome::SandboxError(error) => {
                assert!(
                    error.errno.is_some() || error.hint.is_some(),
                    "no cause: {error:?}"
                );
                Came::Refused(error.to_string())
            }
            // Whoever killed it was not of the run.
            Outcome::Signaled(9) => Came::Refused("killed by signal KILL".to_owned()),
            _ => panic!("no error, and not what the program did: {result}"),
        },
        Ok(None) => panic!("no result"),
        Err(Error::Died(reason)) => Came::Died(reason.to_string()),
        Err(error) => panic!("{error}"),
    }
}

fn works(supervisor: &Supervisor, expected: &[String]) {
    match ask(supervisor) {
        Came::Ran(walls) => same_walls("the next", &walls, expected),
        Came::Refused(why) | Came::Died(why) => panic!("the next request does not work: {why}"),
    }
}

/// Descriptors and processes of a family.
fn size(supervisor: &Supervisor) -> (usize, usize) {
    let family = millibox_tests::descendants(supervisor.info().pid());
    let descriptors = |pid: i32| {
        std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, |entries| entries.flatten().count())
    };
    (
        family.iter().map(|process| descriptors(process.pid)).sum(),
        family.len(),
    )
}

/// The same when every runner has had its turn.
fn size_at_rest(place: &Place, supervisor: &Supervisor, expected: &[String]) -> (usize, usize) {
    for _ in 0..4 {
        works(supervisor, expected);
        place.settle(supervisor);
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
fn a_fault_at_every_call_of_a_request() {
    let place = Place::new();
    let mut supervisor = match place.start() {
        Ok(supervisor) => supervisor,
        Err(error) => return skip(&format!("no seccomp listener can be had: {error}")),
    };
    let Came::Ran(expected) = ask(&supervisor) else {
        panic!("a request without a fault")
    };
    assert!(expected.len() > 60, "{expected:?}");
    for _ in 0..4 {
        works(&supervisor, &expected);
        place.settle(&supervisor);
    }
    // A request, and what is prepared after it.
    place.arm(None);
    works(&supervisor, &expected);
    place.settle(&supervisor);
    let points = place.watch().seen.clone();
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
    let mut before = size_at_rest(&place, &supervisor, &expected);
    for (index, point) in points.iter().enumerate().skip(all.unwrap_or(0)) {
        let these = if all.is_some() {
            0..FAULTS.len()
        } else {
            index % FAULTS.len()..index % FAULTS.len() + 1
        };
        for fault in &FAULTS[these] {
            // The kernel closes whatever is open, whatever it answers (close(2)).
            if i64::from(point.number) == libc::SYS_close && matches!(fault, Fault::Errno(_)) {
                continue;
            }
            let gone = Gone::of(&supervisor);
            let what = format!("{fault:?} at call {index}, {point:?}");
            place.arm(Some((*point, *fault)));
            let came = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ask(&supervisor)));
            let came = came.unwrap_or_else(|_| panic!("{what}"));
            let said = match &came {
                Came::Ran(_) => "no difference",
                Came::Refused(why) | Came::Died(why) => why,
            };
            eprintln!("{what}: {said}");
            place.settle(&supervisor);
            let fired = place.arm(None);
            tally.fired += usize::from(fired);
            match came {
                Came::Ran(ref walls) => {
                    tally.no_difference += 1;
                    same_walls(&what, walls, &expected);
                }
                Came::Refused(ref why) | Came::Died(ref why) if !fired => {
                    panic!("{what}: not made, and yet {why}")
                }
                Came::Refused(_) => tally.refused += 1,
                Came::Died(ref why) => {
                    tally.died += 1;
                    assert!(
                        why.contains("signal") || why.contains("cannot "),
                        "{what}: {why:?}"
                    );
                }
            }
            // What came after the answer may have hit what was prepared for a later run. Which
            // runner has that run is a matter of who was ready first; it is told once, and those
            // after it work.
            let mut told = matches!(came, Came::Refused(_));
            for _ in 0..RUNNERS {
                if !fired || supervisor.is_dead() {
                    break;
                }
                match ask(&supervisor) {
                    Came::Ran(walls) => same_walls(&what, &walls, &expected),
                    Came::Refused(why) => {
                        assert!(!told, "{what}: told again: {why:?}");
                        told = true;
                    }
                    Came::Died(_) => {}
                }
                place.settle(&supervisor);
            }
            // It may have died after its answer, too.
            let next = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                (0..RUNNERS).for_each(|_| works(&supervisor, &expected));
            }));
            if next.is_err() {
                assert!(
                    supervisor.is_dead(),
                    "{what}: the next request does not work"
                );
                drop(supervisor);
                gone.assert();
                supervisor = place
                    .start()
                    .unwrap_or_else(|error| panic!("{what}: {error}"));
                before = size_at_rest(&place, &supervisor, &expected);
            }
        }
    }
    let after = size_at_rest(&place, &supervisor, &expected);
    // How many runners have something prepared varies: each that has is a zygote, a pid1 and a
    // target more, with some 25 descriptors each.
    let more = after.1.saturating_sub(before.1);
    assert!(
        more <= 2 * 3 && after.0 <= before.0 + 26 * more + 20,
        "{before:?} became {after:?}"
    );
    let gone = Gone::of(&supervisor);
    drop(supervisor);
    gone.assert();
    eprintln!("{tally:?}");
    assert!(
        tally.fired * 2 > tally.points,
        "most faults did not happen: {tally:?}"
    );
}

/// The launch is what the supervisor sends first for a request. Nothing of the run has begun then.
#[test]
fn runners_that_die_before_they_have_their_run() {
    let place = Place::new();
    let supervisor = match place.start() {
        Ok(supervisor) => supervisor,
        Err(error) => return skip(&format!("no seccomp listener can be had: {error}")),
    };
    let Came::Ran(expected) = ask(&supervisor) else {
        panic!("a request without a fault")
    };
    for _ in 0..3 {
        place.settle(&supervisor);
        let launch = Point {
            role: Role::Supervisor,
            number: libc::SYS_sendmsg as i32,
            count: 1,
        };
        place.arm(Some((launch, Fault::NoRunners)));
        works(&supervisor, &expected);
        assert!(place.arm(None), "the supervisor sends nothing");
    }
    works(&supervisor, &expected);
}

/// Cgroups in these directories that one of these made.
fn cgroups_of(parents: &BTreeSet<PathBuf>, pids: &BTreeSet<i32>) -> Vec<PathBuf> {
    let entries = parents
        .iter()
        .filter_map(|parent| std::fs::read_dir(parent).ok())
        .flatten()
        .flatten();
    let ours = |path: &PathBuf| {
        // millibox-PID-RANDOM, as the keeper calls them.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let maker = name
            .strip_prefix("millibox-")
            .and_then(|rest| rest.split_once('-')?.0.parse().ok());
        maker.is_some_and(|maker: i32| pids.contains(&maker))
    };
    entries.map(|entry| entry.path()).filter(ours).collect()
}

#[test]
fn a_fault_at_calls_of_the_start() {
    let place = Place::new();
    let first = match place.start() {
        Ok(supervisor) => supervisor,
        Err(error) => return skip(&format!("no seccomp listener can be had: {error}")),
    };
    let Came::Ran(expected) = ask(&first) else {
        panic!("a request without a fault")
    };
    let parents: BTreeSet<PathBuf> = first
        .info()
        .cgroups()
        .filter_map(|path| path.parent().map(PathBuf::from))
        .collect();
    drop(first);
    // A start, and a first request, whose template is still to be built.
    place.arm(None);
    let second = place.start().unwrap_or_else(|error| panic!("{error}"));
    works(&second, &expected);
    let points = place.watch().seen.clone();
    drop(second);
    assert!(
        points.iter().any(|point| point.role == Role::Builder),
        "nobody builds a template"
    );

    let mut random = Random::new();
    let all = std::env::var_os("MILLIBOX_FAULTS").is_some();
    let chosen: Vec<usize> = match all {
        true => (0..points.len()).collect(),
        false => (0..40)
            .map(|_| random.below(points.len() as u64) as usize)
            .collect(),
    };
    let (mut fired, mut told) = (0, 0);
    for index in chosen {
        let (point, fault) = (
            points[index],
            FAULTS[random.below(FAULTS.len() as u64) as usize],
        );
        let what = format!("{fault:?} at call {index}, {point:?}");
        place.arm(Some((point, fault)));
        let said = match place.start() {
            Err(error) => error.to_string(),
            Ok(supervisor) => {
                let came =
                    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| ask(&supervisor)));
                match came.unwrap_or_else(|_| panic!("{what}")) {
                    Came::Ran(walls) => {
                        same_walls(&what, &walls, &expected);
                        "no difference".to_owned()
                    }
                    Came::Refused(why) | Came::Died(why) => why,
                }
            }
        };
        eprintln!("{what}: {said}");
        let (hit, pids) = {
            let watch = place.watch();
            (watch.fired, watch.pids.clone())
        };
        fired += usize::from(hit);
        if said != "no difference" {
            told += 1;
            assert!(hit, "{what}: not made, and yet {said}");
            let words = [
                "cannot ",
                "killed",
                "signal",
                "error",
                "a runner exited",
                "the spawner",
            ]
            .iter()
            .any(|word| said.contains(word));
            assert!(words && !said.contains("panicked"), "{what}: {said:?}");
        }
        let left = || -> Vec<i32> {
            // A number may be somebody else's by now.
            pids.iter()
                .copied()
                .filter(|pid| millibox_tests::process(*pid).is_some() && role(*pid).is_some())
                .collect()
        };
        assert!(
            eventually(Duration::from_secs(10), || left().is_empty()),
            "{what}: {said}: left: {:?}",
            left()
        );
        let cgroups = || cgroups_of(&parents, &pids);
        assert!(
            eventually(Duration::from_secs(10), || cgroups().is_empty()),
            "{what}: left: {:?}",
            cgroups()
        );
    }
    place.arm(None);
    let last = place.start().unwrap_or_else(|error| panic!("{error}"));
    works(&last, &expected);
    eprintln!("{fired} faults at {} calls, {told} told", points.len());
    assert!(fired > 10 && told > 5, "{fired} faults, {told} told");
}
