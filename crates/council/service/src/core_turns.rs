//! On which thread the core has its turns: on its own, but for this. A shard of a member that follows, and has one small
//! command to hand on while the core sleeps, hands it on itself: that costs less than to wake another thread. What goes to
//! this member's own disk, and whatever the other members say, is left to the core's thread.
//!
//! Invariants:
//! - *One at a time.* A turn is taken under the lock. The core's thread does not hold it while it sleeps, but where the
//!   member is alone: then nobody else takes a turn.
//! - *Nothing is slept over.* Whoever took a turn looks for mail once more after it has said that the core's thread sleeps
//!   on, and wakes that thread if there is any, or if it would sleep longer than the core may now.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base::MonoTime;
use consensus_replica::Fault;
use node_threads::{Clock, ThreadWaker};
use parking_lot::Mutex;

use crate::core_loop::{CoreLoop, End, poll_fault};

/// See the module.
pub(crate) struct CoreTurns {
    lent: Mutex<Lent>,
    waker: Arc<ThreadWaker>,
    clock: Clock,
    /// Whether a command of a shard goes to another member.
    relays: AtomicBool,
}

#[derive(Default)]
struct Lent {
    /// Nothing between two cores.
    core: Option<CoreLoop>,
    /// A turn on a shard's thread has found that this member must not go on.
    fault: Option<Fault>,
    /// Until when the core's thread sleeps at the longest.
    sleeps_until: MonoTime,
}

impl CoreTurns {
    pub(crate) fn new(waker: Arc<ThreadWaker>, clock: Clock) -> Arc<Self> {
        let relays = AtomicBool::new(false);
        Arc::new(Self { lent: Mutex::default(), waker, clock, relays })
    }

    /// For a shard's thread, which has put one small command into the core's mailbox: hands it on if the core's thread
    /// sleeps; else that one finds it before it sleeps.
    pub(crate) fn relay_or_wake(&self) {
        if !self.relays.load(Ordering::Relaxed) {
            return self.waker.wake();
        }
        if !self.waker.claim() {
            return;
        }
        let Some(mut lent) = self.lent.try_lock() else { return self.waker.ring() };
        let Some(core) = &mut lent.core else { return self.waker.ring() };
        let relayed = core.relay();
        let now = self.clock.mono();
        self.waker.fall_asleep();
        let sleeps_on = match relayed {
            Ok(timeout) => {
                let may_sleep_until = now.plus_ms(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
                !core.has_mail() && lent.sleeps_until <= may_sleep_until
            }
            Err(fault) => {
                lent.fault = Some(fault);
                false
            }
        };
        if !sleeps_on {
            self.waker.wake();
        }
    }

    /// The core's thread: runs the core until it is told to stop, or until another core must go on.
    ///
    /// # Errors
    /// When this member must not go on.
    pub(crate) fn run(&self, core: CoreLoop) -> Result<End, Fault> {
        self.lent.lock().core = Some(core);
        let ended = self.run_lent();
        self.relays.store(false, Ordering::Relaxed);
        let core = self.lent.lock().core.take();
        ended.map(|()| core.expect("it was lent to this thread").end())
    }

    fn run_lent(&self) -> Result<(), Fault> {
        loop {
            let mut lent = self.lent.lock();
            // Whoever took a turn meanwhile has said that this thread sleeps on.
            self.waker.wake_up();
            if let Some(fault) = lent.fault.take() {
                return Err(fault);
            }
            let core = lent.core.as_mut().expect("it is lent to this thread");
            let Some(timeout) = core.turn()? else { return Ok(()) };
            self.relays.store(core.relays(), Ordering::Relaxed);
            if timeout.is_zero() {
                continue;
            }
            let (timeout, polling) = core.fall_asleep(timeout);
            let Some(polling) = polling else {
                self.waker.park(Some(timeout), || core.has_mail());
                continue;
            };
            lent.sleeps_until =
                self.clock.mono().plus_ms(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
            drop(lent);
            let polled = polling.poll(timeout);
            self.waker.wake_up();
            polled.map_err(poll_fault)?;
        }
    }
}
