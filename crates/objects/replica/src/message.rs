//! What the objects' part of one member says to that of another, and its bytes: little-endian and of fixed width.

use bytes::{Buf, Bytes};
use consensus_raft::Malformed;
use consensus_replica::{MachineMessage, MessageLength, OwnRole};
use objects_state::guest::VersionHash;
use objects_state::{Begun, Ran, SessionId};

/// 24 bytes for each session of which a member has heard.
const SESSIONS_BYTES_MAX: usize = 64 + 24 * crate::limits::HEARD_MAX;

/// Versions that one message tells of.
pub(crate) const VERSIONS_MAX: usize = 64;
/// Bytes of the reason why an engine rejects one.
pub(crate) const REJECTED_BYTES_MAX: usize = 1_024;
const VERSIONS_BYTES_MAX: usize = 64 + VERSIONS_MAX * (REJECTED_BYTES_MAX + 40);

/// A run beside the commands: its object's space, and when it was begun.
pub(crate) type RunName = (u64, Begun);
/// Bytes of a run's name.
const RUN_BYTES: usize = 20;
const RUNS_BYTES_MAX: usize = 64 + RUN_BYTES * objects_state::limits::LONG_RUNS_MAX;

/// Bytes of an address, `HOST:PORT`.
pub const ADDRESS_BYTES_MAX: usize = 255;

/// Whether a text may be an address: it goes into a header field of responses.
#[must_use]
pub fn is_address(text: &str) -> bool {
    (1..=ADDRESS_BYTES_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Runs of which one message tells what they came to.
pub(crate) const RAN_MAX: usize = 4_096;
const RAN_BYTES: usize = 24;
const RAN_BYTES_MAX: usize = 64 + RAN_BYTES * RAN_MAX;

/// What runs of modules came to at a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunsTold {
    /// Of all runs behind this position,
    pub from: u64,
    /// up to this one.
    pub until: u64,
    /// In the order in which they were carried out.
    pub runs: Vec<Ran>,
}

mod kind {
    pub(super) const FORWARD: u8 = 1;
    pub(super) const HEARD_ASK: u8 = 2;
    pub(super) const HEARD: u8 = 3;
    pub(super) const COMPILED: u8 = 32;
    pub(super) const ENDED: u8 = 33;
    pub(super) const SERVES: u8 = 34;
    pub(super) const RAN: u8 = 40;
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectsMessage {
    /// Commands of the sender's callers, for the leader to propose: the content of a log entry whose stamp means nothing
    /// yet.
    Forward(Bytes),
    /// The leader asks of which sessions' clients the receiver has heard.
    HeardAsk {
        /// Which of the leader's rounds.
        round: u64,
    },
    /// Of whom the sender has heard, and how many milliseconds ago.
    Heard {
        /// Which of the leader's rounds it answers: all sessions. 0: no round; those heard of since the last message.
        round: u64,
        /// By session.
        ages: Vec<(SessionId, u64)>,
    },
    /// What the sender's engine makes of versions that it is done with: why it rejects one, if it does. Only from feature
    /// level 3 on.
    Compiled(Vec<(VersionHash, Option<String>)>),
    /// Runs beside the commands with which the sender's engine is done: the object's space, and when the run was begun. Only from
    /// feature level 5 on.
    Ended(Vec<RunName>),
    /// Where the sender serves its clients, `HOST:PORT`. Only to members of builds from feature level 8 on.
    Serves(String),
    /// What runs came to at the sender, which has found its state to be another than somebody's. Only from feature level 8 on.
    Ran(RunsTold),
}

impl MachineMessage for ObjectsMessage {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Forward(content) => {
                out.push(kind::FORWARD);
                out.extend_from_slice(content);
            }
            Self::HeardAsk { round } => {
                out.push(kind::HEARD_ASK);
                out.extend_from_slice(&round.to_le_bytes());
            }
            Self::Heard { round, ages } => {
                out.push(kind::HEARD);
                out.extend_from_slice(&round.to_le_bytes());
                for (session, age_ms) in ages {
                    out.extend_from_slice(&session.0);
                    out.extend_from_slice(&age_ms.to_le_bytes());
                }
            }
            Self::Compiled(versions) => {
                out.push(kind::COMPILED);
                versions.iter().for_each(|version| encode_version(version, out));
            }
            Self::Ended(runs) => {
                out.push(kind::ENDED);
                for (space, Begun { position, number }) in runs {
                    out.extend_from_slice(&space.to_le_bytes());
                    out.extend_from_slice(&position.to_le_bytes());
                    out.extend_from_slice(&number.to_le_bytes());
                }
            }
            Self::Serves(address) => {
                out.push(kind::SERVES);
                out.extend_from_slice(address.as_bytes());
            }
            Self::Ran(RunsTold { from, until, runs }) => {
                out.push(kind::RAN);
                let numbers = runs.iter().flat_map(|ran| [ran.position, ran.space, ran.digest]);
                let numbers = [*from, *until].into_iter().chain(numbers);
                numbers.for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
            }
        }
    }

    fn decode(kind: u8, mut bytes: Bytes) -> Result<Self, Malformed> {
        let message = match kind {
            kind::FORWARD => return Ok(Self::Forward(bytes)),
            kind::SERVES => {
                let address = String::from_utf8(bytes.to_vec()).ok().filter(|address| is_address(address));
                return address.map(Self::Serves).ok_or(Malformed("an address that is none"));
            }
            kind::HEARD_ASK => Self::HeardAsk { round: number(&mut bytes)? },
            kind::HEARD => {
                let round = number(&mut bytes)?;
                let mut ages = Vec::with_capacity(bytes.len() / 24);
                while !bytes.is_empty() {
                    let mut session = SessionId([0; 16]);
                    bytes.try_copy_to_slice(&mut session.0).map_err(|_| CUT)?;
                    ages.push((session, number(&mut bytes)?));
                }
                Self::Heard { round, ages }
            }
            kind::COMPILED => {
                let mut versions = Vec::new();
                while !bytes.is_empty() {
                    versions.push(decode_version(&mut bytes)?);
                }
                Self::Compiled(versions)
            }
            kind::ENDED => {
                let mut runs = Vec::with_capacity(bytes.len() / RUN_BYTES);
                while !bytes.is_empty() {
                    let (space, position) = (number(&mut bytes)?, number(&mut bytes)?);
                    let number = bytes.try_get_u32_le().map_err(|_| CUT)?;
                    runs.push((space, Begun { position, number }));
                }
                Self::Ended(runs)
            }
            kind::RAN => Self::Ran(decode_ran(&mut bytes)?),
            _ => return Err(Malformed("a message of unknown kind")),
        };
        if bytes.is_empty() { Ok(message) } else { Err(Malformed("a message with too much in it")) }
    }

    fn is_bulky(&self) -> bool {
        matches!(self, Self::Forward(_) | Self::Ran(_))
    }

    fn may_be_said_to(&self, role: OwnRole) -> bool {
        match self {
            Self::Forward(_) | Self::Heard { .. } | Self::Compiled(_) | Self::Ended(_) => role.leads,
            Self::HeardAsk { .. } => role.follows,
            // Whoever leads next needs them too.
            Self::Serves(_) | Self::Ran(_) => true,
        }
    }

    fn length(kind: u8) -> MessageLength {
        match kind {
            kind::FORWARD => MessageLength::Data,
            kind::HEARD => MessageLength::UpTo(SESSIONS_BYTES_MAX),
            kind::COMPILED => MessageLength::UpTo(VERSIONS_BYTES_MAX),
            kind::ENDED => MessageLength::UpTo(RUNS_BYTES_MAX),
            kind::SERVES => MessageLength::UpTo(64 + ADDRESS_BYTES_MAX),
            kind::RAN => MessageLength::UpTo(RAN_BYTES_MAX),
            _ => MessageLength::Small,
        }
    }
}

/// A version's name, whether it is rejected, and why, behind the length of that.
fn encode_version((version, rejected): &(VersionHash, Option<String>), out: &mut Vec<u8>) {
    out.extend_from_slice(&version.0);
    out.push(u8::from(rejected.is_some()));
    if let Some(detail) = rejected {
        let detail = &detail[..detail.floor_char_boundary(REJECTED_BYTES_MAX)];
        out.extend_from_slice(&(detail.len() as u16).to_le_bytes());
        out.extend_from_slice(detail.as_bytes());
    }
}

fn decode_version(bytes: &mut Bytes) -> Result<(VersionHash, Option<String>), Malformed> {
    let mut version = VersionHash([0; 32]);
    bytes.try_copy_to_slice(&mut version.0).map_err(|_| CUT)?;
    match bytes.try_get_u8().map_err(|_| CUT)? {
        0 => return Ok((version, None)),
        1 => {}
        _ => return Err(Malformed("a version that is neither rejected nor not")),
    }
    let length = usize::from(bytes.try_get_u16_le().map_err(|_| CUT)?);
    if length > bytes.len() {
        return Err(CUT);
    }
    let detail = String::from_utf8(bytes.split_to(length).to_vec());
    Ok((version, Some(detail.map_err(|_| Malformed("a reason that is no text"))?)))
}

fn decode_ran(bytes: &mut Bytes) -> Result<RunsTold, Malformed> {
    let (from, until) = (number(bytes)?, number(bytes)?);
    let mut runs = Vec::with_capacity(bytes.len() / RAN_BYTES);
    while !bytes.is_empty() {
        let (position, space) = (number(bytes)?, number(bytes)?);
        runs.push(Ran { position, space, digest: number(bytes)? });
    }
    Ok(RunsTold { from, until, runs })
}

const CUT: Malformed = Malformed("a message that is cut short");

fn number(bytes: &mut Bytes) -> Result<u64, Malformed> {
    bytes.try_get_u64_le().map_err(|_| CUT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PeerMessage;

    #[test]
    fn address_is_one_line_of_bounded_length() {
        let read = |bytes: &[u8]| ObjectsMessage::decode(kind::SERVES, Bytes::copy_from_slice(bytes));
        assert_eq!(read(b"[::1]:7180"), Ok(ObjectsMessage::Serves("[::1]:7180".into())));
        for wrong in [&b""[..], b"a:1\r\nSet-Cookie: x", b"a b:1", b"\xff:1", &[b'a'; ADDRESS_BYTES_MAX + 1]]
        {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn message_comes_back_whole_and_no_cut_is_taken_for_it() {
        let ages = vec![(SessionId([1; 16]), 0), (SessionId([2; 16]), 900)];
        for message in [
            ObjectsMessage::Forward(Bytes::from_static(b"commands")),
            ObjectsMessage::HeardAsk { round: 3 },
            ObjectsMessage::Heard { round: 3, ages },
            ObjectsMessage::Compiled(vec![
                (VersionHash([4; 32]), None),
                (VersionHash([5; 32]), Some("rule 7".into())),
            ]),
            ObjectsMessage::Ended(vec![
                (7, Begun { position: 1 << 40, number: 2 }),
                (8, Begun { position: 9, number: 1 }),
            ]),
            ObjectsMessage::Ran(RunsTold {
                from: 3,
                until: 1 << 40,
                runs: vec![Ran { position: 4, space: 2, digest: u64::MAX }],
            }),
        ] {
            let whole = PeerMessage::Machine(message);
            let mut bytes = Vec::new();
            whole.encode(&mut bytes);
            assert_eq!(PeerMessage::decode(Bytes::from(bytes.clone())), Ok(whole.clone()));
            for cut in 0..bytes.len() {
                let read = PeerMessage::decode(Bytes::copy_from_slice(&bytes[..cut]));
                assert_ne!(read, Ok(whole.clone()), "{cut}");
            }
        }
    }
}
