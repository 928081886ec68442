//! Record batches of format 2: built from what a script says, faults included, and read from replies.
//!
//! A batch in a script is an object; what is not given is what an honest producer sends.
//!
//! | key | meaning |
//! |---|---|
//! | `records` | list of objects with `key`, `value`, `headers` (pairs), `timestamp`, `offsetDelta` |
//! | `compression` | `none`, `gzip`, `snappy`, `lz4`, `zstd`: valid forms that hold the bytes as they are |
//! | `producer`, `epoch`, `sequence` | of an idempotent producer |
//! | `transactional`, `control`, `appendTime` | bits of the attributes; `attributes` replaces all of them |
//! | `baseOffset`, `leaderEpoch`, `magic`, `lastOffsetDelta`, `baseTimestamp`, `maxTimestamp`, `count` | instead of the right ones |
//! | `crc` | `wrong`: one bit differs |
//! | `length` | is added to the right length |

mod build;
mod compress;
mod read;

pub use build::build;
pub use read::read;
