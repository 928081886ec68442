//! Compaction: of each key, the newest record is kept (`cleanup.policy=compact`).
//!
//! A pass goes over the sealed segments of a log twice. First it notes, for every key in the part that was not compacted yet,
//! the offset of its newest record ([`OffsetMap`]). Then it goes over all segments from the oldest on and leaves out what is
//! not the newest of its key ([`Cleaner`]). Segments that lie side by side become one as long as they are not longer than a
//! segment may be; each such group takes the place of its segments at once ([`Replacement`]), before the next is begun. If
//! there are more keys than the map holds, the pass ends where the map was full, and the next one goes on there.
//!
//! What is never touched: the segment that is appended to, segments that reach the last stable offset, and those that are
//! younger than `min.compaction.lag.ms` (L64). Segments are judged as a whole, as Kafka judges their age; it cuts the one that
//! holds the last stable offset, and this one leaves it alone.
//!
//! What is kept besides the newest record of each key:
//! - Records without a value, until `delete.retention.ms` after a pass has met them first: that moment, their delete horizon,
//!   is written into their batch (KIP-534).
//! - The end of a transaction, until a pass has met it without records of its transaction, and for `delete.retention.ms` from
//!   then on. Records of aborted transactions are left out at once.
//! - The last batch of each producer that is known, and the last batch of a pass: without records, if none are kept. They say
//!   which sequence number and which offset come next.
//!
//! A batch keeps its place, its last offset, its sequence numbers and the times of its records (L63). One that is left as it
//! is keeps its bytes.
//!
//! # Where it differs from Kafka
//! - A batch whose records cannot be decompressed is kept as it is, and so are tombstones behind it: Kafka stops compacting
//!   the partition.
//! - A pass is made, too, when all delete horizons have passed: Kafka waits for more records.
//! - A segment that is idle is sealed when `max.compaction.lag.ms` has passed: Kafka waits for an append.
//!
//! Source: Kafka's documentation of log compaction, KIP-58, KIP-98, KIP-354, KIP-534, and the behaviour of Kafka 4.3.

mod cleaner;
mod kept_records;
mod offset_map;
mod plan;
mod replacement;

pub use cleaner::{Cleaner, Kept, Mapped};
pub use offset_map::OffsetMap;
pub use plan::{CompactionJob, CompactionNeed};
pub use replacement::Replacement;
