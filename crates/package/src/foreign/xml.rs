//! XML as a tree. Entities that a document defines are not expanded.

use super::loss::ForeignError;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// The maximum depth of elements.
const MAX_LEVELS: usize = 64;

/// An element.
#[derive(Debug, Default)]
pub struct Element {
    pub name: String,
    attributes: Vec<(String, String)>,
    pub children: Vec<Element>,
    /// The text directly in the element.
    pub text: String,
}

impl Element {
    /// Parses a document. Returns its root.
    pub fn parse(file: &str, text: &str) -> Result<Element, ForeignError> {
        let malformed = |why: String| ForeignError::Malformed {
            file: file.to_owned(),
            why,
        };
        let mut reader = Reader::from_str(text);
        let mut open = vec![Element::default()];
        loop {
            let event = reader
                .read_event()
                .map_err(|error| malformed(error.to_string()))?;
            match event {
                Event::Start(start) => {
                    if open.len() > MAX_LEVELS {
                        return Err(malformed("elements are nested too deeply".to_owned()));
                    }
                    open.push(Element::of(&start));
                }
                Event::Empty(start) => {
                    let element = Element::of(&start);
                    if let Some(last) = open.last_mut() {
                        last.children.push(element);
                    }
                }
                Event::End(_) => {
                    // The reader checks that the names of tags match.
                    if let Some(element) = open.pop()
                        && let Some(last) = open.last_mut()
                    {
                        last.children.push(element);
                    }
                }
                Event::Text(text) => {
                    if let Some(last) = open.last_mut() {
                        last.text.push_str(&text.xml10_content());
                    }
                }
                Event::Eof => break,
                _ => {}
            }
        }
        let root = open.swap_remove(0).children.into_iter().next();
        root.ok_or_else(|| malformed("it has no element".to_owned()))
    }

    fn of(start: &BytesStart<'_>) -> Element {
        let attributes = start.attributes().flatten().filter_map(|one| {
            let value = one
                .normalized_value(quick_xml::XmlVersion::Implicit1_0)
                .ok()?;
            Some((one.key.as_ref().to_owned(), value.into_owned()))
        });
        Element {
            name: start.name().as_ref().to_owned(),
            attributes: attributes.collect(),
            ..Element::default()
        }
    }

    /// The value of an attribute; empty if it is absent.
    pub fn attribute(&self, name: &str) -> &str {
        let mut all = self.attributes.iter();
        all.find(|(known, _)| known == name)
            .map_or("", |(_, value)| value)
    }

    /// The first child with this name.
    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The first element on a path of names.
    pub fn at(&self, path: &[&str]) -> Option<&Element> {
        path.iter()
            .try_fold(self, |element, name| element.child(name))
    }

    /// The children with this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.name == name)
    }
}
