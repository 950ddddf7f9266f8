//! Sim's default checker. It ignores white space at the ends of lines (isspace(3)) and empty lines
//! at the end of the file. Other white space counts.

use super::excerpt::show;
use std::io::{self, BufRead};

/// Compares line by line and describes the first difference. It keeps only one line of each in
/// memory.
///
/// # Errors
/// The output or the answer cannot be read.
pub fn compare(mut output: impl BufRead, mut answer: impl BufRead) -> io::Result<Option<String>> {
    let (mut read, mut expected) = (Vec::new(), Vec::new());
    let mut line = 0u64;
    loop {
        let (has_read, has_expected) = (
            next(&mut output, &mut read)?,
            next(&mut answer, &mut expected)?,
        );
        if !has_read && !has_expected {
            return Ok(None);
        }
        line += 1;
        if read == expected {
            continue;
        }
        let (read, expected) = show(&read, &expected);
        let read = if has_read { &read } else { "end of file" };
        let expected = if has_expected {
            &expected
        } else {
            "end of file"
        };
        return Ok(Some(format!(
            "Line {line}: read {read}, expected {expected}"
        )));
    }
}

/// Reads a line without its line break and the white space before it. Returns false and an empty
/// line at the end of the file.
fn next(from: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    if from.read_until(b'\n', line)? == 0 {
        return Ok(false);
    }
    let length = line
        .iter()
        .rposition(|byte| !matches!(byte, b'\t'..=b'\r' | b' '))
        .map_or(0, |last| last + 1);
    line.truncate(length);
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::compare;

    fn difference(output: &str, answer: &str) -> String {
        compare(output.as_bytes(), answer.as_bytes())
            .unwrap()
            .unwrap_or_default()
    }

    #[test]
    fn compare_ignores_space_at_ends_of_lines_and_final_empty_lines() {
        for (output, answer) in [
            ("", ""),
            ("", "\n \n"),
            ("a b", "a b\n"),
            ("a b  \nc\n\n  \n", "a b\nc"),
            ("a\n\nb\n", "a  \n  \nb"),
            ("\n\n", " "),
            ("1\n2\n", "1\r\n2\r\n"),
            ("a\t\x0b\x0c\nb \n\t\n", "a\nb"),
        ] {
            assert_eq!(difference(output, answer), "", "{output:?} {answer:?}");
            assert_eq!(difference(answer, output), "", "{answer:?} {output:?}");
        }
    }

    #[test]
    fn compare_reports_other_differences() {
        assert_eq!(
            difference("a\nb c\n", "a\nb  c\n"),
            "Line 2: read 'b c', expected 'b  c'"
        );
        assert_eq!(
            difference("a\n", "a\nb\n"),
            "Line 2: read end of file, expected 'b'"
        );
        assert_eq!(
            difference("a\n\n\nb", "a\n"),
            "Line 4: read 'b', expected end of file"
        );
        assert_eq!(
            difference("a\nb", "a\n\nb"),
            "Line 2: read 'b', expected ''"
        );
        assert_eq!(
            difference("a\tb\n", "a b\n"),
            "Line 1: read 'a\\tb', expected 'a b'"
        );
        assert_eq!(
            difference("a\x08\n", "a\n"),
            "Line 1: read 'a\\u{8}', expected 'a'"
        );
        assert_eq!(difference(" a", "a"), "Line 1: read ' a', expected 'a'");
        let long = "x".repeat(1000);
        assert_eq!(
            difference(&format!("{long}y{long}"), &format!("{long}z")),
            format!(
                "Line 1: read '...{0}y{0}{0}{1}...', expected '...{0}z'",
                "x".repeat(12),
                "x".repeat(11)
            )
        );
    }
}
