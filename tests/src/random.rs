//! Random numbers that can be repeated.

/// A small random number generator, whose seed is printed so that a test can be repeated.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// A generator with the seed in `MILLIBOX_SEED`, or a seed from the clock.
    pub fn new() -> Random {
        let given = std::env::var("MILLIBOX_SEED")
            .ok()
            .and_then(|text| text.parse().ok());
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(1, |time| time.as_nanos() as u64);
        let seed = given.unwrap_or(now) | 1;
        eprintln!("MILLIBOX_SEED={seed}");
        Random(seed)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        // xorshift64
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

impl Default for Random {
    fn default() -> Random {
        Random::new()
    }
}
