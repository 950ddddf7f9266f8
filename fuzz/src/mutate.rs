//! New inputs from old ones.

use crate::LONGEST;

/// A small random number generator (splitmix64): a run can be repeated by its seed.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    /// Any number.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.word() % end.max(1) as u64) as usize
    }

    fn choose<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }

    /// A part of something of this length; mostly a short one.
    fn part(&mut self, length: usize) -> std::ops::Range<usize> {
        let begin = self.below(length + 1);
        let most = if self.below(4) == 0 { length } else { 16 };
        let end = begin + self.below((length - begin).min(most) + 1);
        begin..end
    }
}

/// Numbers at which something changes.
const NUMBERS: [&str; 16] = [
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

/// Changes a copy of one of `inputs`, once or some times.
pub fn mutate(random: &mut Random, inputs: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
    let mut bytes = random.choose(inputs).cloned().unwrap_or_default();
    for _ in 0..1 << random.below(4) {
        change(random, &mut bytes, inputs, words);
    }
    bytes.truncate(LONGEST);
    bytes
}

fn change(random: &mut Random, bytes: &mut Vec<u8>, inputs: &[Vec<u8>], words: &[&str]) {
    let at = random.below(bytes.len() + 1);
    let part = random.part(bytes.len());
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
        // Over and over: what grows with its input shows.
        5 => {
            let copy = bytes[part].repeat(1 + random.below(64));
            insert(bytes, at, &copy);
        }
        6 | 7 => {
            let word = random.choose(words).copied().unwrap_or_default();
            insert(bytes, at, word.as_bytes());
        }
        8 => {
            let number = NUMBERS[random.below(NUMBERS.len())];
            // In the place of a number, if there is one behind.
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
                let theirs = random.part(other.len());
                insert(bytes, at, &other[theirs]);
            }
        }
        10 => {
            if let Some(other) = random.choose(inputs) {
                bytes.truncate(at);
                bytes.extend_from_slice(&other[random.below(other.len() + 1)..]);
            }
        }
        // A line goes, comes twice, or moves.
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

fn insert(bytes: &mut Vec<u8>, at: usize, more: &[u8]) {
    if bytes.len() + more.len() <= 2 * LONGEST {
        bytes.splice(at..at, more.iter().copied());
    }
}
