//! The default output validator of the ICPC problem package format: token by token.
//!
//! Tokens are what stands between white space (space, form feed, line feed, carriage return,
//! tab, vertical tab). They are equal if their bytes are, the case of ASCII letters aside unless
//! `case_sensitive` is given; with a tolerance, a token of the answer that is a finite number
//! wants one in its place that is close enough. What the specification leaves open (what a
//! number is, what space that changes means) is as in Kattis's validator.

use super::{CHUNK, show};
use std::io::{self, Read};

/// What the validator's flags say.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Options {
    /// `case_sensitive`: the case of letters counts.
    pub case_sensitive: bool,
    /// `space_change_sensitive`: white space must be the same.
    pub space_change_sensitive: bool,
    /// `float_absolute_tolerance E`, `float_tolerance E`.
    pub absolute: Option<f64>,
    /// `float_relative_tolerance E`, `float_tolerance E`.
    pub relative: Option<f64>,
}

impl Options {
    /// Reads flags. Flags of one string may be separated by white space.
    ///
    /// # Errors
    /// A flag that there is not, or a tolerance that is no number: in words.
    pub fn parse<S: AsRef<str>>(flags: &[S]) -> Result<Options, String> {
        let mut options = Options::default();
        let mut words = flags.iter().flat_map(|flag| flag.as_ref().split_whitespace());
        while let Some(flag) = words.next() {
            let mut tolerance = || {
                let value = words.next().ok_or_else(|| format!("the flag {flag} needs a number after it"))?;
                match number(value.as_bytes()) {
                    Some(tolerance) if tolerance >= 0.0 => Ok(Some(tolerance)),
                    _ => Err(format!("the flag {flag} needs a number that is not negative after it, not {value:?}")),
                }
            };
            match flag {
                "case_sensitive" => options.case_sensitive = true,
                "space_change_sensitive" => options.space_change_sensitive = true,
                "float_absolute_tolerance" => options.absolute = tolerance()?,
                "float_relative_tolerance" => options.relative = tolerance()?,
                "float_tolerance" => {
                    options.absolute = tolerance()?;
                    options.relative = options.absolute;
                }
                _ => {
                    return Err(format!(
                        "there is no flag {flag:?} of the default checker; those there are: case_sensitive, \
                         space_change_sensitive, float_absolute_tolerance E, float_relative_tolerance E, \
                         float_tolerance E"
                    ));
                }
            }
        }
        Ok(options)
    }

    fn floats(&self) -> bool {
        self.absolute.is_some() || self.relative.is_some()
    }
}

/// Compares an output with the answer; what differs first, in words. Reads both once, and takes
/// memory for one token of each.
///
/// # Errors
/// One of the two cannot be read.
pub fn compare(output: impl Read, answer: impl Read, options: &Options) -> io::Result<Option<String>> {
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
            Ok(Some(format!("Line {line}, token {count}: read {read}, expected {expected}")))
        };
        match (output.token()?, answer.token()?) {
            ([], []) => return Ok(None),
            ([], expected) => return say("end of file", &show(&[], expected).1),
            (read, []) => return say(&show(read, &[]).0, "end of file"),
            // Equal bytes are close enough, whatever they mean.
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

/// Whether two different tokens differ in what counts, and what more is to be said of it.
fn differ(read: &[u8], expected: &[u8], options: &Options) -> Option<String> {
    if options.floats()
        && let Some(wanted) = number(expected)
    {
        let Some(given) = number(read) else { return Some(", a number".to_owned()) };
        let error = (wanted - given).abs();
        let close = options.absolute.is_some_and(|most| error <= most)
            || options.relative.is_some_and(|most| error <= most * wanted.abs());
        if close {
            return None;
        }
        let mut why = Vec::new();
        if let Some(most) = options.absolute {
            why.push(format!("absolute error {error:.1e}, at most {most:e}"));
        }
        match options.relative {
            Some(most) if wanted != 0.0 => {
                why.push(format!("relative error {:.1e}, at most {most:e}", error / wanted.abs()));
            }
            _ => {}
        }
        return Some(format!(" ({})", why.join("; ")));
    }
    let same = !options.case_sensitive && read.eq_ignore_ascii_case(expected);
    (!same).then(String::new)
}

/// Reads white space of both, which must be the same; else says where it is not.
fn same_space<O: Read, A: Read>(output: &mut Tokens<O>, answer: &mut Tokens<A>) -> io::Result<Option<String>> {
    loop {
        let (read, expected) = (output.peek()?, answer.peek()?);
        let space = |byte: Option<u8>| byte.filter(|byte| is_space(*byte));
        if space(read).is_none() && space(expected).is_none() {
            return Ok(None);
        }
        if read != expected {
            let line = output.line;
            return Ok(Some(format!("Line {line}: read {}, expected {}", describe(read), describe(expected))));
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
    /// What is not looked at yet is `buffer[at..end]`.
    at: usize,
    end: usize,
    line: u64,
}

impl<R: Read> Tokens<R> {
    fn new(from: R) -> Tokens<R> {
        Tokens { from, buffer: vec![0; CHUNK], at: 0, end: 0, line: 1 }
    }

    /// Reads more after what is there; false: there is no more.
    fn more(&mut self) -> io::Result<bool> {
        if self.at > 0 {
            self.buffer.copy_within(self.at..self.end, 0);
            self.end -= self.at;
            self.at = 0;
        }
        if self.end == self.buffer.len() {
            // A token that is longer than all that we have.
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

    /// The next byte, which stays.
    fn peek(&mut self) -> io::Result<Option<u8>> {
        if self.at == self.end && !self.more()? {
            return Ok(None);
        }
        Ok(Some(self.buffer[self.at]))
    }

    /// Takes the byte that was peeked at.
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

    /// The bytes up to the next white space; none at the end of the file.
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

/// A finite number, as scanf(3) would take the whole token for `%lf`: decimal or hexadecimal.
fn number(token: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(token).ok()?;
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => hexadecimal(digits)?,
        // Not a second sign; infinities are not finite, and neither is what is too large.
        None if digits.starts_with(['+', '-']) => return None,
        None => digits.parse().ok()?,
    };
    value.is_finite().then_some(if negative { -value } else { value })
}

/// A whole number, or one as far out if it is too long: what is a double's exponent is near 0.
fn power(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse().unwrap_or(i64::MAX / 4).min(i64::MAX / 4);
    Some(if negative { -size } else { size })
}

/// What stands after `0x`: digits with at most one point, and perhaps an exponent of two.
fn hexadecimal(text: &str) -> Option<f64> {
    let (mantissa, exponent) = match text.split_once(['p', 'P']) {
        Some((mantissa, exponent)) => (mantissa, power(exponent)?),
        None => (text, 0),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && part.is_empty() {
        return None;
    }
    let (mut value, mut exponent) = (0u64, exponent - 4 * part.len() as i64);
    for digit in whole.chars().chain(part.chars()) {
        let digit = u64::from(digit.to_digit(16)?);
        if value >> 60 == 0 {
            value = value << 4 | digit;
        } else {
            // Beyond a double's digits; that something was there decides how it is rounded.
            value |= u64::from(digit != 0);
            exponent += 4;
        }
    }
    if value == 0 {
        return Some(0.0);
    }
    // In two steps, since neither factor may leave the range before the product does.
    let exponent = exponent.clamp(-4000, 4000) as i32;
    let half = exponent / 2;
    Some(value as f64 * 2f64.powi(half) * 2f64.powi(exponent - half))
}

#[cfg(test)]
mod tests {
    use super::{Options, compare, number};
    use proptest::prelude::*;

    fn difference(output: &str, answer: &str, flags: &str) -> String {
        let options = Options::parse(&[flags]).expect("flags");
        compare(output.as_bytes(), answer.as_bytes(), &options).expect("slices").unwrap_or_default()
    }

    fn same(output: &str, answer: &str, flags: &str) -> bool {
        difference(output, answer, flags).is_empty()
    }

    #[test]
    fn flags() {
        let all = Options::parse(&["case_sensitive space_change_sensitive", "float_tolerance", "1e-6"]);
        let expected =
            Options { case_sensitive: true, space_change_sensitive: true, absolute: Some(1e-6), relative: Some(1e-6) };
        assert_eq!(all, Ok(expected));
        let both = Options::parse(&["float_absolute_tolerance", "1", "float_relative_tolerance", "2"]).unwrap();
        assert_eq!((both.absolute, both.relative), (Some(1.0), Some(2.0)));
        assert_eq!(Options::parse::<&str>(&[]), Ok(Options::default()));
        for wrong in
            ["case", "float_tolerance", "float_tolerance x", "float_tolerance -1", "float_tolerance nan", "1e-6"]
        {
            let word = wrong.split(' ').next().unwrap();
            let error = Options::parse(&[wrong]).expect_err(wrong);
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn tokens_not_space() {
        assert!(same("", "", ""));
        assert!(same(" a\tB\r\n\x0b\x0cc", "A b C\n", ""));
        assert!(!same("ab c", "a b c", ""));
        assert!(!same("a B", "a b", "case_sensitive"));
        assert!(!same("a\0b", "a\0c", ""));
        assert!(!same("é", "É", ""));
        assert_eq!(difference("a\nb", "a b c", ""), "Line 2, token 3: read end of file, expected 'c'");
        assert_eq!(difference("a\nb\nc", "a b", ""), "Line 3, token 3: read 'c', expected end of file");
        assert_eq!(difference("a\nb x\nd", "a b c d", ""), "Line 2, token 3: read 'x', expected 'c'");
    }

    #[test]
    fn space_that_changes() {
        let flag = "space_change_sensitive";
        assert!(same("hello\nworld\n", "hello\nworld\n", flag));
        assert_eq!(difference("hello\n world\n", "hello\nworld\n", flag), "Line 2: read a space, expected 'w'");
        assert_eq!(difference("a b", "a  b", flag), "Line 1: read 'b', expected a space");
        assert_eq!(difference("a", "a\n", flag), "Line 1: read end of file, expected the end of the line");
        assert_eq!(difference("a\n\n", "a\n", flag), "Line 2: read the end of the line, expected end of file");
        assert_eq!(difference("a\tb", "a b", flag), "Line 1: read a tab, expected a space");
        assert!(same("A", "a", flag));
    }

    #[test]
    fn tolerances() {
        assert!(!same("1.0", "1", ""));
        assert!(same("1.0", "1", "float_tolerance 0"));
        assert!(same("0.0314", "3.14000000e-2", "float_tolerance 1e-12"));
        assert!(same("1.05", "1", "float_absolute_tolerance 0.1"));
        assert!(!same("105", "100", "float_absolute_tolerance 0.1"));
        assert!(same("105", "100", "float_relative_tolerance 0.1"));
        assert!(!same("0.1", "0", "float_relative_tolerance 0.5"));
        assert!(same("0.1", "0", "float_tolerance 0.5"));
        // Relative to the answer, not to the output.
        assert!(!same("100", "80", "float_relative_tolerance 0.2"));
        assert!(same("80", "100", "float_relative_tolerance 0.2"));
        // A word of the answer is compared as a word.
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
    fn numbers_are_those_of_scanf() {
        for (text, value) in [
            ("1", 1.0),
            ("+1.", 1.0),
            ("-.5", -0.5),
            ("1e3", 1000.0),
            ("1E-3", 0.001),
            ("1.e2", 100.0),
            ("0x10", 16.0),
            ("-0X1.8p3", -12.0),
            ("0x.8", 0.5),
            ("1e-999", 0.0),
            ("0x1p-1074", 5e-324),
            ("0x0p9999", 0.0),
            ("0x1p-99999999999999999999", 0.0),
            ("0x1.fffffffffffffffp0", 2.0),
            ("00012", 12.0),
        ] {
            assert_eq!(number(text.as_bytes()), Some(value), "{text}");
        }
        for text in [
            "", "+", ".", "e5", "1e", "1e+", "--1", "+-1", "1_0", "1,5", "0x", "0x.", "0x1p", "0xg", "inf", "-nan",
            "infinity", "1e999", "0x1p9999", "1.4🚀", "1f", "1 ",
        ] {
            assert_eq!(number(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn tokens_longer_than_any_buffer() {
        let long = "x".repeat(1 << 20);
        let text = format!("a {long} b\n{long}");
        assert!(same(&text, &text.to_uppercase(), ""));
        assert!(difference(&format!("{text}y"), &text, "").starts_with("Line 2, token 4: read '...x"));
    }

    /// Gives bytes in pieces.
    struct Pieces<'a>(&'a [u8], usize);

    impl std::io::Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let length = self.1.min(buffer.len()).min(self.0.len());
            buffer[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    /// The same in the plainest words there are: everything in memory.
    fn model(output: &str, answer: &str, options: &Options) -> bool {
        let split = |text: &str| -> Vec<String> {
            text.split([' ', '\n', '\t', '\r', '\x0b', '\x0c']).filter(|t| !t.is_empty()).map(str::to_owned).collect()
        };
        let spaces = |text: &str| -> Vec<String> {
            text.split(|c| !" \n\t\r\x0b\x0c".contains(c)).filter(|t| !t.is_empty()).map(str::to_owned).collect()
        };
        // Where space begins counts, and it begins where a token ends.
        let begins = |text: &str| text.starts_with([' ', '\n', '\t', '\r', '\x0b', '\x0c']);
        if options.space_change_sensitive && (spaces(output) != spaces(answer) || begins(output) != begins(answer)) {
            return false;
        }
        let (output, answer) = (split(output), split(answer));
        output.len() == answer.len()
            && output.iter().zip(&answer).all(|(read, expected)| {
                let finite = |text: &str| text.parse::<f64>().ok().filter(|value| value.is_finite());
                match finite(expected) {
                    Some(wanted) if options.absolute.is_some() || options.relative.is_some() => finite(read)
                        .is_some_and(|given| {
                            (wanted - given).abs() <= options.absolute.unwrap_or(-1.0)
                                || (wanted - given).abs() <= options.relative.unwrap_or(-1.0) * wanted.abs()
                        }),
                    _ if options.case_sensitive => read == expected,
                    _ => read.to_lowercase() == expected.to_lowercase(),
                }
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn as_the_model(
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
            // Two texts made apart are seldom equal: mostly one with a single change.
            let answer = if own {
                other
            } else {
                let mut answer: Vec<char> = output.chars().collect();
                if change < answer.len() && !other.is_empty() {
                    answer[change] = other.chars().next().unwrap_or('a');
                }
                answer.into_iter().collect()
            };
            let options = Options { case_sensitive, space_change_sensitive, absolute, relative };
            let difference = compare(Pieces(output.as_bytes(), pieces), Pieces(answer.as_bytes(), 5), &options).unwrap();
            prop_assert_eq!(difference.is_none(), model(&output, &answer, &options), "{:?}", difference);
        }
    }
}
