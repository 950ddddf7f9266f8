//! Finds the classes that a Java source declares at its top level.
//!
//! A public class must be in a file of its name (Java Language Specification, section 7.6), and
//! users choose other names. The scanner reads tokens without comments, strings and characters, and
//! counts brackets. It does not check the source: the compiler reports the errors.

use std::iter::Peekable;
use std::str::Chars;

/// A class, interface, enum, record or annotation type at the top level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TopLevelClass {
    pub(super) name: String,
    pub(super) is_public: bool,
}

enum Token {
    Word(String),
    Sign(char),
}

/// Returns the classes of a source in the order of their declarations.
pub(super) fn classes(source: &[u8]) -> Vec<TopLevelClass> {
    let source = String::from_utf8_lossy(source);
    let mut classes = Vec::new();
    let mut depth = 0_usize;
    let mut is_public = false;
    let mut is_name_next = false;
    for token in Tokens(source.chars().peekable()) {
        match token {
            Token::Sign('{' | '(' | '[') => {
                depth += 1;
                is_name_next = false;
            }
            Token::Sign('}') => {
                depth = depth.saturating_sub(1);
                is_public &= depth > 0;
            }
            Token::Sign(')' | ']') => depth = depth.saturating_sub(1),
            Token::Sign(';') if depth == 0 => is_public = false,
            Token::Sign(_) => is_name_next = false,
            Token::Word(_) if depth > 0 => {}
            Token::Word(name) if is_name_next => {
                is_name_next = false;
                classes.push(TopLevelClass { name, is_public });
            }
            Token::Word(word) => match &word[..] {
                "public" => is_public = true,
                "class" | "interface" | "enum" | "record" => is_name_next = true,
                _ => {}
            },
        }
    }
    classes
}

struct Tokens<'s>(Peekable<Chars<'s>>);

impl Tokens<'_> {
    /// Skips to the end of a comment whose `/` was read. Returns whether it was a comment.
    fn skip_comment(&mut self) -> bool {
        match self.0.peek() {
            Some('/') => {
                while self.0.next_if(|c| *c != '\n').is_some() {}
                true
            }
            Some('*') => {
                self.0.next();
                let mut last = ' ';
                for next in self.0.by_ref() {
                    if last == '*' && next == '/' {
                        break;
                    }
                    last = next;
                }
                true
            }
            _ => false,
        }
    }

    /// Skips a string, a text block or a character whose first quote was read.
    fn skip_quoted(&mut self, quote: char) {
        let mut is_block = false;
        if quote == '"' && self.0.next_if_eq(&'"').is_some() {
            is_block = self.0.next_if_eq(&'"').is_some();
            if !is_block {
                return;
            }
        }
        let mut quotes = 0;
        while let Some(next) = self.0.next() {
            quotes = if next == quote { quotes + 1 } else { 0 };
            match next {
                '\\' => {
                    self.0.next();
                }
                // Only text blocks may contain line breaks.
                '\n' if !is_block => return,
                _ if quotes == if is_block { 3 } else { 1 } => return,
                _ => {}
            }
        }
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        loop {
            let first = self.0.next()?;
            match first {
                '/' if self.skip_comment() => {}
                '"' | '\'' => self.skip_quoted(first),
                _ if first.is_whitespace() => {}
                _ if is_part(first) => {
                    let mut word = String::from(first);
                    while let Some(next) = self.0.next_if(|c| is_part(*c)) {
                        word.push(next);
                    }
                    return Some(Token::Word(word));
                }
                _ => return Some(Token::Sign(first)),
            }
        }
    }
}

/// Whether a character is part of a name or a number.
fn is_part(character: char) -> bool {
    character.is_alphanumeric() || ['_', '$'].contains(&character)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the classes; public ones have a `+`.
    fn found(source: &str) -> Vec<String> {
        let shown = |class: TopLevelClass| match class.is_public {
            true => format!("+{}", class.name),
            false => class.name,
        };
        classes(source.as_bytes()).into_iter().map(shown).collect()
    }

    #[test]
    fn classes_of_source_are_found() {
        for (source, expected) in [
            ("public class A { }", "+A"),
            (
                "package a.b;\nimport java.util.*;\npublic final class A<T extends B> {}",
                "+A",
            ),
            ("class A {}\nclass B {} public class C {}", "A B +C"),
            ("class A { public class Inner {} }\ninterface I {}", "A I"),
            (
                "@Deprecated(since = \"public class X {\") public\nenum E { A, B }",
                "+E",
            ),
            (
                "public record Point(int x, int y) {} class M {}",
                "+Point M",
            ),
            ("public @interface Mark {} @Mark class A {}", "+Mark A"),
            (
                "// public class X\n/* public class Y {} **/ public class Z {}",
                "+Z",
            ),
            ("/* \" */ public /* ' */ class /* { */ Z // }\n{ }", "+Z"),
            (
                "class A { char c = '\"', d = '\\'', e = '{'; } public class B {}",
                "A +B",
            ),
            (
                "class A { String s = \"}\\\"}\"; } public class B {}",
                "A +B",
            ),
            (
                "class A { String s = \"\"\"\n } \" class X { \\\"\"\"\"; } public class B {}",
                "A +B",
            ),
            ("class A { String s = \"\"; } public class B {}", "A +B"),
            (
                "public sealed interface S permits T {} non-sealed class T implements S {}",
                "+S T",
            ),
            ("public class Zażółć$1 {}", "+Zażółć$1"),
            ("class A { Class<?> c = A.class; }", "A"),
            ("", ""),
            ("void main() { }", ""),
        ] {
            assert_eq!(found(source).join(" "), expected, "{source}");
        }
    }

    #[test]
    fn damaged_source_is_read_to_its_end() {
        for source in [
            "class",
            "\"",
            "'",
            "/*",
            "/",
            "\"\"\"",
            "}}}",
            "public class",
            "\\",
        ] {
            assert_eq!(found(source), [""; 0], "{source}");
        }
    }
}
