//! The targets, one module for each part of the project.

mod checkers;
mod go_judge;
mod judge0;
mod package;
mod piston;
mod sandbox_fusion;
mod seccomp;
mod suite;
mod v1;
mod values;
mod wire;

pub use crate::Target;

/// All targets.
pub const ALL: [Target; 21] = [
    wire::FRAME,
    wire::WORLD,
    seccomp::POLICY,
    seccomp::MADE_POLICY,
    seccomp::BPF,
    suite::SUITE,
    package::ICPC,
    package::SIM,
    package::ZIP,
    package::EDIT,
    checkers::TOKENS,
    checkers::LINES,
    checkers::EXACT,
    checkers::ANSWER,
    values::VALUE,
    judge0::JUDGE0,
    piston::PISTON,
    sandbox_fusion::SANDBOX_FUSION,
    go_judge::GO_JUDGE,
    go_judge::GO_JUDGE_GRPC,
    v1::V1,
];

/// Asserts that an error message is one line of text.
fn assert_one_line(message: &str) {
    assert!(!message.trim().is_empty(), "the error message is empty");
    assert!(
        !message.contains('\n'),
        "the error message has more than one line: {message:?}"
    );
}

/// Splits an input into `N` parts at bytes 0xff, which valid UTF-8 never contains. Missing parts
/// are empty.
fn split_parts<const N: usize>(input: &[u8]) -> [&[u8]; N] {
    let mut parts = input.splitn(N, |byte| *byte == 0xff);
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}
