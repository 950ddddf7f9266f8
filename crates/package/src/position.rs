//! Positions and times in the text of a file, for edits.

use std::time::Duration;

/// Formats a time in seconds, without trailing zeros and with at most nine decimal digits.
pub fn seconds(time: Duration) -> String {
    let text = format!("{}.{:09}", time.as_secs(), time.subsec_nanos());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns the byte offset of a line and column. Both count from 1, and columns count characters.
pub(crate) fn offset(text: &str, line: u32, column: u32) -> Option<usize> {
    let start = match line.checked_sub(2) {
        None => 0,
        Some(before) => text.match_indices('\n').nth(before as usize)?.0 + 1,
    };
    let rest = &text[start..];
    let column = column.saturating_sub(1) as usize;
    rest.char_indices()
        .map(|(at, _)| at)
        .chain([rest.len()])
        .nth(column)
        .map(|at| start + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offset_of_line_and_column_counts_characters() {
        let text = "ab\n\u{e9}cd\n";
        assert_eq!(offset(text, 1, 1), Some(0));
        assert_eq!(offset(text, 2, 2), Some(5));
        assert_eq!(offset(text, 4, 1), None);
    }

    #[test]
    fn seconds_have_no_trailing_zeros() {
        assert_eq!(seconds(Duration::from_millis(1500)), "1.5");
        assert_eq!(seconds(Duration::from_secs(20)), "20");
        assert_eq!(seconds(Duration::from_millis(10)), "0.01");
    }
}
