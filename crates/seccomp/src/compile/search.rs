//! The search for the system call number.

use super::graph::{Graph, NodeId, Op, Source};
use crate::program::offset;

/// Numbers in a row that have the same answer, up to the start of the next interval; the last one
/// ends with `u32::MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub start: u32,
    pub answer: NodeId,
}

/// How many tests may be made one after the other where a tree of them would take more
/// instructions. Measured: attaches are fastest with 2 to 6. With no chains at all there are a
/// tenth more instructions, and with chains without limit an attach takes half as long again.
const CHAIN: usize = 4;

const NUMBER: Source = Source { offset: offset::NR, mask: u32::MAX };

/// Gives `number`, which is greater than all before, an answer of its own. The last interval is
/// the default without end, before and after.
pub(super) fn put(intervals: &mut Vec<Interval>, number: u32, answer: NodeId, default: NodeId) {
    // Nothing is left of the default between this number and the one before it.
    intervals.pop_if(|rest| rest.start == number);
    intervals.push(Interval { start: number, answer });
    intervals.push(Interval { start: number + 1, answer: default });
}

/// A search tree: from a number to the answer of its interval. Intervals in a row may have the
/// same answer.
pub(super) fn search(graph: &mut Graph, intervals: &[Interval]) -> NodeId {
    let mut merged = intervals.to_vec();
    merged.dedup_by_key(|interval| interval.answer);
    let spans: Vec<Span> = merged
        .iter()
        .enumerate()
        .map(|(i, &Interval { start, answer })| Span {
            start,
            answer,
            single: merged.get(i + 1).is_some_and(|next| next.start - start == 1),
        })
        .collect();
    tree(graph, &spans)
}

/// An interval that knows whether it is a single number.
#[derive(Clone, Copy)]
struct Span {
    start: u32,
    answer: NodeId,
    single: bool,
}

/// The search among `spans`, balanced: halves, and short chains at the end.
fn tree(graph: &mut Graph, spans: &[Span]) -> NodeId {
    let kept = kept(spans);
    let runs: Vec<Span> = {
        let mut runs: Vec<Span> = kept.iter().map(|&i| spans[i]).collect();
        runs.dedup_by_key(|run| run.answer);
        runs
    };
    let singles = spans.len() - kept.len();
    if singles + runs.len() - 1 <= CHAIN || singles == 0 {
        let mut next = halve(graph, &runs);
        let mut kept = kept.iter().rev().peekable();
        for (i, span) in spans.iter().enumerate().rev() {
            if kept.next_if(|&&kept| kept == i).is_none() {
                next = graph.test(NUMBER, Op::Equal, span.start, span.answer, next);
            }
        }
        return next;
    }
    let cut = cut(spans, &kept);
    let (below, above) = spans.split_at(cut);
    let (below, above) = (tree(graph, below), tree(graph, above));
    graph.test(NUMBER, Op::GreaterEqual, spans[cut].start, above, below)
}

/// The search among spans by their starts only.
fn halve(graph: &mut Graph, spans: &[Span]) -> NodeId {
    if let [span] = spans {
        return span.answer;
    }
    let (below, above) = spans.split_at(spans.len() / 2);
    let k = above[0].start;
    let (below, above) = (halve(graph, below), halve(graph, above));
    graph.test(NUMBER, Op::GreaterEqual, k, above, below)
}

/// Where to cut `spans` in two: near the middle, and where a cut must be made anyway.
fn cut(spans: &[Span], kept: &[usize]) -> usize {
    let middle = spans.len() / 2;
    let near = spans.len() / 4;
    // Between two kept spans of different answers, a cut takes the place of the one due there.
    let due = kept.windows(2).filter(|pair| spans[pair[0]].answer != spans[pair[1]].answer);
    due.flat_map(|pair| pair[0] + 1..=pair[1])
        .min_by_key(|cut| cut.abs_diff(middle))
        .filter(|cut| cut.abs_diff(middle) <= near)
        .unwrap_or(middle)
}

/// The spans that are left when single numbers are asked for by themselves wherever that takes
/// fewer tests: the rest of a row such as allow, deny, allow is then one span with one answer.
///
/// A test for a single number costs one, and so does each border between two answers that are
/// left; this finds the cheapest choice.
fn kept(spans: &[Span]) -> Vec<usize> {
    // For each span, if it is kept: the cost up to it, and the span kept before it.
    let mut best: Vec<(usize, Option<usize>)> = Vec::with_capacity(spans.len());
    for i in 0..spans.len() {
        // It may be the first that is kept, if all before it are single.
        let mut cheapest = if spans[..i].iter().all(|span| span.single) { (i, None) } else { (usize::MAX, None) };
        for before in (0..i).rev() {
            let border = usize::from(spans[before].answer != spans[i].answer);
            let cost = best[before].0 + (i - before - 1) + border;
            if cost < cheapest.0 {
                cheapest = (cost, Some(before));
            }
            if !spans[before].single {
                break;
            }
        }
        best.push(cheapest);
    }
    // The last one kept may be followed by single ones.
    let mut last = spans.len() - 1;
    for i in (0..spans.len()).rev() {
        if best[i].0 + (spans.len() - 1 - i) < best[last].0 + (spans.len() - 1 - last) {
            last = i;
        }
        if !spans[i].single {
            break;
        }
    }
    let mut kept: Vec<usize> = std::iter::successors(Some(last), |&i| best[i].1).collect();
    kept.reverse();
    kept
}
