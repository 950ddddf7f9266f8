//! A client of the sandbox in a process of its own: one that can be killed, or that lives in
//! other circumstances than the tests do.
//!
//! `client CHANGE... -- PROBE-ARGUMENT...` changes its circumstances, starts a supervisor,
//! and runs the probe in it, in a world with a procfs. It prints
//! `error=...` (the supervisor could not be started), or `pid=`, `cgroups=`, `backend=`,
//! `outcome=`, `outcome_name=` (with `step=` and `errno=` if there is an error) and what the probe
//! wrote.
//!
//! The changes:
//!
//! | word | what |
//! | --- | --- |
//! | `user=OUT:IN` | become OUT (if root), then IN in a new user namespace |
//! | `unmapped` | a new user namespace without any ids |
//! | `ids=UID:GID` | become this user and group, without others |
//! | `mount-namespace` | a new mount namespace, after `user=` |
//! | `null=PATH` | mount PATH over /dev/null |
//! | `tmpfs=PATH` | mount a tmpfs |
//! | `masked-proc` | cover parts of /proc, as containers do |
//! | `container-seccomp` | attach a seccomp program like that of containers |
//! | `no-procfs` | a world without one |
//! | `exec` | at last, execute what follows `--` outside of any sandbox |
//! | `bind=SOURCE:AT:FLAGS` | give the world a bind; FLAGS of r(ead-only) n(oexec) R(ecursive) |
//! | `dirty` | everything that might be inherited, differently |
//! | `keyring=NAME` | a session keyring of our own, with a key of this name |
//! | `small` | one slot with one home, not two with three |
//! | `separate-pid1` | pid1 with memory of its own |
//! | `idle` | run the probe to its end, print, and sleep |
//! | `hold=N` | run the probe N times, print, and sleep |
//! | `storm` | run the probe again and again |
//! | `files=SOFT:HARD` | limits on open files |
//! | `signals=N` | limit on queued signals and timers |
//! | `alarms` | a signal every few milliseconds, which is handled |
//! | `supervisor=PATH` | start this one |
//! | `no-thread` | poll a run's handle where no thread can be started, then where it can |
//! | `careless` | ignore SIGCHLD, and in the end kill the supervisor and say what is heard |
//! | `forked` | fork while a run goes on; the child drops all that it has a copy of; say what came of the run |
//! | `crowd` | in one run the probe puts descriptors on their way through sockets for good; see whether others go on |
//! | `hang-run=PATH` | the same with one that has a root and never says what is in it, of which a run asks |
//! | `hang=PATH` | bind a FUSE file system that never answers, made at PATH, in one run, and see whether others go on |

#![allow(unsafe_code, reason = "it changes its circumstances by plain system calls")]

use millibox::{Builder, Handle, Mount, Outcome, Request, Supervisor, World};
use millibox_tests::{executable, open, read_line, run, wait};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::ffi::CString;
use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

fn check(answer: i32, what: &str) -> Result<(), String> {
    if answer < 0 { Err(format!("{what}: {}", std::io::Error::last_os_error())) } else { Ok(()) }
}

fn c(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

fn mount(source: &str, target: &str, kind: &str, flags: u64, data: &str) -> Result<(), String> {
    let (source, at, kind, data) = (c(source), c(target), c(kind), c(data));
    // SAFETY: all strings end with NUL and live until the call is over.
    let answer = unsafe { libc::mount(source.as_ptr(), at.as_ptr(), kind.as_ptr(), flags, data.as_ptr().cast()) };
    check(answer, &format!("mount at {target}"))
}

/// What Docker and Podman cover of /proc, as far as it is there: files by /dev/null, directories by
/// an empty read-only tmpfs, and others made read-only.
fn mask_proc() -> Result<(), String> {
    for name in ["kcore", "keys", "timer_list", "latency_stats", "sched_debug", "interrupts"] {
        let path = format!("/proc/{name}");
        if std::path::Path::new(&path).exists() {
            mount("/dev/null", &path, "", libc::MS_BIND, "")?;
        }
    }
    for name in ["acpi", "scsi", "asound"] {
        let path = format!("/proc/{name}");
        if std::path::Path::new(&path).exists() {
            mount("tmpfs", &path, "tmpfs", libc::MS_RDONLY, "")?;
        }
    }
    for name in ["bus", "fs", "irq", "sys", "sysrq-trigger"] {
        let path = format!("/proc/{name}");
        if std::path::Path::new(&path).exists() {
            mount(&path, &path, "", libc::MS_BIND | libc::MS_REC, "")?;
            // What is locked on the mount below must stay.
            let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC | libc::MS_RELATIME;
            mount("", &path, "", libc::MS_REMOUNT | libc::MS_BIND | libc::MS_RDONLY | flags, "")?;
        }
    }
    Ok(())
}

/// What matters here of the profile that Docker and Podman attach to a container without
/// CAP_SYS_ADMIN: no namespaces, no mounts, and a clone3 that seems not to exist.
const CONTAINER_SECCOMP: &str = r#"
    name = "container"
    description = "No namespaces and no mounts."
    default = "allow"

    [[rule]]
    action = "errno:EPERM"
    why = "These take CAP_SYS_ADMIN (chroot: CAP_SYS_CHROOT, which containers have)."
    syscalls = [
      "mount", "umount2", "mount_setattr", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick",
      "pivot_root", "unshare", "setns", "sethostname", "setdomainname", "bpf", "perf_event_open", "quotactl",
      "keyctl", "add_key", "request_key", "userfaultfd", "io_uring_setup",
    ]

    [[rule]]
    action = "errno:ENOSYS"
    why = "Its flags are in memory, where no filter sees them: the C library is to fall back on clone."
    syscalls = ["clone3"]

    [[rule]]
    action = "errno:EPERM"
    why = "Any of the flags CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."
    syscalls = ["clone"]
    when = [{ arg = 0, mask = 0x7e020000, not_equal = 0 }]
"#;

fn attach_container_seccomp() -> Result<(), String> {
    use millibox_seccomp::{Arch, Policy, compile};
    let arch = if cfg!(target_arch = "x86_64") { Arch::X86_64 } else { Arch::Aarch64 };
    let policy: Policy = CONTAINER_SECCOMP.parse().map_err(|error| format!("{error}"))?;
    let program = compile(&policy, arch).map_err(|error| error.to_string())?;
    let bytes = program.as_bytes();
    let mut instructions: Vec<libc::sock_filter> = bytes
        .chunks_exact(8)
        .map(|chunk| libc::sock_filter {
            code: u16::from_ne_bytes([chunk[0], chunk[1]]),
            jt: chunk[2],
            jf: chunk[3],
            k: u32::from_ne_bytes([chunk[4], chunk[5], chunk[6], chunk[7]]),
        })
        .collect();
    let program = libc::sock_fprog { len: instructions.len() as u16, filter: instructions.as_mut_ptr() };
    // SAFETY: the program and its instructions live until the call is over.
    unsafe {
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "set no_new_privs")?;
        check(
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program),
            "attach a seccomp program",
        )
    }
}

fn new_user_namespace(outside: u32, inside: u32) -> Result<(), String> {
    // SAFETY: plain calls on ourselves; there is one thread.
    unsafe {
        if libc::geteuid() == 0 {
            check(libc::setgroups(0, std::ptr::null()), "setgroups")?;
            check(libc::setresgid(outside, outside, outside), "setresgid")?;
            check(libc::setresuid(outside, outside, outside), "setresuid")?;
            // Or the maps belong to root.
            check(libc::prctl(libc::PR_SET_DUMPABLE, 1), "prctl")?;
        }
        check(libc::unshare(libc::CLONE_NEWUSER), "unshare a user namespace")?;
    }
    let write = |file: &str, text: String| std::fs::write(file, text).map_err(|error| format!("{file}: {error}"));
    write("/proc/self/setgroups", "deny".to_owned())?;
    write("/proc/self/uid_map", format!("{inside} {outside} 1"))?;
    write("/proc/self/gid_map", format!("{inside} {outside} 1"))
}

/// Everything about us that a child would inherit.
fn make_dirty() -> Result<(), String> {
    // SAFETY: plain calls on ourselves; the structures live long enough.
    unsafe {
        libc::umask(0o077);
        libc::nice(7);
        for signal in [libc::SIGCHLD, libc::SIGPIPE, libc::SIGHUP, libc::SIGTERM, libc::SIGUSR1, libc::SIGRTMIN() + 3] {
            libc::signal(signal, libc::SIG_IGN);
        }
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&raw mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
        for (resource, soft) in [
            (libc::RLIMIT_FSIZE, 1 << 20),
            (libc::RLIMIT_NOFILE, 128),
            (libc::RLIMIT_STACK, 512 << 10),
            (libc::RLIMIT_DATA, 512 << 20),
            (libc::RLIMIT_CPU, 1000),
            (libc::RLIMIT_CORE, 0),
            (libc::RLIMIT_RSS, 512 << 20),
            (libc::RLIMIT_MEMLOCK, 4096),
            (libc::RLIMIT_AS, 8 << 30),
            (libc::RLIMIT_LOCKS, 10),
            (libc::RLIMIT_SIGPENDING, 100),
            (libc::RLIMIT_MSGQUEUE, 4096),
            (libc::RLIMIT_RTTIME, 1_000_000),
        ] {
            let mut limit = std::mem::zeroed::<libc::rlimit>();
            libc::getrlimit(resource, &raw mut limit);
            limit.rlim_cur = soft;
            check(libc::setrlimit(resource, &raw const limit), "setrlimit")?;
        }
        let mut cpus = std::mem::zeroed::<libc::cpu_set_t>();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut cpus);
        let first = (0..1024).find(|cpu| libc::CPU_ISSET(*cpu, &cpus)).unwrap_or(0);
        libc::CPU_ZERO(&mut cpus);
        libc::CPU_SET(first, &mut cpus);
        check(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const cpus), "sched_setaffinity")?;
        let batch = libc::sched_param { sched_priority: 0 };
        check(libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const batch), "sched_setscheduler")?;
        check(libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong), "personality")?;
        // Whose processes read when nobody else does: class 3 (ioprio_set(2)).
        check(libc::syscall(libc::SYS_ioprio_set, 1, 0, 3 << 13) as i32, "ioprio_set")?;
        check(libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0), "prctl")?;
        let node: libc::c_ulong = 1;
        // Not every kernel has nodes (CONFIG_NUMA).
        libc::syscall(libc::SYS_set_mempolicy, libc::MPOL_PREFERRED, &raw const node, 2);
        // Descriptors that every child has.
        for _ in 0..3 {
            libc::open(c"/etc/passwd".as_ptr(), libc::O_RDONLY);
        }
        libc::dup2(libc::open(c"/".as_ptr(), libc::O_RDONLY), 77);
        std::env::set_var("SECRET", "of the client");
        std::env::set_var("LD_PRELOAD", "/nonexistent.so");
        std::env::set_current_dir("/usr").map_err(|error| error.to_string())?;
    }
    std::fs::write("/proc/self/oom_score_adj", "321").map_err(|error| format!("oom_score_adj: {error}"))
}

fn new_keyring(name: &str) -> Result<(), String> {
    let (kind, name) = (c("user"), c(name));
    // SAFETY: KEYCTL_JOIN_SESSION_KEYRING with no name, then add_key into it.
    unsafe {
        check(libc::syscall(libc::SYS_keyctl, 1, 0, 0, 0, 0) as i32, "join a session keyring")?;
        for ring in [-3i64, -4] {
            let key = libc::syscall(libc::SYS_add_key, kind.as_ptr(), name.as_ptr(), c"secret".as_ptr(), 6, ring);
            check(key as i32, "add_key")?;
        }
    }
    Ok(())
}

struct Plan {
    world: World,
    builder: Builder,
    idle: bool,
    hold: Option<usize>,
    storm: bool,
    hang: Option<String>,
    hang_run: Option<String>,
    crowd: bool,
    careless: bool,
    no_thread: bool,
    forked: bool,
    exec: bool,
}

fn change(word: &str, plan: &mut Plan) -> Result<(), String> {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let number = |text: &str| text.parse::<u32>().map_err(|_| format!("{word}: no number"));
    match name {
        "user" => {
            let (outside, inside) = value.split_once(':').ok_or("user=OUT:IN")?;
            new_user_namespace(number(outside)?, number(inside)?)
        }
        "ids" => {
            let (uid, gid) = value.split_once(':').ok_or("ids=UID:GID")?;
            let (uid, gid) = (number(uid)?, number(gid)?);
            // SAFETY: plain calls on ourselves; there is one thread.
            unsafe {
                check(libc::setgroups(0, std::ptr::null()), "setgroups")?;
                check(libc::setresgid(gid, gid, gid), "setresgid")?;
                check(libc::setresuid(uid, uid, uid), "setresuid")
            }
        }
        // SAFETY: a plain call; there is one thread.
        "unmapped" => check(unsafe { libc::unshare(libc::CLONE_NEWUSER) }, "unshare"),
        "mount-namespace" => {
            // SAFETY: as above.
            check(unsafe { libc::unshare(libc::CLONE_NEWNS) }, "unshare a mount namespace")?;
            mount("", "/", "", libc::MS_REC | libc::MS_PRIVATE, "")
        }
        "null" => mount(value, "/dev/null", "", libc::MS_BIND, ""),
        "tmpfs" => mount("tmpfs", value, "tmpfs", 0, "mode=1777"),
        "masked-proc" => mask_proc(),
        "hidden-proc" => mount("proc", "/proc", "proc", 0, "hidepid=2"),
        "container-seccomp" => attach_container_seccomp(),
        "no-procfs" => {
            plan.world = World::minimal();
            Ok(())
        }
        "exec" => {
            plan.exec = true;
            Ok(())
        }
        "bind" => {
            let parts: Vec<&str> = value.split(':').collect();
            let [source, at, flags] = parts[..] else { return Err("bind=SOURCE:AT:FLAGS".to_owned()) };
            plan.world = plan.world.clone().mount(Mount::Bind {
                source: source.into(),
                at: at.into(),
                read_only: flags.contains('r'),
                recursive: flags.contains('R'),
                no_exec: flags.contains('n'),
                no_follow: false,
                device: false,
            });
            Ok(())
        }
        "dirty" => make_dirty(),
        "keyring" => {
            plan.world = plan.world.clone().without_seccomp();
            new_keyring(value)
        }
        "small" => {
            plan.builder = plan.builder.clone().slots(1).homes_per_slot(1);
            Ok(())
        }
        "separate-pid1" => {
            plan.builder = plan.builder.clone().separate_pid1(true);
            Ok(())
        }
        "cgroup-parent" => {
            plan.builder = plan.builder.clone().cgroup_parent(value);
            Ok(())
        }
        "idle" => {
            plan.idle = true;
            Ok(())
        }
        "hold" => {
            plan.hold = Some(number(value)? as usize);
            Ok(())
        }
        "storm" => {
            plan.storm = true;
            Ok(())
        }
        "files" => {
            let (soft, hard) = value.split_once(':').ok_or("files=SOFT:HARD")?;
            let limit = libc::rlimit { rlim_cur: number(soft)?.into(), rlim_max: number(hard)?.into() };
            // SAFETY: the structure lives until the call is over.
            check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }, "setrlimit")
        }
        "signals" => {
            let most = number(value)?.into();
            let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
            // SAFETY: the structure lives until the call is over.
            check(unsafe { libc::setrlimit(libc::RLIMIT_SIGPENDING, &raw const limit) }, "setrlimit")
        }
        "alarms" => {
            extern "C" fn nothing(_: i32) {}
            let handler: extern "C" fn(i32) = nothing;
            let time = libc::timeval { tv_sec: 0, tv_usec: 5000 };
            let times = libc::itimerval { it_interval: time, it_value: time };
            // SAFETY: the handler does nothing; the structure lives until the call is over.
            unsafe {
                libc::signal(libc::SIGALRM, handler as libc::sighandler_t);
                check(libc::setitimer(libc::ITIMER_REAL, &raw const times, std::ptr::null_mut()), "setitimer")
            }
        }
        "supervisor" => {
            plan.builder = plan.builder.clone().executable(value);
            Ok(())
        }
        "crowd" => {
            plan.crowd = true;
            Ok(())
        }
        "careless" => {
            plan.careless = true;
            // SAFETY: no handler is installed.
            check(if unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) } == libc::SIG_ERR { -1 } else { 0 }, "signal")
        }
        "no-thread" => {
            plan.no_thread = true;
            Ok(())
        }
        "forked" => {
            plan.forked = true;
            Ok(())
        }
        "hang-run" => {
            plan.hang_run = Some(value.to_owned());
            Ok(())
        }
        "hang" => {
            plan.hang = Some(value.to_owned());
            Ok(())
        }
        _ => Err(format!("unknown change {word}")),
    }
}

/// A FUSE file system whose server never answers.
fn hanging(at: &str) -> Result<OwnedFd, String> {
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/fuse")
        .map_err(|error| format!("/dev/fuse: {error}"))?;
    let fuse = OwnedFd::from(file);
    let number = std::os::fd::AsRawFd::as_raw_fd(&fuse);
    // SAFETY: plain calls.
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    let options = format!("fd={number},rootmode=40000,user_id={uid},group_id={gid},allow_other");
    mount("fuse", at, "fuse", libc::MS_NOSUID | libc::MS_NODEV, &options)?;
    Ok(fuse)
}

fn main() {
    // What the tests' own helpers need is opened before anything is taken away from us.
    let probe = open(&executable("probe"));
    let mut words = std::env::args().skip(1);
    let mut plan = Plan {
        world: World::minimal().mount(Mount::proc("/proc")),
        builder: Supervisor::builder().slots(2),
        idle: false,
        hold: None,
        storm: false,
        hang: None,
        hang_run: None,
        crowd: false,
        careless: false,
        no_thread: false,
        forked: false,
        exec: false,
    };
    for word in words.by_ref().take_while(|word| word != "--") {
        if let Err(why) = change(&word, &mut plan) {
            println!("unable={why}");
            return;
        }
    }
    if plan.exec {
        let program = words.next().unwrap_or_default();
        let error = std::os::unix::process::CommandExt::exec(std::process::Command::new(&program).args(words));
        return println!("unable={program}: {error}");
    }
    let request = Request::from_descriptor(probe.clone()).arg("probe").args(words).world(&plan.world);
    let supervisor = match plan.builder.clone().start() {
        Ok(supervisor) => supervisor,
        Err(error) => return println!("error={error}"),
    };
    let cgroups: Vec<String> = supervisor.cgroups().map(|path| path.display().to_string()).collect();
    println!("pid={}\ncgroups={}\nbackend={}", supervisor.pid(), cgroups.join(","), supervisor.backend());
    if let Some(path) = &plan.hang {
        return go_on_beside_a_hanging_file_system(&request, path);
    }
    if let Some(path) = &plan.hang_run {
        return go_on_beside_a_run_that_hangs(&request, path);
    }
    if plan.no_thread {
        return poll_without_a_thread(&supervisor, &request);
    }
    if plan.forked {
        return go_on_after_a_fork(supervisor, &request);
    }
    if plan.crowd {
        return go_on_in_a_crowd(&supervisor, &request, &probe);
    }
    if let Some(count) = plan.hold {
        let (read, write) = millibox_tests::pipe();
        let request = request.stdout(write);
        let handles: Vec<_> = (0..count).map(|_| supervisor.run(&request)).collect();
        // The first two say that they are there: there are two slots.
        (0..count.min(2)).for_each(|_| drop(read_line(&read)));
        println!("ready={}", handles.len());
        let _ = std::io::stdout().flush();
        std::thread::sleep(Duration::from_secs(100));
        return;
    }
    if plan.storm {
        println!("ready=1");
        let _ = std::io::stdout().flush();
        loop {
            let handles: Vec<_> = (0..4).filter_map(|_| supervisor.run(&request).ok()).collect();
            handles.iter().for_each(|handle| drop(handle.wait()));
        }
    }
    let output = run(&supervisor, &request);
    println!("outcome={}\noutcome_name={}", output.result, output.result.outcome.name());
    if let Some(error) = output.result.outcome.error() {
        println!("step={}\nerrno={}", error.step, error.errno.unwrap_or(0));
    }
    println!("{}", output.text());
    if plan.careless {
        millibox_tests::kill(supervisor.pid() as i32, rustix::process::Signal::KILL);
        println!(
            "heard={}",
            supervisor
                .run(&request)
                .and_then(|handle| handle.wait())
                .map_or_else(|why| why.to_string(), |_| String::new())
        );
    }
    if plan.idle {
        println!("ready=0");
        let _ = std::io::stdout().flush();
        std::thread::sleep(Duration::from_secs(100));
    }
}

/// There is no memory for a thread's stack, and none was started before whose stack could be used again.
fn poll_without_a_thread(supervisor: &Supervisor, request: &Request) {
    let first = supervisor.run(request).expect("a run");
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let status = std::fs::read_to_string("/proc/self/status").expect("our status");
    let size =
        status.lines().find_map(|line| line.strip_prefix("VmSize:")?.trim().strip_suffix(" kB")).expect("a size");
    let size = size.parse::<u64>().expect("a number") << 10;
    // SAFETY: the structures live until the calls are over.
    let mut most = |bytes: Option<u64>| unsafe {
        libc::getrlimit(libc::RLIMIT_AS, &raw mut limit);
        limit.rlim_cur = bytes.unwrap_or(limit.rlim_max);
        check(libc::setrlimit(libc::RLIMIT_AS, &raw const limit), "setrlimit").expect("a limit");
    };
    most(Some(size + (1 << 20)));
    let polled = first.event().map(drop).map_err(|error| error.to_string());
    let waited = wait(&first);
    most(None);
    println!("polled={polled:?}\nwaited={waited}");
    let second = supervisor.run(request).expect("a run");
    println!("readable={}", millibox_tests::readable(second.event().expect("a descriptor"), Duration::from_secs(30)));
}

/// A process forked from ours gets rid of its copies. Nothing else runs here: the library has no thread yet.
fn go_on_after_a_fork(supervisor: Supervisor, request: &Request) {
    let (read, write) = millibox_tests::pipe();
    let handle = supervisor.run(&request.clone().stdout(write)).expect("a run");
    println!("{}", read_line(&read));
    // SAFETY: we are a single thread.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let answers = (handle.wait().is_err(), supervisor.run(request).is_err(), handle.try_wait().is_err());
        handle.kill();
        drop((handle, supervisor));
        // SAFETY: it ends us.
        unsafe { libc::_exit(if answers == (true, true, true) { 0 } else { 1 }) }
    }
    let mut status = -1;
    // SAFETY: the status lives until the call is over.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    println!("child={}", waited == child && status == 0);
    println!("goes_on={}", matches!(handle.wait_timeout(Duration::from_millis(300)), Ok(None)));
    handle.kill();
    println!("outcome={}", wait(&handle));
    println!("next={}", wait(&supervisor.run(&Request::new("/bin/true")).expect("a run")));
}

/// A run parks all descriptors that it can; then we do, which no limit of the runs' holds.
fn go_on_in_a_crowd(supervisor: &Supervisor, request: &Request, probe: &Arc<OwnedFd>) {
    let one = || {
        let (_, write) = millibox_tests::pipe();
        let request = Request::from_descriptor(probe.clone()).args(["probe", "exit", "0"]);
        supervisor.run(&request.stdout(write)).expect("a run")
    };
    let is_over = |handle: &millibox::Handle, seconds: u64| {
        let result = handle.wait_timeout(Duration::from_secs(seconds)).expect("a supervisor");
        result.is_some_and(|result| result.outcome == Outcome::Exited(0))
    };
    let (read, write) = millibox_tests::pipe();
    let _parked = supervisor.run(&request.clone().stdout(write)).expect("a run");
    println!("{}", read_line(&read));
    println!("others={}", (0..20).filter(|_| is_over(&one(), 5)).count());

    let kept = park(probe);
    let waiting = [one(), one()];
    let cpu = || rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let before = cpu();
    println!("waits={}", !is_over(&waiting[0], 1));
    // Nobody waits now, so the library's own thread is who reads.
    std::thread::sleep(Duration::from_secs(1));
    let used = cpu() - before;
    println!("cpu_ms={}", used.tv_sec * 1000 + used.tv_nsec / 1_000_000);
    drop(kept);
    println!("after={}", waiting.iter().filter(|handle| is_over(handle, 10)).count());
}

/// Puts as many descriptors as may be on their way into messages that nobody receives.
fn park(descriptor: &Arc<OwnedFd>) -> Vec<UnixStream> {
    let all = [descriptor.as_fd(); 200];
    let mut kept = Vec::new();
    loop {
        let (near, far) = UnixStream::pair().expect("sockets");
        near.set_nonblocking(true).expect("a flag");
        loop {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(200))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            control.push(SendAncillaryMessage::ScmRights(&all));
            match sendmsg(&near, &[IoSlice::new(b"x")], &mut control, SendFlags::empty()) {
                Ok(_) => {}
                Err(rustix::io::Errno::TOOMANYREFS) => {
                    kept.extend([near, far]);
                    return kept;
                }
                Err(_) => break,
            }
        }
        kept.extend([near, far]);
    }
}

/// Serves the file system's root until `stop` is closed, and answers nothing that is asked of what is below. Whoever
/// asks for that waits, not even SIGKILL wakes him, until the file system is gone (request_wait_answer() in
/// fs/fuse/dev.c).
fn serve_a_root(fuse: OwnedFd, stop: &OwnedFd) {
    use rustix::event::{PollFd, PollFlags, poll};
    let mut fuse = std::fs::File::from(fuse);
    let mut request = vec![0u8; 1 << 17];
    loop {
        let mut ready = [PollFd::new(&fuse, PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
        if poll(&mut ready, None).is_err() || !ready[1].revents().is_empty() {
            return;
        }
        let Ok(length) = fuse.read(&mut request) else { return };
        // struct fuse_in_header: length, operation, number, node ... (include/uapi/linux/fuse.h).
        let (operation, number) = (&request[4..8], &request[8..16]);
        let body: Vec<u8> = match u32::from_ne_bytes(operation.try_into().unwrap_or_default()) {
            // FUSE_LOOKUP; FUSE_FORGET and FUSE_INTERRUPT have no answer.
            1 | 2 | 36 => continue,
            // FUSE_INIT: version 7.31, read-ahead and flags 0, at most 4 KiB written at once, and what is 0.
            26 => [7u32, 31, 0, 0, 0, 4096, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
                .iter()
                .flat_map(|word| word.to_ne_bytes())
                .collect(),
            // FUSE_GETATTR: valid for an hour; a directory, inode 1.
            3 => {
                let mut words = [0u32; 26];
                (words[0], words[4], words[19], words[20], words[24]) = (3600, 1, 0o40755, 2, 4096);
                words.iter().flat_map(|word| word.to_ne_bytes()).collect()
            }
            // FUSE_STATFS
            17 => vec![0; 80],
            _ => Vec::new(),
        };
        let error = if body.is_empty() { -libc::ENOSYS } else { 0 };
        let mut answer = Vec::from(((16 + body.len()) as u32).to_ne_bytes());
        answer.extend(error.to_ne_bytes());
        answer.extend(number);
        answer.extend(body);
        let _ = (length, fuse.write_all(&answer));
    }
}

/// Says how many of ten others end well while one is stuck, and whether it still is.
fn others_go_on(supervisor: &Supervisor, request: &Request, stuck: &Handle) {
    let others = (0..10)
        .map(|_| supervisor.run(request))
        .filter_map(Result::ok)
        .filter(|handle| wait(handle).outcome == Outcome::Exited(0));
    println!("others={}", others.count());
    println!("stuck={}", !matches!(stuck.try_wait(), Ok(Some(_))));
}

fn go_on_beside_a_run_that_hangs(request: &Request, path: &str) {
    let fuse = match hanging(path) {
        Ok(fuse) => fuse,
        Err(why) => return println!("unable={why}"),
    };
    let (stop, stopped) = rustix::pipe::pipe().expect("a pipe");
    let server = std::thread::spawn(move || serve_a_root(fuse, &stop));
    // The supervisor's mount namespace is a copy from before: start another that sees it.
    let Ok(inner) = Supervisor::builder().slots(2).start() else { return println!("unable=no second supervisor") };
    let world = World::minimal().read_only(path, "/stuck");
    let asks = Request::new("/bin/cat").arg("/stuck/x").world(&world).real_time_limit(Duration::from_millis(50));
    let stuck = match inner.run(&asks) {
        Ok(stuck) => stuck,
        Err(error) => return println!("error={error}"),
    };
    std::thread::sleep(Duration::from_millis(300));
    stuck.kill();
    others_go_on(&inner, request, &stuck);
    // Who asked is told that there is no such file system any more.
    drop(stopped);
    server.join().expect("no panic");
    println!("ended={}", wait(&stuck));
    println!("after={}", wait(&inner.run(request).expect("a run")));
}

fn go_on_beside_a_hanging_file_system(request: &Request, path: &str) {
    let fuse = match hanging(path) {
        Ok(fuse) => fuse,
        Err(why) => return println!("unable={why}"),
    };
    // The supervisor's mount namespace is a copy from before: start another that sees it.
    let Ok(inner) = Supervisor::builder().slots(2).start() else { return println!("unable=no second supervisor") };
    let stuck = inner.run(&request.clone().world(&World::minimal().read_only(format!("{path}/below"), "/stuck")));
    let stuck = match stuck {
        Ok(stuck) => stuck,
        Err(error) => return println!("error={error}"),
    };
    std::thread::sleep(Duration::from_millis(200));
    others_go_on(&inner, request, &stuck);
    stuck.cancel();
    println!("cancelled={}", matches!(stuck.wait_timeout(Duration::from_secs(5)), Ok(Some(_))));
    println!("after={}", wait(&inner.run(request).expect("a run")));
    drop(fuse);
}
