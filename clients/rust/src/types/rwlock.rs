//! A lock for one writer or many readers, in the order in which they came.
// Made by clients/generate/main.py.

use serde::Deserialize;

use crate::call::{Call, Kind};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::held::Held;
use crate::object::Object;
use crate::wait::Wait;

/// What `read` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct RwLockReadResult {
    pub acquired: bool,
    pub fence: Option<i64>,
}

/// What `write` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct RwLockWriteResult {
    pub acquired: bool,
    pub fence: Option<i64>,
}

/// What `state` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct RwLockStateResult {
    pub readers: i64,
    pub writer: Option<String>,
    pub fence: Option<i64>,
    pub waiting: i64,
}

/// A lock for one writer or many readers, in the order in which they came.
#[derive(Clone, Debug)]
pub struct RwLock(Object);

impl std::ops::Deref for RwLock {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.0
    }
}

impl RwLock {
    /// Names one; it exists once it is used.
    #[must_use]
    pub fn new(cluster: &Cluster, name: &str) -> Self {
        Self(Object::new(cluster, "rwlock", name))
    }

    /// The same object, whose queries ask one member's copy, not older than what this cluster object has seen.
    #[must_use]
    pub fn stale(&self) -> Self {
        Self(self.0.stale())
    }

    /// Gives `acquired`, `fence`.
    pub fn read(&self, wait: Wait) -> Result<RwLockReadResult> {
        self.0.give(&Call::new(Kind::Blocking, "read").waits(wait))
    }

    /// Gives `acquired`, `fence`.
    pub fn write(&self, wait: Wait) -> Result<RwLockWriteResult> {
        self.0.give(&Call::new(Kind::Blocking, "write").waits(wait))
    }

    /// Gives `fence`.
    pub fn downgrade(&self, fence: i64) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Owned, "downgrade").with("fence", fence), "fence")
    }

    /// Gives `holds`.
    pub fn release(&self, fence: i64) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Owned, "release").with("fence", fence), "holds")
    }

    /// Gives `readers`, `writer`, `fence`, `waiting`.
    pub fn state(&self) -> Result<RwLockStateResult> {
        self.0.give(&Call::new(Kind::Query, "state"))
    }

    /// Acquires by `read`, and keeps watch: what it gives knows when it is lost, and gives itself back.
    pub fn hold_read(&self, wait: Wait) -> Result<Held> {
        let back = Call::new(Kind::Owned, "release");
        self.0.hold(&Call::new(Kind::Blocking, "read").waits(wait), back)
    }

    /// Acquires by `write`, and keeps watch: what it gives knows when it is lost, and gives itself back.
    pub fn hold_write(&self, wait: Wait) -> Result<Held> {
        let back = Call::new(Kind::Owned, "release");
        self.0.hold(&Call::new(Kind::Blocking, "write").waits(wait), back)
    }
}
