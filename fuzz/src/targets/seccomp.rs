//! The policy compiler, against an interpreter of its programs: a program answers as its policy says,
//! for every number and architecture.

use crate::Target;
use arbitrary::Unstructured;
use millibox_seccomp::{
    Action, Arch, Comparison, Condition, Data, Policy, Problem, Program, Rule, ValidateError, compile,
    constant_action, run, validate, with_pass,
};
use std::collections::HashMap;
use std::fmt::Write;

pub const POLICY: Target = Target {
    name: "policy",
    run: policy,
    words: &[
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
pub const MADE_POLICY: Target = Target { name: "made_policy", run: made_policy, words: &["\0\0\0\0", "\x7f\x7f"] };
pub const BPF: Target = Target {
    name: "bpf",
    run: bpf,
    words: &["\x20\0\0\0\0\0\0\0", "\x20\0\0\0\x10\0\0\0", "\x15\0\x01\0\0\0\0\0", "\x06\0\0\0\0\0\x7f\x7f"],
};

const X32: u32 = 0x4000_0000;
/// i386, arm, and numbers that no architecture has.
const FOREIGN: [u32; 5] = [0x4000_0003, 0x4000_0028, 0, 1, u32::MAX];
const PASS: u64 = 0x9e37_79b9_7f4a_7c15;

fn policy(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match text.parse::<Policy>() {
        Ok(policy) => agrees(&policy),
        Err(error) => {
            assert!((1..=text.lines().count().max(1) + 1).contains(&error.line), "line {} of {text:?}", error.line);
            assert!(!error.to_string().trim().is_empty());
        }
    }
}

/// A policy that the bytes choose, of names that there are.
fn made_policy(bytes: &[u8]) {
    if let Ok(text) = make(&mut Unstructured::new(bytes)) {
        // Two rules without conditions may name one call. Every other policy is valid.
        match text.parse::<Policy>() {
            Ok(policy) => agrees(&policy),
            Err(error) => assert!(matches!(error.problem, Problem::Contradiction { .. }), "{error}:\n{text}"),
        }
    }
}

fn make(bytes: &mut Unstructured) -> arbitrary::Result<String> {
    const ACTIONS: [&str; 6] = ["allow", "errno:EPERM", "errno:4095", "log", "trap", "kill_process"];
    const COMPARISONS: [&str; 6] = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"];
    let names: Vec<&str> = Arch::X86_64.syscalls().map(|(name, _)| name).collect();
    let (default, foreign) = (bytes.choose(&ACTIONS)?, bytes.choose(&ACTIONS)?);
    let mut text = format!("name = 'x'\ndescription = ''\ndefault = '{default}'\nforeign_architecture = '{foreign}'\n");
    for _ in 0..bytes.int_in_range(0..=24)? {
        let action = bytes.choose(&ACTIONS)?;
        let first = bytes.choose_index(names.len())?;
        let step = bytes.int_in_range(1..=9)?;
        let calls: Vec<&str> =
            names.iter().skip(first).step_by(step).take(bytes.int_in_range(1..=40)?).copied().collect();
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
            conditions.push(format!("{{ arg = {arg}, mask = {mask:#x}, {how} = {value:#x} }}"));
        }
        let conditions = conditions.join(", ");
        let _ = write!(text, "[[rule]]\naction = '{action}'\nwhy = ''\nsyscalls = {calls:?}\nwhen = [{conditions}]\n");
    }
    Ok(text)
}

/// What the policy says, read directly: the first rule whose conditions hold, then the one without.
fn expected(policy: &Policy, about: &[&Rule], data: &Data) -> u32 {
    let conditional = about.iter().filter(|rule| !rule.conditions().is_empty());
    let mut met = conditional.filter(|rule| rule.conditions().iter().all(|condition| holds(condition, data)));
    let unconditional = about.iter().find(|rule| rule.conditions().is_empty());
    met.next().or(unconditional).map_or(policy.default_action(), |rule| rule.action()).value()
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

/// Arguments that may meet the conditions: their values, and what is next to them in either half.
fn arguments(about: &[&Rule]) -> Vec<[u64; 6]> {
    let mut list = vec![[0; 6], [u64::MAX; 6], [1 << 32; 6]];
    for rule in about.iter().filter(|rule| !rule.conditions().is_empty()).take(8) {
        let mut met = [0; 6];
        for condition in rule.conditions() {
            met[usize::from(condition.arg())] = condition.value();
        }
        list.push(met);
        for condition in rule.conditions() {
            for step in [1, u64::MAX, 1 << 32, u64::MAX << 32, !condition.mask()] {
                let mut near = met;
                let argument = &mut near[usize::from(condition.arg())];
                *argument = argument.wrapping_add(step);
                list.push(near);
            }
        }
    }
    list
}

fn agrees(policy: &Policy) {
    for arch in Arch::ALL {
        let program = match compile(policy, arch) {
            Ok(program) => program,
            Err(ValidateError::TooLong { .. }) => continue,
            Err(error) => panic!("{error}"),
        };
        validate(&program.as_bytes()).expect("what was compiled is valid");
        let mut rules: HashMap<u32, Vec<&Rule>> = HashMap::new();
        for rule in policy.rules() {
            rule.syscalls().filter_map(|name| arch.number(name)).for_each(|nr| rules.entry(nr).or_default().push(rule));
        }
        let passed: Vec<u32> = (0..1024).step_by(7).collect();
        let with = with_pass(&program, arch, &passed, PASS).ok();
        let more = [X32 - 1, 0x7fff_ffff, 0x8000_0000, u32::MAX - 1, u32::MAX];
        for nr in (0..1024).chain((0..1024).map(|nr| nr | X32)).chain(more) {
            let about = rules.get(&nr).map_or(&[][..], Vec::as_slice);
            for args in arguments(about) {
                let data = Data { nr, arch: arch.audit_value(), instruction_pointer: 0x1234, args };
                let answer = expected(policy, about, &data);
                assert_eq!(run(&program, &data), answer, "{arch}: {nr} {args:x?}");
                if let Some(constant) = constant_action(&program, arch, nr) {
                    assert_eq!(constant, answer, "{arch}: {nr} is said to be constant");
                }
                // With the word only what it is for is let through, and without it nothing changes.
                if let Some(with) = &with {
                    assert_eq!(run(with, &data), answer, "{arch}: {nr} {args:x?}, without the word");
                    let word = Data { args: [args[0], args[1], args[2], args[3], args[4], PASS], ..data };
                    let said =
                        if passed.contains(&nr) { Action::Allow.value() } else { expected(policy, about, &word) };
                    assert_eq!(run(with, &word), said, "{arch}: {nr} {args:x?}, with the word");
                }
            }
        }
        let others = Arch::ALL.into_iter().filter(|other| *other != arch).map(Arch::audit_value);
        for foreign in others.chain(FOREIGN) {
            for nr in (0..1024).step_by(3).chain([X32, X32 | 59, u32::MAX]) {
                let data = Data { nr, arch: foreign, args: [0, 0, 0, 0, 0, PASS], ..Data::default() };
                let answer = policy.foreign_architecture().value();
                assert_eq!(run(&program, &data), answer, "{foreign:#x}: {nr}");
                if let Some(with) = &with {
                    assert_eq!(run(with, &data), answer, "{foreign:#x}: {nr}, with the word");
                }
            }
        }
    }
}

/// Bytes that are taken for a program end with an answer, and what is said to be constant is.
fn bpf(bytes: &[u8]) {
    let program = match Program::from_bytes(bytes) {
        Ok(program) => program,
        Err(error) => return super::one_line(&error.to_string()),
    };
    assert_eq!(program.as_bytes(), bytes);
    validate(bytes).expect("what was read is valid");
    for arch in Arch::ALL {
        let passed: Vec<u32> = (0..64).collect();
        let with = with_pass(&program, arch, &passed, PASS).ok();
        for nr in (0..64).chain([400, 1023, X32, u32::MAX]) {
            let constant = constant_action(&program, arch, nr);
            for args in [[0; 6], [u64::MAX; 6], [PASS; 6], [PASS, 1, 2, 3, 4, PASS ^ 1]] {
                let data = Data { nr, arch: arch.audit_value(), instruction_pointer: 0x5678, args };
                let answer = run(&program, &data);
                assert!(constant.is_none_or(|constant| constant == answer), "{arch}: {nr} {args:x?}");
                if let Some(with) = &with {
                    let passes = args[5] == PASS && passed.contains(&nr);
                    assert_eq!(run(with, &data), if passes { Action::Allow.value() } else { answer }, "{nr} {args:x?}");
                }
            }
        }
    }
}
