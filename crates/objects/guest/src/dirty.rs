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

    /// What may have been written of a memory of so many bytes since the last time, in order.
    pub(crate) fn take(
        self,
        mut context: impl AsContextMut,
        bytes: usize,
        tracking: Tracking,
    ) -> Vec<Written> {
        let lines = bytes / LINE_BYTES;
        let dirty = &mut self.0.data_mut(&mut context)[..lines];
        match tracking {
            Tracking::DirtyBytes => taken(dirty),
            Tracking::Compare => {
                dirty.fill(0);
                (0..lines).map(Written::line).collect()
            }
        }
    }
}

/// Lines whose byte is set, which it is no longer, and the first bytes of those behind.
fn taken(dirty: &mut [u8]) -> Vec<Written> {
    /// Bytes that are looked at together.
    const TOGETHER: usize = 128;
    let count = dirty.len();
    let mut written: Vec<Written> = Vec::new();
    for (number, part) in dirty.chunks_mut(TOGETHER).enumerate() {
        if part.iter().fold(0, |any, byte| any | *byte) == 0 {
            continue;
        }
        for (place, byte) in part.iter_mut().enumerate().filter(|(_, byte)| **byte != 0) {
            *byte = 0;
            let line = Written::line(number * TOGETHER + place);
            // A line that the one before may have been written into is named once.
            written.pop_if(|before| before.start == line.start);
            let next = line.start + LINE_BYTES;
            written.push(line);
            if next < count * LINE_BYTES {
                written.push(Written { start: next, bytes: SPILL_BYTES });
            }
        }
    }
    written
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
        assert_eq!(taken(&mut dirty), lines);
        assert_eq!(taken(&mut dirty), []);
    }
}
