//! Producers that go on, with the timers of Kafka's Java client, while something is done to brokers.

use std::cell::RefCell;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use log_client::load::{Acknowledged, Led, Steady, steady};

use super::{PHASE, Topic};
use crate::log::Stand;
use crate::log::job::MESSAGE_BYTES;
use crate::measure::Phase;

/// Messages that are due together: what a producer gathers within `linger.ms`, by default 5.
pub(super) const GROUP: usize = 5;
/// How long a fault may keep producers from a partition, and a broker from coming back: a client waits 30 s for an answer, and a
/// cold JVM that starts beside two others needs most of a minute.
pub(super) const OVER_WITHIN: Duration = Duration::from_secs(150);
/// How old a message may be when it is acknowledged by a producer that has caught up: more waits after an outage.
const CAUGHT_UP: Duration = Duration::from_millis(100);
/// Between two looks who leads. Not a synchronisation: only how often we look.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A producer of that partition, with so many messages a second.
pub(super) fn steady_at(stand: &Stand, (topic, partition): (&Topic, i32), per_second: f64) -> Steady {
    Steady {
        brokers: stand.addresses(),
        topic: topic.name.clone(),
        partition,
        per_second: per_second / GROUP as f64,
        group: GROUP,
        message_bytes: MESSAGE_BYTES,
    }
}

/// A producer of each partition of a topic, with so many messages a second of all together.
pub(super) fn steady_all(stand: &Stand, topic: &Topic, per_second: f64) -> Vec<Steady> {
    let each = per_second / f64::from(topic.partitions.max(1));
    (0..topic.partitions).map(|partition| steady_at(stand, (topic, partition), each)).collect()
}

/// What came of producers.
pub(super) struct Produced<T> {
    /// What was done meanwhile.
    pub(super) done: T,
    /// How many messages were acknowledged in the end, which are all.
    pub(super) acknowledged: u64,
    groups: Vec<Acknowledged>,
}

impl<T> Produced<T> {
    /// What messages took that were due at that time. An operation is a message, a latency that of a group.
    pub(super) fn within(&self, (from, until): (Instant, Instant)) -> Phase {
        let mut phase = Phase::new(PHASE);
        for told in self.groups.iter().filter(|told| (from..until).contains(&told.due)) {
            phase.record(told.at.saturating_duration_since(told.due));
        }
        phase.operations *= GROUP as u64;
        phase.elapsed = until - from;
        phase
    }
}

/// Does something while these producers go on, and waits then until all their messages are acknowledged.
///
/// # Errors
/// It failed, or a producer did.
pub(super) fn while_producing<T>(
    loads: &[Steady],
    act: impl FnOnce(&Told) -> io::Result<T>,
) -> io::Result<Produced<T>> {
    let (is_over, (sender, receiver)) = (AtomicBool::new(false), mpsc::channel());
    let told = Told { receiver, heard: RefCell::default() };
    let (done, produced) = thread::scope(|scope| {
        let over = &is_over;
        let start = |load| {
            let sender = sender.clone();
            scope.spawn(move || steady(load, over, &sender))
        };
        let running: Vec<_> = loads.iter().map(start).collect();
        drop(sender);
        let done = act(&told);
        is_over.store(true, Ordering::Relaxed);
        let each = running
            .into_iter()
            .map(|one| one.join().unwrap_or_else(|_| Err(io::Error::other("a producer has panicked"))));
        (done, each.sum::<io::Result<u64>>())
    });
    // Why a producer has ended says more than that it has.
    let (acknowledged, done) = (produced?, done?);
    let Told { receiver, heard } = told;
    let mut groups = heard.into_inner();
    groups.extend(receiver.try_iter());
    Ok(Produced { done, acknowledged, groups })
}

/// What producers tell.
pub(super) struct Told {
    receiver: Receiver<Acknowledged>,
    /// What was taken of it.
    heard: RefCell<Vec<Acknowledged>>,
}

impl Told {
    /// Waits until a producer has no messages left of an outage before: what it still sends of them would count for the next one.
    pub(super) fn caught_up(&self) -> io::Result<()> {
        let began = Instant::now();
        while began.elapsed() < OVER_WITHIN {
            if self.next(LOOK_EVERY)?.is_some_and(|told| told.at > began && told.at - told.due < CAUGHT_UP) {
                return Ok(());
            }
        }
        let what = format!("the producer did not catch up within {OVER_WITHIN:?}");
        Err(io::Error::new(io::ErrorKind::TimedOut, what))
    }

    /// Takes what the producers tell for so long.
    pub(super) fn listen(&self, time: Duration) -> io::Result<()> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if self.next(left)?.is_none() && left.is_zero() {
                return Ok(());
            }
        }
    }

    /// The next acknowledgement, if one comes within that time.
    pub(super) fn next(&self, within: Duration) -> io::Result<Option<Acknowledged>> {
        match self.receiver.recv_timeout(within) {
            Ok(told) => {
                self.heard.borrow_mut().push(told);
                Ok(Some(told))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(io::Error::other("the producers have ended")),
        }
    }
}

/// Waits until all partitions have leaders, and all their replicas are in sync, one on each broker. `rest` is called between two looks.
pub(super) fn whole(
    stand: &Stand,
    topic: &Topic,
    rest: impl Fn(Duration) -> io::Result<()>,
) -> io::Result<Vec<Led>> {
    let (all, began) = (stand.addresses(), Instant::now());
    loop {
        let of = |partition| all.iter().find_map(|address| Led::ask(*address, &topic.name, partition).ok());
        let led: Vec<_> = (0..topic.partitions).filter_map(of).collect();
        let is_whole = |led: &Led| led.leader >= 0 && led.in_sync.len() == all.len();
        if led.len() == topic.partitions.unsigned_abs() as usize && led.iter().all(is_whole) {
            return Ok(led);
        }
        if began.elapsed() > OVER_WITHIN {
            let what = format!("not all replicas are in sync within {OVER_WITHIN:?}: {led:?}");
            return Err(io::Error::new(io::ErrorKind::TimedOut, what));
        }
        rest(LOOK_EVERY * 10)?;
    }
}
