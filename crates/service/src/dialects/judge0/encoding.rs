//! The form of values in documents: Base64 in lines, decimals as strings, dates and tokens.

use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use rustix::io::Errno;
use std::time::SystemTime;

/// Characters of a line of Base64, as Ruby's `encode64` writes them.
const LINE_CHARACTERS: usize = 60;

/// Accepts what clients send: Base64 without padding, and with stray bits at the end.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// Base64 with a newline after every 60 characters and at the end.
pub fn encode(bytes: &[u8]) -> String {
    let plain = STANDARD.encode(bytes);
    let mut lines = String::with_capacity(plain.len() + plain.len() / LINE_CHARACTERS + 1);
    let mut rest = plain.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(LINE_CHARACTERS));
        lines.push_str(line);
        lines.push('\n');
        rest = more;
    }
    lines
}

/// Decodes Base64 like Ruby's `decode64`, which skips other characters and stops at the first `=`.
pub fn decode(text: &str) -> Vec<u8> {
    let mut digits: Vec<u8> = text
        .bytes()
        .take_while(|byte| *byte != b'=')
        .filter(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
        .collect();
    if digits.len() % 4 == 1 {
        // Six bits do not make a byte.
        digits.pop();
    }
    LENIENT.decode(&digits).unwrap_or_default()
}

/// Seconds with one to three decimal places, such as `5.0` and `0.002`.
pub fn seconds(value: f64) -> String {
    let mut text = format!("{value:.3}");
    while text.ends_with('0') && !text.ends_with(".0") {
        text.pop();
    }
    text
}

/// A date such as `2024-12-09T17:22:55.662Z`.
pub fn date(time: SystemTime) -> String {
    humantime::format_rfc3339_millis(time).to_string()
}

/// A random UUID of version 4.
///
/// # Errors
/// The kernel cannot provide random bytes.
pub fn new_token() -> Result<String, Errno> {
    let mut bytes = [0_u8; 16];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    crate::core::ids::stamp(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits = crate::hex::hex(&bytes);
    Ok([
        &digits[..8],
        &digits[8..12],
        &digits[12..16],
        &digits[16..20],
        &digits[20..],
    ]
    .join("-"))
}

/// Splits a command line into words as a shell does: white space separates words, and quotes and
/// backslashes protect it. Nothing is expanded.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some('\''), _) => word.get_or_insert_default().push(character),
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (_, '\\') => word.get_or_insert_default().extend(characters.next()),
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

/// Splits options into words, without the characters that Judge0 removes.
pub fn safe_words(options: &str) -> Vec<String> {
    let safe: String = options
        .chars()
        .filter(|character| !"$&;<>|`\0".contains(*character))
        .collect();
    words(&safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_has_lines_of_60_characters_and_a_final_newline() {
        assert_eq!(encode(b""), "");
        assert_eq!(encode(b"hello, Judge0\n"), "aGVsbG8sIEp1ZGdlMAo=\n");
        let lines = encode(&[b'a'; 46]);
        assert_eq!(lines.find('\n'), Some(60));
        assert!(lines.ends_with("YQ==\n"));
        assert_eq!(decode(&lines), [b'a'; 46]);
    }

    #[test]
    fn decoding_skips_foreign_characters_and_needs_no_padding() {
        assert_eq!(decode("aGV s\r\nbG8"), b"hello");
        assert_eq!(decode("aGVsbG8=ignored"), b"hello");
        assert_eq!(decode("a"), b"");
        assert_eq!(decode("\u{e4}"), b"");
    }

    #[test]
    fn seconds_have_one_to_three_decimals() {
        assert_eq!(seconds(5.0), "5.0");
        assert_eq!(seconds(0.002), "0.002");
        assert_eq!(seconds(1.25), "1.25");
        assert_eq!(seconds(0.000_4), "0.0");
    }

    #[test]
    fn tokens_are_uuids_of_version_4() {
        let token = new_token().unwrap();
        assert_eq!(token.len(), 36);
        assert_eq!(token.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&token.as_bytes()[19]));
        assert_ne!(token, new_token().unwrap());
    }

    #[test]
    fn words_are_split_with_quotes_and_without_dangerous_characters() {
        assert_eq!(
            words(r#"a "b c" 'd"e' f\ g"" ''"#),
            ["a", "b c", "d\"e", "f g", ""]
        );
        assert_eq!(
            safe_words("-O2 $(id) `id`; rm"),
            ["-O2", "(id)", "id", "rm"]
        );
        assert!(words("  ").is_empty());
    }
}
