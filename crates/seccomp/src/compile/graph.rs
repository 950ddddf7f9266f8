//! The graph between rules and instructions. Tests lead to other tests and to answers.
//!
//! Equal nodes are stored once, so equal answers, equal rules and equal tails of rules are shared.

use std::collections::HashMap;

use crate::instruction::offset;
use crate::policy::{Action, Call, Comparison, Condition};

/// The identifier of a node in a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct NodeId(usize);

/// A masked word of `struct seccomp_data`, which a test expects in the accumulator as its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Source {
    pub offset: u32,
    pub mask: u32,
}

/// The unsigned tests of BPF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Op {
    Equal,
    Greater,
    GreaterEqual,
    /// The operands have a set bit in common.
    AnyOf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// Return this value.
    Answer(u32),
    /// Continue at one of two nodes.
    Test {
        source: Source,
        op: Op,
        k: u32,
        yes: NodeId,
        no: NodeId,
    },
}

#[derive(Default)]
pub(super) struct Graph {
    nodes: Vec<Node>,
    ids: HashMap<Node, NodeId>,
}

impl Graph {
    pub fn node(&self, id: NodeId) -> Node {
        self.nodes[id.0]
    }

    fn intern(&mut self, node: Node) -> NodeId {
        *self.ids.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            NodeId(self.nodes.len() - 1)
        })
    }

    pub fn answer(&mut self, action: Action) -> NodeId {
        self.intern(Node::Answer(action.value()))
    }

    /// Adds a test. Returns `yes` itself if both outcomes lead to the same node.
    pub fn test(&mut self, source: Source, op: Op, k: u32, yes: NodeId, no: NodeId) -> NodeId {
        if yes == no {
            yes
        } else {
            self.intern(Node::Test {
                source,
                op,
                k,
                yes,
                no,
            })
        }
    }

    /// Adds the node that decides one system call, which is an answer or the first test of its
    /// arguments.
    pub fn call(&mut self, call: &Call<'_>) -> NodeId {
        let mut next = self.answer(call.fallback);
        for rule in call.conditional.iter().rev() {
            let mut holds = self.answer(rule.action());
            for condition in rule.conditions().iter().rev() {
                holds = self.condition(condition, holds, next);
            }
            next = holds;
        }
        next
    }

    /// Adds the tests of a condition. An argument has 64 bits and a load has 32 bits, so most
    /// conditions need two tests.
    fn condition(&mut self, condition: &Condition, yes: NodeId, no: NodeId) -> NodeId {
        let at = offset::ARGS + 8 * u32::from(condition.arg());
        let (mask, value) = (condition.mask(), condition.value());
        let low = Half {
            offset: at,
            mask: mask as u32,
            value: value as u32,
        };
        let high = Half {
            offset: at + 4,
            mask: (mask >> 32) as u32,
            value: (value >> 32) as u32,
        };
        match condition.comparison() {
            Comparison::Equal => self.equal(high, low, yes, no),
            Comparison::NotEqual => self.equal(high, low, no, yes),
            Comparison::Greater => self.ordered(high, low, Op::Greater, yes, no),
            Comparison::LessEqual => self.ordered(high, low, Op::Greater, no, yes),
            Comparison::GreaterEqual => self.ordered(high, low, Op::GreaterEqual, yes, no),
            Comparison::Less => self.ordered(high, low, Op::GreaterEqual, no, yes),
        }
    }

    fn equal(&mut self, high: Half, low: Half, yes: NodeId, no: NodeId) -> NodeId {
        let low = self.compare(low, Op::Equal, yes, no);
        self.compare(high, Op::Equal, low, no)
    }

    /// Adds the tests of an ordered comparison. `op` is `Greater` or `GreaterEqual`.
    fn ordered(&mut self, high: Half, low: Half, op: Op, yes: NodeId, no: NodeId) -> NodeId {
        let low = self.compare(low, op, yes, no);
        // If the lower half is irrelevant, one test of the upper half suffices.
        if low == yes {
            return self.compare(high, Op::GreaterEqual, yes, no);
        }
        let not_greater = if high.value == 0 {
            // A half that is not greater than 0 is 0, so it needs no test for equality.
            low
        } else {
            self.compare(high, Op::Equal, low, no)
        };
        self.compare(high, Op::Greater, yes, not_greater)
    }

    /// Adds the comparison of one half, whose value has no bits outside its mask.
    fn compare(&mut self, half: Half, op: Op, yes: NodeId, no: NodeId) -> NodeId {
        let Half {
            offset,
            mask,
            value,
        } = half;
        let whole = Source {
            offset,
            mask: u32::MAX,
        };
        let masked = Source { offset, mask };
        match op {
            // The mask is empty, so the masked half is 0.
            Op::Equal | Op::GreaterEqual if mask == 0 && value == 0 => yes,
            _ if mask == 0 => no,
            Op::GreaterEqual if value == 0 => yes,
            Op::Greater if value == u32::MAX => no,
            // The test for common bits includes a mask and saves the masking instruction.
            Op::Equal if value == 0 && mask != u32::MAX => {
                self.test(whole, Op::AnyOf, mask, no, yes)
            }
            Op::Equal if value == mask && mask.is_power_of_two() => {
                self.test(whole, Op::AnyOf, mask, yes, no)
            }
            _ => self.test(masked, op, value, yes, no),
        }
    }
}

/// Half of a condition, which is 32 of the 64 bits.
#[derive(Clone, Copy)]
struct Half {
    offset: u32,
    mask: u32,
    value: u32,
}
