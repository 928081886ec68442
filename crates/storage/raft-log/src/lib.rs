//! The log and the snapshots of one member of a consensus group, over a write-ahead log and the small [`Disk`] trait.
//!
//! The journal keeps what it is given in order, makes it durable with one write and one flush for all that was
//! appended, and after a crash gives back exactly that: every flushed batch, a beginning of the unflushed ones,
//! nothing else. A torn tail (never acknowledged) is cut; damage to anything that may have been acknowledged is
//! reported and left alone.
//!
//! Records, segments, preallocation and the judgement of damage are those of [`storage_wal`], of which the journal owns
//! one log. It knows nothing of what entries and snapshots mean, who votes or leads, and when to take a snapshot.
//!
//! # The directory
//! - `meta`: format version and the owner of the directory, written once, when everything else is in place.
//! - `log/<number>.seg`: segments of the write-ahead log.
//! - `snapshot/<index>.snap`: snapshots.
//!
//! # Invariants
//! - A snapshot has its name only when all of it is durable, and the log that it replaces goes only when its name is.
//!   Otherwise a crash leaves a log that begins behind entries that no snapshot holds.
//! - What is known to be committed is in the log, or in the snapshot that replaces it, whenever a directory is opened.
//!   Otherwise a member would apply as final what its log no longer holds.
//! - The newest good snapshot, and the log behind it, are never dropped.
//! - Opening changes nothing before log and snapshots were read and judged.
//!
//! # Not done, and what that costs
//! - Snapshots are not sent in parts that a receiver could resume, and their content is not compressed.
//! - What `storage_wal` does not do.
#![cfg_attr(not(test), no_std)]
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

extern crate alloc;

mod batch;
mod catalog;
mod codec;
mod config;
mod error;
mod identity;
mod index;
mod journal;
mod reader;
mod recovery;
mod snapshot;
mod snapshots;
mod state;

pub use base::{LogIndex, MemberId, Term};
pub use batch::{Batch, Entry, EntryKind, HardState, Membership, SnapshotMeta};
pub use config::{JournalConfig, JournalStats, KeepPolicy};
pub use error::{AppendError, ReadError, SnapshotError};
pub use identity::Identity;
pub use journal::{Journal, log_bytes_max};
pub use recovery::Recovered;
pub use snapshot::{LooseSnapshot, SnapshotReader};
pub use storage_disk::{Disk, DiskError};
pub use storage_wal::{Corruption, Fault, OpenError, Progress, Space, TornTail};
