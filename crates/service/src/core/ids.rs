//! Ids that name their executor.
//!
//! In a fleet, any front end must find the executor that has made an id. So each random id begins
//! with the executor's *tag*, the beginning of a digest. Without a fleet, all of an id is random.

use sha2::{Digest, Sha256};
use std::sync::OnceLock;

/// A digest of an executor's name. Different names may have equal tags; then a request may reach
/// the wrong executor, which does not know the id.
pub type Tag = [u8; 2];

/// The tag of this process. It is set before the first id is made.
static OWN: OnceLock<Tag> = OnceLock::new();

/// The tag of an executor.
pub fn tag(name: &str) -> Tag {
    let digest = Sha256::digest(name);
    [digest[0], digest[1]]
}

/// A number that decides which executor receives requests with a key (rendezvous hashing).
pub fn weight(name: &str, key: &[u8]) -> u64 {
    let mut hash = Sha256::new();
    hash.update(name);
    hash.update([0]);
    hash.update(key);
    let digest = hash.finalize();
    digest
        .iter()
        .take(8)
        .fold(0, |all, byte| all << 8 | u64::from(*byte))
}

/// Lets the ids of this process name an executor.
pub fn set_executor(name: &str) {
    // A second executor in one process would be a bug, and its ids would only not be found.
    let _ = OWN.set(tag(name));
}

/// Writes the tag, if there is one, to the beginning of a random id.
pub fn stamp(id: &mut [u8]) {
    if let (Some(tag), Some(begin)) = (OWN.get(), id.first_chunk_mut()) {
        *begin = *tag;
    }
}

/// The tag that an id may have: a token of Judge0, or the id of a run or judging.
pub fn tag_of(id: &str) -> Option<Tag> {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_token = || id.is_ascii() && id.len() == 36 && id.as_bytes()[8] == b'-';
    let hex = match id.strip_prefix("r_").or_else(|| id.strip_prefix("j_")) {
        Some(hex) => hex,
        None if is_token() => &id[..8],
        None => return None,
    };
    let number = u16::from_str_radix(hex.get(..4)?, 16).ok();
    is_hex(hex).then_some(number?.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_found_in_the_ids_of_all_interfaces() {
        for id in [
            "r_ab1f00112233445566778899aabbccdd",
            "j_ab1f00112233445566778899aabbccdd",
            "ab1f0011-2233-4455-8677-8899aabbccdd",
        ] {
            assert_eq!(tag_of(id), Some([0xab, 0x1f]), "{id}");
        }
        for id in ["", "r_", "r_xyz1", "r_ab1fx", "submissions", "é"] {
            assert_eq!(tag_of(id), None, "{id}");
        }
    }
}
