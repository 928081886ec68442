//! A counter of 64 bits, perhaps with bounds.
// Made by clients/generate/main.py.

use serde::Deserialize;

use crate::call::{Call, Kind};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::object::Object;
use crate::wait::Wait;

/// What `increment` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct CounterIncrementOptions {
    pub by: Option<i64>,
}

/// What `decrement` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct CounterDecrementOptions {
    pub by: Option<i64>,
}

/// What `set` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct CounterSetResult {
    pub value: i64,
    pub previous: i64,
}

/// What `swap` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct CounterSwapResult {
    pub value: i64,
    pub previous: i64,
}

/// What `compare_and_set` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct CounterCompareAndSetResult {
    pub swapped: bool,
    pub value: i64,
}

/// What `await` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct CounterAwaitOptions {
    pub at_least: Option<i64>,
    pub at_most: Option<i64>,
    pub equals: Option<i64>,
}

/// What `await` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct CounterAwaitResult {
    pub reached: bool,
    pub value: i64,
}

/// A counter of 64 bits, perhaps with bounds.
#[derive(Clone, Debug)]
pub struct Counter(Object);

impl std::ops::Deref for Counter {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.0
    }
}

impl Counter {
    /// Names one; it exists once it is used.
    #[must_use]
    pub fn new(cluster: &Cluster, name: &str) -> Self {
        Self(Object::new(cluster, "counter", name))
    }

    /// The same object, whose queries ask one member's copy, not older than what this cluster object has seen.
    #[must_use]
    pub fn stale(&self) -> Self {
        Self(self.0.stale())
    }

    /// Gives `value`.
    pub fn increment(&self) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Command, "increment"), "value")
    }

    /// Gives `value`.
    pub fn increment_with(&self, options: CounterIncrementOptions) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Command, "increment").with_some("by", options.by), "value")
    }

    /// Gives `value`.
    pub fn decrement(&self) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Command, "decrement"), "value")
    }

    /// Gives `value`.
    pub fn decrement_with(&self, options: CounterDecrementOptions) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Command, "decrement").with_some("by", options.by), "value")
    }

    /// Gives `value`, `previous`.
    pub fn set(&self, value: i64) -> Result<CounterSetResult> {
        self.0.give(&Call::new(Kind::Command, "set").with("value", value))
    }

    /// Gives `value`, `previous`.
    pub fn swap(&self, value: i64) -> Result<CounterSwapResult> {
        self.0.give(&Call::new(Kind::Command, "swap").with("value", value))
    }

    /// Gives `swapped`, `value`.
    pub fn compare_and_set(&self, expect: i64, value: i64) -> Result<CounterCompareAndSetResult> {
        self.0.give(&Call::new(Kind::Command, "compare_and_set").with("expect", expect).with("value", value))
    }

    /// Gives `reached`, `value`.
    pub fn wait(&self, wait: Wait) -> Result<CounterAwaitResult> {
        self.0.give(&Call::new(Kind::Blocking, "await").waits(wait))
    }

    /// Gives `reached`, `value`.
    pub fn wait_with(&self, wait: Wait, options: CounterAwaitOptions) -> Result<CounterAwaitResult> {
        self.0.give(
            &Call::new(Kind::Blocking, "await")
                .with_some("at_least", options.at_least)
                .with_some("at_most", options.at_most)
                .with_some("equals", options.equals)
                .waits(wait),
        )
    }

    /// Gives `value`.
    pub fn get(&self) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Query, "get"), "value")
    }
}
