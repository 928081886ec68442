//! Messages between threads: a batch is swapped out under a short lock, and one wake-up serves all that waits.
//!
//! A thread owns one [`ThreadWaker`] and any number of [`Mailbox`]es that wake it. The waker does nothing while its owner
//! is awake, because an owner looks into its mailboxes before it goes to sleep. Knows nothing of what is sent.
//!
//! Invariants:
//! - *Woken where it sleeps.* An owner says whether it parks or polls before it says that it sleeps. Who wakes it reads that
//!   after it has claimed to; if the owner has gone to sleep elsewhere meanwhile, it has looked into its mailboxes in between.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use parking_lot::Mutex;

/// Wakes one thread.
pub struct ThreadWaker {
    asleep: AtomicBool,
    /// It is parked, or else sleeps in its poll.
    parks: AtomicBool,
    /// The thread that parked last. A member that is restarted has a new thread for its journal.
    parked: Mutex<Option<Thread>>,
    /// Of the poll in which it sleeps when it is not parked.
    poll: Option<mio::Waker>,
}

impl ThreadWaker {
    /// The waker of a thread that sleeps in a poll.
    pub fn of_poll(waker: mio::Waker) -> Arc<Self> {
        Arc::new(Self::new(Some(waker)))
    }

    /// The waker of a thread that parks itself with [`Self::park`].
    pub fn of_parking() -> Arc<Self> {
        Arc::new(Self::new(None))
    }

    fn new(poll: Option<mio::Waker>) -> Self {
        let (asleep, parks) = (AtomicBool::new(false), AtomicBool::new(poll.is_none()));
        Self { asleep, parks, parked: Mutex::new(None), poll }
    }

    /// Wakes the owner if it sleeps.
    pub fn wake(&self) {
        if self.claim() {
            self.ring();
        }
    }

    /// Whether the owner sleeps and nobody else has claimed to wake it. Whoever is told so [rings](Self::ring), or does the
    /// owner's work and [says](Self::fall_asleep) that it sleeps on.
    #[must_use]
    pub fn claim(&self) -> bool {
        // Sequentially consistent together with the store in `fall_asleep`: either the owner sees the messages that
        // were put before this call, or this call sees that the owner is asleep.
        self.asleep.swap(false, Ordering::SeqCst)
    }

    /// Wakes the owner, asleep or not.
    pub fn ring(&self) {
        match &self.poll {
            Some(poll) if !self.parks.load(Ordering::SeqCst) => {
                // Fails only when the poll is gone, and then there is no thread to wake.
                let _ = poll.wake();
            }
            _ => {
                if let Some(parked) = &*self.parked.lock() {
                    parked.unpark();
                }
            }
        }
    }

    /// Says that the owner is about to sleep. It must look into its mailboxes once more after this and before it
    /// sleeps.
    pub fn fall_asleep(&self) {
        self.asleep.store(true, Ordering::SeqCst);
    }

    /// Says that the owner is awake.
    pub fn wake_up(&self) {
        self.asleep.store(false, Ordering::SeqCst);
    }

    /// Parks the owner, who calls this, until woken or until `timeout` has passed; not at all when `mail` says that
    /// messages wait. The owner of a poll leaves that alone meanwhile.
    pub fn park(&self, timeout: Option<Duration>, mail: impl FnOnce() -> bool) {
        {
            let (mut parked, current) = (self.parked.lock(), thread::current());
            if parked.as_ref().is_none_or(|parked| parked.id() != current.id()) {
                *parked = Some(current);
            }
        }
        self.parks.store(true, Ordering::SeqCst);
        self.fall_asleep();
        if !mail() {
            match timeout {
                Some(timeout) => thread::park_timeout(timeout),
                None => thread::park(),
            }
        }
        self.wake_up();
        self.parks.store(self.poll.is_none(), Ordering::SeqCst);
    }
}

/// A queue that many threads put messages into and one empties.
pub struct Mailbox<T> {
    mail: Mutex<Waiting<T>>,
    waker: Arc<ThreadWaker>,
}

/// What waits in a mailbox, and since when, if the sender says so.
struct Waiting<T> {
    items: Vec<T>,
    since_us: Option<u64>,
}

impl<T> Mailbox<T> {
    /// An empty mailbox of the owner of `waker`.
    pub fn new(waker: Arc<ThreadWaker>) -> Self {
        Self { mail: Mutex::new(Waiting { items: Vec::new(), since_us: None }), waker }
    }

    /// Puts one item in and wakes the owner.
    pub fn put(&self, item: T) {
        self.mail.lock().items.push(item);
        self.waker.wake();
    }

    /// Puts a batch in, in order, and wakes the owner once; `batch` is left empty with its room.
    pub fn put_all(&self, batch: &mut Vec<T>) {
        if batch.is_empty() {
            return;
        }
        self.put_all_quietly(batch);
        self.waker.wake();
    }

    /// Like [`Self::put_all`], and notes the time for [`Self::take_all_since`].
    pub fn put_all_at(&self, batch: &mut Vec<T>, now_us: u64) {
        if batch.is_empty() {
            return;
        }
        self.put_all_quietly_at(batch, now_us);
        self.waker.wake();
    }

    /// Like [`Self::put_all_at`], without waking the owner.
    pub fn put_all_quietly_at(&self, batch: &mut Vec<T>, now_us: u64) {
        let mut mail = self.mail.lock();
        mail.since_us.get_or_insert(now_us);
        mail.put(batch);
    }

    /// Puts a batch in without waking the owner: for a caller that holds a lock and wakes the owner when it is
    /// released.
    pub fn put_all_quietly(&self, batch: &mut Vec<T>) {
        self.mail.lock().put(batch);
    }

    /// Wakes the owner.
    pub fn wake(&self) {
        self.waker.wake();
    }

    /// Takes all that waits, in the order it was put in; `into` must be empty and gives its room in exchange.
    pub fn take_all(&self, into: &mut Vec<T>) {
        self.take_all_since(into);
    }

    /// Like [`Self::take_all`]; gives the time at which the oldest was put in, if it was noted.
    pub fn take_all_since(&self, into: &mut Vec<T>) -> Option<u64> {
        debug_assert!(into.is_empty());
        let mut mail = self.mail.lock();
        if !mail.items.is_empty() {
            std::mem::swap(&mut mail.items, into);
        }
        mail.since_us.take()
    }

    /// How many messages wait.
    pub fn len(&self) -> usize {
        self.mail.lock().items.len()
    }

    /// Whether no message waits.
    pub fn is_empty(&self) -> bool {
        self.mail.lock().items.is_empty()
    }
}

impl<T> Waiting<T> {
    fn put(&mut self, batch: &mut Vec<T>) {
        if self.items.is_empty() {
            std::mem::swap(&mut self.items, batch);
        } else {
            self.items.append(batch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_arrives_in_order_and_a_sleeper_is_woken_for_each_batch() {
        let waker = ThreadWaker::of_parking();
        let messages = Arc::new(Mailbox::new(Arc::clone(&waker)));
        let sender = {
            let messages = Arc::clone(&messages);
            thread::spawn(move || {
                for first in (0..30_000u32).step_by(3) {
                    messages.put_all(&mut vec![first, first + 1]);
                    messages.put(first + 2);
                }
            })
        };
        let (mut seen, mut batch) = (0u32, Vec::new());
        while seen < 30_000 {
            waker.park(None, || !messages.is_empty());
            messages.take_all(&mut batch);
            for message in batch.drain(..) {
                assert_eq!(message, seen);
                seen += 1;
            }
        }
        sender.join().expect("the sender ends");
        assert!(messages.is_empty());
    }

    #[test]
    fn a_bell_wakes_the_next_owner_when_the_first_has_ended() {
        let waker = ThreadWaker::of_parking();
        let messages = Arc::new(Mailbox::new(Arc::clone(&waker)));
        for round in 0..2_u32 {
            let (waker, box_of_owner) = (Arc::clone(&waker), Arc::clone(&messages));
            let (tell, told) = std::sync::mpsc::channel();
            let owner = thread::spawn(move || {
                let mut batch = Vec::new();
                while batch.is_empty() {
                    waker.park(None, || !box_of_owner.is_empty());
                    box_of_owner.take_all(&mut batch);
                }
                tell.send(batch).expect("the receiver exists");
            });
            // It sleeps, so that nothing but the waker can wake it.
            while !messages.waker.asleep.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            messages.put(round);
            assert_eq!(told.recv_timeout(Duration::from_secs(60)), Ok(vec![round]));
            owner.join().expect("the owner ends");
        }
    }

    #[test]
    fn the_oldest_mail_tells_since_when_it_lies() {
        let messages = Mailbox::new(ThreadWaker::of_parking());
        messages.put_all_at(&mut vec![1], 5);
        messages.put_all_at(&mut vec![2], 9);
        messages.put_all_at(&mut Vec::new(), 11);
        let mut taken = Vec::new();
        assert_eq!(messages.take_all_since(&mut taken), Some(5));
        assert_eq!(taken, [1, 2]);
        taken.clear();
        messages.put(3);
        assert_eq!(messages.take_all_since(&mut taken), None);
    }

    #[test]
    fn a_sleeper_in_a_poll_is_woken() {
        let mut poll = mio::Poll::new().expect("a poll");
        let waker = mio::Waker::new(poll.registry(), mio::Token(7)).expect("a waker");
        let waker = ThreadWaker::of_poll(waker);
        let messages = Arc::new(Mailbox::new(Arc::clone(&waker)));
        waker.fall_asleep();
        let sender = {
            let messages = Arc::clone(&messages);
            thread::spawn(move || messages.put(1))
        };
        let mut events = mio::Events::with_capacity(4);
        poll.poll(&mut events, None).expect("polled");
        assert_eq!(events.iter().map(|event| event.token()).collect::<Vec<_>>(), [mio::Token(7)]);
        sender.join().expect("the sender ends");
        assert!(!messages.is_empty());
    }

    #[test]
    fn owner_of_a_poll_is_woken_whether_it_polls_or_is_parked() {
        const MESSAGES: u32 = 5_000;
        let mut poll = mio::Poll::new().expect("a poll");
        let waker = ThreadWaker::of_poll(mio::Waker::new(poll.registry(), mio::Token(7)).expect("a waker"));
        let messages = Arc::new(Mailbox::new(Arc::clone(&waker)));
        let (answered, answers) = std::sync::mpsc::channel();
        let sender = {
            let messages = Arc::clone(&messages);
            thread::spawn(move || {
                for message in 0..MESSAGES {
                    messages.put(message);
                    // The next one only when this one was taken: nothing else wakes the owner.
                    let taken = answers.recv_timeout(Duration::from_secs(60));
                    assert_eq!(taken, Ok(message), "the owner sleeps on");
                }
            })
        };
        let (mut taken, mut batch, mut events) = (0, Vec::new(), mio::Events::with_capacity(4));
        while taken < MESSAGES {
            if taken % 3 == 0 {
                waker.park(Some(Duration::from_micros(u64::from(taken % 100))), || !messages.is_empty());
            } else {
                waker.fall_asleep();
                if messages.is_empty() {
                    poll.poll(&mut events, None).expect("polled");
                }
                waker.wake_up();
            }
            messages.take_all(&mut batch);
            for message in batch.drain(..) {
                taken += 1;
                answered.send(message).expect("the sender waits");
            }
        }
        sender.join().expect("the sender ends");
    }
}
