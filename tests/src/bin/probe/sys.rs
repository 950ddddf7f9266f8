//! System calls and output without the Rust runtime.

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// Makes a system call. The error is an errno.
pub fn syscall<const N: usize>(number: i64, arguments: [usize; N]) -> Result<usize, i32> {
    let mut all = [0usize; 6];
    all[..N].copy_from_slice(&arguments);
    let [a, b, c, d, e, f] = all;
    // SAFETY: callers pass pointers that are valid for the call, or expect it to fail.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if result == -1 {
        Err(errno())
    } else {
        Ok(result as usize)
    }
}

/// The errno of the last failed call of the C library.
pub fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// The errno of a failed call, or 0.
pub fn errno_or_0<T>(result: Result<T, i32>) -> i32 {
    result.err().unwrap_or(0)
}

/// Writes a line to standard output. Errors are ignored.
pub fn print_line(line: impl std::fmt::Display) {
    let mut text = line.to_string();
    text.push('\n');
    let _ = write_all(1, text.as_bytes());
}

pub fn write_all(fd: usize, mut bytes: &[u8]) -> Result<(), i32> {
    while !bytes.is_empty() {
        let written = syscall(libc::SYS_write, [fd, bytes.as_ptr() as usize, bytes.len()])?;
        bytes = &bytes[written..];
    }
    Ok(())
}

pub fn exit(code: usize) -> ! {
    let _ = syscall(libc::SYS_exit_group, [code]);
    unreachable!()
}

pub fn fork() -> Result<usize, i32> {
    // SAFETY: the process has one thread, or the child makes only system calls.
    match unsafe { libc::fork() } {
        -1 => Err(errno()),
        pid => Ok(pid as usize),
    }
}

/// Waits for a child process and returns its wait status.
pub fn wait_for(pid: usize) -> i32 {
    let mut status = 0i32;
    let _ = syscall(libc::SYS_wait4, [pid, &raw mut status as usize, 0, 0]);
    status
}

/// Sleeps for some milliseconds.
pub fn sleep(millis: u64) {
    std::thread::sleep(Duration::from_millis(millis));
}

/// Reads a clock, in nanoseconds.
pub fn read_clock(which: i32) -> u64 {
    let mut time = [0i64; 2];
    let _ = syscall(
        libc::SYS_clock_gettime,
        [which as usize, &raw mut time as usize],
    );
    time[0] as u64 * 1_000_000_000 + time[1] as u64
}

/// Maps anonymous private memory and returns its address.
pub fn map_memory(bytes: usize) -> Result<usize, i32> {
    let (protection, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    syscall(
        libc::SYS_mmap,
        [
            0,
            bytes,
            protection as usize,
            (flags | libc::MAP_NORESERVE) as usize,
            usize::MAX,
            0,
        ],
    )
}

/// Writes to every page of a mapped range.
pub fn touch(address: usize, bytes: usize) {
    for offset in (0..bytes).step_by(4096) {
        // SAFETY: the caller has mapped this range.
        unsafe { ((address + offset) as *mut u8).write_volatile(1) };
    }
}

pub const AT_CWD: usize = libc::AT_FDCWD as isize as usize;

pub fn mkdir(path: &CStr) -> Result<usize, i32> {
    // Newer architectures lack mkdir(2).
    syscall(libc::SYS_mkdirat, [AT_CWD, path.as_ptr() as usize, 0o777])
}

pub fn open(path: &CString, flags: i32) -> Result<usize, i32> {
    syscall(
        libc::SYS_openat,
        [AT_CWD, path.as_ptr() as usize, flags as usize, 0o666],
    )
}

/// The arguments after the command. A missing argument reads as an empty text or 0.
pub struct Arguments(pub Vec<std::ffi::OsString>);

impl Arguments {
    pub fn text(&self, index: usize) -> String {
        self.0
            .get(index)
            .map(|text| text.to_string_lossy().into_owned())
            .unwrap_or_default()
    }

    pub fn number(&self, index: usize) -> usize {
        let text = self.text(index);
        match text.strip_prefix("0x") {
            Some(hexadecimal) => usize::from_str_radix(hexadecimal, 16).unwrap_or(0),
            None => text.parse::<i64>().unwrap_or(0) as usize,
        }
    }

    pub fn path(&self, index: usize) -> CString {
        CString::new(
            self.0
                .get(index)
                .map(|path| path.as_bytes().to_vec())
                .unwrap_or_default(),
        )
        .unwrap_or_default()
    }
}
