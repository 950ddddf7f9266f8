//! Comparison of a program's output with the expected output.

/// How output is compared.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Comparison {
    /// Byte by byte.
    Exact,
    /// Line by line, ignoring white space at the ends of lines and empty lines at the end.
    #[default]
    Trim,
    /// Token by token, where white space separates tokens.
    Tokens,
    /// Token by token; two numbers are equal if they differ by at most this much, absolutely or
    /// relative to the expected number.
    Float(f64),
}

impl Comparison {
    /// Whether the output is the expected one.
    pub fn accepts(self, expected: &[u8], found: &[u8]) -> bool {
        match self {
            Comparison::Exact => expected == found,
            Comparison::Trim => lines(expected).eq(lines(found)),
            Comparison::Tokens => tokens(expected).eq(tokens(found)),
            Comparison::Float(tolerance) => {
                let (mut expected, mut found) = (tokens(expected), tokens(found));
                loop {
                    match (expected.next(), found.next()) {
                        (None, None) => return true,
                        (Some(expected), Some(found))
                            if expected == found || are_close(expected, found, tolerance) => {}
                        _ => return false,
                    }
                }
            }
        }
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.trim_ascii_end()
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii_end)
}

fn tokens(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace)
        .filter(|token| !token.is_empty())
}

fn are_close(expected: &[u8], found: &[u8], tolerance: f64) -> bool {
    let number = |token| std::str::from_utf8(token).ok()?.parse::<f64>().ok();
    let (Some(expected), Some(found)) = (number(expected), number(found)) else {
        return false;
    };
    let difference = (expected - found).abs();
    difference <= tolerance || difference <= tolerance * expected.abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trim_ignores_white_space_at_ends_only() {
        let accepts = |a: &str, b: &str| Comparison::Trim.accepts(a.as_bytes(), b.as_bytes());
        assert!(accepts("1 2\n3", "1 2  \r\n3\n\n"));
        assert!(accepts("", "\n"));
        assert!(!accepts("1 2", "1  2"));
        assert!(!accepts("1\n2", "1\n\n2"));
        assert!(!accepts("1", " 1"));
    }

    #[test]
    fn tokens_ignore_all_white_space_but_not_missing_tokens() {
        let accepts = |a: &str, b: &str| Comparison::Tokens.accepts(a.as_bytes(), b.as_bytes());
        assert!(accepts("1 2\n3", "1\n2   3"));
        assert!(!accepts("1 2", "1"));
        assert!(!accepts("1", "1 2"));
    }

    #[test]
    fn floats_are_compared_absolutely_or_relatively() {
        let accepts =
            |a: &str, b: &str| Comparison::Float(1e-6).accepts(a.as_bytes(), b.as_bytes());
        assert!(accepts("1000000000 x", "1000000001 x"));
        assert!(accepts("0", "0.0000005"));
        assert!(!accepts("1", "1.1"));
        assert!(!accepts("nan", "1"));
    }

    #[test]
    fn exact_accepts_only_equal_bytes() {
        assert!(Comparison::Exact.accepts(b"a\n", b"a\n"));
        assert!(!Comparison::Exact.accepts(b"a\n", b"a"));
    }
}
