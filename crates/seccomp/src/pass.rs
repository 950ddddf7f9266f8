//! A second way through a filter, for those who know a word.
//!
//! A filter is inherited, and attaching one takes the kernel longer than most of what else it
//! does for a short program. So it pays to attach it once, to a process that then makes many
//! such programs; but that process must itself go on making calls which the filter refuses to
//! the programs. No system call looks at more arguments than it has, and none that matters here
//! has six: the sixth can carry a secret, by which the filter knows who asks.

use crate::arch::Arch;
use crate::interpret::constant_action;
use crate::policy::Action;
use crate::program::{Instruction, Program, code, offset};
use crate::validate::ValidateError;

/// The program that answers as `program` does, but allows those calls among `numbers` whose
/// sixth argument is `pass`, all 64 bits of it.
///
/// Calls that are always allowed stay so without a look at any argument, and calls of other
/// architectures stay what they are. The comparison takes the same time whatever the argument
/// is, so that nobody can find the word bit by bit.
///
/// The kernel must ignore the sixth argument of each call in `numbers`.
///
/// # Errors
/// The program is too long for the addition.
pub fn with_pass(program: &Program, arch: Arch, numbers: &[u32], pass: u64) -> Result<Program, ValidateError> {
    let always = Some(Action::Allow.value());
    let mut numbers: Vec<u32> =
        numbers.iter().copied().filter(|&nr| constant_action(program, arch, nr) != always).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let sixth = offset::ARGS + 5 * 8;
    let check = [
        Instruction::plain(code::LD_W_ABS, sixth),
        Instruction::plain(code::XOR_K, pass as u32),
        Instruction::plain(code::ST, 0),
        Instruction::plain(code::LD_W_ABS, sixth + 4),
        Instruction::plain(code::XOR_K, (pass >> 32) as u32),
        Instruction::plain(code::LDX_MEM, 0),
        Instruction::plain(code::OR_X, 0),
        Instruction { code: code::JEQ_K, jt: 0, jf: 1, k: 0 },
        Instruction::plain(code::RET_K, Action::Allow.value()),
    ];
    // A program may count on what the registers hold at the start (0), and ours has used them.
    let reset: &[Instruction] = match begins_with_load(program) {
        true => &[],
        false => &[Instruction::plain(code::LD_IMM, 0), Instruction::plain(code::LDX_IMM, 0)],
    };
    let mut all = vec![
        Instruction::plain(code::LD_W_ABS, offset::ARCH),
        // A jump that is no test reaches further than one that is.
        Instruction { code: code::JEQ_K, jt: 1, jf: 0, k: arch.audit_value() },
        Instruction::plain(code::JA, (1 + 2 * numbers.len() + 1 + check.len()) as u32),
        Instruction::plain(code::LD_W_ABS, offset::NR),
    ];
    for (index, &nr) in numbers.iter().enumerate() {
        let to_check = 2 * (numbers.len() - index - 1) + 1;
        all.push(Instruction { code: code::JEQ_K, jt: 0, jf: 1, k: nr });
        all.push(Instruction::plain(code::JA, to_check as u32));
    }
    all.push(Instruction::plain(code::JA, check.len() as u32));
    all.extend(check);
    all.extend_from_slice(reset);
    all.extend_from_slice(program.instructions());
    Program::new(all)
}

/// Whether no path reads a register that it has not written: the first instruction writes A (or
/// answers), and none looks at X. All that [`compile`](crate::compile) makes is so. The two
/// instructions that would make it so are none that the kernel follows when it looks for calls
/// that are always allowed.
fn begins_with_load(program: &Program) -> bool {
    let reads_x = |instruction: &Instruction| match instruction.code {
        code::TXA | code::STX => true,
        // The instructions that calculate or jump have a bit for it.
        code => matches!(code & 0x07, 0x04 | 0x05) && code & code::X != 0,
    };
    let first = program.instructions().first().map(|first| first.code);
    matches!(first, Some(code::LD_W_ABS | code::RET_K)) && !program.instructions().iter().any(reads_x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Data, compile, profile, run};

    const PASS: u64 = 0x0123_4567_89ab_cdef;
    const ARCH: Arch = Arch::X86_64;
    /// Every how many-th number is asked: Miri is slow, and looks for something else.
    const STEP: usize = if cfg!(miri) { 41 } else { 1 };

    /// Calls with and without the word, of this and of another architecture.
    fn asked() -> impl Iterator<Item = Data> {
        let sixths = [0, PASS, PASS ^ 1, PASS ^ 1 << 63, PASS & 0xffff_ffff, PASS & !0xffff_ffff, PASS.swap_bytes()];
        let archs = [ARCH.audit_value(), Arch::Aarch64.audit_value(), 0];
        (0..600u32).step_by(STEP).chain([u32::MAX, 1 << 30]).flat_map(move |nr| {
            archs.into_iter().flat_map(move |arch| {
                sixths.into_iter().flat_map(move |sixth| {
                    [0, 1, 0x1000_0000].map(|first| Data {
                        nr,
                        arch,
                        args: [first, first, 0, 0, 0, sixth],
                        ..Data::default()
                    })
                })
            })
        })
    }

    fn agree(program: &Program, numbers: &[u32]) {
        let with = with_pass(program, ARCH, numbers, PASS).expect("short enough");
        for data in asked() {
            let passes = data.arch == ARCH.audit_value() && numbers.contains(&data.nr) && data.args[5] == PASS;
            let expected = if passes { Action::Allow.value() } else { run(program, &data) };
            assert_eq!(run(&with, &data), expected, "{data:x?}");
        }
        // What the kernel finds out once stays so.
        for nr in (0..600).step_by(STEP) {
            if let Some(answer) = constant_action(program, ARCH, nr)
                && (answer == Action::Allow.value() || !numbers.contains(&nr))
            {
                assert_eq!(constant_action(&with, ARCH, nr), Some(answer), "{nr}");
            }
        }
    }

    #[test]
    fn only_the_word_is_let_through() {
        let numbers: Vec<u32> = ["clone", "clone3", "mount", "setns", "read", "socket", "keyctl"]
            .map(|name| ARCH.number(name).unwrap())
            .into();
        for name in ["default", "strict"] {
            let program = compile(&profile(name).expect("built in"), ARCH).expect("compiles");
            agree(&program, &numbers);
            agree(&program, &[]);
        }
    }

    #[test]
    fn a_program_that_refuses_everything() {
        let nothing = Program::new(vec![Instruction::plain(code::RET_K, 0)]).expect("valid");
        agree(&nothing, &(0..100).collect::<Vec<_>>());
        // More than a test can jump over.
        agree(&nothing, &(0..500).collect::<Vec<_>>());
    }

    #[test]
    fn a_program_that_counts_on_empty_registers() {
        let plain = Instruction::plain;
        for instructions in [
            vec![plain(code::RET_A, 0)],
            vec![plain(code::TXA, 0), plain(code::RET_A, 0)],
            vec![plain(code::LD_W_ABS, 0), plain(code::XOR_K | code::X, 0), plain(code::RET_A, 0)],
            vec![plain(code::STX, 1), plain(code::LD_MEM, 1), plain(code::RET_A, 0)],
        ] {
            agree(&Program::new(instructions).expect("valid"), &[0, 1, 2, 59]);
        }
    }

    #[test]
    fn a_program_that_leaves_no_room() {
        let long = vec![Instruction::plain(code::RET_K, 0); crate::MAX_INSTRUCTIONS];
        let program = Program::new(long).expect("valid");
        assert!(with_pass(&program, ARCH, &[], PASS).is_err());
    }
}
