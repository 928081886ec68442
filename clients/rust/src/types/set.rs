//! A set of any JSON.
// Made by clients/generate/main.py.

use serde::Deserialize;
use serde_json::Value as Json;

use crate::call::{Call, Kind};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::object::Object;

/// What `pop` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct SetPopOptions {
    pub n: Option<i64>,
}

/// What `members` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct SetMembersOptions {
    pub after: Option<Json>,
    pub limit: Option<i64>,
}

/// What `members` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct SetMembersResult {
    pub items: Vec<Json>,
    pub next: Option<Json>,
}

/// A set of any JSON.
#[derive(Clone, Debug)]
pub struct Set(Object);

impl std::ops::Deref for Set {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.0
    }
}

impl Set {
    /// Names one; it exists once it is used.
    #[must_use]
    pub fn new(cluster: &Cluster, name: &str) -> Self {
        Self(Object::new(cluster, "set", name))
    }

    /// The same object, whose queries ask one member's copy, not older than what this cluster object has seen.
    #[must_use]
    pub fn stale(&self) -> Self {
        Self(self.0.stale())
    }

    /// Gives `added`.
    pub fn add(&self, items: impl IntoIterator<Item = impl Into<Json>>) -> Result<i64> {
        self.0.give_one(
            &Call::new(Kind::Command, "add").with("items", items.into_iter().collect::<Json>()),
            "added",
        )
    }

    /// Gives `removed`.
    pub fn remove(&self, items: impl IntoIterator<Item = impl Into<Json>>) -> Result<i64> {
        self.0.give_one(
            &Call::new(Kind::Command, "remove").with("items", items.into_iter().collect::<Json>()),
            "removed",
        )
    }

    /// Gives `items`.
    pub fn pop(&self) -> Result<Vec<Json>> {
        self.0.give_one(&Call::new(Kind::Command, "pop"), "items")
    }

    /// Gives `items`.
    pub fn pop_with(&self, options: SetPopOptions) -> Result<Vec<Json>> {
        self.0.give_one(&Call::new(Kind::Command, "pop").with_some("n", options.n), "items")
    }

    /// Gives `contains`.
    pub fn contains(&self, item: impl Into<Json>) -> Result<bool> {
        self.0.give_one(&Call::new(Kind::Query, "contains").with("item", item), "contains")
    }

    /// Gives `size`.
    pub fn size(&self) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Query, "size"), "size")
    }

    /// Gives `items`, `next`.
    pub fn members(&self) -> Result<SetMembersResult> {
        self.0.give(&Call::new(Kind::Query, "members"))
    }

    /// Gives `items`, `next`.
    pub fn members_with(&self, options: SetMembersOptions) -> Result<SetMembersResult> {
        self.0.give(
            &Call::new(Kind::Query, "members")
                .with_some("after", options.after)
                .with_some("limit", options.limit),
        )
    }
}
