//! All objects fall into 256 slots, by their type's name and their own ([`slot`]); each slot is one group's. The table says which are
//! this group's. Knows nothing of the state: `placement.rs` asks it.

use sha2::{Digest as _, Sha256};

use crate::codec::{Cursor, Field, Malformed};
use crate::problem::{Problem, Slug};

/// How many slots there are.
pub const SLOTS: usize = 256;

/// The slot of an object: the first byte of the SHA-256 over its type's name, a zero byte and its own name.
#[must_use]
pub fn slot(type_name: &str, name: &str) -> u8 {
    let mut hash = Sha256::new();
    hash.update(type_name);
    hash.update([0]);
    hash.update(name);
    hash.finalize()[0]
}

/// Which slots a group has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotTable {
    group: u32,
    /// A bit for each slot, the lowest first.
    here: [u8; SLOTS / 8],
}

impl Default for SlotTable {
    fn default() -> Self {
        Self::ALL
    }
}

impl SlotTable {
    /// All of them, of the first group: the table of a new state.
    pub const ALL: Self = Self { group: 0, here: [u8::MAX; SLOTS / 8] };

    /// These slots, of the group of that number.
    #[must_use]
    pub fn new(group: u32, slots: impl IntoIterator<Item = u8>) -> Self {
        let mut here = [0; SLOTS / 8];
        for slot in slots {
            here[usize::from(slot / 8)] |= 1 << (slot % 8);
        }
        Self { group, here }
    }

    /// The number of the group whose they are.
    #[must_use]
    pub const fn group(&self) -> u32 {
        self.group
    }

    /// Whether the group has all slots: then nobody need ask for any.
    #[must_use]
    pub fn has_all(&self) -> bool {
        self.here == Self::ALL.here
    }

    /// Whether the group has that slot.
    #[must_use]
    pub const fn has(&self, slot: u8) -> bool {
        self.here[(slot / 8) as usize] >> (slot % 8) & 1 == 1
    }

    /// Whether the group has the slot of that object.
    #[must_use]
    pub fn accepts(&self, type_name: &str, name: &str) -> bool {
        self.has_all() || self.has(slot(type_name, name))
    }

    /// The refusal of what another group answers for.
    pub(crate) fn refusal(&self) -> Problem {
        let detail = format!(
            "group {} does not have the object's slot: send the request to the group that has (`GET /v1/groups`)",
            self.group
        );
        Problem::new(Slug::WrongGroup, detail)
    }

    /// The slots as ranges, both ends included: `0-255`, `0-9,17`.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut ranges: Vec<(u8, u8)> = Vec::new();
        for slot in (0..=u8::MAX).filter(|slot| self.has(*slot)) {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == slot => *last = slot,
                _ => ranges.push((slot, slot)),
            }
        }
        let shown = |(first, last): &(u8, u8)| match first == last {
            true => format!("{first}"),
            false => format!("{first}-{last}"),
        };
        ranges.iter().map(shown).collect::<Vec<_>>().join(",")
    }
}

impl Field for SlotTable {
    fn put(&self, out: &mut Vec<u8>) {
        self.group.put(out);
        self.here.put(out);
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        Ok(Self { group: Field::take(cursor)?, here: cursor.array()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{decoded, encoded};

    /// Others compute them: these are not ours to change. `printf 'counter\0visits' | sha256sum`.
    #[test]
    fn slots_of_these_objects_stay_what_they_are() {
        let slots = [("counter", "visits"), ("lock", "build"), ("hits", "page"), ("map", "team/\u{e4}")];
        assert_eq!(slots.map(|(kind, name)| slot(kind, name)), [0x0e, 0xf2, 0xec, 0x42]);
    }

    #[test]
    fn tables_come_back_and_are_shown_as_ranges() {
        assert_eq!(SlotTable::ALL.shown(), "0-255");
        let some = SlotTable::new(3, [0, 1, 2, 17, 254, 255]);
        assert_eq!((some.shown().as_str(), some.group()), ("0-2,17,254-255", 3));
        assert_eq!(SlotTable::new(3, []).shown(), "");
        for table in [SlotTable::ALL, some] {
            assert_eq!(decoded::<SlotTable>(&encoded(&table)), Ok(table));
        }
        assert_eq!(SlotTable::new(0, 0..=255), SlotTable::ALL);
        let lacking = |lacks: u8| SlotTable::new(0, (0..=255).filter(|slot| *slot != lacks));
        for slot in 0..=255 {
            assert!(!lacking(slot).has_all() && !lacking(slot).has(slot), "{slot}");
        }
    }
}
