//! Messages that no member that works sends, in the name of one that is a member: they stop no member, change nothing that
//! is committed, and are counted.

use base::{LogIndex, MemberId, MonoTime, Term};
use bytes::Bytes;
use consensus_raft::Message;
use consensus_replica::Tenure;
use consensus_replica::founding::FoundingMessage;
use council_replica::{CouncilMessage, PeerMessage};
use council_wire::SessionId;
use sim_council::client::Client;
use sim_council::disk::SimDisk;
use sim_council::node::Node;

use crate::three::{LEASE_MS, Nodes, blank, leader, node, pass, three};

const FAR: u64 = 1 << 40;
const WRITES: usize = 20;

/// One message of the engine's, with its fields as they are on the wire.
#[derive(Clone, Default)]
struct Engine {
    kind: u8,
    reject: bool,
    term: u64,
    log_term: u64,
    index: u64,
    commit: u64,
    commit_term: u64,
    reject_hint: u64,
    request_snapshot: u64,
    context: Vec<u8>,
    /// Kind, index, term and content of each.
    entries: Vec<(u8, u64, u64, Vec<u8>)>,
    /// Index, term and voters.
    snapshot: Option<(u64, u64, Vec<u64>)>,
}

const APPEND: u8 = 0;
const APPEND_RESPONSE: u8 = 1;
const VOTE: u8 = 2;
const VOTE_RESPONSE: u8 = 3;
const SNAPSHOT: u8 = 4;
const HEARTBEAT: u8 = 5;
const HEARTBEAT_RESPONSE: u8 = 6;
const TRANSFER: u8 = 7;
const TIMEOUT_NOW: u8 = 8;
const READ_INDEX: u8 = 9;
const READ_INDEX_RESPONSE: u8 = 10;
const PRE_VOTE: u8 = 11;

impl Engine {
    fn bytes(&self, from: u64, to: u64) -> Bytes {
        let mut out = vec![self.kind, u8::from(self.reject) | u8::from(self.snapshot.is_some()) << 1];
        for number in [
            to,
            from,
            self.term,
            self.log_term,
            self.index,
            self.commit,
            self.commit_term,
            self.reject_hint,
            self.request_snapshot,
        ] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let put = |out: &mut Vec<u8>, bytes: &[u8]| {
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            out.extend_from_slice(bytes);
        };
        put(&mut out, &self.context);
        out.extend_from_slice(&(self.entries.len() as u32).to_le_bytes());
        for (kind, index, term, content) in &self.entries {
            out.push(*kind);
            out.extend_from_slice(&index.to_le_bytes());
            out.extend_from_slice(&term.to_le_bytes());
            put(&mut out, content);
        }
        if let Some((index, term, voters)) = &self.snapshot {
            out.extend_from_slice(&index.to_le_bytes());
            out.extend_from_slice(&term.to_le_bytes());
            for list in [&voters[..], &[], &[], &[]] {
                out.extend_from_slice(&(list.len() as u32).to_le_bytes());
                list.iter().for_each(|id| out.extend_from_slice(&id.to_le_bytes()));
            }
            out.push(0);
        }
        Bytes::from(out)
    }

    fn message(&self, from: u64, to: u64) -> PeerMessage {
        PeerMessage::Engine(Message::decode(self.bytes(from, to)).expect("it is whole"))
    }

    fn offer(&self, from: u64, to: u64) -> PeerMessage {
        PeerMessage::Offer(Message::decode(self.bytes(from, to)).expect("it is whole"))
    }
}

/// Every message that once stopped a member, or might have, in the term `term` of the target whose log ends at `last`.
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn false_engine(Term(term): Term, LogIndex(last): LogIndex) -> Vec<(&'static str, Engine)> {
    let of = |kind| Engine { kind, term, ..Engine::default() };
    let entry = |index, term| (0, index, term, Vec::new());
    let gap = vec![(0, 900_000, term, b"x".to_vec())];
    let over = (2..6).map(|index| entry(index, term + 1)).collect();
    let garbage = vec![(0, last + 1, term, b"garbage".to_vec())];
    let change = vec![(1, last + 1, term, b"garbage".to_vec())];
    let read = vec![(0, 0, 0, b"zz".to_vec())];
    vec![
        ("heartbeat far ahead", Engine { commit: FAR, ..of(HEARTBEAT) }),
        ("heartbeat of the last term", Engine { term: u64::MAX, ..of(HEARTBEAT) }),
        ("heartbeat of no term", Engine { term: 0, ..of(HEARTBEAT) }),
        ("append behind a gap", Engine { index: 2, log_term: term, commit: FAR, entries: gap, ..of(APPEND) }),
        (
            "append over what is committed",
            Engine { term: term + 1, index: 1, log_term: 1, commit: 1, entries: over, ..of(APPEND) },
        ),
        (
            "append below what is committed",
            Engine { term: term + 1, index: last, log_term: 0, commit: FAR, ..of(APPEND) },
        ),
        ("append of garbage", Engine { index: last, log_term: term, entries: garbage, ..of(APPEND) }),
        (
            "append of a garbage change of members",
            Engine { index: last, log_term: term, entries: change, ..of(APPEND) },
        ),
        ("append at the end of all numbers", Engine { index: u64::MAX, ..of(APPEND) }),
        ("snapshot", Engine { snapshot: Some((FAR, term, vec![1, 2, 3])), ..of(SNAPSHOT) }),
        ("vote of the last term", Engine { term: u64::MAX, index: FAR, log_term: 5, ..of(VOTE) }),
        ("vote of no term", Engine { term: 0, index: FAR, log_term: 5, ..of(VOTE) }),
        ("pre-vote of no term", Engine { term: 0, ..of(PRE_VOTE) }),
        ("a vote that nobody asked for", of(VOTE_RESPONSE)),
        ("a vote of a later term", Engine { term: term + 1, ..of(VOTE_RESPONSE) }),
        ("read index without anything", Engine { term: 0, ..of(READ_INDEX) }),
        ("read index", Engine { term: 0, entries: read.clone(), ..of(READ_INDEX) }),
        ("read index of a term", Engine { entries: read.clone(), ..of(READ_INDEX) }),
        ("read index answer", Engine { index: FAR, entries: read, ..of(READ_INDEX_RESPONSE) }),
        ("read index answer without anything", Engine { index: FAR, ..of(READ_INDEX_RESPONSE) }),
        ("transfer", of(TRANSFER)),
        ("timeout", of(TIMEOUT_NOW)),
        ("append answer far ahead", Engine { index: 1 << 60, ..of(APPEND_RESPONSE) }),
        (
            "append answer with a hint far ahead",
            Engine { reject: true, index: last, reject_hint: u64::MAX, ..of(APPEND_RESPONSE) },
        ),
        ("append answer for a snapshot", Engine { request_snapshot: FAR, ..of(APPEND_RESPONSE) }),
        (
            "heartbeat answer far ahead",
            Engine { commit: FAR, context: vec![1; 99], ..of(HEARTBEAT_RESPONSE) },
        ),
    ]
}

fn false_others(term: Term) -> Vec<PeerMessage> {
    let garbage = Bytes::from_static(b"\x01garbage that is no batch of commands");
    vec![
        PeerMessage::LeaseGrant { term, at: MonoTime::MAX },
        PeerMessage::LeaseGrant { term: Term(u64::MAX), at: MonoTime::MAX },
        PeerMessage::LeaseAsk { term, at: MonoTime::MAX },
        PeerMessage::Machine(CouncilMessage::Touched {
            round: 1,
            ages: vec![(SessionId(1), u64::MAX); 1_000],
        }),
        PeerMessage::Machine(CouncilMessage::TouchAsk { round: u64::MAX }),
        PeerMessage::Digest { position: 128, digest: 1 },
        PeerMessage::Digest { position: i64::MIN, digest: 1 },
        PeerMessage::Want { index: LogIndex(FAR), chunk: FAR },
        PeerMessage::Chunks {
            index: LogIndex(FAR),
            first: 0,
            chunks: vec![Bytes::from_static(b"abc")],
            end: None,
        },
        PeerMessage::Taken { index: LogIndex(FAR), whole: true },
        PeerMessage::Machine(CouncilMessage::Forward(garbage)),
        PeerMessage::Machine(CouncilMessage::Forward(Bytes::new())),
        PeerMessage::LeaderLost { term: Term(u64::MAX), leader: MemberId(1), last_index: LogIndex(u64::MAX) },
        PeerMessage::Founding(FoundingMessage::Blank { incarnation: [1; 16], founds: true }),
        PeerMessage::Founding(FoundingMessage::Seated { cluster: [1; 16], untouched: None }),
        PeerMessage::Founding(FoundingMessage::Propose {
            cluster: [1; 16],
            voters: [1, 2, 3].map(MemberId).to_vec(),
        }),
        PeerMessage::Founding(FoundingMessage::Admitted {
            cluster: [1; 16],
            id: MemberId(77 * 256 + 1),
            incarnation: [1; 16],
        }),
        PeerMessage::Founding(FoundingMessage::Replaced { id: MemberId(1), index: LogIndex(1 << 62) }),
        PeerMessage::Founding(FoundingMessage::Replaced { id: MemberId(2), index: LogIndex(1 << 62) }),
        PeerMessage::Founding(FoundingMessage::Replaced { id: MemberId(3), index: LogIndex(1 << 62) }),
    ]
}

/// Three members that serve, who leads, and what is committed.
fn begin() -> (Nodes, u64) {
    let mut nodes = three();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    let mut client = Client::connect(node(&mut nodes, led), 60_000);
    pass(&mut nodes, 500, |_, _| true);
    for number in 0..WRITES {
        client.create(node(&mut nodes, led), &format!("/{number}"), b"v", 0);
    }
    pass(&mut nodes, 1_000, |_, _| true);
    assert_eq!(client.replies(node(&mut nodes, led)).len(), WRITES);
    (nodes, led)
}

fn holds_all(node: &Node<SimDisk>) -> bool {
    (0..WRITES).all(|number| node.tree().node(&format!("/{number}")).is_some())
}

/// All serve, hold what was committed, and take writes.
fn is_well(nodes: &mut Nodes, what: &str) {
    let led = leader(nodes, |_| true, |_, _| true);
    pass(nodes, 2 * LEASE_MS, |_, _| true);
    for node in nodes.values_mut() {
        assert_eq!(node.core().tenure(), Tenure::Sound, "{what}");
        assert!(node.core().status().serving && holds_all(node), "{what}");
    }
    let mut client = Client::connect(node(nodes, led), 20_000);
    pass(nodes, 200, |_, _| true);
    client.create(node(nodes, led), "/after", b"v", 0);
    pass(nodes, 200, |_, _| true);
    assert!(!client.replies(node(nodes, led)).is_empty(), "{what}");
}

#[test]
fn false_engine_messages_stop_no_member_and_change_nothing() {
    for case in 0..false_engine(Term(1), LogIndex(1)).len() {
        for to_leader in [false, true] {
            let (mut nodes, led) = begin();
            let other = if led == 1 { 2 } else { 1 };
            let (target, from) = if to_leader { (led, other) } else { (other, led) };
            let (term, last) = {
                let core = node(&mut nodes, target).core();
                (core.term(), core.applied_index())
            };
            let (what, message) = false_engine(term, last).swap_remove(case);
            let what = format!("{what}, to {}", if to_leader { "a leader" } else { "a follower" });
            node(&mut nodes, target).peer(MemberId(from), message.message(from, target)).expect(&what);
            if message.snapshot.is_some() {
                node(&mut nodes, target).peer(MemberId(from), message.offer(from, target)).expect(&what);
            }
            pass(&mut nodes, 500, |_, _| true);
            assert!(node(&mut nodes, target).core().term() < Term(1_000), "{what}");
            is_well(&mut nodes, &what);
        }
    }
}

#[test]
fn false_messages_of_every_other_kind_stop_no_member_and_change_nothing() {
    for from_unknown in [false, true] {
        let (mut nodes, led) = begin();
        let term = node(&mut nodes, led).core().term();
        for target in [1, 2, 3] {
            let from = if from_unknown { 200 + 256 * 9 } else { target % 3 + 1 };
            for message in false_others(term) {
                node(&mut nodes, target).peer(MemberId(from), message).expect("it goes on");
            }
        }
        assert!(nodes.values_mut().all(|node| node.core().status().refused_messages > 0));
        is_well(&mut nodes, "false messages of other kinds");
    }
}

#[test]
fn a_message_under_another_name_is_refused_and_told() {
    let (mut nodes, led) = begin();
    let other = if led == 1 { 2 } else { 1 };
    let term = node(&mut nodes, led).core().term();
    let heartbeat = Engine { kind: HEARTBEAT, term: term.next().0, ..Engine::default() };
    node(&mut nodes, other).peer(MemberId(200), heartbeat.message(led, other)).expect("it goes on");
    let core = node(&mut nodes, other).core();
    assert_eq!((core.term(), core.status().refused_messages), (term, 1));
    let told = core.take_refusals();
    assert_eq!((told.len(), told[0].from.0, told[0].times), (1, 200, 1));
    assert!(core.take_refusals().is_empty());
}

#[test]
fn a_member_believes_only_a_majority_that_it_was_replaced() {
    let (mut nodes, _) = begin();
    let replaced = |index| PeerMessage::Founding(FoundingMessage::Replaced { id: MemberId(3), index });
    let mut say = |from: u64, index: u64| {
        node(&mut nodes, 3).peer(MemberId(from), replaced(LogIndex(index))).expect("it goes on");
        node(&mut nodes, 3).core().tenure()
    };
    // One member, however often, strangers, and what was true before this member came.
    assert_eq!(say(201, 1 << 62), Tenure::Sound);
    assert_eq!(say(blank(2).0, 1 << 62), Tenure::Sound);
    assert_eq!((say(1, 1 << 62), say(1, 1 << 62)), (Tenure::Sound, Tenure::Sound));
    assert_eq!(say(2, 1), Tenure::Sound);
    assert_eq!(say(2, 1 << 62), Tenure::Lost);
}

#[test]
fn what_one_member_says_of_a_replacement_is_forgotten_when_the_leader_counts_on_this_one() {
    let (mut nodes, led) = begin();
    let target = led % 3 + 1;
    let others: Vec<_> = (1..=3).filter(|other| *other != target).collect();
    let replaced =
        PeerMessage::Founding(FoundingMessage::Replaced { id: MemberId(target), index: LogIndex(1 << 62) });
    for other in others {
        node(&mut nodes, target).peer(MemberId(other), replaced.clone()).expect("it goes on");
        pass(&mut nodes, LEASE_MS, |_, _| true);
    }
    assert_eq!(node(&mut nodes, target).core().tenure(), Tenure::Sound);
}

/// Its disk has lost what it acknowledged, or its leader is wrong: it must not help to elect who lacks that.
#[test]
fn a_member_gives_no_vote_while_a_leader_counts_on_what_it_lacks() {
    let (mut nodes, led) = begin();
    let target = led % 3 + 1;
    let (term, last) = {
        let core = node(&mut nodes, target).core();
        (core.term(), core.applied_index())
    };
    let heartbeat = Engine { kind: HEARTBEAT, term: term.0, commit: last.next().0, ..Engine::default() };
    node(&mut nodes, target).peer(MemberId(led), heartbeat.message(led, target)).expect("it goes on");
    assert_eq!(node(&mut nodes, target).core().status().lacks_index, last.next());
    let other = 6 - led - target;
    let vote = Engine {
        kind: VOTE,
        term: term.next().0,
        log_term: term.0,
        index: last.plus(9).0,
        ..Engine::default()
    };
    let votes = |nodes: &mut Nodes| {
        node(nodes, target).link(MemberId(led), false);
        node(nodes, target).peer(MemberId(other), vote.message(other, target)).expect("it goes on");
        pass(nodes, 50, |_, _| false).iter().any(|(from, to, _)| (*from, *to) == (target, other))
            && node(nodes, target).core().term() > term
    };
    assert!(!votes(&mut nodes));
    node(&mut nodes, target).link(MemberId(led), true);
    // Once it has that it votes again.
    let mut client = Client::connect(node(&mut nodes, led), 20_000);
    pass(&mut nodes, 500, |_, _| true);
    client.create(node(&mut nodes, led), "/more", b"", 0);
    pass(&mut nodes, 500, |_, _| true);
    assert_eq!(node(&mut nodes, target).core().status().lacks_index, LogIndex::ZERO);
    is_well(&mut nodes, "a doubt that is over");
}
