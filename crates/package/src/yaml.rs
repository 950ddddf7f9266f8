//! YAML with places: what stands where, so that a fault can name its line.
//!
//! Scalars stay text: what `010`, `yes` or `1e3` mean is decided by whoever knows the key.

use crate::bound::{Bound, MOST_VALUES};
use crate::fault::{Log, Place};
use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use std::collections::HashMap;

/// Depth of a document.
const DEEPEST: usize = 64;

/// One node of a document.
#[derive(Debug, Clone)]
pub struct Node {
    pub place: Place,
    pub value: Value,
}

#[derive(Debug, Clone)]
pub enum Value {
    /// `~`, `null`, or nothing at all.
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

    /// What the node is, for messages.
    pub fn what(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Text(_) => "a text",
            Value::Sequence(_) => "a list",
            Value::Mapping(_) => "a map",
        }
    }

    /// Nodes and bytes of text, with all that is in them.
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

/// Why a text is not read, and where.
enum Stop {
    Wrong(String, Place),
    Exceeds(Bound, Place),
    /// The log says it already.
    Told,
}

/// A collection that is being read.
struct Open {
    anchor: usize,
    node: Node,
    /// A mapping's key that waits for its value.
    key: Option<Node>,
}

/// Reads the only document of a text; `None`: it is empty, or is none (and the log says so).
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
                    let message = "a second document begins here; only one is allowed";
                    Err(Stop::Wrong(message.to_owned(), place(file, &span)))
                } else {
                    Ok(())
                }
            }
            Ok((event, span)) => reader.event(event, place(file, &span)),
            Err(error) => {
                let mark = error.marker();
                Err(Stop::Wrong(
                    format!("no valid YAML: {}", error.info()),
                    at(file, mark.line(), mark.col()),
                ))
            }
        };
        if let Err(stop) = step {
            match stop {
                Stop::Wrong(message, place) => log.error(&place, message),
                Stop::Exceeds(bound, place) => log.exceeds(&place, bound),
                Stop::Told => {}
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
    /// Those that aliases repeat are counted again, as are copies that are kept for aliases.
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
                    // Counted before it is copied.
                    count(&mut self.nodes, node.size(), &place, self.log)?;
                    let node = Node {
                        place,
                        value: node.value.clone(),
                    };
                    self.done(0, node)
                }
                None => Err(Stop::Wrong(
                    "this alias stands inside what it repeats".to_owned(),
                    place,
                )),
            },
            _ => Ok(()),
        }
    }

    fn begin(&mut self, anchor: usize, node: Node) -> Result<(), Stop> {
        if self.open.len() == DEEPEST {
            return Err(Stop::Wrong(
                format!("nested deeper than {DEEPEST} levels"),
                node.place,
            ));
        }
        self.open.push(Open {
            anchor,
            node,
            key: None,
        });
        Ok(())
    }

    fn done(&mut self, anchor: usize, node: Node) -> Result<(), Stop> {
        // The text of the file itself was counted when it was read.
        count(
            &mut self.nodes,
            Size { nodes: 1, bytes: 0 },
            &node.place,
            self.log,
        )?;
        if anchor != 0 {
            // An alias nests what it repeats, so depth is looked at again.
            if depth(&node) + self.open.len() > DEEPEST {
                return Err(Stop::Wrong(
                    format!("nested deeper than {DEEPEST} levels"),
                    node.place,
                ));
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

fn count(nodes: &mut usize, size: Size, place: &Place, log: &Log) -> Result<(), Stop> {
    *nodes += size.nodes;
    if *nodes > MOST_VALUES {
        return Err(Stop::Exceeds(Bound::Values, place.clone()));
    }
    if log.takes(place, size.bytes) {
        Ok(())
    } else {
        Err(Stop::Told)
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
