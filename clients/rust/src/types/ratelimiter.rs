//! A token bucket for each key.
// Made by clients/generate/main.py.

use serde::Deserialize;

use crate::call::{Call, Kind};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::object::Object;
use crate::wait::Wait;

/// What `acquire` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct RateLimiterAcquireOptions {
    pub n: Option<i64>,
    pub key: Option<String>,
}

/// What `acquire` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct RateLimiterAcquireResult {
    pub granted: bool,
    pub remaining: i64,
    pub retry_after_ms: i64,
}

/// What `configure` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct RateLimiterConfigureOptions {
    pub per_second: Option<i64>,
    pub burst: Option<i64>,
}

/// What `configure` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct RateLimiterConfigureResult {
    pub per_second: i64,
    pub burst: i64,
}

/// What `peek` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct RateLimiterPeekOptions {
    pub key: Option<String>,
}

/// What `peek` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct RateLimiterPeekResult {
    pub remaining: i64,
    pub per_second: i64,
    pub burst: i64,
    pub waiting: i64,
}

/// A token bucket for each key.
#[derive(Clone, Debug)]
pub struct RateLimiter(Object);

impl std::ops::Deref for RateLimiter {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.0
    }
}

impl RateLimiter {
    /// Names one; it exists once it is used.
    #[must_use]
    pub fn new(cluster: &Cluster, name: &str) -> Self {
        Self(Object::new(cluster, "ratelimiter", name))
    }

    /// The same object, whose queries ask one member's copy, not older than what this cluster object has seen.
    #[must_use]
    pub fn stale(&self) -> Self {
        Self(self.0.stale())
    }

    /// Gives `granted`, `remaining`, `retry_after_ms`.
    pub fn acquire(&self, wait: Wait) -> Result<RateLimiterAcquireResult> {
        self.0.give(&Call::new(Kind::Blocking, "acquire").waits(wait))
    }

    /// Gives `granted`, `remaining`, `retry_after_ms`.
    pub fn acquire_with(
        &self,
        wait: Wait,
        options: RateLimiterAcquireOptions,
    ) -> Result<RateLimiterAcquireResult> {
        self.0.give(
            &Call::new(Kind::Blocking, "acquire")
                .with_some("n", options.n)
                .with_some("key", options.key)
                .waits(wait),
        )
    }

    /// Gives `per_second`, `burst`.
    pub fn configure(&self) -> Result<RateLimiterConfigureResult> {
        self.0.give(&Call::new(Kind::Command, "configure"))
    }

    /// Gives `per_second`, `burst`.
    pub fn configure_with(&self, options: RateLimiterConfigureOptions) -> Result<RateLimiterConfigureResult> {
        self.0.give(
            &Call::new(Kind::Command, "configure")
                .with_some("per_second", options.per_second)
                .with_some("burst", options.burst),
        )
    }

    /// Gives `remaining`, `per_second`, `burst`, `waiting`.
    pub fn peek(&self) -> Result<RateLimiterPeekResult> {
        self.0.give(&Call::new(Kind::Query, "peek"))
    }

    /// Gives `remaining`, `per_second`, `burst`, `waiting`.
    pub fn peek_with(&self, options: RateLimiterPeekOptions) -> Result<RateLimiterPeekResult> {
        self.0.give(&Call::new(Kind::Query, "peek").with_some("key", options.key))
    }
}
