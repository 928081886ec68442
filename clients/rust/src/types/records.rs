//! Parts of results.
// Made by clients/generate/main.py.

use serde::Deserialize;
use serde_json::Value as Json;

/// An entry of a map.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Entry {
    pub key: String,
    pub value: Json,
    pub version: i64,
}

/// An item of a queue.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Item {
    pub id: i64,
    pub item: Json,
    pub attempt: i64,
}

/// A member of a membership.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct Member {
    pub name: String,
    pub data: Json,
    pub session: String,
    pub since: i64,
}

/// A name and its records.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct NameRecords {
    pub name: String,
    pub records: Vec<Json>,
}
