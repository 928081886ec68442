//! Any JSON, with a version.
// Made by clients/generate/main.py.

use serde::Deserialize;
use serde_json::Value as Json;

use crate::call::{Call, Kind};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::object::Object;
use crate::wait::Wait;

/// What `set` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct ValueSetResult {
    pub version: i64,
    pub previous: Json,
}

/// What `swap` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct ValueSwapResult {
    pub version: i64,
    pub previous: Json,
}

/// What `compare_and_set` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct ValueCompareAndSetOptions {
    pub expect: Option<Json>,
    pub version: Option<i64>,
}

/// What `compare_and_set` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct ValueCompareAndSetResult {
    pub swapped: bool,
    pub version: i64,
    pub value: Json,
}

/// What `await_change` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct ValueAwaitChangeResult {
    pub changed: bool,
    pub value: Json,
    pub version: i64,
}

/// What `get` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct ValueGetResult {
    pub value: Json,
    pub version: i64,
}

/// Any JSON, with a version.
#[derive(Clone, Debug)]
pub struct Value(Object);

impl std::ops::Deref for Value {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.0
    }
}

impl Value {
    /// Names one; it exists once it is used.
    #[must_use]
    pub fn new(cluster: &Cluster, name: &str) -> Self {
        Self(Object::new(cluster, "value", name))
    }

    /// The same object, whose queries ask one member's copy, not older than what this cluster object has seen.
    #[must_use]
    pub fn stale(&self) -> Self {
        Self(self.0.stale())
    }

    /// Gives `version`, `previous`.
    pub fn set(&self, value: impl Into<Json>) -> Result<ValueSetResult> {
        self.0.give(&Call::new(Kind::Command, "set").with("value", value))
    }

    /// Gives `version`, `previous`.
    pub fn swap(&self, value: impl Into<Json>) -> Result<ValueSwapResult> {
        self.0.give(&Call::new(Kind::Command, "swap").with("value", value))
    }

    /// Gives `swapped`, `version`, `value`.
    pub fn compare_and_set(&self, value: impl Into<Json>) -> Result<ValueCompareAndSetResult> {
        self.0.give(&Call::new(Kind::Command, "compare_and_set").with("value", value))
    }

    /// Gives `swapped`, `version`, `value`.
    pub fn compare_and_set_with(
        &self,
        value: impl Into<Json>,
        options: ValueCompareAndSetOptions,
    ) -> Result<ValueCompareAndSetResult> {
        self.0.give(
            &Call::new(Kind::Command, "compare_and_set")
                .with("value", value)
                .with_some("expect", options.expect)
                .with_some("version", options.version),
        )
    }

    /// Gives `changed`, `value`, `version`.
    pub fn await_change(&self, version: i64, wait: Wait) -> Result<ValueAwaitChangeResult> {
        self.0.give(&Call::new(Kind::Blocking, "await_change").with("version", version).waits(wait))
    }

    /// Gives `value`, `version`.
    pub fn get(&self) -> Result<ValueGetResult> {
        self.0.give(&Call::new(Kind::Query, "get"))
    }
}
