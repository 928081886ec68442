//! How rates are measured for quotas. The quotas themselves are set by AlterClientQuotas.

use super::{size, unsigned};
use crate::layers::Values;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaWindows {
    /// `quota.window.*`: of what clients produce, consume and ask.
    pub clients: QuotaWindow,
    /// `controller.quota.window.*`: of topics and partitions that are created and deleted.
    pub changes: QuotaWindow,
    /// `replication.quota.window.*`: of what replicas copy.
    pub replication: QuotaWindow,
    /// `leader.replication.throttled.rate`, in bytes a second; nothing for no limit.
    pub leader_bytes_per_second: Option<u64>,
    /// `follower.replication.throttled.rate`, in bytes a second; nothing for no limit.
    pub follower_bytes_per_second: Option<u64>,
}

/// A rate is measured over so many windows of that length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaWindow {
    /// How many windows are kept.
    pub count: usize,
    /// How long each is.
    pub seconds: u64,
}

impl QuotaWindows {
    /// What is in force.
    #[must_use]
    pub fn of(values: &impl Values) -> Self {
        let window = |prefix: &str| QuotaWindow {
            count: size(values, &format!("{prefix}.window.num")),
            seconds: unsigned(values, &format!("{prefix}.window.size.seconds")),
        };
        let rate = |name: &str| values.whole(name).and_then(|rate| u64::try_from(rate).ok());
        Self {
            clients: window("quota"),
            changes: window("controller.quota"),
            replication: window("replication.quota"),
            leader_bytes_per_second: rate("leader.replication.throttled.rate"),
            follower_bytes_per_second: rate("follower.replication.throttled.rate"),
        }
    }
}
