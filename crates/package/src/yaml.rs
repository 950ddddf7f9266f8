//! YAML with the place of each value, so that a fault can name its line.
//!
//! Scalars remain text. The reader of a key decides what `010`, `yes` or `1e3` means.

use crate::bound::{Bound, MAX_VALUES};
use crate::fault::FaultKind;
use crate::fault::log::{Log, Place};
use crate::fault::text::{Found, ValueKind};
use crate::fault::values::YamlFault;
use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use std::collections::HashMap;

/// Maximum depth of nested values in a document.
const MAX_LEVELS: usize = 64;

/// One node of a document.
#[derive(Debug, Clone)]
pub struct Node {
    pub place: Place,
    pub value: Value,
}

#[derive(Debug, Clone)]
pub enum Value {
    /// `~`, `null` or an empty value.
    Null,
    Text(String),
    Sequence(Vec<Node>),
    Mapping(Vec<(Node, Node)>),
}

impl Node {
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

/// Reads the only document of a text. Returns `None` if the document is empty or has faults, which
/// the log contains.
pub fn parse(text: &str, file: &Place, log: &Log) -> Option<Node> {
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
            Event::Scalar(text, style, anchor, _) => {
                let null = style == ScalarStyle::Plain
                    && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
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

/// The parser counts columns from 0.
fn at(file: &Place, line: usize, column: usize) -> Place {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    file.at(number(line), number(column.saturating_add(1)))
}
