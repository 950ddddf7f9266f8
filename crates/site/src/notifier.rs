//! Wakes a thread that waits for work.

use std::future::Future;
use std::sync::Arc;
use tokio::sync::Notify;

/// Wakes one of the threads that wait with [`Notifier::notified`].
#[derive(Debug, Clone, Default)]
pub struct Notifier(Arc<Notify>);

impl Notifier {
    /// Wakes a thread, because work was added. If no thread waits, the next one does not wait.
    pub fn notify(&self) {
        self.0.notify_one();
    }

    /// Waits until work was added.
    pub fn notified(&self) -> impl Future<Output = ()> {
        self.0.notified()
    }
}
