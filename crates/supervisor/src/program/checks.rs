//! Checks of a template by its init process, in the /proc of the host.

use super::problem::unfit_failure;
use super::{Init, at, c_str};
use crate::launch::Failure;
use crate::sys::ascii::{Line, leading_number};
use crate::sys::{Errno, calls, process};
use millibox_wire::{Step, Unfit};

impl Init<'_> {
    /// The process id in the host's PID namespace, which the supervisor uses.
    pub(super) fn host_pid(&self, pidfd: i32) -> crate::sys::Result<i32> {
        let path = Line::<48>::new()
            .text(b"self/fdinfo/")
            .number(pidfd as u64)
            .text(b"\0");
        let file = calls::openat(
            self.runner.procfs,
            c_str(path.as_bytes()),
            libc::O_RDONLY,
            0,
        )?;
        let mut buffer = [0; 512];
        let text = calls::read_at_start(file, &mut buffer);
        let _ = calls::close(file);
        let pid = text?
            .split(|&byte| byte == b'\n')
            .find_map(|line| line.strip_prefix(b"Pid:\t"))
            .map_or(0, leading_number) as i32;
        if pid > 0 {
            Ok(pid)
        } else {
            Err(Errno(libc::ESRCH))
        }
    }

    /// Checks that the template maps no shared memory, because the next run would see what a run
    /// writes there. (A copy closes all descriptors of the template.)
    pub(super) fn check_mappings(&self) -> Result<(), Failure> {
        let unreadable = |_| unfit_failure(Unfit::Protocol);
        let file = self.open_of_template(b"/smaps").map_err(unreadable)?;
        let mut lines = SharedMappings::default();
        let mut offset = 0;
        let found = loop {
            let mut buffer = [0; 1024];
            match calls::read_at(file, &mut buffer, offset) {
                Ok([]) => break Ok(false),
                Ok(text) if lines.find(text) => break Ok(true),
                Ok(text) => offset += text.len(),
                Err(errno) => break Err(errno),
            }
        };
        let _ = calls::close(file);
        match found.map_err(unreadable)? {
            true => Err(unfit_failure(Unfit::SharedMemory)),
            false => Ok(()),
        }
    }

    /// Checks that the template has only one thread. Other threads would be missing in its copies.
    pub(super) fn check_threads(&self) -> Result<(), Failure> {
        let file = self.open_of_template(b"/status");
        let file = file.map_err(|_| unfit_failure(Unfit::Protocol))?;
        let mut buffer = [0; 2048];
        let text = calls::read_at_start(file, &mut buffer);
        let _ = calls::close(file);
        let threads = text
            .map_err(at(Step::Ready))?
            .split(|&byte| byte == b'\n')
            .find_map(|line| line.strip_prefix(b"Threads:\t"))
            .map_or(0, leading_number);
        match threads {
            1 => Ok(()),
            _ => Err(unfit_failure(Unfit::Threads)),
        }
    }

    /// Opens a file of the template in /proc.
    pub(super) fn open_of_template(&self, name: &[u8]) -> crate::sys::Result<i32> {
        let pidfd = process::pidfd(self.template)?;
        let pid = self.host_pid(pidfd);
        let _ = calls::close(pidfd);
        let path = Line::<48>::new().number(pid? as u64).text(name).text(b"\0");
        calls::openat(
            self.runner.procfs,
            c_str(path.as_bytes()),
            libc::O_RDONLY,
            0,
        )
    }
}

/// Finds a mapping that a process can write and shares with its copies in /proc/PID/smaps: the flag
/// `sh` in a line that begins with `VmFlags:`. (A read-only mapping of a file has the letter `s` in
/// /proc/PID/maps but not this flag, and it cannot become writable: `do_mmap()` in mm/mmap.c.)
#[derive(Default)]
struct SharedMappings {
    /// The number of bytes of [`VM_FLAGS`] with which the current line begins; `None` after another
    /// byte.
    matched: Option<usize>,
    is_inside: bool,
    /// The last three bytes.
    last: [u8; 3],
}

const VM_FLAGS: &[u8] = b"VmFlags:";

impl SharedMappings {
    /// Whether such a mapping appears in the next part of the file.
    fn find(&mut self, text: &[u8]) -> bool {
        for &byte in text {
            if byte == b'\n' {
                *self = SharedMappings {
                    matched: Some(0),
                    ..SharedMappings::default()
                };
                continue;
            }
            self.matched = self
                .matched
                .filter(|&matched| VM_FLAGS.get(matched) == Some(&byte))
                .map(|matched| matched + 1);
            self.is_inside |= self.matched == Some(VM_FLAGS.len());
            self.last = [self.last[1], self.last[2], byte];
            if self.is_inside && self.last == *b" sh" {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_mapping_is_found_across_reads() {
        let private = b"7f00-7f10 r--s 00000000 00:01 5 /usr/lib sh\nVmFlags: rd mr me ms sd \n";
        let shared = b"7f00-7f10 rw-s 0 /dev/zero (deleted)\nVmFlags: rd wr sh mr mw me ms sd \n";
        for split in 0..shared.len() {
            let mut lines = SharedMappings::default();
            assert!(!lines.find(private));
            let (first, second) = shared.split_at(split);
            assert!(lines.find(first) || lines.find(second));
        }
    }
}
