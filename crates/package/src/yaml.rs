//! YAML with the place of each value, so that a fault can name its line.
//!
//! Scalars remain text, because the reader of a key decides whether it needs a string, a number or
//! a boolean. [`boolean`] and [`number`] then apply the core schema of YAML 1.2. Other tools read
//! some words by the rules of YAML 1.1, so a warning names each word whose meaning differs.
//!
//! [`read`] is for files of other programs that are not part of a package.

use crate::bound::{Bound, MAX_VALUES};
use crate::fault::log::{Log, Place};
use crate::fault::text::{Found, ValueKind};
use crate::fault::values::{OtherMeaning, YamlFault};
use crate::fault::{FaultKind, Faults};
use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use std::collections::HashMap;
use std::path::Path;

/// Maximum depth of nested values in a document.
const MAX_LEVELS: usize = 64;

/// One node of a document.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Node {
    pub(crate) place: Place,
    /// The value.
    pub value: Value,
}

/// The value of a node.
#[derive(Debug, Clone)]
pub enum Value {
    /// `~`, `null` or an empty value.
    Null,
    /// A scalar.
    Text(String),
    /// A list.
    Sequence(Vec<Node>),
    /// Keys and their values, in order.
    Mapping(Vec<(Node, Node)>),
}

impl Node {
    /// The line in which the node begins, counted from 1.
    pub fn line(&self) -> u32 {
        self.place.line().unwrap_or(1)
    }

    /// The text of a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The kind of the value, for messages.
    pub fn kind(&self) -> ValueKind {
        match self.value {
            Value::Null => ValueKind::Null,
            Value::Text(_) => ValueKind::Text,
            Value::Sequence(_) => ValueKind::List,
            Value::Mapping(_) => ValueKind::Map,
        }
    }

    /// Describes the value that was found instead of a valid one, for messages.
    pub fn found(&self) -> Found {
        match self.text() {
            Some(text) => Found::Text(text.into()),
            None => Found::Other(self.kind()),
        }
    }

    /// Returns the number of nodes and bytes of text, including those of inner nodes.
    fn size(&self) -> Size {
        let own = |bytes| Size { nodes: 1, bytes };
        match &self.value {
            Value::Null => own(0),
            Value::Text(text) => own(text.len()),
            Value::Sequence(nodes) => nodes.iter().map(Node::size).fold(own(0), Size::and),
            Value::Mapping(pairs) => pairs
                .iter()
                .map(|(key, value)| key.size().and(value.size()))
                .fold(own(0), Size::and),
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Size {
    nodes: usize,
    bytes: usize,
}

impl Size {
    fn and(self, other: Size) -> Size {
        Size {
            nodes: self.nodes + other.nodes,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// Why reading ends, and where.
enum Stop {
    Fault(YamlFault, Place),
    Exceeds(Bound, Place),
    /// The log already contains the fault.
    Logged,
}

/// A collection that is being read.
struct Open {
    anchor: usize,
    node: Node,
    /// The key of a mapping, until its value has been read.
    key: Option<Node>,
}

/// Reads the text of a file with a single YAML document. Returns `None` if the document is empty.
///
/// # Errors
/// The text is not valid YAML, or exceeds a bound.
pub fn read(path: &Path, text: &str) -> Result<Option<Node>, Faults> {
    let log = Log::new(path);
    let node = parse(text, &"".into(), &log);
    log.finish()?;
    Ok(node)
}

/// Parses a text that contains a single YAML document. Returns `None` if the document is empty or
/// has faults, which the log contains.
pub(crate) fn parse(text: &str, file: &Place, log: &Log) -> Option<Node> {
    let mut reader = Reader {
        open: Vec::new(),
        anchors: HashMap::new(),
        nodes: 0,
        root: None,
        log,
    };
    let mut documents = 0;
    for event in Parser::new_from_str(text) {
        let step = match event {
            Ok((Event::DocumentStart(_), span)) => {
                documents += 1;
                if documents > 1 {
                    Err(Stop::Fault(YamlFault::SecondDocument, place(file, &span)))
                } else {
                    Ok(())
                }
            }
            Ok((event, span)) => reader.event(event, place(file, &span)),
            Err(error) => {
                let mark = error.marker();
                let reason = error.info().into();
                Err(Stop::Fault(
                    YamlFault::Syntax { reason },
                    at(file, mark.line(), mark.col()),
                ))
            }
        };
        if let Err(stop) = step {
            match stop {
                Stop::Fault(fault, place) => log.error(&place, FaultKind::from(fault)),
                Stop::Exceeds(bound, place) => log.exceeds(&place, bound),
                Stop::Logged => {}
            }
            return None;
        }
    }
    reader
        .root
        .filter(|node| !matches!(node.value, Value::Null))
}

struct Reader<'a> {
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    /// Number of nodes. For an alias, it includes the nodes that the alias repeats. For an anchor,
    /// it includes the copies that are kept for aliases.
    nodes: usize,
    root: Option<Node>,
    log: &'a Log,
}

impl Reader<'_> {
    fn event(&mut self, event: Event<'_>, place: Place) -> Result<(), Stop> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain
                    && tag.is_none_or(|tag| tag.suffix != "str" && !tag.suffix.is_empty());
                let null = plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                if plain
                    && !self.is_at_key()
                    && let Some(meaning) = other_meaning(&text)
                {
                    let word = (&*text).into();
                    let fault = YamlFault::OldWord { word, meaning };
                    self.log.warning(&place, FaultKind::from(fault));
                }
                let value = if null {
                    Value::Null
                } else {
                    Value::Text(text.into_owned())
                };
                self.done(anchor, Node { place, value })
            }
            Event::SequenceStart(anchor, _) => self.begin(
                anchor,
                Node {
                    place,
                    value: Value::Sequence(Vec::new()),
                },
            ),
            Event::MappingStart(anchor, _) => self.begin(
                anchor,
                Node {
                    place,
                    value: Value::Mapping(Vec::new()),
                },
            ),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(open) => self.done(open.anchor, open.node),
                None => Ok(()),
            },
            Event::Alias(anchor) => match self.anchors.get(&anchor) {
                Some(node) => {
                    // The nodes are counted before they are copied.
                    count(&mut self.nodes, node.size(), &place, self.log)?;
                    let node = Node {
                        place,
                        value: node.value.clone(),
                    };
                    self.done(0, node)
                }
                None => Err(Stop::Fault(YamlFault::RecursiveAlias, place)),
            },
            _ => Ok(()),
        }
    }

    /// Whether the next node is a key of a mapping.
    fn is_at_key(&self) -> bool {
        self.open
            .last()
            .is_some_and(|open| matches!(open.node.value, Value::Mapping(_)) && open.key.is_none())
    }

    fn begin(&mut self, anchor: usize, node: Node) -> Result<(), Stop> {
        if self.open.len() == MAX_LEVELS {
            return Err(too_deep(node.place));
        }
        self.open.push(Open {
            anchor,
            node,
            key: None,
        });
        Ok(())
    }

    fn done(&mut self, anchor: usize, node: Node) -> Result<(), Stop> {
        // The text of the file was counted when the file was read.
        count(
            &mut self.nodes,
            Size { nodes: 1, bytes: 0 },
            &node.place,
            self.log,
        )?;
        if anchor != 0 {
            // An alias nests the repeated node, so the depth is checked again.
            if depth(&node) + self.open.len() > MAX_LEVELS {
                return Err(too_deep(node.place));
            }
            count(&mut self.nodes, node.size(), &node.place, self.log)?;
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match (&mut open.node.value, open.key.take()) {
            (Value::Sequence(nodes), _) => nodes.push(node),
            (Value::Mapping(pairs), Some(key)) => pairs.push((key, node)),
            (_, None) => open.key = Some(node),
            (_, Some(_)) => {}
        }
        Ok(())
    }
}

/// Returns the boolean of a word (YAML 1.2, core schema).
pub fn boolean(word: &str) -> Option<bool> {
    match word {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// Returns the finite number of a word (YAML 1.2, core schema).
pub fn number(word: &str) -> Option<f64> {
    match whole(word) {
        Some(number) => Some(number as f64),
        // This also reads whole numbers that are negative or long. The only words that it reads
        // although they are strings in YAML 1.2 are names of numbers that are not finite.
        None => word.parse().ok().filter(|number: &f64| number.is_finite()),
    }
}

/// Returns the whole number of a word, if it is not negative (YAML 1.2, core schema).
pub fn whole(word: &str) -> Option<u64> {
    let digits = |text: &str, radix| {
        // The parser would also accept a sign.
        let is_number = text.starts_with(|first: char| first.is_digit(radix));
        is_number.then(|| u64::from_str_radix(text, radix).ok())?
    };
    match (word.strip_prefix("0o"), word.strip_prefix("0x")) {
        (Some(octal), _) => digits(octal, 8),
        (_, Some(hexadecimal)) => digits(hexadecimal, 16),
        _ => digits(word.strip_prefix('+').unwrap_or(word), 10),
    }
}

/// Returns how YAML 1.1 reads a plain word, if YAML 1.2 reads it differently.
fn other_meaning(word: &str) -> Option<OtherMeaning> {
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    let digit = |byte: u8| byte.is_ascii_digit();
    if matches!(&*word.to_ascii_lowercase(), "yes" | "no" | "on" | "off")
        && (word[1..].bytes().all(|byte| byte.is_ascii_lowercase())
            || word.bytes().all(|byte| byte.is_ascii_uppercase()))
    {
        return Some(OtherMeaning::Boolean);
    }
    if !unsigned.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let number = |allowed: fn(u8) -> bool| unsigned.bytes().all(allowed);
    if let Some(octal) = word.strip_prefix("0o") {
        let is_octal = !octal.is_empty() && octal.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
        return is_octal.then_some(OtherMeaning::String);
    }
    if unsigned.len() > 1
        && unsigned.starts_with('0')
        && unsigned.bytes().any(|byte| byte != b'0')
        && number(|byte| matches!(byte, b'0'..=b'7'))
    {
        return Some(OtherMeaning::Octal);
    }
    let is_number = match unsigned.get(..2) {
        Some("0b") => unsigned[2..]
            .bytes()
            .all(|byte| matches!(byte, b'0' | b'1' | b'_')),
        Some("0x") => {
            word.contains('_')
                && unsigned[2..]
                    .bytes()
                    .all(|byte| byte.is_ascii_hexdigit() || byte == b'_')
        }
        _ if unsigned.contains(':') => {
            let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
            let mut parts = whole.split(':');
            let first = parts.next().unwrap_or_default();
            first.bytes().all(|byte| digit(byte) || byte == b'_')
                && parts.all(|part| {
                    part.parse::<u8>().is_ok_and(|part| part < 60) && part.bytes().all(digit)
                })
                && fraction.bytes().all(|byte| digit(byte) || byte == b'_')
        }
        _ => {
            unsigned.contains('_') && number(|byte| byte.is_ascii_digit() || b"_.".contains(&byte))
        }
    };
    is_number.then_some(OtherMeaning::Number)
}

fn too_deep(place: Place) -> Stop {
    Stop::Fault(YamlFault::TooDeep { max: MAX_LEVELS }, place)
}

fn count(nodes: &mut usize, size: Size, place: &Place, log: &Log) -> Result<(), Stop> {
    *nodes += size.nodes;
    if *nodes > MAX_VALUES {
        return Err(Stop::Exceeds(Bound::Values, place.clone()));
    }
    if log.takes(place, size.bytes) {
        Ok(())
    } else {
        Err(Stop::Logged)
    }
}

fn depth(node: &Node) -> usize {
    1 + match &node.value {
        Value::Null | Value::Text(_) => 0,
        Value::Sequence(nodes) => nodes.iter().map(depth).max().unwrap_or(0),
        Value::Mapping(pairs) => pairs
            .iter()
            .map(|(key, value)| depth(key).max(depth(value)))
            .max()
            .unwrap_or(0),
    }
}

fn place(file: &Place, span: &Span) -> Place {
    at(file, span.start.line(), span.start.col())
}

/// Converts a position of the parser, which counts columns from 0.
fn at(file: &Place, line: usize, column: usize) -> Place {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    file.at(number(line), number(column.saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_the_values_of_the_core_schema() {
        for word in ["true", "True", "TRUE"] {
            assert_eq!(boolean(word), Some(true), "{word}");
        }
        for word in ["false", "False", "FALSE"] {
            assert_eq!(boolean(word), Some(false), "{word}");
        }
        for word in ["yes", "no", "on", "off", "tRUE", "1", "0", "y", ""] {
            assert_eq!(boolean(word), None, "{word}");
        }
        for (word, value) in [
            ("010", 10.0),
            ("0o10", 8.0),
            ("0x1F", 31.0),
            ("+5", 5.0),
            ("-5", -5.0),
            ("-.5e1", -5.0),
            ("1.", 1.0),
            ("18446744073709551616", 18_446_744_073_709_551_616.0),
        ] {
            assert_eq!(number(word), Some(value), "{word}");
        }
        for word in [
            "1_000", "0b1", "1:30", "-0x1", "0o8", "0x", "0o", "0o+7", ".inf", "inf", ".nan",
            "1e999", "++1",
        ] {
            assert_eq!(number(word), None, "{word}");
        }
        assert_eq!(
            (whole("0x800"), whole("+7"), whole("007")),
            (Some(2048), Some(7), Some(7))
        );
        assert_eq!(
            (whole("-7"), whole("++7"), whole("1.0"), whole("")),
            (None, None, None, None)
        );
    }

    #[test]
    fn words_that_yaml_1_1_reads_differently_have_another_meaning() {
        for (word, meaning) in [
            ("yes", OtherMeaning::Boolean),
            ("No", OtherMeaning::Boolean),
            ("OFF", OtherMeaning::Boolean),
            ("010", OtherMeaning::Octal),
            ("-017", OtherMeaning::Octal),
            ("0o17", OtherMeaning::String),
            ("1_000", OtherMeaning::Number),
            ("1_0.5", OtherMeaning::Number),
            ("0b101", OtherMeaning::Number),
            ("0x_f", OtherMeaning::Number),
            ("1:30", OtherMeaning::Number),
            ("190:20:30.15", OtherMeaning::Number),
        ] {
            assert_eq!(other_meaning(word), Some(meaning), "{word}");
        }
        for word in [
            "", "y", "N", "true", "null", "yEs", "note", "0", "00", "08", "10", "0x1f", "1.5", "-",
            "_1", "1:60", "2023-07", "a:1", "0o8", "1e3", "oN", "é",
        ] {
            assert_eq!(other_meaning(word), None, "{word}");
        }
    }
}
