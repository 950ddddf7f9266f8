//! Compiles a policy to a program.
//!
//! First, [`graph`] turns the rules into a graph of tests and answers, and [`search`] adds a search
//! for the system call number in front of it. Then [`layout`] writes the graph as instructions.
//!
//! Two costs matter. When the kernel attaches a filter, it checks, translates and compiles every
//! instruction. It also emulates the program once for every system call number, to find the calls
//! that are always allowed. Later, every call that is not always allowed runs the program.
//! Therefore the compiler keeps the search short first of all, and shallow in the second place.

mod graph;
mod layout;
mod search;

use crate::arch::Arch;
use crate::instruction::offset;
use crate::policy::Policy;
use crate::program::Program;
use crate::validate::ValidateError;

use graph::{Graph, Op, Source};
use search::Interval;

/// Compiles `policy` for the system calls of `arch`.
///
/// A call of another architecture gets [`Policy::foreign_architecture`]. A number that no rule
/// names gets [`Policy::default_action`], and so do -1 and the x32 numbers of `x86_64`. The program
/// loads no argument before it has found the number, so calls with only one action are constant to
/// the kernel; see [`constant_action`](crate::constant_action).
///
/// # Errors
/// [`ValidateError::TooLong`] if the program is too long for the kernel. This takes hundreds of
/// rules with conditions.
pub fn compile(policy: &Policy, arch: Arch) -> Result<Program, ValidateError> {
    let mut graph = Graph::default();
    let default = graph.answer(policy.default_action());
    let mut intervals = vec![Interval {
        start: 0,
        answer: default,
    }];
    for (number, call) in policy.calls(arch) {
        let answer = graph.call(&call);
        search::add_number(&mut intervals, number, answer, default);
    }
    let numbers = search::search(&mut graph, &intervals);
    let foreign = graph.answer(policy.foreign_architecture());
    let architecture = Source {
        offset: offset::ARCH,
        mask: u32::MAX,
    };
    let root = graph.test(
        architecture,
        Op::Equal,
        arch.audit_value(),
        numbers,
        foreign,
    );
    Program::new(layout::lay_out(&graph, root))
}
