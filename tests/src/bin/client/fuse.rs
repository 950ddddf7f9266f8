//! FUSE file systems that do not answer.

use crate::changes::mount;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;

/// Mounts a FUSE file system whose server never answers.
pub fn mount_hanging(at: &str) -> Result<OwnedFd, String> {
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/fuse")
        .map_err(|error| format!("/dev/fuse: {error}"))?;
    let fuse = OwnedFd::from(file);
    let number = std::os::fd::AsRawFd::as_raw_fd(&fuse);
    // SAFETY: both calls only return ids.
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    let options = format!("fd={number},rootmode=40000,user_id={uid},group_id={gid},allow_other");
    mount(
        "fuse",
        at,
        "fuse",
        libc::MS_NOSUID | libc::MS_NODEV,
        &options,
    )?;
    Ok(fuse)
}

/// Answers requests for the file system's root until `stop` is closed, and ignores lookups in it. A
/// process waits for such a lookup until the file system is gone, even after SIGKILL
/// (request_wait_answer() in fs/fuse/dev.c).
pub fn serve_root(fuse: OwnedFd, stop: &OwnedFd) {
    use rustix::event::{PollFd, PollFlags, poll};
    let mut fuse = std::fs::File::from(fuse);
    let mut request = vec![0u8; 1 << 17];
    loop {
        let mut ready = [
            PollFd::new(&fuse, PollFlags::IN),
            PollFd::new(stop, PollFlags::IN),
        ];
        if poll(&mut ready, None).is_err() || !ready[1].revents().is_empty() {
            return;
        }
        let Ok(length) = fuse.read(&mut request) else {
            return;
        };
        // struct fuse_in_header: length, operation, number, node ... (include/uapi/linux/fuse.h).
        let (operation, number) = (&request[4..8], &request[8..16]);
        let body: Vec<u8> = match u32::from_ne_bytes(operation.try_into().unwrap_or_default()) {
            // FUSE_LOOKUP; FUSE_FORGET and FUSE_INTERRUPT have no answer.
            1 | 2 | 36 => continue,
            // FUSE_INIT: version 7.31, writes of at most 4 KiB; read-ahead, flags and the rest are
            // 0.
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
