//! A producer that goes on while brokers die: idempotent, `acks=all`, at a fixed rate, with the timers that Kafka's Java client has
//! by default. It says when each batch was acknowledged, and by which broker.
//!
//! Messages are due in small groups, as they gather within `linger.ms`. Groups that wait are combined up to `batch.size`. A batch
//! keeps its messages and its sequence number however often it is sent. What is not acknowledged when a connection breaks, or when a
//! broker refuses it for now, is sent again in its order; what a broker took twice it must recognise. Before that there is a pause,
//! unless Metadata names a leader of a later epoch: then that client sends at once, too (KAFKA-15415, from its release 3.7 on).

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use log_wire::messages::transactions::InitProducerIdRequest;
use log_wire::{ErrorCode, Producer};

use super::leaders::Led;
use super::poll::Sockets;
use super::requests::{ProduceRequest, read_answer_to_produce};
use crate::connection::Connection;
use crate::error::{is_retriable, name};

/// `max.in.flight.requests.per.connection`.
const IN_FLIGHT: usize = 5;
/// `request.timeout.ms`: a connection that does not answer for so long is closed.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// `delivery.timeout.ms`: a batch that is not acknowledged within this is lost, and the load fails.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(120);
/// `retry.backoff.ms`, doubled with each failure in a row up to `retry.backoff.max.ms`. Kafka's clients vary it by a fifth.
const BACKOFF: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(1);
/// `batch.size`, bytes of messages.
const BATCH_BYTES_MAX: usize = 16_384;
/// Between two looks at an end that is asked for.
const TURN_MAX: Duration = Duration::from_millis(20);

/// One producer of one partition.
#[derive(Clone, Debug)]
pub struct Steady {
    /// All brokers of the cluster, in the order of their ids, which are 1 and those that follow.
    pub brokers: Vec<SocketAddr>,
    /// The topic, which must be there.
    pub topic: String,
    /// Its partition.
    pub partition: i32,
    /// Groups of messages a second, due whether or not earlier ones were acknowledged.
    pub per_second: f64,
    /// Messages of a group.
    pub group: usize,
    /// Bytes of a message.
    pub message_bytes: usize,
}

/// A group of messages that a broker has acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged {
    /// When it was due to be sent.
    pub due: Instant,
    /// When its acknowledgement came.
    pub at: Instant,
    /// The id of the broker that acknowledged it.
    pub by: i32,
}

/// Produces until `is_over`, then waits until all is acknowledged. Tells each acknowledgement, in the order of the groups. Gives how
/// many messages were acknowledged, which are all.
///
/// # Errors
/// A batch was refused for good, or was not acknowledged in time.
pub fn steady(load: &Steady, is_over: &AtomicBool, told: &Sender<Acknowledged>) -> io::Result<u64> {
    let requests = requests(load)?;
    let window = Window::of(load.group, requests.len());
    let again = Instant::now();
    let last = Last { id: -1, epoch: -1 };
    let mut run = Run {
        load,
        requests,
        window,
        leader: None,
        last,
        failures: 0,
        failure: None,
        again,
        looks: false,
        gone: false,
    };
    let (mut due, every) = (Instant::now(), Duration::from_secs_f64(1.0 / load.per_second));
    loop {
        let ends = is_over.load(Ordering::Relaxed);
        while !ends && due <= Instant::now() {
            run.window.due.push_back(due);
            due += every;
        }
        let Some(oldest) = run.window.due.front() else {
            if ends {
                return Ok(run.window.acknowledged);
            }
            run.turn(due, told)?;
            continue;
        };
        if oldest.elapsed() > DELIVERY_TIMEOUT {
            return Err(run.not_delivered());
        }
        run.turn(if ends { Instant::now() + TURN_MAX } else { due }, told)?;
    }
}

/// The requests of one producer with batches of one group, of two, and so on.
fn requests(load: &Steady) -> io::Result<Vec<ProduceRequest>> {
    let (id, epoch) = producer_id(&load.brokers)?;
    let groups_max = (BATCH_BYTES_MAX / (load.group * load.message_bytes)).max(1);
    let of = |groups: usize| {
        let (to, sizes) = ((load.topic.as_str(), load.partition), (groups * load.group, load.message_bytes));
        let mut request = ProduceRequest::new(to, -1, sizes, Producer::NONE);
        request.set_producer(id, epoch);
        request
    };
    Ok((1..=groups_max).map(of).collect())
}

/// A producer id from any broker.
pub(super) fn producer_id(brokers: &[SocketAddr]) -> io::Result<(i64, i16)> {
    let request = InitProducerIdRequest { transaction_timeout_ms: i32::MAX, ..Default::default() };
    let began = Instant::now();
    loop {
        let address = brokers.first().ok_or(io::ErrorKind::NotFound)?;
        let mut connection =
            Connection::open(&address.to_string(), "log-load", None).map_err(io::Error::other)?;
        let given = connection.call(&request).map_err(io::Error::other)?;
        match given.error_code {
            0 => return Ok((given.producer_id, given.producer_epoch)),
            code if is_retriable(code) && began.elapsed() < REQUEST_TIMEOUT => thread::sleep(BACKOFF),
            code => return Err(io::Error::other(format!("no producer id: the error code {code}"))),
        }
    }
}

/// Groups of messages that are due and not acknowledged, and the batches that the first of them were put in.
#[derive(Debug, Default)]
struct Window {
    due: VecDeque<Instant>,
    batches: VecDeque<Batch>,
    /// How many groups are in the batches.
    batched: usize,
    /// So many of the batches are on their way.
    sent: usize,
    /// Of those that are on their way, so many were answered behind one that was refused: they are sent again.
    passed_over: usize,
    is_refused: bool,
    /// Messages.
    acknowledged: u64,
    /// Messages that were put in batches since the beginning.
    numbered: u64,
    /// Messages of a group.
    group: u64,
    /// Groups of a batch.
    groups_max: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Batch {
    sequence: i32,
    groups: usize,
}

/// What a broker said of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Taken,
    /// It is to be sent again.
    Refused,
}

impl Window {
    fn of(group: usize, groups_max: usize) -> Self {
        Self { group: group as u64, groups_max, ..Self::default() }
    }

    /// The next batch to be sent, if one is to be sent now: one that was sent before, or a new one of all groups that wait.
    fn send(&mut self) -> Option<Batch> {
        if self.is_refused || self.sent >= IN_FLIGHT {
            return None;
        }
        if self.sent == self.batches.len() {
            let groups = (self.due.len() - self.batched).min(self.groups_max);
            if groups == 0 {
                return None;
            }
            // Numbers begin again at 0 behind the largest one.
            let sequence = (self.numbered & 0x7fff_ffff) as i32;
            self.batches.push_back(Batch { sequence, groups });
            self.batched += groups;
            self.numbered += groups as u64 * self.group;
        }
        let batch = self.batches.get(self.sent).copied();
        self.sent += 1;
        batch
    }

    /// Takes the answer to the first batch on its way that has none. Gives when its groups were due if it is acknowledged.
    fn take(&mut self, answer: Answer) -> Vec<Instant> {
        if self.is_refused || answer == Answer::Refused {
            self.is_refused = true;
            self.passed_over += 1;
            return Vec::new();
        }
        let Some(Batch { groups, .. }) = self.batches.pop_front() else { return Vec::new() };
        self.sent = self.sent.saturating_sub(1);
        self.batched -= groups;
        self.acknowledged += groups as u64 * self.group;
        self.due.drain(..groups).collect()
    }

    /// Whether a batch was refused, and those behind it were answered, too.
    const fn is_to_begin_again(&self) -> bool {
        self.is_refused && self.passed_over >= self.sent
    }

    /// All that is not acknowledged is to be sent again.
    const fn begin_again(&mut self) {
        (self.sent, self.passed_over, self.is_refused) = (0, 0, false);
    }
}

/// Which broker leads or led, and since which epoch.
#[derive(Clone, Copy, Debug)]
struct Last {
    id: i32,
    epoch: i32,
}

struct Leader {
    is: Last,
    sockets: Sockets,
    /// When it answered, or was sent something with nothing else on its way.
    heard: Instant,
}

struct Run<'l> {
    load: &'l Steady,
    /// By the groups of their batches, from one on.
    requests: Vec<ProduceRequest>,
    window: Window,
    leader: Option<Leader>,
    /// The last one.
    last: Last,
    /// In a row.
    failures: u32,
    /// The last one.
    failure: Option<String>,
    /// When it is tried again.
    again: Instant,
    /// Whether it is looked before that if another leader is known by now.
    looks: bool,
    /// Whether the last one has not answered, instead of refusing.
    gone: bool,
}

impl Run<'_> {
    /// Sends what may be sent, and waits for answers until `until` at the longest.
    fn turn(&mut self, until: Instant, told: &Sender<Acknowledged>) -> io::Result<()> {
        if self.leader.is_none() {
            if Instant::now() < self.again {
                if std::mem::take(&mut self.looks) {
                    self.leader = self.find().ok().filter(|leader| leader.is.epoch > self.last.epoch);
                    self.last = self.leader.as_ref().map_or(self.last, |leader| leader.is);
                    return Ok(());
                }
                let rest = self.again.min(until).saturating_duration_since(Instant::now());
                thread::sleep(rest.min(TURN_MAX));
                return Ok(());
            }
            match self.find() {
                Ok(leader) => (self.last, self.leader) = (leader.is, Some(leader)),
                Err(error) => self.fail(format!("no leader is reached: {error}")),
            }
            return Ok(());
        }
        let answers = match self.exchange(until) {
            Ok(answers) => answers,
            Err(error) => {
                self.fail(format!("the connection with broker {} failed: {error}", self.last.id));
                return Ok(());
            }
        };
        self.take(&answers, told)
    }

    /// Takes answers, by their error codes.
    fn take(&mut self, codes: &[i16], told: &Sender<Acknowledged>) -> io::Result<()> {
        for code in codes {
            let (at, answer) = (Instant::now(), answer(*code)?);
            if answer == Answer::Refused && !self.window.is_refused {
                self.failure = Some(format!("broker {} refused a batch: {}", self.last.id, name(*code)));
            }
            for due in self.window.take(answer) {
                self.failures = 0;
                // Whoever listens may have gone; the load ends all the same.
                let _ = told.send(Acknowledged { due, at, by: self.last.id });
            }
        }
        if self.window.is_to_begin_again() {
            self.begin_again();
        }
        Ok(())
    }

    /// The leader as Metadata says. The last one is asked first if it has refused: it knows why. If it has not answered, it is asked
    /// last: it may have died.
    fn find(&self) -> io::Result<Leader> {
        let mut failed = io::ErrorKind::NotFound.into();
        let mut brokers: Vec<_> = self.load.brokers.iter().zip(1..).collect();
        brokers.sort_by_key(|(_, id)| (*id == self.last.id) == self.gone);
        for (address, _) in brokers {
            match Led::ask(*address, &self.load.topic, self.load.partition) {
                Ok(led) => {
                    let sockets = Sockets::connect_each([led.address()?])?;
                    let is = Last { id: led.leader, epoch: led.epoch };
                    return Ok(Leader { is, sockets, heard: Instant::now() });
                }
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    /// Sends and receives. Gives the error codes of the answers that came, in their order.
    fn exchange(&mut self, until: Instant) -> io::Result<Vec<i16>> {
        let Some(leader) = &mut self.leader else { return Ok(Vec::new()) };
        if self.window.sent == self.window.passed_over {
            leader.heard = Instant::now();
        }
        while let Some(Batch { sequence, groups }) = self.window.send() {
            let request = self.requests.get_mut(groups - 1).ok_or(io::ErrorKind::InvalidInput)?;
            request.set_sequence(sequence);
            request.send(0, leader.sockets.at(0)?.output());
        }
        leader.sockets.at(0)?.flush()?;
        let (mut readable, mut codes) = (Vec::new(), Vec::new());
        leader.sockets.wait(Some(until), &mut readable)?;
        while let Some(frame) = leader.sockets.at(0)?.next_frame() {
            codes.push(read_answer_to_produce(frame)?.1);
            leader.heard = Instant::now();
        }
        if leader.heard.elapsed() > REQUEST_TIMEOUT {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(codes)
    }

    fn fail(&mut self, why: String) {
        self.failure = Some(why);
        self.begin_again();
        self.gone = true;
    }

    /// Everything that is not acknowledged is sent again, at once to a later leader, and to the same one after a while.
    fn begin_again(&mut self) {
        self.leader = None;
        self.window.begin_again();
        self.again = Instant::now() + backoff(self.failures);
        (self.looks, self.gone) = (true, false);
        self.failures += 1;
    }

    /// A batch was not acknowledged in time.
    fn not_delivered(&self) -> io::Error {
        let last = self.failure.as_deref().unwrap_or("none");
        let (failures, groups) = (self.failures, self.window.due.len());
        let what = format!(
            "messages were not acknowledged for {DELIVERY_TIMEOUT:?} ({groups} groups wait; {failures} failures in a row; the last failure: {last})"
        );
        io::Error::new(io::ErrorKind::TimedOut, what)
    }
}

/// How long a producer rests after so many failures in a row before this one.
fn backoff(failures: u32) -> Duration {
    (BACKOFF * 2u32.saturating_pow(failures.min(10))).min(BACKOFF_MAX)
}

/// What an error code says of a batch.
fn answer(code: i16) -> io::Result<Answer> {
    const LATER: [ErrorCode; 4] = [
        ErrorCode::NotEnoughReplicasAfterAppend,
        // An earlier batch was refused.
        ErrorCode::OutOfOrderSequenceNumber,
        ErrorCode::FencedLeaderEpoch,
        ErrorCode::UnknownLeaderEpoch,
    ];
    match code {
        0 => Ok(Answer::Taken),
        // It was sent before, and taken then.
        code if code == ErrorCode::DuplicateSequenceNumber.code() => Ok(Answer::Taken),
        code if is_retriable(code) || LATER.iter().any(|later| later.code() == code) => Ok(Answer::Refused),
        code => Err(io::Error::other(format!("a batch was refused with the error code {code}"))),
    }
}

/// Whether a batch with that error code is taken. If not, it is to be sent again.
pub(super) fn is_taken(code: i16) -> io::Result<bool> {
    Ok(answer(code)? == Answer::Taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups of ten messages, at most three in a batch.
    fn window(due: usize) -> Window {
        Window { due: vec![Instant::now(); due].into(), ..Window::of(10, 3) }
    }

    fn send_all(window: &mut Window) -> Vec<(i32, usize)> {
        std::iter::from_fn(|| window.send()).map(|batch| (batch.sequence, batch.groups)).collect()
    }

    #[test]
    fn window_combines_groups_that_wait_and_sends_five_batches() {
        let mut window = window(17);
        assert_eq!(send_all(&mut window), [(0, 3), (30, 3), (60, 3), (90, 3), (120, 3)]);
        assert_eq!(window.take(Answer::Taken).len(), 3);
        assert_eq!(send_all(&mut window), [(150, 2)]);
        assert_eq!((window.acknowledged, window.sent, window.due.len()), (30, 5, 14));
    }

    #[test]
    fn window_sends_what_follows_a_refused_batch_again_as_it_was() {
        let mut window = window(1);
        send_all(&mut window);
        window.due.extend([Instant::now(); 4]);
        send_all(&mut window);
        assert_eq!(window.take(Answer::Taken).len(), 1);
        assert!(window.take(Answer::Refused).is_empty());
        assert!(!window.is_to_begin_again());
        window.due.push_back(Instant::now());
        assert_eq!(window.send(), None);
        assert!(window.take(Answer::Taken).is_empty(), "it is sent again, and taken once");
        assert!(window.is_to_begin_again());
        window.begin_again();
        assert_eq!(send_all(&mut window), [(10, 3), (40, 1), (50, 1)]);
        assert_eq!(window.acknowledged, 10);
    }

    #[test]
    fn sequence_numbers_begin_again_behind_the_largest() {
        let mut window = Window { numbered: 1 << 31, ..window(1) };
        assert_eq!(send_all(&mut window), [(0, 1)]);
    }

    #[test]
    fn pauses_before_another_try_double_up_to_a_second() {
        let pauses: Vec<_> = (0..6).map(|failures| backoff(failures).as_millis()).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1000, 1000]);
    }

    #[test]
    fn batches_are_sent_again_unless_they_are_refused_for_good() {
        assert_eq!(answer(0).unwrap(), Answer::Taken);
        assert_eq!(answer(ErrorCode::DuplicateSequenceNumber.code()).unwrap(), Answer::Taken);
        for code in [ErrorCode::NotLeaderOrFollower, ErrorCode::NotEnoughReplicasAfterAppend] {
            assert_eq!(answer(code.code()).unwrap(), Answer::Refused);
        }
        assert!(answer(ErrorCode::MessageTooLarge.code()).is_err());
    }
}
