//! SHA-256 digests of packages.

use serde::{Deserialize, Serialize};
use sha2::Digest as _;
use sha2::Sha256;
use std::fmt::{self, Display};

/// The number of hexadecimal digits of a digest.
const DIGITS: usize = 64;

/// A digest as 64 lower-case hexadecimal digits, so it is safe as the name of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

/// A text that is no digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the digest does not have 64 lower-case hexadecimal digits")]
pub struct DigestError;

impl Digest {
    /// The digest of bytes.
    pub fn of(content: &[u8]) -> Digest {
        let mut hasher = Hasher::default();
        hasher.add(content);
        hasher.digest()
    }

    /// The hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;

    fn try_from(text: String) -> Result<Digest, DigestError> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        match text.len() == DIGITS && text.bytes().all(is_digit) {
            true => Ok(Digest(text)),
            false => Err(DigestError),
        }
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.0
    }
}

impl Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Computes the digest of a file that arrives in parts.
#[derive(Debug, Clone, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Adds the next part.
    pub fn add(&mut self, part: &[u8]) {
        self.0.update(part);
    }

    /// The digest of all parts.
    pub fn digest(self) -> Digest {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let digit = |value: u8| char::from(HEX[usize::from(value)]);
        let bytes = self.0.finalize();
        let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        Digest(digits.map(digit).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_of_parts_is_that_of_the_whole() {
        let mut hasher = Hasher::default();
        hasher.add(b"ab");
        hasher.add(b"c");
        let digest = hasher.digest();
        assert_eq!(digest, Digest::of(b"abc"));
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest.as_str(), expected);
    }

    #[test]
    fn digest_with_other_characters_is_rejected() {
        let right = Digest::of(b"").to_string();
        assert_eq!(Digest::try_from(right.clone()), Ok(Digest::of(b"")));
        for wrong in [
            String::new(),
            right.to_uppercase(),
            format!("{right}0"),
            format!("../{}", &right[3..]),
        ] {
            assert_eq!(Digest::try_from(wrong.clone()), Err(DigestError), "{wrong}");
            let json = serde_json::to_string(&wrong).unwrap();
            assert!(serde_json::from_str::<Digest>(&json).is_err(), "{wrong}");
        }
    }
}
