//! Suspends a function and resumes it from another stack.
//!
//! The copy of a template begins on the stack of pid1, which forked it. The copy must return to the
//! caller of `millibox_ready`, on the template's stack.

use core::arch::global_asm;

/// The stack pointer of a suspended [`call`].
#[repr(transparent)]
pub struct Context(pub usize);

// `call` saves the registers that a function must preserve, stores the stack pointer, and calls
// function(argument), which must not return. `resume` continues as if `call` returned.
#[cfg(target_arch = "x86_64")]
global_asm!(
    ".hidden millibox_context_call",
    ".globl millibox_context_call",
    ".type millibox_context_call, @function",
    "millibox_context_call:",
    "push rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "sub rsp, 8",
    "stmxcsr [rsp]",
    "fnstcw [rsp + 4]",
    "mov [rdi], rsp",
    "mov rax, rsi",
    "mov rdi, rdx",
    "call rax",
    "ud2",
    ".hidden millibox_context_resume",
    ".globl millibox_context_resume",
    ".type millibox_context_resume, @function",
    "millibox_context_resume:",
    "mov rsp, rdi",
    "ldmxcsr [rsp]",
    "fldcw [rsp + 4]",
    "add rsp, 8",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    "ret",
);

#[cfg(target_arch = "aarch64")]
global_asm!(
    ".hidden millibox_context_call",
    ".globl millibox_context_call",
    ".type millibox_context_call, @function",
    "millibox_context_call:",
    "stp x29, x30, [sp, #-160]!",
    "stp x19, x20, [sp, #16]",
    "stp x21, x22, [sp, #32]",
    "stp x23, x24, [sp, #48]",
    "stp x25, x26, [sp, #64]",
    "stp x27, x28, [sp, #80]",
    "stp d8, d9, [sp, #96]",
    "stp d10, d11, [sp, #112]",
    "stp d12, d13, [sp, #128]",
    "stp d14, d15, [sp, #144]",
    "mov x3, sp",
    "str x3, [x0]",
    "mov x0, x2",
    "blr x1",
    "brk 1",
    ".hidden millibox_context_resume",
    ".globl millibox_context_resume",
    ".type millibox_context_resume, @function",
    "millibox_context_resume:",
    "mov sp, x0",
    "ldp x19, x20, [sp, #16]",
    "ldp x21, x22, [sp, #32]",
    "ldp x23, x24, [sp, #48]",
    "ldp x25, x26, [sp, #64]",
    "ldp x27, x28, [sp, #80]",
    "ldp d8, d9, [sp, #96]",
    "ldp d10, d11, [sp, #112]",
    "ldp d12, d13, [sp, #128]",
    "ldp d14, d15, [sp, #144]",
    "ldp x29, x30, [sp], #160",
    "ret",
);

unsafe extern "C" {
    fn millibox_context_call(
        context: *mut Context,
        function: unsafe extern "C" fn(usize) -> !,
        argument: usize,
    );
    fn millibox_context_resume(context: usize) -> !;
}

/// Calls `function(argument)`, which does not return. `call` itself returns when [`resume`] is
/// called, at most once in each process.
///
/// # Safety
/// The function must be sound to call with this argument.
pub unsafe fn call(
    context: &mut Context,
    function: unsafe extern "C" fn(usize) -> !,
    argument: usize,
) {
    // SAFETY: to the compiler, this is a function that returns once and preserves the registers
    // that the ABI names. The frames of `function` are abandoned.
    unsafe { millibox_context_call(context, function, argument) }
}

/// Continues after [`call`].
///
/// # Safety
/// The frame of `call` must be alive on its stack in this process's memory, and the caller's frames
/// must need no destruction.
pub unsafe fn resume(context: &Context) -> ! {
    // SAFETY: the caller fulfils the conditions above.
    unsafe { millibox_context_resume(context.0) }
}
