//! A bound on the failed sign-ins in the log of changes.

use super::throttle::Throttle;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// How many failed sign-ins have an entry within [`FAILURE_WINDOW`], from one network and in all. A
/// visitor must not be able to fill the log.
const FAILURES_OF_NETWORK: u32 = 20;
const ALL_FAILURES: u32 = 1000;
const FAILURE_WINDOW: Duration = Duration::from_secs(15 * 60);

/// Bounds the entries of failed sign-ins.
#[derive(Debug)]
pub struct Failures {
    of_network: Throttle<IpAddr>,
    all: Throttle<()>,
}

impl Default for Failures {
    fn default() -> Failures {
        Failures {
            of_network: Throttle::new(FAILURES_OF_NETWORK, FAILURE_WINDOW),
            all: Throttle::new(ALL_FAILURES, FAILURE_WINDOW),
        }
    }
}

impl Failures {
    /// Counts a failed sign-in. Returns whether the log has room for it.
    pub fn admit(&self, network: IpAddr) -> bool {
        let now = Instant::now();
        self.of_network.admit(network, now).is_ok() && self.all.admit((), now).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn failures_in_the_log_are_bounded_for_each_network_and_in_all() {
        let failures = Failures::default();
        let network = |number: u32| IpAddr::from(Ipv4Addr::from_bits(number));
        let admitted = (0..100).filter(|_| failures.admit(network(1)));
        assert_eq!(admitted.count(), FAILURES_OF_NETWORK as usize);
        assert!(failures.admit(network(2)), "others still have entries");
        let admitted = (3..10_000).filter(|number| failures.admit(network(*number)));
        assert!(admitted.count() < ALL_FAILURES as usize);
    }
}
