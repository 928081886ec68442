//! Group membership.

use std::collections::BTreeMap;
use std::time::Duration;

use council_client_core::recipes::{CacheLimits, CacheState, Member, Membership, PresenceState, Recipe};
use council_client_core::{Acl, Zxid};

use super::RecipeError;
use super::running::Running;
use crate::Client;

/// A group of members, each with a name of its own; and one of them, if it is [joined](Self::join).
///
/// ```no_run
/// use std::time::Duration;
///
/// use council_client::{Options, Zxid};
/// use council_client::recipes::Group;
///
/// let client = Options::new().renew_session(true).connect("127.0.0.1:2181")?;
/// let group = Group::join(&client, "/app/members", "broker-7", b"10.0.0.7:9092")?;
/// let mut zxid = Zxid(-1);
/// while let Some(now) = group.wait_newer(zxid, Duration::from_secs(60)) {
///     println!("{:?}", group.members());
///     zxid = now;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # After the session has expired
/// The member is gone, for everyone else, until the client [opens a new session](crate::Options::renew_session); then
/// it is back with another epoch. Without that the group is of no more use. A process that is shown as a member may
/// have ended, and one that is not may still run: a caller that gives work to members checks their epochs where the
/// work is done.
#[derive(Debug)]
pub struct Group {
    running: Running<Membership>,
}

impl Group {
    /// Watches a group.
    ///
    /// # Errors
    /// When this host has no thread left.
    pub fn watch(client: &Client, path: &str) -> Result<Self, RecipeError> {
        Self::start(client, Membership::new(path, CacheLimits::default()))
    }

    /// Watches a group, and is a member of it. No other member may have this name. Its node is open to all.
    ///
    /// # Errors
    /// When this host has no thread left.
    pub fn join(client: &Client, path: &str, name: &str, data: &[u8]) -> Result<Self, RecipeError> {
        Self::join_with(client, path, name, data, &[Acl::open()])
    }

    /// As [`Self::join`], with an ACL of the member's node, and of the parents that are made for it.
    ///
    /// # Errors
    /// When this host has no thread left.
    pub fn join_with(
        client: &Client,
        path: &str,
        name: &str,
        data: &[u8],
        acl: &[Acl],
    ) -> Result<Self, RecipeError> {
        Self::start(client, Membership::new(path, CacheLimits::default()).joined(name, data, acl))
    }

    fn start(client: &Client, membership: Membership) -> Result<Self, RecipeError> {
        let forget_updates = |membership: &mut Membership| while membership.cache_mut().update().is_some() {};
        Ok(Self { running: Running::start(client, membership, forget_updates)? })
    }

    /// The members, by name.
    #[must_use]
    pub fn members(&self) -> BTreeMap<String, Member> {
        self.running.look(Membership::members)
    }

    /// Whether this client's own member is there; `None` if it only watches.
    #[must_use]
    pub fn presence(&self) -> Option<PresenceState> {
        self.running.look(|membership| membership.presence().cloned())
    }

    /// Whether what is known of the group follows it.
    #[must_use]
    pub fn state(&self) -> CacheState {
        self.running.look(|membership| membership.cache().state().clone())
    }

    /// Waits until the group is known as it was after this zxid (-1: at all); the zxid that it is known of then.
    #[must_use]
    pub fn wait_newer(&self, zxid: Zxid, time: Duration) -> Option<Zxid> {
        let newer = |membership: &Membership| Some(membership.cache().zxid()).filter(|now| *now > zxid);
        self.running.wait(time, newer)
    }

    /// Waits until `wanted` is true of the members; whether it is.
    #[must_use]
    pub fn wait_members(&self, time: Duration, wanted: impl Fn(&BTreeMap<String, Member>) -> bool) -> bool {
        let found = |membership: &Membership| wanted(&membership.members()).then_some(());
        self.running.wait(time, found).is_some()
    }

    /// Leaves the group, and waits until the server has confirmed it.
    ///
    /// # Errors
    /// When the time is over: the request goes to the server later, or the session ends.
    pub fn leave(self, time: Duration) -> Result<(), RecipeError> {
        self.running.release();
        self.running.wait(time, |membership| membership.is_over().then_some(())).ok_or(RecipeError::TimedOut)
    }
}
