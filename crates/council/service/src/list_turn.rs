//! Whose turn it is to list everything of a kind.

use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

/// How long a caller waits for its turn.
const PATIENCE: Duration = Duration::from_secs(4);
/// The longest pause between two lists.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Whose turn it is. After a list there is a pause as long as the list took, so that lists take half of one
/// processor's time at the most.
#[derive(Debug, Default)]
pub(crate) struct ListTurn {
    next: Mutex<Option<Instant>>,
}

impl ListTurn {
    /// Waits for the turn; nothing when it takes too long.
    pub(crate) fn take(&self) -> Option<Turn<'_>> {
        let next = self.next.try_lock_for(PATIENCE)?;
        if let Some(at) = *next {
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
        }
        Some(Turn { next, began: Instant::now() })
    }
}

/// The turn of one list.
pub(crate) struct Turn<'a> {
    next: MutexGuard<'a, Option<Instant>>,
    began: Instant,
}

impl Turn<'_> {
    /// The list is made: the next one may come after a pause.
    pub(crate) fn end(mut self) {
        let now = Instant::now();
        *self.next = Some(now + now.saturating_duration_since(self.began).min(PAUSE_MAX));
    }
}
