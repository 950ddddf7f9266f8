//! A seccomp filter in the kernel's format: a list of classic BPF instructions.

use crate::instruction::Instruction;
use crate::validate::{self, ValidateError};

/// A program that the kernel would accept as a seccomp filter.
///
/// Only [`compile`](crate::compile()) and the checked constructors create programs, so a `Program`
/// needs no other validation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    instructions: Vec<Instruction>,
}

impl Program {
    /// Creates a program from instructions.
    ///
    /// # Errors
    /// The kernel would reject the instructions.
    pub fn new(instructions: Vec<Instruction>) -> Result<Program, ValidateError> {
        validate::check(&instructions)?;
        Ok(Program { instructions })
    }

    /// Creates a program from bytes in the kernel's format, `struct sock_filter[]`.
    ///
    /// # Errors
    /// The kernel would reject the program, or `bytes` ends within an instruction.
    pub fn from_bytes(bytes: &[u8]) -> Result<Program, ValidateError> {
        Program::new(validate::split(bytes)?)
    }

    /// Encodes the program in the kernel's format: `sock_fprog.filter`.
    pub fn as_bytes(&self) -> Vec<u8> {
        self.instructions
            .iter()
            .flat_map(|instruction| instruction.to_ne_bytes())
            .collect()
    }

    /// The instructions.
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// The number of instructions: `sock_fprog.len`. Never 0 and at most 4096.
    #[allow(clippy::len_without_is_empty, reason = "a program is never empty")]
    pub fn len(&self) -> usize {
        self.instructions.len()
    }
}
