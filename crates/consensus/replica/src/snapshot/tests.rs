//! A snapshot's way from a leader to a member that lags, with everything that may go wrong.

use base::{Now, WallTime};
use bytes::Bytes;
use consensus_raft::{Config, HardState, Membership, Message, Recovered, SnapshotOffer, Term};

use super::*;
use crate::journal::JournalRequest;
use crate::peer_message::{PeerMessage, SnapshotEnd};
use crate::test_support::{Note, Notes, raft, view};

const LEADER: MemberId = MemberId(1);
const FOLLOWER: MemberId = MemberId(2);
const INDEX: LogIndex = LogIndex(10);

fn members() -> Membership {
    Membership { voters: vec![LEADER, FOLLOWER], ..Membership::default() }
}

/// Raft of a leader whose log begins behind its snapshot.
fn leader() -> RaftNode {
    let recovered = Recovered {
        hard_state: HardState { term: Term(1), vote: None, commit: INDEX },
        membership: members(),
        base_index: INDEX,
        base_term: Term(1),
        entries: Vec::new(),
    };
    let mut leader = RaftNode::new(&Config::new(LEADER, 7), &recovered, INDEX);
    leader.offer_snapshot(Some(SnapshotOffer { index: INDEX, term: Term(1), membership: members() }));
    leader.campaign();
    leader
}

/// What the two say to each other until one offers the other its snapshot.
fn offer(follower: &mut RaftNode) -> Message {
    let mut leader = leader();
    for _ in 0..20 {
        for from_leader in [true, false] {
            let (from, to) =
                if from_leader { (&mut leader, &mut *follower) } else { (&mut *follower, &mut leader) };
            while let Some(ready) = from.ready() {
                ready.persist.into_iter().for_each(|persist| from.persisted(persist.number));
            }
            for envelope in std::mem::take(from.outbox()) {
                if envelope.message.snapshot().is_some() {
                    return envelope.message;
                }
                to.step(envelope.message).expect("it may be said");
            }
        }
    }
    panic!("no snapshot is offered");
}

/// A state's snapshot in chunks, and what it says of itself.
fn chunks() -> (Vec<Bytes>, SnapshotEnd) {
    let notes: Vec<u8> = (1..=9).collect();
    let end = SnapshotEnd {
        position: Notes::position(&notes),
        digest: Notes::digest(&notes),
        created: WallTime::of_ms(3),
    };
    (notes.chunks(3).map(Bytes::copy_from_slice).collect(), end)
}

/// A member that is offered a snapshot.
struct World {
    snapshots: Snapshots<Notes>,
    raft: RaftNode,
    view: View,
    out: Output<Note>,
}

impl World {
    fn offered(is_busy: bool) -> Self {
        let (mut raft, view) = (raft(2, &[1, 2]), view(2, &[1, 2]));
        let message = offer(&mut raft);
        let snapshots = Snapshots::new(&view.config, LogIndex::ZERO, &Vec::new());
        let mut world = Self { snapshots, raft, view, out: Output::default() };
        let Self { snapshots, raft, view, out } = &mut world;
        snapshots.received.offered(LEADER, message, is_busy, raft, view, out);
        world
    }

    fn take(&mut self, first: u64, chunks: &[Bytes], end: Option<SnapshotEnd>) {
        let Self { snapshots, raft, view, out } = self;
        snapshots.received.take_chunks((LEADER, INDEX, first), chunks, end, raft, view, out);
    }

    fn tick_at(&mut self, now: Now) {
        self.view.now = now;
        let Self { snapshots, raft, view, out } = self;
        snapshots.tick(raft, view, out);
    }

    fn sent(&mut self) -> Vec<PeerMessage<Note>> {
        self.out.take_outgoing().into_iter().map(|(_, message)| message).collect()
    }
}

const fn want(chunk: u64) -> PeerMessage<Note> {
    PeerMessage::Want { index: INDEX, chunk }
}

const fn taken(whole: bool) -> PeerMessage<Note> {
    PeerMessage::Taken { index: INDEX, whole }
}

#[test]
fn snapshot_is_taken_chunk_by_chunk_and_its_sender_hears_once_it_is_durable() {
    let mut world = World::offered(false);
    assert_eq!(world.sent(), [want(0)]);
    assert!(matches!(world.out.take_requests()[..], [JournalRequest::SnapshotBegin]));
    let (chunks, end) = chunks();
    assert!(chunks.len() > 2);
    world.take(1, &chunks[1..2], None);
    assert!(world.out.take_requests().is_empty(), "the first is missing");
    world.take(0, &chunks[..1], None);
    assert_eq!(world.sent(), [want(1)]);
    world.take(0, &chunks[..1], None);
    world.take(1, &chunks[1..], Some(end));
    assert_eq!(world.out.take_requests().len(), chunks.len(), "each once");
    assert!(world.snapshots.received.is_finishing() && !world.snapshots.received.is_due());
    let offer = std::iter::from_fn(|| world.raft.ready()).find_map(|ready| ready.snapshot);
    world.snapshots.received.take_over(offer.expect("raft relies on it"), &mut world.out);
    assert!(matches!(world.out.take_requests()[..], [JournalRequest::SnapshotFinish { replaces: true, .. }]));
    let received = world.snapshots.received.take_due().expect("it is whole");
    assert_eq!((Notes::digest(&received.state), received.offer.index), (end.digest, INDEX));
    assert!(world.sent().is_empty() && world.snapshots.received.is_active(), "it is not durable yet");
    let World { snapshots, raft, view, out } = &mut world;
    snapshots.saved(INDEX, raft, view, out);
    assert_eq!(world.sent(), [taken(true)]);
    assert!(!world.snapshots.received.is_active());
    assert_eq!(world.snapshots.received.states_replaced(), 1);
}

#[test]
fn snapshot_with_another_digest_is_not_taken() {
    let mut world = World::offered(false);
    let (chunks, end) = chunks();
    world.take(0, &chunks, Some(SnapshotEnd { digest: !end.digest, ..end }));
    assert_eq!(world.sent(), [want(0), taken(false)]);
    assert!(!world.snapshots.received.is_active());
}

#[test]
fn snapshot_is_declined_while_one_of_our_own_is_saved() {
    let mut world = World::offered(true);
    assert_eq!(world.sent(), [taken(false)]);
    assert!(world.out.take_requests().is_empty());
}

#[test]
fn snapshot_that_does_not_come_is_asked_for_again_and_given_up() {
    let mut world = World::offered(false);
    world.sent();
    let began = world.view.now;
    let at = |ms| Now::of_ms(began.mono().ms() + ms, began.wall.ms());
    world.tick_at(at(ASK_AGAIN_MS - 1));
    assert_eq!(world.sent(), []);
    world.tick_at(at(ASK_AGAIN_MS));
    assert_eq!(world.sent(), [want(0)]);
    world.tick_at(at(TIMEOUT_MS + 1));
    assert_eq!(world.sent(), [taken(false)]);
    assert!(!world.snapshots.received.is_active());
}

#[test]
fn snapshot_that_cannot_be_written_is_a_fault_only_once_raft_relies_on_it() {
    let mut world = World::offered(false);
    assert_eq!(world.snapshots.failed("full", &mut world.out), Ok(()));
    assert_eq!(world.sent(), [want(0), taken(false)]);
    let mut world = World::offered(false);
    let (chunks, end) = chunks();
    world.take(0, &chunks, Some(end));
    let lost = Fault::SnapshotLost { reason: String::from("full") };
    assert_eq!(world.snapshots.failed("full", &mut world.out), Err(lost));
}

#[test]
fn chunks_are_read_for_one_question_at_a_time_and_offered_again_to_who_says_nothing() {
    let mut follower = raft(2, &[1, 2]);
    let message = offer(&mut follower);
    let (mut raft, view) = (leader(), view(1, &[1, 2]));
    let (mut sender, mut out) = (SnapshotSender::default(), Output::<Note>::default());
    sender.offer(FOLLOWER, INDEX, message.clone(), view.now, &mut out);
    sender.wanted(FOLLOWER, INDEX, 0, view.now, &mut out);
    sender.wanted(FOLLOWER, INDEX, 0, view.now, &mut out);
    sender.wanted(FOLLOWER, INDEX.next(), 0, view.now, &mut out);
    let asked = JournalRequest::SnapshotRead { peer: FOLLOWER, index: INDEX, first: 0 };
    assert_eq!(format!("{:?}", out.take_requests()), format!("{:?}", [asked]));
    sender.read((FOLLOWER, INDEX, 0), Some((Vec::new(), None)), &mut raft, &mut out);
    let chunks = PeerMessage::Chunks { index: INDEX, first: 0, chunks: Vec::new(), end: None };
    assert_eq!(out.take_outgoing(), [(FOLLOWER, PeerMessage::Offer(message.clone())), (FOLLOWER, chunks)]);
    let later = Now::of_ms(view.now.mono().ms() + ASK_AGAIN_MS, view.now.wall.ms());
    sender.tick(later, &mut raft, &mut out);
    assert_eq!(out.take_outgoing(), [(FOLLOWER, PeerMessage::Offer(message))]);
    assert!(sender.indexes().eq([INDEX]));
    let silent = Now::of_ms(view.now.mono().ms() + TIMEOUT_MS + 1, view.now.wall.ms());
    sender.tick(silent, &mut raft, &mut out);
    assert_eq!(sender.indexes().count(), 0);
}
