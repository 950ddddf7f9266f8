//! The error messages of this crate, compared with `golden/messages.txt`.
//!
//! Every error comes from real input. The other tests match the variants, not the words.

use std::fmt::Write;

use millibox_seccomp::{Action, Instruction, MAX_INSTRUCTIONS, Policy, Program};

/// Three lines that rules can follow.
const HEAD: &str = "name = 'x'\ndescription = ''\ndefault = 'errno:ENOSYS'\n";

const RETURN: Instruction = instruction(0x06, 0);

const fn instruction(code: u16, k: u32) -> Instruction {
    Instruction {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}

fn action_error(text: &str) -> String {
    text.parse::<Action>().expect_err(text).to_string()
}

fn policy_error(text: &str) -> String {
    text.parse::<Policy>().expect_err(text).to_string()
}

/// The error of a policy with one rule, whose last lines are `lines`.
fn rule_error(lines: &str) -> String {
    policy_error(&format!(
        "{HEAD}[[rule]]\naction = 'allow'\nwhy = ''\n{lines}\n"
    ))
}

fn condition_error(condition: &str) -> String {
    rule_error(&format!("syscalls = ['read']\nwhen = [{condition}]"))
}

fn program_error(instructions: &[Instruction]) -> String {
    Program::new(instructions.to_vec())
        .expect_err("an invalid program")
        .to_string()
}

/// Each variant and its message.
fn messages() -> Vec<(&'static str, String)> {
    vec![
        ("ActionError::UnknownAction", action_error("Allow")),
        ("ActionError::NeedsAnotherProcess", action_error("trace")),
        ("ActionError::UnknownErrno", action_error("errno:EFOO")),
        ("Problem::Syntax", policy_error("name = 'x'")),
        (
            "Problem::Syntax",
            policy_error(&format!("{HEAD}defualt = 'allow'")),
        ),
        (
            "Problem::Syntax",
            policy_error(&format!("{HEAD}\"two\\nlines\\u001b\" = 1")),
        ),
        (
            "Problem::Syntax",
            policy_error(&format!("{HEAD}[[rule]]\nwhen = [")),
        ),
        (
            "Problem::Syntax",
            policy_error(&format!("{HEAD}[[rule]]\naction = 'allow'")),
        ),
        (
            "Problem::Syntax",
            condition_error("{ arg = 0, equal = -1 }"),
        ),
        (
            "Problem::Syntax",
            condition_error("{ arg = 0, equals = 1 }"),
        ),
        (
            "Problem::Action",
            policy_error(&format!("{HEAD}foreign_architecture = 'no'")),
        ),
        ("Problem::UnknownSyscall", rule_error("syscalls = ['raed']")),
        (
            "Problem::UnknownSyscall",
            rule_error("syscalls = ['frobnicate']"),
        ),
        (
            "Problem::Contradiction",
            rule_error("syscalls = [\n'fork',\n'fork']"),
        ),
        ("Problem::NoSyscalls", rule_error("syscalls = []")),
        (
            "Problem::UnknownArgument",
            condition_error("{ arg = 6, equal = 0 }"),
        ),
        ("Problem::ComparisonCount", condition_error("{ arg = 0 }")),
        (
            "Problem::ComparisonCount",
            condition_error("{ arg = 0, less = 1, equal = 0 }"),
        ),
        (
            "Problem::OutsideMask",
            condition_error("{ arg = 0, mask = 1, not_equal = 3 }"),
        ),
        ("ValidateError::Empty", program_error(&[])),
        (
            "ValidateError::PartialInstruction",
            Program::from_bytes(&[0; 9])
                .expect_err("9 bytes")
                .to_string(),
        ),
        (
            "ValidateError::TooLong",
            program_error(&[RETURN; MAX_INSTRUCTIONS + 1]),
        ),
        (
            "ValidateError::UnknownInstruction",
            program_error(&[instruction(0x28, 0), RETURN]),
        ),
        (
            "ValidateError::OperandOutOfRange",
            program_error(&[instruction(0x20, 64), RETURN]),
        ),
        (
            "ValidateError::JumpPastEnd",
            program_error(&[instruction(0x05, 1), RETURN]),
        ),
        (
            "ValidateError::UninitializedMemory",
            program_error(&[instruction(0x60, 3), RETURN]),
        ),
        (
            "ValidateError::NoReturn",
            program_error(&[instruction(0x00, 0)]),
        ),
    ]
}

#[test]
fn messages_equal_golden_file() {
    let mut text = String::new();
    for (variant, message) in messages() {
        assert!(
            !message.contains(char::is_control),
            "{variant}: {message:?} is not one line of text"
        );
        writeln!(text, "{variant}: {message}").expect("a String accepts all text");
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/messages.txt");
    if std::env::var_os("MILLIBOX_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(path, &text).expect("the golden file is writable");
    }
    let golden = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        golden == text,
        "run with MILLIBOX_GOLDEN=write to update {path}. The messages are now:\n{text}"
    );
}
