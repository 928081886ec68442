//! Who is in a group: each member has an ephemeral node below the group's, named after it, as Curator's `GroupMember` has;
//! everyone keeps a copy of the group.
//!
//! # What holds
//! - The members are those of one moment, as the [cache](super::Cache) says. A member whose session has not expired yet
//!   is still shown, and one that is shown may have ended: membership is a hint, never a right. A member that acts for
//!   the group needs an epoch that others check, as a [contender](super::Contender) has.
//! - A member's epoch is the zxid of its node: the same name with another epoch has been away.
//! - After an expired session the member comes back under a new epoch, if the client opens a new session.

use std::collections::BTreeMap;

use council_wire::{Acl, SessionId};

use super::presence::{Presence, PresenceState};
use super::{Ask, Cache, CacheLimits, Input, Recipe, child};
use crate::RequestId;

/// One member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// What it says of itself.
    pub data: Vec<u8>,
    /// The zxid that created its node.
    pub epoch: i64,
}

/// See the module.
#[derive(Debug)]
pub struct Membership {
    group: String,
    presence: Option<Presence>,
    cache: Cache,
}

impl Membership {
    /// Watches a group.
    #[must_use]
    pub fn new(group: &str, limits: CacheLimits) -> Self {
        Self { group: String::from(group), presence: None, cache: Cache::new(group, limits) }
    }

    /// Becomes a member as soon as a server is connected. No other member may have this name.
    #[must_use]
    pub fn joined(mut self, name: &str, data: &[u8], acl: &[Acl]) -> Self {
        self.presence = Some(Presence::new(&child(&self.group, name), data, acl));
        self
    }

    /// The members, by name. Nodes below the group that are not ephemeral are none.
    #[must_use]
    pub fn members(&self) -> BTreeMap<String, Member> {
        let nodes = self.cache.nodes();
        let member = |name: &str| {
            let node = nodes
                .get(&child(&self.group, name))
                .filter(|node| node.ephemeral_owner != SessionId::NONE)?;
            let data = node.data.clone().unwrap_or_default();
            Some((String::from(name), Member { data, epoch: node.czxid.0 }))
        };
        self.cache.children(&self.group).filter_map(member).collect()
    }

    /// Whether this client is a member itself; `None` if it is not to be.
    #[must_use]
    pub fn presence(&self) -> Option<&PresenceState> {
        self.presence.as_ref().map(Presence::state)
    }

    /// The copy of the group.
    #[must_use]
    pub const fn cache(&self) -> &Cache {
        &self.cache
    }

    /// As [`Self::cache`], to take updates from.
    pub const fn cache_mut(&mut self) -> &mut Cache {
        &mut self.cache
    }
}

/// The requests of both parts have numbers of their own: those of the presence are odd.
const fn outer(id: RequestId, is_presence: bool) -> RequestId {
    RequestId(id.0 * 2 + is_presence as u64)
}

impl Recipe for Membership {
    fn tell(&mut self, input: Input) {
        if let Input::Replied(id, replied) = input {
            let inner = Input::Replied(RequestId(id.0 / 2), replied);
            return match &mut self.presence {
                Some(presence) if id.0 % 2 == 1 => presence.tell(inner),
                _ => self.cache.tell(inner),
            };
        }
        if let Some(presence) = &mut self.presence {
            presence.tell(input.clone());
        }
        self.cache.tell(input);
    }

    fn next(&mut self) -> Option<Ask> {
        if let Some(Ask { id, request }) = self.presence.as_mut().and_then(Presence::next) {
            return Some(Ask { id: outer(id, true), request });
        }
        self.cache.next().map(|Ask { id, request }| Ask { id: outer(id, false), request })
    }

    fn is_over(&self) -> bool {
        self.cache.is_over() && self.presence.as_ref().is_none_or(Presence::is_over)
    }
}
