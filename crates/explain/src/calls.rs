//! The system calls that look up paths, and where their arguments have the paths.

use millibox_seccomp::Arch;
use std::collections::HashMap;

/// Where a system call has a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathArgument {
    /// The argument points to a path relative to the working directory.
    Plain(usize),
    /// The second argument points to a path relative to the directory in the first.
    At(usize, usize),
    /// The second argument points to the address of a socket, with its length in the third.
    Socket,
}

use PathArgument::{At, Plain, Socket};

const CALLS: &[(&str, PathArgument)] = &[
    ("access", Plain(0)),
    ("bind", Socket),
    ("chdir", Plain(0)),
    ("chmod", Plain(0)),
    ("chown", Plain(0)),
    ("connect", Socket),
    ("creat", Plain(0)),
    ("execve", Plain(0)),
    ("execveat", At(0, 1)),
    ("faccessat", At(0, 1)),
    ("faccessat2", At(0, 1)),
    ("fchmodat", At(0, 1)),
    ("fchmodat2", At(0, 1)),
    ("fchownat", At(0, 1)),
    ("getxattr", Plain(0)),
    ("inotify_add_watch", Plain(1)),
    ("lchown", Plain(0)),
    ("lgetxattr", Plain(0)),
    ("link", Plain(0)),
    ("linkat", At(0, 1)),
    ("listxattr", Plain(0)),
    ("llistxattr", Plain(0)),
    ("lstat", Plain(0)),
    ("mkdir", Plain(0)),
    ("mkdirat", At(0, 1)),
    ("mknod", Plain(0)),
    ("mknodat", At(0, 1)),
    ("newfstatat", At(0, 1)),
    ("open", Plain(0)),
    ("openat", At(0, 1)),
    ("openat2", At(0, 1)),
    ("readlink", Plain(0)),
    ("readlinkat", At(0, 1)),
    ("rename", Plain(0)),
    ("renameat", At(0, 1)),
    ("renameat2", At(0, 1)),
    ("rmdir", Plain(0)),
    ("stat", Plain(0)),
    ("statfs", Plain(0)),
    ("statx", At(0, 1)),
    ("symlink", Plain(1)),
    ("symlinkat", At(1, 2)),
    ("truncate", Plain(0)),
    ("unlink", Plain(0)),
    ("unlinkat", At(0, 1)),
    ("utime", Plain(0)),
    ("utimensat", At(0, 1)),
    ("utimes", Plain(0)),
];

/// The path arguments of the calls on an architecture, by number.
pub fn of(arch: Arch) -> HashMap<u32, PathArgument> {
    let numbered = |&(name, path): &(&str, PathArgument)| Some((arch.number(name)?, path));
    CALLS.iter().filter_map(numbered).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_system_call() {
        for (name, _) in CALLS {
            assert!(
                Arch::ALL.iter().any(|arch| arch.number(name).is_some()),
                "{name}"
            );
        }
        assert!(CALLS.is_sorted_by_key(|(name, _)| name));
    }
}
