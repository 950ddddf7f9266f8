//! Offers of workers on other machines for which the queue has no judgement.
//!
//! Each slot of a worker has a request that waits for a task, and most of them offer the same: the
//! same classes and languages. All of them wake when judgements are added. They look into the
//! database one after another, and once nothing is left for an offer, those with the same offer do
//! not look until judgements are added again or some time has passed.

use millibox_fleet::class::Class;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The offers that are remembered. Workers choose their offers, so there is a bound.
const MAX_OFFERS: usize = 256;

/// What a worker accepts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Offer {
    /// The kinds of judgements.
    pub classes: Vec<Class>,
    /// The names of the installed languages.
    pub languages: Vec<String>,
}

#[derive(Debug)]
struct Declined {
    /// How often judgements had been added.
    added: u64,
    at: Instant,
}

/// The offers that were declined.
#[derive(Debug, Default)]
pub struct Offers {
    declined: HashMap<Offer, Declined>,
}

impl Offers {
    /// Whether an offer was declined less than `time` ago and no judgements were added meanwhile.
    /// `added` is how often judgements have been added.
    pub fn is_declined(&self, offer: &Offer, added: u64, time: Duration) -> bool {
        let declined = self.declined.get(offer);
        declined.is_some_and(|declined| declined.added == added && declined.at.elapsed() < time)
    }

    /// Remembers that there was no judgement for an offer when judgements had been added `added`
    /// times.
    pub fn decline(&mut self, offer: Offer, added: u64) {
        if self.declined.len() >= MAX_OFFERS && !self.declined.contains_key(&offer) {
            self.declined.clear();
        }
        let at = Instant::now();
        self.declined.insert(offer, Declined { added, at });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(language: &str) -> Offer {
        Offer {
            classes: Class::ALL.to_vec(),
            languages: vec![language.to_owned()],
        }
    }

    #[test]
    fn offer_is_declined_until_judgements_are_added_or_time_passes() {
        let long = Duration::from_secs(3600);
        let mut offers = Offers::default();
        assert!(!offers.is_declined(&offer("c"), 0, long));
        offers.decline(offer("c"), 0);
        assert!(offers.is_declined(&offer("c"), 0, long));
        assert!(!offers.is_declined(&offer("c"), 1, long));
        assert!(!offers.is_declined(&offer("c"), 0, Duration::ZERO));
        assert!(!offers.is_declined(&offer("d"), 0, long));
    }

    #[test]
    fn number_of_offers_is_bounded() {
        let mut offers = Offers::default();
        for number in 0..3 * MAX_OFFERS {
            offers.decline(offer(&number.to_string()), 0);
        }
        assert!(offers.declined.len() <= MAX_OFFERS);
    }
}
