//! The news that wait to be sent to the other processes of a site.

use super::news::News;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::sync::mpsc;

/// The maximum number of news that wait.
const MAX_WAITING: usize = 8192;

/// Takes news for the other processes. Without such processes, it drops them. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Outbox(Arc<OnceLock<Open>>);

#[derive(Debug)]
struct Open {
    sender: mpsc::Sender<News>,
    is_missing: Arc<AtomicBool>,
}

/// Receives what was put into an [`Outbox`].
#[derive(Debug)]
pub struct Waiting {
    receiver: mpsc::Receiver<News>,
    is_missing: Arc<AtomicBool>,
}

impl Outbox {
    /// Begins to keep news. Returns `None` if it has begun before.
    pub fn open(&self) -> Option<Waiting> {
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        let is_missing = Arc::new(AtomicBool::new(false));
        let open = Open {
            sender,
            is_missing: is_missing.clone(),
        };
        self.0.set(open).ok()?;
        Some(Waiting {
            receiver,
            is_missing,
        })
    }

    /// Whether another process may receive news.
    pub fn is_open(&self) -> bool {
        self.0.get().is_some()
    }

    /// Puts news into the outbox. If it is full, the other processes learn that they have missed
    /// some.
    pub fn put(&self, news: News) {
        if let Some(open) = self.0.get()
            && open.sender.try_send(news).is_err()
        {
            open.is_missing.store(true, Ordering::SeqCst);
        }
    }
}

impl Waiting {
    /// The next news; `None` when the outbox no longer exists.
    pub async fn next(&mut self) -> Option<News> {
        self.receiver.recv().await
    }

    /// The news that wait now, at most `max`.
    pub fn rest(&mut self, max: usize) -> Vec<News> {
        let mut rest = Vec::new();
        while rest.len() < max
            && let Ok(news) = self.receiver.try_recv()
        {
            rest.push(news);
        }
        if self.is_missing.swap(false, Ordering::SeqCst) {
            rest.push(News::Missed);
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn full_outbox_tells_that_news_are_missing() {
        let outbox = Outbox::default();
        outbox.put(News::Committed);
        let mut waiting = outbox.open().unwrap();
        assert!(outbox.open().is_none());
        for number in 0..MAX_WAITING + 2 {
            outbox.put(News::Job(number as i64));
        }
        assert!(matches!(waiting.next().await, Some(News::Job(0))));
        let rest = waiting.rest(usize::MAX);
        assert_eq!(rest.len(), MAX_WAITING);
        assert!(matches!(rest.last(), Some(News::Missed)));
        assert!(waiting.rest(1).is_empty());
    }
}
