//! The turns of a reactor's services. Its own thread takes them, but for this: a thread that has little to say to a reactor
//! that sleeps may take the turn itself, which costs less than to wake another thread.
//!
//! Invariants:
//! - *One at a time.* A turn is taken under the lock, and the reactor's thread does not hold it while it sleeps.
//! - *Nothing is slept over.* Whoever took a turn looks into the mailboxes once more after it has said that the reactor's
//!   thread sleeps on, and wakes that thread if there is mail, or if it would sleep longer than the services may wait now.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use base::MonoTime;
use mio::event::Event;
use mio::{Events, Token};
use net_event_loop::Readiness;
use node_threads::{Clock, ThreadWaker};
use parking_lot::Mutex;

use crate::service::Service;

/// The token of the waker. A socket's token is its service's number above 32 bits of the service's own.
pub(crate) const WAKER: Token = Token(usize::MAX);

/// See the module.
pub struct Turns {
    services: Mutex<Services>,
    waker: Arc<ThreadWaker>,
    clock: Clock,
}

struct Services {
    services: Vec<Box<dyn Service + Send>>,
    /// Until when the reactor's thread sleeps at the longest.
    sleeps_until: MonoTime,
}

impl Turns {
    pub(crate) fn new(waker: Arc<ThreadWaker>, clock: Clock, services: Vec<Box<dyn Service + Send>>) -> Self {
        let services = Mutex::new(Services { services, sleeps_until: MonoTime::ZERO });
        Self { services, waker, clock }
    }

    /// For another thread: takes a turn if the reactor's thread sleeps; else that one finds what there is before it sleeps.
    /// For what is done quickly: the caller does it. New connections, questions and orders to stop are left to the
    /// reactor's thread.
    pub fn take_or_wake(&self) {
        if !self.waker.claim() {
            return;
        }
        let Some(mut lent) = self.services.try_lock() else { return self.waker.ring() };
        let now = self.clock.now();
        lent.live().for_each(|service| service.turn(now));
        self.waker.fall_asleep();
        let sleeps_on =
            lent.wait_max_ms().is_some_and(|wait_ms| lent.sleeps_until <= now.mono().plus_ms(wait_ms));
        if !sleeps_on || lent.has_mail() {
            self.waker.wake();
        }
    }

    /// How long the reactor's thread may sleep now; nothing if all services are done.
    pub(crate) fn fall_asleep(&self) -> Option<Duration> {
        let mut lent = self.services.lock();
        self.waker.fall_asleep();
        let mut timeout_ms = lent.wait_max_ms()?;
        if timeout_ms > 0 && lent.has_mail() {
            timeout_ms = 0;
        }
        lent.sleeps_until = self.clock.now().mono().plus_ms(timeout_ms);
        Some(Duration::from_millis(timeout_ms))
    }

    /// The reactor's thread sleeps for so long, until there is mail, or until a service wants its turn. Its sockets wait meanwhile.
    pub(crate) fn rest(&self, most: Duration) {
        let timeout = {
            let mut lent = self.services.lock();
            let timeout = lent.wait_max_ms().map_or(most, |wait_ms| most.min(Duration::from_millis(wait_ms)));
            lent.sleeps_until = self.clock.now().mono().plus_ms(1);
            timeout
        };
        self.waker.park(Some(timeout), || timeout.is_zero() || self.services.lock().has_mail());
    }

    /// The time, microseconds.
    pub(crate) fn now_us(&self) -> u64 {
        self.clock.mono_us()
    }

    /// The reactor's thread is awake, with these events: its turn.
    pub(crate) fn wake_up(&self, events: &Events) {
        self.waker.wake_up();
        let mut lent = self.services.lock();
        // Whoever took a turn meanwhile has said that this thread sleeps on.
        self.waker.wake_up();
        let now = self.clock.now();
        events.iter().for_each(|event| lent.announce(event));
        for service in lent.live() {
            service.read_mail(now);
            service.turn(now);
        }
    }

    /// The reactor's thread ends, and its services with it: who keeps this keeps none of them.
    pub(crate) fn end(&self) -> io::Result<()> {
        let (now, mut services) = (self.clock.now(), std::mem::take(&mut self.services.lock().services));
        services.iter_mut().try_for_each(|service| service.end(now))
    }
}

impl Services {
    fn live(&mut self) -> impl Iterator<Item = &mut Box<dyn Service + Send>> {
        self.services.iter_mut().filter(|service| !service.is_done())
    }

    fn announce(&mut self, event: &Event) {
        if event.token() == WAKER {
            return;
        }
        let token = event.token().0;
        let (number, own) = (token >> u32::BITS, u32::try_from(token & u32::MAX as usize));
        if let (Some(service), Ok(own)) = (self.services.get_mut(number), own) {
            service.announced(own, readiness(event));
        }
    }

    fn has_mail(&self) -> bool {
        self.services.iter().any(|service| service.has_mail())
    }

    /// How long the services may wait; nothing if all are done.
    fn wait_max_ms(&self) -> Option<u64> {
        let live = self.services.iter().filter(|service| !service.is_done());
        live.map(|service| service.wait_max_ms()).min()
    }
}

fn readiness(event: &Event) -> Readiness {
    Readiness {
        readable: event.is_readable() || event.is_error() || event.is_write_closed(),
        writable: event.is_writable(),
        hung_up: event.is_read_closed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Now;
    use node_threads::Mailbox;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use crate::{Polling, Reactor};

    /// Counts what it finds in its mailbox, in its turns and in those of the reactor's thread alone.
    struct Counter {
        mail: Arc<Mailbox<usize>>,
        orders: Arc<Mailbox<()>>,
        counted: Arc<AtomicUsize>,
        on_own_thread: Arc<AtomicUsize>,
        wait_ms: u64,
        own_thread: bool,
        done: bool,
    }

    impl Service for Counter {
        fn has_mail(&self) -> bool {
            !self.mail.is_empty() || !self.orders.is_empty()
        }

        fn read_mail(&mut self, _: Now) {
            let mut orders = Vec::new();
            self.orders.take_all(&mut orders);
            self.done |= !orders.is_empty();
            self.own_thread = true;
        }

        fn announced(&mut self, _: u32, _: Readiness) {}

        fn turn(&mut self, _: Now) {
            let mut mail = Vec::new();
            self.mail.take_all(&mut mail);
            if std::mem::take(&mut self.own_thread) {
                self.on_own_thread.fetch_add(mail.len(), Ordering::SeqCst);
            }
            self.counted.fetch_add(mail.iter().sum(), Ordering::SeqCst);
            self.wait_ms = if mail.contains(&7) { 1 } else { 60_000 };
        }

        fn wait_max_ms(&self) -> u64 {
            self.wait_ms
        }

        fn is_done(&self) -> bool {
            self.done
        }

        fn end(&mut self, _: Now) -> io::Result<()> {
            Ok(())
        }
    }

    struct Counting {
        mail: Arc<Mailbox<usize>>,
        orders: Arc<Mailbox<()>>,
        counted: Arc<AtomicUsize>,
        on_own_thread: Arc<AtomicUsize>,
        turns: Arc<Turns>,
        thread: thread::JoinHandle<io::Result<()>>,
    }

    fn counting() -> Counting {
        let polling = Polling::new().expect("a poll");
        let mail = Arc::new(Mailbox::new(Arc::clone(polling.waker())));
        let orders = Arc::new(Mailbox::new(Arc::clone(polling.waker())));
        let (counted, on_own_thread) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let service = Counter {
            mail: Arc::clone(&mail),
            orders: Arc::clone(&orders),
            counted: Arc::clone(&counted),
            on_own_thread: Arc::clone(&on_own_thread),
            wait_ms: 60_000,
            own_thread: false,
            done: false,
        };
        let reactor = Reactor::new(polling, Clock::start(), vec![Box::new(service)]);
        let turns = Arc::clone(reactor.turns());
        let thread = thread::spawn(move || reactor.run());
        Counting { mail, orders, counted, on_own_thread, turns, thread }
    }

    impl Counting {
        fn wait_for(&self, counted: usize) {
            let until = std::time::Instant::now() + Duration::from_secs(30);
            while self.counted.load(Ordering::SeqCst) < counted {
                assert!(std::time::Instant::now() < until, "{:?} of {counted}", self.counted);
                thread::yield_now();
            }
        }

        fn stop(self) {
            self.orders.put(());
            self.thread.join().expect("no panic").expect("no failure");
        }
    }

    #[test]
    fn what_many_threads_say_is_all_read_whoever_takes_the_turns() {
        const EACH: usize = 20_000;
        let counting = counting();
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..EACH {
                        counting.mail.put_all_quietly(&mut vec![1]);
                        counting.turns.take_or_wake();
                    }
                });
            }
            scope.spawn(|| (0..EACH).for_each(|_| counting.mail.put(1)));
        });
        counting.wait_for(3 * EACH);
        counting.stop();
    }

    #[test]
    fn turn_is_taken_here_while_the_reactor_sleeps() {
        let counting = counting();
        let mut seen = 0;
        for _ in 0..100 {
            // It sleeps once it has nothing to do.
            thread::sleep(Duration::from_millis(1));
            counting.mail.put_all_quietly(&mut vec![1]);
            counting.turns.take_or_wake();
            seen += 1;
            counting.wait_for(seen);
        }
        let on_own_thread = counting.on_own_thread.load(Ordering::SeqCst);
        assert!(on_own_thread < 50, "{on_own_thread} of 100");
        counting.stop();
    }

    #[test]
    fn services_end_with_their_reactor_though_others_could_still_take_turns() {
        let counting = counting();
        let (turns, counted) = (Arc::clone(&counting.turns), Arc::clone(&counting.counted));
        counting.stop();
        assert_eq!(Arc::strong_count(&counted), 1, "only this test holds it");
        turns.take_or_wake();
    }

    #[test]
    fn order_to_stop_is_left_to_the_reactor_and_not_slept_over() {
        let counting = counting();
        thread::sleep(Duration::from_millis(20));
        counting.orders.put_all_quietly(&mut vec![()]);
        counting.turns.take_or_wake();
        let until = std::time::Instant::now() + Duration::from_secs(10);
        while !counting.thread.is_finished() && std::time::Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(counting.thread.is_finished(), "it sleeps although there is an order");
    }

    #[test]
    fn reactor_is_woken_if_the_services_may_wait_less_long_than_before() {
        let counting = counting();
        thread::sleep(Duration::from_millis(20));
        counting.mail.put_all_quietly(&mut vec![7]);
        counting.turns.take_or_wake();
        counting.mail.put_all_quietly(&mut vec![1]);
        // Nobody wakes it: its own short sleep ends.
        counting.wait_for(8);
        counting.stop();
    }
}
