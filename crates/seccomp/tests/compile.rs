//! A compiled program returns the actions of its policy.

use std::collections::HashMap;
use std::fmt::Write;

use millibox_seccomp::{
    Action, Arch, Comparison, Condition, Data, Policy, Program, Rule, ValidateError, compile,
    constant_action, run, validate,
};
use proptest::prelude::*;

const X32: u32 = 0x4000_0000;

/// The rules that name each number, in the order of the file.
fn rules_by_number(policy: &Policy, arch: Arch) -> HashMap<u32, Vec<&Rule>> {
    let mut map: HashMap<u32, Vec<&Rule>> = HashMap::new();
    for rule in policy.rules() {
        for number in rule.syscalls().filter_map(|name| arch.number(name)) {
            map.entry(number).or_default().push(rule);
        }
    }
    map
}

/// The policy's action, without compilation. It comes from the first rule whose conditions hold,
/// otherwise from the rule without conditions, and otherwise from the default.
fn expected(policy: &Policy, rules: &[&Rule], data: &Data) -> Action {
    let (unconditional, conditional): (Vec<&Rule>, Vec<&Rule>) =
        rules.iter().partition(|rule| rule.conditions().is_empty());
    conditional
        .iter()
        .find(|rule| {
            rule.conditions()
                .iter()
                .all(|condition| holds(condition, data))
        })
        .or(unconditional.first())
        .map_or(policy.default_action(), |rule| rule.action())
}

fn holds(condition: &Condition, data: &Data) -> bool {
    let argument = data.args[usize::from(condition.arg())] & condition.mask();
    let value = condition.value();
    match condition.comparison() {
        Comparison::Equal => argument == value,
        Comparison::NotEqual => argument != value,
        Comparison::Less => argument < value,
        Comparison::LessEqual => argument <= value,
        Comparison::Greater => argument > value,
        Comparison::GreaterEqual => argument >= value,
    }
}

/// Every number at which an action could change, and the neighbouring numbers.
fn numbers() -> impl Iterator<Item = u32> {
    let large = [1000, u32::MAX / 2, 0x8000_0000, u32::MAX - 1, u32::MAX];
    (0..=600)
        .chain((0..=600).map(|nr| X32 + nr))
        .chain([X32 - 1])
        .chain(large)
}

/// Arguments at the boundaries of the conditions: the values in the conditions, and their
/// neighbours in either half.
fn arguments(rules: &[&Rule]) -> Vec<[u64; 6]> {
    let mut list = vec![[0; 6], [u64::MAX; 6], [1 << 32; 6]];
    for rule in rules {
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

/// Compares the program with its policy, number by number, on arguments derived from the conditions
/// and on `more_arguments`.
fn check(policy: &Policy, arch: Arch, more_arguments: &[[u64; 6]]) -> Program {
    let program = compile(policy, arch).expect("short enough");
    validate(&program.as_bytes()).expect("valid");
    let rules_by_number = rules_by_number(policy, arch);
    for nr in numbers() {
        let rules = rules_by_number.get(&nr).map_or(&[][..], Vec::as_slice);
        let mut answers = Vec::new();
        for args in arguments(rules).iter().chain(more_arguments) {
            let data = Data {
                nr,
                arch: arch.audit_value(),
                instruction_pointer: 0x1234,
                args: *args,
            };
            let answer = expected(policy, rules, &data).value();
            assert_eq!(run(&program, &data), answer, "{arch}: {nr} {args:x?}");
            answers.push(answer);
        }
        if let Some(constant) = constant_action(&program, arch, nr) {
            assert!(answers.iter().all(|answer| *answer == constant));
        } else {
            let conditional = rules.iter().any(|rule| !rule.conditions().is_empty());
            assert!(
                conditional,
                "{arch}: {nr} has one action, but is not constant"
            );
        }
    }
    let others = Arch::ALL
        .into_iter()
        .filter(|other| *other != arch)
        .map(Arch::audit_value);
    for foreign in others.chain([0, 0x4000_0003, 0x4000_0028, u32::MAX]) {
        for nr in [0, 59, 221, X32, u32::MAX] {
            let data = Data {
                nr,
                arch: foreign,
                ..Data::default()
            };
            assert_eq!(run(&program, &data), policy.foreign_architecture().value());
        }
    }
    program
}

fn actions() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "allow",
        "log",
        "errno:EPERM",
        "errno:1234",
        "trap",
        "kill_thread",
    ])
    .prop_map(str::to_owned)
}

/// Values whose halves are small, extreme or arbitrary.
fn values() -> impl Strategy<Value = u64> {
    let half = || {
        prop_oneof![
            4 => Just(0_u32),
            2 => Just(u32::MAX),
            2 => 0..4_u32,
            1 => (0..32_u32).prop_map(|bit| 1 << bit),
            1 => any::<u32>(),
        ]
    };
    (half(), half()).prop_map(|(high, low)| u64::from(high) << 32 | u64::from(low))
}

fn conditions() -> impl Strategy<Value = String> {
    let comparison = prop::sample::select(vec![
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
    ]);
    let mask = prop_oneof![Just(u64::MAX), Just(0xffff_ffff), values()];
    (0..6_u8, mask, comparison, values()).prop_map(|(arg, mask, comparison, value)| {
        format!(
            "{{ arg = {arg}, mask = {mask:#x}, {comparison} = {:#x} }}",
            value & mask
        )
    })
}

/// A policy in which rules without conditions assign no action or one of four actions to each call.
/// Up to 11 rules with conditions follow.
fn policies() -> impl Strategy<Value = String> {
    let mut unique: Vec<&str> = Arch::ALL
        .into_iter()
        .flat_map(Arch::syscalls)
        .map(|(name, _)| name)
        .collect();
    unique.sort_unstable();
    unique.dedup();
    let unconditional =
        prop::collection::vec((0..4_usize, prop::bool::weighted(0.8)), unique.len());
    let conditional = prop::collection::vec(
        (
            actions(),
            prop::sample::subsequence(unique.clone(), 1..6),
            prop::collection::vec(conditions(), 1..4),
        ),
        0..12,
    );
    let palette = prop::collection::vec(actions(), 4);
    (actions(), actions(), palette, unconditional, conditional).prop_map(
        move |(default, foreign, palette, unconditional, conditional)| {
            let mut text = head(&default, &foreign);
            for (i, action) in palette.iter().enumerate() {
                let calls: Vec<&str> = unique
                    .iter()
                    .zip(&unconditional)
                    .filter(|(_, (choice, named))| *choice == i && *named)
                    .map(|(name, _)| *name)
                    .collect();
                if !calls.is_empty() {
                    rule(&mut text, action, &calls, &[]);
                }
            }
            for (action, calls, conditions) in &conditional {
                rule(&mut text, action, calls, conditions);
            }
            text
        },
    )
}

fn head(default: &str, foreign: &str) -> String {
    format!(
        "name = 'x'\ndescription = ''\ndefault = '{default}'\nforeign_architecture = '{foreign}'\n"
    )
}

fn rule(text: &mut String, action: &str, calls: &[&str], conditions: &[String]) {
    let conditions = conditions.join(", ");
    writeln!(
        text,
        "[[rule]]\naction = '{action}'\nwhy = ''\nsyscalls = {calls:?}\nwhen = [{conditions}]"
    )
    .expect("written");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn compiled_program_agrees_with_policy(
        text in policies(),
        args in prop::collection::vec(prop::array::uniform6(values()), 0..4),
    ) {
        let policy: Policy = text.parse().expect("a policy");
        for arch in Arch::ALL {
            check(&policy, arch, &args);
        }
    }

    #[test]
    fn arbitrary_program_is_rejected_or_runs(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        if let Ok(program) = Program::from_bytes(&bytes) {
            run(&program, &Data::default());
        }
    }
}

#[test]
fn compile_alternating_actions_stays_short_and_shallow() {
    // Each number has its own error, so no answer is shared.
    let mut text = head("errno:ENOSYS", "kill_process");
    for (name, number) in Arch::X86_64.syscalls() {
        rule(&mut text, &format!("errno:{}", 1000 + number), &[name], &[]);
    }
    let policy = text.parse().expect("a policy");
    let program = check(&policy, Arch::X86_64, &[]);
    // For 381 numbers, the program has one return and one test each, and nine tests on the path to
    // each number.
    assert!(
        (763..790).contains(&program.len()) && longest_path(&program) <= 14,
        "{}",
        program.len()
    );

    // The policy allows every second number.
    let mut text = head("errno:ENOSYS", "kill_process");
    for (name, number) in Arch::X86_64.syscalls() {
        rule(
            &mut text,
            if number % 2 == 0 { "allow" } else { "trap" },
            &[name],
            &[],
        );
    }
    let program = check(&text.parse().expect("a policy"), Arch::X86_64, &[]);
    // A sequence of allow, trap, allow becomes one interval that contains a single number with
    // another action.
    assert!(
        program.len() < 256 && longest_path(&program) <= 14,
        "{}",
        program.len()
    );
}

/// The number of instructions on the longest path, without its return.
fn longest_path(program: &Program) -> usize {
    let mut from = vec![0; program.len()];
    for (at, instruction) in program.instructions().iter().enumerate().rev() {
        let to = |skip: u32| 1 + from[at + 1 + skip as usize];
        from[at] = match instruction.code {
            0x06 | 0x16 => 0,
            0x05 => to(instruction.k),
            _ => to(instruction.jt.into()).max(to(instruction.jf.into())),
        };
    }
    from[0]
}

#[test]
fn compile_many_conditional_rules_agrees_with_policy() {
    // One conditional rule for every call, and 300 more rules for one call.
    let mut text = head("errno:ENOSYS", "kill_process");
    for (name, number) in Arch::X86_64.syscalls() {
        let condition = format!("{{ arg = 1, equal = {} }}", number << 4);
        rule(&mut text, "allow", &[name], &[condition]);
    }
    for i in 0..300 {
        let condition = format!(
            "{{ arg = {}, mask = 0xfff_ffff_ffff, greater = {} }}",
            i % 6,
            u64::MAX >> 22 >> (i % 40)
        );
        rule(
            &mut text,
            &format!("errno:{}", 100 + i),
            &["read"],
            &[condition],
        );
    }
    let program = check(
        &text.parse().expect("a policy"),
        Arch::X86_64,
        &[[5; 6], [!0 >> 40; 6]],
    );
    assert!(program.len() > 2000, "{}", program.len());
}

#[test]
fn compile_rejects_policy_beyond_kernel_limit() {
    let mut text = head("errno:ENOSYS", "kill_process");
    for i in 0..3000 {
        let condition = format!("{{ arg = {}, equal = {} }}", i % 6, i * 0x1_0000_0001_u64);
        rule(&mut text, &format!("errno:{i}"), &["read"], &[condition]);
    }
    let error = compile(&text.parse().expect("a policy"), Arch::X86_64).expect_err("too long");
    assert!(matches!(error, ValidateError::TooLong { .. }), "{error}");
}

#[test]
fn compile_small_policy_has_minimal_length() {
    let length = |text: &str| {
        compile(&text.parse().expect("a policy"), Arch::X86_64)
            .expect("ok")
            .len()
    };
    // The program has one return, because all calls have the same action.
    assert_eq!(length(&head("allow", "allow")), 1);
    // The program has a load and a test of the architecture, and two returns.
    assert_eq!(length(&head("allow", "trap")), 4);
    // One denied number adds a load and a test of the number.
    let mut text = head("allow", "trap");
    rule(&mut text, "trap", &["ptrace"], &[]);
    assert_eq!(length(&text), 6);
    // Three tests of the same word need one load, so ld and three jeq suffice.
    let mut text = head("allow", "trap");
    for value in [7, 8, 9] {
        let condition = format!("{{ arg = 1, mask = 0xffffffff, equal = {value} }}");
        rule(&mut text, "trap", &["ioctl"], &[condition]);
    }
    assert_eq!(length(&text), 6 + 4);
}
