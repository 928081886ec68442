//! How long messages of other members may be, by their first bytes, which say their kind: what brings entries, commands or
//! chunks of a snapshot may be long, everything else is small. A message of a kind that is not known here counts as small.

use crate::peer_message::{MachineMessage, MessageLength, is_of_machine};

/// What a message may have that carries no data: votes, heartbeats, leases, lists of 255 members.
const SMALL_BYTES_MAX: usize = 64 << 10;
/// What carries data may have at the least, whatever this member's own limit on requests is: others may have let
/// larger ones through, and what is committed must get here.
const DATA_BYTES_MIN: usize = 64 << 20;
/// The length of a message has four bytes on the wire.
const DATA_BYTES_MAX: usize = u32::MAX as usize;

/// The kinds of messages that are not small, by their first byte ([`crate::PeerMessage`]).
mod kind {
    pub(super) const ENGINE: u8 = 0;
    pub(super) const CHUNKS: u8 = 7;
    /// The second byte of what the engine says: entries.
    pub(super) const APPEND: u8 = 0;
}

/// How many bytes a message of another member may have that begins like this, at a member that takes requests of so many.
/// The first bytes may not have come yet.
#[must_use]
pub fn peer_message_bytes_max<X: MachineMessage>(beginning: &[u8], request_bytes_max: usize) -> usize {
    let data_bytes_max = || request_bytes_max.saturating_mul(2).clamp(DATA_BYTES_MIN, DATA_BYTES_MAX);
    match beginning {
        [] | [kind::ENGINE] => data_bytes_max(),
        [kind::ENGINE, kind::APPEND, ..] | [kind::CHUNKS, ..] => data_bytes_max(),
        [kind, ..] if is_of_machine(*kind) => match X::length(*kind) {
            MessageLength::Small => SMALL_BYTES_MAX,
            MessageLength::Data => data_bytes_max(),
            MessageLength::UpTo(bytes_max) => bytes_max,
        },
        _ => SMALL_BYTES_MAX,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::PeerMessage;
    use crate::founding::FoundingMessage;
    use crate::test_support::Note;

    const REQUEST_BYTES_MAX: usize = 1 << 20;

    #[test]
    fn message_length_is_bounded_by_its_kind_as_soon_as_that_is_known() {
        for (beginning, length_max) in [
            (&[0, 0][..], 64 << 20),
            (&[0], 64 << 20),
            (&[1], 8),
            (&[7], 64 << 20),
            (&[0, 5], SMALL_BYTES_MAX),
            (&[0, 2], SMALL_BYTES_MAX),
            (&[10], SMALL_BYTES_MAX),
            (&[14], SMALL_BYTES_MAX),
            (&[17], SMALL_BYTES_MAX),
            (&[99], SMALL_BYTES_MAX),
            (&[], 64 << 20),
        ] {
            assert_eq!(
                peer_message_bytes_max::<Note>(beginning, REQUEST_BYTES_MAX),
                length_max,
                "{beginning:?}"
            );
        }
        assert_eq!(peer_message_bytes_max::<Note>(&[], 100 << 20), 200 << 20, "as large as requests may be");
        assert_eq!(peer_message_bytes_max::<Note>(&[], usize::MAX), DATA_BYTES_MAX);
    }

    #[test]
    fn messages_of_members_are_within_the_limits_of_their_kinds() {
        let mega = Bytes::from(vec![0; 1 << 20]);
        for message in [
            PeerMessage::<Note>::Machine(Note(1)),
            PeerMessage::Chunks {
                index: base::LogIndex(1),
                first: 0,
                chunks: vec![mega.clone(), mega],
                end: None,
            },
            PeerMessage::LeaseAsk { term: base::Term(1), at: base::MonoTime::of_ms(2) },
            PeerMessage::LeaderLost {
                term: base::Term(1),
                leader: base::MemberId(2),
                last_index: base::LogIndex(3),
            },
            PeerMessage::Founding(FoundingMessage::Propose {
                cluster: [1; 16],
                voters: (1..=255).map(base::MemberId).collect(),
            }),
        ] {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            let bytes_max = peer_message_bytes_max::<Note>(&bytes[..2], REQUEST_BYTES_MAX);
            assert!(bytes.len() <= bytes_max, "{:?}", bytes.first());
            assert!(bytes.first().is_some_and(|kind| *kind < 0x80), "what begins so is of another channel");
        }
    }
}
