//! Connections that tasks hold.
//!
//! A task that waits for a second connection while it holds one can wait for another task that does
//! the same. The pools then stand still until their timeout. Debug builds, and so all tests, panic
//! instead.

use std::ops::{Deref, DerefMut};

/// A transaction whose connection counts as held by the task that began it.
#[derive(Debug)]
pub struct Held<T> {
    transaction: T,
    _mark: Mark,
}

impl<T> Held<T> {
    /// Counts the connection as held.
    pub fn new(transaction: T) -> Held<T> {
        Held {
            transaction,
            _mark: Mark::new(),
        }
    }

    /// The transaction, whose connection is about to return to its pool.
    pub fn into_inner(self) -> T {
        self.transaction
    }
}

impl<T: Deref> Deref for Held<T> {
    type Target = T::Target;

    fn deref(&self) -> &T::Target {
        &self.transaction
    }
}

impl<T: DerefMut> DerefMut for Held<T> {
    fn deref_mut(&mut self) -> &mut T::Target {
        &mut self.transaction
    }
}

#[cfg(debug_assertions)]
pub use checked::{Mark, check_none};
#[cfg(not(debug_assertions))]
pub use unchecked::{Mark, check_none};

#[cfg(debug_assertions)]
mod checked {
    use std::collections::HashSet;
    use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
    use std::thread::ThreadId;
    use tokio::task::Id;

    /// A task, or a thread that runs a future without one.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    enum Holder {
        Task(Id),
        Thread(ThreadId),
    }

    static HOLDERS: LazyLock<Mutex<HashSet<Holder>>> = LazyLock::new(Mutex::default);

    fn holders() -> MutexGuard<'static, HashSet<Holder>> {
        HOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn present() -> Holder {
        match tokio::task::try_id() {
            Some(id) => Holder::Task(id),
            None => Holder::Thread(std::thread::current().id()),
        }
    }

    /// Counts a connection as held until it is dropped.
    #[derive(Debug)]
    pub struct Mark(Holder);

    impl Mark {
        pub fn new() -> Mark {
            let holder = present();
            holders().insert(holder);
            Mark(holder)
        }
    }

    impl Drop for Mark {
        fn drop(&mut self) {
            holders().remove(&self.0);
        }
    }

    /// Panics if the task holds a connection.
    #[track_caller]
    pub fn check_none() {
        let is_held = holders().contains(&present());
        assert!(
            !is_held,
            "the task holds a connection and asks for a second one"
        );
    }
}

#[cfg(not(debug_assertions))]
mod unchecked {
    #[derive(Debug)]
    pub struct Mark;

    impl Mark {
        pub fn new() -> Mark {
            Mark
        }
    }

    pub fn check_none() {}
}
