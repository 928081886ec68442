//! The write-ahead log and the snapshots of one member, over the small [`Disk`] trait.
//!
//! The journal keeps what it is given in order, makes it durable with one write and one flush for all that was
//! appended, and after a crash gives back exactly that: every flushed batch, a beginning of the unflushed ones,
//! nothing else. A torn tail (never acknowledged) is cut; damage to anything that may have been acknowledged is
//! reported and left alone.
//!
//! It knows nothing of what entries and snapshots mean, who votes or leads, and when to take a snapshot.
//!
//! # The directory
//! - `meta`: format version and whose directory it is, written once, when everything else is in place.
//! - `log/<number>.seg`: segments of records, each filled with zeros before it is used or used before; at most one of
//!   them waits for its use. The first record of a segment repeats what all earlier ones say, so that those can be
//!   dropped, and vouches for the end of the one before it.
//! - `snapshot/<index>.snap`: snapshots.
//!
//! # Invariants
//! - A name is durable before anything in its file is acknowledged.
//! - A record never verifies in another place, another segment or another life of its file.
//! - After a failed write or flush nothing is written any more: what the disk holds is then unknown.
//! - A full disk is met when a segment is made ready or a snapshot written, never when a record is.
//! - Opening changes nothing before all was read and judged.
//!
//! # Not done, and what that costs
//! - Damage within the last flush before a crash cannot be told from a torn tail, unless something was written behind
//!   it: the next flush, or the mark of [`Journal::settle`]. A bit would have to rot between a flush and that moment.
//! - On a copy-on-write file system a segment that was filled ahead keeps no room. A write that finds none is tried
//!   again later: nothing of it was acknowledged, and the same bytes go to the same place. If instead the flush fails,
//!   or the write that ends a segment in the middle of a batch, the journal is poisoned.
//! - Snapshots are not sent in parts that a receiver could resume, and their content is not compressed.
//! - The last segment, removed by hand while no other was ready behind it, leaves no trace of having been there.
#![cfg_attr(not(test), no_std)]
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

extern crate alloc;

mod batch;
mod chain;
mod codec;
mod config;
mod disk;
mod error;
mod index;
mod journal;
mod meta;
mod reader;
mod record;
mod recovery;
mod replay;
mod reserve;
mod segment;
mod shelf;
mod snapshot;
mod snapshots;

pub use batch::{Batch, Entry, EntryKind, HardState, Membership, SnapshotMeta};
pub use config::{Identity, JournalConfig, JournalStats, KeepPolicy, Progress, Space};
pub use disk::{Disk, DiskError};
pub use error::{AppendError, Corruption, Fault, OpenError, ReadError, SnapshotError};
pub use journal::{Journal, log_bytes_max};
pub use recovery::{Recovered, TornTail};
pub use snapshot::{LooseSnapshot, SnapshotReader};
