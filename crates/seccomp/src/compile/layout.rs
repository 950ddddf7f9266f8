//! The graph as instructions.
//!
//! Jumps lead forward only, so the program is written from its end to its beginning: whatever an
//! instruction jumps to is there already. The two ways out of a test reach at most 255
//! instructions far. What lies farther is brought near: an answer by a copy of it, anything else
//! by an unconditional jump, which reaches everywhere. Later tests use the nearer one.
//!
//! A test loads its word, perhaps masks it, and jumps. Where it comes after a test of the same
//! word under the same mask, it is entered at the jump; if that goes for all ways to it, the load
//! is left out.

use std::collections::{HashMap, HashSet};

use super::graph::{Graph, Node, NodeId, Op, Source};
use crate::program::{Instruction, code};

/// How far a conditional jump reaches.
const REACH: usize = 255;

/// A node to jump to, and what the accumulator holds on the way, if the node is to make use of it.
type Entry = (NodeId, Option<Source>);

pub(super) fn lay_out(graph: &Graph, root: NodeId) -> Vec<Instruction> {
    let order = children_first(graph, root);
    let loading = loading(graph, root, &order);
    let mut layout = Layout { graph, reversed: Vec::new(), places: HashMap::new() };
    for &id in &order {
        layout.put(id, loading.contains(&id));
    }
    layout.reversed.reverse();
    layout.reversed
}

/// All nodes there is a way to from `root`, each after those it leads to.
fn children_first(graph: &Graph, root: NodeId) -> Vec<NodeId> {
    let mut order = Vec::new();
    let mut seen = HashSet::new();
    // A node is met twice: to go to its children, and to be listed after them.
    let mut stack = vec![(root, false)];
    while let Some((id, children_done)) = stack.pop() {
        if children_done {
            order.push(id);
        } else if seen.insert(id) {
            stack.push((id, true));
            if let Node::Test { yes, no, .. } = graph.node(id) {
                stack.extend([(yes, false), (no, false)]);
            }
        }
    }
    order
}

/// The tests that have to load their word, since some way to them does not come from a test of it.
fn loading(graph: &Graph, root: NodeId, order: &[NodeId]) -> HashSet<NodeId> {
    let mut loading = HashSet::from([root]);
    for &id in order {
        if let Node::Test { source, yes, no, .. } = graph.node(id) {
            loading.extend([yes, no].into_iter().filter(|&to| entry(graph, to, source).1.is_none()));
        }
    }
    loading
}

/// How a test of `source` enters the node it leads to.
fn entry(graph: &Graph, to: NodeId, source: Source) -> Entry {
    match graph.node(to) {
        Node::Test { source: wanted, .. } if wanted == source => (to, Some(source)),
        _ => (to, None),
    }
}

struct Layout<'g> {
    graph: &'g Graph,
    /// The instructions, last first.
    reversed: Vec<Instruction>,
    /// Where in `reversed` the nearest instruction is that leads into a node.
    places: HashMap<Entry, usize>,
}

impl Layout<'_> {
    fn put(&mut self, id: NodeId, load: bool) {
        match self.graph.node(id) {
            Node::Answer(value) => self.mark((id, None), Instruction::plain(code::RET_K, value)),
            Node::Test { source, op, k, yes, no } => {
                let (yes, no) = (entry(self.graph, yes, source), entry(self.graph, no, source));
                self.bring_near(yes);
                self.bring_near(no);
                let (jt, jf) = (self.skip(yes), self.skip(no));
                let code = match op {
                    Op::Equal => code::JEQ_K,
                    Op::Greater => code::JGT_K,
                    Op::GreaterEqual => code::JGE_K,
                    Op::AnyOf => code::JSET_K,
                };
                self.mark((id, Some(source)), Instruction { code, jt, jf, k });
                if load {
                    if source.mask != u32::MAX {
                        self.reversed.push(Instruction::plain(code::AND_K, source.mask));
                    }
                    self.mark((id, None), Instruction::plain(code::LD_W_ABS, source.offset));
                }
            }
        }
    }

    /// Writes an instruction that leads into `entry`.
    fn mark(&mut self, entry: Entry, instruction: Instruction) {
        self.places.insert(entry, self.reversed.len());
        self.reversed.push(instruction);
    }

    /// How many instructions lie between `entry` and the instruction to be written next.
    fn distance(&self, entry: Entry) -> usize {
        self.reversed.len() - 1 - self.places[&entry]
    }

    fn bring_near(&mut self, entry: Entry) {
        // Room for what bringing the other way out near may put in between.
        if self.distance(entry) < REACH {
            return;
        }
        let instruction = match self.graph.node(entry.0) {
            Node::Answer(value) => Instruction::plain(code::RET_K, value),
            // A program has at most 4096 instructions, or is refused when it is done.
            Node::Test { .. } => Instruction::plain(code::JA, self.distance(entry) as u32),
        };
        self.mark(entry, instruction);
    }

    /// The operand of a conditional jump to `entry`.
    fn skip(&self, entry: Entry) -> u8 {
        u8::try_from(self.distance(entry)).expect("what is jumped to was brought near")
    }
}
