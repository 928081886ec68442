//! What the engine writes into the module's memory, and what it reads there.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io;

thread_local! {
    // The only thread is the module's: these are plain statics there.
    static GIVEN: RefCell<Given> =
        const { RefCell::new(Given { room: [0; GIVEN_BYTES], is_used: false, more: Vec::new() }) };
    static RESULT: RefCell<Told> = const { RefCell::new(Told { room: [0; RESULT_BYTES], more: Vec::new() }) };
}

// Rooms are part of the module's own data: what most calls write lies together, and the engine looks for it by stripes and pages.

/// Bytes of what the engine gives for which there is always room.
const GIVEN_BYTES: usize = 256;
/// The same of a result.
const RESULT_BYTES: usize = 128;

/// What the engine writes into.
#[repr(align(8))]
struct Given {
    /// For what needs no more, if it is not in use.
    room: [u8; GIVEN_BYTES],
    is_used: bool,
    /// For what does. Free again when the entry ends.
    more: Vec<Vec<u8>>,
}

/// Where the engine reads.
struct Told {
    room: [u8; RESULT_BYTES],
    /// The last result, if it needed more.
    more: Vec<u8>,
}

/// Makes room for what the engine is about to write. It is free again when the entry ends.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "only the engine calls it"))]
pub extern "C" fn alloc(length: usize) -> *mut u8 {
    // Aligned to 8: the arguments of a call stand behind the method's name.
    GIVEN.with_borrow_mut(|given| {
        if !given.is_used && length <= GIVEN_BYTES {
            given.is_used = true;
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

/// A result as it is written: where the last one was, or, if it is longer, in memory of its own.
#[derive(Debug, Default)]
pub struct Output {
    /// Bytes in the room, if there are no more.
    length: usize,
    more: Vec<u8>,
}

impl Output {
    /// Empty. The last result is there no more.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self.more.is_empty() {
            true => RESULT.with_borrow(|told| told.room[..self.length].to_vec()),
            false => self.more.clone(),
        }
    }
}

impl From<Vec<u8>> for Output {
    fn from(bytes: Vec<u8>) -> Self {
        Self { length: 0, more: bytes }
    }
}

impl io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        RESULT.with_borrow_mut(|told| {
            let room = told.room.get_mut(self.length..self.length + bytes.len());
            match room.filter(|_| self.more.is_empty()) {
                Some(room) => {
                    room.copy_from_slice(bytes);
                    self.length += bytes.len();
                }
                None => {
                    if self.more.is_empty() {
                        self.more.extend_from_slice(&told.room[..self.length]);
                    }
                    self.more.extend_from_slice(bytes);
                }
            }
        });
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps a result until the next one, and says where it is: position and length in one number.
#[must_use]
pub fn hand_over(result: impl Into<Output>) -> u64 {
    let Output { length, more } = result.into();
    RESULT.with_borrow_mut(|told| {
        let (start, length) = match more.is_empty() {
            true => (told.room.as_ptr(), length),
            false => (more.as_ptr(), more.len()),
        };
        // A result that is longer than most keeps no memory behind it.
        if !more.is_empty() || !told.more.is_empty() {
            told.more = more;
        }
        (start.addr() as u64) << 32 | length as u64
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::{Output, RESULT_BYTES};

    #[test]
    fn output_that_needs_more_than_there_is_room_for_is_whole() {
        for parts in
            [&[][..], &[1], &[RESULT_BYTES], &[RESULT_BYTES + 1], &[7, RESULT_BYTES - 7, 1], &[100, 100, 3]]
        {
            let (mut output, mut written) = (Output::new(), Vec::new());
            for (number, part) in parts.iter().enumerate() {
                let bytes = vec![number as u8 + 1; *part];
                output.write_all(&bytes).unwrap();
                written.extend(bytes);
            }
            assert_eq!(output.bytes(), written, "{parts:?}");
        }
    }
}
