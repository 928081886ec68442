//! How much is read or written below each node of the root: `/kafka/topics` counts for `kafka`, and the root itself
//! counts for no name, as in ZooKeeper.
//!
//! Clients choose the names, so only the first [`NAMESPACES_MAX`] names are counted.

use std::collections::BTreeMap;

use crate::tally::Tally;

/// Names told apart.
pub const NAMESPACES_MAX: usize = 256;

/// Bytes of a name that is told apart: a longer one, which may have as many as a request, is not counted.
const NAME_BYTES_MAX: usize = 256;

/// What ZooKeeper adds to the bytes of each read, for the node's Stat.
pub(crate) const STAT_BYTES: u64 = 68;

/// Bytes by namespace. See the module.
#[derive(Clone, Debug, Default)]
pub struct Namespaces {
    places: BTreeMap<Box<str>, usize>,
    tallies: Vec<Tally>,
    /// The last name and its place: clients stay where they are.
    last: Option<(Box<str>, usize)>,
}

impl Namespaces {
    /// Counts `bytes` for the namespace of `path`, its own bytes included.
    #[inline]
    pub fn record(&mut self, path: &str, bytes: u64) {
        let Some(name) = namespace(path) else { return };
        let place = match &self.last {
            Some((last, place)) if **last == *name => Some(*place),
            _ => self.place(name),
        };
        if let Some(tally) = place.and_then(|place| self.tallies.get_mut(place)) {
            tally.record(path.len() as u64 + bytes);
        }
    }

    /// Adds another one's counts.
    pub fn add(&mut self, other: &Self) {
        for (name, theirs) in other.iter() {
            if let Some(mine) = self.place(name).and_then(|place| self.tallies.get_mut(place)) {
                mine.add(theirs);
            }
        }
    }

    /// All names and their counts.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tally)> {
        self.places.iter().filter_map(|(name, place)| Some((&**name, self.tallies.get(*place)?)))
    }

    #[cold]
    fn place(&mut self, name: &str) -> Option<usize> {
        let place = match self.places.get(name) {
            Some(place) => *place,
            None if self.tallies.len() < NAMESPACES_MAX && name.len() <= NAME_BYTES_MAX => {
                self.tallies.push(Tally::default());
                self.places.insert(name.into(), self.tallies.len() - 1);
                self.tallies.len() - 1
            }
            None => return None,
        };
        self.last = Some((name.into(), place));
        Some(place)
    }
}

/// The first name of a path.
#[must_use]
pub fn namespace(path: &str) -> Option<&str> {
    let name = path.strip_prefix('/')?.split('/').next()?;
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_counts_for_its_first_name_and_the_root_for_nobody() {
        let mut namespaces = Namespaces::default();
        for (path, bytes) in [("/a", 1), ("/b/c/d", 2), ("/a/x", 3), ("/", 4), ("", 5), ("/b", 6)] {
            namespaces.record(path, bytes);
        }
        let shown: Vec<_> = namespaces.iter().map(|(name, tally)| (name, tally.count, tally.sum)).collect();
        assert_eq!(shown, [("a", 2, 2 + 1 + 4 + 3), ("b", 2, 6 + 2 + 2 + 6)]);
    }

    #[test]
    fn names_beyond_the_limit_are_not_counted_and_the_others_go_on() {
        let mut namespaces = Namespaces::default();
        for number in 0..=NAMESPACES_MAX {
            namespaces.record(&format!("/n{number}"), 0);
        }
        namespaces.record("/n0/below", 0);
        assert_eq!(namespaces.iter().count(), NAMESPACES_MAX);
        let first = namespaces.iter().find(|(name, _)| *name == "n0").map(|(_, tally)| tally.count);
        assert_eq!(first, Some(2));
    }

    #[test]
    fn a_name_beyond_its_limit_takes_no_memory() {
        let mut namespaces = Namespaces::default();
        namespaces.record(&format!("/{}", "n".repeat(NAME_BYTES_MAX + 1)), 1);
        namespaces.record(&format!("/{}", "n".repeat(NAME_BYTES_MAX)), 1);
        assert_eq!(namespaces.iter().map(|(name, _)| name.len()).collect::<Vec<_>>(), [NAME_BYTES_MAX]);
    }

    #[test]
    fn shards_are_added_up_by_name() {
        let (mut one, mut other) = (Namespaces::default(), Namespaces::default());
        one.record("/a", 1);
        other.record("/b", 1);
        other.record("/a", 2);
        one.add(&other);
        let counts: Vec<_> = one.iter().map(|(name, tally)| (name, tally.count)).collect();
        assert_eq!(counts, [("a", 2), ("b", 1)]);
    }
}
