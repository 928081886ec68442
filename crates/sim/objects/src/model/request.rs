//! Exactly once: what is remembered of requests.

use objects_state::{Authority, Caller, Content, Identity, Invocation, ObjectName, SessionId};

use super::answer::Answer;
use crate::forgotten::Forgotten;

/// Who asked, and where the answer is kept.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    pub(crate) principal: String,
    /// What vouches for its name.
    pub(crate) authority: Authority,
    /// Whether anybody asked what it may: access is closed, or it came by a token.
    pub(crate) is_asked: bool,
    pub(crate) session: Option<SessionId>,
    pub(crate) kept_at: KeptAt,
    /// The time to live of the session that the call opened.
    pub(crate) opened_ttl_ms: Option<i64>,
}

/// Where a reply is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeptAt {
    Nowhere,
    Session(SessionId, u64),
    Key(String, String),
}

impl KeptAt {
    pub(crate) fn of(caller: &Caller) -> Self {
        match &caller.identity {
            Identity::Anonymous => Self::Nowhere,
            Identity::Session { session, request, .. } => Self::Session(*session, *request),
            Identity::Key(key) => Self::Key(caller.principal.name.clone(), key.clone()),
        }
    }
}

/// What a request asked for: under a key only the same again is a repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Call(ObjectName, Invocation),
    Batch(ObjectName, Vec<Invocation>),
    Create(ObjectName, Vec<u8>),
    Delete(ObjectName, Option<u64>),
    Import(ObjectName, Content),
}

/// How far a request has come.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Progress {
    Waits(u64),
    /// It waited under that ticket, if it waited.
    Ended(Option<u64>, Answer),
}

/// A request that is remembered.
#[derive(Clone, Debug)]
pub(crate) struct Remembered {
    pub(crate) at: KeptAt,
    pub(crate) asked: Asked,
    pub(crate) progress: Progress,
    /// When it is forgotten: a key whose call has ended.
    pub(crate) forgotten_ms: Option<i64>,
}

/// An open session.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) secret_hash: [u8; 32],
    pub(crate) generation: u32,
    pub(crate) ttl_ms: i64,
    pub(crate) principal: String,
    pub(crate) forgotten: Forgotten,
}
