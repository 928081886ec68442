//! A lock. `wait` waits for a condition, and returns only with the lock.
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
pub struct LockAcquireOptions {
    pub owner: Option<String>,
}

/// What `acquire` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct LockAcquireResult {
    pub acquired: bool,
    pub fence: Option<i64>,
    pub holds: Option<i64>,
}

/// What `steal` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct LockStealOptions {
    pub reason: Option<String>,
}

/// What `await` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct LockAwaitResult {
    pub signalled: bool,
    pub fence: i64,
}

/// What `signal` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct LockSignalOptions {
    pub n: Option<i64>,
}

/// What `holder` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct LockHolderResult {
    pub session: Option<String>,
    pub owner: Option<String>,
    pub fence: Option<i64>,
    pub holds: i64,
    pub since: Option<i64>,
    pub waiting: i64,
}

/// A lock. `wait` waits for a condition, and returns only with the lock.
#[derive(Clone, Debug)]
pub struct Lock(Object);

impl std::ops::Deref for Lock {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.0
    }
}

impl Lock {
    /// Names one; it exists once it is used.
    #[must_use]
    pub fn new(cluster: &Cluster, name: &str) -> Self {
        Self(Object::new(cluster, "lock", name))
    }

    /// The same object, whose queries ask one member's copy, not older than what this cluster object has seen.
    #[must_use]
    pub fn stale(&self) -> Self {
        Self(self.0.stale())
    }

    /// Gives `acquired`, `fence`, `holds`.
    pub fn acquire(&self, wait: Wait) -> Result<LockAcquireResult> {
        self.0.give(&Call::new(Kind::Blocking, "acquire").with("owner", crate::owner()).waits(wait))
    }

    /// Gives `acquired`, `fence`, `holds`.
    pub fn acquire_with(&self, wait: Wait, options: LockAcquireOptions) -> Result<LockAcquireResult> {
        self.0.give(
            &Call::new(Kind::Blocking, "acquire")
                .with("owner", options.owner.unwrap_or_else(crate::owner))
                .waits(wait),
        )
    }

    /// Gives `holds`.
    pub fn release(&self, fence: i64) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Owned, "release").with("fence", fence), "holds")
    }

    /// Gives `fence`.
    pub fn steal(&self) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Owned, "steal"), "fence")
    }

    /// Gives `fence`.
    pub fn steal_with(&self, options: LockStealOptions) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Owned, "steal").with_some("reason", options.reason), "fence")
    }

    /// Gives `signalled`, `fence`.
    pub fn wait(&self, condition: &str, fence: i64, wait: Wait) -> Result<LockAwaitResult> {
        self.0.give(
            &Call::new(Kind::Blocking, "await").with("condition", condition).with("fence", fence).waits(wait),
        )
    }

    /// Gives `woken`.
    pub fn signal(&self, condition: &str) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Owned, "signal").with("condition", condition), "woken")
    }

    /// Gives `woken`.
    pub fn signal_with(&self, condition: &str, options: LockSignalOptions) -> Result<i64> {
        self.0.give_one(
            &Call::new(Kind::Owned, "signal").with("condition", condition).with_some("n", options.n),
            "woken",
        )
    }

    /// Gives `woken`.
    pub fn signal_all(&self, condition: &str) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Owned, "signal_all").with("condition", condition), "woken")
    }

    /// Gives `session`, `owner`, `fence`, `holds`, `since`, `waiting`.
    pub fn holder(&self) -> Result<LockHolderResult> {
        self.0.give(&Call::new(Kind::Query, "holder"))
    }

    /// Gives `valid`.
    pub fn check(&self, fence: i64) -> Result<bool> {
        self.0.give_one(&Call::new(Kind::Query, "check").with("fence", fence), "valid")
    }

    /// Acquires by `acquire`, and keeps watch: what it gives knows when it is lost, and gives itself back.
    pub fn hold(&self, wait: Wait) -> Result<Held> {
        let back = Call::new(Kind::Owned, "release");
        self.0.hold(&Call::new(Kind::Blocking, "acquire").with("owner", crate::owner()).waits(wait), back)
    }

    /// Acquires by `acquire`, and keeps watch: what it gives knows when it is lost, and gives itself back.
    pub fn hold_with(&self, wait: Wait, options: LockAcquireOptions) -> Result<Held> {
        let back = Call::new(Kind::Owned, "release");
        self.0.hold(
            &Call::new(Kind::Blocking, "acquire")
                .with("owner", options.owner.unwrap_or_else(crate::owner))
                .waits(wait),
            back,
        )
    }
}
