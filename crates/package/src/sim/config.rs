//! The syntax of Simfile and Sipfile: `key: value` or `key = value`, arrays in `[ ]`, and comments
//! from `#` to the end of the line.
//!
//! A line with a fault is reported and skipped, so that all faults are found.

use crate::bound::{Bound, MAX_KEYS, MAX_VALUES};
use crate::fault::log::{Log, Place};
use crate::fault::sim::ConfigFault;
use crate::fault::text::{Excerpt, Suggestion};
use std::iter::Peekable;
use std::str::Chars;

/// One value with its place.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Item {
    pub place: Place,
    pub text: String,
}

impl Item {
    /// Returns the item's words.
    pub fn words(&self) -> Vec<&str> {
        self.text.split_whitespace().collect()
    }
}

#[derive(Debug)]
enum Value {
    Text(Item),
    /// The items of an array, and the place of its `]`.
    Array(Vec<Item>, Place),
}

struct Variable {
    name: String,
    place: Place,
    value: Value,
}

/// The variables of a file.
pub struct Config<'a> {
    variables: Vec<Variable>,
    log: &'a Log,
}

impl<'a> Config<'a> {
    /// Reads a file. Variables that are not `known` cause a warning.
    pub fn read(text: &str, file: &str, known: &[&str], log: &'a Log) -> Config<'a> {
        let file = Place::file(file);
        let mut cursor = Cursor {
            rest: text.chars().peekable(),
            file,
            line: 1,
            column: 1,
            values: 0,
        };
        let mut config = Config {
            variables: Vec::new(),
            log,
        };
        while cursor.peek().is_some() {
            match cursor.variable(log) {
                Ok(Some(variable)) if config.variables.len() == MAX_KEYS => {
                    log.exceeds(&variable.place, Bound::Keys);
                    break;
                }
                Ok(Some(variable)) => config.add(variable, known),
                Ok(None) => {}
                Err(Stop::Fault(place, fault)) => {
                    log.error(&place, fault);
                    cursor.skip_line();
                }
                Err(Stop::Exceeds(place, bound)) => {
                    log.exceeds(&place, bound);
                    break;
                }
            }
        }
        config
    }

    /// Adds a variable. If a variable is repeated, its last value applies.
    fn add(&mut self, variable: Variable, known: &[&str]) {
        let Variable { name, place, .. } = &variable;
        if !known.contains(&name.as_str()) {
            let fault = ConfigFault::UnknownKey {
                key: Excerpt::new(name),
                suggestion: Suggestion::new(name, known.iter().copied()),
            };
            self.log.warning(place, fault);
        }
        if let Some(index) = self.variables.iter().position(|other| other.name == *name) {
            let line = self
                .variables
                .remove(index)
                .place
                .line()
                .unwrap_or_default();
            let key = Excerpt::new(name);
            self.log
                .warning(place, ConfigFault::RepeatedKey { key, line });
        }
        self.variables.push(variable);
    }

    fn find(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name == name)
    }

    /// Returns the place of a variable, if the file has the variable.
    pub fn place(&self, name: &str) -> Option<&Place> {
        self.find(name).map(|variable| &variable.place)
    }

    /// Returns a value that is not empty.
    pub fn text(&self, name: &str) -> Option<&Item> {
        match &self.find(name)?.value {
            Value::Text(item) if item.text.is_empty() => None,
            Value::Text(item) => Some(item),
            Value::Array(..) => {
                let key = name.into();
                self.log
                    .error(&self.find(name)?.place, ConfigFault::NotText { key });
                None
            }
        }
    }

    /// Returns the place of an array's `]`.
    pub fn end(&self, name: &str) -> Option<&Place> {
        match &self.find(name)?.value {
            Value::Array(_, end) => Some(end),
            Value::Text(_) => None,
        }
    }

    /// Returns the items of an array, or `None` if the file has no such array.
    pub fn array(&self, name: &str) -> Option<&[Item]> {
        match &self.find(name)?.value {
            Value::Array(items, _) => Some(items),
            Value::Text(item) => {
                let key = name.into();
                self.log.error(&item.place, ConfigFault::NotArray { key });
                None
            }
        }
    }
}

/// Why a value cannot be read, and where.
enum Stop {
    /// Reading continues at the next line.
    Fault(Place, ConfigFault),
    Exceeds(Place, Bound),
}

type Step<T> = Result<T, Stop>;

struct Cursor<'a> {
    rest: Peekable<Chars<'a>>,
    file: Place,
    line: u32,
    column: u32,
    /// The number of values in all arrays.
    values: usize,
}

impl Cursor<'_> {
    fn place(&self) -> Place {
        self.file.at(self.line, self.column)
    }

    fn peek(&mut self) -> Option<char> {
        self.rest.peek().copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.next()?;
        if next == '\n' {
            self.line = self.line.saturating_add(1);
            self.column = 1;
        } else {
            self.column = self.column.saturating_add(1);
        }
        Some(next)
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let mut text = String::new();
        while self.peek().is_some_and(&wanted) {
            text.extend(self.next());
        }
        text
    }

    /// Skips the rest of the line, but not its line feed.
    fn skip_line(&mut self) {
        self.take_while(|c| c != '\n');
    }

    fn skip_spaces(&mut self) {
        self.take_while(|c| c.is_whitespace() && c != '\n');
    }

    /// Skips spaces and a comment at the end of the line.
    fn end_of_line(&mut self) -> Step<()> {
        self.skip_spaces();
        match self.peek() {
            None | Some('\n') => Ok(()),
            Some('#') => {
                self.skip_line();
                Ok(())
            }
            Some(character) => Err(Stop::Fault(
                self.place(),
                ConfigFault::AfterValue { character },
            )),
        }
    }

    /// Reads the next variable, or returns `None` if the line has none.
    fn variable(&mut self, log: &Log) -> Step<Option<Variable>> {
        self.skip_spaces();
        match self.peek() {
            None => return Ok(None),
            Some('\n') => {
                self.next();
                return Ok(None);
            }
            Some('#') => {
                self.skip_line();
                return Ok(None);
            }
            Some(_) => {}
        }
        let place = self.place();
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if name.is_empty() {
            return Err(Stop::Fault(place, ConfigFault::NoKey));
        }
        self.skip_spaces();
        if !self.peek().is_some_and(|c| c == ':' || c == '=') {
            let key = name.into();
            return Err(Stop::Fault(self.place(), ConfigFault::NoColon { key }));
        }
        self.next();
        self.skip_spaces();
        let value = if self.peek() == Some('[') {
            let (items, end) = self.array(log)?;
            Value::Array(items, end)
        } else {
            let place = self.place();
            let text = match self.peek() {
                None | Some('\n' | '#') => String::new(),
                Some(_) => self.value(|c| matches!(c, '\n' | '#'))?,
            };
            Value::Text(Item { place, text })
        };
        self.end_of_line()?;
        Ok(Some(Variable { name, place, value }))
    }

    /// Reads the values between brackets. If a value has a fault, its line is skipped.
    fn array(&mut self, log: &Log) -> Step<(Vec<Item>, Place)> {
        let begin = self.place();
        self.next();
        let mut items = Vec::new();
        loop {
            self.take_while(|c| c.is_whitespace() || c == ',');
            let place = self.place();
            match self.peek() {
                None => {
                    return Err(Stop::Fault(begin, ConfigFault::OpenArray));
                }
                Some(']') => {
                    self.next();
                    return Ok((items, place));
                }
                Some('#') => self.skip_line(),
                Some('[') => {
                    log.error(&place, ConfigFault::NestedArray);
                    self.skip_line();
                }
                Some(_) => {
                    let item = self
                        .value(|c| matches!(c, '\n' | '#' | ']' | ','))
                        .and_then(|text| {
                            self.skip_spaces();
                            match self.peek() {
                                None | Some('\n' | '#' | ']' | ',') => Ok(Item { place, text }),
                                Some(character) => Err(Stop::Fault(
                                    self.place(),
                                    ConfigFault::AfterItem { character },
                                )),
                            }
                        });
                    match item {
                        Ok(item) => {
                            self.values += 1;
                            if self.values > MAX_VALUES {
                                return Err(Stop::Exceeds(item.place, Bound::Values));
                            }
                            items.push(item);
                        }
                        Err(stop @ Stop::Exceeds(..)) => return Err(stop),
                        Err(Stop::Fault(place, fault)) => {
                            log.error(&place, fault);
                            self.skip_line();
                        }
                    }
                }
            }
        }
    }

    /// Reads a value: in quotes, or up to `end` and without trailing spaces.
    fn value(&mut self, end: impl Fn(char) -> bool) -> Step<String> {
        match self.peek() {
            Some('\'') => self.single_quoted(),
            Some('"') => self.double_quoted(),
            _ => {
                let mut text = self.take_while(|c| !end(c));
                text.truncate(text.trim_end().len());
                Ok(text)
            }
        }
    }

    /// Reads a value in single quotes. Two single quotes represent one.
    fn single_quoted(&mut self) -> Step<String> {
        let begin = self.place();
        self.next();
        let mut text = String::new();
        loop {
            text += &self.take_while(|c| c != '\'' && c != '\n');
            if self.peek() != Some('\'') {
                return Err(Stop::Fault(begin, ConfigFault::OpenQuote));
            }
            self.next();
            if self.peek() != Some('\'') {
                return Ok(text);
            }
            text.extend(self.next());
        }
    }

    fn double_quoted(&mut self) -> Step<String> {
        let begin = self.place();
        self.next();
        // An escape represents a byte, not a character.
        let mut bytes = Vec::new();
        loop {
            bytes.extend(
                self.take_while(|c| !matches!(c, '"' | '\\' | '\n'))
                    .into_bytes(),
            );
            match self.peek() {
                Some('"') => {
                    self.next();
                    return String::from_utf8(bytes)
                        .map_err(|_| Stop::Fault(begin, ConfigFault::NotUtf8));
                }
                Some('\\') => bytes.push(self.escape()?),
                _ => {
                    return Err(Stop::Fault(begin, ConfigFault::OpenQuote));
                }
            }
        }
    }

    fn escape(&mut self) -> Step<u8> {
        let place = self.place();
        self.next();
        // The line feed is not consumed, because it ends the value.
        let c = self.peek().filter(|c| *c != '\n').unwrap_or(' ');
        let byte = match c {
            '\'' | '"' | '?' | '\\' => c as u8,
            't' => b'\t',
            'a' => 0x07,
            'b' => 0x08,
            'f' => 0x0c,
            'n' => b'\n',
            'r' => b'\r',
            'v' => 0x0b,
            'x' => {
                self.next();
                let digits = [self.hexadecimal()?, self.hexadecimal()?];
                return Ok(digits[0] << 4 | digits[1]);
            }
            character => {
                return Err(Stop::Fault(place, ConfigFault::UnknownEscape { character }));
            }
        };
        self.next();
        Ok(byte)
    }

    fn hexadecimal(&mut self) -> Step<u8> {
        let digit = self
            .peek()
            .and_then(|c| c.to_digit(16))
            .and_then(|digit| u8::try_from(digit).ok());
        let digit =
            digit.ok_or_else(|| Stop::Fault(self.place(), ConfigFault::HexadecimalEscape))?;
        self.next();
        Ok(digit)
    }
}
