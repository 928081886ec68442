//! Recipes: locks, leader election, membership, a cached subtree, compare-and-set. Their logic is in
//! [`council_client_core::recipes`], where each says what holds; here each runs over a [`Client`](crate::Client).
//!
//! A recipe that goes on has a thread of its own, which ends when its handle is dropped. Recipes that are to go on after an
//! expired session need a client that opens a new one: see [`Options::renew_session`](crate::Options::renew_session).
//!
//! | recipe | shares its nodes with |
//! |---|---|
//! | [`Lock`] | Curator's `InterProcessMutex` and `InterProcessReadWriteLock`, kazoo's `Lock`, `ReadLock`, `WriteLock` |
//! | [`Election`] | Curator's `LeaderLatch` and `LeaderSelector`, kazoo's `Election` |
//! | [`Group`] | Curator's `GroupMember` |
//! | [`SubtreeCache`] | everyone: it only reads |
//! | [`Running`] | a recipe of the caller's own |
//! | [`Client::update`](crate::Client::update) | kazoo's `Counter`, Curator's atomic numbers, whatever the data is |

mod cache;
mod election;
mod group;
mod lock;
mod running;
mod update;

use std::io;

use council_client_core::Error;

pub use cache::SubtreeCache;
pub use council_client_core::recipes::{
    CacheLimits, CacheState, CachedNode, Kind, Layout, Member, Outcome, PresenceState, Standing, Update,
};
pub use election::Election;
pub use group::Group;
pub use lock::{Lock, LockGuard};
pub use running::Running;

use crate::entropy::entropy;

/// Why a recipe did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// The time was over.
    #[error("the time is over")]
    TimedOut,
    /// The server refused, or the client is of no more use.
    #[error(transparent)]
    Client(#[from] Error),
    /// This host has no thread or no random numbers left.
    #[error("cannot start the recipe: {0}")]
    Host(#[from] io::Error),
}

/// 32 hexadecimal digits, unique: a random UUID, version 4.
fn guid() -> io::Result<String> {
    let mut number = u128::from_be_bytes(entropy()?);
    number = number & !(0xf << 76) | 0x4 << 76;
    number = number & !(0x3 << 62) | 0x2 << 62;
    Ok(format!("{number:032x}"))
}
