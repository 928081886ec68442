//! What the engine writes into the module's memory, and what it reads there.

use std::borrow::Cow;
use std::cell::RefCell;

thread_local! {
    // The only thread is the module's: this is a plain static there.
    static GIVEN: RefCell<Given> = const { RefCell::new(Given { room: Vec::new(), is_used: false, more: Vec::new() }) };
    static RESULT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Bytes of what is kept for the next entry.
const ROOM_BYTES: usize = 512;

/// What the engine writes into.
struct Given {
    /// For what needs no more, if none of it is in use. It stays.
    room: Vec<u8>,
    is_used: bool,
    /// For what does. Free again when the entry ends.
    more: Vec<Vec<u8>>,
}

/// Makes room for what the engine is about to write. It is free again when the entry ends.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "only the engine calls it"))]
pub extern "C" fn alloc(length: usize) -> *mut u8 {
    // Aligned to 8: the arguments of a call stand behind the method's name.
    GIVEN.with_borrow_mut(|given| {
        if !given.is_used && length <= ROOM_BYTES {
            given.is_used = true;
            given.room.resize(ROOM_BYTES, 0);
            return given.room.as_mut_ptr();
        }
        let mut more = vec![0; length];
        let start = more.as_mut_ptr();
        given.more.push(more);
        start
    })
}

/// What the engine wrote.
///
/// # Safety
/// `length` bytes at `start` are the module's, and nobody writes there until the entry ends.
#[must_use]
pub const unsafe fn read<'a>(start: *const u8, length: usize) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: the caller says so.
    unsafe { std::slice::from_raw_parts(start, length) }
}

/// The same, of a text: the engine gives UTF-8 only.
///
/// # Safety
/// As [`read`].
#[must_use]
pub unsafe fn read_text<'a>(start: *const u8, length: usize) -> Cow<'a, str> {
    // SAFETY: the caller says so.
    String::from_utf8_lossy(unsafe { read(start, length) })
}

/// Nothing of the engine's is needed any more.
pub(crate) fn forget() {
    GIVEN.with_borrow_mut(|given| {
        given.is_used = false;
        given.more.clear();
    });
}

/// The room of the last result, which nobody reads any more.
pub(crate) fn take_room() -> Vec<u8> {
    let mut room = RESULT.take();
    room.clear();
    room
}

/// Keeps a result until the next one, and says where it is: position and length in one number.
#[must_use]
pub fn hand_over(result: Vec<u8>) -> u64 {
    RESULT.with_borrow_mut(|kept| {
        *kept = result;
        (kept.as_ptr().addr() as u64) << 32 | kept.len() as u64
    })
}
