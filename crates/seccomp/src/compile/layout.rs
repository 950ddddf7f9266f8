//! Writes the graph as instructions.
//!
//! Jumps lead forward only. The layout writes the program from its end to its beginning, so the
//! target of each jump is already written. A conditional jump skips at most 255 instructions. If
//! its target is farther away, the layout adds a nearer entry: a copy of an answer, or an
//! unconditional jump to a test. An unconditional jump reaches every instruction. Later tests use
//! the nearer entry.
//!
//! A test loads its word, masks it if necessary, and jumps. A preceding test of the same masked
//! word enters the test at its jump. If all paths come from such a test, the load is omitted.

use std::collections::{HashMap, HashSet};

use super::graph::{Graph, Node, NodeId, Op, Source};
use crate::instruction::{Instruction, code};

/// The maximum number of instructions that a conditional jump skips.
const MAX_SKIPPED_INSTRUCTIONS: usize = 255;

/// A jump target, which is a node and the accumulator's content if the node relies on that content.
type Entry = (NodeId, Option<Source>);

pub(super) fn lay_out(graph: &Graph, root: NodeId) -> Vec<Instruction> {
    let order = children_first(graph, root);
    let loading = loading(graph, root, &order);
    let mut layout = Layout {
        graph,
        reversed: Vec::new(),
        places: HashMap::new(),
    };
    for &id in &order {
        layout.write_node(id, loading.contains(&id));
    }
    layout.reversed.reverse();
    layout.reversed
}

/// Lists all nodes that are reachable from `root`, each after the nodes to which it leads.
fn children_first(graph: &Graph, root: NodeId) -> Vec<NodeId> {
    let mut order = Vec::new();
    let mut seen = HashSet::new();
    // Each node is pushed twice, first to visit its children and then to list it after them.
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

/// Returns the tests that must load their word because some path to them has not loaded it.
fn loading(graph: &Graph, root: NodeId, order: &[NodeId]) -> HashSet<NodeId> {
    let mut loading = HashSet::from([root]);
    for &id in order {
        if let Node::Test {
            source, yes, no, ..
        } = graph.node(id)
        {
            loading.extend(
                [yes, no]
                    .into_iter()
                    .filter(|&to| entry(graph, to, source).1.is_none()),
            );
        }
    }
    loading
}

/// The entry by which a test of `source` reaches the node `to`.
fn entry(graph: &Graph, to: NodeId, source: Source) -> Entry {
    match graph.node(to) {
        Node::Test { source: wanted, .. } if wanted == source => (to, Some(source)),
        _ => (to, None),
    }
}

struct Layout<'g> {
    graph: &'g Graph,
    /// The instructions in reverse order.
    reversed: Vec<Instruction>,
    /// The nearest instruction for each entry, as an index into `reversed`.
    places: HashMap<Entry, usize>,
}

impl Layout<'_> {
    fn write_node(&mut self, id: NodeId, load: bool) {
        match self.graph.node(id) {
            Node::Answer(value) => {
                self.push_entry((id, None), Instruction::plain(code::RET_K, value))
            }
            Node::Test {
                source,
                op,
                k,
                yes,
                no,
            } => {
                let (yes, no) = (
                    entry(self.graph, yes, source),
                    entry(self.graph, no, source),
                );
                self.ensure_reachable(yes);
                self.ensure_reachable(no);
                let (jt, jf) = (self.skip(yes), self.skip(no));
                let code = match op {
                    Op::Equal => code::JEQ_K,
                    Op::Greater => code::JGT_K,
                    Op::GreaterEqual => code::JGE_K,
                    Op::AnyOf => code::JSET_K,
                };
                self.push_entry((id, Some(source)), Instruction { code, jt, jf, k });
                if load {
                    if source.mask != u32::MAX {
                        self.reversed
                            .push(Instruction::plain(code::AND_K, source.mask));
                    }
                    self.push_entry(
                        (id, None),
                        Instruction::plain(code::LD_W_ABS, source.offset),
                    );
                }
            }
        }
    }

    /// Writes an instruction that implements `entry`.
    fn push_entry(&mut self, entry: Entry, instruction: Instruction) {
        self.places.insert(entry, self.reversed.len());
        self.reversed.push(instruction);
    }

    /// The number of instructions between `entry` and the next instruction to write.
    fn distance(&self, entry: Entry) -> usize {
        self.reversed.len() - 1 - self.places[&entry]
    }

    /// Writes a nearer instruction for `entry` if a conditional jump cannot reach it.
    fn ensure_reachable(&mut self, entry: Entry) {
        // The bound is one less than the maximum because the other jump target may add one
        // instruction in between.
        if self.distance(entry) < MAX_SKIPPED_INSTRUCTIONS {
            return;
        }
        let instruction = match self.graph.node(entry.0) {
            Node::Answer(value) => Instruction::plain(code::RET_K, value),
            // The cast is exact: validation later rejects programs of more than 4096 instructions.
            Node::Test { .. } => Instruction::plain(code::JA, self.distance(entry) as u32),
        };
        self.push_entry(entry, instruction);
    }

    /// The operand of a conditional jump to `entry`.
    fn skip(&self, entry: Entry) -> u8 {
        u8::try_from(self.distance(entry)).expect("ensure_reachable ran for this entry")
    }
}
