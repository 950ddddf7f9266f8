//! JSON as the decoders of the replaced services read it.
//!
//! The bytes are first turned into text that a strict decoder accepts; [`go`] then matches the
//! fields of a type by Go's rules. So no request type repeats what its decoder forgives.
//!
//! | peer | decoder | what it forgives |
//! | --- | --- | --- |
//! | go-judge | `encoding/json` | keys in any case, `null`, duplicates, text that is not Unicode |
//! | Piston | `JSON.parse` | a byte order mark, text that is not Unicode |
//! | SandboxFusion | `json.loads` | a byte order mark, `NaN` and `Infinity` |

mod go;

use go::Tree;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;

/// What stands for a character that cannot be decoded.
const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;
/// The same in a JSON string.
const ESCAPED_REPLACEMENT: &str = "\\ufffd";
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// The length of an escaped UTF-16 unit such as `\u00e9`.
const ESCAPE_LENGTH: usize = 6;
/// The numbers that Python reads and writes beyond JSON.
const PYTHON_NUMBERS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// Reads a value as Go's `json.Decoder` does. Text after the value is ignored.
///
/// # Errors
/// The body does not begin with JSON, or a field has the wrong type.
pub fn go<T: DeserializeOwned>(body: &[u8]) -> serde_json::Result<T> {
    // Go replaces each byte, not each sequence.
    let text = unicode(body, |invalid, text| {
        text.extend(invalid.iter().map(|_| REPLACEMENT));
    });
    let text = without_lone_surrogates(&text);
    let tree = Tree::deserialize(&mut serde_json::Deserializer::from_str(&text))?;
    T::deserialize(tree)
}

/// Reads a value as Node.js does. A lone surrogate becomes what Node.js writes to a file for it.
///
/// # Errors
/// The body is not JSON.
pub fn node(body: &[u8]) -> serde_json::Result<Value> {
    let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
    let text = unicode(body, |_, text| text.push(REPLACEMENT));
    serde_json::from_str(&without_lone_surrogates(&text))
}

/// Reads a value as Python does. Numbers that JSON does not have become text, which fields for
/// numbers accept.
///
/// # Errors
/// The body is not JSON.
pub fn python(body: &[u8]) -> serde_json::Result<Value> {
    let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body);
    let strict = serde_json::from_slice(body);
    match (strict, std::str::from_utf8(body)) {
        (Err(error), Ok(text)) if PYTHON_NUMBERS.iter().any(|name| text.contains(name)) => {
            serde_json::from_str(&with_quoted_numbers(text)).map_err(|_| error)
        }
        (strict, _) => strict,
    }
}

/// The body as text. `replace` appends what stands for invalid bytes.
fn unicode(body: &[u8], replace: impl Fn(&[u8], &mut String)) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(body) {
        return text.into();
    }
    let mut text = String::with_capacity(body.len());
    for chunk in body.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            replace(chunk.invalid(), &mut text);
        }
    }
    text.into()
}

/// Replaces escaped surrogates that are not part of a pair.
fn without_lone_surrogates(text: &str) -> Cow<'_, str> {
    if !text.contains("\\ud") && !text.contains("\\uD") {
        return text.into();
    }
    let unit = |at: usize| {
        let digits = text.get(at..at + ESCAPE_LENGTH)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut repaired = String::with_capacity(text.len());
    let (mut kept, mut at) = (0, 0);
    while let Some(found) = text[at..].find('\\') {
        at += found;
        let next_unit = unit(at + ESCAPE_LENGTH);
        match unit(at) {
            Some(0xd800..=0xdbff) if matches!(next_unit, Some(0xdc00..=0xdfff)) => {
                at += 2 * ESCAPE_LENGTH;
            }
            Some(0xd800..=0xdfff) => {
                repaired.push_str(&text[kept..at]);
                repaired.push_str(ESCAPED_REPLACEMENT);
                at += ESCAPE_LENGTH;
                kept = at;
            }
            Some(_) => at += ESCAPE_LENGTH,
            // The character after the backslash may be another one.
            None => at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        }
    }
    repaired.push_str(&text[kept..]);
    repaired.into()
}

/// Puts quotes around [`PYTHON_NUMBERS`] outside of strings.
fn with_quoted_numbers(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2 * PYTHON_NUMBERS.len());
    let (mut is_in_string, mut is_escaped) = (false, false);
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let number = PYTHON_NUMBERS
            .into_iter()
            .find(|number| !is_in_string && rest.starts_with(number));
        if let Some(number) = number {
            quoted.extend(["\"", number, "\""]);
            rest = &rest[number.len()..];
            continue;
        }
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = is_in_string,
            '"' => is_in_string = !is_in_string,
            _ => {}
        }
        quoted.push(character);
        rest = &rest[character.len_utf8()..];
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn node_replaces_lone_surrogates_and_keeps_pairs() {
        let value = |text: &str| node(format!("\"{text}\"").as_bytes()).unwrap();
        assert_eq!(value(r"a\ud800b"), "a\u{fffd}b");
        assert_eq!(value(r"\uDC00"), "\u{fffd}");
        assert_eq!(value(r"\ud83d\ude00"), "\u{1f600}");
        assert_eq!(value(r"\ud83d\ud83d\ude00"), "\u{fffd}\u{1f600}");
        // An escaped backslash, and an incomplete escape.
        assert_eq!(value(r"\\ud800"), "\\ud800");
        assert_eq!(value(r"\ud800é\u00e9"), "\u{fffd}éé");
        node(br#""\ud8""#).unwrap_err();
    }

    #[test]
    fn invalid_bytes_are_replaced_as_each_decoder_does() {
        // The first two bytes of a character with three.
        let body = b"\"\xe2\x82\"";
        assert_eq!(node(body).unwrap(), "\u{fffd}");
        assert_eq!(go::<String>(body).unwrap(), "\u{fffd}\u{fffd}");
        python(body).unwrap_err();
    }

    #[test]
    fn byte_order_mark_is_skipped_except_by_go() {
        let body = "\u{feff}[1]".as_bytes();
        assert_eq!(node(body).unwrap(), json!([1]));
        assert_eq!(python(body).unwrap(), json!([1]));
        go::<Vec<u8>>(body).unwrap_err();
    }

    #[test]
    fn python_numbers_are_read_outside_of_strings() {
        let body = br#"{"a":[NaN,-Infinity],"NaN":Infinity,"s":"NaN \"NaN"}"#;
        let value = json!({
            "a": ["NaN", "-Infinity"], "NaN": "Infinity", "s": "NaN \"NaN",
        });
        assert_eq!(python(body).unwrap(), value);
        python(b"[NaN").unwrap_err();
    }
}
