//! draft
#![cfg_attr(not(test), no_std)]
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

extern crate alloc;

pub mod codec;
mod config;
mod directory;
mod error;
mod limits;
mod log;
mod logs;
pub mod meta;
mod preallocation;
mod read;
mod record;
mod recovery;
mod replay;
mod room;
mod scan;
mod segment;
mod wal;

pub use config::{Class, Progress, Space, WalConfig, WalStats};
pub use error::{AppendError, Corruption, CreateError, Fault, OpenError, ReadError};
pub use limits::{CHECKPOINT_BYTES_MAX, LOGS_MAX, RECORD_BYTES_MAX, SEGMENT_BYTES_MAX};
pub use log::{Checkpoints, LogId, Position, Restore};
pub use read::{LogRecord, Reader};
pub use recovery::{Replayed, TornTail};
pub use segment::LOG_DIRECTORY;
pub use wal::{Group, Wal, record_bytes_max};
