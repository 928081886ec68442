//! Numbers, or ULIDs, that are never given twice.
// Made by clients/generate/main.py.

use serde::Deserialize;
use serde_json::Value as Json;

use crate::call::{Call, Kind};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::object::Object;

/// What `next` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct IdsNextOptions {
    pub n: Option<i64>,
}

/// What `next` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct IdsNextResult {
    pub first: Json,
    pub last: Json,
}

/// Numbers, or ULIDs, that are never given twice.
#[derive(Clone, Debug)]
pub struct Ids(Object);

impl std::ops::Deref for Ids {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.0
    }
}

impl Ids {
    /// Names one; it exists once it is used.
    #[must_use]
    pub fn new(cluster: &Cluster, name: &str) -> Self {
        Self(Object::new(cluster, "ids", name))
    }

    /// The same object, whose queries ask one member's copy, not older than what this cluster object has seen.
    #[must_use]
    pub fn stale(&self) -> Self {
        Self(self.0.stale())
    }

    /// Gives `first`, `last`.
    pub fn next(&self) -> Result<IdsNextResult> {
        self.0.give(&Call::new(Kind::Command, "next"))
    }

    /// Gives `first`, `last`.
    pub fn next_with(&self, options: IdsNextOptions) -> Result<IdsNextResult> {
        self.0.give(&Call::new(Kind::Command, "next").with_some("n", options.n))
    }

    /// Gives `next`.
    pub fn peek(&self) -> Result<Json> {
        self.0.give_one(&Call::new(Kind::Query, "peek"), "next")
    }
}
