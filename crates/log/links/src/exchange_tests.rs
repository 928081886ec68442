//! What is taken, what is refused, and who is woken.

use std::sync::atomic::{AtomicUsize, Ordering};

use net_peers::PeerNumber;
use replication_controller::Incarnation;

use super::*;

const TWO: ReplicaId = ReplicaId(2);
const MAX: usize = 10_000;

struct Bench {
    exchange: Exchange,
    wakes: Arc<AtomicUsize>,
}

const fn link(serial: u64) -> PairRef {
    PairRef { number: PeerNumber(2), serial }
}

fn message(length: usize) -> Bytes {
    let mut bytes = vec![0; length];
    bytes[..2].copy_from_slice(&[replication_wire::VERSION, 1]);
    Bytes::from(bytes)
}

fn of(bytes: Bytes) -> LinkEvent {
    LinkEvent::Message { from: TWO, bytes }
}

impl Bench {
    fn new() -> Self {
        let wakes = Arc::new(AtomicUsize::new(0));
        let counts = Arc::clone(&wakes);
        let owner = move || drop(counts.fetch_add(1, Ordering::Relaxed).to_string());
        let limits = LinkLimits { waiting_bytes_max: MAX, untaken_bytes_max: MAX, ..LinkLimits::default() };
        Self { exchange: Exchange::new(ThreadWaker::of_parking(), owner, limits), wakes }
    }

    fn tell(&self, pair: PairRef, event: LinkEvent, unsent: usize) -> Vec<PairRef> {
        self.exchange.publish(&mut vec![Told { pair, event }], |_, _| unsent)
    }

    fn connect(&self, serial: u64) {
        let event = LinkEvent::Connected { from: TWO, incarnation: Incarnation(serial) };
        assert!(self.tell(link(serial), event, 0).is_empty());
    }

    fn take(&self) -> Vec<LinkEvent> {
        let mut events = Vec::new();
        self.exchange.take(&mut events);
        events
    }

    /// The links' thread takes what was sent: over which link each message is to go.
    fn sent(&self) -> Vec<u64> {
        let mut outgoing = Vec::new();
        self.exchange.take_work(&mut outgoing);
        outgoing.iter().map(|one: &Outgoing| one.pair.serial).collect()
    }
}

#[test]
fn message_goes_over_the_link_that_the_owner_knows_or_nowhere() {
    let bench = Bench::new();
    let send = || bench.exchange.send(TWO, Lane::Control, message(9));
    assert_eq!(send(), Err(NotSent::NotConnected));
    bench.connect(1);
    assert_eq!(send(), Err(NotSent::NotConnected), "nobody was told");
    bench.take();
    assert_eq!(send(), Ok(()));
    bench.tell(link(1), LinkEvent::Broken { from: TWO }, 0);
    bench.connect(2);
    assert_eq!(send(), Err(NotSent::NotConnected), "the owner knows of the first one");
    assert_eq!(bench.sent(), [1]);
    bench.take();
    assert_eq!((send(), bench.sent()), (Ok(()), vec![2]));
}

#[test]
fn lane_that_is_full_takes_again_once_half_of_it_is_sent_and_the_other_lane_is_not_full() {
    let bench = Bench::new();
    bench.connect(1);
    bench.take();
    let bulk = |length| bench.exchange.send(TWO, Lane::Bulk, message(length));
    assert_eq!(bulk(2 * MAX), Ok(()), "a single one may be longer");
    assert_eq!(bulk(9), Err(NotSent::Full));
    assert_eq!(bench.exchange.send(TWO, Lane::Control, message(9)), Ok(()));
    assert_eq!(bench.sent().len(), 2);
    for (unsent, room) in [(2 * MAX, false), (MAX / 2 + 1, false), (MAX / 2, true), (0, false)] {
        bench.exchange.publish(&mut Vec::new(), |_, lane| if lane == Lane::Bulk { unsent } else { 0 });
        let expected = [LinkEvent::Room { to: TWO, lane: Lane::Bulk }];
        assert_eq!(bench.take(), if room { &expected[..] } else { &[] }, "{unsent}");
    }
    assert_eq!(bulk(9), Ok(()));
}

#[test]
fn link_whose_messages_nobody_takes_is_held_until_they_are_taken() {
    let bench = Bench::new();
    bench.connect(1);
    assert!(bench.tell(link(1), of(message(MAX - 200)), 0).is_empty());
    assert_eq!(bench.tell(link(1), of(message(200)), 0), [link(1)]);
    assert!(bench.tell(link(1), of(message(200)), 0).is_empty(), "it is held already");
    assert!(bench.exchange.take_work(&mut Vec::new()).released.is_empty());
    assert_eq!(bench.take().len(), 4);
    assert!(bench.exchange.has_work());
    assert_eq!(bench.exchange.take_work(&mut Vec::new()).released, [link(1)]);
}

#[test]
fn owner_is_woken_once_for_all_that_it_has_not_taken() {
    let bench = Bench::new();
    bench.connect(1);
    for _ in 0..9 {
        bench.tell(link(1), of(message(9)), 0);
    }
    assert_eq!((bench.wakes.load(Ordering::Relaxed), bench.take().len()), (1, 10));
    bench.exchange.publish(&mut Vec::new(), |_, _| 0);
    bench.tell(link(1), LinkEvent::Broken { from: TWO }, 0);
    assert_eq!((bench.wakes.load(Ordering::Relaxed), bench.take().len()), (2, 1));
}

#[test]
fn refused_link_loses_its_messages_and_no_other_event() {
    let bench = Bench::new();
    bench.exchange.refuse(TWO, String::from("nobody knows it"));
    assert!(!bench.exchange.has_work());
    bench.connect(1);
    bench.take();
    bench.tell(link(1), of(message(9)), 0);
    bench.tell(link(1), LinkEvent::Heard { from: TWO }, 0);
    bench.exchange.refuse(TWO, String::from("nonsense"));
    assert_eq!(bench.take(), [LinkEvent::Heard { from: TWO }]);
    assert_eq!(bench.exchange.take_work(&mut Vec::new()).refused, [(link(1), String::from("nonsense"))]);
}
