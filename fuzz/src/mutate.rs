//! Creates new inputs from old ones.

use crate::MAX_INPUT_BYTES;

/// A small random number generator (splitmix64). The seed determines all numbers, so a run can be
/// repeated.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    /// A uniformly distributed number.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    /// A number below `end`, or 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.word() % end.max(1) as u64) as usize
    }

    fn choose<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }

    /// A range within `length`, usually of at most 16 elements.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let begin = self.below(length + 1);
        let max_length = if self.below(4) == 0 { length } else { 16 };
        let end = begin + self.below((length - begin).min(max_length) + 1);
        begin..end
    }
}

/// Numbers near common limits of number types, and special numbers.
const BOUNDARY_NUMBERS: [&str; 16] = [
    "0",
    "-1",
    "1",
    "255",
    "256",
    "1023",
    "1024",
    "65536",
    "2147483648",
    "4294967295",
    "18446744073709551615",
    "99999999999999999999",
    "1e999",
    "nan",
    "0.1",
    "inf",
];

/// Copies one of `inputs` and changes the copy 1, 2, 4 or 8 times.
pub fn mutate(random: &mut Random, inputs: &[Vec<u8>], dictionary: &[&str]) -> Vec<u8> {
    let mut bytes = random.choose(inputs).cloned().unwrap_or_default();
    for _ in 0..1 << random.below(4) {
        change(random, &mut bytes, inputs, dictionary);
    }
    bytes.truncate(MAX_INPUT_BYTES);
    bytes
}

/// Changes `bytes` once, in one of twelve ways.
fn change(random: &mut Random, bytes: &mut Vec<u8>, inputs: &[Vec<u8>], dictionary: &[&str]) {
    let at = random.below(bytes.len() + 1);
    let part = random.range(bytes.len());
    match random.below(12) {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = random.word() as u8;
            }
        }
        2 => bytes.insert(at, random.word() as u8),
        3 => drop(bytes.drain(part)),
        4 => {
            let copy = bytes[part].to_vec();
            insert(bytes, at, &copy);
        }
        // Repetition shows costs that grow with the length of the input.
        5 => {
            let copy = bytes[part].repeat(1 + random.below(64));
            insert(bytes, at, &copy);
        }
        6 | 7 => {
            let word = random.choose(dictionary).copied().unwrap_or_default();
            insert(bytes, at, word.as_bytes());
        }
        8 => {
            let number = BOUNDARY_NUMBERS[random.below(BOUNDARY_NUMBERS.len())];
            // Usually replace the next number in the input, if the input has one.
            let digit = |byte: &u8| byte.is_ascii_digit();
            match bytes.iter().skip(at).position(digit) {
                Some(offset) if random.below(4) > 0 => {
                    let begin = at + offset;
                    let end = begin + bytes[begin..].iter().take_while(|byte| digit(byte)).count();
                    bytes.splice(begin..end, number.bytes());
                }
                _ => insert(bytes, at, number.as_bytes()),
            }
        }
        9 => {
            if let Some(other) = random.choose(inputs) {
                let range = random.range(other.len());
                insert(bytes, at, &other[range]);
            }
        }
        10 => {
            if let Some(other) = random.choose(inputs) {
                bytes.truncate(at);
                bytes.extend_from_slice(&other[random.below(other.len() + 1)..]);
            }
        }
        // Remove a line, copy a line, or swap two lines.
        _ => {
            let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
            let from = random.below(lines.len());
            let to = random.below(lines.len());
            if !lines.is_empty() {
                match random.below(3) {
                    0 => drop(lines.remove(from)),
                    1 => lines.insert(to, lines[from]),
                    _ => lines.swap(from, to),
                }
            }
            *bytes = lines.concat();
        }
    }
}

/// Inserts `inserted` unless the result is much too long.
fn insert(bytes: &mut Vec<u8>, at: usize, inserted: &[u8]) {
    if bytes.len() + inserted.len() <= 2 * MAX_INPUT_BYTES {
        bytes.splice(at..at, inserted.iter().copied());
    }
}
