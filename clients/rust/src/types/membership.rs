//! Who is there. Members leave with their session.
// Made by clients/generate/main.py.

use serde::Deserialize;
use serde_json::Value as Json;

use crate::call::{Call, Kind};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::object::Object;
use crate::types::Member;
use crate::wait::Wait;

/// What `join` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct MembershipJoinOptions {
    pub data: Option<Json>,
}

/// What `join` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct MembershipJoinResult {
    pub epoch: i64,
    pub members: Vec<Member>,
}

/// What `report` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct MembershipReportResult {
    pub reports: i64,
    pub removed: bool,
    pub epoch: i64,
}

/// What `await_change` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct MembershipAwaitChangeResult {
    pub changed: bool,
    pub epoch: i64,
    pub members: Vec<Member>,
}

/// What `await_size` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct MembershipAwaitSizeOptions {
    pub n: Option<i64>,
}

/// What `await_size` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct MembershipAwaitSizeResult {
    pub reached: bool,
    pub epoch: i64,
    pub members: Vec<Member>,
}

/// What `members` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct MembershipMembersResult {
    pub enough: bool,
    pub epoch: i64,
    pub members: Vec<Member>,
}

/// Who is there. Members leave with their session.
#[derive(Clone, Debug)]
pub struct Membership(Object);

impl std::ops::Deref for Membership {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.0
    }
}

impl Membership {
    /// Names one; it exists once it is used.
    #[must_use]
    pub fn new(cluster: &Cluster, name: &str) -> Self {
        Self(Object::new(cluster, "membership", name))
    }

    /// The same object, whose queries ask one member's copy, not older than what this cluster object has seen.
    #[must_use]
    pub fn stale(&self) -> Self {
        Self(self.0.stale())
    }

    /// Gives `epoch`, `members`.
    pub fn join(&self, name: &str) -> Result<MembershipJoinResult> {
        self.0.give(&Call::new(Kind::Owned, "join").with("name", name))
    }

    /// Gives `epoch`, `members`.
    pub fn join_with(&self, name: &str, options: MembershipJoinOptions) -> Result<MembershipJoinResult> {
        self.0.give(&Call::new(Kind::Owned, "join").with("name", name).with_some("data", options.data))
    }

    /// Gives `epoch`.
    pub fn leave(&self, name: &str) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Owned, "leave").with("name", name), "epoch")
    }

    /// Gives `epoch`.
    pub fn update(&self, name: &str, data: impl Into<Json>) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Owned, "update").with("name", name).with("data", data), "epoch")
    }

    /// Gives `reports`, `removed`, `epoch`.
    pub fn report(&self, epoch: i64, name: &str) -> Result<MembershipReportResult> {
        self.0.give(&Call::new(Kind::Owned, "report").with("epoch", epoch).with("name", name))
    }

    /// Gives `changed`, `epoch`, `members`.
    pub fn await_change(&self, epoch: i64, wait: Wait) -> Result<MembershipAwaitChangeResult> {
        self.0.give(&Call::new(Kind::Blocking, "await_change").with("epoch", epoch).waits(wait))
    }

    /// Gives `reached`, `epoch`, `members`.
    pub fn await_size(&self, wait: Wait) -> Result<MembershipAwaitSizeResult> {
        self.0.give(&Call::new(Kind::Blocking, "await_size").waits(wait))
    }

    /// Gives `reached`, `epoch`, `members`.
    pub fn await_size_with(
        &self,
        wait: Wait,
        options: MembershipAwaitSizeOptions,
    ) -> Result<MembershipAwaitSizeResult> {
        self.0.give(&Call::new(Kind::Blocking, "await_size").with_some("n", options.n).waits(wait))
    }

    /// Gives `enough`, `epoch`, `members`.
    pub fn members(&self) -> Result<MembershipMembersResult> {
        self.0.give(&Call::new(Kind::Query, "members"))
    }
}
