//! From a policy to a program.
//!
//! First the rules become a graph of tests and answers ([`graph`]), with a search for the number
//! on top; then the graph is laid out as instructions ([`layout`]).
//!
//! Two costs matter. An attach pays for every instruction: the kernel checks, translates and
//! compiles them. And it walks the program once for every number it has, to find out which ones
//! are constantly allowed; so do later calls that are not. Hence a search that is short first and
//! shallow second.

mod graph;
mod layout;
mod search;

use crate::arch::Arch;
use crate::policy::Policy;
use crate::program::{Program, offset};
use crate::validate::ValidateError;

use graph::{Graph, Op, Source};
use search::Interval;

/// Compiles `policy` for the system calls of `arch`.
///
/// A call of another architecture gets the policy's answer to those. A number no rule names gets
/// the default, and so do the x32 numbers of `x86_64` and -1. No argument is loaded before the
/// number is known, so that calls with only one answer are constant to the kernel; see
/// [`constant_action`](crate::constant_action).
///
/// The one way this fails is that the program gets too long for the kernel
/// ([`ValidateError::TooLong`]), which takes hundreds of rules with conditions.
pub fn compile(policy: &Policy, arch: Arch) -> Result<Program, ValidateError> {
    let mut graph = Graph::default();
    let default = graph.answer(policy.default_action());
    let mut intervals = vec![Interval { start: 0, answer: default }];
    for (number, call) in policy.calls(arch) {
        let answer = graph.call(&call);
        search::put(&mut intervals, number, answer, default);
    }
    let numbers = search::search(&mut graph, &intervals);
    let foreign = graph.answer(policy.foreign_architecture());
    let architecture = Source { offset: offset::ARCH, mask: u32::MAX };
    let root = graph.test(architecture, Op::Equal, arch.audit_value(), numbers, foreign);
    Program::new(layout::lay_out(&graph, root))
}
