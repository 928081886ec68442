//! Memory of instances, and files that are mapped: the one place of this crate with unsafe code, but for reading machine code
//! back (`code.rs`). An instance's memory is a private mapping of its version's
//! image, so that making one costs no copy.
//!
//! The host's trouble (no address space, no memory for a map) is a panic: the member is broken, not the call.
#![expect(unsafe_code, reason = "memory maps, and the trait of the engine that takes them, are unsafe")]

mod borrowed;
mod creator;
mod image;
mod mapping;
mod records;

pub(crate) use borrowed::{Borrowed, lend};
pub(crate) use creator::{Creator, beginning_as};
pub(crate) use image::Image;
pub(crate) use records::{Record, SharedRecords};
