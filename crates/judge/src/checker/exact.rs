//! A checker that compares files byte by byte.

use super::excerpt::show;
use std::io::{self, BufRead};

/// Compares all bytes and describes the first difference.
///
/// # Errors
/// The output or the answer cannot be read.
pub fn compare(mut output: impl BufRead, mut answer: impl BufRead) -> io::Result<Option<String>> {
    let (mut byte, mut line) = (1u64, 1u64);
    loop {
        let (read, expected) = (output.fill_buf()?, answer.fill_buf()?);
        let common = read.len().min(expected.len());
        if read[..common] == expected[..common] {
            if common == 0 {
                break;
            }
            line += read[..common].iter().filter(|byte| **byte == b'\n').count() as u64;
            byte += common as u64;
            output.consume(common);
            answer.consume(common);
            continue;
        }
        let same = read
            .iter()
            .zip(expected)
            .take_while(|(one, other)| one == other)
            .count();
        line += read[..same].iter().filter(|byte| **byte == b'\n').count() as u64;
        byte += same as u64;
        let (read, expected) = show(&read[same..], &expected[same..]);
        return Ok(Some(format!(
            "Byte {byte} (line {line}): read {read}, expected {expected}"
        )));
    }
    let (read, expected) = (output.fill_buf()?, answer.fill_buf()?);
    Ok(match (read, expected) {
        ([], []) => None,
        (read, []) => Some(format!(
            "Byte {byte} (line {line}): read {}, expected the end of the file",
            show(read, &[]).0
        )),
        (_, expected) => Some(format!(
            "Byte {byte} (line {line}): read the end of the file, expected {}",
            show(&[], expected).1
        )),
    })
}

#[cfg(test)]
mod tests {
    use super::compare;

    fn difference(output: &str, answer: &str) -> String {
        // The two readers have buffers of different lengths.
        let output = std::io::BufReader::with_capacity(3, output.as_bytes());
        compare(output, answer.as_bytes())
            .unwrap()
            .unwrap_or_default()
    }

    #[test]
    fn compare_reports_any_different_byte() {
        assert_eq!(difference("", ""), "");
        assert_eq!(difference("a\nbc\n", "a\nbc\n"), "");
        assert_eq!(
            difference("a\nbc\n", "a\nbc"),
            "Byte 5 (line 2): read '\\n', expected the end of the file"
        );
        assert_eq!(
            difference("a\nb", "a\nbc"),
            "Byte 4 (line 2): read the end of the file, expected 'c'"
        );
        assert_eq!(
            difference("a\nbd", "a\nbc"),
            "Byte 4 (line 2): read 'd', expected 'c'"
        );
    }
}
