//! The system call instruction.
//!
//! No errno, no cancellation points, no libc: usable by a process that shares its
//! parent's memory and thread-local storage.

use super::{Errno, Result};
use core::arch::asm;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// What all our calls carry where a sixth argument would be; see [`set_pass`].
static PASS: AtomicU64 = AtomicU64::new(0);

/// From now on every call of this process, and of those that share its memory or have a copy
/// of it, carries `pass` as its sixth argument, which the kernel ignores for calls that have
/// fewer: a seccomp program can tell by it that we are asking, and not the program that we
/// will be (`millibox_seccomp::with_pass`). An exec clears all registers (ELF_PLAT_INIT() in
/// arch/x86/include/asm/elf.h, start_thread_common() in arch/arm64/include/asm/processor.h)
/// and replaces the memory.
pub fn set_pass(pass: u64) {
    PASS.store(pass, Relaxed);
}

/// Makes a system call with up to five arguments (unused ones are 0: the kernel
/// ignores them).
///
/// # Safety
/// The arguments must be what the call `number` expects; pointers among them must
/// be valid for what it reads and writes.
#[inline(always)]
pub unsafe fn syscall(number: libc::c_long, args: [usize; 5]) -> Result<usize> {
    let answer: isize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the x86-64 system call convention (syscall(2)): the kernel changes rax,
    // rcx and r11, and memory as the call documents, which the caller vouches for.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => answer,
            in("rdi") args[0],
            in("rsi") args[1],
            in("rdx") args[2],
            in("r10") args[3],
            in("r8") args[4],
            in("r9") PASS.load(Relaxed),
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the arm64 system call convention (syscall(2)): the kernel changes x0, and
    // memory as the call documents, which the caller vouches for.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") args[0] as isize => answer,
            in("x1") args[1],
            in("x2") args[2],
            in("x3") args[3],
            in("x4") args[4],
            in("x5") PASS.load(Relaxed),
            options(nostack),
        );
    }
    // -4095..=-1 are error numbers (include/linux/err.h).
    if (-4095..0).contains(&answer) {
        Err(Errno(-answer as i32))
    } else {
        Ok(answer as usize)
    }
}

/// `clone3` whose child does not return from it, but calls `entry(first, second)`
/// on the stack that `args` names.
///
/// # Safety
/// `args` must point to `size` bytes of a `struct clone_args` whose stack is
/// writable, 16-byte aligned at its top and used by nobody else for as long as the
/// child lives; `entry` must never return and must be sound to run in the child
/// with these two values.
#[inline(never)]
pub unsafe fn clone3_call(
    args: *const libc::clone_args,
    size: usize,
    entry: unsafe extern "C" fn(usize, usize) -> !,
    first: usize,
    second: usize,
) -> Result<usize> {
    let answer: isize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as in `syscall`; the child has the same registers but rax = 0 and rsp =
    // top of the new stack, reads nothing of the old stack, and leaves by `entry` only.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "mov rsi, r13",
            "call r14",
            "ud2",
            "2:",
            inlateout("rax") libc::SYS_clone3 as isize => answer,
            in("rdi") args,
            in("rsi") size,
            in("r9") PASS.load(Relaxed),
            in("r12") first,
            in("r13") second,
            in("r14") entry,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as in `syscall`; the child has the same registers but x0 = 0 and sp =
    // top of the new stack, reads nothing of the old stack, and leaves by `entry` only.
    unsafe {
        asm!(
            "svc 0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x0, x20",
            "mov x1, x21",
            "blr x22",
            "brk 1",
            "2:",
            in("x8") libc::SYS_clone3,
            inlateout("x0") args as isize => answer,
            in("x1") size,
            in("x5") PASS.load(Relaxed),
            in("x20") first,
            in("x21") second,
            in("x22") entry,
        );
    }
    if (-4095..0).contains(&answer) {
        Err(Errno(-answer as i32))
    } else {
        Ok(answer as usize)
    }
}

/// An instruction that is none: the process gets SIGILL or SIGTRAP, and ends.
pub fn trap() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the signal's default action ends the process; if it is handled or ignored,
    // nothing has changed.
    unsafe {
        asm!("ud2", options(nomem, nostack));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        asm!("brk 1", options(nomem, nostack));
    }
}
