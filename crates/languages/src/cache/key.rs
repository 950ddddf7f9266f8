//! The key of a cache entry: a digest of everything that the program depends on.

use sha2::{Digest, Sha256};

/// Hexadecimal digits of a key.
const KEY_DIGITS: usize = 64;

/// The name of a cache entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key(String);

impl Key {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a file name is the name of an entry.
    pub(super) fn is_name(name: &[u8]) -> bool {
        name.len() == KEY_DIGITS && name.iter().all(u8::is_ascii_hexdigit)
    }
}

/// Computes the digest.
pub(crate) struct KeyBuilder(Sha256);

impl KeyBuilder {
    pub(crate) fn new() -> KeyBuilder {
        KeyBuilder(Sha256::new())
            .with(env!("CARGO_PKG_VERSION"))
            .with(std::env::consts::ARCH)
    }

    /// Adds a part. Its length is digested as well, so that two different lists of parts never
    /// produce the same bytes.
    #[must_use]
    pub(crate) fn with(mut self, part: impl AsRef<[u8]>) -> KeyBuilder {
        let part = part.as_ref();
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
        self
    }

    pub(crate) fn key(self) -> Key {
        Key(self
            .0
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_depends_on_boundaries_between_parts() {
        assert_ne!(
            KeyBuilder::new().with("ab").with("c").key(),
            KeyBuilder::new().with("a").with("bc").key()
        );
        let key = KeyBuilder::new().key();
        assert!(Key::is_name(key.as_str().as_bytes()));
    }
}
