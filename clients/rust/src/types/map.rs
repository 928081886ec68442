//! A map, ordered by its keys.
// Made by clients/generate/main.py.

use serde::Deserialize;
use serde_json::Value as Json;

use crate::call::{Call, Kind};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::object::Object;
use crate::types::Entry;
use crate::wait::Wait;

/// What `put` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct MapPutOptions {
    pub ttl_ms: Option<i64>,
    pub if_version: Option<i64>,
    pub if_absent: bool,
}

/// What `put` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct MapPutResult {
    pub stored: bool,
    pub version: i64,
    pub previous: Json,
}

/// What `remove` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct MapRemoveOptions {
    pub if_version: Option<i64>,
}

/// What `remove` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct MapRemoveResult {
    pub removed: bool,
    pub version: i64,
    pub previous: Json,
}

/// What `add` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct MapAddOptions {
    pub by: Option<i64>,
}

/// What `add` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct MapAddResult {
    pub value: i64,
    pub version: i64,
}

/// What `put_all` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct MapPutAllResult {
    pub stored: i64,
    pub version: i64,
}

/// What `await_change` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct MapAwaitChangeResult {
    pub changed: bool,
    pub value: Json,
    pub version: i64,
}

/// What `get` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct MapGetResult {
    pub value: Json,
    pub version: i64,
}

/// What `size` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct MapSizeResult {
    pub size: i64,
    pub bytes: i64,
}

/// What `range` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct MapRangeOptions {
    pub from: Option<String>,
    pub to: Option<String>,
    pub limit: Option<i64>,
}

/// What `range` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct MapRangeResult {
    pub entries: Vec<Entry>,
    pub next: Option<String>,
}

/// A map, ordered by its keys.
#[derive(Clone, Debug)]
pub struct Map(Object);

impl std::ops::Deref for Map {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.0
    }
}

impl Map {
    /// Names one; it exists once it is used.
    #[must_use]
    pub fn new(cluster: &Cluster, name: &str) -> Self {
        Self(Object::new(cluster, "map", name))
    }

    /// The same object, whose queries ask one member's copy, not older than what this cluster object has seen.
    #[must_use]
    pub fn stale(&self) -> Self {
        Self(self.0.stale())
    }

    /// Gives `stored`, `version`, `previous`.
    pub fn put(&self, key: &str, value: impl Into<Json>) -> Result<MapPutResult> {
        self.0.give(&Call::new(Kind::Command, "put").with("key", key).with("value", value))
    }

    /// Gives `stored`, `version`, `previous`.
    pub fn put_with(
        &self,
        key: &str,
        value: impl Into<Json>,
        options: MapPutOptions,
    ) -> Result<MapPutResult> {
        self.0.give(
            &Call::new(Kind::Command, "put")
                .with("key", key)
                .with("value", value)
                .with_some("ttl_ms", options.ttl_ms)
                .with_some("if_version", options.if_version)
                .with_some("if_absent", options.if_absent.then_some(true)),
        )
    }

    /// Gives `removed`, `version`, `previous`.
    pub fn remove(&self, key: &str) -> Result<MapRemoveResult> {
        self.0.give(&Call::new(Kind::Command, "remove").with("key", key))
    }

    /// Gives `removed`, `version`, `previous`.
    pub fn remove_with(&self, key: &str, options: MapRemoveOptions) -> Result<MapRemoveResult> {
        self.0.give(
            &Call::new(Kind::Command, "remove").with("key", key).with_some("if_version", options.if_version),
        )
    }

    /// Gives `value`, `version`.
    pub fn add(&self, key: &str) -> Result<MapAddResult> {
        self.0.give(&Call::new(Kind::Command, "add").with("key", key))
    }

    /// Gives `value`, `version`.
    pub fn add_with(&self, key: &str, options: MapAddOptions) -> Result<MapAddResult> {
        self.0.give(&Call::new(Kind::Command, "add").with("key", key).with_some("by", options.by))
    }

    /// Gives `stored`, `version`.
    pub fn put_all(
        &self,
        entries: impl IntoIterator<Item = (impl Into<String>, impl Into<Json>)>,
    ) -> Result<MapPutAllResult> {
        self.0
            .give(&Call::new(Kind::Command, "put_all").with("entries", entries.into_iter().collect::<Json>()))
    }

    /// Gives `removed`.
    pub fn clear(&self) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Command, "clear"), "removed")
    }

    /// Gives `changed`, `value`, `version`.
    pub fn await_change(&self, key: &str, version: i64, wait: Wait) -> Result<MapAwaitChangeResult> {
        self.0.give(
            &Call::new(Kind::Blocking, "await_change").with("key", key).with("version", version).waits(wait),
        )
    }

    /// Gives `value`, `version`.
    pub fn get(&self, key: &str) -> Result<MapGetResult> {
        self.0.give(&Call::new(Kind::Query, "get").with("key", key))
    }

    /// Gives `entries`.
    pub fn get_all(&self, keys: &[&str]) -> Result<Vec<Entry>> {
        self.0.give_one(&Call::new(Kind::Query, "get_all").with("keys", keys), "entries")
    }

    /// Gives `contains`.
    pub fn contains(&self, key: &str) -> Result<bool> {
        self.0.give_one(&Call::new(Kind::Query, "contains").with("key", key), "contains")
    }

    /// Gives `size`, `bytes`.
    pub fn size(&self) -> Result<MapSizeResult> {
        self.0.give(&Call::new(Kind::Query, "size"))
    }

    /// Gives `entry`.
    pub fn first(&self) -> Result<Option<Entry>> {
        self.0.give_one(&Call::new(Kind::Query, "first"), "entry")
    }

    /// Gives `entry`.
    pub fn last(&self) -> Result<Option<Entry>> {
        self.0.give_one(&Call::new(Kind::Query, "last"), "entry")
    }

    /// Gives `entry`.
    pub fn floor(&self, key: &str) -> Result<Option<Entry>> {
        self.0.give_one(&Call::new(Kind::Query, "floor").with("key", key), "entry")
    }

    /// Gives `entry`.
    pub fn ceiling(&self, key: &str) -> Result<Option<Entry>> {
        self.0.give_one(&Call::new(Kind::Query, "ceiling").with("key", key), "entry")
    }

    /// Gives `entries`, `next`.
    pub fn range(&self) -> Result<MapRangeResult> {
        self.0.give(&Call::new(Kind::Query, "range"))
    }

    /// Gives `entries`, `next`.
    pub fn range_with(&self, options: MapRangeOptions) -> Result<MapRangeResult> {
        self.0.give(
            &Call::new(Kind::Query, "range")
                .with_some("from", options.from)
                .with_some("to", options.to)
                .with_some("limit", options.limit),
        )
    }
}
