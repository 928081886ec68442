//! Which stripes of an instance's memory may have been written since that was asked for last: its dirty bytes, one a stripe, which its
//! functions set (`module/dirty.rs`), and so does the host where it writes for a run.

use wasmtime::{AsContext, AsContextMut, Instance, Memory, Store};

use crate::module::{DIRTY, SPILL_BYTES, STRIPE_BYTES};

/// How what was written is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tracking {
    /// The module notes them.
    #[default]
    DirtyBytes,
    /// All stripes are compared. It shows whether a module notes too little; each run costs by the size of the memory.
    Compare,
}

/// A stripe that may have been written, or its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// Where it begins in the memory.
    pub(crate) start: usize,
    pub(crate) bytes: usize,
}

impl Written {
    const fn stripe(number: usize) -> Self {
        Self { start: number * STRIPE_BYTES, bytes: STRIPE_BYTES }
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
        let stripes = place / STRIPE_BYTES..=(place + last) / STRIPE_BYTES;
        let noted = self.0.data_mut(&mut context).get_mut(stripes);
        noted.expect("there is one for each stripe of the memory").fill(1);
    }

    /// What may have been written of a memory of so many bytes since the last time, in order, in the place of what `written` held.
    pub(crate) fn take(
        self,
        mut context: impl AsContextMut,
        bytes: usize,
        tracking: Tracking,
        written: &mut Vec<Written>,
    ) {
        let stripes = bytes / STRIPE_BYTES;
        let dirty = &mut self.0.data_mut(&mut context)[..stripes];
        written.clear();
        match tracking {
            Tracking::DirtyBytes => take_set(dirty, written),
            Tracking::Compare => {
                dirty.fill(0);
                written.extend((0..stripes).map(Written::stripe));
            }
        }
    }
}

/// Stripes whose byte is set, which it is no longer, and the first bytes of those behind.
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

/// The same of some stripes, at most 256: the first has that number, and `count` is that of all.
fn take_some(dirty: &mut [u8], first: usize, count: usize, written: &mut Vec<Written>) {
    const WORD: usize = 8;
    let (words, rest) = dirty.as_chunks_mut::<WORD>();
    let rest_begins = first + words.len() * WORD;
    let is_set = |word: &[u8; WORD]| u32::from(u64::from_ne_bytes(*word) != 0);
    let mut left = words.iter().rev().fold(0, |left, word| left << 1 | is_set(word));
    while left != 0 {
        let number = left.trailing_zeros() as usize;
        left &= left - 1;
        let mut set = u64::from_le_bytes(std::mem::take(&mut words[number]));
        while set != 0 {
            let byte = set.trailing_zeros() / u8::BITS;
            set &= !(0xff << (byte * u8::BITS));
            push(written, first + number * WORD + byte as usize, count);
        }
    }
    for (byte, stripe) in rest.iter_mut().zip(rest_begins..) {
        if std::mem::take(byte) != 0 {
            push(written, stripe, count);
        }
    }
}

/// Whether a byte is set.
fn any(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks();
    words.iter().fold(0, |any, word| any | u64::from_ne_bytes(*word)) != 0
        || rest.iter().any(|byte| *byte != 0)
}

/// Adds a stripe of so many, and the first bytes of the next one, into which it may have been written.
fn push(written: &mut Vec<Written>, stripe: usize, count: usize) {
    let stripe = Written::stripe(stripe);
    // A stripe that the one before may have been written into is named once.
    written.pop_if(|before| before.start == stripe.start);
    let next = stripe.start + STRIPE_BYTES;
    written.push(stripe);
    if next < count * STRIPE_BYTES {
        written.push(Written { start: next, bytes: SPILL_BYTES });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripes_that_are_dirty_are_told_once_with_the_beginnings_of_those_behind() {
        let mut dirty = [0; 200];
        for stripe in [0, 1, 127, 150, 199] {
            dirty[stripe] = 1;
        }
        let stripes = [(0, 512), (1, 512), (2, 15), (127, 512), (128, 15), (150, 512), (151, 15), (199, 512)];
        let stripes = stripes.map(|(stripe, bytes)| Written { start: stripe * STRIPE_BYTES, bytes });
        let mut written = Vec::new();
        take_set(&mut dirty, &mut written);
        assert_eq!((&written[..], dirty), (&stripes[..], [0; 200]));
    }
}
