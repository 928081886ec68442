//! Entries under rising indexes.
// Made by clients/generate/main.py.

use serde::Deserialize;
use serde_json::Value as Json;

use crate::call::{Call, Kind};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::object::Object;
use crate::wait::Wait;

/// What `trim` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct LogTrimResult {
    pub trimmed: i64,
    pub first: i64,
}

/// What `read` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct LogReadOptions {
    pub from: Option<i64>,
    pub limit: Option<i64>,
}

/// What `read` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct LogReadResult {
    pub entries: Vec<Json>,
    pub first: i64,
    pub next: i64,
}

/// Entries under rising indexes.
#[derive(Clone, Debug)]
pub struct Log(Object);

impl std::ops::Deref for Log {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.0
    }
}

impl Log {
    /// Names one; it exists once it is used.
    #[must_use]
    pub fn new(cluster: &Cluster, name: &str) -> Self {
        Self(Object::new(cluster, "log", name))
    }

    /// The same object, whose queries ask one member's copy, not older than what this cluster object has seen.
    #[must_use]
    pub fn stale(&self) -> Self {
        Self(self.0.stale())
    }

    /// Gives `index`.
    pub fn append(&self, entry: impl Into<Json>) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Command, "append").with("entry", entry), "index")
    }

    /// Gives `trimmed`, `first`.
    pub fn trim(&self, before: i64) -> Result<LogTrimResult> {
        self.0.give(&Call::new(Kind::Command, "trim").with("before", before))
    }

    /// Gives `entries`, `first`, `next`.
    pub fn read(&self, wait: Wait) -> Result<LogReadResult> {
        self.0.give(&Call::new(Kind::Either, "read").waits(wait))
    }

    /// Gives `entries`, `first`, `next`.
    pub fn read_with(&self, wait: Wait, options: LogReadOptions) -> Result<LogReadResult> {
        self.0.give(
            &Call::new(Kind::Either, "read")
                .with_some("from", options.from)
                .with_some("limit", options.limit)
                .waits(wait),
        )
    }
}
