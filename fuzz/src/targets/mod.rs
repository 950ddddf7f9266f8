//! The targets.

mod checkers;
mod package;
mod seccomp;
mod suite;
mod values;
mod wire;

pub use crate::Target;

/// All of them.
pub const ALL: [Target; 15] = [
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
];

/// A message for people: there is one, and it is one line.
fn one_line(message: &str) {
    assert!(!message.trim().is_empty(), "an error without words");
    assert!(!message.contains('\n'), "more than one line: {message:?}");
}

/// Splits at bytes 0xff, which no text has: so many parts, empty ones at the end if there are fewer.
fn parts<const N: usize>(input: &[u8]) -> [&[u8]; N] {
    let mut parts = input.splitn(N, |byte| *byte == 0xff);
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}
