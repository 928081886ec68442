//! Permits, in the order in which they were asked for.
// Made by clients/generate/main.py.

use serde::Deserialize;

use crate::call::{Call, Kind};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::held::Held;
use crate::object::Object;
use crate::wait::Wait;

/// What `acquire` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct SemaphoreAcquireOptions {
    pub n: Option<i64>,
}

/// What `acquire` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct SemaphoreAcquireResult {
    pub acquired: bool,
    pub fence: Option<i64>,
    pub held: Option<i64>,
}

/// What `release` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct SemaphoreReleaseOptions {
    pub n: Option<i64>,
    pub fence: Option<i64>,
}

/// What `drain` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct SemaphoreDrainResult {
    pub taken: i64,
    pub fence: Option<i64>,
}

/// What `resize` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct SemaphoreResizeResult {
    pub permits: i64,
    pub available: i64,
}

/// What `available` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct SemaphoreAvailableResult {
    pub available: i64,
    pub permits: i64,
    pub waiting: i64,
}

/// Permits, in the order in which they were asked for.
#[derive(Clone, Debug)]
pub struct Semaphore(Object);

impl std::ops::Deref for Semaphore {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.0
    }
}

impl Semaphore {
    /// Names one; it exists once it is used.
    #[must_use]
    pub fn new(cluster: &Cluster, name: &str) -> Self {
        Self(Object::new(cluster, "semaphore", name))
    }

    /// The same object, whose queries ask one member's copy, not older than what this cluster object has seen.
    #[must_use]
    pub fn stale(&self) -> Self {
        Self(self.0.stale())
    }

    /// Gives `acquired`, `fence`, `held`.
    pub fn acquire(&self, wait: Wait) -> Result<SemaphoreAcquireResult> {
        self.0.give(&Call::new(Kind::Blocking, "acquire").waits(wait))
    }

    /// Gives `acquired`, `fence`, `held`.
    pub fn acquire_with(
        &self,
        wait: Wait,
        options: SemaphoreAcquireOptions,
    ) -> Result<SemaphoreAcquireResult> {
        self.0.give(&Call::new(Kind::Blocking, "acquire").with_some("n", options.n).waits(wait))
    }

    /// Gives `available`.
    pub fn release(&self) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Owned, "release"), "available")
    }

    /// Gives `available`.
    pub fn release_with(&self, options: SemaphoreReleaseOptions) -> Result<i64> {
        self.0.give_one(
            &Call::new(Kind::Owned, "release").with_some("n", options.n).with_some("fence", options.fence),
            "available",
        )
    }

    /// Gives `taken`, `fence`.
    pub fn drain(&self) -> Result<SemaphoreDrainResult> {
        self.0.give(&Call::new(Kind::Owned, "drain"))
    }

    /// Gives `permits`, `available`.
    pub fn resize(&self, by: i64) -> Result<SemaphoreResizeResult> {
        self.0.give(&Call::new(Kind::Command, "resize").with("by", by))
    }

    /// Gives `available`, `permits`, `waiting`.
    pub fn available(&self) -> Result<SemaphoreAvailableResult> {
        self.0.give(&Call::new(Kind::Query, "available"))
    }

    /// Acquires by `acquire`, and keeps watch: what it gives knows when it is lost, and gives itself back.
    pub fn hold(&self, wait: Wait) -> Result<Held> {
        let back = Call::new(Kind::Owned, "release");
        self.0.hold(&Call::new(Kind::Blocking, "acquire").waits(wait), back)
    }

    /// Acquires by `acquire`, and keeps watch: what it gives knows when it is lost, and gives itself back.
    pub fn hold_with(&self, wait: Wait, options: SemaphoreAcquireOptions) -> Result<Held> {
        let back = Call::new(Kind::Owned, "release").with_some("n", options.n);
        self.0.hold(&Call::new(Kind::Blocking, "acquire").with_some("n", options.n).waits(wait), back)
    }
}
