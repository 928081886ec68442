//! Which objects are this group's. All objects fall into 256 slots, by their type's name and their own ([`slot`]); each slot is
//! one group's. The state has a record of the slots whose commands it accepts (rule O28), so a command is judged at its position:
//! one about an object of another group's is refused without effect (`wrong-group`), at every member alike.
//!
//! There is one group so far, and it has all slots. Nothing moves a slot yet; the table is there so that a second group moves
//! slots, not formats.
//!
//! # Invariants
//! - *What a slot is never changes*: other groups, clients and logs compute it, too.
//! - *All slots cost nothing*: where all are here nothing is hashed.
//! - *Nothing of another group's is here*: each object of the state is in a slot that is here (`check.rs`).
//! - *No record means all*: so it was before there was one. It is written when the level rises to [`LEVEL`].
//! - *A message is never lost for it*: a run that sends one to an object of another group is refused as a whole.

use sha2::{Digest as _, Sha256};

use crate::builtin::type_name;
use crate::codec::{Cursor, Field, Malformed, decoded};
use crate::command::{ObjectName, TypeId};
use crate::group::Core;
use crate::key;
use crate::problem::{Problem, Slug};

/// The feature level from which on the state has a record of its slots.
pub(crate) const LEVEL: u32 = 8;
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

/// Takes what the records say.
pub(crate) fn load(core: &mut Core) {
    core.slots = core.read(&key::slots()).unwrap_or_default();
}

/// From now on these are the group's slots.
pub(crate) fn set(core: &mut Core, slots: SlotTable) {
    core.write(key::slots(), &slots);
    core.slots = slots;
}

/// The feature level has risen: from [`LEVEL`] on there is a record.
pub(crate) fn level_rose(core: &mut Core) {
    if core.meta.feature_level >= LEVEL && core.store.get(&key::slots()).is_none() {
        set(core, core.slots);
    }
}

/// The slot of an object whose type there is.
pub(crate) fn of(core: &Core, object: &ObjectName) -> Option<u8> {
    with_type_name(core, object.kind, |name| slot(name, &object.name))
}

fn with_type_name<R>(core: &Core, kind: TypeId, work: impl FnOnce(&str) -> R) -> Option<R> {
    match type_name(kind) {
        Some(name) => Some(work(name)),
        None => core.user_type_name(kind).map(|name| work(&name)),
    }
}

/// Whether an object is this group's.
///
/// # Errors
/// It is another group's. Of a type that there is not nothing is said: it is refused as such.
pub(crate) fn check(core: &Core, object: &ObjectName) -> Result<(), Problem> {
    if core.slots.has_all() {
        return Ok(());
    }
    let accepts = with_type_name(core, object.kind, |name| core.slots.accepts(name, &object.name));
    if accepts.unwrap_or(true) { Ok(()) } else { Err(wrong_group(core)) }
}

/// The refusal of what another group answers for.
pub(crate) fn wrong_group(core: &Core) -> Problem {
    let detail = format!(
        "group {} does not have the object's slot: send the request to the group that has (`GET /v1/groups`)",
        core.slots.group
    );
    Problem::new(Slug::WrongGroup, detail)
}

/// Whether what is kept of the record is what it says, and all objects are in slots that are here.
pub(crate) fn sound(core: &Core) -> Result<(), Malformed> {
    let must = |holds: bool, why: &'static str| if holds { Ok(()) } else { Err(Malformed(why)) };
    let recorded: Option<SlotTable> = core.store.get(&key::slots()).map(decoded).transpose()?;
    let records = core.store.prefix(&[key::kind::SLOTS]).count();
    must(records == usize::from(recorded.is_some()), "check: there is one record of the slots")?;
    must(recorded.unwrap_or_default() == core.slots, "check: the slots are others than the record says")?;
    if core.slots.has_all() {
        return Ok(());
    }
    for (key, _) in core.store.prefix(&[key::kind::OBJECT]) {
        let (kind, name) = key[1..].split_first().ok_or(Malformed("check: an object's key"))?;
        let name = core::str::from_utf8(name).map_err(|_| Malformed("check: an object's name"))?;
        let object = ObjectName { kind: TypeId(*kind), name: name.into() };
        must(check(core, &object).is_ok(), "check: an object in a slot that is not here")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::encoded;

    /// Others compute them: these are not ours to change. `printf 'counter\0visits' | sha256sum`.
    #[test]
    fn slots_of_these_objects_stay_what_they_are() {
        let slots = [("counter", "visits"), ("lock", "build"), ("hits", "page"), ("map", "team/\u{e4}")];
        assert_eq!(slots.map(|(kind, name)| slot(kind, name)), [0x0e, 0xf2, 0xec, 0x42]);
    }

    #[test]
    fn object_in_a_slot_that_is_not_here_is_not_sound() {
        let mut core = Core::default();
        core.write(key::object(&ObjectName { kind: TypeId(1), name: "a".into() }), &());
        assert_eq!(sound(&core), Ok(()));
        let own = slot(type_name(TypeId(1)).expect("a built-in type"), "a");
        set(&mut core, SlotTable::new(1, [own]));
        assert_eq!(sound(&core), Ok(()));
        set(&mut core, SlotTable::new(1, [own.wrapping_add(1)]));
        assert!(sound(&core).is_err());
        // Nor is a table that is not the record's.
        set(&mut core, SlotTable::new(1, [own]));
        core.slots = SlotTable::new(2, [own]);
        assert!(sound(&core).is_err());
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
