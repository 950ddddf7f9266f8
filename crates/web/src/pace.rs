//! A minimum speed for data that a client sends or receives.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::time::{Sleep, sleep_until};

/// The speed that clients must reach: about 1 KiB/s, less than any connection on which the pages
/// can be used. A body of up to 32 KiB may take 30 s.
pub const SPEED: Speed = Speed {
    time: Duration::from_secs(30),
    bytes: 32 << 10,
};

/// The speed that a client must reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Speed {
    /// How long the server waits in total for `bytes`.
    pub time: Duration,
    /// The bytes that must be moved in this time.
    pub bytes: u64,
}

/// The speed of one client. Only the time in which the server waits for the client counts, so a
/// busy server does not make a client slow.
#[derive(Debug)]
struct Pace {
    speed: Speed,
    /// The time that is left for the missing bytes.
    left: Duration,
    missing: u64,
    /// When the server began to wait for the client.
    since: Option<Instant>,
}

impl Pace {
    /// A client that has moved nothing yet.
    fn new(speed: Speed) -> Pace {
        Pace {
            speed,
            left: speed.time,
            missing: speed.bytes,
            since: None,
        }
    }

    /// The server waits for the client. Returns the time at which the client is too slow.
    fn wait(&mut self, now: Instant) -> Instant {
        *self.since.get_or_insert(now) + self.left
    }

    /// The client has moved some bytes.
    fn moved(&mut self, bytes: u64, now: Instant) {
        if let Some(since) = self.since.take() {
            self.left = self.left.saturating_sub(now.duration_since(since));
        }
        self.missing = self.missing.saturating_sub(bytes);
        if self.missing == 0 {
            *self = Pace::new(self.speed);
        }
    }
}

/// The client has not reached the speed.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the client is too slow")]
pub struct TooSlow;

/// Fails what a client sends or receives too slowly.
#[derive(Debug)]
pub struct Pacer {
    pace: Pace,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Pacer {
    /// A client that has moved nothing yet.
    pub fn new(speed: Speed) -> Pacer {
        Pacer {
            pace: Pace::new(speed),
            timer: None,
        }
    }

    /// Passes on what has moved `bytes`, or waits for the client.
    pub fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        moved: Poll<T>,
        bytes: impl FnOnce(&T) -> usize,
    ) -> Poll<Result<T, TooSlow>> {
        let now = Instant::now();
        if let Poll::Ready(moved) = moved {
            let bytes = u64::try_from(bytes(&moved)).unwrap_or(0);
            self.pace.moved(bytes, now);
            self.timer = None;
            return Poll::Ready(Ok(moved));
        }
        let end = self.pace.wait(now);
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(sleep_until(end.into())));
        ready!(timer.as_mut().poll(context));
        Poll::Ready(Err(TooSlow))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a client is too slow that moves `bytes` after each of 100 waits of `wait` seconds.
    /// The server works for `work` seconds after each wait.
    fn is_too_slow(wait: u64, work: u64, bytes: u64) -> bool {
        let speed = Speed {
            time: Duration::from_secs(30),
            bytes: 1000,
        };
        let mut pace = Pace::new(speed);
        let mut now = Instant::now();
        for _ in 0..100 {
            let end = pace.wait(now);
            assert_eq!(pace.wait(now + Duration::from_secs(1)), end, "one wait");
            now += Duration::from_secs(wait);
            if now > end {
                return true;
            }
            pace.moved(bytes, now);
            now += Duration::from_secs(work);
        }
        false
    }

    #[test]
    fn only_the_time_in_which_the_server_waits_counts() {
        for (wait, work, bytes, expected) in [
            (1, 0, 34, false),
            (1, 0, 32, true),
            (1, 600, 34, false),
            (1, 600, 32, true),
            (30, 0, 1000, false),
            (31, 0, 1_000_000, true),
            (60, 0, 1, true),
            (1, 0, 0, true),
        ] {
            let slow = is_too_slow(wait, work, bytes);
            assert_eq!(slow, expected, "{wait} {work} {bytes}");
        }
    }
}
