//! Makes arbitrary system calls, and tries to change mounts, cgroups and keyrings.

use crate::sys::*;
use std::ffi::CString;

/// Runs `command` if this module has it. Returns whether it has.
pub fn run(command: &str, arguments: &Arguments) -> bool {
    let number = |index| arguments.number(index);
    match command {
        "call" => {
            let call_arguments = [1, 2, 3, 4, 5, 6].map(number);
            match syscall(number(0) as i64, call_arguments) {
                Ok(value) => print_line(format!("value={value}\nerrno=0")),
                Err(errno) => print_line(format!("value=-1\nerrno={errno}")),
            }
        }
        "clone" => match syscall(
            libc::SYS_clone,
            [number(0) | libc::SIGCHLD as usize, 0, 0, 0, 0],
        ) {
            Ok(0) => exit(0),
            result => print_line(format!("errno={}", errno_or_0(result))),
        },
        "mounts" => try_mounts(),
        "escape" => try_escape(),
        "hostile-cgroup" => try_cgroups(),
        "keyring" => search_keyrings(&arguments.path(0)),
        _ => return false,
    }
    true
}

fn mount(source: &CString, target: &CString, kind: &CString, flags: u64) -> Result<usize, i32> {
    let data = c"";
    syscall(
        libc::SYS_mount,
        [
            source.as_ptr() as usize,
            target.as_ptr() as usize,
            kind.as_ptr() as usize,
            flags as usize,
            data.as_ptr() as usize,
        ],
    )
}

/// Tries all operations on mounts. They must fail, because the process has no capabilities.
fn try_mounts() {
    let c = |text: &str| CString::new(text).unwrap_or_default();
    for path in ["/tmp", "/usr", "/dev/null", "/proc", "/"] {
        let path_c = c(path);
        print_line(format!(
            "umount {path}={}",
            errno_or_0(syscall(
                libc::SYS_umount2,
                [path_c.as_ptr() as usize, libc::MNT_DETACH as usize]
            ))
        ));
        print_line(format!(
            "remount {path}={}",
            errno_or_0(mount(
                &c(""),
                &path_c,
                &c(""),
                libc::MS_REMOUNT | libc::MS_BIND
            ))
        ));
        print_line(format!(
            "move {path}={}",
            errno_or_0(mount(&path_c, &c("/tmp"), &c(""), libc::MS_MOVE))
        ));
        print_line(format!(
            "bind {path}={}",
            errno_or_0(mount(&path_c, &c("/tmp"), &c(""), libc::MS_BIND))
        ));
        print_line(format!(
            "cover {path}={}",
            errno_or_0(mount(&c("t"), &path_c, &c("tmpfs"), 0))
        ));
    }
    print_line(format!(
        "pivot_root={}",
        errno_or_0(syscall(
            libc::SYS_pivot_root,
            [c".".as_ptr() as usize, c".".as_ptr() as usize]
        ))
    ));
    print_line(format!(
        "chroot={}",
        errno_or_0(syscall(libc::SYS_chroot, [c"/tmp".as_ptr() as usize]))
    ));
    let tree = syscall(
        libc::SYS_open_tree,
        [
            AT_CWD,
            c"/usr".as_ptr() as usize,
            libc::OPEN_TREE_CLONE as usize,
        ],
    );
    print_line(format!("open_tree={}", errno_or_0(tree)));
    print_line(format!(
        "fsopen={}",
        errno_or_0(syscall(libc::SYS_fsopen, [c"tmpfs".as_ptr() as usize, 0]))
    ));
}

/// Gains all capabilities in a new user and mount namespace, then tries to change the sandbox's
/// mounts.
fn try_escape() {
    let flags = (libc::CLONE_NEWUSER | libc::CLONE_NEWNS) as usize;
    let entered = syscall(libc::SYS_unshare, [flags]);
    print_line(format!("unshare={}", errno_or_0(entered)));
    if entered.is_err() {
        return;
    }
    let c = |text: &str| CString::new(text).unwrap_or_default();
    for path in ["/tmp", "/usr", "/dev/null", "/proc", "/hidden", "/"] {
        let path_c = c(path);
        print_line(format!(
            "umount {path}={}",
            errno_or_0(syscall(
                libc::SYS_umount2,
                [path_c.as_ptr() as usize, libc::MNT_DETACH as usize]
            ))
        ));
        let remount = libc::MS_REMOUNT | libc::MS_BIND | libc::MS_NOSUID | libc::MS_NODEV;
        print_line(format!(
            "remount {path}={}",
            errno_or_0(mount(&c(""), &path_c, &c(""), remount))
        ));
        print_line(format!(
            "move {path}={}",
            errno_or_0(mount(&path_c, &c("/tmp"), &c(""), libc::MS_MOVE))
        ));
    }
    // A non-recursive bind would uncover the files below the submounts.
    print_line(format!(
        "bind /={}",
        errno_or_0(mount(&c("/"), &c("/tmp"), &c(""), libc::MS_BIND))
    ));
    let tree = syscall(
        libc::SYS_open_tree,
        [
            AT_CWD,
            c"/".as_ptr() as usize,
            libc::OPEN_TREE_CLONE as usize,
        ],
    );
    print_line(format!("open_tree /={}", errno_or_0(tree)));
    print_line(format!(
        "write={}",
        errno_or_0(open(
            &c("/usr/millibox-was-here"),
            libc::O_WRONLY | libc::O_CREAT
        ))
    ));
    print_line(format!(
        "secret={}",
        errno_or_0(open(&c("/hidden/secret"), libc::O_RDONLY))
    ));
}

/// Tries to mount a cgroup file system in new namespaces, to create a cgroup in it, and to move the
/// process there.
fn try_cgroups() {
    let flags = (libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWCGROUP) as usize;
    print_line(format!(
        "unshare={}",
        errno_or_0(syscall(libc::SYS_unshare, [flags]))
    ));
    let c = |text: &str| CString::new(text).unwrap_or_default();
    for (kind, options) in [("cgroup2", ""), ("cgroup", "memory"), ("cgroup", "pids")] {
        let mounted = syscall(
            libc::SYS_mount,
            [
                c"none".as_ptr() as usize,
                c"/tmp".as_ptr() as usize,
                c(kind).as_ptr() as usize,
                0,
                c(options).as_ptr() as usize,
            ],
        );
        print_line(format!("mount {kind} {options}={}", errno_or_0(mounted)));
        if mounted.is_err() {
            continue;
        }
        let made = mkdir(c"/tmp/evil");
        print_line(format!("mkdir {kind} {options}={}", errno_or_0(made)));
        for file in [
            "/tmp/memory.max",
            "/tmp/pids.max",
            "/tmp/memory.limit_in_bytes",
            "/tmp/cgroup.procs",
        ] {
            if let Ok(fd) = open(&c(file), libc::O_WRONLY) {
                let value: &[u8] = if file.ends_with("procs") {
                    b"0"
                } else {
                    b"max"
                };
                print_line(format!("write {file}={}", errno_or_0(write_all(fd, value))));
            }
        }
        if let Ok(fd) = open(&c("/tmp/evil/cgroup.procs"), libc::O_WRONLY) {
            print_line(format!("join {kind}={}", errno_or_0(write_all(fd, b"0"))));
        }
    }
}

/// Searches the session, user and user session keyrings for a key.
fn search_keyrings(description: &CString) {
    // keyctl(KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING or USER or USER_SESSION, "user", ...)
    for (name, ring) in [("session", -3isize), ("user", -4), ("user_session", -5)] {
        let kind = c"user";
        let result = syscall(
            libc::SYS_keyctl,
            [
                10,
                ring as usize,
                kind.as_ptr() as usize,
                description.as_ptr() as usize,
                0,
            ],
        );
        print_line(format!("{name}={}", errno_or_0(result)));
    }
}
