//! The slots that the group does not have, in some of the runs. Of the specification alone: an object's slot is the first byte of the
//! SHA-256 over its type's name, a zero byte and its own name.

use base::Random;
use objects_state::{ObjectName, SlotTable, type_name};
use sha2::{Digest as _, Sha256};

/// Draws apart from everything else: other runs take the steps that they took.
const ELSEWHERE: u64 = 0x736c_6f74;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Elsewhere {
    slots: Vec<u8>,
}

impl Elsewhere {
    /// In a tenth of the runs: some of the slots.
    pub(crate) fn of(seed: u64) -> Self {
        let mut random = Random::new(seed ^ ELSEWHERE);
        let share = if random.chance(10) { 10 + random.below(40) } else { 0 };
        Self { slots: (0..=u8::MAX).filter(|_| random.chance(share)).collect() }
    }

    /// What the state is told.
    pub(crate) fn table(&self) -> SlotTable {
        match self.is_nothing() {
            true => SlotTable::ALL,
            false => SlotTable::new(7, (0..=u8::MAX).filter(|slot| !self.slots.contains(slot))),
        }
    }

    pub(crate) const fn is_nothing(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether an object is another group's. There is no slot for what has no type.
    pub(crate) fn has(&self, object: &ObjectName) -> bool {
        let Some(kind) = type_name(object.kind).filter(|_| !self.is_nothing()) else { return false };
        let hash = Sha256::digest([kind.as_bytes(), &[0], object.name.as_bytes()].concat());
        self.slots.contains(&hash[0])
    }
}
