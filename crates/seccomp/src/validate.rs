//! The checks the kernel makes before it takes a program as a seccomp filter.
//!
//! Both of its passes are here: that the program is classic BPF at all (`bpf_check_classic`) and
//! that it keeps to the instructions seccomp has (`seccomp_check_filter`).

use thiserror::Error;

use crate::program::{Instruction, code, offset};

/// The most instructions a program may have: `BPF_MAXINSNS`.
pub const MAX_INSTRUCTIONS: usize = 4096;

/// The words of scratch memory a program has: `BPF_MEMWORDS`.
pub(crate) const MEMORY_WORDS: u32 = 16;

/// Why the kernel would refuse a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ValidateError {
    /// There is no instruction.
    #[error("the program is empty; it needs at least one return instruction")]
    Empty,
    /// The bytes end within an instruction.
    #[error("the program has {length} bytes; it must be a whole number of 8-byte instructions")]
    Length {
        /// How many bytes there are.
        length: usize,
    },
    /// There are more than [`MAX_INSTRUCTIONS`].
    #[error("the program has {count} instructions; the kernel takes at most {MAX_INSTRUCTIONS}")]
    TooLong {
        /// How many instructions there are.
        count: usize,
    },
    /// seccomp does not have this instruction.
    #[error("instruction {index} has the code {code:#06x}, which seccomp does not accept")]
    Instruction {
        /// Which instruction, from 0.
        index: usize,
        /// Its code.
        code: u16,
    },
    /// The instruction's constant is out of its range: a load outside of `struct seccomp_data` or
    /// off a word boundary, a division by 0, a shift by 32 or more, a memory word past the last.
    #[error("instruction {index} has the operand {k:#x}, which is out of range for it")]
    Operand {
        /// Which instruction, from 0.
        index: usize,
        /// Its operand.
        k: u32,
    },
    /// A jump leads past the end.
    #[error("instruction {index} jumps past the end of the program")]
    Jump {
        /// Which instruction, from 0.
        index: usize,
    },
    /// A memory word is read that some path to here has not written.
    #[error("instruction {index} loads memory word {word}, which is not always stored before")]
    Unwritten {
        /// Which instruction, from 0.
        index: usize,
        /// Which word.
        word: u32,
    },
    /// The program could run off its end.
    #[error("the last instruction is not a return; end the program with one")]
    NoReturn,
}

/// Checks that the kernel would accept `bytes` as a seccomp filter.
pub fn validate(bytes: &[u8]) -> Result<(), ValidateError> {
    check(&split(bytes)?)
}

/// Splits bytes into instructions.
pub(crate) fn split(bytes: &[u8]) -> Result<Vec<Instruction>, ValidateError> {
    let (chunks, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(ValidateError::Length { length: bytes.len() });
    }
    Ok(chunks.iter().map(|&chunk| Instruction::from_ne_bytes(chunk)).collect())
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

/// Checks one instruction that `after` others follow.
fn check_one(index: usize, &Instruction { code, jt, jf, k }: &Instruction, after: usize) -> Result<(), ValidateError> {
    // The operations of the ALU class that divide and shift, constant operand.
    const DIV_K: u16 = code::ALU | 0x30;
    const LSH_K: u16 = code::ALU | 0x60;
    const RSH_K: u16 = code::ALU | 0x70;

    let operand = |fits: bool| if fits { Ok(()) } else { Err(ValidateError::Operand { index, k }) };
    let jump = |fits: bool| if fits { Ok(()) } else { Err(ValidateError::Jump { index }) };
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
        // Add, subtract, multiply, divide, or, and, shift left, shift right, exclusive or. There
        // is a remainder (0x90) in classic BPF that seccomp does not have.
        _ if matches!(code & !code::X, 0x04 | 0x14 | 0x24 | 0x34 | 0x44 | 0x54 | 0x64 | 0x74 | 0xa4) => Ok(()),
        _ => Err(ValidateError::Instruction { index, code }),
    }
}

pub(crate) fn is_conditional_jump(code: u16) -> bool {
    matches!(code & !code::X, code::JEQ_K | code::JGT_K | code::JGE_K | code::JSET_K)
}

/// Checks that every path stores a memory word before it loads it.
fn check_memory(instructions: &[Instruction]) -> Result<(), ValidateError> {
    // For each instruction, the words stored on all jumps to it; all jumps lead forward.
    let mut stored_at = vec![u16::MAX; instructions.len()];
    let mut stored = 0;
    for (index, instruction) in instructions.iter().enumerate() {
        stored &= stored_at[index];
        let k = instruction.k;
        match instruction.code {
            code::ST | code::STX => stored |= 1 << k,
            code::LD_MEM | code::LDX_MEM if stored & (1 << k) == 0 => {
                return Err(ValidateError::Unwritten { index, word: k });
            }
            code::JA => {
                stored_at[index + 1 + k as usize] &= stored;
                // Nothing falls through to the next instruction, so only jumps to it count.
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
    fn refusals() {
        use ValidateError as E;
        let plain = Instruction::plain;
        let jump = |jt, jf| Instruction { code: code::JEQ_K, jt, jf, k: 0 };
        assert_eq!(validate(&[]), Err(E::Empty));
        assert_eq!(validate(&[0; 9]), Err(E::Length { length: 9 }));
        assert_eq!(error(&vec![ALLOW; 4097]), E::TooLong { count: 4097 });
        assert_eq!(check(&vec![ALLOW; 4096]), Ok(()));
        // ldh, the remainder, a load of packet bytes by index, an unknown code.
        for code in [0x28, 0x94, 0x40, 0xffff] {
            assert_eq!(error(&[plain(code, 1), ALLOW]), E::Instruction { index: 0, code });
        }
        for (code, k) in [(code::LD_W_ABS, 64), (code::LD_W_ABS, 2), (0x34, 0), (0x64, 32), (0x02, 16)] {
            assert_eq!(error(&[plain(code, k), ALLOW]), E::Operand { index: 0, k });
        }
        assert_eq!(error(&[ALLOW, jump(0, 1), ALLOW]), E::Jump { index: 1 });
        assert_eq!(error(&[ALLOW, jump(1, 0), ALLOW]), E::Jump { index: 1 });
        assert_eq!(error(&[plain(code::JA, 1), ALLOW]), E::Jump { index: 0 });
        assert_eq!(error(&[plain(code::JA, u32::MAX), ALLOW]), E::Jump { index: 0 });
        assert_eq!(error(&[ALLOW, plain(code::LD_IMM, 0)]), E::NoReturn);
        assert_eq!(error(&[plain(code::LD_MEM, 3), ALLOW]), E::Unwritten { index: 0, word: 3 });
        // Stored on one of two paths only.
        let halfway = [jump(0, 1), plain(code::ST, 3), plain(code::LD_MEM, 3), ALLOW];
        assert_eq!(error(&halfway), E::Unwritten { index: 2, word: 3 });
        assert_eq!(check(&[plain(code::ST, 3), plain(code::LD_MEM, 3), ALLOW]), Ok(()));
        // The same by each kind of jump, from further down.
        for over in [jump(0, 1), jump(1, 0), plain(code::JA, 1)] {
            let (load, store) = (plain(code::LD_MEM, 3), plain(code::ST, 3));
            assert_eq!(error(&[load_0(), over, store, load, ALLOW]), E::Unwritten { index: 3, word: 3 }, "{over:?}");
            assert_eq!(error(&[store, over, load, plain(code::LD_MEM, 4), ALLOW]), E::Unwritten { index: 3, word: 4 });
            assert_eq!(check(&[store, over, load, load, ALLOW]), Ok(()), "{over:?}");
        }
    }
}
