//! Files in memory.

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Creates a file in memory with these bytes, for standard input. The program can read it at its
/// own pace, and no process can change it.
pub fn sealed_file(bytes: &[u8]) -> std::io::Result<Arc<OwnedFd>> {
    let file = memfd_create(
        "millibox-input",
        MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING,
    )?;
    let mut file = std::fs::File::from(file);
    file.write_all(bytes)?;
    file.seek(SeekFrom::Start(0))?;
    fcntl_add_seals(
        &file,
        SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL,
    )?;
    Ok(Arc::new(file.into()))
}
