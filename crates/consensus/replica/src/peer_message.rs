//! What members say to each other, and its bytes.
//!
//! Little-endian, of fixed width; the first byte is the kind. A decoder is bounded by the bytes it is given.

use base::{MonoTime, WallTime};
use bytes::{Buf, Bytes};
use consensus_raft::{LogIndex, Malformed, MemberId, Message, Term};

use crate::founding::FoundingMessage;

/// What this member is to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnRole {
    /// It leads.
    pub leads: bool,
    /// It follows the sender.
    pub follows: bool,
    /// It knows of no leader.
    pub is_leaderless: bool,
}

/// How long messages of a kind may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageLength {
    /// As long as what says a few numbers.
    Small,
    /// As long as requests may be, and more.
    Data,
    /// So many bytes.
    UpTo(usize),
}

/// What machines of different members say to each other.
pub trait MachineMessage: Clone + core::fmt::Debug + PartialEq {
    /// Appends its kind, for which [`is_of_machine`] holds, and its bytes.
    fn encode(&self, out: &mut Vec<u8>);
    /// Reads a message of that kind from what follows the kind.
    ///
    /// # Errors
    /// [`Malformed`] when the bytes are not exactly one message.
    fn decode(kind: u8, bytes: Bytes) -> Result<Self, Malformed>;
    /// Whether it may wait behind a slow link without harm to anybody's lead or session.
    fn is_bulky(&self) -> bool;
    /// Whether a member of this group may say it to one of this role.
    fn may_be_said_to(&self, role: OwnRole) -> bool;
    /// How long messages of that kind may be.
    fn length(kind: u8) -> MessageLength;
}

/// Whether messages of that kind are the machine's: their first byte is 1 to 3, or 32 to 63.
pub const fn is_of_machine(kind: u8) -> bool {
    matches!(kind, 1..=3 | 32..=63)
}

/// A message from one member's replica to another's. `X` is what their machines say to each other.
#[derive(Clone, Debug, PartialEq)]
pub enum PeerMessage<X> {
    /// The consensus engine's own.
    Engine(Message),
    /// The machine's own.
    Machine(X),
    /// May the sender go on serving clients? A member asks its leader, a leader the other voters.
    LeaseAsk {
        /// The term in which the receiver leads, or the sender.
        term: Term,
        /// When, by the asker's clock.
        at: MonoTime,
    },
    /// It may, for the length of a lease from the time on its own clock at which it asked: so far, then, may its
    /// clients have been heard of without the leader's knowing.
    LeaseGrant {
        /// The term it was asked in, and which the sender has not gone beyond.
        term: Term,
        /// When it was asked for, by the asker's clock.
        at: MonoTime,
    },
    /// The connection to the leader broke: whoever hears this from a majority need not wait for a timeout.
    LeaderLost {
        /// The term it led.
        term: Term,
        /// Who led.
        leader: MemberId,
        /// How far the sender's log reaches.
        last_index: LogIndex,
    },
    /// State that the receiver needs and no log can give it any more: the engine's message, to be taken when the
    /// state has arrived.
    Offer(Message),
    /// The receiver of an offer asks for the chunks from this one on.
    Want {
        /// The snapshot's index.
        index: LogIndex,
        /// The first chunk that is missing, counted from 0.
        chunk: u64,
    },
    /// Chunks of a snapshot, in order.
    Chunks {
        /// The snapshot's index.
        index: LogIndex,
        /// The number of the first of them.
        first: u64,
        /// The chunks.
        chunks: Vec<Bytes>,
        /// Behind the last chunk: what the snapshot says of itself.
        end: Option<SnapshotEnd>,
    },
    /// The receiver of an offer is done with it.
    Taken {
        /// The snapshot's index.
        index: LogIndex,
        /// Whether it has it now.
        whole: bool,
    },
    /// The sender's state had this digest right behind that transaction.
    Digest {
        /// The transaction's number.
        position: i64,
        /// The digest.
        digest: u64,
    },
    /// One of the two has no seat yet.
    Founding(FoundingMessage),
}

/// What a snapshot says of itself beside what the engine knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotEnd {
    /// The number of the last transaction in it.
    pub position: i64,
    /// The digest of its state.
    pub digest: u64,
    /// When it was begun.
    pub created: WallTime,
}

impl<X: MachineMessage> PeerMessage<X> {
    /// Whether it asks for something whose answer is in the log: to propose something, or how far the log is committed.
    #[must_use]
    pub fn asks(&self) -> bool {
        match self {
            Self::Engine(message) => message.asks_barrier(),
            Self::Machine(_) => true,
            _ => false,
        }
    }

    /// Whether it may wait behind a slow link without harm to anybody's lead or session.
    #[must_use]
    pub fn is_bulky(&self) -> bool {
        match self {
            Self::Engine(message) => message.is_bulky(),
            Self::Machine(message) => message.is_bulky(),
            Self::Chunks { .. } => true,
            _ => false,
        }
    }

    /// Whether it is the small answer to something bulky.
    #[must_use]
    pub fn is_answer_to_bulk(&self) -> bool {
        matches!(self, Self::Engine(message) if message.answers_append())
    }

    /// Appends its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Engine(message) => {
                out.push(0);
                message.encode(out);
            }
            Self::Machine(message) => message.encode(out),
            Self::LeaderLost { term, leader, last_index } => put(out, 4, &[term.0, leader.0, last_index.0]),
            Self::Offer(message) => {
                out.push(5);
                message.encode(out);
            }
            Self::Want { index, chunk } => put(out, 6, &[index.0, *chunk]),
            Self::Chunks { index, first, chunks, end } => {
                put(out, 7, &[index.0, *first]);
                out.push(u8::from(end.is_some()));
                if let Some(SnapshotEnd { position, digest, created }) = end {
                    out.extend_from_slice(&position.to_le_bytes());
                    out.extend_from_slice(&digest.to_le_bytes());
                    out.extend_from_slice(&created.ms().to_le_bytes());
                }
                for chunk in chunks {
                    let length = u32::try_from(chunk.len()).expect("a chunk is bounded");
                    out.extend_from_slice(&length.to_le_bytes());
                    out.extend_from_slice(chunk);
                }
            }
            Self::Taken { index, whole } => {
                put(out, 8, &[index.0]);
                out.push(u8::from(*whole));
            }
            Self::LeaseAsk { term, at } => put(out, 9, &[term.0, at.ms()]),
            Self::LeaseGrant { term, at } => put(out, 10, &[term.0, at.ms()]),
            Self::Founding(message) => put_founding(out, message),
            Self::Digest { position, digest } => put(out, 16, &[*position as u64, *digest]),
        }
    }

    /// Reads a message; what is large stays a slice of `bytes`.
    ///
    /// # Errors
    /// [`Malformed`] when the bytes are not exactly one message.
    pub fn decode(mut bytes: Bytes) -> Result<Self, Malformed> {
        let message = match bytes.try_get_u8().map_err(|_| CUT_SHORT)? {
            0 => return Message::decode(bytes).map(Self::Engine),
            kind if is_of_machine(kind) => return X::decode(kind, bytes).map(Self::Machine),
            4 => {
                let (term, leader) = (Term(number(&mut bytes)?), id(&mut bytes)?);
                Self::LeaderLost { term, leader, last_index: LogIndex(number(&mut bytes)?) }
            }
            5 => return Message::decode(bytes).map(Self::Offer),
            6 => Self::Want { index: LogIndex(number(&mut bytes)?), chunk: number(&mut bytes)? },
            7 => chunks(&mut bytes)?,
            8 => Self::Taken { index: LogIndex(number(&mut bytes)?), whole: flag(&mut bytes)? },
            9 => Self::LeaseAsk { term: Term(number(&mut bytes)?), at: time(&mut bytes)? },
            10 => Self::LeaseGrant { term: Term(number(&mut bytes)?), at: time(&mut bytes)? },
            11 => {
                let incarnation = name(&mut bytes)?;
                Self::Founding(FoundingMessage::Blank { incarnation, founds: flag(&mut bytes)? })
            }
            12 => Self::Founding(FoundingMessage::Seated { cluster: name(&mut bytes)?, untouched: None }),
            13 => {
                let (cluster, untouched) = (name(&mut bytes)?, Some(ids(&mut bytes)?));
                Self::Founding(FoundingMessage::Seated { cluster, untouched })
            }
            14 => {
                let (cluster, voters) = (name(&mut bytes)?, ids(&mut bytes)?);
                Self::Founding(FoundingMessage::Propose { cluster, voters })
            }
            15 => {
                let (cluster, id) = (name(&mut bytes)?, id(&mut bytes)?);
                let incarnation = name(&mut bytes)?;
                Self::Founding(FoundingMessage::Admitted { cluster, id, incarnation })
            }
            17 => {
                let id = id(&mut bytes)?;
                Self::Founding(FoundingMessage::Replaced { id, index: LogIndex(number(&mut bytes)?) })
            }
            16 => Self::Digest { position: signed(&mut bytes)?, digest: number(&mut bytes)? },
            _ => return Err(Malformed("a message of unknown kind")),
        };
        if bytes.is_empty() { Ok(message) } else { Err(Malformed("a message with too much in it")) }
    }
}

const CUT_SHORT: Malformed = Malformed("a message that is cut short");

fn put(out: &mut Vec<u8>, kind: u8, numbers: &[u64]) {
    out.push(kind);
    numbers.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
}

fn put_founding(out: &mut Vec<u8>, message: &FoundingMessage) {
    let kind = match message {
        FoundingMessage::Blank { .. } => 11,
        FoundingMessage::Seated { untouched: None, .. } => 12,
        FoundingMessage::Seated { untouched: Some(_), .. } => 13,
        FoundingMessage::Propose { .. } => 14,
        FoundingMessage::Admitted { .. } => 15,
        FoundingMessage::Replaced { .. } => 17,
    };
    out.push(kind);
    match message {
        FoundingMessage::Blank { incarnation, founds } => {
            out.extend_from_slice(incarnation);
            out.push(u8::from(*founds));
        }
        FoundingMessage::Seated { cluster, untouched: voters } => {
            out.extend_from_slice(cluster);
            voters.iter().flatten().for_each(|voter| out.extend_from_slice(&voter.0.to_le_bytes()));
        }
        FoundingMessage::Propose { cluster, voters } => {
            out.extend_from_slice(cluster);
            voters.iter().for_each(|voter| out.extend_from_slice(&voter.0.to_le_bytes()));
        }
        FoundingMessage::Replaced { id, index } => {
            out.extend_from_slice(&id.0.to_le_bytes());
            out.extend_from_slice(&index.0.to_le_bytes());
        }
        FoundingMessage::Admitted { cluster, id, incarnation } => {
            out.extend_from_slice(cluster);
            out.extend_from_slice(&id.0.to_le_bytes());
            out.extend_from_slice(incarnation);
        }
    }
}

fn name(bytes: &mut Bytes) -> Result<[u8; 16], Malformed> {
    let mut name = [0; 16];
    bytes.try_copy_to_slice(&mut name).map_err(|_| CUT_SHORT)?;
    Ok(name)
}

fn ids(bytes: &mut Bytes) -> Result<Vec<MemberId>, Malformed> {
    let mut ids = Vec::with_capacity(bytes.len() / 8);
    while !bytes.is_empty() {
        ids.push(id(bytes)?);
    }
    Ok(ids)
}

fn id(bytes: &mut Bytes) -> Result<MemberId, Malformed> {
    number(bytes).map(MemberId)
}

fn number(bytes: &mut Bytes) -> Result<u64, Malformed> {
    bytes.try_get_u64_le().map_err(|_| CUT_SHORT)
}

fn time(bytes: &mut Bytes) -> Result<MonoTime, Malformed> {
    number(bytes).map(MonoTime::of_ms)
}

fn signed(bytes: &mut Bytes) -> Result<i64, Malformed> {
    bytes.try_get_i64_le().map_err(|_| CUT_SHORT)
}

fn flag(bytes: &mut Bytes) -> Result<bool, Malformed> {
    match bytes.try_get_u8() {
        Ok(0) => Ok(false),
        Ok(1) => Ok(true),
        Ok(_) => Err(Malformed("a message with an unknown flag")),
        Err(_) => Err(CUT_SHORT),
    }
}

fn chunks<X>(bytes: &mut Bytes) -> Result<PeerMessage<X>, Malformed> {
    let (index, first) = (number(bytes)?, number(bytes)?);
    let end = if flag(bytes)? {
        let (position, digest) = (signed(bytes)?, number(bytes)?);
        Some(SnapshotEnd { position, digest, created: WallTime::of_ms(signed(bytes)?) })
    } else {
        None
    };
    let mut chunks = Vec::new();
    while !bytes.is_empty() {
        let length = bytes.try_get_u32_le().map_err(|_| CUT_SHORT)? as usize;
        if length > bytes.len() {
            return Err(CUT_SHORT);
        }
        chunks.push(bytes.split_to(length));
    }
    Ok(PeerMessage::Chunks { index: LogIndex(index), first, chunks, end })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::Note;

    fn all() -> Vec<PeerMessage<Note>> {
        let end = SnapshotEnd { position: -5, digest: 6, created: WallTime::of_ms(7) };
        let chunks = vec![Bytes::from_static(b"one"), Bytes::new(), Bytes::from_static(b"three")];
        vec![
            PeerMessage::Machine(Note(7)),
            PeerMessage::LeaderLost { term: Term(1), leader: MemberId(2), last_index: LogIndex(3) },
            PeerMessage::Want { index: LogIndex(8), chunk: 9 },
            PeerMessage::Chunks { index: LogIndex(8), first: 9, chunks, end: Some(end) },
            PeerMessage::Chunks {
                index: LogIndex(8),
                first: 9,
                chunks: vec![Bytes::from_static(b"x")],
                end: None,
            },
            PeerMessage::Taken { index: LogIndex(8), whole: true },
            PeerMessage::LeaseAsk { term: Term(3), at: MonoTime::of_ms(4) },
            PeerMessage::LeaseGrant { term: Term(3), at: MonoTime::of_ms(4) },
            PeerMessage::Digest { position: -3, digest: 4 },
            PeerMessage::Founding(FoundingMessage::Replaced { id: MemberId(5), index: LogIndex(6) }),
            PeerMessage::Founding(FoundingMessage::Blank { incarnation: [1; 16], founds: true }),
            PeerMessage::Founding(FoundingMessage::Seated { cluster: [2; 16], untouched: None }),
            PeerMessage::Founding(FoundingMessage::Seated {
                cluster: [2; 16],
                untouched: Some([1, 2].map(MemberId).to_vec()),
            }),
            PeerMessage::Founding(FoundingMessage::Propose {
                cluster: [3; 16],
                voters: [1, 7].map(MemberId).to_vec(),
            }),
            PeerMessage::Founding(FoundingMessage::Admitted {
                cluster: [4; 16],
                id: MemberId(258),
                incarnation: [5; 16],
            }),
        ]
    }

    #[test]
    fn message_comes_back_whole() {
        for message in all() {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            assert_eq!(PeerMessage::decode(Bytes::from(bytes)), Ok(message));
        }
    }

    #[test]
    fn no_cut_is_taken_for_the_whole() {
        for message in all() {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            for cut in 0..bytes.len() {
                let read = PeerMessage::decode(Bytes::copy_from_slice(&bytes[..cut]));
                assert_ne!(read, Ok(message.clone()), "{cut}");
            }
        }
    }
}
