//! Makes the messages of a compiler safe to show.

/// Number of bytes that are kept of a compiler's messages. A note about omitted bytes may follow
/// them.
pub const MAX_MESSAGE_BYTES: usize = 16 * 1024;

/// Returns the messages as text. Control characters other than line breaks and tabs could control a
/// terminal, and characters that change the writing direction could hide text. Both are escaped.
///
/// `total` is the length of all messages in bytes. If it exceeds the number of kept bytes, the last
/// line states how many bytes are omitted.
pub(super) fn printable(bytes: &[u8], total: u64) -> String {
    let kept = &bytes[..bytes.len().min(MAX_MESSAGE_BYTES)];
    let mut text = String::with_capacity(kept.len());
    let cut = total > kept.len() as u64;
    // The end of the kept bytes may split a character.
    let end = match std::str::from_utf8(kept) {
        Err(error) if cut && error.error_len().is_none() => error.valid_up_to(),
        _ => kept.len(),
    };
    let decoded = String::from_utf8_lossy(&kept[..end]);
    let mut characters = decoded.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\n' | '\t' => text.push(c),
            '\r' if characters.peek() == Some(&'\n') => {}
            c if c.is_control() || changes_direction(c) => text.extend(c.escape_unicode()),
            c => text.push(c),
        }
    }
    if cut {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!(
            "[{} more bytes are not shown]\n",
            total - end as u64
        ));
    }
    text
}

/// Whether the character is one of Unicode's bidirectional controls, or a separator that some
/// programs treat as a line break.
fn changes_direction(c: char) -> bool {
    matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printable_escapes_control_characters() {
        let of = |bytes: &[u8]| printable(bytes, bytes.len() as u64);
        assert_eq!(of("a\tb\r\nc\u{e4}\n".as_bytes()), "a\tb\nc\u{e4}\n");
        assert_eq!(of(b"\x1b[31m\r\0\x7f"), "\\u{1b}[31m\\u{d}\\u{0}\\u{7f}");
        assert_eq!(of("\u{202e}x\u{9b}".as_bytes()), "\\u{202e}x\\u{9b}");
        assert_eq!(of(b"a\xffb"), "a\u{fffd}b");
    }

    #[test]
    fn printable_counts_omitted_bytes() {
        let long = "\u{e4}".repeat(MAX_MESSAGE_BYTES);
        let text = printable(&long.as_bytes()[..MAX_MESSAGE_BYTES], long.len() as u64);
        let (kept, note) = text.trim_end().rsplit_once('\n').unwrap();
        assert_eq!(kept.len(), MAX_MESSAGE_BYTES);
        assert_eq!(
            note,
            format!("[{MAX_MESSAGE_BYTES} more bytes are not shown]")
        );
        // The last kept byte splits a character.
        let text = printable(
            &format!("x{long}").as_bytes()[..MAX_MESSAGE_BYTES],
            1 + long.len() as u64,
        );
        assert!(
            !text.contains('\u{fffd}')
                && text.contains(&format!("[{} more bytes", MAX_MESSAGE_BYTES + 2)),
            "{}",
            &text[text.len() - 60..]
        );
    }
}
