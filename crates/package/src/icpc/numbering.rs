//! Names of tests in generators.yaml: the tests of `count` and the numbers in lists. Also the keys
//! that are not supported.

use crate::fault::icpc::GenerationFault;
use crate::yaml::{Node, Value};
use std::collections::BTreeSet;

/// Files of a test that are not created.
pub const NOT_GENERATED: [&str; 11] = [
    "out",
    "in.statement",
    "ans.statement",
    "in.download",
    "ans.download",
    "interaction",
    "desc",
    "hint",
    "yaml",
    "args",
    "files",
];
/// Maximum number of tests that one `count` requests, as in BAPCtools.
const MAX_COUNT: i64 = 100;

/// Whether the node describes a directory of tests, not a single test: a map without any key of
/// tests.
pub fn is_directory(node: &Node) -> bool {
    let Value::Mapping(pairs) = &node.value else {
        return false;
    };
    let of_test = |key: &str| {
        ["generate", "in", "ans", "copy", "count", "match"].contains(&key)
            || NOT_GENERATED.contains(&key)
    };
    !pairs.iter().any(|(key, _)| key.text().is_some_and(of_test))
}

/// Returns the number of tests in all lists below a directory.
pub fn numbered_tests(directory: &Node) -> usize {
    let Value::Mapping(pairs) = &directory.value else {
        return 0;
    };
    let data = pairs.iter().find(|(key, _)| key.text() == Some("data"));
    let (entries, is_list): (Vec<&Node>, bool) = match data.map(|(_, data)| data) {
        Some(node) => match &node.value {
            Value::Sequence(entries) => (entries.iter().collect(), true),
            _ => (vec![node], false),
        },
        None => return 0,
    };
    let pairs = entries.into_iter().filter_map(|entry| match &entry.value {
        Value::Mapping(pairs) => Some(pairs),
        _ => None,
    });
    pairs
        .flatten()
        .map(|(_, node)| match is_directory(node) {
            true => numbered_tests(node),
            false if is_list => counts(node).map_or(1, |counts| counts.len()),
            false => 0,
        })
        .sum()
}

/// Returns the name of a list entry with its number. `all` is the highest number.
pub fn numbered(name: &str, number: usize, all: usize) -> String {
    let digits = all.to_string().len();
    let number = format!("{number:0digits$}");
    match name {
        "" => number,
        name => format!("{number}-{name}"),
    }
}

/// One of the tests that `count` requests.
pub struct Count {
    pub value: i64,
    /// The end of the test's name.
    pub suffix: String,
}

/// Returns the tests that a node requests with `count`: a number, a list of numbers, or a range
/// `FIRST..=LAST`. The error is an invalid value.
pub fn counts(node: &Node) -> Result<Vec<Count>, &Node> {
    let count = match &node.value {
        Value::Mapping(pairs) => pairs
            .iter()
            .find(|(key, _)| key.text() == Some("count"))
            .map(|(_, count)| count)
            .filter(|count| !matches!(count.value, Value::Null)),
        _ => None,
    };
    let Some(count) = count else {
        let suffix = String::new();
        return Ok(vec![Count { value: 1, suffix }]);
    };
    let whole = |text: &str| text.parse::<i64>().ok();
    let range = |first: i64, last: i64| {
        let is_short = last
            .checked_sub(first)
            .is_some_and(|more| (0..MAX_COUNT).contains(&more));
        is_short.then(|| (first..=last).collect())
    };
    let values: Option<Vec<i64>> = match &count.value {
        Value::Text(text) => match text.split_once("..=") {
            Some((first, last)) => whole(first)
                .zip(whole(last))
                .and_then(|(first, last)| range(first, last)),
            None => whole(text).and_then(|last| range(1, last)),
        },
        Value::Sequence(nodes) => nodes
            .iter()
            .map(|node| node.text().and_then(whole))
            .collect(),
        _ => None,
    };
    let values = values.filter(|values| {
        let different: BTreeSet<&i64> = values.iter().collect();
        !values.is_empty() && values.len() as i64 <= MAX_COUNT && different.len() == values.len()
    });
    let values = values.ok_or(count)?;
    let (least, most) = (values.iter().min(), values.iter().max());
    let is_consecutive = least
        .zip(most)
        .and_then(|(least, most)| most.checked_sub(*least))
        .is_some_and(|more| more == values.len() as i64 - 1);
    let longest = values.iter().map(|value| value.to_string().len()).max();
    let digits = longest.filter(|_| is_consecutive).unwrap_or(0);
    let count = |value: &i64| Count {
        value: *value,
        suffix: format!("-{value:0digits$}"),
    };
    Ok(values.iter().map(count).collect())
}

/// A key without an effect.
pub fn not_used(key: &'static str) -> GenerationFault {
    GenerationFault::Unsupported { key }
}

/// A key with a file that is not created.
pub fn not_generated(key: &'static str) -> GenerationFault {
    GenerationFault::NotGenerated { key }
}
