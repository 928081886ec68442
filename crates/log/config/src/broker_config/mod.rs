//! The configurations of a broker as values that it acts on: a struct for each area. Each is read from the layers as often as
//! the caller likes; what was changed while the broker runs is in force then.

mod balance;
mod creation;
mod groups;
mod leaders;
mod maintenance;
mod network;
mod quotas;
mod transactions;

use crate::layers::Values;

pub use balance::{BalanceMode, BalanceSettings};
pub use creation::TopicCreation;
pub use groups::{GroupKinds, GroupMigration, GroupSettings, GroupTime, InternalTopic};
pub use leaders::LeaderSettings;
pub use maintenance::LogMaintenance;
pub use network::NetworkLimits;
pub use quotas::{QuotaWindow, QuotaWindows};
pub use transactions::TransactionSettings;

/// A value that is not negative; 0 for one that is.
fn unsigned(values: &impl Values, name: &str) -> u64 {
    u64::try_from(values.whole(name).unwrap_or_default()).unwrap_or_default()
}

/// The same, as a count or a size.
fn size(values: &impl Values, name: &str) -> usize {
    usize::try_from(unsigned(values, name)).unwrap_or(usize::MAX)
}

/// A value of 32 bits.
fn int(values: &impl Values, name: &str) -> i32 {
    i32::try_from(values.whole(name).unwrap_or_default()).unwrap_or(i32::MAX)
}

/// The value that Kafka uses for no limit.
const NO_LIMIT: u64 = i32::MAX as u64;

/// A count; nothing for no limit.
fn limit(values: &impl Values, name: &str) -> Option<u64> {
    Some(unsigned(values, name)).filter(|count| *count != NO_LIMIT)
}
