//! A queue. With a lease an item comes back unless it is acknowledged.
// Made by clients/generate/main.py.

use serde::Deserialize;
use serde_json::Value as Json;

use crate::call::{Call, Kind};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::object::Object;
use crate::types::Item;
use crate::wait::Wait;

/// What `put` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct QueuePutOptions {
    pub priority: Option<i64>,
    pub delay_ms: Option<i64>,
}

/// What `take` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct QueueTakeOptions {
    pub n: Option<i64>,
    pub lease_ms: Option<i64>,
}

/// What `nack` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct QueueNackOptions {
    pub delay_ms: Option<i64>,
}

/// What `peek` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct QueuePeekOptions {
    pub n: Option<i64>,
}

/// What `list` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct QueueListOptions {
    pub after: Option<i64>,
    pub limit: Option<i64>,
}

/// What `list` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct QueueListResult {
    pub items: Vec<Item>,
    pub next: Option<i64>,
}

/// What `size` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct QueueSizeResult {
    pub size: i64,
    pub ready: i64,
    pub delayed: i64,
    pub leased: i64,
    pub dead: i64,
}

/// What `dead` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct QueueDeadOptions {
    pub limit: Option<i64>,
}

/// A queue. With a lease an item comes back unless it is acknowledged.
#[derive(Clone, Debug)]
pub struct Queue(Object);

impl std::ops::Deref for Queue {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.0
    }
}

impl Queue {
    /// Names one; it exists once it is used.
    #[must_use]
    pub fn new(cluster: &Cluster, name: &str) -> Self {
        Self(Object::new(cluster, "queue", name))
    }

    /// The same object, whose queries ask one member's copy, not older than what this cluster object has seen.
    #[must_use]
    pub fn stale(&self) -> Self {
        Self(self.0.stale())
    }

    /// Gives `id`.
    pub fn put(&self, item: impl Into<Json>, wait: Wait) -> Result<Option<i64>> {
        self.0.give_one(&Call::new(Kind::Blocking, "put").with("item", item).waits(wait), "id")
    }

    /// Gives `id`.
    pub fn put_with(
        &self,
        item: impl Into<Json>,
        wait: Wait,
        options: QueuePutOptions,
    ) -> Result<Option<i64>> {
        self.0.give_one(
            &Call::new(Kind::Blocking, "put")
                .with("item", item)
                .with_some("priority", options.priority)
                .with_some("delay_ms", options.delay_ms)
                .waits(wait),
            "id",
        )
    }

    /// Gives `items`.
    pub fn take(&self, wait: Wait) -> Result<Vec<Item>> {
        self.0.give_one(&Call::new(Kind::Blocking, "take").waits(wait), "items")
    }

    /// Gives `items`.
    pub fn take_with(&self, wait: Wait, options: QueueTakeOptions) -> Result<Vec<Item>> {
        self.0.give_one(
            &Call::new(Kind::Blocking, "take")
                .with_some("n", options.n)
                .with_some("lease_ms", options.lease_ms)
                .waits(wait),
            "items",
        )
    }

    /// Gives `acked`.
    pub fn ack(&self, ids: &[i64]) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Owned, "ack").with("ids", ids), "acked")
    }

    /// Gives `nacked`.
    pub fn nack(&self, ids: &[i64]) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Owned, "nack").with("ids", ids), "nacked")
    }

    /// Gives `nacked`.
    pub fn nack_with(&self, ids: &[i64], options: QueueNackOptions) -> Result<i64> {
        self.0.give_one(
            &Call::new(Kind::Owned, "nack").with("ids", ids).with_some("delay_ms", options.delay_ms),
            "nacked",
        )
    }

    /// Gives `extended`.
    pub fn extend(&self, ids: &[i64]) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Owned, "extend").with("ids", ids), "extended")
    }

    /// Gives `replaced`.
    pub fn replace(&self, id: i64, item: impl Into<Json>) -> Result<bool> {
        self.0.give_one(&Call::new(Kind::Command, "replace").with("id", id).with("item", item), "replaced")
    }

    /// Gives `removed`.
    pub fn remove(&self, id: i64) -> Result<bool> {
        self.0.give_one(&Call::new(Kind::Command, "remove").with("id", id), "removed")
    }

    /// Gives `items`.
    pub fn peek(&self) -> Result<Vec<Item>> {
        self.0.give_one(&Call::new(Kind::Query, "peek"), "items")
    }

    /// Gives `items`.
    pub fn peek_with(&self, options: QueuePeekOptions) -> Result<Vec<Item>> {
        self.0.give_one(&Call::new(Kind::Query, "peek").with_some("n", options.n), "items")
    }

    /// Gives `items`, `next`.
    pub fn list(&self) -> Result<QueueListResult> {
        self.0.give(&Call::new(Kind::Query, "list"))
    }

    /// Gives `items`, `next`.
    pub fn list_with(&self, options: QueueListOptions) -> Result<QueueListResult> {
        self.0.give(
            &Call::new(Kind::Query, "list")
                .with_some("after", options.after)
                .with_some("limit", options.limit),
        )
    }

    /// Gives `size`, `ready`, `delayed`, `leased`, `dead`.
    pub fn size(&self) -> Result<QueueSizeResult> {
        self.0.give(&Call::new(Kind::Query, "size"))
    }

    /// Gives `items`.
    pub fn dead(&self) -> Result<Vec<Item>> {
        self.0.give_one(&Call::new(Kind::Query, "dead"), "items")
    }

    /// Gives `items`.
    pub fn dead_with(&self, options: QueueDeadOptions) -> Result<Vec<Item>> {
        self.0.give_one(&Call::new(Kind::Query, "dead").with_some("limit", options.limit), "items")
    }
}
