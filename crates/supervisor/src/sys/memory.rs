//! Memory that outlives a clone: shared mappings and stacks.

use core::cell::UnsafeCell;
use core::ffi::c_void;
use rustix::fs::{MemfdFlags, SealFlags};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

/// Zeroed memory for a `T`, as a file that nobody can make shorter (who maps it would get SIGBUS)
/// or execute.
pub fn shared_file<T: FromZeros + Sync>() -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = match rustix::fs::memfd_create("millibox-runner", flags | MemfdFlags::NOEXEC_SEAL) {
        // Before Linux 6.3.
        Err(rustix::io::Errno::INVAL) => rustix::fs::memfd_create("millibox-runner", flags)?,
        made => made?,
    };
    rustix::fs::ftruncate(&file, size_of::<T>() as u64)?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(file)
}

/// Maps what [`shared_file`] has made, for good: whoever does so shares it.
pub fn map_shared<T: FromZeros + Sync>(file: BorrowedFd<'_>) -> io::Result<&'static T> {
    let length = size_of::<T>();
    // A page beyond the file's end would be SIGBUS.
    if rustix::fs::fstat(file)?.st_size < length as i64 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: a fresh mapping, nothing else lies there.
    let address = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_NORESERVE,
            file.as_raw_fd(),
            0,
        )
    };
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: page-aligned, long enough, never unmapped; the file began as zero bytes, which are a
    // valid T (FromZeros), and is written as a T only.
    Ok(unsafe { &*address.cast::<T>() })
}

/// Bytes in shared memory that are written by one side while the other does not
/// look, and read when the writer has said so by other means (a message).
#[derive(FromZeros)]
#[repr(C)]
pub struct Area<const N: usize>(UnsafeCell<[u8; N]>);

// SAFETY: reads and writes are ordered by messages through a socket; and bytes have
// no invariants.
unsafe impl<const N: usize> Sync for Area<N> {}

impl<const N: usize> Area<N> {
    /// Writes `bytes` at `offset`; false if they do not fit.
    pub fn write(&self, offset: usize, bytes: &[u8]) -> bool {
        let Some(end) = offset.checked_add(bytes.len()) else {
            return false;
        };
        if end > N {
            return false;
        }
        // SAFETY: within the area, by the check above; the source is another allocation.
        unsafe {
            let to = self.0.get().cast::<u8>().add(offset);
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
        true
    }

    /// The bytes from `offset`, as long as nobody writes.
    pub fn bytes(&self, offset: usize, length: usize) -> &[u8] {
        if offset > N || length > N - offset {
            return &[];
        }
        // SAFETY: within the area; the other side does not write while this side reads
        // (see the type).
        unsafe { core::slice::from_raw_parts(self.0.get().cast::<u8>().add(offset), length) }
    }

    /// Gives the pages beyond `keep` bytes back to the kernel.
    pub fn discard_after(&self, keep: usize) {
        let keep = keep.next_multiple_of(4096);
        if keep < N {
            // SAFETY: whole pages inside the area, which read as zero afterwards; bytes
            // have no invariants. MADV_REMOVE frees shared memory (madvise(2)).
            unsafe {
                let from = self.0.get().cast::<u8>().add(keep).cast::<c_void>();
                libc::madvise(from, N - keep, libc::MADV_REMOVE);
            }
        }
    }
}

/// Numbers in C layout without padding: any bytes are a value, and a value is bytes.
pub trait Plain: FromBytes + IntoBytes + Immutable + Copy + Send {}
impl<T: FromBytes + IntoBytes + Immutable + Copy + Send> Plain for T {}

/// A value in shared memory that is copied in and out whole.
#[derive(FromZeros)]
#[repr(C)]
pub struct Copied<T>(UnsafeCell<T>);

// SAFETY: as for `Area`.
unsafe impl<T: Plain> Sync for Copied<T> {}

impl<T: Plain> Copied<T> {
    /// Copies the value out.
    pub fn get(&self) -> T {
        // SAFETY: any bytes are a valid T; volatile, as another process wrote them.
        unsafe { self.0.get().read_volatile() }
    }

    /// Copies a value in.
    pub fn set(&self, value: T) {
        // SAFETY: as above.
        unsafe { self.0.get().write_volatile(value) }
    }
}

/// A stack for a child that shares our memory, with a page below it that faults.
pub struct Stack {
    base: usize,
    length: usize,
}

const GUARD: usize = 4096;

impl Stack {
    /// Maps and touches a stack of `length` bytes (so that its pages are charged to
    /// who makes it, not to a run), for good.
    pub fn new(length: usize) -> io::Result<Stack> {
        // SAFETY: a fresh anonymous mapping, of which the lowest page is made inaccessible.
        unsafe {
            let address = libc::mmap(
                core::ptr::null_mut(),
                length + GUARD,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK | libc::MAP_POPULATE,
                -1,
                0,
            );
            if address == libc::MAP_FAILED || libc::mprotect(address, GUARD, libc::PROT_NONE) != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Stack {
                base: address as usize + GUARD,
                length,
            })
        }
    }

    pub(super) fn base(&self) -> usize {
        self.base
    }

    pub(super) fn length(&self) -> usize {
        self.length
    }
}

/// Room for pointers to NUL-terminated strings, as execve(2) wants argv and envp.
pub struct Pointers {
    base: *mut usize,
    capacity: usize,
}

// SAFETY: used by one process at a time: the target, while its runner waits.
unsafe impl Sync for Pointers {}
// SAFETY: as above.
unsafe impl Send for Pointers {}

impl Pointers {
    /// Reserves address space for `capacity` pointers; memory is taken when touched.
    pub fn new(capacity: usize) -> io::Result<Pointers> {
        // SAFETY: a fresh anonymous mapping.
        let address = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                capacity * size_of::<usize>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // The first page is touched now, so that it is never charged to a run.
        // SAFETY: inside the mapping.
        unsafe { address.cast::<usize>().write_volatile(0) };
        Ok(Pointers {
            base: address.cast(),
            capacity,
        })
    }

    /// Sets pointer `index`; false if there is no room.
    pub fn set(&self, index: usize, value: usize) -> bool {
        if index >= self.capacity {
            return false;
        }
        // SAFETY: within the mapping; see the type for who writes.
        unsafe { self.base.add(index).write(value) };
        true
    }

    /// Address of pointer `index`.
    pub fn address(&self, index: usize) -> usize {
        self.base as usize + index.min(self.capacity) * size_of::<usize>()
    }
}
