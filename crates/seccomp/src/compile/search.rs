//! Builds the search for the system call number.

use super::graph::{Graph, NodeId, Op, Source};
use crate::instruction::offset;

/// Consecutive numbers with the same answer. An interval ends before the start of the next one, and
/// the last interval ends with `u32::MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub start: u32,
    pub answer: NodeId,
}

/// The maximum number of consecutive tests that replace a tree, which would take more instructions.
///
/// In measurements, attaching is fastest with 2 to 6 tests. Without chains, programs have 10 % more
/// instructions. With unlimited chains, attaching takes 50 % longer.
const MAX_CHAIN_TESTS: usize = 4;

const NUMBER: Source = Source {
    offset: offset::NR,
    mask: u32::MAX,
};

/// Adds an interval for the single `number`, which is greater than all previous numbers. The last
/// interval is the default, before and after the call.
pub(super) fn add_number(
    intervals: &mut Vec<Interval>,
    number: u32,
    answer: NodeId,
    default: NodeId,
) {
    // If the previous number is adjacent, the default interval between the two is empty.
    intervals.pop_if(|last| last.start == number);
    intervals.push(Interval {
        start: number,
        answer,
    });
    intervals.push(Interval {
        start: number + 1,
        answer: default,
    });
}

/// Builds a search tree that maps a number to the answer of its interval. Adjacent intervals may
/// have the same answer.
pub(super) fn search(graph: &mut Graph, intervals: &[Interval]) -> NodeId {
    let mut merged = intervals.to_vec();
    merged.dedup_by_key(|interval| interval.answer);
    let spans: Vec<Span> = merged
        .iter()
        .enumerate()
        .map(|(i, &Interval { start, answer })| Span {
            start,
            answer,
            single: merged
                .get(i + 1)
                .is_some_and(|next| next.start - start == 1),
        })
        .collect();
    tree(graph, &spans)
}

/// An interval, and whether it contains only one number.
#[derive(Clone, Copy)]
struct Span {
    start: u32,
    answer: NodeId,
    single: bool,
}

/// Builds a balanced search among `spans`, which cuts them in halves and uses short chains at the
/// leaves.
fn tree(graph: &mut Graph, spans: &[Span]) -> NodeId {
    let kept = spans_to_keep(spans);
    let runs: Vec<Span> = {
        let mut runs: Vec<Span> = kept.iter().map(|&i| spans[i]).collect();
        runs.dedup_by_key(|run| run.answer);
        runs
    };
    let singles = spans.len() - kept.len();
    if singles + runs.len() - 1 <= MAX_CHAIN_TESTS || singles == 0 {
        let mut next = bisect(graph, &runs);
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

/// Builds a search among `spans` that compares only their starts.
fn bisect(graph: &mut Graph, spans: &[Span]) -> NodeId {
    if let [span] = spans {
        return span.answer;
    }
    let (below, above) = spans.split_at(spans.len() / 2);
    let k = above[0].start;
    let (below, above) = (bisect(graph, below), bisect(graph, above));
    graph.test(NUMBER, Op::GreaterEqual, k, above, below)
}

/// Chooses where to cut `spans` in two. The place is near the middle, and preferably where a cut is
/// required anyway.
fn cut(spans: &[Span], kept: &[usize]) -> usize {
    let middle = spans.len() / 2;
    let near = spans.len() / 4;
    // Two kept spans with different answers require a cut between them.
    let required = kept
        .windows(2)
        .filter(|pair| spans[pair[0]].answer != spans[pair[1]].answer);
    required
        .flat_map(|pair| pair[0] + 1..=pair[1])
        .min_by_key(|cut| cut.abs_diff(middle))
        .filter(|cut| cut.abs_diff(middle) <= near)
        .unwrap_or(middle)
}

/// Chooses the spans for the search tree; the other spans get a test for equality before it.
///
/// Only spans of a single number can be left out. Leaving out the middle of a sequence such as
/// allow, deny, allow merges its neighbours into one span.
///
/// Each left-out number costs one test, and so does each border between kept spans with different
/// answers. This function minimizes the total cost by dynamic programming.
fn spans_to_keep(spans: &[Span]) -> Vec<usize> {
    // For each span, if it is kept, the minimum cost up to it and the previous kept span.
    let mut best: Vec<(usize, Option<usize>)> = Vec::with_capacity(spans.len());
    for i in 0..spans.len() {
        // Span `i` can be the first kept span only if all spans before it are single.
        let mut cheapest = if spans[..i].iter().all(|span| span.single) {
            (i, None)
        } else {
            (usize::MAX, None)
        };
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
    // Single spans may follow the last kept span.
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
