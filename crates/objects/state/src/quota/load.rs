//! The table of quotas that the records make.

use crate::allowance::{Quota, QuotaOf, Table};
use crate::codec::decoded;
use crate::group::Core;
use crate::key::kind;

/// All quotas that there are, by their records.
pub(super) fn all(core: &Core) -> impl Iterator<Item = Option<(QuotaOf, Quota)>> + '_ {
    core.store.prefix(&[kind::QUOTA]).map(|(key, value)| {
        let name = core::str::from_utf8(key.get(2..)?).ok()?;
        Some((QuotaOf::of_class(key[1], name.into())?, decoded(value).ok()?))
    })
}

/// The table that the records make.
pub(super) fn made(core: &Core) -> Table {
    let mut table = Table::default();
    for (of, quota) in all(core).flatten() {
        table.set(&of, Some(quota));
    }
    table.walks = core.store.prefix(&[kind::QUOTA_WALK]).count();
    table
}

/// Takes what the records say.
pub(crate) fn load(core: &mut Core) {
    core.quotas = made(core);
}
