//! Compares the policies with their compiled programs, for every number and architecture.

use crate::Target;
use arbitrary::Unstructured;
use millibox_seccomp::{
    Action, Arch, Comparison, Condition, Data, Policy, Problem, Program, Rule, ValidateError,
    compile, constant_action, run, validate, with_pass,
};
use std::collections::HashMap;
use std::fmt::Write;

pub const POLICY: Target = Target {
    name: "policy",
    run: policy,
    dictionary: &[
        "[[rule]]\n",
        "action = 'allow'\n",
        "errno:EPERM",
        "kill_process",
        "syscalls = ['read', 'clone']\n",
        "when = [{ arg = 0, mask = 0xff, equal = 7 }]\n",
        "not_equal",
        "less_equal",
        "greater",
        "why = ''\n",
        "default = ",
        "foreign_architecture = ",
    ],
};
pub const MADE_POLICY: Target = Target {
    name: "made_policy",
    run: made_policy,
    dictionary: &["\0\0\0\0", "\x7f\x7f"],
};
pub const BPF: Target = Target {
    name: "bpf",
    run: bpf,
    dictionary: &[
        "\x20\0\0\0\0\0\0\0",
        "\x20\0\0\0\x10\0\0\0",
        "\x15\0\x01\0\0\0\0\0",
        "\x06\0\0\0\0\0\x7f\x7f",
    ],
};

const X32: u32 = 0x4000_0000;
/// The values of i386 and arm, and values that no architecture has.
const FOREIGN: [u32; 5] = [0x4000_0003, 0x4000_0028, 0, 1, u32::MAX];
const PASS: u64 = 0x9e37_79b9_7f4a_7c15;

/// Parses a policy, which must return a line for every error.
fn policy(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match text.parse::<Policy>() {
        Ok(policy) => check_program(&policy),
        Err(error) => {
            assert!(
                (1..=text.lines().count().max(1) + 1).contains(&error.line),
                "line {} of {text:?}",
                error.line
            );
            super::assert_one_line(&error.to_string());
        }
    }
}

/// Checks a policy that is generated from the bytes and contains only existing names.
fn made_policy(bytes: &[u8]) {
    if let Ok(text) = generate_policy(&mut Unstructured::new(bytes)) {
        // Two rules without conditions may name one call. Every other policy is valid.
        match text.parse::<Policy>() {
            Ok(policy) => check_program(&policy),
            Err(error) => assert!(
                matches!(error.problem, Problem::Contradiction { .. }),
                "{error}:\n{text}"
            ),
        }
    }
}

fn generate_policy(bytes: &mut Unstructured) -> arbitrary::Result<String> {
    const ACTIONS: [&str; 6] = [
        "allow",
        "errno:EPERM",
        "errno:4095",
        "log",
        "trap",
        "kill_process",
    ];
    const COMPARISONS: [&str; 6] = [
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
    ];
    let names: Vec<&str> = Arch::X86_64.syscalls().map(|(name, _)| name).collect();
    let (default, foreign) = (bytes.choose(&ACTIONS)?, bytes.choose(&ACTIONS)?);
    let mut text = format!(
        "name = 'x'\ndescription = ''\ndefault = '{default}'\nforeign_architecture = '{foreign}'\n"
    );
    for _ in 0..bytes.int_in_range(0..=24)? {
        let action = bytes.choose(&ACTIONS)?;
        let first = bytes.choose_index(names.len())?;
        let step = bytes.int_in_range(1..=9)?;
        let calls: Vec<&str> = names
            .iter()
            .skip(first)
            .step_by(step)
            .take(bytes.int_in_range(1..=40)?)
            .copied()
            .collect();
        let mut conditions = Vec::new();
        for _ in 0..bytes.int_in_range(0..=3)? {
            let mask = match bytes.int_in_range(0..=3)? {
                0 => u64::MAX,
                1 => 0xffff_ffff,
                2 => 1 << bytes.int_in_range(0..=63)?,
                _ => bytes.arbitrary()?,
            };
            let value = mask & bytes.arbitrary::<u64>()?;
            let (arg, how) = (bytes.int_in_range(0..=5)?, bytes.choose(&COMPARISONS)?);
            conditions.push(format!(
                "{{ arg = {arg}, mask = {mask:#x}, {how} = {value:#x} }}"
            ));
        }
        let conditions = conditions.join(", ");
        let _ = write!(
            text,
            "[[rule]]\naction = '{action}'\nwhy = ''\nsyscalls = {calls:?}\nwhen = [{conditions}]\n"
        );
    }
    Ok(text)
}

/// The policy's action, without compilation. It comes from the first rule whose conditions hold,
/// otherwise from the rule without conditions, and otherwise from the default.
fn expected(policy: &Policy, rules: &[&Rule], data: &Data) -> u32 {
    let conditional = rules.iter().filter(|rule| !rule.conditions().is_empty());
    let mut matching = conditional.filter(|rule| {
        rule.conditions()
            .iter()
            .all(|condition| holds(condition, data))
    });
    let unconditional = rules.iter().find(|rule| rule.conditions().is_empty());
    matching
        .next()
        .or(unconditional)
        .map_or(policy.default_action(), |rule| rule.action())
        .value()
}

fn holds(condition: &Condition, data: &Data) -> bool {
    let argument = data.args[usize::from(condition.arg())] & condition.mask();
    match condition.comparison() {
        Comparison::Equal => argument == condition.value(),
        Comparison::NotEqual => argument != condition.value(),
        Comparison::Less => argument < condition.value(),
        Comparison::LessEqual => argument <= condition.value(),
        Comparison::Greater => argument > condition.value(),
        Comparison::GreaterEqual => argument >= condition.value(),
    }
}

/// Arguments at the boundaries of the conditions: the values in the conditions, and their
/// neighbours in either half.
fn arguments(rules: &[&Rule]) -> Vec<[u64; 6]> {
    let mut list = vec![[0; 6], [u64::MAX; 6], [1 << 32; 6]];
    for rule in rules
        .iter()
        .filter(|rule| !rule.conditions().is_empty())
        .take(8)
    {
        let mut matching = [0; 6];
        for condition in rule.conditions() {
            matching[usize::from(condition.arg())] = condition.value();
        }
        list.push(matching);
        for condition in rule.conditions() {
            for step in [1, u64::MAX, 1 << 32, u64::MAX << 32, !condition.mask()] {
                let mut near = matching;
                let argument = &mut near[usize::from(condition.arg())];
                *argument = argument.wrapping_add(step);
                list.push(near);
            }
        }
    }
    list
}

/// Asserts that the compiled program and the program with a pass agree with the policy.
fn check_program(policy: &Policy) {
    for arch in Arch::ALL {
        let program = match compile(policy, arch) {
            Ok(program) => program,
            Err(ValidateError::TooLong { .. }) => continue,
            Err(error) => panic!("{error}"),
        };
        validate(&program.as_bytes()).expect("a compiled program is valid");
        let mut rules_by_number: HashMap<u32, Vec<&Rule>> = HashMap::new();
        for rule in policy.rules() {
            for nr in rule.syscalls().filter_map(|name| arch.number(name)) {
                rules_by_number.entry(nr).or_default().push(rule);
            }
        }
        let passed: Vec<u32> = (0..1024).step_by(7).collect();
        let with = with_pass(&program, arch, &passed, PASS).ok();
        let large = [X32 - 1, 0x7fff_ffff, 0x8000_0000, u32::MAX - 1, u32::MAX];
        for nr in (0..1024).chain((0..1024).map(|nr| nr | X32)).chain(large) {
            let rules = rules_by_number.get(&nr).map_or(&[][..], Vec::as_slice);
            for args in arguments(rules) {
                let data = Data {
                    nr,
                    arch: arch.audit_value(),
                    instruction_pointer: 0x1234,
                    args,
                };
                let answer = expected(policy, rules, &data);
                assert_eq!(run(&program, &data), answer, "{arch}: {nr} {args:x?}");
                if let Some(constant) = constant_action(&program, arch, nr) {
                    assert_eq!(
                        constant, answer,
                        "{arch}: constant_action is wrong for {nr}"
                    );
                }
                // The pass changes only the results of calls that carry it.
                if let Some(with) = &with {
                    assert_eq!(
                        run(with, &data),
                        answer,
                        "{arch}: {nr} {args:x?}, without the pass"
                    );
                    let data = Data {
                        args: [args[0], args[1], args[2], args[3], args[4], PASS],
                        ..data
                    };
                    let passes = passed.contains(&nr);
                    let answer = if passes {
                        Action::Allow.value()
                    } else {
                        expected(policy, rules, &data)
                    };
                    assert_eq!(
                        run(with, &data),
                        answer,
                        "{arch}: {nr} {args:x?}, with the pass"
                    );
                }
            }
        }
        let others = Arch::ALL
            .into_iter()
            .filter(|other| *other != arch)
            .map(Arch::audit_value);
        for foreign in others.chain(FOREIGN) {
            for nr in (0..1024).step_by(3).chain([X32, X32 | 59, u32::MAX]) {
                let data = Data {
                    nr,
                    arch: foreign,
                    args: [0, 0, 0, 0, 0, PASS],
                    ..Data::default()
                };
                let answer = policy.foreign_architecture().value();
                assert_eq!(run(&program, &data), answer, "{foreign:#x}: {nr}");
                if let Some(with) = &with {
                    assert_eq!(
                        run(with, &data),
                        answer,
                        "{foreign:#x}: {nr}, with the pass"
                    );
                }
            }
        }
    }
}

/// Runs arbitrary bytes that are a valid program. The program must return, and constant results
/// must not depend on the arguments.
fn bpf(bytes: &[u8]) {
    let program = match Program::from_bytes(bytes) {
        Ok(program) => program,
        Err(error) => return super::assert_one_line(&error.to_string()),
    };
    assert_eq!(program.as_bytes(), bytes);
    validate(bytes).expect("a parsed program is valid");
    for arch in Arch::ALL {
        let passed: Vec<u32> = (0..64).collect();
        let with = with_pass(&program, arch, &passed, PASS).ok();
        for nr in (0..64).chain([400, 1023, X32, u32::MAX]) {
            let constant = constant_action(&program, arch, nr);
            for args in [
                [0; 6],
                [u64::MAX; 6],
                [PASS; 6],
                [PASS, 1, 2, 3, 4, PASS ^ 1],
            ] {
                let data = Data {
                    nr,
                    arch: arch.audit_value(),
                    instruction_pointer: 0x5678,
                    args,
                };
                let answer = run(&program, &data);
                assert!(
                    constant.is_none_or(|constant| constant == answer),
                    "{arch}: {nr} {args:x?}"
                );
                if let Some(with) = &with {
                    let passes = args[5] == PASS && passed.contains(&nr);
                    assert_eq!(
                        run(with, &data),
                        if passes {
                            Action::Allow.value()
                        } else {
                            answer
                        },
                        "{nr} {args:x?}"
                    );
                }
            }
        }
    }
}
