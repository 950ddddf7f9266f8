//! Decodes output that arrives in pieces.

/// Decodes UTF-8 whose characters may be split between pieces. Invalid bytes become U+FFFD.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The beginning of a character.
    pending: Vec<u8>,
}

impl Decoder {
    /// Decodes a piece, except for an incomplete character at its end.
    pub fn decode(&mut self, piece: &[u8]) -> String {
        let mut bytes = std::mem::take(&mut self.pending);
        bytes.extend_from_slice(piece);
        let mut text = String::with_capacity(bytes.len());
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            let invalid = chunk.invalid();
            let is_last = std::ptr::eq(
                invalid.as_ptr_range().end,
                bytes.as_slice().as_ptr_range().end,
            );
            if is_last && is_incomplete(invalid) {
                self.pending = invalid.to_vec();
            } else if !invalid.is_empty() {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        text
    }

    /// Returns the text of the bytes that remain after the last piece.
    pub fn finish(&mut self) -> String {
        let pending = std::mem::take(&mut self.pending);
        String::from_utf8_lossy(&pending).into_owned()
    }
}

/// Whether more bytes could complete these to a character.
fn is_incomplete(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes)
        .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_characters_are_joined_and_invalid_bytes_replaced() {
        let text = "a\u{e9}\u{20ac}\u{1f600}b";
        for split in 0..=text.len() {
            let mut decoder = Decoder::default();
            let (one, two) = text.as_bytes().split_at(split);
            let joined = [decoder.decode(one), decoder.decode(two), decoder.finish()].concat();
            assert_eq!(joined, text, "split at {split}");
        }
        let mut decoder = Decoder::default();
        assert_eq!(decoder.decode(b"\xff\xc3"), "\u{fffd}");
        assert_eq!(decoder.decode(b"("), "\u{fffd}(");
        assert_eq!(decoder.decode(b"\xe2\x82"), "");
        assert_eq!(decoder.finish(), "\u{fffd}");
    }
}
