//! Memory that outlives a clone: shared mappings and stacks.

use core::cell::UnsafeCell;
use core::ffi::c_void;
use rustix::fs::{MemfdFlags, SealFlags};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

/// Zeroed memory for a `T`, as a file that no process can shrink or execute. Shrinking it would
/// send SIGBUS to the processes that map it.
pub fn shared_file<T: FromZeros + Sync>() -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = match rustix::fs::memfd_create("millibox-runner", flags | MemfdFlags::NOEXEC_SEAL) {
        // MFD_NOEXEC_SEAL does not exist before Linux 6.3.
        Err(rustix::io::Errno::INVAL) => rustix::fs::memfd_create("millibox-runner", flags)?,
        made => made?,
    };
    rustix::fs::ftruncate(&file, size_of::<T>() as u64)?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(file)
}

/// Maps the memory of [`shared_file`] for the rest of the process's life. All processes that map it
/// share it.
pub fn map_shared<T: FromZeros + Sync>(file: BorrowedFd<'_>) -> io::Result<&'static T> {
    let length = size_of::<T>();
    // Access beyond the end of the file would raise SIGBUS.
    if rustix::fs::fstat(file)?.st_size < length as i64 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: this creates a new mapping at an address that the kernel chooses.
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
    // SAFETY: the mapping is page-aligned, long enough and never unmapped. The file began as zero
    // bytes, which are a valid T (FromZeros), and is written only as a T.
    Ok(unsafe { &*address.cast::<T>() })
}

/// Bytes in shared memory. One side writes them while the other does not read. A message tells the
/// reader that the bytes are complete.
#[derive(FromZeros)]
#[repr(C)]
pub struct Area<const N: usize>(UnsafeCell<[u8; N]>);

// SAFETY: messages through a socket order reads and writes, and bytes have no invariants.
unsafe impl<const N: usize> Sync for Area<N> {}

impl<const N: usize> Area<N> {
    /// Writes `bytes` at `offset`. Returns false if they do not fit.
    pub fn write(&self, offset: usize, bytes: &[u8]) -> bool {
        let Some(end) = offset.checked_add(bytes.len()) else {
            return false;
        };
        if end > N {
            return false;
        }
        // SAFETY: the check above keeps the write inside the area; the source is another
        // allocation.
        unsafe {
            let to = self.0.get().cast::<u8>().add(offset);
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
        true
    }

    /// Returns `length` bytes from `offset`. The other side must not write in the meantime.
    pub fn bytes(&self, offset: usize, length: usize) -> &[u8] {
        if offset > N || length > N - offset {
            return &[];
        }
        // SAFETY: the range is inside the area, and the other side does not write while this side
        // reads; see the type.
        unsafe { core::slice::from_raw_parts(self.0.get().cast::<u8>().add(offset), length) }
    }

    /// Returns the pages beyond `keep` bytes to the kernel.
    pub fn discard_after(&self, keep: usize) {
        let keep = keep.next_multiple_of(4096);
        if keep < N {
            // SAFETY: the range consists of whole pages inside the area, which read as zeros
            // afterwards. Bytes have no invariants. MADV_REMOVE frees shared memory (madvise(2)).
            unsafe {
                let from = self.0.get().cast::<u8>().add(keep).cast::<c_void>();
                libc::madvise(from, N - keep, libc::MADV_REMOVE);
            }
        }
    }
}

/// Numbers in C layout without padding, for which any bytes are a valid value.
pub trait Plain: FromBytes + IntoBytes + Immutable + Copy + Send {}
impl<T: FromBytes + IntoBytes + Immutable + Copy + Send> Plain for T {}

/// A value in shared memory that is read and written only as a whole.
#[derive(FromZeros)]
#[repr(C)]
pub struct Copied<T>(UnsafeCell<T>);

// SAFETY: as for `Area`.
unsafe impl<T: Plain> Sync for Copied<T> {}

impl<T: Plain> Copied<T> {
    /// Returns a copy of the value.
    pub fn get(&self) -> T {
        // SAFETY: any bytes are a valid T. The access is volatile because another process writes
        // it.
        unsafe { self.0.get().read_volatile() }
    }

    /// Stores a copy of `value`.
    pub fn set(&self, value: T) {
        // SAFETY: as above.
        unsafe { self.0.get().write_volatile(value) }
    }
}

/// A stack for a child that shares the caller's memory. The page below it is inaccessible.
pub struct Stack {
    base: usize,
    length: usize,
}

const GUARD: usize = 4096;

impl Stack {
    /// Maps a stack of `length` bytes for the rest of the process's life, and touches its pages, so
    /// that they are charged to this process and not to a run.
    pub fn new(length: usize) -> io::Result<Stack> {
        // SAFETY: this creates a new anonymous mapping, whose lowest page becomes inaccessible.
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

/// Space for pointers to NUL-terminated strings, in the form of argv and envp of execve(2).
pub struct Pointers {
    base: *mut usize,
    capacity: usize,
}

// SAFETY: only one process uses the pointers at a time, the target, while its runner waits.
unsafe impl Sync for Pointers {}
// SAFETY: as above.
unsafe impl Send for Pointers {}

impl Pointers {
    /// Reserves address space for `capacity` pointers. Memory is allocated when it is touched.
    pub fn new(capacity: usize) -> io::Result<Pointers> {
        // SAFETY: this creates a new anonymous mapping.
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
        // The first page is touched here, so that it is never charged to a run. SAFETY: the address
        // is inside the mapping.
        unsafe { address.cast::<usize>().write_volatile(0) };
        Ok(Pointers {
            base: address.cast(),
            capacity,
        })
    }

    /// Sets pointer `index`. Returns false if it is beyond the capacity.
    pub fn set(&self, index: usize, value: usize) -> bool {
        if index >= self.capacity {
            return false;
        }
        // SAFETY: the address is inside the mapping; the comment on the type names the process that
        // writes.
        unsafe { self.base.add(index).write(value) };
        true
    }

    /// The address of pointer `index`.
    pub fn address(&self, index: usize) -> usize {
        self.base as usize + index.min(self.capacity) * size_of::<usize>()
    }
}
