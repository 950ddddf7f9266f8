//! Sealed messages, which only the processes of a site can write and read.
//!
//! Each role that can connect to a database of PostgreSQL can listen to its messages and send some,
//! although it may read no table. So messages are encrypted with a key that is stored in a table.
//! Each sender has a key of its own, derived from that one and its name, and numbers its messages;
//! the number is the nonce (RFC 8439, section 2.8), and receivers accept no number twice.

use crate::core::token::Token;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::hmac;
use std::collections::HashMap;

/// The maximum length of a message before it is sealed, in bytes, so that a sealed one has fewer
/// than 8,000.
pub const MAX_BYTES: usize = 5_800;
/// The number of senders that are remembered. A process that is started again is a new sender.
const MAX_SENDERS: usize = 1024;

/// The key of a site.
#[derive(Clone)]
pub struct Key(hmac::Key);

/// Seals the messages of a process.
pub struct Sealer {
    sender: String,
    key: LessSafeKey,
    number: u64,
}

/// Opens the messages of other processes.
pub struct Opener {
    key: Key,
    own: String,
    /// The number of the last message of each sender.
    last: HashMap<String, u64>,
}

/// Why a message is not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// This process has sent it.
    #[error("the message is one of this process")]
    Own,
    /// It was received before.
    #[error("the message was received before")]
    Repeated,
    /// No process of this site has sent it.
    #[error("no process of this site has sent the message")]
    Forged,
    /// The message cannot be encrypted.
    #[error("the message cannot be encrypted")]
    Encrypt,
}

impl Key {
    /// The key with these digits, which are stored in a table.
    pub fn new(digits: &str) -> Key {
        Key(hmac::Key::new(hmac::HMAC_SHA256, digits.as_bytes()))
    }

    /// The token of the link for the first administrator, which is the same in all processes.
    pub fn setup(&self) -> Token {
        // Names of senders are hexadecimal digits.
        let derived = hmac::sign(&self.0, b"link for the first administrator");
        let mut secret = [0; 32];
        secret.copy_from_slice(derived.as_ref());
        Token::of_secret(secret)
    }

    fn of_sender(&self, sender: &str) -> Result<LessSafeKey, SealError> {
        let derived = hmac::sign(&self.0, sender.as_bytes());
        let key = UnboundKey::new(&CHACHA20_POLY1305, derived.as_ref());
        key.map(LessSafeKey::new).map_err(|_| SealError::Encrypt)
    }
}

/// The nonce of a message.
fn nonce(number: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(bytes)
}

/// What seals the messages of this process, and what opens those of others.
///
/// # Errors
/// The key has a wrong length.
pub fn pair(key: &Key) -> Result<(Sealer, Opener), SealError> {
    let sender = Token::random().hex();
    let sealer = Sealer {
        key: key.of_sender(&sender)?,
        sender: sender.clone(),
        number: 0,
    };
    let opener = Opener {
        key: key.clone(),
        own: sender,
        last: HashMap::new(),
    };
    Ok((sealer, opener))
}

impl Sealer {
    /// Seals a message.
    ///
    /// # Errors
    /// It is too long.
    pub fn seal(&mut self, message: &str) -> Result<String, SealError> {
        self.number += 1;
        let mut bytes = message.as_bytes().to_vec();
        let sealed =
            self.key
                .seal_in_place_append_tag(nonce(self.number), Aad::empty(), &mut bytes);
        sealed.map_err(|_| SealError::Encrypt)?;
        let (sender, number) = (&self.sender, self.number);
        Ok(format!(
            "{sender}.{number}.{}",
            STANDARD_NO_PAD.encode(bytes)
        ))
    }
}

impl Opener {
    /// Opens a message.
    ///
    /// # Errors
    /// It is no new message of another process.
    pub fn open(&mut self, message: &str) -> Result<String, SealError> {
        let mut parts = message.splitn(3, '.');
        let (Some(sender), Some(number), Some(text)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(SealError::Forged);
        };
        if sender == self.own {
            return Err(SealError::Own);
        }
        let number: u64 = number.parse().map_err(|_| SealError::Forged)?;
        let mut bytes = STANDARD_NO_PAD
            .decode(text)
            .map_err(|_| SealError::Forged)?;
        let key = self.key.of_sender(sender)?;
        let opened = key.open_in_place(nonce(number), Aad::empty(), &mut bytes);
        let opened = opened.map_err(|_| SealError::Forged)?;
        let opened = std::str::from_utf8(opened).map_err(|_| SealError::Forged)?;
        if self.last.get(sender).is_some_and(|last| number <= *last) {
            return Err(SealError::Repeated);
        }
        if self.last.len() >= MAX_SENDERS && !self.last.contains_key(sender) {
            self.last.clear();
        }
        self.last.insert(sender.to_owned(), number);
        Ok(opened.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_is_opened_once_and_only_with_the_key() {
        let key = Key::new("secret");
        let (mut sealer, mut own) = pair(&key).unwrap();
        let (_, mut other) = pair(&key).unwrap();
        let (_, mut stranger) = pair(&Key::new("guess")).unwrap();
        let first = sealer.seal("[1]").unwrap();
        let second = sealer.seal("[1]").unwrap();
        assert!(!first.contains("[1]"));
        assert_eq!(own.open(&first), Err(SealError::Own));
        assert_eq!(stranger.open(&first), Err(SealError::Forged));
        assert_eq!(other.open(&first), Ok("[1]".to_owned()));
        assert_eq!(other.open(&first), Err(SealError::Repeated));
        assert_eq!(other.open(&second), Ok("[1]".to_owned()));
        assert_eq!(other.open(&first), Err(SealError::Repeated));
        // Neither the number nor the sender can be changed.
        let third = sealer.seal("[1]").unwrap();
        for forged in [
            third.replacen(".3.", ".4.", 1),
            third.replacen(char::is_alphanumeric, "x", 1),
            third.replacen(".3.", ".x.", 1),
            "[1]".to_owned(),
        ] {
            assert_eq!(other.open(&forged), Err(SealError::Forged), "{forged}");
        }
        assert!(other.open(&third).is_ok());
    }

    #[test]
    fn longest_message_fits() {
        let (mut sealer, _) = pair(&Key::new("secret")).unwrap();
        sealer.number = u64::MAX - 1;
        assert!(sealer.seal(&"x".repeat(MAX_BYTES)).unwrap().len() < 8_000);
    }
}
