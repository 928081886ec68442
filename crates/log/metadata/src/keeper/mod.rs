//! A broker's copy of what the log keeps in the council, its announcement, and its changes. See the crate's documentation.

mod change;
mod changes;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use council_client_core::recipes::{
    Ask, Cache, CacheLimits, CacheState, Input, Presence, PresenceState, Recipe,
};
use council_client_core::{Acl, Error, RequestId, Zxid};

pub use change::{Change, Compute, Decision, Ended, Found};
use changes::{Changes, Finished};

use crate::paths;

/// How much a keeper holds.
#[derive(Clone, Copy, Debug)]
pub struct KeeperLimits {
    /// The copy.
    pub copy: CacheLimits,
    /// Changes that are carried out at once.
    pub changes_at_once_max: usize,
}

impl Default for KeeperLimits {
    fn default() -> Self {
        Self { copy: CacheLimits::default(), changes_at_once_max: 200 }
    }
}

/// Whether this broker is known to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It does not want to be, or is not yet.
    Unknown,
    /// It is.
    Announced,
    /// Another process is announced under its number.
    Taken,
}

/// What a keeper tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeeperEvent {
    /// The node has this data; nothing if it is gone.
    Node {
        /// Its path.
        path: String,
        /// Its data.
        data: Option<Vec<u8>>,
    },
    /// The broker has joined: all nodes that there were then have been told.
    Joined,
    /// A change has ended.
    Ended {
        /// The ticket of the change.
        ticket: u64,
        /// How.
        ended: Ended,
    },
    /// Whether this broker is known has changed.
    Standing(Standing),
    /// Nothing more comes: the council cannot be used any more.
    Over(Error),
}

/// See the module.
#[derive(Debug)]
pub struct Keeper {
    acl: Vec<Acl>,
    cache: Cache,
    presence: Option<Presence>,
    standing: Standing,
    changes: Changes,
    /// Changes that have ended and that the copy does not show yet.
    unshown: VecDeque<Finished>,
    is_over: bool,
    /// The broker stops: nothing is to be followed any more.
    is_released: bool,
    events: VecDeque<KeeperEvent>,
    /// What came last, so that a presence that begins later begins from there.
    connection: Option<Input>,
}

/// Requests of each part have numbers of their own.
const PARTS: u64 = 3;
const OF_CACHE: u64 = 0;
const OF_PRESENCE: u64 = 1;
const OF_CHANGES: u64 = 2;

impl Keeper {
    /// A keeper whose nodes get this ACL.
    #[must_use]
    pub fn new(acl: Vec<Acl>, limits: KeeperLimits) -> Self {
        Self {
            cache: Cache::new(paths::ROOT, limits.copy),
            presence: None,
            standing: Standing::Unknown,
            changes: Changes::new(acl.clone(), limits.changes_at_once_max),
            acl,
            unshown: VecDeque::new(),
            is_over: false,
            is_released: false,
            events: VecDeque::new(),
            connection: None,
        }
    }

    /// Announces this broker by an ephemeral node with that data.
    pub fn announce(&mut self, broker: i32, data: &[u8]) {
        let mut presence = Presence::new(&paths::broker(broker), data, &self.acl);
        if let Some(connection) = &self.connection {
            presence.tell(connection.clone());
        }
        self.presence = Some(presence);
    }

    /// Begins a change. How it ends is told by [`KeeperEvent::Ended`].
    pub fn change(&mut self, change: Change) {
        self.changes.push(change);
    }

    /// How many changes have not ended.
    #[must_use]
    pub fn changes_under_way(&self) -> usize {
        self.changes.len() + self.unshown.len()
    }

    /// Whether the copy shows the announcement of this broker, and so everything that was written before it.
    #[must_use]
    pub fn shows_announcement(&self, broker: i32) -> bool {
        let Some(PresenceState::Present { epoch }) = self.presence.as_ref().map(Presence::state) else {
            return false;
        };
        self.cache.nodes().get(&paths::broker(broker)).is_some_and(|node| node.czxid.0 == *epoch)
    }

    /// The broker has joined: [`KeeperEvent::Joined`] comes behind all nodes of the present copy.
    pub(crate) fn joined(&mut self) {
        self.events.push_back(KeeperEvent::Joined);
    }

    /// Whether this broker is known to the others.
    #[must_use]
    pub const fn standing(&self) -> Standing {
        self.standing
    }

    /// The next thing to be told.
    pub fn event(&mut self) -> Option<KeeperEvent> {
        self.events.pop_front()
    }

    /// The data of a node, as the copy shows it.
    #[must_use]
    pub fn data(&self, path: &str) -> Option<&[u8]> {
        self.cache.nodes().get(path).map(|node| node.data.as_deref().unwrap_or_default())
    }

    fn follow(&mut self) {
        while let Some(update) = self.cache.update() {
            for path in update.paths {
                let data = self.data(&path).map(<[u8]>::to_vec);
                self.events.push_back(KeeperEvent::Node { path, data });
            }
        }
        self.unshown.extend(std::iter::from_fn(|| self.changes.finished()));
        let mut unshown = VecDeque::new();
        for finished in std::mem::take(&mut self.unshown) {
            if self.is_shown(&finished) {
                let Finished { ticket, ended, .. } = finished;
                self.events.push_back(KeeperEvent::Ended { ticket, ended });
            } else {
                unshown.push_back(finished);
            }
        }
        self.unshown = unshown;
        self.follow_standing();
    }

    /// Whether the copy is not older than the end of a change. A change that wrote nothing does not make it newer.
    fn is_shown(&self, finished: &Finished) -> bool {
        finished.zxid <= self.cache.zxid()
            || match &finished.ended {
                Ended::Refused(..) => true,
                Ended::Done(data) => {
                    self.cache.zxid() >= Zxid(0) && self.data(&finished.path) == data.as_deref()
                }
            }
    }

    fn follow_standing(&mut self) {
        let standing = match self.presence.as_ref().map(Presence::state) {
            Some(PresenceState::Present { .. }) => Standing::Announced,
            Some(PresenceState::Taken) => Standing::Taken,
            // It may be known still: nothing has changed that others could see.
            Some(PresenceState::Unsure { .. }) => self.standing,
            _ => Standing::Unknown,
        };
        if standing != self.standing {
            self.standing = standing;
            self.events.push_back(KeeperEvent::Standing(standing));
        }
        let failed = match self.cache.state() {
            CacheState::Failed(error) => Some(error.clone()),
            _ => self.presence.as_ref().and_then(|presence| match presence.state() {
                PresenceState::Failed(error) => Some(error.clone()),
                _ => None,
            }),
        };
        if let Some(error) = failed.filter(|_| !self.is_over && !self.is_released) {
            self.is_over = true;
            self.events.push_back(KeeperEvent::Over(error));
        }
    }
}

impl Recipe for Keeper {
    fn tell(&mut self, input: Input) {
        match input {
            Input::Replied(RequestId(id), replied) => {
                let inner = RequestId(id / PARTS);
                match (id % PARTS, &mut self.presence) {
                    (OF_CHANGES, _) => self.changes.replied(inner, replied),
                    (OF_PRESENCE, Some(presence)) => presence.tell(Input::Replied(inner, replied)),
                    _ => self.cache.tell(Input::Replied(inner, replied)),
                }
            }
            other => {
                match &other {
                    Input::Connected { .. } => self.changes.connected(),
                    Input::Event(_) => {}
                    _ => self.changes.disconnected(),
                }
                self.is_released |= matches!(other, Input::Release);
                if !matches!(other, Input::Event(_) | Input::Release) {
                    self.connection = Some(other.clone());
                }
                if let Some(presence) = &mut self.presence {
                    presence.tell(other.clone());
                }
                self.cache.tell(other);
            }
        }
        self.follow();
    }

    fn next(&mut self) -> Option<Ask> {
        let of = |part: u64, ask: Ask| Ask { id: RequestId(ask.id.0 * PARTS + part), request: ask.request };
        if let Some(ask) = self.presence.as_mut().and_then(Presence::next) {
            return Some(of(OF_PRESENCE, ask));
        }
        if let Some(ask) = self.changes.next() {
            return Some(of(OF_CHANGES, ask));
        }
        self.cache.next().map(|ask| of(OF_CACHE, ask))
    }

    fn is_over(&self) -> bool {
        self.is_over || (self.cache.is_over() && self.presence.as_ref().is_none_or(Presence::is_over))
    }
}
