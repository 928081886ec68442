//! What members say to each other, and its bytes: ours, so that the engine's own codec never parses a peer's.
//!
//! All numbers are little-endian and of fixed width; a decoder is bounded by the bytes it is given.

use bytes::{Buf, Bytes};
use raft::eraftpb::{self, MessageType};

use crate::{Entry, EntryKind, LogIndex, MemberId, Membership, Term};

/// A message of one node to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Message(pub(crate) eraftpb::Message);

/// A message and whom it is for.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// The receiver.
    pub to: MemberId,
    /// What is said.
    pub message: Message,
}

/// What a message says of the entries that it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Append {
    /// Up to where the sender knows the log to be committed.
    pub commit: LogIndex,
    /// Of the entries' content.
    pub bytes: usize,
}

/// The bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

/// The state that a message tells the receiver to take over as a whole; its content travels beside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotOffer {
    /// The index that it covers.
    pub index: LogIndex,
    /// The term of that index.
    pub term: Term,
    /// The membership at that index.
    pub membership: Membership,
}

/// The kinds that go over the wire, by their number there; what is local to an engine is not among them.
const KINDS: [MessageType; 13] = [
    MessageType::MsgAppend,
    MessageType::MsgAppendResponse,
    MessageType::MsgRequestVote,
    MessageType::MsgRequestVoteResponse,
    MessageType::MsgSnapshot,
    MessageType::MsgHeartbeat,
    MessageType::MsgHeartbeatResponse,
    MessageType::MsgTransferLeader,
    MessageType::MsgTimeoutNow,
    MessageType::MsgReadIndex,
    MessageType::MsgReadIndexResp,
    MessageType::MsgRequestPreVote,
    MessageType::MsgRequestPreVoteResponse,
];

const REJECT: u8 = 1;
const HAS_SNAPSHOT: u8 = 2;
/// Members that a membership may name: far more than ever vote, few enough that no list grows out of bounds.
pub(crate) const MEMBERS_MAX: usize = 1024;

impl Message {
    /// Who sent it.
    #[must_use]
    pub const fn from(&self) -> MemberId {
        MemberId(self.0.from)
    }

    /// The sender's term.
    #[must_use]
    pub const fn term(&self) -> Term {
        Term(self.0.term)
    }

    /// Contents of the entries that it carries for the log.
    pub fn contents(&self) -> impl Iterator<Item = &Bytes> {
        let appends = self.0.get_msg_type() == MessageType::MsgAppend;
        let normal = |entry: &&eraftpb::Entry| entry.get_entry_type() == eraftpb::EntryType::EntryNormal;
        self.0.entries.iter().filter(move |_| appends).filter(normal).map(|entry| &entry.data)
    }

    /// What it says of entries that it carries, if it does.
    #[must_use]
    pub fn append(&self) -> Option<Append> {
        let carries = self.0.get_msg_type() == MessageType::MsgAppend && !self.0.entries.is_empty();
        let bytes = || self.0.entries.iter().map(|entry| entry.data.len()).sum();
        carries.then(|| Append { commit: LogIndex(self.0.commit), bytes: bytes() })
    }

    /// Whether it asks up to where the log is committed ([`crate::RaftNode::read_barrier`]).
    #[must_use]
    pub fn asks_barrier(&self) -> bool {
        self.0.get_msg_type() == MessageType::MsgReadIndex
    }

    /// What it offers to take over, if it does.
    #[must_use]
    pub fn snapshot(&self) -> Option<SnapshotOffer> {
        if self.0.get_msg_type() != MessageType::MsgSnapshot {
            return None;
        }
        let meta = self.0.get_snapshot().get_metadata();
        let membership = Membership::from_engine(meta.get_conf_state());
        Some(SnapshotOffer { index: LogIndex(meta.index), term: Term(meta.term), membership })
    }

    /// Whether it brings the log forward: what may wait behind a slow link without harm to anybody's lead. All of it
    /// goes one way, in order: an append that only tells what is committed, come before the entries it builds on, would
    /// be rejected, and the leader would send all of them once more.
    #[must_use]
    pub fn is_bulky(&self) -> bool {
        matches!(self.0.get_msg_type(), MessageType::MsgAppend | MessageType::MsgSnapshot)
    }

    /// Whether it answers entries, or the news that some are committed.
    #[must_use]
    pub fn answers_append(&self) -> bool {
        self.0.get_msg_type() == MessageType::MsgAppendResponse
    }

    /// About how many bytes it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        128 + self.0.entries.iter().map(|entry| 32 + entry.data.len()).sum::<usize>()
    }

    /// Appends its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let message = &self.0;
        let kind = KINDS.iter().position(|kind| *kind == message.get_msg_type());
        let kind = kind.expect("the engine hands out what is local to it");
        let offer = self.snapshot();
        out.push(kind as u8);
        let reject = if message.reject { REJECT } else { 0 };
        out.push(reject | if offer.is_some() { HAS_SNAPSHOT } else { 0 });
        for number in [
            message.to,
            message.from,
            message.term,
            message.log_term,
            message.index,
            message.commit,
            message.commit_term,
            message.reject_hint,
            message.request_snapshot,
        ] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        put_bytes(out, &message.context);
        put_count(out, message.entries.len());
        for entry in &message.entries {
            let entry = Entry::from_engine(entry);
            out.push(match entry.kind {
                EntryKind::Normal => 0,
                EntryKind::Membership => 1,
            });
            out.extend_from_slice(&entry.index.0.to_le_bytes());
            out.extend_from_slice(&entry.term.0.to_le_bytes());
            put_bytes(out, &entry.data);
        }
        if let Some(offer) = offer {
            out.extend_from_slice(&offer.index.0.to_le_bytes());
            out.extend_from_slice(&offer.term.0.to_le_bytes());
            put_membership(out, &offer.membership);
        }
    }

    /// Reads a message; the contents of its entries stay slices of `bytes`.
    ///
    /// # Errors
    /// [`Malformed`] when the bytes are not exactly one message.
    #[expect(clippy::too_many_lines, reason = "a table: an arm for each kind")]
    pub fn decode(mut bytes: Bytes) -> Result<Self, Malformed> {
        let mut message = eraftpb::Message::default();
        let kind = KINDS.get(usize::from(byte(&mut bytes)?)).ok_or(Malformed("a message of unknown kind"))?;
        message.set_msg_type(*kind);
        let flags = byte(&mut bytes)?;
        if flags & !(REJECT | HAS_SNAPSHOT) != 0 {
            return Err(Malformed("a message with unknown flags"));
        }
        message.reject = flags & REJECT != 0;
        for field in [
            &mut message.to,
            &mut message.from,
            &mut message.term,
            &mut message.log_term,
            &mut message.index,
            &mut message.commit,
            &mut message.commit_term,
            &mut message.reject_hint,
            &mut message.request_snapshot,
        ] {
            *field = number(&mut bytes)?;
        }
        message.context = sized(&mut bytes)?;
        let entries = count(&mut bytes)?;
        for _ in 0..entries {
            let kind = match byte(&mut bytes)? {
                0 => EntryKind::Normal,
                1 => EntryKind::Membership,
                _ => return Err(Malformed("an entry of unknown kind")),
            };
            let (index, term) = (LogIndex(number(&mut bytes)?), Term(number(&mut bytes)?));
            let entry = Entry { index, term, kind, data: sized(&mut bytes)? };
            message.mut_entries().push(entry.to_engine());
        }
        if flags & HAS_SNAPSHOT != 0 {
            let meta = message.mut_snapshot().mut_metadata();
            (meta.index, meta.term) = (number(&mut bytes)?, number(&mut bytes)?);
            meta.set_conf_state(membership(&mut bytes)?.to_engine());
        }
        let offers = *kind == MessageType::MsgSnapshot;
        if offers != (flags & HAS_SNAPSHOT != 0) || !bytes.is_empty() {
            return Err(Malformed("a message with too much or too little in it"));
        }
        Ok(Self(message))
    }
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    let count = u32::try_from(count).expect("a message holds far less");
    out.extend_from_slice(&count.to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_count(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn put_membership(out: &mut Vec<u8>, membership: &Membership) {
    let Membership { voters, learners, voters_outgoing, learners_next, auto_leave } = membership;
    for list in [voters, learners, voters_outgoing, learners_next] {
        put_count(out, list.len());
        list.iter().for_each(|id| out.extend_from_slice(&id.0.to_le_bytes()));
    }
    out.push(u8::from(*auto_leave));
}

const CUT_SHORT: Malformed = Malformed("a message that is cut short");

fn byte(bytes: &mut Bytes) -> Result<u8, Malformed> {
    bytes.try_get_u8().map_err(|_| CUT_SHORT)
}

fn number(bytes: &mut Bytes) -> Result<u64, Malformed> {
    bytes.try_get_u64_le().map_err(|_| CUT_SHORT)
}

/// A count of things that take at least one byte each.
fn count(bytes: &mut Bytes) -> Result<usize, Malformed> {
    let count = bytes.try_get_u32_le().map_err(|_| CUT_SHORT)? as usize;
    if count > bytes.len() { Err(CUT_SHORT) } else { Ok(count) }
}

fn sized(bytes: &mut Bytes) -> Result<Bytes, Malformed> {
    let length = count(bytes)?;
    Ok(bytes.split_to(length))
}

fn membership(bytes: &mut Bytes) -> Result<Membership, Malformed> {
    let mut list = || -> Result<Vec<MemberId>, Malformed> {
        let count = count(bytes)?;
        if count > MEMBERS_MAX {
            return Err(Malformed("a membership that is too large"));
        }
        (0..count).map(|_| number(bytes).map(MemberId)).collect()
    };
    let (voters, learners, voters_outgoing, learners_next) = (list()?, list()?, list()?, list()?);
    let auto_leave = byte(bytes)? != 0;
    Ok(Membership { voters, learners, voters_outgoing, learners_next, auto_leave })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn append() -> Message {
        let mut message = eraftpb::Message::default();
        message.set_msg_type(MessageType::MsgAppend);
        (message.to, message.from, message.term, message.index, message.commit) = (2, 1, 7, 40, 39);
        message.context = Bytes::from_static(b"context");
        for (index, kind) in [(41_u64, EntryKind::Normal), (42, EntryKind::Membership)] {
            let data = Bytes::from(vec![index as u8; 300]);
            message
                .mut_entries()
                .push(Entry { index: LogIndex(index), term: Term(6), kind, data }.to_engine());
        }
        Message(message)
    }

    fn offer() -> Message {
        let mut message = eraftpb::Message::default();
        message.set_msg_type(MessageType::MsgSnapshot);
        let meta = message.mut_snapshot().mut_metadata();
        (meta.index, meta.term) = (90, 3);
        let (voters, learners) = ([1, 2, 3].map(MemberId).to_vec(), vec![MemberId(4)]);
        let membership = Membership { voters, learners, ..Membership::default() };
        meta.set_conf_state(membership.to_engine());
        Message(message)
    }

    #[test]
    fn what_is_committed_goes_the_way_of_the_entries_it_builds_on() {
        let mut committed = append();
        committed.0.mut_entries().clear();
        let mut heartbeat = eraftpb::Message::default();
        heartbeat.set_msg_type(MessageType::MsgHeartbeat);
        assert!(append().is_bulky() && committed.is_bulky() && offer().is_bulky());
        assert!(!Message(heartbeat).is_bulky());
    }

    #[test]
    fn a_message_comes_back_whole() {
        for message in [append(), offer()] {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            assert_eq!(Message::decode(Bytes::from(bytes)), Ok(message));
        }
        assert_eq!(
            offer().snapshot().map(|offer| (offer.index, offer.membership.learners)),
            Some((LogIndex(90), vec![MemberId(4)]))
        );
    }

    #[test]
    fn every_cut_and_every_addition_is_refused() {
        for message in [append(), offer()] {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            for cut in 0..bytes.len() {
                assert!(Message::decode(Bytes::copy_from_slice(&bytes[..cut])).is_err(), "{cut}");
            }
            bytes.push(0);
            assert!(Message::decode(Bytes::from(bytes)).is_err());
        }
    }
}
