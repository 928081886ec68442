//! Records of names.
// Made by clients/generate/main.py.

use serde::Deserialize;
use serde_json::Value as Json;

use crate::call::{Call, Kind};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::object::Object;
use crate::types::NameRecords;

/// What `set` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct NamesSetResult {
    pub records: i64,
    pub changed: bool,
}

/// What `add` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct NamesAddResult {
    pub records: i64,
    pub changed: bool,
}

/// What `remove` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct NamesRemoveOptions {
    pub record: Option<Json>,
}

/// What `remove` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct NamesRemoveResult {
    pub records: i64,
    pub changed: bool,
}

/// What `list` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct NamesListOptions {
    pub name: Option<String>,
    pub after: Option<String>,
    pub limit: Option<i64>,
}

/// What `list` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct NamesListResult {
    pub records: Option<Vec<Json>>,
    pub names: Option<Vec<NameRecords>>,
    pub next: Option<String>,
}

/// Records of names.
#[derive(Clone, Debug)]
pub struct Names(Object);

impl std::ops::Deref for Names {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.0
    }
}

impl Names {
    /// Names one; it exists once it is used.
    #[must_use]
    pub fn new(cluster: &Cluster, name: &str) -> Self {
        Self(Object::new(cluster, "names", name))
    }

    /// The same object, whose queries ask one member's copy, not older than what this cluster object has seen.
    #[must_use]
    pub fn stale(&self) -> Self {
        Self(self.0.stale())
    }

    /// Gives `records`, `changed`.
    pub fn set(&self, name: &str, record: impl Into<Json>) -> Result<NamesSetResult> {
        self.0.give(&Call::new(Kind::Command, "set").with("name", name).with("record", record))
    }

    /// Gives `records`, `changed`.
    pub fn add(&self, name: &str, record: impl Into<Json>) -> Result<NamesAddResult> {
        self.0.give(&Call::new(Kind::Command, "add").with("name", name).with("record", record))
    }

    /// Gives `records`, `changed`.
    pub fn remove(&self, name: &str) -> Result<NamesRemoveResult> {
        self.0.give(&Call::new(Kind::Command, "remove").with("name", name))
    }

    /// Gives `records`, `changed`.
    pub fn remove_with(&self, name: &str, options: NamesRemoveOptions) -> Result<NamesRemoveResult> {
        self.0
            .give(&Call::new(Kind::Command, "remove").with("name", name).with_some("record", options.record))
    }

    /// Gives `records`, `names`, `next`.
    pub fn list(&self) -> Result<NamesListResult> {
        self.0.give(&Call::new(Kind::Query, "list"))
    }

    /// Gives `records`, `names`, `next`.
    pub fn list_with(&self, options: NamesListOptions) -> Result<NamesListResult> {
        self.0.give(
            &Call::new(Kind::Query, "list")
                .with_some("name", options.name)
                .with_some("after", options.after)
                .with_some("limit", options.limit),
        )
    }
}
