//! Which pages of an instance's memory may have been written since that was asked for last: its dirty bytes, one a page, which its
//! functions set (`module/dirty.rs`), and so does the host where it writes for a run.

use objects_state::guest::PAGE_BYTES;
use wasmtime::{AsContext, AsContextMut, Instance, Memory, Store};

use crate::module::{DIRTY, SPILL_BYTES};

/// How written pages are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tracking {
    /// The module notes them.
    #[default]
    DirtyBytes,
    /// All pages are compared. It shows whether a module notes too little; each run costs by the size of the memory.
    Compare,
}

/// A part of a page, from its first byte on, that may have been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) page: u32,
    pub(crate) bytes: usize,
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
        let pages = place / PAGE_BYTES..=(place + last) / PAGE_BYTES;
        let noted = self.0.data_mut(&mut context).get_mut(pages);
        noted.expect("there is one for each page of the memory").fill(1);
    }

    /// What may have been written of a memory of so many pages since the last time, in order.
    pub(crate) fn take(
        self,
        mut context: impl AsContextMut,
        pages: usize,
        tracking: Tracking,
    ) -> Vec<Written> {
        let bytes = &mut self.0.data_mut(&mut context)[..pages];
        match tracking {
            Tracking::DirtyBytes => taken(bytes),
            Tracking::Compare => {
                bytes.fill(0);
                (0..pages).map(|page| Written { page: page as u32, bytes: PAGE_BYTES }).collect()
            }
        }
    }
}

/// Pages whose byte is set, which it is no longer, and the first bytes of those behind.
fn taken(dirty: &mut [u8]) -> Vec<Written> {
    /// Bytes that are looked at together.
    const TOGETHER: usize = 32;
    let count = dirty.len();
    let mut written: Vec<Written> = Vec::new();
    for (number, part) in dirty.chunks_mut(TOGETHER).enumerate() {
        if part.iter().fold(0, |any, byte| any | *byte) == 0 {
            continue;
        }
        for (place, byte) in part.iter_mut().enumerate().filter(|(_, byte)| **byte != 0) {
            *byte = 0;
            let page = number * TOGETHER + place;
            // A page that one before may have been written into is named once.
            written.pop_if(|before| before.page as usize == page);
            written.push(Written { page: page as u32, bytes: PAGE_BYTES });
            if page + 1 < count {
                written.push(Written { page: page as u32 + 1, bytes: SPILL_BYTES });
            }
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_are_dirty_are_told_once_with_the_beginnings_of_those_behind() {
        let mut dirty = [0; 70];
        for page in [0, 1, 31, 40, 69] {
            dirty[page] = 1;
        }
        let pages = [(0, 4096), (1, 4096), (2, 15), (31, 4096), (32, 15), (40, 4096), (41, 15), (69, 4096)];
        assert_eq!(taken(&mut dirty), pages.map(|(page, bytes)| Written { page, bytes }));
        assert_eq!(taken(&mut dirty), []);
    }
}
