//! Which requests of a session are forgotten: the numbers that its client has acknowledged, one by one. Of the specification
//! alone: a floor that rises, and beside it no more than 64 ranges.

use std::collections::BTreeSet;

use objects_state::{Identity, RANGES_MAX};

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forgotten {
    floor: u64,
    above: BTreeSet<u64>,
}

impl Forgotten {
    pub(crate) fn contains(&self, request: u64) -> bool {
        request <= self.floor || self.above.contains(&request)
    }

    /// Whether nothing was ever acknowledged.
    pub(crate) fn is_empty(&self) -> bool {
        self.floor == 0 && self.above.is_empty()
    }

    /// Whether it is above the floor, and forgotten all the same.
    pub(crate) fn is_above(&self, request: u64) -> bool {
        self.above.contains(&request)
    }

    /// What a request acknowledges. A range that would be one too many is not forgotten.
    pub(crate) fn acknowledge(&mut self, identity: &Identity) {
        let Identity::Session { acknowledged, above, .. } = identity else { return };
        self.floor = self.floor.max(*acknowledged);
        self.rise();
        for (first, last) in above.iter() {
            let mut with = self.clone();
            with.above.extend(first..=last);
            with.rise();
            if ranges(&with.above) <= RANGES_MAX {
                *self = with;
            }
        }
    }

    fn rise(&mut self) {
        while self.above.first().is_some_and(|first| *first <= self.floor + 1) {
            self.floor = self.floor.max(self.above.pop_first().unwrap_or_default());
        }
    }
}

fn ranges(numbers: &BTreeSet<u64>) -> usize {
    numbers.iter().filter(|number| !numbers.contains(&(*number - 1))).count()
}
