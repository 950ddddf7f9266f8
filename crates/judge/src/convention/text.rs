//! Untrusted text, made safe to show.

/// Beginning and end of a failed program's standard error, made printable.
///
/// The beginning of a traceback names the program, and its end names the error.
pub(crate) fn stderr_excerpt(stderr: &[u8]) -> String {
    const BEGIN_BYTES: usize = 200;
    const END_BYTES: usize = 600;
    let text = printable(stderr, stderr.len());
    if text.len() <= BEGIN_BYTES + END_BYTES {
        return text;
    }
    let begin = (0..=BEGIN_BYTES)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    let end = (text.len() - END_BYTES..)
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(text.len());
    format!(
        "{} [...] {}",
        text[..begin].trim_end(),
        text[end..].trim_start()
    )
}

/// Makes text safe to show: valid UTF-8 of at most `limit` bytes, without trailing white space.
///
/// Control characters other than tabs and newlines are replaced, as are characters that change the
/// writing direction.
pub(crate) fn printable(bytes: &[u8], limit: usize) -> String {
    let mut text = String::new();
    // Every character has at least one byte, so these bytes suffice. `bytes` may be megabytes long.
    for character in String::from_utf8_lossy(&bytes[..bytes.len().min(limit + 4)]).chars() {
        let turns = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let shown = match character {
            '\r' => continue,
            '\n' | '\t' => character,
            _ if character.is_control() || turns => char::REPLACEMENT_CHARACTER,
            _ => character,
        };
        if text.len() + shown.len_utf8() > limit {
            break;
        }
        text.push(shown);
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stderr_excerpt_of_long_text_keeps_beginning_and_end() {
        let traceback = |lines: &str| format!("Traceback\n{lines}ValueError: żółw\n");
        assert_eq!(stderr_excerpt(b""), "");
        let short = traceback("  line 1\n");
        assert_eq!(stderr_excerpt(short.as_bytes()), short.trim_end());
        for fill in 0..4 {
            let long =
                stderr_excerpt(traceback(&("ż".repeat(1000) + &"y".repeat(fill))).as_bytes());
            assert!(
                long.starts_with("Traceback\nż") && long.ends_with("żółw"),
                "{long}"
            );
            assert!(long.contains(" [...] ") && long.len() < 900, "{long}");
        }
    }

    #[test]
    fn printable_replaces_strange_bytes_and_cuts_between_characters() {
        assert_eq!(
            printable(b"a\x1b[31mb\0\r\n\n", 100),
            "a\u{fffd}[31mb\u{fffd}"
        );
        assert_eq!(printable("żółw".as_bytes(), 4), "żó");
        assert_eq!(printable("żółw".as_bytes(), 5), "żó");
        assert_eq!(printable(&[0xff; 10], 8), "\u{fffd}\u{fffd}");
        assert_eq!(printable("a\u{202e}b".as_bytes(), 8), "a\u{fffd}b");
        assert_eq!(printable(b"", 0), "");
    }
}
