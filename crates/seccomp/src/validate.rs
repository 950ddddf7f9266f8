//! The checks that the kernel makes before it accepts a program as a seccomp filter.
//!
//! This module implements both passes of the kernel. `bpf_check_classic` checks that the program is
//! valid classic BPF, and `seccomp_check_filter` checks that it uses only the instructions that
//! seccomp supports.

use thiserror::Error;

use crate::instruction::{Instruction, code, offset};

/// The maximum number of instructions of a program: `BPF_MAXINSNS`.
pub const MAX_INSTRUCTIONS: usize = 4096;

/// The number of 32-bit words in the scratch memory of a program: `BPF_MEMWORDS`.
pub(crate) const MEMORY_WORDS: u32 = 16;

/// The reason why the kernel would reject a program. Instructions are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ValidateError {
    /// The program has no instruction.
    #[error("the program is empty; it needs at least one return instruction")]
    Empty,
    /// The bytes end within an instruction.
    #[error(
        "the program has {length} bytes, which is not a multiple of the instruction size; pass \
         whole 8-byte instructions"
    )]
    PartialInstruction {
        /// The number of bytes.
        length: usize,
    },
    /// The program has more than [`MAX_INSTRUCTIONS`].
    #[error("the program has {count} instructions; the kernel accepts at most {MAX_INSTRUCTIONS}")]
    TooLong {
        /// The number of instructions.
        count: usize,
    },
    /// seccomp does not support this instruction.
    #[error("instruction {index} has the code {code:#06x}, which seccomp does not support")]
    UnknownInstruction {
        /// The index of the instruction.
        index: usize,
        /// The code of the instruction.
        code: u16,
    },
    /// The constant operand of the instruction is out of range. The instruction loads from outside
    /// `struct seccomp_data` or off a word boundary, divides by 0, shifts by 32 or more, or uses a
    /// memory word past the last one.
    #[error(
        "instruction {index} has the operand {k:#x}, which is out of range for this instruction"
    )]
    OperandOutOfRange {
        /// The index of the instruction.
        index: usize,
        /// The operand of the instruction.
        k: u32,
    },
    /// A jump leads past the end of the program.
    #[error("instruction {index} jumps past the end of the program")]
    JumpPastEnd {
        /// The index of the instruction.
        index: usize,
    },
    /// An instruction loads a memory word that some path to it has not stored.
    #[error("instruction {index} loads memory word {word}, which some path to it does not store")]
    UninitializedMemory {
        /// The index of the instruction.
        index: usize,
        /// The index of the memory word.
        word: u32,
    },
    /// The last instruction is not a return, so the program could run past its end.
    #[error("the last instruction is not a return; end the program with a return instruction")]
    NoReturn,
}

/// Checks that the kernel would accept `bytes` as a seccomp filter.
///
/// # Errors
/// The first violation found, in the order of the kernel's checks.
pub fn validate(bytes: &[u8]) -> Result<(), ValidateError> {
    check(&split(bytes)?)
}

/// Splits bytes into instructions.
pub(crate) fn split(bytes: &[u8]) -> Result<Vec<Instruction>, ValidateError> {
    let (chunks, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(ValidateError::PartialInstruction {
            length: bytes.len(),
        });
    }
    Ok(chunks
        .iter()
        .map(|&chunk| Instruction::from_ne_bytes(chunk))
        .collect())
}

/// Checks that the kernel would accept `instructions`.
pub(crate) fn check(instructions: &[Instruction]) -> Result<(), ValidateError> {
    let count = instructions.len();
    let Some(last) = instructions.last() else {
        return Err(ValidateError::Empty);
    };
    if count > MAX_INSTRUCTIONS {
        return Err(ValidateError::TooLong { count });
    }
    for (index, instruction) in instructions.iter().enumerate() {
        check_one(index, instruction, count - index - 1)?;
    }
    if !matches!(last.code, code::RET_K | code::RET_A) {
        return Err(ValidateError::NoReturn);
    }
    check_memory(instructions)
}

/// Checks one instruction, which is followed by `after` more.
fn check_one(
    index: usize,
    &Instruction { code, jt, jf, k }: &Instruction,
    after: usize,
) -> Result<(), ValidateError> {
    // Division and shifts with a constant operand.
    const DIV_K: u16 = code::ALU | 0x30;
    const LSH_K: u16 = code::ALU | 0x60;
    const RSH_K: u16 = code::ALU | 0x70;

    let operand = |in_range: bool| {
        if in_range {
            Ok(())
        } else {
            Err(ValidateError::OperandOutOfRange { index, k })
        }
    };
    let jump = |in_range: bool| {
        if in_range {
            Ok(())
        } else {
            Err(ValidateError::JumpPastEnd { index })
        }
    };
    match code {
        code::LD_W_ABS => operand(k < offset::END && k.is_multiple_of(4)),
        code::LD_MEM | code::LDX_MEM | code::ST | code::STX => operand(k < MEMORY_WORDS),
        DIV_K => operand(k != 0),
        LSH_K | RSH_K => operand(k < 32),
        code::JA => jump((k as usize) < after),
        _ if is_conditional_jump(code) => jump(usize::from(jt.max(jf)) < after),
        code::LD_IMM
        | code::LD_W_LEN
        | code::LDX_IMM
        | code::LDX_W_LEN
        | code::NEG
        | code::TAX
        | code::TXA
        | code::RET_K
        | code::RET_A => Ok(()),
        // Seccomp supports add, subtract, multiply, divide, or, and, shift left, shift right and
        // exclusive or. Classic BPF also has a remainder (0x90), which seccomp does not support.
        _ if matches!(
            code & !code::X,
            0x04 | 0x14 | 0x24 | 0x34 | 0x44 | 0x54 | 0x64 | 0x74 | 0xa4
        ) =>
        {
            Ok(())
        }
        _ => Err(ValidateError::UnknownInstruction { index, code }),
    }
}

pub(crate) fn is_conditional_jump(code: u16) -> bool {
    matches!(
        code & !code::X,
        code::JEQ_K | code::JGT_K | code::JGE_K | code::JSET_K
    )
}

/// Checks that every path stores a memory word before it loads it.
fn check_memory(instructions: &[Instruction]) -> Result<(), ValidateError> {
    // For each instruction, the words that every jump to it has stored. All jumps lead forward.
    let mut stored_at = vec![u16::MAX; instructions.len()];
    let mut stored = 0;
    for (index, instruction) in instructions.iter().enumerate() {
        stored &= stored_at[index];
        let k = instruction.k;
        match instruction.code {
            code::ST | code::STX => stored |= 1 << k,
            code::LD_MEM | code::LDX_MEM if stored & (1 << k) == 0 => {
                return Err(ValidateError::UninitializedMemory { index, word: k });
            }
            code::JA => {
                stored_at[index + 1 + k as usize] &= stored;
                // No path falls through to the next instruction, so only jumps lead to it.
                stored = u16::MAX;
            }
            code if is_conditional_jump(code) => {
                stored_at[index + 1 + usize::from(instruction.jt)] &= stored;
                stored_at[index + 1 + usize::from(instruction.jf)] &= stored;
                stored = u16::MAX;
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOW: Instruction = Instruction::plain(code::RET_K, 0x7fff_0000);

    fn error(instructions: &[Instruction]) -> ValidateError {
        check(instructions).expect_err("accepted")
    }

    fn load_0() -> Instruction {
        Instruction::plain(code::LD_IMM, 0)
    }

    #[test]
    fn invalid_program_is_rejected() {
        use ValidateError as E;
        let plain = Instruction::plain;
        let jump = |jt, jf| Instruction {
            code: code::JEQ_K,
            jt,
            jf,
            k: 0,
        };
        assert_eq!(validate(&[]), Err(E::Empty));
        assert_eq!(validate(&[0; 9]), Err(E::PartialInstruction { length: 9 }));
        assert_eq!(error(&vec![ALLOW; 4097]), E::TooLong { count: 4097 });
        assert_eq!(check(&vec![ALLOW; 4096]), Ok(()));
        // These are ldh, the remainder, a load of packet bytes by index, and an unknown code.
        for code in [0x28, 0x94, 0x40, 0xffff] {
            assert_eq!(
                error(&[plain(code, 1), ALLOW]),
                E::UnknownInstruction { index: 0, code }
            );
        }
        for (code, k) in [
            (code::LD_W_ABS, 64),
            (code::LD_W_ABS, 2),
            (0x34, 0),
            (0x64, 32),
            (0x02, 16),
        ] {
            assert_eq!(
                error(&[plain(code, k), ALLOW]),
                E::OperandOutOfRange { index: 0, k }
            );
        }
        assert_eq!(
            error(&[ALLOW, jump(0, 1), ALLOW]),
            E::JumpPastEnd { index: 1 }
        );
        assert_eq!(
            error(&[ALLOW, jump(1, 0), ALLOW]),
            E::JumpPastEnd { index: 1 }
        );
        assert_eq!(
            error(&[plain(code::JA, 1), ALLOW]),
            E::JumpPastEnd { index: 0 }
        );
        assert_eq!(
            error(&[plain(code::JA, u32::MAX), ALLOW]),
            E::JumpPastEnd { index: 0 }
        );
        assert_eq!(error(&[ALLOW, plain(code::LD_IMM, 0)]), E::NoReturn);
        assert_eq!(
            error(&[plain(code::LD_MEM, 3), ALLOW]),
            E::UninitializedMemory { index: 0, word: 3 }
        );
        // Only one of two paths stores the word.
        let halfway = [
            jump(0, 1),
            plain(code::ST, 3),
            plain(code::LD_MEM, 3),
            ALLOW,
        ];
        assert_eq!(
            error(&halfway),
            E::UninitializedMemory { index: 2, word: 3 }
        );
        assert_eq!(
            check(&[plain(code::ST, 3), plain(code::LD_MEM, 3), ALLOW]),
            Ok(())
        );
        // The same holds for each kind of jump, with other instructions before it.
        for over in [jump(0, 1), jump(1, 0), plain(code::JA, 1)] {
            let (load, store) = (plain(code::LD_MEM, 3), plain(code::ST, 3));
            assert_eq!(
                error(&[load_0(), over, store, load, ALLOW]),
                E::UninitializedMemory { index: 3, word: 3 },
                "{over:?}"
            );
            assert_eq!(
                error(&[store, over, load, plain(code::LD_MEM, 4), ALLOW]),
                E::UninitializedMemory { index: 3, word: 4 }
            );
            assert_eq!(check(&[store, over, load, load, ALLOW]), Ok(()), "{over:?}");
        }
    }
}
