//! Which objects are this group's. All objects fall into 256 slots ([`crate::slot`]); each slot is
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

use crate::builtin::type_name;
use crate::codec::{Malformed, decoded};
use crate::command::{ObjectName, TypeId};
use crate::group::Core;
use crate::key;
use crate::problem::Problem;
use crate::slots::{self, SlotTable};

/// The feature level from which on the state has a record of its slots.
pub(crate) const LEVEL: u32 = 8;

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
    with_type_name(core, object.kind, |name| slots::slot(name, &object.name))
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
    if accepts.unwrap_or(true) { Ok(()) } else { Err(core.slots.refusal()) }
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

    #[test]
    fn object_in_a_slot_that_is_not_here_is_not_sound() {
        let mut core = Core::default();
        core.write(key::object(&ObjectName { kind: TypeId(1), name: "a".into() }), &());
        assert_eq!(sound(&core), Ok(()));
        let own = slots::slot(type_name(TypeId(1)).expect("a built-in type"), "a");
        set(&mut core, SlotTable::new(1, [own]));
        assert_eq!(sound(&core), Ok(()));
        set(&mut core, SlotTable::new(1, [own.wrapping_add(1)]));
        assert!(sound(&core).is_err());
        // Nor is a table that is not the record's.
        set(&mut core, SlotTable::new(1, [own]));
        core.slots = SlotTable::new(2, [own]);
        assert!(sound(&core).is_err());
    }
}
