//! Times, sizes and hostile output as text.
//!
//! `assets/text.js` has the same functions for the script.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A time, such as `12.3 ms` or `1.23 s`.
pub fn time(milliseconds: f64) -> String {
    if milliseconds < 1000.0 {
        format!("{milliseconds:.1} ms")
    } else {
        format!("{:.2} s", milliseconds / 1000.0)
    }
}

/// A size, such as `512 bytes` or `3.4 MiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} byte{}", if bytes == 1 { "" } else { "s" });
    }
    #[expect(clippy::cast_precision_loss, reason = "one digit is shown")]
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A number with separated thousands, such as `12,345`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Text in which control characters are visible and do nothing.
///
/// Control characters become their pictures (`␛`). Characters that change the direction of text
/// become `⟨U+202E⟩`. Newlines and tabs are kept, and CR LF becomes a newline.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| !needs_picture(c) || matches!(c, '\n' | '\t');
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\n' | '\t' => shown.push(c),
            '\r' if characters.peek() == Some(&'\n') => {}
            '\0'..='\x1f' => shown.extend(char::from_u32(0x2400 + c as u32)),
            '\x7f' => shown.push('␡'),
            c if needs_picture(c) => {
                // Writing to a String cannot fail.
                let _ = write!(shown, "⟨U+{:04X}⟩", c as u32);
            }
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

fn needs_picture(c: char) -> bool {
    matches!(c, '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visible_shows_control_characters_as_pictures() {
        assert_eq!(visible("a\tb\nü<b>"), "a\tb\nü<b>");
        assert_eq!(visible("\x1b[31mred\x07\0\x7f"), "␛[31mred␇␀␡");
        assert_eq!(visible("one\r\ntwo\rthree"), "one\ntwo␍three");
        assert_eq!(visible("a\u{202e}b\u{9b}"), "a⟨U+202E⟩b⟨U+009B⟩");
    }

    #[test]
    fn figures_have_units() {
        assert_eq!(
            (time(1.25), time(2500.0)),
            ("1.2 ms".into(), "2.50 s".into())
        );
        assert_eq!((size(1), size(0)), ("1 byte".into(), "0 bytes".into()));
        assert_eq!(
            (size(1536), size(64 << 20)),
            ("1.5 KiB".into(), "64.0 MiB".into())
        );
        assert_eq!(
            (count(7), count(1_234_567)),
            ("7".into(), "1,234,567".into())
        );
    }
}
