//! An election: one leader at a time, under a term.
// Made by clients/generate/main.py.

use serde::Deserialize;
use serde_json::Value as Json;

use crate::call::{Call, Kind};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::held::Held;
use crate::object::Object;
use crate::wait::Wait;

/// What `campaign` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct ElectionCampaignOptions {
    pub data: Option<Json>,
}

/// What `campaign` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct ElectionCampaignResult {
    pub leader: bool,
    pub term: Option<i64>,
    pub fence: Option<i64>,
}

/// What `observe` may be given besides.
#[derive(Clone, Debug, Default)]
pub struct ElectionObserveOptions {
    pub term: Option<i64>,
}

/// What `observe` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct ElectionObserveResult {
    pub name: Option<String>,
    pub data: Option<Json>,
    pub term: Option<i64>,
}

/// What `leader` gives.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub struct ElectionLeaderResult {
    pub name: Option<String>,
    pub data: Option<Json>,
    pub term: Option<i64>,
}

/// An election: one leader at a time, under a term.
#[derive(Clone, Debug)]
pub struct Election(Object);

impl std::ops::Deref for Election {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.0
    }
}

impl Election {
    /// Names one; it exists once it is used.
    #[must_use]
    pub fn new(cluster: &Cluster, name: &str) -> Self {
        Self(Object::new(cluster, "election", name))
    }

    /// The same object, whose queries ask one member's copy, not older than what this cluster object has seen.
    #[must_use]
    pub fn stale(&self) -> Self {
        Self(self.0.stale())
    }

    /// Gives `leader`, `term`, `fence`.
    pub fn campaign(&self, name: &str, wait: Wait) -> Result<ElectionCampaignResult> {
        self.0.give(&Call::new(Kind::Blocking, "campaign").with("name", name).waits(wait))
    }

    /// Gives `leader`, `term`, `fence`.
    pub fn campaign_with(
        &self,
        name: &str,
        wait: Wait,
        options: ElectionCampaignOptions,
    ) -> Result<ElectionCampaignResult> {
        self.0.give(
            &Call::new(Kind::Blocking, "campaign")
                .with("name", name)
                .with_some("data", options.data)
                .waits(wait),
        )
    }

    /// Gives `resigned`.
    pub fn resign(&self, fence: i64) -> Result<bool> {
        self.0.give_one(&Call::new(Kind::Owned, "resign").with("fence", fence), "resigned")
    }

    /// Gives `term`.
    pub fn proclaim(&self, fence: i64, data: impl Into<Json>) -> Result<i64> {
        self.0.give_one(&Call::new(Kind::Owned, "proclaim").with("fence", fence).with("data", data), "term")
    }

    /// Gives `name`, `data`, `term`.
    pub fn observe(&self, wait: Wait) -> Result<ElectionObserveResult> {
        self.0.give(&Call::new(Kind::Blocking, "observe").waits(wait))
    }

    /// Gives `name`, `data`, `term`.
    pub fn observe_with(&self, wait: Wait, options: ElectionObserveOptions) -> Result<ElectionObserveResult> {
        self.0.give(&Call::new(Kind::Blocking, "observe").with_some("term", options.term).waits(wait))
    }

    /// Gives `name`, `data`, `term`.
    pub fn leader(&self) -> Result<ElectionLeaderResult> {
        self.0.give(&Call::new(Kind::Query, "leader"))
    }

    /// Gives `candidates`.
    pub fn candidates(&self) -> Result<Vec<String>> {
        self.0.give_one(&Call::new(Kind::Query, "candidates"), "candidates")
    }

    /// Acquires by `campaign`, and keeps watch: what it gives knows when it is lost, and gives itself back.
    pub fn lead(&self, name: &str, wait: Wait) -> Result<Held> {
        let back = Call::new(Kind::Owned, "resign");
        self.0.hold(&Call::new(Kind::Blocking, "campaign").with("name", name).waits(wait), back)
    }

    /// Acquires by `campaign`, and keeps watch: what it gives knows when it is lost, and gives itself back.
    pub fn lead_with(&self, name: &str, wait: Wait, options: ElectionCampaignOptions) -> Result<Held> {
        let back = Call::new(Kind::Owned, "resign");
        self.0.hold(
            &Call::new(Kind::Blocking, "campaign")
                .with("name", name)
                .with_some("data", options.data)
                .waits(wait),
            back,
        )
    }
}
