//! What clients asked for and saw.

use std::collections::BTreeMap;

use objects_state::{Authority, Principal, SessionId};

use super::edge::HttpCall;
use crate::told::{Answer, Object};

/// What a call is about, as far as those who judge must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// A command: what it does stands in the log.
    Command {
        /// The object, of which the client learns.
        object: Option<Object>,
        /// The method, if it is one.
        method: Option<&'static str>,
    },
    /// A query of an object.
    Query {
        /// Of which.
        object: Object,
        /// The method.
        method: &'static str,
        /// Its arguments.
        args: Vec<u8>,
        /// Whether it may be answered from a state that is older.
        is_stale: bool,
        /// Not before this position.
        min_position: Option<u64>,
    },
    /// A migration is tried.
    TryMigration {
        /// Of which object.
        object: Object,
        /// To the version of that number.
        to: u64,
    },
    /// An object is exported.
    Export {
        /// Which.
        object: Object,
    },
    /// Who may do what, and have how much, as far as its client may know.
    Access {
        /// Whether it may be answered from a state that is older.
        is_stale: bool,
    },
    /// A backup of all objects: what it holds is looked at where it is read.
    Backup,
    /// A session is renewed.
    Renew,
    /// A stream of a session's events, which keeps it.
    Stream,
    /// A module of a type of users: several commands, one behind the other.
    Upload,
}

/// By what a request comes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum By {
    /// Without credentials.
    #[default]
    Nobody,
    /// By the token that may do everything.
    Root,
    /// By a token of that number.
    Token { number: u64, principal: String },
}

impl By {
    /// Who it is, as the log must have it.
    pub(crate) fn principal(&self) -> Principal {
        match self {
            Self::Nobody => Principal::anonymous(),
            Self::Root => Principal::root(),
            Self::Token { number, principal } => {
                Principal { name: principal.clone(), authority: Authority::Token(*number) }
            }
        }
    }
}

/// What a call changes of tokens and rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It asks for a token.
    Create,
    /// It revokes the token of that number.
    Revoke(u64),
    /// It revokes all tokens of that principal.
    RevokePrincipal(String),
    /// It changes rights.
    Else,
}

/// Something that a client wants, until it has it or gives it up.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) client: usize,
    pub(crate) about: About,
    pub(crate) http: HttpCall,
    pub(crate) by: By,
    /// What it changes of tokens and rights, if it does.
    pub(crate) change: Option<Change>,
    /// The session in whose name it comes, or which it opens.
    pub(crate) session: Option<SessionId>,
    /// Its number in that session.
    pub(crate) request: Option<u64>,
    /// Whether it may be sent again: it takes effect once.
    pub(crate) is_repeatable: bool,
    /// The ticket under which it waits.
    pub(crate) ticket: Option<u64>,
    pub(crate) attempts: Vec<u64>,
    pub(crate) is_done: bool,
}

impl Call {
    /// Whether it calls a method without session and key, so that no copy of it may take effect instead.
    pub(crate) const fn is_anonymous(&self) -> bool {
        let calls_method = matches!(self.about, About::Command { method: Some(_), .. });
        calls_method && self.session.is_none() && !self.is_repeatable
    }
}

/// What an attempt asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Errand {
    /// The call itself.
    Ask,
    /// The result of its ticket.
    Collect(u64),
    /// That its ticket ends.
    Cancel(u64),
}

/// A request on a connection of its own.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) call: usize,
    pub(crate) errand: Errand,
    /// The member, its life, and which of its edges.
    pub(crate) at: (u64, u64, u16),
    pub(crate) sent_ms: u64,
    /// After that the client waits no more.
    pub(crate) until_ms: u64,
    /// The highest position that anybody had been told when it was sent.
    pub(crate) told_before: u64,
    pub(crate) answer: Option<Answer>,
    pub(crate) answered_ms: Option<u64>,
    /// Nothing more will come: it is answered, broken, or given up.
    pub(crate) is_over: bool,
}

/// See the module. Attempts are numbered from 0.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) calls: Vec<Call>,
    pub(crate) attempts: Vec<Attempt>,
    /// The highest position that anybody was told.
    pub(crate) highest: u64,
    /// When and how it rose.
    rises: Vec<(u64, u64)>,
    /// When all faults had ended, and everything was at rest.
    pub(crate) calm_from_ms: Option<u64>,
    /// When each session was left by its client without a word.
    pub(crate) left_ms: BTreeMap<SessionId, u64>,
    pub(crate) ended_ms: u64,
}

impl History {
    pub(crate) fn begin(&mut self, call: Call) -> usize {
        self.calls.push(call);
        self.calls.len() - 1
    }

    /// A client sends a request. Gives its number.
    pub(crate) fn send(
        &mut self,
        (call, errand): (usize, Errand),
        at: (u64, u64, u16),
        (sent_ms, until_ms): (u64, u64),
    ) -> u64 {
        let attempt = Attempt {
            call,
            errand,
            at,
            sent_ms,
            until_ms,
            told_before: self.highest,
            answer: None,
            answered_ms: None,
            is_over: false,
        };
        self.attempts.push(attempt);
        let number = self.attempts.len() as u64 - 1;
        self.calls[call].attempts.push(number);
        number
    }

    pub(crate) fn attempt(&mut self, number: u64) -> &mut Attempt {
        &mut self.attempts[number as usize]
    }

    /// A client is answered.
    pub(crate) fn answered(&mut self, now_ms: u64, number: u64, answer: Answer) {
        if let Some(position) = answer.position.filter(|position| *position > self.highest) {
            self.highest = position;
            self.rises.push((now_ms, position));
        }
        let attempt = self.attempt(number);
        (attempt.answer, attempt.answered_ms, attempt.is_over) = (Some(answer), Some(now_ms), true);
    }

    /// The highest position that anybody had been told at that time.
    pub(crate) fn highest_at(&self, at_ms: u64) -> u64 {
        let behind = self.rises.partition_point(|(rose_ms, _)| *rose_ms <= at_ms);
        behind.checked_sub(1).and_then(|last| self.rises.get(last)).map_or(0, |(_, position)| *position)
    }
}
