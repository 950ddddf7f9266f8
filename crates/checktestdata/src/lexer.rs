//! Words of a program.

/// Maximum length of a program in bytes.
const MAX_PROGRAM_BYTES: usize = 1 << 20;

/// Why a text is not a program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct SyntaxError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Word {
    /// A command or test in upper case.
    Command(String),
    Name(String),
    Integer(String),
    Float(f64),
    Text(Vec<u8>),
    /// An operator or a punctuation mark.
    Symbol(&'static str),
}

const SYMBOLS: [&str; 20] = [
    "<=", ">=", "==", "!=", "&&", "||", "<", ">", "!", "=", "(", ")", "[", "]", ",", "+", "-", "*",
    "/", "%",
];

/// Splits a program into words, with their lines.
pub fn words(text: &str) -> Result<Vec<(usize, Word)>, SyntaxError> {
    let fault = |line: usize, message: &str| SyntaxError {
        line,
        message: message.to_owned(),
    };
    if text.len() > MAX_PROGRAM_BYTES {
        return Err(fault(1, "the program is longer than 1 MiB"));
    }
    let bytes = text.as_bytes();
    let (mut words, mut at, mut line) = (Vec::new(), 0, 1);
    let while_in = |at: usize, allowed: fn(u8) -> bool| {
        at + bytes[at..]
            .iter()
            .take_while(|byte| allowed(**byte))
            .count()
    };
    while let Some(&byte) = bytes.get(at) {
        let begin = at;
        match byte {
            b'\n' => {
                line += 1;
                at += 1;
            }
            b' ' | b'\t' | b'\r' => at += 1,
            b'#' => at = while_in(at, |byte| byte != b'\n'),
            b'A'..=b'Z' => {
                at = while_in(at, |byte| byte.is_ascii_uppercase());
                words.push((line, Word::Command(text[begin..at].to_owned())));
            }
            b'a'..=b'z' => {
                at = while_in(at, |byte| {
                    byte.is_ascii_lowercase() || byte.is_ascii_digit()
                });
                words.push((line, Word::Name(text[begin..at].to_owned())));
            }
            b'0'..=b'9' => {
                at = number_end(bytes, at);
                let digits = &text[begin..at];
                words.push((
                    line,
                    match digits.bytes().all(|byte| byte.is_ascii_digit()) {
                        true => Word::Integer(digits.to_owned()),
                        false => Word::Float(digits.parse().unwrap_or(f64::NAN)),
                    },
                ));
            }
            b'"' => {
                let first = line;
                let (text, end, lines) =
                    string(bytes, at + 1).ok_or_else(|| fault(first, "a string has no end"))?;
                (at, line) = (end, line + lines);
                words.push((first, Word::Text(text)));
            }
            b'^' => {
                at += 1;
                words.push((line, Word::Symbol("^")));
            }
            _ => {
                let symbol = SYMBOLS
                    .iter()
                    .find(|symbol| bytes[at..].starts_with(symbol.as_bytes()));
                let symbol = symbol.ok_or_else(|| fault(line, "unknown character"))?;
                at += symbol.len();
                words.push((line, Word::Symbol(symbol)));
            }
        }
    }
    Ok(words)
}

/// Returns the end of the number at a position: digits, a fraction and an exponent.
pub fn number_end(bytes: &[u8], at: usize) -> usize {
    let digits = |at: usize| {
        let rest = bytes.get(at..).unwrap_or_default();
        at + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let mut end = digits(at);
    if end == at {
        return at;
    }
    if bytes.get(end) == Some(&b'.') && digits(end + 1) > end + 1 {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = end + 1 + sign;
        if digits(exponent) > exponent {
            end = digits(exponent);
        }
    }
    end
}

/// Reads a string up to its closing quote. Returns the text, the position behind the quote, and the
/// number of line ends.
fn string(bytes: &[u8], mut at: usize) -> Option<(Vec<u8>, usize, usize)> {
    let (mut text, mut lines) = (Vec::new(), 0);
    loop {
        let byte = *bytes.get(at)?;
        at += 1;
        match byte {
            b'"' => return Some((text, at, lines)),
            b'\\' => {
                let escape = *bytes.get(at)?;
                at += 1;
                match escape {
                    b'n' => text.push(b'\n'),
                    b't' => text.push(b'\t'),
                    b'r' => text.push(b'\r'),
                    b'b' => text.push(8),
                    b'"' | b'\\' => text.push(escape),
                    b'\n' => lines += 1,
                    b'0'..=b'7' => {
                        let digits = bytes[at..]
                            .iter()
                            .take(2)
                            .take_while(|byte| matches!(byte, b'0'..=b'7'))
                            .count();
                        let octal = bytes[at - 1..at + digits]
                            .iter()
                            .fold(0u32, |number, byte| number * 8 + u32::from(byte - b'0'));
                        text.push(octal.to_le_bytes()[0]);
                        at += digits;
                    }
                    _ => text.extend([b'\\', escape]),
                }
            }
            byte => {
                lines += usize::from(byte == b'\n');
                text.push(byte);
            }
        }
    }
}
