//! The disk as it really is: files in one directory, or in two, locked against a second process.
//!
//! [`DirDisk`] carries out the calls of the [`Disk`](storage_disk::Disk) trait and promises no more than the system
//! does; what an error means is its user's to decide. [`ReadingDisk`] shows a directory and changes nothing in it.
//! All files are this user's alone ([`private`]).
//!
//! Pure crates must not be able to reach a file: that is why this crate is none of them, and apart from the trait.
//!
//! # Not done, and what that costs
//! Only Linux: zeros are written past the system's cache through `/proc`. One thread flushes ahead and frees the room
//! of removed files; a slow one delays the other.

mod descriptors;
mod disk;
mod errands;
mod errors;
pub mod private;
mod reading_disk;
mod shared_file;
#[cfg(test)]
mod testing;

pub use disk::{DirDisk, DirFile, DirectoryError, free_bytes, probe};
pub use reading_disk::{ReadingDisk, ReadingFile};
