//! The requests that are under way.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

use base::MonoTime;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use objects_state::SessionId;

use super::upload::Upload;
use crate::fields::Credential;
use crate::namespace::Namespace;

/// What a request is for: how its answer is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A command. It may have an effect though it is not answered.
    Command,
    /// A call that opens a session, if it gets something.
    Opening {
        credential: Credential,
        /// Whether the secret is shown in the body too. Not to a request with a key: its repeats get the same bytes.
        in_body: bool,
    },
    /// The creation of an object.
    Creation,
    /// The opening of a session.
    Session(Credential),
    /// It reads, or collects a ticket.
    Reading,
    /// It reads what has names, in a namespace.
    ReadingIn(Namespace),
    /// How much there is, shown as the only group.
    Groups,
    /// Whether the member serves.
    Ready,
    /// The types of users, shown behind the built-in ones.
    Types,
    /// The types of users, as a document: of all types, or of the one of that name.
    OpenApi(Option<String>),
    /// A new token, which its creator alone is shown.
    Token(String),
    /// A module on its way.
    Upload(Box<Upload>),
    /// A snapshot of the member.
    Backup {
        /// Whether its response has begun.
        has_begun: bool,
    },
    /// A stream of events, perhaps of a session, or of an object in a namespace.
    Stream(Option<SessionId>, Option<Namespace>),
}

/// A request that the core has, under its number.
#[derive(Clone, Debug)]
pub(crate) struct Open<K> {
    pub(crate) key: K,
    pub(crate) purpose: Purpose,
    /// For how long it may wait until it is answered by its ticket; not set if the ticket would be of no use.
    pub(crate) hold_ms: Option<u64>,
    pub(crate) ticket: Option<u64>,
    /// The session that it keeps by waiting.
    pub(crate) keeps: Option<SessionId>,
    /// What is noted when it has been done.
    pub(crate) noted: Option<Box<str>>,
    held_until: Option<MonoTime>,
}

/// All of them. They come and go fast, and what looks at all of them puts them in order itself. Their keys are the member's own: a
/// client cannot choose which collide.
#[derive(Debug)]
pub(crate) struct Requests<K> {
    open: HashMap<u64, Open<K>, FixedState>,
    numbers: HashMap<K, u64, FixedState>,
    holds: BTreeSet<(MonoTime, u64)>,
    streams: BTreeMap<u64, Option<SessionId>>,
    /// Requests that keep a session: by a stream, or by waiting.
    keepers: BTreeMap<u64, SessionId>,
    next: u64,
}

impl<K> Default for Requests<K> {
    fn default() -> Self {
        Self {
            open: HashMap::with_hasher(FixedState::default()),
            numbers: HashMap::with_hasher(FixedState::default()),
            holds: BTreeSet::new(),
            streams: BTreeMap::new(),
            keepers: BTreeMap::new(),
            next: 1,
        }
    }
}

impl<K: Copy + Eq + Hash> Requests<K> {
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    /// The number that the next request gets.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Takes in the request of the next number.
    pub(crate) fn insert(&mut self, key: K, purpose: Purpose, hold_ms: Option<u64>, noted: Option<Box<str>>) {
        let number = self.next;
        self.next += 1;
        self.numbers.insert(key, number);
        self.open.insert(
            number,
            Open { key, purpose, hold_ms, ticket: None, keeps: None, noted, held_until: None },
        );
    }

    /// How many modules are on their way.
    pub(crate) fn uploads(&self) -> usize {
        self.open.values().filter(|open| matches!(open.purpose, Purpose::Upload(_))).count()
    }

    pub(crate) fn get(&self, number: u64) -> Option<&Open<K>> {
        self.open.get(&number)
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut Open<K>> {
        self.open.get_mut(&number)
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<Open<K>> {
        let open = self.open.remove(&number)?;
        self.numbers.remove(&open.key);
        self.streams.remove(&number);
        self.keepers.remove(&number);
        if let Some(at) = open.held_until {
            self.holds.remove(&(at, number));
        }
        Some(open)
    }

    pub(crate) fn number_of(&self, key: K) -> Option<u64> {
        self.numbers.get(&key).copied()
    }

    /// Takes note of a request's ticket, and of the session that it keeps.
    pub(crate) fn parked(&mut self, number: u64, ticket: u64, keeps: Option<SessionId>, now: MonoTime) {
        let Some(open) = self.open.get_mut(&number) else { return };
        (open.ticket, open.keeps) = (Some(ticket), keeps);
        if let Some(session) = keeps {
            self.keepers.insert(number, session);
        }
        if let (Some(ms), None) = (open.hold_ms, open.held_until) {
            let at = now.plus_ms(ms);
            open.held_until = Some(at);
            self.holds.insert((at, number));
        }
    }

    /// A watch has begun: its stream is open.
    pub(crate) fn begun(&mut self, number: u64) {
        if let Some(Open { purpose: Purpose::Stream(session, _), .. }) = self.open.get(&number) {
            self.streams.insert(number, *session);
            if let Some(session) = session {
                self.keepers.insert(number, *session);
            }
        }
    }

    /// Whether it is a stream that is open.
    pub(crate) fn is_stream(&self, number: u64) -> bool {
        self.streams.contains_key(&number)
    }

    /// A request that has waited long enough.
    pub(crate) fn held(&self, now: MonoTime) -> Option<u64> {
        self.holds.first().filter(|(at, _)| *at <= now).map(|(_, number)| *number)
    }

    pub(crate) fn first_hold(&self) -> Option<MonoTime> {
        self.holds.first().map(|(at, _)| *at)
    }

    pub(crate) const fn streams(&self) -> &BTreeMap<u64, Option<SessionId>> {
        &self.streams
    }

    /// Whether a session is kept by an open connection.
    pub(crate) fn keeps_any(&self) -> bool {
        !self.keepers.is_empty()
    }

    /// The sessions that are, each once.
    pub(crate) fn kept(&self) -> BTreeSet<SessionId> {
        self.keepers.values().copied().collect()
    }

    /// All their numbers, in the order in which they came.
    pub(crate) fn all(&self) -> Vec<u64> {
        let mut numbers: Vec<_> = self.open.keys().copied().collect();
        numbers.sort_unstable();
        numbers
    }
}
