//! How long messages are.

use crate::partition::PARTITION_BYTES_MAX;
use crate::{VERSION, kind};

/// A message with several items is not longer than that, in bytes. A message with one item may be.
pub const BATCH_BYTES_MAX: usize = 1 << 20;

/// Bytes of the longest message that is no list: version, kind, a partition, and two numbers of 32 bits.
const SINGLE_BYTES_MAX: usize = 2 + PARTITION_BYTES_MAX + 2 * 5;

/// What is refused anyway, and need not arrive whole.
const UNKNOWN_BYTES_MAX: usize = 64 << 10;

/// How many bytes a message may have that begins like this: in the form that a channel of the connections between members asks
/// for. Of its first two bytes fewer may have come yet; then it is the most that any message may have that begins so.
/// `request_bytes_max` is how long the entries of one [`Append`](replication_appointed::Append) may be if it has a message to
/// itself.
#[must_use]
pub fn message_bytes_max(beginning: &[u8], request_bytes_max: usize) -> usize {
    let longest = BATCH_BYTES_MAX.saturating_add(request_bytes_max);
    match *beginning {
        [] | [VERSION] => longest,
        [VERSION, kind, ..] => match kind {
            kind::REPLICAS => longest,
            kind::CALL | kind::ANSWER | kind::FENCE | kind::TELL | kind::ASK | kind::LAGGING => {
                BATCH_BYTES_MAX
            }
            kind::PROMISED | kind::REPORTED | kind::ACTS => BATCH_BYTES_MAX,
            kind::ANNOUNCED | kind::PREPARED | kind::DRAINING => SINGLE_BYTES_MAX,
            _ => UNKNOWN_BYTES_MAX,
        },
        _ => UNKNOWN_BYTES_MAX,
    }
}
