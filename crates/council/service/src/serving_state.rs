//! Whether clients may be served, as all threads see it: the core says so, the shards and the pages look.

use base::MonoTime;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct ServingState {
    serving: AtomicBool,
    leading: AtomicBool,
    lease_until_ms: AtomicU64,
}

impl ServingState {
    /// What the core says.
    pub(crate) fn set(&self, serving: bool, leading: bool, lease_until: MonoTime) {
        self.serving.store(serving, Ordering::SeqCst);
        self.leading.store(leading, Ordering::SeqCst);
        self.lease_until_ms.store(lease_until.ms(), Ordering::SeqCst);
    }

    /// Whether clients are served, as far as the core knows.
    pub(crate) fn is_serving(&self) -> bool {
        self.serving.load(Ordering::SeqCst)
    }

    /// Whether this member leads others.
    pub(crate) fn is_leading(&self) -> bool {
        self.leading.load(Ordering::SeqCst)
    }

    /// Whether clients may be answered at this moment: the core itself may be standing still.
    pub(crate) fn may_answer(&self, now: impl FnOnce() -> MonoTime) -> bool {
        let lease_until = MonoTime::of_ms(self.lease_until_ms.load(Ordering::SeqCst));
        // Alone there is nobody to be cut off from, and no reason to look at the clock once more.
        lease_until == MonoTime::MAX || now() <= lease_until
    }
}
