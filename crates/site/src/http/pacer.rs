//! Ends what a client sends or receives too slowly.

use crate::core::pace::{Pace, Speed};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;
use tokio::time::{Sleep, sleep_until};

/// The client has not reached the speed.
#[derive(Debug, thiserror::Error)]
#[error("the client is too slow")]
pub struct TooSlow;

/// The pace of one client, with a timer for the time at which the client is too slow.
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
