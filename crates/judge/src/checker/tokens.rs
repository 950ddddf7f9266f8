//! The default output validator of the ICPC problem package format. It compares token by token.
//!
//! Tokens are separated by white space: space, form feed, line feed, carriage return, tab, vertical
//! tab. Two tokens are equal if their bytes are equal. The case of ASCII letters is ignored unless
//! `case_sensitive` is given. With a tolerance, a finite number in the answer matches any number
//! that is close enough. The specification does not define which changes of white space count, nor
//! how numbers are read in the legacy format. In both cases, this file follows Kattis's validator.

use super::excerpt::show;
use millibox_package::tokens::number;
use std::io::{self, Read};

/// The options are parsed in the package crate, which reports wrong flags as faults.
pub use millibox_package::tokens::Options;

/// Initial size of a read buffer. It grows for longer tokens.
const CHUNK_BYTES: usize = 128 << 10;

/// Compares an output with the answer and describes the first difference. It reads both once, and
/// keeps only one token of each in memory.
///
/// # Errors
/// The output or the answer cannot be read.
pub fn compare(
    output: impl Read,
    answer: impl Read,
    options: &Options,
) -> io::Result<Option<String>> {
    let (mut output, mut answer) = (Tokens::new(output), Tokens::new(answer));
    let mut count = 0u64;
    loop {
        if options.space_change_sensitive {
            if let Some(difference) = same_space(&mut output, &mut answer)? {
                return Ok(Some(difference));
            }
        } else {
            answer.skip_space()?;
            output.skip_space()?;
        }
        count += 1;
        let line = output.line;
        let say = |read: &str, expected: &str| {
            Ok(Some(format!(
                "Line {line}, token {count}: read {read}, expected {expected}"
            )))
        };
        match (output.token()?, answer.token()?) {
            ([], []) => return Ok(None),
            ([], expected) => return say("end of file", &show(&[], expected).1),
            (read, []) => return say(&show(read, &[]).0, "end of file"),
            // Equal bytes are close enough, even if they are not a number.
            (read, expected) if read == expected => {}
            (read, expected) => {
                if let Some(why) = differ(read, expected, options) {
                    let (read, expected) = show(read, expected);
                    return say(&read, &(expected + &why));
                }
            }
        }
    }
}

/// If two different tokens differ in a way that counts, returns details for the message.
fn differ(read: &[u8], expected: &[u8], options: &Options) -> Option<String> {
    if options.floats()
        && let Some(wanted) = number(expected, options.hexadecimal)
    {
        let Some(given) = number(read, options.hexadecimal) else {
            return Some(", a number".to_owned());
        };
        let error = (wanted - given).abs();
        let close = options.absolute.is_some_and(|most| error <= most)
            || options
                .relative
                .is_some_and(|most| error <= most * wanted.abs());
        if close {
            return None;
        }
        let mut why = Vec::new();
        if let Some(most) = options.absolute {
            why.push(format!("absolute error {error:.1e}, at most {most:e}"));
        }
        match options.relative {
            Some(most) if wanted != 0.0 => {
                why.push(format!(
                    "relative error {:.1e}, at most {most:e}",
                    error / wanted.abs()
                ));
            }
            Some(most) if why.is_empty() => {
                why.push(format!(
                    "no number other than 0 has a relative error of at most {most:e} to 0"
                ));
            }
            _ => {}
        }
        return Some(format!(" ({})", why.join("; ")));
    }
    let same = !options.case_sensitive && read.eq_ignore_ascii_case(expected);
    (!same).then(String::new)
}

/// Reads the white space on both sides and describes the first difference.
fn same_space<O: Read, A: Read>(
    output: &mut Tokens<O>,
    answer: &mut Tokens<A>,
) -> io::Result<Option<String>> {
    loop {
        let (read, expected) = (output.peek()?, answer.peek()?);
        let space = |byte: Option<u8>| byte.filter(|byte| is_space(*byte));
        if space(read).is_none() && space(expected).is_none() {
            return Ok(None);
        }
        if read != expected {
            let line = output.line;
            return Ok(Some(format!(
                "Line {line}: read {}, expected {}",
                describe(read),
                describe(expected)
            )));
        }
        output.next();
        answer.next();
    }
}

fn describe(byte: Option<u8>) -> String {
    match byte {
        None => "end of file".to_owned(),
        Some(b' ') => "a space".to_owned(),
        Some(b'\n') => "the end of the line".to_owned(),
        Some(b'\r') => "a carriage return".to_owned(),
        Some(b'\t') => "a tab".to_owned(),
        Some(byte) if is_space(byte) => format!("the character {byte}"),
        Some(byte) => show(&[byte], &[]).0,
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ')
}

/// The tokens of a file.
struct Tokens<R> {
    from: R,
    buffer: Vec<u8>,
    /// `buffer[at..end]` is unread.
    at: usize,
    end: usize,
    line: u64,
}

impl<R: Read> Tokens<R> {
    fn new(from: R) -> Tokens<R> {
        Tokens {
            from,
            buffer: vec![0; CHUNK_BYTES],
            at: 0,
            end: 0,
            line: 1,
        }
    }

    /// Appends more bytes to the buffer. Returns false at the end of the file.
    fn more(&mut self) -> io::Result<bool> {
        if self.at > 0 {
            self.buffer.copy_within(self.at..self.end, 0);
            self.end -= self.at;
            self.at = 0;
        }
        if self.end == self.buffer.len() {
            // The token is longer than the buffer.
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        loop {
            match self.from.read(&mut self.buffer[self.end..]) {
                Ok(read) => {
                    self.end += read;
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the next byte without consuming it.
    fn peek(&mut self) -> io::Result<Option<u8>> {
        if self.at == self.end && !self.more()? {
            return Ok(None);
        }
        Ok(Some(self.buffer[self.at]))
    }

    /// Consumes the byte that `peek` returned.
    fn next(&mut self) {
        self.line += u64::from(self.buffer[self.at] == b'\n');
        self.at += 1;
    }

    fn skip_space(&mut self) -> io::Result<()> {
        while self.peek()?.is_some_and(is_space) {
            self.next();
        }
        Ok(())
    }

    /// Returns the bytes up to the next white space. They are empty at the end of the file.
    fn token(&mut self) -> io::Result<&[u8]> {
        let mut length = 0;
        loop {
            let rest = &self.buffer[self.at + length..self.end];
            match rest.iter().position(|byte| is_space(*byte)) {
                Some(more) => {
                    length += more;
                    break;
                }
                None => {
                    length += rest.len();
                    if !self.more()? {
                        break;
                    }
                }
            }
        }
        let begin = self.at;
        self.at += length;
        Ok(&self.buffer[begin..self.at])
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, compare};
    use proptest::prelude::*;

    fn difference(output: &str, answer: &str, flags: &str) -> String {
        let options = Options::parse(&[flags]).expect("flags");
        compare(output.as_bytes(), answer.as_bytes(), &options)
            .expect("slices")
            .unwrap_or_default()
    }

    fn same(output: &str, answer: &str, flags: &str) -> bool {
        difference(output, answer, flags).is_empty()
    }

    #[test]
    fn compare_ignores_space_between_tokens() {
        assert!(same("", "", ""));
        assert!(same(" a\tB\r\n\x0b\x0cc", "A b C\n", ""));
        assert!(!same("ab c", "a b c", ""));
        assert!(!same("a B", "a b", "case_sensitive"));
        assert!(!same("a\0b", "a\0c", ""));
        assert!(!same("é", "É", ""));
        assert_eq!(
            difference("a\nb", "a b c", ""),
            "Line 2, token 3: read end of file, expected 'c'"
        );
        assert_eq!(
            difference("a\nb\nc", "a b", ""),
            "Line 3, token 3: read 'c', expected end of file"
        );
        assert_eq!(
            difference("a\nb x\nd", "a b c d", ""),
            "Line 2, token 3: read 'x', expected 'c'"
        );
    }

    #[test]
    fn compare_space_change_sensitive_reports_changed_space() {
        let flag = "space_change_sensitive";
        assert!(same("hello\nworld\n", "hello\nworld\n", flag));
        assert_eq!(
            difference("hello\n world\n", "hello\nworld\n", flag),
            "Line 2: read a space, expected 'w'"
        );
        assert_eq!(
            difference("a b", "a  b", flag),
            "Line 1: read 'b', expected a space"
        );
        assert_eq!(
            difference("a", "a\n", flag),
            "Line 1: read end of file, expected the end of the line"
        );
        assert_eq!(
            difference("a\n\n", "a\n", flag),
            "Line 2: read the end of the line, expected end of file"
        );
        assert_eq!(
            difference("a\tb", "a b", flag),
            "Line 1: read a tab, expected a space"
        );
        assert!(same("A", "a", flag));
    }

    #[test]
    fn compare_with_tolerance_accepts_close_numbers() {
        assert!(!same("1.0", "1", ""));
        assert!(same("1.0", "1", "float_tolerance 0"));
        assert!(same("0.0314", "3.14000000e-2", "float_tolerance 1e-12"));
        assert!(same("1.05", "1", "float_absolute_tolerance 0.1"));
        assert!(!same("105", "100", "float_absolute_tolerance 0.1"));
        assert!(same("105", "100", "float_relative_tolerance 0.1"));
        assert!(!same("0.1", "0", "float_relative_tolerance 0.5"));
        assert!(same("0.1", "0", "float_tolerance 0.5"));
        // The tolerance is relative to the answer, not to the output.
        assert!(!same("100", "80", "float_relative_tolerance 0.2"));
        assert!(same("80", "100", "float_relative_tolerance 0.2"));
        // A word of the answer is compared as text.
        assert!(same("Yes 1", "yes 1.0", "float_tolerance 1e-6"));
        assert!(same("inf", "INF", "float_tolerance 0.5"));
        assert!(!same("0", "inf", "float_tolerance 0.5"));
        assert!(!same("inf", "0", "float_tolerance 0.5"));
        assert!(!same("nan", "1", "float_tolerance 0.5"));
        assert!(same("1e999", "1E999", "float_tolerance 0.5"));
        assert_eq!(
            difference("3.15", "3.14", "float_tolerance 1e-3"),
            "Line 1, token 1: read '3.15', expected '3.14' (absolute error 1.0e-2, at most 1e-3; \
             relative error 3.2e-3, at most 1e-3)"
        );
        assert_eq!(
            difference("1.4x", "1", "float_tolerance 1"),
            "Line 1, token 1: read '1.4x', expected '1', a number"
        );
    }

    #[test]
    fn compare_legacy_accepts_hexadecimal_numbers() {
        let same = |output: &str, answer: &str, hexadecimal: bool| {
            let options = Options {
                hexadecimal,
                ..Options::parse(&["float_tolerance 1e-6"]).expect("flags")
            };
            compare(output.as_bytes(), answer.as_bytes(), &options)
                .expect("slices")
                .is_none()
        };
        for (output, answer) in [
            ("0xdeadbef0", "0xdeadbeef"),
            ("3735928559", "0xdeadbeef"),
            ("0x1.8", "1.5"),
        ] {
            assert!(same(output, answer, true), "{output} {answer}");
            assert!(!same(output, answer, false), "{output} {answer}");
        }
        // Without `hexadecimal` these are words, whose case is ignored.
        assert!(same("0XDEADBEEF 1.50", "0xdeadbeef 1.5", false));
    }

    #[test]
    fn compare_tokens_longer_than_buffer_finds_difference() {
        let long = "x".repeat(1 << 20);
        let text = format!("a {long} b\n{long}");
        assert!(same(&text, &text.to_uppercase(), ""));
        assert!(
            difference(&format!("{text}y"), &text, "").starts_with("Line 2, token 4: read '...x")
        );
    }

    /// Delivers bytes in pieces.
    struct Pieces<'a>(&'a [u8], usize);

    impl std::io::Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let length = self.1.min(buffer.len()).min(self.0.len());
            buffer[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    /// A simple reference implementation that keeps everything in memory.
    fn model(output: &str, answer: &str, options: &Options) -> bool {
        let split = |text: &str| -> Vec<String> {
            text.split([' ', '\n', '\t', '\r', '\x0b', '\x0c'])
                .filter(|t| !t.is_empty())
                .map(str::to_owned)
                .collect()
        };
        let spaces = |text: &str| -> Vec<String> {
            text.split(|c| !" \n\t\r\x0b\x0c".contains(c))
                .filter(|t| !t.is_empty())
                .map(str::to_owned)
                .collect()
        };
        // Leading space counts. Other space begins where a token ends.
        let begins = |text: &str| text.starts_with([' ', '\n', '\t', '\r', '\x0b', '\x0c']);
        if options.space_change_sensitive
            && (spaces(output) != spaces(answer) || begins(output) != begins(answer))
        {
            return false;
        }
        let (output, answer) = (split(output), split(answer));
        output.len() == answer.len()
            && output.iter().zip(&answer).all(|(read, expected)| {
                let finite =
                    |text: &str| text.parse::<f64>().ok().filter(|value| value.is_finite());
                match finite(expected) {
                    Some(wanted) if options.absolute.is_some() || options.relative.is_some() => {
                        finite(read).is_some_and(|given| {
                            (wanted - given).abs() <= options.absolute.unwrap_or(-1.0)
                                || (wanted - given).abs()
                                    <= options.relative.unwrap_or(-1.0) * wanted.abs()
                        })
                    }
                    _ if options.case_sensitive => read == expected,
                    _ => read.to_lowercase() == expected.to_lowercase(),
                }
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn compare_agrees_with_reference(
            output in "([aAbB]|[0-2]|\\.|-|1e|[ \n\t]){0,12}",
            other in "([aAbB]|[0-2]|\\.|-|1e|[ \n\t]){0,12}",
            own in any::<bool>(),
            change in 0usize..12,
            case_sensitive in any::<bool>(),
            space_change_sensitive in any::<bool>(),
            absolute in proptest::option::of(0.0..2.0f64),
            relative in proptest::option::of(0.0..2.0f64),
            pieces in 1usize..7,
        ) {
            // Two independent texts are rarely equal, so the answer is usually the output with one
            // change.
            let answer = if own {
                other
            } else {
                let mut answer: Vec<char> = output.chars().collect();
                if change < answer.len() && !other.is_empty() {
                    answer[change] = other.chars().next().unwrap_or('a');
                }
                answer.into_iter().collect()
            };
            let options = Options {
                case_sensitive,
                space_change_sensitive,
                absolute,
                relative,
                hexadecimal: false,
            };
            let output_pieces = Pieces(output.as_bytes(), pieces);
            let answer_pieces = Pieces(answer.as_bytes(), 5);
            let difference = compare(output_pieces, answer_pieces, &options).unwrap();
            let is_same = model(&output, &answer, &options);
            prop_assert_eq!(difference.is_none(), is_same, "{:?}", difference);
        }
    }
}
