//! What storage needs of a disk: the small [`Disk`] trait over named files, and a simulated disk that fails as real
//! ones do.
//!
//! A crate that takes a [`Disk`] can be pure: it cannot reach a file. The disk over a real directory is
//! `storage-dir-disk`, a crate of its own for that reason.
//!
//! # Not done, and what that costs
//! Calls block: a caller that must not wait for a disk needs a thread for it. There is no memory map and no way to hand
//! a range of a file to a socket.
#![cfg_attr(not(test), no_std)]
#![deny(clippy::disallowed_types, clippy::disallowed_methods)]

extern crate alloc;

mod disk;
pub mod sim;

pub use disk::{Disk, DiskError};
