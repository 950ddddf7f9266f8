//! The syntax of Simfile and Sipfile: `key: value` or `key = value`, arrays in `[ ]`, comments
//! from `#` to the end of the line.
//!
//! A line that cannot be read is told and skipped, so that one look finds all of them.

use crate::bound::{Bound, MOST_KEYS, MOST_VALUES};
use crate::fault::{Log, Place, did_you_mean};
use std::iter::Peekable;
use std::str::Chars;

/// One value with its place.
#[derive(Debug, Clone)]
pub struct Item {
    pub place: Place,
    pub text: String,
}

impl Item {
    /// The item's words.
    pub fn words(&self) -> Vec<&str> {
        self.text.split_whitespace().collect()
    }
}

#[derive(Debug)]
enum Value {
    Text(Item),
    /// With the place of its `]`.
    Array(Vec<Item>, Place),
}

struct Variable {
    name: String,
    place: Place,
    value: Value,
}

/// All variables of a file.
pub struct Config<'a> {
    variables: Vec<Variable>,
    log: &'a Log,
}

impl<'a> Config<'a> {
    /// Reads a file in which these variables are known.
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
                Ok(Some(variable)) if config.variables.len() == MOST_KEYS => {
                    log.exceeds(&variable.place, Bound::Keys);
                    break;
                }
                Ok(Some(variable)) => config.add(variable, known),
                Ok(None) => {}
                Err(Stop::Wrong(place, message)) => {
                    log.error(&place, message);
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

    /// Of a variable that stands there twice, the last holds.
    fn add(&mut self, variable: Variable, known: &[&str]) {
        let Variable { name, place, .. } = &variable;
        if !known.contains(&name.as_str()) {
            let meant = did_you_mean(name, known.iter().copied());
            self.log
                .warning(place, format!("unknown key {name:?}, not read{meant}"));
        }
        if let Some(index) = self.variables.iter().position(|other| other.name == *name) {
            let line = self
                .variables
                .remove(index)
                .place
                .line()
                .unwrap_or_default();
            self.log.warning(
                place,
                format!(
                    "key {name:?} stands here a second time; what line {line} says is not used"
                ),
            );
        }
        self.variables.push(variable);
    }

    fn find(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name == name)
    }

    /// Where the variable is; `None`: nowhere.
    pub fn place(&self, name: &str) -> Option<&Place> {
        self.find(name).map(|variable| &variable.place)
    }

    /// A value that is not empty.
    pub fn text(&self, name: &str) -> Option<&Item> {
        match &self.find(name)?.value {
            Value::Text(item) if item.text.is_empty() => None,
            Value::Text(item) => Some(item),
            Value::Array(..) => {
                self.log.error(
                    &self.find(name)?.place,
                    format!("{name} must be one value, not an array"),
                );
                None
            }
        }
    }

    /// Where the array's `]` is.
    pub fn end(&self, name: &str) -> Option<&Place> {
        match &self.find(name)?.value {
            Value::Array(_, end) => Some(end),
            Value::Text(_) => None,
        }
    }

    /// An array; `None`: the variable is not there.
    pub fn array(&self, name: &str) -> Option<&[Item]> {
        match &self.find(name)?.value {
            Value::Array(items, _) => Some(items),
            Value::Text(item) => {
                self.log
                    .error(&item.place, format!("{name} must be an array in [ ]"));
                None
            }
        }
    }
}

/// Why a value is not read, and where.
enum Stop {
    /// What follows may be sound.
    Wrong(Place, String),
    Exceeds(Place, Bound),
}

type Step<T> = Result<T, Stop>;

struct Cursor<'a> {
    rest: Peekable<Chars<'a>>,
    file: Place,
    line: u32,
    column: u32,
    /// Of all arrays.
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

    /// To the end of the line, which stays.
    fn skip_line(&mut self) {
        self.take_while(|c| c != '\n');
    }

    fn skip_spaces(&mut self) {
        self.take_while(|c| c.is_whitespace() && c != '\n');
    }

    /// Spaces and a comment up to the end of the line.
    fn end_of_line(&mut self) -> Step<()> {
        self.skip_spaces();
        match self.peek() {
            None | Some('\n') => Ok(()),
            Some('#') => {
                self.skip_line();
                Ok(())
            }
            Some(c) => {
                let message =
                    format!("{c:?} after the value; put values with such characters in quotes");
                Err(Stop::Wrong(self.place(), message))
            }
        }
    }

    /// The next variable; `None`: there is nothing up to the end of the line.
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
            return Err(Stop::Wrong(place, "here should be a key".to_owned()));
        }
        self.skip_spaces();
        if !self.peek().is_some_and(|c| c == ':' || c == '=') {
            return Err(Stop::Wrong(
                self.place(),
                format!("after the key {name:?} should be a colon"),
            ));
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

    /// Values between brackets. A value that cannot be read is told, and its line skipped.
    fn array(&mut self, log: &Log) -> Step<(Vec<Item>, Place)> {
        let begin = self.place();
        self.next();
        let mut items = Vec::new();
        loop {
            self.take_while(|c| c.is_whitespace() || c == ',');
            let place = self.place();
            match self.peek() {
                None => {
                    return Err(Stop::Wrong(
                        begin,
                        "this array has no end; there is no ] after it".to_owned(),
                    ));
                }
                Some(']') => {
                    self.next();
                    return Ok((items, place));
                }
                Some('#') => self.skip_line(),
                Some('[') => {
                    log.error(&place, "an array within an array; there may be none");
                    self.skip_line();
                }
                Some(_) => {
                    let item = self
                        .value(|c| matches!(c, '\n' | '#' | ']' | ','))
                        .and_then(|text| {
                            self.skip_spaces();
                            match self.peek() {
                                None | Some('\n' | '#' | ']' | ',') => Ok(Item { place, text }),
                                Some(c) => {
                                    let message = format!(
                                        "{c:?} after the value; a comma or a line's end should be"
                                    );
                                    Err(Stop::Wrong(self.place(), message))
                                }
                            }
                        });
                    match item {
                        Ok(item) => {
                            self.values += 1;
                            if self.values > MOST_VALUES {
                                return Err(Stop::Exceeds(item.place, Bound::Values));
                            }
                            items.push(item);
                        }
                        Err(stop @ Stop::Exceeds(..)) => return Err(stop),
                        Err(Stop::Wrong(place, message)) => {
                            log.error(&place, message);
                            self.skip_line();
                        }
                    }
                }
            }
        }
    }

    /// A value: in quotes, or what stands there up to `end`, without spaces at its end.
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

    /// Two single quotes are one.
    fn single_quoted(&mut self) -> Step<String> {
        let begin = self.place();
        self.next();
        let mut text = String::new();
        loop {
            text += &self.take_while(|c| c != '\'' && c != '\n');
            if self.peek() != Some('\'') {
                return Err(Stop::Wrong(
                    begin,
                    "this quote has no end in its line".to_owned(),
                ));
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
        // Escapes stand for bytes.
        let mut bytes = Vec::new();
        loop {
            bytes.extend(
                self.take_while(|c| !matches!(c, '"' | '\\' | '\n'))
                    .into_bytes(),
            );
            match self.peek() {
                Some('"') => {
                    self.next();
                    return String::from_utf8(bytes).map_err(|_| {
                        Stop::Wrong(begin, "with its escapes this is no UTF-8".to_owned())
                    });
                }
                Some('\\') => bytes.push(self.escape()?),
                _ => {
                    return Err(Stop::Wrong(
                        begin,
                        "this quote has no end in its line".to_owned(),
                    ));
                }
            }
        }
    }

    fn escape(&mut self) -> Step<u8> {
        let place = self.place();
        self.next();
        // A line's end stays where it is: it ends the value.
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
            c => return Err(Stop::Wrong(place, format!("unknown escape \\{c}"))),
        };
        self.next();
        Ok(byte)
    }

    fn hexadecimal(&mut self) -> Step<u8> {
        let digit = self
            .peek()
            .and_then(|c| c.to_digit(16))
            .and_then(|digit| u8::try_from(digit).ok());
        let digit = digit.ok_or_else(|| {
            Stop::Wrong(
                self.place(),
                "after \\x come two hexadecimal digits".to_owned(),
            )
        })?;
        self.next();
        Ok(digit)
    }
}
