//! What the engine writes into the module's memory, and what it reads there.

use std::cell::RefCell;

thread_local! {
    // The only thread is the module's: this is a plain static there.
    static GIVEN: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
    static RESULT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for what the engine is about to write. It is free again when the entry ends.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "only the engine calls it"))]
pub extern "C" fn alloc(length: usize) -> *mut u8 {
    // Aligned to 8: the arguments of a call stand behind the method's name.
    let mut room = vec![0; length.max(1)];
    let start = room.as_mut_ptr();
    GIVEN.with_borrow_mut(|given| given.push(room));
    start
}

/// A copy of what the engine wrote.
///
/// # Safety
/// `length` bytes at `start` are the module's.
pub unsafe fn read(start: *const u8, length: usize) -> Vec<u8> {
    if length == 0 {
        return Vec::new();
    }
    // SAFETY: the caller says so.
    unsafe { std::slice::from_raw_parts(start, length) }.to_vec()
}

/// The same, of a text.
///
/// # Safety
/// As [`read`].
#[must_use]
pub unsafe fn read_text(start: *const u8, length: usize) -> String {
    // SAFETY: the caller says so.
    text(unsafe { read(start, length) })
}

/// The engine gives UTF-8 only.
#[must_use]
pub fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Nothing of the engine's is needed any more.
pub(crate) fn forget() {
    GIVEN.with_borrow_mut(Vec::clear);
}

/// Keeps a result until the next one, and says where it is: position and length in one number.
#[must_use]
pub fn hand_over(result: Vec<u8>) -> u64 {
    RESULT.with_borrow_mut(|kept| {
        *kept = result;
        (kept.as_ptr().addr() as u64) << 32 | kept.len() as u64
    })
}
