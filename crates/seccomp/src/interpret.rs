//! Interprets a program without the kernel.

use crate::arch::Arch;
use crate::instruction::{code, offset};
use crate::program::Program;
use crate::validate::MEMORY_WORDS;

/// The input of a program: `struct seccomp_data`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// The system call number. The kernel's type is signed; -1 is `u32::MAX` here.
    pub nr: u32,
    /// The architecture, `AUDIT_ARCH_*`; see [`Arch::audit_value`].
    pub arch: u32,
    /// The address of the instruction that made the call.
    pub instruction_pointer: u64,
    /// The arguments, with all 64 bits.
    pub args: [u64; 6],
}

impl Data {
    /// The 32-bit word at byte offset `at`, a multiple of 4.
    fn word(&self, at: u32) -> u32 {
        let field = match at {
            offset::NR => return self.nr,
            offset::ARCH => return self.arch,
            _ if at < offset::ARGS => self.instruction_pointer,
            _ => self.args[((at - offset::ARGS) / 8) as usize],
        };
        if at.is_multiple_of(8) {
            field as u32
        } else {
            (field >> 32) as u32
        }
    }
}

/// Runs `program` on `data` and returns its result: `SECCOMP_RET_*` with its data.
///
/// Running cannot fail, because every [`Program`] is valid and a valid program ends in a return.
pub fn run(program: &Program, data: &Data) -> u32 {
    let (mut a, mut x) = (0_u32, 0_u32);
    let mut memory = [0_u32; MEMORY_WORDS as usize];
    let mut next = 0;
    loop {
        let instruction = program.instructions()[next];
        next += 1;
        let k = instruction.k;
        match instruction.code {
            code::LD_W_ABS => a = data.word(k),
            code::LD_IMM => a = k,
            code::LDX_IMM => x = k,
            code::LD_W_LEN => a = offset::END,
            code::LDX_W_LEN => x = offset::END,
            code::LD_MEM => a = memory[k as usize],
            code::LDX_MEM => x = memory[k as usize],
            code::ST => memory[k as usize] = a,
            code::STX => memory[k as usize] = x,
            code::TAX => x = a,
            code::TXA => a = x,
            code::NEG => a = a.wrapping_neg(),
            code::RET_K => return k,
            code::RET_A => return a,
            code::JA => next += k as usize,
            code => {
                let operand = if code & code::X == 0 { k } else { x };
                if code & 0x07 == code::JMP {
                    let taken = jump_test_holds(code, a, operand);
                    next += usize::from(if taken {
                        instruction.jt
                    } else {
                        instruction.jf
                    });
                } else {
                    match calculate(code, a, operand) {
                        Some(result) => a = result,
                        // A division by 0 ends the program with the result 0.
                        None => return 0,
                    }
                }
            }
        }
    }
}

/// Evaluates the test of a conditional jump.
fn jump_test_holds(code: u16, a: u32, operand: u32) -> bool {
    match code & !code::X {
        code::JEQ_K => a == operand,
        code::JGT_K => a > operand,
        code::JGE_K => a >= operand,
        _ => a & operand != 0,
    }
}

/// The result of an arithmetic instruction, or `None` for a division by 0.
fn calculate(code: u16, a: u32, operand: u32) -> Option<u32> {
    Some(match code & 0xf0 {
        0x00 => a.wrapping_add(operand),
        0x10 => a.wrapping_sub(operand),
        0x20 => a.wrapping_mul(operand),
        0x30 => a.checked_div(operand)?,
        0x40 => a | operand,
        0x50 => a & operand,
        0x60 => a.wrapping_shl(operand),
        0x70 => a.wrapping_shr(operand),
        _ => a ^ operand,
    })
}

/// The result of `program` for every call of `nr`, or `None` if it depends on more than the
/// number.
///
/// Linux 5.11 and later computes these results once, when a filter is attached. It then lets calls
/// that are always allowed pass without running the filter. This function follows the kernel's
/// emulation (`seccomp_is_const_allow`) step by step. It returns `None` if the kernel gives up
/// because the program reads an argument or the instruction pointer, or uses an instruction that
/// the emulation does not support.
pub fn constant_action(program: &Program, arch: Arch, nr: u32) -> Option<u32> {
    let mut a = 0;
    let mut next = 0;
    loop {
        let instruction = program.instructions()[next];
        next += 1;
        let k = instruction.k;
        match instruction.code {
            code::LD_W_ABS if k == offset::NR => a = nr,
            code::LD_W_ABS if k == offset::ARCH => a = arch.audit_value(),
            code::AND_K => a &= k,
            code::RET_K => return Some(k),
            code::JA => next += k as usize,
            code @ (code::JEQ_K | code::JGT_K | code::JGE_K | code::JSET_K) => {
                let taken = jump_test_holds(code, a, k);
                next += usize::from(if taken {
                    instruction.jt
                } else {
                    instruction.jf
                });
            }
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instruction::Instruction;

    fn program(instructions: &[(u16, u32)]) -> Program {
        let instructions = instructions
            .iter()
            .map(|&(code, k)| Instruction::plain(code, k));
        Program::new(instructions.collect()).expect("valid")
    }

    #[test]
    fn load_reads_each_word_of_data() {
        let data = Data {
            nr: 1,
            arch: 2,
            instruction_pointer: 0x4_0000_0003,
            args: [0x6_0000_0005, 0, 0, 0, 0, 0x8_0000_0007],
        };
        let word = |k| run(&program(&[(code::LD_W_ABS, k), (code::RET_A, 0)]), &data);
        let words = [0, 4, 8, 12, 16, 20, 24, 56, 60].map(word);
        assert_eq!(words, [1, 2, 3, 4, 5, 6, 0, 7, 8]);
    }

    #[test]
    fn arithmetic_and_memory_match_kernel() {
        let result = |steps: &[(u16, u32)]| run(&program(steps), &Data::default());
        let ret = (code::RET_A, 0);
        assert_eq!(
            result(&[(code::LD_IMM, 7), (0x04, 5), (0x24, 2), (0x14, 4), ret]),
            20
        );
        assert_eq!(
            result(&[(code::LD_IMM, 7), (0x34, 2), (0x64, 4), (0x44, 1), ret]),
            49
        );
        assert_eq!(
            result(&[(code::LD_IMM, 7), (0xa4, 2), (0x74, 1), (code::NEG, 0), ret]),
            0u32.wrapping_sub(2)
        );
        assert_eq!(
            result(&[(code::LDX_IMM, 9), (code::STX, 1), (code::LD_MEM, 1), ret]),
            9
        );
        assert_eq!(
            result(&[(code::LD_IMM, 7), (code::TAX, 0), (0x0c, 0), ret]),
            14
        );
        assert_eq!(
            result(&[(code::LD_IMM, 7), (0x3c, 0), ret]),
            0,
            "division by X = 0"
        );
        assert_eq!(result(&[(code::LDX_W_LEN, 0), (code::TXA, 0), ret]), 64);
    }

    #[test]
    fn constant_action_is_none_if_argument_is_read() {
        let argument = program(&[(code::LD_W_ABS, 16), (code::RET_K, 5)]);
        assert_eq!(constant_action(&argument, Arch::X86_64, 0), None);
        let number = program(&[(code::LD_W_ABS, 0), (code::RET_K, 5)]);
        assert_eq!(constant_action(&number, Arch::X86_64, 0), Some(5));
        let masked = [
            Instruction::plain(code::LD_W_ABS, 0),
            Instruction::plain(code::AND_K, 6),
            Instruction {
                code: code::JEQ_K,
                jt: 1,
                jf: 0,
                k: 4,
            },
            Instruction::plain(code::RET_K, 5),
            Instruction::plain(code::RET_K, 6),
        ];
        let masked = Program::new(masked.to_vec()).expect("valid");
        assert_eq!(
            [13, 7].map(|nr| constant_action(&masked, Arch::X86_64, nr)),
            [Some(6), Some(5)]
        );
    }
}
