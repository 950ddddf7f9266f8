//! Lets calls that carry a secret, the pass, bypass a filter.
//!
//! Child processes inherit a filter. Attaching a filter takes the kernel longer than most other
//! work for a short program. So a process attaches the filter once and then starts many programs.
//! That process must still make calls that the filter denies to the programs. A system call ignores
//! arguments beyond its own, and none of the calls in question has six. Therefore the sixth
//! argument can carry a secret by which the filter recognizes calls of that process.

use crate::arch::Arch;
use crate::instruction::{Instruction, code, offset};
use crate::interpret::constant_action;
use crate::policy::Action;
use crate::program::Program;
use crate::validate::ValidateError;

/// Extends `program` to allow the calls in `numbers` whose sixth argument equals `pass` in all 64
/// bits.
///
/// All other results stay the same, including those of other architectures. Calls that are always
/// allowed remain constant: the program reads no argument for them. The comparison takes the same
/// time for every argument, so a program cannot find the pass bit by bit.
///
/// The kernel must ignore the sixth argument of each call in `numbers`.
///
/// # Errors
/// [`ValidateError::TooLong`] if the extended program exceeds the kernel's limit.
pub fn with_pass(
    program: &Program,
    arch: Arch,
    numbers: &[u32],
    pass: u64,
) -> Result<Program, ValidateError> {
    let always_allowed = Some(Action::Allow.value());
    let mut numbers: Vec<u32> = numbers
        .iter()
        .copied()
        .filter(|&nr| constant_action(program, arch, nr) != always_allowed)
        .collect();
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
        Instruction {
            code: code::JEQ_K,
            jt: 0,
            jf: 1,
            k: 0,
        },
        Instruction::plain(code::RET_K, Action::Allow.value()),
    ];
    // A program may rely on the initial value 0 of the registers, which the check overwrites.
    let reset: &[Instruction] = match is_independent_of_registers(program) {
        true => &[],
        false => &[
            Instruction::plain(code::LD_IMM, 0),
            Instruction::plain(code::LDX_IMM, 0),
        ],
    };
    let mut all = vec![
        Instruction::plain(code::LD_W_ABS, offset::ARCH),
        // An unconditional jump reaches farther than a conditional jump.
        Instruction {
            code: code::JEQ_K,
            jt: 1,
            jf: 0,
            k: arch.audit_value(),
        },
        Instruction::plain(code::JA, (1 + 2 * numbers.len() + 1 + check.len()) as u32),
        Instruction::plain(code::LD_W_ABS, offset::NR),
    ];
    for (index, &nr) in numbers.iter().enumerate() {
        let to_check = 2 * (numbers.len() - index - 1) + 1;
        all.push(Instruction {
            code: code::JEQ_K,
            jt: 0,
            jf: 1,
            k: nr,
        });
        all.push(Instruction::plain(code::JA, to_check as u32));
    }
    all.push(Instruction::plain(code::JA, check.len() as u32));
    all.extend(check);
    all.extend_from_slice(reset);
    all.extend_from_slice(program.instructions());
    Program::new(all)
}

/// Returns whether the program never reads a register before writing it: the first instruction
/// writes A or returns, and no instruction reads X.
///
/// Every output of [`compile`](crate::compile()) qualifies. Other programs need two instructions
/// that reset the registers. The kernel's emulation does not support these two instructions, so it
/// no longer finds the calls that are always allowed.
fn is_independent_of_registers(program: &Program) -> bool {
    let reads_x = |instruction: &Instruction| match instruction.code {
        code::TXA | code::STX => true,
        // In arithmetic and jump instructions, one bit selects X.
        code => matches!(code & 0x07, 0x04 | 0x05) && code & code::X != 0,
    };
    let first = program.instructions().first().map(|first| first.code);
    matches!(first, Some(code::LD_W_ABS | code::RET_K))
        && !program.instructions().iter().any(reads_x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Data, compile, profile, run};

    const PASS: u64 = 0x0123_4567_89ab_cdef;
    const ARCH: Arch = Arch::X86_64;
    /// The distance between tested numbers. Miri is slow and looks only for undefined behaviour.
    const STEP: usize = if cfg!(miri) { 41 } else { 1 };

    /// Calls with and without the pass, of this and other architectures.
    fn calls() -> impl Iterator<Item = Data> {
        let sixths = [
            0,
            PASS,
            PASS ^ 1,
            PASS ^ 1 << 63,
            PASS & 0xffff_ffff,
            PASS & !0xffff_ffff,
            PASS.swap_bytes(),
        ];
        let archs = [ARCH.audit_value(), Arch::Aarch64.audit_value(), 0];
        (0..600u32)
            .step_by(STEP)
            .chain([u32::MAX, 1 << 30])
            .flat_map(move |nr| {
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

    /// Checks that the pass changes the results of calls that carry it, and no other results.
    fn check(program: &Program, numbers: &[u32]) {
        let with = with_pass(program, ARCH, numbers, PASS).expect("short enough");
        for data in calls() {
            let passes = data.arch == ARCH.audit_value()
                && numbers.contains(&data.nr)
                && data.args[5] == PASS;
            let expected = if passes {
                Action::Allow.value()
            } else {
                run(program, &data)
            };
            assert_eq!(run(&with, &data), expected, "{data:x?}");
        }
        // Constant results stay constant.
        for nr in (0..600).step_by(STEP) {
            if let Some(answer) = constant_action(program, ARCH, nr)
                && (answer == Action::Allow.value() || !numbers.contains(&nr))
            {
                assert_eq!(constant_action(&with, ARCH, nr), Some(answer), "{nr}");
            }
        }
    }

    #[test]
    fn pass_allows_only_calls_that_carry_it() {
        let numbers: Vec<u32> = [
            "clone", "clone3", "mount", "setns", "read", "socket", "keyctl",
        ]
        .map(|name| ARCH.number(name).unwrap())
        .into();
        for name in ["default", "strict"] {
            let program = compile(&profile(name).expect("built in"), ARCH).expect("compiles");
            check(&program, &numbers);
            check(&program, &[]);
        }
    }

    #[test]
    fn pass_works_with_program_that_kills_everything() {
        let nothing = Program::new(vec![Instruction::plain(code::RET_K, 0)]).expect("valid");
        check(&nothing, &(0..100).collect::<Vec<_>>());
        // More numbers than a conditional jump can skip.
        check(&nothing, &(0..500).collect::<Vec<_>>());
    }

    #[test]
    fn pass_resets_registers_that_program_reads() {
        let plain = Instruction::plain;
        for instructions in [
            vec![plain(code::RET_A, 0)],
            vec![plain(code::TXA, 0), plain(code::RET_A, 0)],
            vec![
                plain(code::LD_W_ABS, 0),
                plain(code::XOR_K | code::X, 0),
                plain(code::RET_A, 0),
            ],
            vec![
                plain(code::STX, 1),
                plain(code::LD_MEM, 1),
                plain(code::RET_A, 0),
            ],
        ] {
            check(&Program::new(instructions).expect("valid"), &[0, 1, 2, 59]);
        }
    }

    #[test]
    fn pass_rejects_program_of_maximum_length() {
        let long = vec![Instruction::plain(code::RET_K, 0); crate::MAX_INSTRUCTIONS];
        let program = Program::new(long).expect("valid");
        let error = with_pass(&program, ARCH, &[], PASS).expect_err("too long");
        assert!(matches!(error, ValidateError::TooLong { .. }), "{error}");
    }
}
