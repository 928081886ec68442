//! Promises that controllers wait for.

use replication_appointed::Epoch;

use crate::ids::ControllerId;

/// Promises of one partition that are waited for. There is one controller, two for a short time while the role moves; a
/// controller that finds no place asks again.
const FENCES_MAX: usize = 4;

/// See the module. Of each controller only the newest epoch counts: it has given up the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fences(Vec<(ControllerId, Epoch)>);

impl Fences {
    /// The controller waits for the promise of that epoch.
    pub(crate) fn add(&mut self, controller: ControllerId, epoch: Epoch) {
        if let Some(known) = self.0.iter_mut().find(|known| known.0 == controller) {
            known.1 = known.1.max(epoch);
            return;
        }
        if self.0.len() >= FENCES_MAX {
            let lowest = (0..self.0.len()).min_by_key(|place| self.0.get(*place).map(|known| known.1));
            lowest.map(|place| self.0.swap_remove(place));
        }
        self.0.push((controller, epoch));
    }

    pub(crate) fn has(&self, controller: ControllerId, epoch: Epoch) -> bool {
        self.0.contains(&(controller, epoch))
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them. None waits any more.
    pub(crate) fn take(&mut self) -> Vec<(ControllerId, Epoch)> {
        core::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_keep_the_newest_epoch_of_each_controller_and_the_highest_of_many() {
        let mut fences = Fences::default();
        for (controller, epoch) in [(1, 7), (1, 9), (1, 8), (2, 5), (3, 6), (4, 10), (5, 11)] {
            fences.add(ControllerId(controller), Epoch(epoch));
        }
        let mut kept = fences.take();
        kept.sort_unstable();
        assert_eq!(
            kept,
            [(1, 9), (3, 6), (4, 10), (5, 11)].map(|(id, epoch)| (ControllerId(id), Epoch(epoch)))
        );
        assert!(fences.is_empty());
    }
}
