//! What the council's part of one member says to that of another, and its bytes. All of it is little-endian and of fixed
//! width, as in [`consensus_replica::PeerMessage`].

use bytes::{Buf, Bytes};
use consensus_raft::Malformed;
use consensus_replica::{MachineMessage, MessageLength, OwnRole};
use council_wire::SessionId;

/// 16 bytes for each session of a member that is asked for all of them.
const SESSIONS_BYTES_MAX: usize = 32 << 20;

mod kind {
    pub(super) const FORWARD: u8 = 1;
    pub(super) const TOUCH_ASK: u8 = 2;
    pub(super) const TOUCHED: u8 = 3;
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CouncilMessage {
    /// Commands of the sender's clients, for the leader to propose: the content of a log entry whose stamp means
    /// nothing yet.
    Forward(Bytes),
    /// The leader asks whom the receiver's clients' connections have been heard of.
    TouchAsk {
        /// Which of the leader's rounds.
        round: u64,
    },
    /// The answer: who was heard of, and how many milliseconds ago.
    Touched {
        /// Which of the leader's rounds.
        round: u64,
        /// By session.
        ages: Vec<(SessionId, u64)>,
    },
}

impl MachineMessage for CouncilMessage {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Forward(content) => {
                out.push(kind::FORWARD);
                out.extend_from_slice(content);
            }
            Self::TouchAsk { round } => {
                out.push(kind::TOUCH_ASK);
                out.extend_from_slice(&round.to_le_bytes());
            }
            Self::Touched { round, ages } => {
                out.push(kind::TOUCHED);
                out.extend_from_slice(&round.to_le_bytes());
                for (session, age_ms) in ages {
                    out.extend_from_slice(&session.0.to_le_bytes());
                    out.extend_from_slice(&age_ms.to_le_bytes());
                }
            }
        }
    }

    fn decode(kind: u8, mut bytes: Bytes) -> Result<Self, Malformed> {
        let message = match kind {
            kind::FORWARD => return Ok(Self::Forward(bytes)),
            kind::TOUCH_ASK => Self::TouchAsk { round: number(&mut bytes)? },
            kind::TOUCHED => {
                let round = number(&mut bytes)?;
                let mut ages = Vec::with_capacity(bytes.len() / 16);
                while !bytes.is_empty() {
                    ages.push((SessionId(number(&mut bytes)? as i64), number(&mut bytes)?));
                }
                Self::Touched { round, ages }
            }
            _ => return Err(Malformed("a message of unknown kind")),
        };
        if bytes.is_empty() { Ok(message) } else { Err(Malformed("a message with too much in it")) }
    }

    fn is_bulky(&self) -> bool {
        matches!(self, Self::Forward(_))
    }

    fn may_be_said_to(&self, role: OwnRole) -> bool {
        match self {
            Self::Forward(_) | Self::Touched { .. } => role.leads,
            Self::TouchAsk { .. } => role.follows,
        }
    }

    fn length(kind: u8) -> MessageLength {
        match kind {
            kind::FORWARD => MessageLength::Data,
            kind::TOUCHED => MessageLength::UpTo(SESSIONS_BYTES_MAX),
            _ => MessageLength::Small,
        }
    }
}

fn number(bytes: &mut Bytes) -> Result<u64, Malformed> {
    bytes.try_get_u64_le().map_err(|_| Malformed("a message that is cut short"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PeerMessage, peer_message_bytes_max};

    const REQUEST_BYTES_MAX: usize = 1 << 20;

    fn all() -> Vec<CouncilMessage> {
        vec![
            CouncilMessage::Forward(Bytes::from_static(b"commands")),
            CouncilMessage::TouchAsk { round: 3 },
            CouncilMessage::Touched { round: 3, ages: vec![(SessionId(-1), 0), (SessionId(7), 900)] },
        ]
    }

    fn encoded(message: CouncilMessage) -> Vec<u8> {
        let mut bytes = Vec::new();
        PeerMessage::Machine(message).encode(&mut bytes);
        bytes
    }

    #[test]
    fn message_comes_back_whole_and_no_cut_is_taken_for_it() {
        for message in all() {
            let bytes = encoded(message.clone());
            let whole = PeerMessage::Machine(message.clone());
            assert_eq!(PeerMessage::decode(Bytes::from(bytes.clone())), Ok(whole.clone()));
            for cut in 0..bytes.len() {
                let read = PeerMessage::decode(Bytes::copy_from_slice(&bytes[..cut]));
                assert_ne!(read, Ok(whole.clone()), "{cut}");
            }
        }
    }

    #[test]
    fn leader_is_told_of_commands_and_ages_and_asks_who_follows_it() {
        let may = |message: &CouncilMessage| {
            let role = |leads, follows| OwnRole { leads, follows, is_leaderless: !follows && !leads };
            [role(true, false), role(false, true), role(false, false)]
                .map(|role| message.may_be_said_to(role))
        };
        let [forward, ask, touched] = &all()[..] else { panic!("there are three") };
        assert_eq!((may(forward), may(touched)), ([true, false, false], [true, false, false]));
        assert_eq!(may(ask), [false, true, false]);
    }

    #[test]
    fn message_length_is_bounded_by_its_kind() {
        let bytes_max = |kind: u8| peer_message_bytes_max(&[kind], REQUEST_BYTES_MAX);
        assert_eq!([1, 2, 3].map(bytes_max), [64 << 20, 64 << 10, 32 << 20]);
        let ages = vec![(SessionId(1), 2); 1 << 20];
        let longest = encoded(CouncilMessage::Touched { round: 1, ages });
        assert!(longest.len() <= bytes_max(longest[0]));
    }
}
