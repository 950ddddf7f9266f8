//! Checks that a policy decides each call as its compiled program does, and names the rule.

use super::compiled;
use std::collections::BTreeSet;

use millibox_seccomp::{
    Action, Arch, Data, Policy, compile, default_profile, profile, profile_names,
    profile_with_loopback, run,
};

/// Values around the constants of the profiles' conditions.
fn arguments(policy: &Policy) -> Vec<u64> {
    let values = policy.rules().iter().flat_map(|rule| {
        let values = rule.conditions().iter().map(|condition| condition.value());
        values.flat_map(|value| [value.wrapping_sub(1), value, value + 1, value | 1 << 40])
    });
    let mut values: Vec<u64> = values.chain([0, u64::MAX]).collect();
    values.sort_unstable();
    values.dedup();
    values
}

#[test]
fn policy_decides_as_its_program() {
    let policies = profile_names()
        .filter_map(profile)
        .chain(profile_with_loopback("default"))
        .chain([default_profile(true, true)]);
    for policy in policies {
        let arch = Arch::X86_64;
        let program = compile(&policy, arch).expect("short enough");
        let values = arguments(&policy);
        let conditional: BTreeSet<u32> = (policy.rules().iter())
            .filter(|rule| !rule.conditions().is_empty())
            .flat_map(|rule| rule.syscalls().filter_map(|name| arch.number(name)))
            .collect();
        for nr in (0..480).chain([u32::MAX, 1 << 30]) {
            // Without conditions, one value is enough.
            let count = if conditional.contains(&nr) {
                values.len()
            } else {
                1
            };
            for (index, value) in values.iter().enumerate().take(count) {
                let other = values[(index * 7 + 3) % values.len()];
                let data = Data {
                    nr,
                    arch: arch.audit_value(),
                    args: [*value, *value, other, *value, other, *value],
                    ..Data::default()
                };
                let decision = policy.decide(arch, &data);
                assert_eq!(decision.action.value(), run(&program, &data), "{data:x?}");
                if let Some(rule) = decision.rule {
                    assert_eq!(rule.action(), decision.action);
                    assert!(rule.syscalls().any(|name| Some(name) == arch.name(nr)));
                }
            }
        }
    }
}

#[test]
fn foreign_call_is_decided_without_rule() {
    let policy = profile("default").expect("a profile");
    let data = Data::default();
    let decision = policy.decide(Arch::X86_64, &data);
    assert_eq!(
        (decision.action, decision.rule),
        (Action::KillProcess, None)
    );
    assert_eq!(
        run(&compiled("default", Arch::X86_64), &data),
        Action::KillProcess.value()
    );
}

#[test]
fn decision_names_policy_and_line_of_the_rule() {
    let text = "name = 'p'\ndescription = ''\ndefault = 'allow'\n\n[[rule]]\nwhy = 'w'\n\
        action = 'errno:EPERM'\nsyscalls = ['socket']\n";
    let policy: Policy = text.parse().expect("a policy");
    let arch = Arch::native();
    let data = Data {
        nr: arch.number("socket").expect("known"),
        arch: arch.audit_value(),
        ..Data::default()
    };
    let rule = policy.decide(arch, &data).rule.expect("a rule");
    assert_eq!((rule.policy(), rule.line(), rule.why()), ("p", 7, "w"));
}
