//! Secrets that are sent to a browser once and stored only as digests.

use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest, Sha256};

/// A random number of 256 bits.
#[derive(Clone, PartialEq, Eq)]
pub struct Token([u8; 32]);

impl Token {
    /// A new token from the kernel's random numbers.
    ///
    /// # Panics
    /// The kernel provides no random numbers, without which no secret can be created.
    pub fn random() -> Token {
        let mut bytes = [0; 32];
        let mut filled = 0;
        while filled < bytes.len() {
            match getrandom(&mut bytes[filled..], GetRandomFlags::empty()) {
                Ok(read) => filled += read,
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => panic!("the kernel has no random numbers: {errno}"),
            }
        }
        Token(bytes)
    }

    /// The token of a secret number.
    pub fn of_secret(secret: [u8; 32]) -> Token {
        Token(secret)
    }

    /// The token as 64 hexadecimal digits.
    pub fn hex(&self) -> String {
        hex(&self.0)
    }

    /// Reads 64 hexadecimal digits.
    pub fn of_hex(text: &str) -> Option<Token> {
        let digits = text.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16);
            *byte = u8::try_from(digit(0)? << 4 | digit(1)?).ok()?;
        }
        Some(Token(bytes))
    }

    /// The random bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The digest, which is stored.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.0).into()
    }
}

/// A new password that is easy to read and to type: 15 letters and digits, 75 bits.
pub fn readable_password() -> String {
    // Without letters and digits that look alike.
    const SYMBOLS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let Token(bytes) = Token::random();
    let symbols: Vec<char> = bytes[..15]
        .iter()
        .map(|byte| char::from(SYMBOLS[usize::from(byte % 32)]))
        .collect();
    let groups: Vec<String> = symbols
        .chunks(5)
        .map(|group| group.iter().collect())
        .collect();
    groups.join("-")
}

/// The entropy of [`pupil_password`].
pub const PUPIL_BITS: usize = 6 * SYLLABLES;
const SYLLABLES: usize = 8;

/// A new password that a child can read from paper and type: four groups of two syllables. It has
/// [`PUPIL_BITS`], which are enough because failed sign-ins are bounded.
pub fn pupil_password() -> String {
    // Without letters that look alike, or that keyboards have at different places.
    const CONSONANTS: &[u8; 16] = b"bcdfghjkmnprstvw";
    const VOWELS: &[u8; 4] = b"aeou";
    let Token(bytes) = Token::random();
    let mut password = String::new();
    for (at, byte) in bytes[..SYLLABLES].iter().enumerate() {
        if at > 0 && at % 2 == 0 {
            password.push('-');
        }
        password.push(char::from(CONSONANTS[usize::from(byte % 16)]));
        password.push(char::from(VOWELS[usize::from(byte / 16 % 4)]));
    }
    password
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn token_survives_its_text_and_differs_from_others() {
        let token = Token::random();
        assert!(Token::of_hex(&token.hex()) == Some(token.clone()));
        assert!(Token::random() != token);
        assert_ne!(hex(&token.digest()), token.hex());
    }

    #[test]
    fn generated_passwords_are_accepted_and_differ() {
        let password = readable_password();
        assert_eq!(password.len(), 17);
        assert!(crate::core::account::check_password(&password).is_ok());
        assert_ne!(password, readable_password());
    }

    #[test]
    fn passwords_of_pupils_have_syllables() {
        let password = pupil_password();
        assert!(crate::core::account::check_password(&password).is_ok());
        assert_ne!(password, pupil_password());
        let groups: Vec<&str> = password.split('-').collect();
        assert_eq!(groups.len(), 4, "{password}");
        let many: HashSet<String> = (0..4000)
            .flat_map(|_| {
                let password = pupil_password().replace('-', "");
                let syllables = password.as_bytes().chunks(2);
                let syllables = syllables.map(|it| String::from_utf8_lossy(it).into_owned());
                syllables.collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(many.len(), 1 << (PUPIL_BITS / SYLLABLES), "{many:?}");
    }

    #[test]
    fn malformed_text_is_no_token() {
        let text = Token::random().hex();
        assert!(Token::of_hex(&text[1..]).is_none());
        assert!(Token::of_hex(&text.replace(&text[..1], "g")).is_none());
        assert!(Token::of_hex(&"ü".repeat(32)).is_none());
    }
}
