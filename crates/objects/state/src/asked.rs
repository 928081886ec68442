//! By what a call waits: what it was asked by, so that it is found and judged again when a token or a right goes.

use crate::codec::{Cursor, Field, Malformed, record};
use crate::command::Caller;
use crate::group::Core;
use crate::key;
use crate::limits::TICKETS_PER_PRINCIPAL_MAX;
use crate::principal::Authority;
use crate::problem::{Outcome, Problem, Slug};

/// What stands for the method of a creation that waits: no method is called so.
pub(crate) const CREATION: &str = ":create";
/// What stands for the method of a migration, or a way back, that waits.
pub(crate) const CARE: &str = ":care";
/// What ending one of them costs, in about bytes.
pub(crate) const END_COST: usize = 1_000;

/// By what a call waits. Empty if nobody asked when it began: written as nothing then, as earlier builds wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked(pub(crate) Option<By>);

record! {
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct By {
        pub(crate) method: String,
        pub(crate) authority: Authority,
    }
}

impl Asked {
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl Field for Asked {
    fn put(&self, out: &mut Vec<u8>) {
        if let Some(by) = &self.0 {
            by.put(out);
        }
    }
    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let is_there = !cursor.rest().is_empty();
        is_there.then(|| By::take(cursor)).transpose().map(Self)
    }
}

record! {
    /// How many calls of a principal wait that are found by it.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Waits {
        pub(crate) count: u32,
    }
}

/// What is to be kept of a call, if it waits.
pub(crate) fn asked(core: &Core, caller: &Caller, method: &str) -> Asked {
    let authority = caller.principal.authority;
    if !core.access.closed && authority == Authority::Member {
        return Asked::default();
    }
    Asked(Some(By { method: method.into(), authority }))
}

/// How many calls of a principal wait that are found by it.
pub(crate) fn count_of(core: &Core, principal: &str) -> u32 {
    core.read(&key::principal_waits(principal)).map_or(0, |waits: Waits| waits.count)
}

/// A call begins to wait.
///
/// # Errors
/// Too many of its principal do.
pub(crate) fn began(core: &mut Core, principal: &str, asked: &Asked, id: u64) -> Result<(), Problem> {
    if asked.is_empty() {
        return Ok(());
    }
    let count = count_of(core, principal);
    if count >= TICKETS_PER_PRINCIPAL_MAX {
        return Err(Problem::new(Slug::WaitersFull, "too many calls wait of this principal"));
    }
    core.write(key::principal_ticket(principal, id), &());
    core.write(key::principal_waits(principal), &Waits { count: count + 1 });
    Ok(())
}

/// A call waits no more.
pub(crate) fn ended(core: &mut Core, principal: &str, asked: &Asked, id: u64) {
    if asked.is_empty() {
        return;
    }
    core.store.remove(&key::principal_ticket(principal, id));
    match count_of(core, principal) {
        0 | 1 => drop(core.store.remove(&key::principal_waits(principal))),
        count => core.write(key::principal_waits(principal), &Waits { count: count - 1 }),
    }
}

/// What a call is answered that may wait no more.
pub(crate) fn forbidden(position: u64) -> Outcome {
    let detail = "the principal may not wait for this any more";
    Outcome::Refused(Problem { position, ..Problem::new(Slug::Forbidden, detail) })
}
