//! A stack.
// Made by clients/generate/main.py.

use serde_json::Value as Json;

use crate::call::{Call, Kind};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::object::Object;
use crate::wait::Wait;

/// What `pop` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct StackPopOptions {
    pub n: Option<i64>,
}

/// What `items` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct StackItemsOptions {
    pub limit: Option<i64>,
}

/// A stack.
#[derive(Clone, Debug)]
pub struct Stack(Object);

impl std::ops::Deref for Stack {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.0
    }
}

impl Stack {
    /// Names one; it exists once it is used.
    #[must_use]
    pub fn new(cluster: &Cluster, name: &str) -> Self {
        Self(Object::new(cluster, "stack", name))
    }

    /// The same object, whose queries ask one member's copy, not older than what this cluster object has seen.
    #[must_use]
    pub fn stale(&self) -> Self {
        Self(self.0.stale())
    }

    /// Gives `size`.
    pub fn push(&self, item: impl Into<Json>, wait: Wait) -> Result<Option<i64>> {
        self.0.give_one(&Call::new(Kind::Blocking, "push").with("item", item).waits(wait), "size")
    }

    /// Gives `items`.
    pub fn pop(&self, wait: Wait) -> Result<Vec<Json>> {
        self.0.give_one(&Call::new(Kind::Blocking, "pop").waits(wait), "items")
    }

    /// Gives `items`.
    pub fn pop_with(&self, wait: Wait, options: StackPopOptions) -> Result<Vec<Json>> {
        self.0.give_one(&Call::new(Kind::Blocking, "pop").with_some("n", options.n).waits(wait), "items")
    }

    /// Gives `items`.
    pub fn peek(&self) -> Result<Vec<Json>> {
        self.0.give_one(&Call::new(Kind::Query, "peek"), "items")
    }

    /// Gives `items`.
    pub fn items(&self) -> Result<Vec<Json>> {
        self.0.give_one(&Call::new(Kind::Query, "items"), "items")
    }

    /// Gives `items`.
    pub fn items_with(&self, options: StackItemsOptions) -> Result<Vec<Json>> {
        self.0.give_one(&Call::new(Kind::Query, "items").with_some("limit", options.limit), "items")
    }

    /// Gives `size`.
    pub fn size(&self) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Query, "size"), "size")
    }
}
