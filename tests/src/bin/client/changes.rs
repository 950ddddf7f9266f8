//! The changes to the client's circumstances, and the options for `main`.

use millibox::{Builder, Mount, World};
use std::ffi::CString;

pub fn check(answer: i32, what: &str) -> Result<(), String> {
    if answer < 0 {
        Err(format!("{what}: {}", std::io::Error::last_os_error()))
    } else {
        Ok(())
    }
}

fn c(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

pub fn mount(source: &str, target: &str, kind: &str, flags: u64, data: &str) -> Result<(), String> {
    let (source, at, kind, data) = (c(source), c(target), c(kind), c(data));
    // SAFETY: all strings end with NUL and live until the call is over.
    let answer = unsafe {
        libc::mount(
            source.as_ptr(),
            at.as_ptr(),
            kind.as_ptr(),
            flags,
            data.as_ptr().cast(),
        )
    };
    check(answer, &format!("mount at {target}"))
}

/// Masks /proc like Docker and Podman. Covers files with /dev/null, covers directories with an
/// empty read-only tmpfs, and makes other paths read-only. Missing paths are skipped.
fn mask_proc() -> Result<(), String> {
    for name in [
        "kcore",
        "keys",
        "timer_list",
        "latency_stats",
        "sched_debug",
        "interrupts",
    ] {
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
            // A remount must keep the locked flags of the mount below.
            let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC | libc::MS_RELATIME;
            mount(
                "",
                &path,
                "",
                libc::MS_REMOUNT | libc::MS_BIND | libc::MS_RDONLY | flags,
                "",
            )?;
        }
    }
    Ok(())
}

/// The relevant part of the profile that Docker and Podman attach to a container without
/// CAP_SYS_ADMIN: no namespaces, no mounts, and ENOSYS for clone3.
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
    why = "Its flags are in memory, which a filter cannot read. The C library falls back to clone."
    syscalls = ["clone3"]

    [[rule]]
    action = "errno:EPERM"
    why = "Any of the flags CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."
    syscalls = ["clone"]
    when = [{ arg = 0, mask = 0x7e020000, not_equal = 0 }]
"#;

fn attach_container_seccomp() -> Result<(), String> {
    use millibox_seccomp::{Arch, Policy, compile};
    let arch = if cfg!(target_arch = "x86_64") {
        Arch::X86_64
    } else {
        Arch::Aarch64
    };
    let policy: Policy = CONTAINER_SECCOMP
        .parse()
        .map_err(|error| format!("{error}"))?;
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
    let program = libc::sock_fprog {
        len: instructions.len() as u16,
        filter: instructions.as_mut_ptr(),
    };
    // SAFETY: the program and its instructions live until the call is over.
    unsafe {
        check(
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
            "set no_new_privs",
        )?;
        check(
            libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            ),
            "attach a seccomp program",
        )
    }
}

fn new_user_namespace(outside: u32, inside: u32) -> Result<(), String> {
    // SAFETY: system calls on this process, which has one thread.
    unsafe {
        if libc::geteuid() == 0 {
            check(libc::setgroups(0, std::ptr::null()), "setgroups")?;
            check(libc::setresgid(outside, outside, outside), "setresgid")?;
            check(libc::setresuid(outside, outside, outside), "setresuid")?;
            // Otherwise root owns the map files in /proc.
            check(libc::prctl(libc::PR_SET_DUMPABLE, 1), "prctl")?;
        }
        check(
            libc::unshare(libc::CLONE_NEWUSER),
            "unshare a user namespace",
        )?;
    }
    let write = |file: &str, text: String| {
        std::fs::write(file, text).map_err(|error| format!("{file}: {error}"))
    };
    write("/proc/self/setgroups", "deny".to_owned())?;
    write("/proc/self/uid_map", format!("{inside} {outside} 1"))?;
    write("/proc/self/gid_map", format!("{inside} {outside} 1"))
}

/// Changes all attributes of this process that a child inherits.
fn change_inherited_state() -> Result<(), String> {
    // SAFETY: system calls on this process; the structures outlive the calls.
    unsafe {
        libc::umask(0o077);
        libc::nice(7);
        for signal in [
            libc::SIGCHLD,
            libc::SIGPIPE,
            libc::SIGHUP,
            libc::SIGTERM,
            libc::SIGUSR1,
            libc::SIGRTMIN() + 3,
        ] {
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
        let first = (0..1024)
            .find(|cpu| libc::CPU_ISSET(*cpu, &cpus))
            .unwrap_or(0);
        libc::CPU_ZERO(&mut cpus);
        libc::CPU_SET(first, &mut cpus);
        check(
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const cpus),
            "sched_setaffinity",
        )?;
        let batch = libc::sched_param { sched_priority: 0 };
        check(
            libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const batch),
            "sched_setscheduler",
        )?;
        check(
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong),
            "personality",
        )?;
        // The idle I/O class, 3 (ioprio_set(2)).
        check(
            libc::syscall(libc::SYS_ioprio_set, 1, 0, 3 << 13) as i32,
            "ioprio_set",
        )?;
        check(libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0), "prctl")?;
        check(
            libc::prctl(libc::PR_SET_TIMERSLACK, 1_000_000_000, 0, 0, 0),
            "prctl",
        )?;
        check(
            libc::prctl(
                libc::PR_MCE_KILL,
                libc::PR_MCE_KILL_SET,
                libc::PR_MCE_KILL_EARLY,
                0,
                0,
            ),
            "prctl",
        )?;
        let node: libc::c_ulong = 1;
        // The call fails on a kernel without CONFIG_NUMA.
        libc::syscall(
            libc::SYS_set_mempolicy,
            libc::MPOL_PREFERRED,
            &raw const node,
            2,
        );
        // Every child inherits these descriptors.
        for _ in 0..3 {
            libc::open(c"/etc/passwd".as_ptr(), libc::O_RDONLY);
        }
        libc::dup2(libc::open(c"/".as_ptr(), libc::O_RDONLY), 77);
        std::env::set_var("SECRET", "of the client");
        std::env::set_var("LD_PRELOAD", "/nonexistent.so");
        std::env::set_current_dir("/usr").map_err(|error| error.to_string())?;
    }
    std::fs::write("/proc/self/coredump_filter", "0x7f")
        .map_err(|error| format!("coredump_filter: {error}"))?;
    std::fs::write("/proc/self/oom_score_adj", "321")
        .map_err(|error| format!("oom_score_adj: {error}"))
}

fn new_keyring(name: &str) -> Result<(), String> {
    let (kind, name) = (c("user"), c(name));
    // SAFETY: KEYCTL_JOIN_SESSION_KEYRING without a name; the strings outlive the calls.
    unsafe {
        check(
            libc::syscall(libc::SYS_keyctl, 1, 0, 0, 0, 0) as i32,
            "join a session keyring",
        )?;
        for ring in [-3i64, -4] {
            let key = libc::syscall(
                libc::SYS_add_key,
                kind.as_ptr(),
                name.as_ptr(),
                c"secret".as_ptr(),
                6,
                ring,
            );
            check(key as i32, "add_key")?;
        }
    }
    Ok(())
}

/// The options that the changes set for `main`.
pub struct Plan {
    pub world: World,
    pub builder: Builder,
    pub idle: bool,
    pub hold: Option<usize>,
    pub storm: bool,
    pub hang: Option<String>,
    pub hang_run: Option<String>,
    pub crowd: bool,
    pub careless: bool,
    pub no_thread: bool,
    pub forked: bool,
    pub exec: bool,
}

pub fn change(word: &str, plan: &mut Plan) -> Result<(), String> {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    let number = |text: &str| {
        text.parse::<u32>()
            .map_err(|_| format!("{word}: expected a number"))
    };
    match name {
        "user" => {
            let (outside, inside) = value.split_once(':').ok_or("user=OUT:IN")?;
            new_user_namespace(number(outside)?, number(inside)?)
        }
        "ids" => {
            let (uid, gid) = value.split_once(':').ok_or("ids=UID:GID")?;
            let (uid, gid) = (number(uid)?, number(gid)?);
            // SAFETY: system calls on this process, which has one thread.
            unsafe {
                check(libc::setgroups(0, std::ptr::null()), "setgroups")?;
                check(libc::setresgid(gid, gid, gid), "setresgid")?;
                check(libc::setresuid(uid, uid, uid), "setresuid")
            }
        }
        // SAFETY: a system call on this process, which has one thread.
        "unmapped" => check(unsafe { libc::unshare(libc::CLONE_NEWUSER) }, "unshare"),
        "mount-namespace" => {
            // SAFETY: a system call on this process, which has one thread.
            let unshared = unsafe { libc::unshare(libc::CLONE_NEWNS) };
            check(unshared, "unshare a mount namespace")?;
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
            let [source, at, flags] = parts[..] else {
                return Err("bind=SOURCE:AT:FLAGS".to_owned());
            };
            let mut mount = if flags.contains('r') {
                Mount::read_only(source, at)
            } else {
                Mount::read_write(source, at)
            };
            if !flags.contains('R') {
                mount = mount.not_recursive();
            }
            if flags.contains('n') {
                mount = mount.no_exec();
            }
            plan.world = plan.world.clone().mount(mount);
            Ok(())
        }
        "dirty" => change_inherited_state(),
        "keyring" => {
            plan.world = plan.world.clone().without_seccomp();
            new_keyring(value)
        }
        "small" => {
            plan.builder = plan.builder.clone().slots(1).runners_per_slot(1);
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
            let limit = libc::rlimit {
                rlim_cur: number(soft)?.into(),
                rlim_max: number(hard)?.into(),
            };
            // SAFETY: the structure lives until the call is over.
            check(
                unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) },
                "setrlimit",
            )
        }
        "signals" => {
            let count = number(value)?.into();
            let limit = libc::rlimit {
                rlim_cur: count,
                rlim_max: count,
            };
            // SAFETY: the structure lives until the call is over.
            check(
                unsafe { libc::setrlimit(libc::RLIMIT_SIGPENDING, &raw const limit) },
                "setrlimit",
            )
        }
        "alarms" => {
            extern "C" fn nothing(_: i32) {}
            let handler: extern "C" fn(i32) = nothing;
            let time = libc::timeval {
                tv_sec: 0,
                tv_usec: 5000,
            };
            let times = libc::itimerval {
                it_interval: time,
                it_value: time,
            };
            // SAFETY: the handler does nothing; the structure lives until the call is over.
            unsafe {
                libc::signal(libc::SIGALRM, handler as libc::sighandler_t);
                check(
                    libc::setitimer(libc::ITIMER_REAL, &raw const times, std::ptr::null_mut()),
                    "setitimer",
                )
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
            check(
                if unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) } == libc::SIG_ERR {
                    -1
                } else {
                    0
                },
                "signal",
            )
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
