//! Messages on a connection between members: four bytes of length, four of checksum, the message. A frame without a
//! message only says that the sender lives.
//!
//! How long a message may be depends on its first bytes, which say its kind: what brings entries, commands or chunks of
//! a snapshot may be long, everything else is small. A message of a kind that is not known here counts as small. Memory
//! grows with the bytes that have arrived, never with the length that was announced.

use bytes::{Buf, Bytes, BytesMut};
use consensus_raft::Malformed;
use council_replica::PeerMessage;

/// The first byte of a message that is of the connections' own: the sender's roster, as text. Messages between cores
/// begin with lower numbers.
pub(crate) const ROSTER: u8 = 0xf0;

/// What a message may have that carries no data: votes, heartbeats, leases, lists of 255 members.
const SMALL_BYTES_MAX: usize = 64 << 10;
/// Names and ports of 255 members.
const ROSTER_BYTES_MAX: usize = 256 << 10;
/// 16 bytes for each session of a member that is asked for all of them.
const SESSIONS_BYTES_MAX: usize = 32 << 20;
/// What carries data may have at the least, whatever this member's own limit on requests is: others may have let
/// larger ones through, and what is committed must get here.
const DATA_BYTES_MIN: usize = 64 << 20;
const HEAD_BYTES: usize = 8;

/// The kinds of messages that are not small, by their first byte ([`council_replica::PeerMessage`]).
mod kind {
    pub(super) const ENGINE: u8 = 0;
    pub(super) const FORWARD: u8 = 1;
    pub(super) const TOUCHED: u8 = 3;
    pub(super) const PIECES: u8 = 7;
    /// The second byte of what the engine says: entries.
    pub(super) const APPEND: u8 = 0;
}

/// How long messages of each kind may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    data_bytes_max: usize,
}

impl Limits {
    /// `request_bytes_max` is how large a client's request may be at this member.
    pub(crate) const fn new(request_bytes_max: usize) -> Self {
        let twice = request_bytes_max.saturating_mul(2);
        let wanted = if twice > DATA_BYTES_MIN { twice } else { DATA_BYTES_MIN };
        // The length of a frame has four bytes.
        let possible = u32::MAX as usize;
        Self { data_bytes_max: if wanted > possible { possible } else { wanted } }
    }

    /// How long a message may be that begins like this. The first bytes may not have come yet.
    const fn of(self, beginning: &[u8]) -> usize {
        match beginning {
            [] | [kind::ENGINE] => self.data_bytes_max,
            [kind::ENGINE, kind::APPEND, ..] | [kind::FORWARD | kind::PIECES, ..] => self.data_bytes_max,
            [kind::TOUCHED, ..] => SESSIONS_BYTES_MAX,
            [ROSTER, ..] => ROSTER_BYTES_MAX,
            _ => SMALL_BYTES_MAX,
        }
    }

    /// Whether a message is short enough to be sent, by the rules of the one that hears it.
    #[cfg(test)]
    fn let_through(self, message: &[u8]) -> bool {
        message.len() <= self.of(message)
    }
}

/// What a frame says.
#[derive(Debug)]
pub(crate) enum Said {
    /// That its sender lives.
    Alive,
    /// The sender's roster, as text.
    Roster(Bytes),
    /// Something for the core.
    Message(PeerMessage),
}

/// What a whole frame's message says.
///
/// # Errors
/// It is none.
pub(crate) fn understand(mut bytes: Bytes) -> Result<Said, Malformed> {
    match bytes.first() {
        None => Ok(Said::Alive),
        Some(&ROSTER) => {
            bytes.advance(1);
            Ok(Said::Roster(bytes))
        }
        Some(_) => PeerMessage::decode(bytes).map(Said::Message),
    }
}

/// Appends what `encode` appends, as one frame.
pub(crate) fn append(out: &mut Vec<u8>, encode: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; HEAD_BYTES]);
    encode(out);
    let (head, message) = out[start..].split_at_mut(HEAD_BYTES);
    let length = u32::try_from(message.len()).expect("a message is bounded");
    head[..4].copy_from_slice(&length.to_le_bytes());
    head[4..].copy_from_slice(&crc32c::crc32c(message).to_le_bytes());
}

/// Takes the next whole frame out of what has arrived.
///
/// # Errors
/// The bytes are none, or the message is longer than its kind may be: the connection is of no use any more.
pub(crate) fn next(inbox: &mut BytesMut, limits: Limits) -> Result<Option<Bytes>, &'static str> {
    let Some((head, beginning)) = inbox.split_first_chunk::<HEAD_BYTES>() else { return Ok(None) };
    let [a, b, c, d, checksum @ ..] = *head;
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if length > limits.of(beginning.get(..length.min(2)).unwrap_or(beginning)) {
        return Err("a message that is longer than its kind may be");
    }
    if beginning.len() < length {
        return Ok(None);
    }
    inbox.advance(HEAD_BYTES);
    let message = inbox.split_to(length).freeze();
    if crc32c::crc32c(&message) != u32::from_le_bytes(checksum) {
        return Err("a message that was damaged on the way");
    }
    Ok(Some(message))
}

#[cfg(test)]
mod tests {
    use base::{LogIndex, Term};
    use council_replica::founding::FoundingMessage;

    use super::*;

    const LIMITS: Limits = Limits::new(1 << 20);

    #[test]
    fn frames_come_back_however_they_are_cut() {
        let mut sent = Vec::new();
        for message in [&b"\x01one"[..], b"", b"\x10three"] {
            append(&mut sent, |out| out.extend_from_slice(message));
        }
        for piece in 1..sent.len() {
            let (mut inbox, mut got) = (BytesMut::new(), Vec::new());
            for bytes in sent.chunks(piece) {
                inbox.extend_from_slice(bytes);
                while let Some(message) = next(&mut inbox, LIMITS).expect("whole") {
                    got.push(message);
                }
            }
            assert_eq!(got, [&b"\x01one"[..], b"", b"\x10three"]);
        }
    }

    #[test]
    fn a_flipped_bit_and_a_wild_length_are_found() {
        let mut sent = Vec::new();
        append(&mut sent, |out| out.extend_from_slice(b"message"));
        for at in 4..sent.len() {
            let mut damaged = BytesMut::from(&sent[..]);
            damaged[at] ^= 1;
            assert!(next(&mut damaged, LIMITS).is_err(), "{at}");
        }
        assert!(next(&mut BytesMut::from(&[0xff; 8][..]), LIMITS).is_err());
    }

    #[test]
    fn message_length_is_bounded_by_its_kind_as_soon_as_that_is_known() {
        let announced = |length: u32, beginning: &[u8]| {
            let mut inbox = BytesMut::from(&length.to_le_bytes()[..]);
            inbox.extend_from_slice(&[0; 4]);
            inbox.extend_from_slice(beginning);
            let verdict = next(&mut inbox, LIMITS);
            assert!(inbox.capacity() < 4096, "memory for what has not come");
            verdict.is_ok()
        };
        let small = 64 << 10;
        for (beginning, length_max) in [
            (&[0, 0][..], 64 << 20),
            (&[1], 64 << 20),
            (&[7], 64 << 20),
            (&[3], 32 << 20),
            (&[ROSTER], 256 << 10),
            (&[0, 5], small),
            (&[0, 2], small),
            (&[2], small),
            (&[10], small),
            (&[14], small),
            (&[17], small),
            (&[99], small),
            (&[], 64 << 20),
        ] {
            assert!(announced(length_max, beginning), "{beginning:?}");
            assert!(!announced(length_max + 1, beginning), "{beginning:?}");
        }
        assert_eq!(Limits::new(100 << 20).data_bytes_max, 200 << 20, "as large as requests may be");
    }

    #[test]
    fn messages_of_members_are_within_the_limits_of_their_kinds() {
        let mega = Bytes::from(vec![0; 1 << 20]);
        for message in [
            PeerMessage::Forward(mega.clone()),
            PeerMessage::Chunks { index: LogIndex(1), first: 0, chunks: vec![mega.clone(), mega], end: None },
            PeerMessage::Touched { round: 1, ages: vec![(council_wire::SessionId(1), 2); 1 << 20] },
            PeerMessage::LeaseAsk { term: Term(1), at_ms: 2 },
            PeerMessage::LeaderLost { term: Term(1), leader: 2, last_index: LogIndex(3) },
            PeerMessage::Founding(FoundingMessage::Propose { cluster: [1; 16], voters: (1..=255).collect() }),
        ] {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            assert!(LIMITS.let_through(&bytes), "{:?}", bytes.first());
            assert!(bytes.first().is_some_and(|kind| *kind < ROSTER));
        }
    }
}
