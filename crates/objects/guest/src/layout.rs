//! Whether an object's memory may go from one version to another as it is, because both name the same layout.
//!
//! Such a memory is the image of the old version with the pages that the object has changed. It becomes the image of the new one with
//! these pages. A module's author says by the layout's name that what the program keeps lies where it lay and means what it
//! meant. That cannot be checked, but what shows that it is not so can:
//!
//! - *Static data lies elsewhere*: the segments of data are not as many, not at the same places, or not as long; or an exported
//!   constant is another (compilers of C and Rust export where data ends and the heap begins).
//! - *Static data that differs lies within what the object has changed*: in a page that the object has changed, the images must be equal.
//!   Otherwise the page would bring the old constants along.
//! - *Globals are others*: the mutable ones must be as many, of the same types in the same order, and begin with the same values, for
//!   the stack's pointer is one; so must the size of the memory.
//! - *The memory has no room*: it must not be larger than the new version's may be.
//!
//! # Not done, and what that costs
//! - Numbers of functions in tables, and addresses of static data, may be in what the object has changed. What they lead to in the new
//!   version nobody checks: the module's author must keep none there.

use objects_state::guest::{Host, PAGE_BYTES};

use crate::instance::WASM_PAGE_BYTES;
use crate::prepared::Prepared;
use crate::resident::image_page;

/// Whether the memory of an object may go over as it is. Follows from both versions, and from which pages it has changed.
///
/// # Errors
/// It may not, for this reason.
pub(crate) fn check(old: &Prepared, new: &Prepared, host: &dyn Host) -> Result<(), String> {
    let (from, to) = (&old.form, &new.form);
    if from.segments != to.segments {
        return Err(String::from("its static data lies elsewhere"));
    }
    if from.constants != to.constants {
        return Err(String::from("it exports other constants"));
    }
    if from.mutable != to.mutable || old.registers != new.registers {
        return Err(String::from("its mutable globals, or the size of its memory, are others at first"));
    }
    let pages = host.registers().or(Some(&old.registers)).and_then(|registers| registers.first_chunk());
    let bytes = pages.map_or(0, |pages| u64::from(u32::from_le_bytes(*pages)) * WASM_PAGE_BYTES as u64);
    if bytes > to.bytes_max {
        return Err(format!(
            "its memory has {} bytes at the most, and the object's has {bytes}",
            to.bytes_max
        ));
    }
    let is_other = |number: &u32| image_page(&old.image, *number) != image_page(&new.image, *number);
    match host.pages().iter().find(|number| is_other(number)) {
        None => Ok(()),
        Some(number) => {
            let at = u64::from(*number) * PAGE_BYTES as u64;
            Err(format!(
                "its static data differs between {at} and {}, where the object has changed memory",
                at + PAGE_BYTES as u64
            ))
        }
    }
}
