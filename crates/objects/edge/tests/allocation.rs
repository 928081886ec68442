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

/// `hyper` makes two for the map of header fields, and the state two. The edge makes four: the name of the object, that of the
/// principal, the header fields of the response, and what the lists of a turn take, which is shared by the requests in it.
const ALLOCATIONS_MAX: usize = 8;

#[test]
fn stale_query_allocates_few_times() {
    const ROUNDS: usize = 200;
    let site = support::serve(support::config());
    let mut asker = Asker::new(site.server.address());
    (0..ROUNDS).for_each(|_| asker.ask());
    let before = COUNT.load(Ordering::Relaxed);
    (0..ROUNDS).for_each(|_| asker.ask());
    let each = (COUNT.load(Ordering::Relaxed) - before).div_ceil(ROUNDS * AHEAD);
    assert!(each <= ALLOCATIONS_MAX, "{each} allocations");
}
