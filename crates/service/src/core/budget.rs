//! The bytes of output that one request may make the service keep.
//!
//! A request is admitted with a [plan](super::plan) of the memory that it may need. Its [`Budget`]
//! ensures that outputs do not exceed the plan.

use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes of output that a request may still keep. Clones share one budget.
#[derive(Debug, Clone)]
pub struct Budget(Arc<AtomicU64>);

impl Budget {
    /// A budget of this size.
    pub fn new(bytes: u64) -> Budget {
        Budget(Arc::new(AtomicU64::new(bytes)))
    }

    /// Takes up to this number of bytes. Returns how many there were.
    pub fn take(&self, wanted: u64) -> u64 {
        let mut granted = 0;
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                granted = left.min(wanted);
                Some(left - granted)
            });
        granted
    }

    /// Takes this number of bytes, if there are as many. Returns whether there were.
    pub fn take_all(&self, wanted: u64) -> bool {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(wanted)
            })
            .is_ok()
    }

    /// The bytes that are left.
    pub fn left(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The most that a byte of output may need in a JSON string.
pub const MAX_RENDERED_BYTES: u64 = 6;

/// The bytes that a byte of output may need in a JSON string. Valid UTF-8 is copied. In other
/// output, bytes that are not ASCII become Base64, or characters of three bytes.
fn rendered_bytes(byte: u8, is_text: bool) -> u64 {
    match byte {
        b'"' | b'\\' | b'\n' | b'\t' | b'\r' | 0x08 | 0x0c => 2,
        0..0x20 => 6,
        0x80.. if !is_text => 3,
        _ => 1,
    }
}

/// The part of an output that a budget allows. The part does not end within a character.
pub fn rendered_within(bytes: &Bytes, budget: &Budget) -> Bytes {
    let is_text = std::str::from_utf8(bytes).is_ok();
    let rendered_bytes = |byte: &u8| rendered_bytes(*byte, is_text);
    let needed = bytes.iter().map(rendered_bytes).sum();
    if budget.take_all(needed) {
        return bytes.clone();
    }
    let mut left = budget.take(needed);
    let mut length = 0_usize;
    for byte in bytes {
        let Some(rest) = left.checked_sub(rendered_bytes(byte)) else {
            break;
        };
        left = rest;
        length += 1;
    }
    let starts_character = |at: usize| bytes.get(at).is_none_or(|byte| byte & 0xc0 != 0x80);
    let length = (length.saturating_sub(3)..=length)
        .rev()
        .find(|at| starts_character(*at))
        .unwrap_or(length);
    // A slice would keep all of the bytes in memory.
    Bytes::copy_from_slice(&bytes[..length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_ends_and_is_shared_by_its_clones() {
        let budget = Budget::new(10);
        let other = budget.clone();
        assert_eq!((budget.take(4), other.take(4), budget.take(4)), (4, 4, 2));
        assert_eq!((other.take(1), other.left()), (0, 0));
        let budget = Budget::new(10);
        assert!(!budget.take_all(11) && budget.take_all(10) && budget.take_all(0));
    }

    #[test]
    fn output_is_cut_at_a_character_and_counted_as_it_is_rendered() {
        let cut_bytes = |bytes: &'static [u8], budget| {
            let budget = Budget::new(budget);
            (rendered_within(&bytes.into(), &budget), budget.left())
        };
        let cut = |text: &'static str, budget| cut_bytes(text.as_bytes(), budget);
        assert_eq!(cut("hello", 9), ("hello".into(), 4));
        assert_eq!(cut("hello", 3), ("hel".into(), 0));
        assert_eq!(cut("\u{1}\u{1}", 11), ("\u{1}".into(), 0));
        assert_eq!(cut("a\u{e4}", 2), ("a".into(), 0));
        assert_eq!(cut("a\u{e4}", 3), ("a\u{e4}".into(), 0));
        assert_eq!(cut_bytes(b"a\xff", 3), ("a".into(), 0));
        assert_eq!(cut_bytes(b"a\xff", 4), (b"a\xff"[..].into(), 0));
        assert_eq!(cut("a", 0), ("".into(), 0));
        for byte in 0..0x80_u8 {
            let text = serde_json::to_string(&char::from(byte)).unwrap();
            assert_eq!(rendered_bytes(byte, true), text.len() as u64 - 2, "{byte}");
        }
    }
}
