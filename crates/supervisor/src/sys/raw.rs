//! The system call instruction.
//!
//! This code uses no errno, no cancellation points and no libc, so a process that shares its
//! parent's memory and thread-local storage can call it.

use super::{Errno, Result};
use core::arch::asm;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

/// The sixth argument of all system calls; see [`set_pass`].
static PASS: AtomicU64 = AtomicU64::new(0);

/// Sets the sixth argument of every later call of this process, and of processes that share its
/// memory or have a copy of it.
///
/// The kernel ignores the argument for calls that have fewer. The argument lets a seccomp program
/// recognise calls of the sandbox, as opposed to calls of the program that the process will execute
/// (`millibox_seccomp::with_pass`). An exec replaces the memory and clears all registers
/// (ELF_PLAT_INIT() in arch/x86/include/asm/elf.h, start_thread_common() in
/// arch/arm64/include/asm/processor.h).
pub fn set_pass(pass: u64) {
    PASS.store(pass, Relaxed);
}

/// Makes a system call with up to five arguments. Unused arguments are 0; the kernel ignores them.
///
/// # Safety
/// The arguments must be those that the call `number` expects. Pointers among them must be valid
/// for the memory that the call reads and writes.
#[inline(always)]
pub unsafe fn syscall(number: libc::c_long, args: [usize; 5]) -> Result<usize> {
    let answer: isize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: this is the x86-64 system call convention (syscall(2)). The kernel changes rax, rcx
    // and r11, and memory as the call documents; the caller guarantees that this memory is valid.
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
    // SAFETY: this is the arm64 system call convention (syscall(2)). The kernel changes x0, and
    // memory as the call documents; the caller guarantees that this memory is valid.
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

/// Calls clone3. The child does not return, but calls `entry(first, second)` on the stack that
/// `args` names.
///
/// # Safety
/// `args` must point to `size` bytes of a `struct clone_args`. Its stack must be writable, 16-byte
/// aligned at its top, and used only by the child for as long as the child lives. `entry` must
/// never return, and must be sound to run in the child with these two values.
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
    // SAFETY: as in `syscall`. The child has the same registers except for rax, which is 0, and
    // rsp, the top of the new stack. It reads nothing of the old stack and leaves only by `entry`.
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
    // SAFETY: as in `syscall`. The child has the same registers except for x0, which is 0, and sp,
    // the top of the new stack. It reads nothing of the old stack and leaves only by `entry`.
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

/// The address of the thread control block.
#[allow(dead_code, reason = "for the library of prepared programs")]
pub fn thread_pointer() -> usize {
    let address: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the first word of the block is its own address (System V ABI, TLS variant II).
    unsafe {
        asm!("mov {}, fs:[0]", out(reg) address, options(nostack, readonly));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the instruction only reads a register.
    unsafe {
        asm!("mrs {}, tpidr_el0", out(reg) address, options(nostack, nomem));
    }
    address
}

/// Executes an invalid instruction. The process receives SIGILL or SIGTRAP and ends.
pub fn trap() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the default action of the signal ends the process. If the signal is handled or
    // ignored, nothing has changed.
    unsafe {
        asm!("ud2", options(nomem, nostack));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        asm!("brk 1", options(nomem, nostack));
    }
}
