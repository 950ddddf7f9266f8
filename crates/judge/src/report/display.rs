//! Formats figures and untrusted text for people.

use super::model::WarningReport;
use unicode_width::UnicodeWidthChar;

/// Formats points with up to four decimals.
pub fn points(points: f64) -> String {
    let text = format!("{points:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

/// Formats points with the maximum, or with the best points if fewer are better.
pub fn score_of(score: f64, most: Option<f64>, best: Option<f64>) -> String {
    match best {
        Some(best) if most == Some(best) => {
            format!("{} of {}", points(score), points_in_words(best))
        }
        Some(best) => format!("{}, {} would be best", points_in_words(score), points(best)),
        None => points_in_words(score),
    }
}

/// Formats a time in seconds with three decimals.
pub fn seconds(ns: u64) -> String {
    decimals(ns, 3)
}

/// Formats a time in seconds with as many decimals as its limit needs.
pub fn seconds_of(ns: u64, limit_ns: u64) -> String {
    let digits = [3, 6]
        .into_iter()
        .find(|digits| limit_ns.is_multiple_of(10u64.pow(9 - digits)));
    decimals(ns, digits.unwrap_or(9))
}

fn decimals(ns: u64, digits: u32) -> String {
    let (one, width) = (10u64.pow(digits), digits as usize);
    // Round up, so that a time over its limit does not look equal to the limit.
    let parts = ns.div_ceil(10u64.pow(9 - digits));
    format!("{}.{:0width$}", parts / one, parts % one)
}

/// Formats a number with its noun, in the plural unless the number is 1.
pub fn counted<N: std::fmt::Display + PartialEq + From<u8>>(number: N, what: &str) -> String {
    let s = if number == N::from(1) { "" } else { "s" };
    format!("{number} {what}{s}")
}

/// Formats points with their noun.
pub fn points_in_words(number: f64) -> String {
    let number = points(number);
    if number == "1" {
        "1 point".to_owned()
    } else {
        format!("{number} points")
    }
}

/// Formats memory in MiB with one decimal, rounded up.
pub fn mebibytes(bytes: u64) -> String {
    let tenths = (u128::from(bytes) * 10).div_ceil(1 << 20);
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// Turns a text into one safe line. Line breaks and tabs become spaces. Characters that could
/// control a terminal, hide text or change the writing direction are replaced.
pub fn line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.trim_end().chars() {
        match c {
            '\r' => {}
            '\n' | '\t' | '\u{2028}' | '\u{2029}' => line.push(' '),
            c => line.push(harmless(c)),
        }
    }
    line
}

/// Makes a string safe like [`line()`], but keeps its lines and tabs.
pub fn block(text: &str) -> String {
    let kept = text.chars().filter(|c| *c != '\r');
    kept.map(|c| {
        if matches!(c, '\n' | '\t') {
            c
        } else {
            harmless(c)
        }
    })
    .collect()
}

/// Formats a warning of the package in one line.
pub fn warned(warning: &WarningReport) -> String {
    let place = warning
        .line
        .map_or_else(String::new, |line| format!(":{line}"));
    format!("{}{place}: {}", line(&warning.file), line(&warning.message))
}

/// Returns the character, or the replacement character if it is harmful.
fn harmless(c: char) -> char {
    if is_harmless(c) {
        c
    } else {
        char::REPLACEMENT_CHARACTER
    }
}

/// Whether a character is plain visible text.
pub fn is_harmless(c: char) -> bool {
    match c {
        // Bidirectional controls, and separators that some programs interpret as line breaks.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            false
        }
        // Noncharacters, which XML cannot represent.
        '\u{fffe}' | '\u{ffff}' => false,
        c => !c.is_control(),
    }
}

/// Width of a line in terminal columns.
pub fn width(line: &str) -> usize {
    line.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// Cuts a line to a number of columns. An ellipsis marks the cut.
pub fn cut(line: &str, columns: usize) -> String {
    if width(line) <= columns {
        return line.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let mut kept = String::new();
    for c in line.chars() {
        let width = c.width().unwrap_or(0);
        if width > left {
            break;
        }
        left -= width;
        kept.push(c);
    }
    if columns > 0 {
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_rounded_for_display() {
        let shown = [0.0, -0.0, 1.0, 33.333333, 0.1 + 0.2, 100.0, 1e-9, -2.5].map(points);
        assert_eq!(shown, ["0", "0", "1", "33.3333", "0.3", "100", "0", "-2.5"]);
        assert_eq!(
            [0, 1, 1_000_000, 1_000_000_001, 61_500_000_000].map(seconds),
            ["0.000", "0.001", "0.001", "1.001", "61.500"]
        );
        // Limits that are not a whole number of milliseconds.
        assert_eq!(seconds_of(1_000, 1_000), "0.000001");
        assert_eq!(seconds_of(1_500_300, 1_500_000), "0.001501");
        assert_eq!(seconds_of(3, 2), "0.000000003");
        assert_eq!(
            [1, 2_000_000_000].map(|ns| seconds_of(ns, 1_000_000_000)),
            ["0.001", "2.000"]
        );
        assert_eq!(
            [0u64, 1, 2].map(|number| counted(number, "test")),
            ["0 tests", "1 test", "2 tests"]
        );
        assert_eq!(
            [1.0, 0.5].map(|score| score_of(score, None, None)),
            ["1 point", "0.5 points"]
        );
        assert_eq!(score_of(0.0, Some(1.0), Some(1.0)), "0 of 1 point");
        assert_eq!(
            [0, 1, 1 << 20, (64 << 20) + 1, u64::MAX].map(mebibytes),
            ["0.0", "0.1", "1.0", "64.1", "17592186044416.0"]
        );
    }

    #[test]
    fn line_and_block_replace_hostile_characters() {
        let hostile = "a\x1b[31m\r\nb\t\u{9b}0m\u{202e}c\u{2028}d\u{7f}\0\n\n";
        assert_eq!(
            line(hostile),
            "a\u{fffd}[31m b \u{fffd}0m\u{fffd}c d\u{fffd}\u{fffd}"
        );
        assert_eq!(block("a\r\n\tb\x1b\u{ffff}"), "a\n\tb\u{fffd}\u{fffd}");
    }

    #[test]
    fn cut_counts_terminal_columns() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        // These characters are two columns wide.
        assert_eq!((width("日本"), cut("日本語", 4)), (4, "日…".to_owned()));
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2), "e\u{301}…");
        assert_eq!(cut("abc", 0), "");
    }
}
