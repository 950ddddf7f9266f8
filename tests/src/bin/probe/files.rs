//! Reads, writes and lists files.

use crate::sys::*;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

/// Runs `command` if this module has it. Returns whether it has.
pub fn run(command: &str, arguments: &Arguments) -> bool {
    let number = |index| arguments.number(index);
    match command {
        "cat" => cat(&arguments.path(0)),
        "open" => {
            let flags = match arguments.text(1).as_str() {
                "w" => libc::O_WRONLY,
                "rw" => libc::O_RDWR,
                "create" => libc::O_WRONLY | libc::O_CREAT,
                _ => libc::O_RDONLY,
            };
            print_line(format!(
                "errno={}",
                errno_or_0(open(&arguments.path(0), flags))
            ));
        }
        "file" => {
            let (written, errno) = write_zeros(&arguments.path(0), number(1));
            print_line(format!("written={written}\nerrno={errno}"));
        }
        "mkdirs" => {
            let mut made = 0;
            let mut errno = 0;
            for index in 0..number(1) {
                let path =
                    CString::new(format!("{}/{index}", arguments.text(0))).unwrap_or_default();
                match mkdir(&path) {
                    Ok(_) => made += 1,
                    Err(error) => {
                        errno = error;
                        break;
                    }
                }
            }
            print_line(format!("made={made}\nerrno={errno}"));
        }
        "mkdir" => print_line(format!("errno={}", errno_or_0(mkdir(&arguments.path(0))))),
        "ls" => ls(&arguments.text(0)),
        "stat" => print_stat(&arguments.path(0)),
        "statvfs" => print_statvfs(&arguments.path(0)),
        "writable" => find_writable_directories(),
        "exec" => {
            let path = arguments.path(0);
            let argv = [path.as_ptr() as usize, 0];
            let envp = [0usize];
            let result = syscall(
                libc::SYS_execve,
                [
                    path.as_ptr() as usize,
                    argv.as_ptr() as usize,
                    envp.as_ptr() as usize,
                ],
            );
            print_line(format!("errno={}", errno_or_0(result)));
        }
        "ptmx" => print_line(format!(
            "errno={}",
            errno_or_0(open(&c"/dev/ptmx".to_owned(), libc::O_RDWR))
        )),
        _ => return false,
    }
    true
}

/// Writes zeros to a file. Returns the number of bytes written, and the errno or 0.
pub fn write_zeros(path: &CString, bytes: usize) -> (usize, i32) {
    let fd = match open(path, libc::O_WRONLY | libc::O_CREAT) {
        Ok(fd) => fd,
        Err(errno) => return (0, errno),
    };
    let chunk = vec![0u8; 4096];
    let mut written = 0;
    while written < bytes {
        match syscall(
            libc::SYS_write,
            [
                fd,
                chunk.as_ptr() as usize,
                chunk.len().min(bytes - written),
            ],
        ) {
            Ok(more) => written += more,
            Err(errno) => return (written, errno),
        }
    }
    (written, 0)
}

/// Copies a file to standard output.
pub fn cat(path: &CString) {
    match open(path, libc::O_RDONLY) {
        Ok(fd) => {
            let mut chunk = vec![0u8; 1 << 16];
            while let Ok(length @ 1..) = syscall(
                libc::SYS_read,
                [fd, chunk.as_mut_ptr() as usize, chunk.len()],
            ) {
                let _ = write_all(1, &chunk[..length]);
            }
        }
        Err(errno) => print_line(format!("errno={errno}")),
    }
}

/// Prints the names in a directory, sorted.
pub fn ls(path: &str) {
    match std::fs::read_dir(path) {
        Ok(entries) => {
            let mut names: Vec<String> = entries
                .flatten()
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            print_line(names.join("\n"));
        }
        Err(error) => print_line(format!("errno={}", error.raw_os_error().unwrap_or(0))),
    }
}

fn print_stat(path: &CString) {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: path and buffer are valid, and an all-zero stat is valid.
    let (result, stat) = unsafe {
        (
            libc::lstat(path.as_ptr(), stat.as_mut_ptr()),
            stat.assume_init(),
        )
    };
    if result != 0 {
        return print_line(format!("errno={}", errno()));
    }
    print_line(format!(
        "errno=0\nmode={:o}\nkind={:o}",
        stat.st_mode & 0o7777,
        stat.st_mode & libc::S_IFMT
    ));
    print_line(format!(
        "uid={}\ngid={}\nsize={}\ndevice={}",
        stat.st_uid, stat.st_gid, stat.st_size, stat.st_dev
    ));
}

fn print_statvfs(path: &CString) {
    let mut stat = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: path and buffer are valid, and an all-zero statvfs is valid.
    let (result, stat) = unsafe {
        (
            libc::statvfs(path.as_ptr(), stat.as_mut_ptr()),
            stat.assume_init(),
        )
    };
    if result != 0 {
        return print_line(format!("errno={}", errno()));
    }
    for (name, flag) in [
        ("ro", libc::ST_RDONLY),
        ("nosuid", libc::ST_NOSUID),
        ("nodev", libc::ST_NODEV),
        ("noexec", libc::ST_NOEXEC),
    ] {
        print_line(format!("{name}={}", u32::from(stat.f_flag & flag != 0)));
    }
    print_line(format!("blocks={}", stat.f_blocks));
    print_line(format!("files={}", stat.f_files));
}

/// Prints every directory of the world in which the process can create a file.
fn find_writable_directories() {
    let mut remaining = vec![std::path::PathBuf::from("/")];
    while let Some(directory) = remaining.pop() {
        let probe = directory.join("millibox-was-here");
        let path = CString::new(probe.as_os_str().as_bytes()).unwrap_or_default();
        if open(&path, libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL).is_ok() {
            print_line(format!("writable={}", directory.display()));
        }
        if directory.components().count() > 4 {
            continue;
        }
        for entry in std::fs::read_dir(&directory)
            .into_iter()
            .flatten()
            .flatten()
        {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                remaining.push(entry.path());
            }
        }
    }
}
