//! How often a stale query allocates on its whole way: from its bytes through the server, the edge and a core, and back.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use support::asker::{AHEAD, Asker};

/// Allocations of all threads.
static COUNT: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: every call is passed on to the system's allocator unchanged; counting touches an atomic only.
#[expect(unsafe_code, reason = "counting allocations needs an allocator, whose trait is unsafe")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of the same method of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// `hyper` makes two for the map of header fields, and the state two for the object and its value. The edge makes three: for the
/// names of the object and of the principal, and for the header fields of the response. What the lists of a turn take is less
/// than one for each request in it.
const ALLOCATIONS_MAX: usize = 8;

#[test]
fn stale_query_allocates_few_times() {
    const ROUNDS: usize = 200;
    let site = support::serve(support::config());
    let mut asker = Asker::new(site.server.address());
    let mut round = || {
        let before = COUNT.load(Ordering::Relaxed);
        asker.ask();
        COUNT.load(Ordering::Relaxed) - before
    };
    // On a busy machine the requests of a round may be read in several turns, and the lists of each take some. So the rounds
    // that were read in one count.
    let fewest = (0..ROUNDS).map(|_| round()).min().unwrap_or_default();
    assert!((1..=ALLOCATIONS_MAX * AHEAD).contains(&fewest), "{fewest} allocations for {AHEAD} queries");
}
