//! A barrier, or a double one, which has `enter` and `leave` in place of `wait`.
// Made by clients/generate/main.py.

use serde::Deserialize;

use crate::call::{Call, Kind};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::object::Object;
use crate::wait::Wait;

/// What `await` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct BarrierAwaitResult {
    pub index: Option<i64>,
    pub generation: Option<i64>,
}

/// What `enter` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct BarrierEnterResult {
    pub index: Option<i64>,
    pub generation: Option<i64>,
}

/// What `state` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct BarrierStateResult {
    pub parties: i64,
    pub waiting: i64,
    pub inside: i64,
    pub leaving: i64,
    pub generation: i64,
    pub broken: bool,
}

/// A barrier, or a double one, which has `enter` and `leave` in place of `wait`.
#[derive(Clone, Debug)]
pub struct Barrier(Object);

impl std::ops::Deref for Barrier {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.0
    }
}

impl Barrier {
    /// Names one; it exists once it is used.
    #[must_use]
    pub fn new(cluster: &Cluster, name: &str) -> Self {
        Self(Object::new(cluster, "barrier", name))
    }

    /// The same object, whose queries ask one member's copy, not older than what this cluster object has seen.
    #[must_use]
    pub fn stale(&self) -> Self {
        Self(self.0.stale())
    }

    /// Gives `index`, `generation`.
    pub fn wait(&self, wait: Wait) -> Result<BarrierAwaitResult> {
        self.0.give(&Call::new(Kind::Blocking, "await").waits(wait))
    }

    /// Gives `index`, `generation`.
    pub fn enter(&self, wait: Wait) -> Result<BarrierEnterResult> {
        self.0.give(&Call::new(Kind::Blocking, "enter").waits(wait))
    }

    /// Gives `left`.
    pub fn leave(&self, wait: Wait) -> Result<bool> {
        self.0.give_one(&Call::new(Kind::Blocking, "leave").waits(wait), "left")
    }

    /// Gives `parties`.
    pub fn reset(&self) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Command, "reset"), "parties")
    }

    /// Gives `parties`, `waiting`, `inside`, `leaving`, `generation`, `broken`.
    pub fn state(&self) -> Result<BarrierStateResult> {
        self.0.give(&Call::new(Kind::Query, "state"))
    }
}
