//! Something for each partition that lives here, kept beside the partitions by what waits for them.

use super::Slot;

/// See the module.
#[derive(Debug)]
pub(crate) struct BySlot<T>(Vec<T>);

impl<T> Default for BySlot<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Default> BySlot<T> {
    /// What is kept for a partition.
    pub(crate) fn of(&mut self, slot: Slot) -> &mut T {
        if self.0.len() <= slot.0 {
            self.0.resize_with(slot.0 + 1, T::default);
        }
        &mut self.0[slot.0]
    }
}
