//! What a version shows of the form in which its programs keep things in memory: see [`crate::Engine`]'s layouts.

use sha2::{Digest as _, Sha256};

use crate::instance::Instance;
use crate::module::Segment;

/// What has to be equal. Hashes stand for lists, which may be long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form {
    /// Where the segments of data begin, and how long they are.
    pub(crate) segments: [u8; 32],
    /// The types of the mutable globals, in their order.
    pub(crate) mutable: [u8; 32],
    /// The exported constants that are numbers, with their names.
    pub(crate) constants: [u8; 32],
    /// Bytes that the memory may have at the most.
    pub(crate) bytes_max: u64,
}

impl Form {
    pub(crate) fn of(instance: &mut Instance, segments: &[Segment<'_>]) -> Self {
        let places = segments.iter().map(|segment| (segment.offset, segment.data.len()));
        let places = places.map(|(offset, length)| format!("{offset} {length}"));
        let mutable = instance.mutable_globals().into_iter().map(String::from);
        let constants = instance.constants().into_iter();
        let constants = constants.map(|(name, value)| format!("{}:{name} {value:?}", name.len()));
        Self {
            segments: hash(places),
            mutable: hash(mutable),
            constants: hash(constants),
            bytes_max: instance.bytes_max(),
        }
    }
}

fn hash(words: impl Iterator<Item = String>) -> [u8; 32] {
    let mut hash = Sha256::new();
    words.for_each(|word| hash.update(word + "\n"));
    hash.finalize().into()
}
