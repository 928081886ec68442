//! Counts what is allocated, so that a driver notices an input that makes the code take more than it should.
//!
//! A program that wants this names [`Counting`] as its global allocator; without it the counts stay 0.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static LIVE: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
    static TAKEN: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counting bytes by thread.
#[derive(Debug)]
pub struct Counting;

/// Most bytes that this thread held at a time since [`forget`], beyond what it held then.
#[must_use]
pub fn peak_bytes() -> usize {
    PEAK.get()
}

/// Bytes that this thread took since [`forget`], whether it gave them back or not: a measure of work.
#[must_use]
pub fn taken_bytes() -> usize {
    TAKEN.get()
}

/// Starts counting anew.
pub fn forget() {
    TAKEN.set(0);
    LIVE.set(0);
    PEAK.set(0);
}

fn took(bytes: usize) {
    // A thread that is ending has no counters any more.
    let _ = TAKEN.try_with(|taken| taken.set(taken.get().saturating_add(bytes)));
    let _ = LIVE.try_with(|live| {
        live.set(live.get().saturating_add(bytes));
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
}

fn gave(bytes: usize) {
    let _ = LIVE.try_with(|live| live.set(live.get().saturating_sub(bytes)));
}

// SAFETY: every call is passed on to the system's allocator unchanged; counting touches the thread's own numbers only.
#[expect(unsafe_code, reason = "counting allocations needs an allocator, whose trait is unsafe")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the caller keeps the contract of the same method of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        gave(layout.size());
        took(size);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        gave(layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}
