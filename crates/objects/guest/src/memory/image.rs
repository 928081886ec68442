//! What the memory of a version holds before anything was called: in a file without a name, of which all instances map private
//! copies.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use objects_state::guest::PAGE_BYTES;
use rustix::fs::MemfdFlags;

use super::mapping::Mapping;

pub(crate) struct Image {
    file: OwnedFd,
    view: Option<Mapping>,
}

impl Image {
    /// Keeps the bytes of a memory: a multiple of a page.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let file = rustix::fs::memfd_create("diwan-guest-image", MemfdFlags::CLOEXEC);
        let file = file.unwrap_or_else(|error| panic!("cannot make a file for an image: {error}"));
        write(&file, bytes)
            .unwrap_or_else(|error| panic!("cannot keep an image of {} bytes: {error}", bytes.len()));
        let view = (!bytes.is_empty()).then(|| Mapping::of_file(file.as_fd(), bytes.len()));
        Self { file, view }
    }

    /// All of it.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: it is mapped to be read, and the file was written for the last time before it was mapped.
        self.view.as_ref().map_or(&[], |view| unsafe { view.bytes() })
    }

    pub(super) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Writes the pages that are not empty; the others are holes.
fn write(file: &OwnedFd, bytes: &[u8]) -> rustix::io::Result<()> {
    rustix::fs::ftruncate(file, bytes.len() as u64)?;
    for (number, page) in bytes.chunks(PAGE_BYTES).enumerate() {
        if page.iter().all(|byte| *byte == 0) {
            continue;
        }
        let mut done = 0;
        while done < page.len() {
            done += rustix::io::pwrite(file, &page[done..], (number * PAGE_BYTES + done) as u64)?;
        }
    }
    Ok(())
}
