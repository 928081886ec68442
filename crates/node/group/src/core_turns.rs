//! On which thread a core has its turns: on its own, but for this. A thread that serves clients of a member that follows, and has
//! one small request to hand on while the core sleeps, hands it on itself: that costs less than to wake another thread. What
//! goes to this member's own disk, and whatever the other members say, is left to the core's thread.
//!
//! Invariants:
//! - *One at a time.* A turn is taken under the lock. The core's thread does not hold it while it sleeps, but where the
//!   member is alone: then nobody else takes a turn.
//! - *Nothing is slept over.* Whoever took a turn looks for mail once more after it has said that the core's thread sleeps
//!   on, and wakes that thread if there is any, or if it would sleep longer than the core may now.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base::MonoTime;
use consensus_replica::Fault;
use net_peers::{PeerConnections, Polling};
use node_threads::{Clock, ThreadWaker};
use parking_lot::Mutex;

/// A core with its mailboxes, as its turns see it.
pub trait CoreLoop: Send {
    /// One turn on the core's thread. Says how long that may sleep before the next; nothing when the core ends.
    ///
    /// # Errors
    /// When this member must not go on.
    fn turn(&mut self) -> Result<Option<Duration>, Fault>;

    /// A turn on the thread that serves clients, to hand on what that has for the leader: nothing is applied, and nobody is
    /// heard but clients and the journal. Says how long the core's thread may sleep then.
    ///
    /// # Errors
    /// As [`Self::turn`].
    fn relay(&mut self) -> Result<Duration, Fault>;

    /// Whether what clients ask goes to another member at once, and nothing of it to this one's disk before that has
    /// answered.
    fn relays(&self) -> bool;

    /// The core's thread is about to sleep: how long it may now, and where, if not parked.
    fn fall_asleep(&mut self, timeout: Duration) -> (Duration, Option<Arc<Polling>>);

    /// Whether something has come for the core's thread that its poll does not tell of.
    fn has_mail(&self) -> bool;
}

/// See the module.
pub struct CoreTurns<C> {
    lent: Mutex<Lent<C>>,
    waker: Arc<ThreadWaker>,
    clock: Clock,
    /// See [`CoreLoop::relays`].
    relays: AtomicBool,
}

struct Lent<C> {
    /// Nothing between two cores.
    core: Option<C>,
    /// A turn on another thread has found that this member must not go on.
    fault: Option<Fault>,
    /// Until when the core's thread sleeps at the longest.
    sleeps_until: MonoTime,
}

impl<C: CoreLoop> CoreTurns<C> {
    /// Of the core whose thread has this waker.
    #[must_use]
    pub fn new(waker: Arc<ThreadWaker>, clock: Clock) -> Arc<Self> {
        let lent = Mutex::new(Lent { core: None, fault: None, sleeps_until: MonoTime::ZERO });
        Arc::new(Self { lent, waker, clock, relays: AtomicBool::new(false) })
    }

    /// For a thread that serves clients, and has put one small request into the core's mailbox: hands it on if the core's
    /// thread sleeps; else that one finds it before it sleeps.
    pub fn relay_or_wake(&self) {
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
                let may_sleep_until = now.plus_ms(millis(timeout));
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

    /// The core's thread: runs the core until it ends, and gives it back, also when this member must not go on.
    pub fn run(&self, core: C) -> (C, Result<(), Fault>) {
        *self.lent.lock() = Lent { core: Some(core), fault: None, sleeps_until: MonoTime::ZERO };
        let ended = self.run_lent();
        self.relays.store(false, Ordering::Relaxed);
        let core = self.lent.lock().core.take();
        (core.expect("it was lent to this thread"), ended)
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
            lent.sleeps_until = self.clock.mono().plus_ms(millis(timeout));
            drop(lent);
            let polled = polling.poll(timeout);
            self.waker.wake_up();
            polled.map_err(|error| poll_fault(&error))?;
        }
    }
}

fn millis(timeout: Duration) -> u64 {
    u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)
}

/// For [`CoreLoop::fall_asleep`], of a core with these connections, if it has any: where they are polled its thread sleeps.
pub fn fall_asleep(
    peers: &mut Option<PeerConnections>,
    timeout: Duration,
    has_mail: impl FnOnce() -> bool,
) -> (Duration, Option<Arc<Polling>>) {
    match peers {
        Some(peers) => (peers.fall_asleep(timeout, has_mail), Some(Arc::clone(peers.polling()))),
        None => (timeout, None),
    }
}

/// The connections between members cannot be polled any more.
#[must_use]
pub fn poll_fault(error: &io::Error) -> Fault {
    Fault::Driver { reason: format!("the connections between members cannot be polled: {error}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use node_threads::Mailbox;
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    /// What a question of a test asks for.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Asked {
        Count,
        /// Only the core's thread may answer it.
        Turn,
        Fault,
        Stop,
    }

    #[derive(Default)]
    struct Counted {
        all: AtomicUsize,
        relayed: AtomicUsize,
    }

    /// Counts what it is asked; hands everything on but what needs a turn of its own.
    struct Counter {
        mail: Arc<Mailbox<Asked>>,
        own: Vec<Asked>,
        counted: Arc<Counted>,
        polling: Arc<Polling>,
        waker: Arc<ThreadWaker>,
    }

    impl Counter {
        fn take(&mut self) -> Result<usize, Fault> {
            let mut mail = Vec::new();
            self.mail.take_all(&mut mail);
            if mail.contains(&Asked::Fault) {
                return Err(Fault::Driver { reason: String::from("as asked") });
            }
            let counts = mail.iter().filter(|asked| **asked == Asked::Count).count();
            self.own.extend(mail.into_iter().filter(|asked| *asked != Asked::Count));
            self.counted.all.fetch_add(counts, Ordering::SeqCst);
            Ok(counts)
        }
    }

    impl CoreLoop for Counter {
        fn turn(&mut self) -> Result<Option<Duration>, Fault> {
            self.take()?;
            let own = std::mem::take(&mut self.own);
            self.counted
                .all
                .fetch_add(own.iter().filter(|asked| **asked == Asked::Turn).count(), Ordering::SeqCst);
            Ok((!own.contains(&Asked::Stop)).then_some(Duration::from_secs(60)))
        }

        fn relay(&mut self) -> Result<Duration, Fault> {
            let counts = self.take()?;
            self.counted.relayed.fetch_add(counts, Ordering::SeqCst);
            Ok(if self.own.is_empty() { Duration::from_secs(60) } else { Duration::ZERO })
        }

        fn relays(&self) -> bool {
            true
        }

        fn fall_asleep(&mut self, timeout: Duration) -> (Duration, Option<Arc<Polling>>) {
            self.waker.fall_asleep();
            let timeout = if self.mail.is_empty() { timeout } else { Duration::ZERO };
            (timeout, Some(Arc::clone(&self.polling)))
        }

        fn has_mail(&self) -> bool {
            !self.mail.is_empty()
        }
    }

    struct Counting {
        mail: Arc<Mailbox<Asked>>,
        counted: Arc<Counted>,
        turns: Arc<CoreTurns<Counter>>,
        thread: thread::JoinHandle<Result<(), Fault>>,
    }

    fn counting() -> Counting {
        let (poll, waker) = PeerConnections::poll().expect("a poll");
        let mail = Arc::new(Mailbox::new(Arc::clone(&waker)));
        let counted = Arc::<Counted>::default();
        let core = Counter {
            mail: Arc::clone(&mail),
            own: Vec::new(),
            counted: Arc::clone(&counted),
            polling: Arc::new(Polling::new(poll)),
            waker: Arc::clone(&waker),
        };
        let turns = CoreTurns::new(waker, Clock::start());
        let own = Arc::clone(&turns);
        let thread = thread::spawn(move || own.run(core).1);
        Counting { mail, counted, turns, thread }
    }

    impl Counting {
        fn ask(&self, asked: Asked) {
            self.mail.put_all_quietly(&mut vec![asked]);
            self.turns.relay_or_wake();
        }

        fn wait_for(&self, counted: usize) {
            let until = std::time::Instant::now() + Duration::from_secs(30);
            while self.counted.all.load(Ordering::SeqCst) < counted {
                assert!(std::time::Instant::now() < until, "not all of {counted} was heard");
                thread::yield_now();
            }
        }
    }

    #[test]
    fn what_many_threads_ask_is_all_heard_whoever_takes_the_turns() {
        const EACH: usize = 20_000;
        let counting = counting();
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..EACH).for_each(|_| counting.ask(Asked::Count)));
            }
            scope.spawn(|| (0..EACH).for_each(|_| counting.mail.put(Asked::Count)));
        });
        counting.wait_for(3 * EACH);
        counting.mail.put(Asked::Stop);
        counting.thread.join().expect("no panic").expect("no fault");
    }

    #[test]
    fn request_is_handed_on_here_while_the_core_sleeps() {
        let counting = counting();
        for seen in 1..=100 {
            // It sleeps once it has nothing to do.
            thread::sleep(Duration::from_millis(1));
            counting.ask(Asked::Count);
            counting.wait_for(seen);
        }
        let relayed = counting.counted.relayed.load(Ordering::SeqCst);
        assert!(relayed > 50, "{relayed} of 100");
        counting.mail.put(Asked::Stop);
        counting.thread.join().expect("no panic").expect("no fault");
    }

    #[test]
    fn core_is_woken_for_what_a_turn_on_another_thread_leaves_to_it() {
        let counting = counting();
        for seen in 1..=50 {
            thread::sleep(Duration::from_millis(1));
            counting.ask(Asked::Turn);
            counting.wait_for(seen);
        }
        counting.ask(Asked::Stop);
        counting.thread.join().expect("no panic").expect("no fault");
    }

    #[test]
    fn fault_of_a_turn_on_another_thread_ends_the_core() {
        let counting = counting();
        thread::sleep(Duration::from_millis(20));
        counting.ask(Asked::Fault);
        assert!(matches!(counting.thread.join().expect("no panic"), Err(Fault::Driver { .. })));
    }
}
