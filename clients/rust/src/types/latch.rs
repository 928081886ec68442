//! A latch: it opens when its count is 0.
// Made by clients/generate/main.py.

use crate::call::{Call, Kind};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::object::Object;
use crate::wait::Wait;

/// What `count_down` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct LatchCountDownOptions {
    pub n: Option<i64>,
}

/// What `reset` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct LatchResetOptions {
    pub count: Option<i64>,
}

/// A latch: it opens when its count is 0.
#[derive(Clone, Debug)]
pub struct Latch(Object);

impl std::ops::Deref for Latch {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.0
    }
}

impl Latch {
    /// Names one; it exists once it is used.
    #[must_use]
    pub fn new(cluster: &Cluster, name: &str) -> Self {
        Self(Object::new(cluster, "latch", name))
    }

    /// The same object, whose queries ask one member's copy, not older than what this cluster object has seen.
    #[must_use]
    pub fn stale(&self) -> Self {
        Self(self.0.stale())
    }

    /// Gives `count`.
    pub fn count_down(&self) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Command, "count_down"), "count")
    }

    /// Gives `count`.
    pub fn count_down_with(&self, options: LatchCountDownOptions) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Command, "count_down").with_some("n", options.n), "count")
    }

    /// Gives `open`.
    pub fn wait(&self, wait: Wait) -> Result<bool> {
        self.0.give_one(&Call::new(Kind::Blocking, "await").waits(wait), "open")
    }

    /// Gives `count`.
    pub fn reset(&self) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Command, "reset"), "count")
    }

    /// Gives `count`.
    pub fn reset_with(&self, options: LatchResetOptions) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Command, "reset").with_some("count", options.count), "count")
    }

    /// Gives `count`.
    pub fn count(&self) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Query, "count"), "count")
    }
}
