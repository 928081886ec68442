//! What is played: steps of several clients in one fixed order, kept in blocks that only make sense whole.

use std::fmt;

use super::op::{Op, ZxidRef};

/// How both servers of a pair are configured for a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Profile {
    /// ZooKeeper's defaults.
    Plain,
    /// Everything that is off by default: TTL nodes, enforced quotas, reconfig, a superuser's password known to scripts.
    Full,
    /// Containers and TTL nodes are reaped ten times a second: only scripts that wait for it are played under this one.
    Reaping,
}

impl Profile {
    /// All of them.
    pub const ALL: [Profile; 3] = [Profile::Plain, Profile::Full, Profile::Reaping];
}

/// A whole script.
#[derive(Clone, Debug)]
pub struct Script {
    /// The seed that decides every step.
    pub seed: u64,
    /// The configuration it is played under.
    pub profile: Profile,
    /// The steps, in blocks.
    pub blocks: Vec<Block>,
}

/// Steps that belong together: shrinking drops whole blocks.
#[derive(Clone, Debug)]
pub struct Block {
    /// What the generator had in mind.
    pub scene: &'static str,
    /// The entry of the table of intended differences that excuses differences in this block, if any.
    pub purpose: Option<&'static str>,
    /// The steps.
    pub steps: Vec<Step>,
}

/// One client does one thing; then all clients wait for everything that follows from it.
#[derive(Clone, Debug)]
pub struct Step {
    /// The client.
    pub client: usize,
    /// What.
    pub action: Action,
}

/// What a client can do.
#[derive(Clone, Debug)]
pub enum Action {
    /// Opens a socket and shakes hands.
    Connect(Connect),
    /// Sends requests in one write, then reads as many replies.
    Send(Vec<Request>),
    /// Sends requests, reads as many replies, then waits until the server's reaper has removed these nodes.
    Reap(Vec<Request>, Vec<String>),
    /// Sends bytes after which no reply but a close is expected.
    Bytes(Vec<u8>),
    /// Closes the socket without closing the session, which goes on.
    Drop,
    /// Asks a four-letter word on a socket of its own.
    Word(&'static str),
    /// Asks the AdminServer for a page.
    Page(&'static str),
}

/// A request with its xid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The client's number for it.
    pub xid: i32,
    /// The request.
    pub op: Op,
}

/// Which session a handshake names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionRef {
    /// None: a new one.
    New,
    /// The client's own.
    Mine,
    /// The client's own, with a wrong password.
    WrongPassword,
    /// The session of another client.
    Of(usize),
    /// One that never existed.
    Unknown,
}

/// A handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are the protocol's own")]
pub struct Connect {
    pub session: SessionRef,
    pub protocol_version: i32,
    pub last_zxid_seen: ZxidRef,
    pub timeout_ms: i32,
    /// `None`: the field is left out, as clients before 3.4 do.
    pub read_only: Option<bool>,
}

impl Connect {
    /// An ordinary handshake.
    #[must_use]
    pub fn to(session: SessionRef) -> Connect {
        Connect {
            session,
            protocol_version: 0,
            last_zxid_seen: ZxidRef::Zero,
            timeout_ms: 40_000,
            read_only: Some(false),
        }
    }
}

impl Script {
    /// How many requests it sends.
    #[must_use]
    pub fn operations(&self) -> usize {
        let steps = self.blocks.iter().flat_map(|block| &block.steps);
        steps.map(|step| step.action.requests().map_or(1, <[Request]>::len)).sum()
    }

    /// The same script with only some of its blocks.
    #[must_use]
    pub fn only(&self, keep: &[usize]) -> Script {
        let blocks = keep.iter().filter_map(|index| self.blocks.get(*index)).cloned().collect();
        Script { seed: self.seed, profile: self.profile, blocks }
    }
}

impl Action {
    /// The requests that it sends, if it sends any.
    #[must_use]
    pub fn requests(&self) -> Option<&[Request]> {
        match self {
            Action::Send(requests) | Action::Reap(requests, _) => Some(requests),
            _ => None,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client {}: ", self.client)?;
        match &self.action {
            Action::Connect(connect) => write!(
                f,
                "connect {:?} version={} seen={:?} timeout={} readOnly={:?}",
                connect.session,
                connect.protocol_version,
                connect.last_zxid_seen,
                connect.timeout_ms,
                connect.read_only
            ),
            Action::Send(requests) => write!(f, "{}", Requests(requests)),
            Action::Reap(requests, gone) => {
                write!(f, "{}, then wait for the end of {gone:?}", Requests(requests))
            }
            Action::Bytes(bytes) => write!(f, "bytes {}", super::op::Bytes(Some(bytes))),
            Action::Drop => f.write_str("drop the socket"),
            Action::Word(word) => write!(f, "word {word}"),
            Action::Page(name) => write!(f, "page {name}"),
        }
    }
}

struct Requests<'a>(&'a [Request]);

impl fmt::Display for Requests<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, request) in self.0.iter().enumerate() {
            write!(f, "{}#{} {}", if index == 0 { "" } else { " | " }, request.xid, request.op)?;
        }
        Ok(())
    }
}
