//! Limits, written into files that a person wrote: all else in them stays as it is, comments and
//! the order of lines too.
//!
//! These take a file's text and give the new one. Whoever writes it back should read the package
//! again, and see that it says what was meant.

pub use crate::icpc::edit::{
    ini_has_time_limit, ini_time_limit, yaml_has_time_limit, yaml_time_limit,
};
pub use crate::sim::edit::simfile_limits;

use std::time::Duration;

/// Seconds as these files have them: no more digits than the time has, at most nine.
pub fn seconds(time: Duration) -> String {
    let text = format!("{}.{:09}", time.as_secs(), time.subsec_nanos());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Byte offset of a place: line and column count from 1, columns in characters.
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
    fn offsets_and_seconds() {
        let text = "ab\n\u{e9}cd\n";
        assert_eq!(offset(text, 1, 1), Some(0));
        assert_eq!(offset(text, 2, 2), Some(5));
        assert_eq!(offset(text, 4, 1), None);
        assert_eq!(seconds(Duration::from_millis(1500)), "1.5");
        assert_eq!(seconds(Duration::from_secs(20)), "20");
        assert_eq!(seconds(Duration::from_millis(10)), "0.01");
    }
}
