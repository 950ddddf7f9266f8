//! Moments at which many browsers do the same thing.

use std::time::Duration;

/// The fractional part of the golden ratio, times 2^64. Multiples of it divide an interval evenly,
/// however many there are.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The moment of the stream with this number in an interval.
pub fn spread(number: u64, interval: Duration) -> Duration {
    // The upper bits have the precision that an f64 can hold.
    let part = u32::try_from(number.wrapping_mul(GOLDEN) >> 32).unwrap_or_default();
    interval.mul_f64(f64::from(part) / 4_294_967_296.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_a_hundred_streams_are_apart_and_within_the_interval() {
        let interval = Duration::from_secs(1);
        for first in [0, 12_345, u64::MAX - 50] {
            let numbers = (0..100).map(|index| first.wrapping_add(index));
            let mut moments: Vec<Duration> =
                numbers.map(|number| spread(number, interval)).collect();
            moments.sort();
            assert!(moments.iter().all(|moment| *moment < interval));
            let gaps = moments.windows(2).map(|pair| pair[1] - pair[0]);
            assert!(gaps.min() > Some(Duration::from_millis(3)), "from {first}");
        }
    }
}
