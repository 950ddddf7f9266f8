//! Formats and parses decimal numbers without allocation, as cgroup and procfs files contain them.

/// A number as text, without allocation.
pub struct Decimal {
    bytes: [u8; 24],
    start: usize,
}

impl Decimal {
    /// The decimal digits of `value`.
    pub fn new(mut value: u64) -> Decimal {
        let mut decimal = Decimal {
            bytes: [0; 24],
            start: 24,
        };
        loop {
            decimal.start -= 1;
            if let Some(byte) = decimal.bytes.get_mut(decimal.start) {
                *byte = b'0' + (value % 10) as u8;
            }
            value /= 10;
            if value == 0 {
                return decimal;
            }
        }
    }

    /// The digits.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or(&[])
    }
}

/// A line of text of bounded length. Text that does not fit is cut off.
pub struct Line<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Line<N> {
    /// An empty line.
    pub fn new() -> Self {
        Line {
            bytes: [0; N],
            length: 0,
        }
    }

    /// Adds text.
    pub fn text(mut self, text: &[u8]) -> Self {
        for &byte in text {
            if let Some(place) = self.bytes.get_mut(self.length) {
                *place = byte;
                self.length += 1;
            }
        }
        self
    }

    /// Adds a number.
    pub fn number(self, value: u64) -> Self {
        let decimal = Decimal::new(value);
        self.text(decimal.as_bytes())
    }

    /// The text.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&[])
    }
}

/// The decimal number at the beginning of `bytes`; 0 if there is no number.
pub fn leading_number(bytes: &[u8]) -> u64 {
    let mut value: u64 = 0;
    for &byte in bytes {
        if !byte.is_ascii_digit() {
            break;
        }
        value = value
            .saturating_mul(10)
            .saturating_add(u64::from(byte - b'0'));
    }
    value
}

/// The number after `key` and a space in a file whose lines are `key number`.
pub fn keyed_number(bytes: &[u8], key: &[u8]) -> Option<u64> {
    for line in bytes.split(|&byte| byte == b'\n') {
        if let Some(rest) = line.strip_prefix(key)
            && let Some(rest) = rest.strip_prefix(b" ")
        {
            return Some(leading_number(rest));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_survives_formatting_and_parsing() {
        for value in [0, 7, 10, 4096, u64::MAX] {
            let decimal = Decimal::new(value);
            assert_eq!(decimal.as_bytes(), value.to_string().as_bytes());
            assert_eq!(leading_number(decimal.as_bytes()), value);
        }
        assert_eq!(leading_number(b"max\n"), 0);
    }

    #[test]
    fn keyed_number_is_found_by_whole_key() {
        let file = b"oom_kill_disable 0\nunder_oom 0\noom_kill 3\n";
        assert_eq!(keyed_number(file, b"oom_kill"), Some(3));
        assert_eq!(keyed_number(file, b"oom"), None);
    }

    #[test]
    fn line_beyond_capacity_is_cut() {
        assert_eq!(Line::<4>::new().text(b"ab").number(123).as_bytes(), b"ab12");
    }
}
