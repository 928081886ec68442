//! Which lines of an instance's memory may have been written since that was asked for last: its dirty bytes, one a line, which its
//! functions set (`module/dirty.rs`), and so does the host where it writes for a run.

use objects_state::guest::LINE_BYTES;
use wasmtime::{AsContext, AsContextMut, Instance, Memory, Store};

use crate::module::{DIRTY, SPILL_BYTES};

/// How what was written is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tracking {
    /// The module notes them.
    #[default]
    DirtyBytes,
    /// All lines are compared. It shows whether a module notes too little; each run costs by the size of the memory.
    Compare,
}

/// A line that may have been written, or its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// Where it begins in the memory.
    pub(crate) start: usize,
    pub(crate) bytes: usize,
}

impl Written {
    const fn line(number: usize) -> Self {
        Self { start: number * LINE_BYTES, bytes: LINE_BYTES }
    }
}

/// Dirty bytes of an instance.
#[derive(Clone, Copy)]
pub(crate) struct Dirty(Memory);

impl Dirty {
    pub(crate) fn of<T: 'static>(instance: &Instance, store: &mut Store<T>) -> Self {
        Self(instance.get_memory(store, DIRTY).expect("it was exported by us"))
    }

    /// Bytes that they take.
    pub(crate) fn len(self, context: impl AsContext) -> usize {
        self.0.data_size(context)
    }

    /// Notes that the host writes so many bytes there.
    pub(crate) fn note(self, mut context: impl AsContextMut, place: usize, bytes: usize) {
        let Some(last) = bytes.checked_sub(1) else { return };
        let lines = place / LINE_BYTES..=(place + last) / LINE_BYTES;
        let noted = self.0.data_mut(&mut context).get_mut(lines);
        noted.expect("there is one for each line of the memory").fill(1);
    }

    /// What may have been written of a memory of so many bytes since the last time, in order, in the place of what `written` held.
    pub(crate) fn take(
        self,
        mut context: impl AsContextMut,
        bytes: usize,
        tracking: Tracking,
        written: &mut Vec<Written>,
    ) {
        let lines = bytes / LINE_BYTES;
        let dirty = &mut self.0.data_mut(&mut context)[..lines];
        written.clear();
        match tracking {
            Tracking::DirtyBytes => take_set(dirty, written),
            Tracking::Compare => {
                dirty.fill(0);
                written.extend((0..lines).map(Written::line));
            }
        }
    }
}

/// Lines whose byte is set, which it is no longer, and the first bytes of those behind.
fn take_set(dirty: &mut [u8], written: &mut Vec<Written>) {
    /// Bytes that are looked at together.
    const MANY: usize = 128;
    let count = dirty.len();
    let (many, rest) = dirty.as_chunks_mut::<MANY>();
    let rest_begins = many.len() * MANY;
    for (number, many) in many.iter_mut().enumerate() {
        if any(many) {
            take_some(many, number * MANY, count, written);
        }
    }
    take_some(rest, rest_begins, count, written);
}

/// The same of some lines, the first of which has that number, of so many.
fn take_some(dirty: &mut [u8], first: usize, count: usize, written: &mut Vec<Written>) {
    const WORD: usize = 8;
    for (place, bytes) in dirty.chunks_mut(WORD).enumerate() {
        if !any(bytes) {
            continue;
        }
        for (byte, line) in bytes.iter_mut().zip(first + place * WORD..) {
            if std::mem::take(byte) != 0 {
                push(written, line, count);
            }
        }
    }
}

/// Whether a byte is set.
fn any(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks();
    words.iter().fold(0, |any, word| any | u64::from_ne_bytes(*word)) != 0
        || rest.iter().any(|byte| *byte != 0)
}

/// Adds a line of so many, and the first bytes of the next one, into which it may have been written.
fn push(written: &mut Vec<Written>, line: usize, count: usize) {
    let line = Written::line(line);
    // A line that the one before may have been written into is named once.
    written.pop_if(|before| before.start == line.start);
    let next = line.start + LINE_BYTES;
    written.push(line);
    if next < count * LINE_BYTES {
        written.push(Written { start: next, bytes: SPILL_BYTES });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_dirty_are_told_once_with_the_beginnings_of_those_behind() {
        let mut dirty = [0; 200];
        for line in [0, 1, 127, 150, 199] {
            dirty[line] = 1;
        }
        let lines = [(0, 512), (1, 512), (2, 15), (127, 512), (128, 15), (150, 512), (151, 15), (199, 512)];
        let lines = lines.map(|(line, bytes)| Written { start: line * LINE_BYTES, bytes });
        let mut written = Vec::new();
        take_set(&mut dirty, &mut written);
        assert_eq!((&written[..], dirty), (&lines[..], [0; 200]));
    }
}
