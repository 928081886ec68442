//! Every limit of a write-ahead log, by name. Reaching one is an error of the call, never growth.

/// How many logs one write-ahead log carries. Each is listed in the first record of every segment.
pub const LOGS_MAX: usize = 1 << 17;

/// Bytes of payload in one record: what a reader must hold in memory at once.
pub const RECORD_BYTES_MAX: usize = 1 << 30;

/// Bytes of the checkpoint of one log. All of them together must fit into a segment ([`SEGMENT_BYTES_MAX`]).
pub const CHECKPOINT_BYTES_MAX: usize = 1 << 20;

/// The longest segment: places in it are four bytes on the disk.
pub const SEGMENT_BYTES_MAX: u64 = u32::MAX as u64;

/// No segment is made shorter: a shorter file has lost its end, and perhaps its first record with it.
pub(crate) const SEGMENT_BYTES_MIN: u64 = 2048;

/// The longest first record of the very first segment. What lies behind it was appended by an owner: a directory that
/// was never made whole holds nothing there.
pub(crate) const FIRST_RECORD_BYTES_MAX: u64 = 1024;
