//! A range of addresses that is unmapped in the end.

use std::ffi::c_void;
use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};

use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags};

pub(super) struct Mapping {
    base: NonNull<c_void>,
    bytes: usize,
}

// SAFETY: the range belongs to this value alone; what reads and writes it goes through references to who owns it.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Addresses that nothing may touch yet.
    pub(super) fn reserved(bytes: usize) -> Self {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new range, at a place that the kernel chooses.
        let base = unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), bytes, ProtFlags::empty(), flags) };
        Self::of(base, bytes)
    }

    /// A file's bytes, to be read. Nobody writes the file any more.
    pub(super) fn of_file(file: BorrowedFd<'_>, bytes: usize) -> Self {
        // SAFETY: a new range, at a place that the kernel chooses.
        let base =
            unsafe { rustix::mm::mmap(ptr::null_mut(), bytes, ProtFlags::READ, MapFlags::SHARED, file, 0) };
        Self::of(base, bytes)
    }

    /// A file's bytes, to be read and written, also by others.
    pub(super) fn of_shared_file(file: BorrowedFd<'_>, bytes: usize) -> Self {
        let may = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new range, at a place that the kernel chooses.
        let base = unsafe { rustix::mm::mmap(ptr::null_mut(), bytes, may, MapFlags::SHARED, file, 0) };
        Self::of(base, bytes)
    }

    fn of(base: rustix::io::Result<*mut c_void>, bytes: usize) -> Self {
        let base =
            base.unwrap_or_else(|error| panic!("cannot map {bytes} bytes for a module's memory: {error}"));
        Self { base: NonNull::new(base).expect("the kernel maps nothing at zero"), bytes }
    }

    pub(super) fn base(&self) -> *mut u8 {
        self.base.as_ptr().cast()
    }

    /// Its bytes, if all may be read.
    ///
    /// # Safety
    /// The range is readable, and nobody writes it while the slice lives.
    pub(super) unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: the range is mapped as long as this value lives; the rest is the caller's promise.
        unsafe { std::slice::from_raw_parts(self.base(), self.bytes) }
    }

    /// Puts a private copy of a file's first bytes in the place of the first addresses; nothing may touch it yet.
    pub(super) fn cover(&mut self, file: BorrowedFd<'_>, bytes: usize) {
        assert!(bytes <= self.bytes, "an image is no larger than what is reserved");
        let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
        // SAFETY: the range lies within this mapping, of which nobody has a reference yet.
        let base = unsafe { rustix::mm::mmap(self.base.as_ptr(), bytes, ProtFlags::empty(), flags, file, 0) };
        base.unwrap_or_else(|error| panic!("cannot map an image of {bytes} bytes: {error}"));
    }

    /// Makes the addresses from one offset to another readable and writable.
    pub(super) fn open(&mut self, from: usize, to: usize) {
        assert!(from <= to && to <= self.bytes, "a memory grows within what is reserved");
        if from == to {
            return;
        }
        // SAFETY: the range lies within this mapping.
        let opened = unsafe {
            let start = self.base.as_ptr().byte_add(from);
            rustix::mm::mprotect(start, to - from, MprotectFlags::READ | MprotectFlags::WRITE)
        };
        opened.unwrap_or_else(|error| panic!("cannot make a module's memory larger: {error}"));
    }

    /// Small pages for the first bytes: a page is what is written out, and most objects are small.
    pub(super) fn small_pages(&mut self, bytes: usize) {
        // SAFETY: advice changes no content.
        let advised = unsafe {
            rustix::mm::madvise(self.base.as_ptr(), bytes.min(self.bytes), Advice::LinuxNoHugepage)
        };
        // A kernel without huge pages refuses the advice: there is nothing to turn off.
        let _ = advised;
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is this value's own, and nobody can have a reference to it any more.
        let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "the range was mapped");
    }
}
