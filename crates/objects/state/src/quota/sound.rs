//! Whether what is used is what there is: a loader counts it again.

use std::collections::BTreeMap;

use super::count;
use super::load;
use super::settle::metered;
use crate::allowance::{Metered, QuotaOf, Usage, Walk};
use crate::codec::{Malformed, decoded};
use crate::command::{ObjectName, TypeId};
use crate::group::Core;
use crate::key::{self, kind};
use crate::limits::QUOTAS_MAX;
use crate::object::Header;

type Sound = Result<(), Malformed>;

const fn must(holds: bool, why: &'static str) -> Sound {
    if holds { Ok(()) } else { Err(Malformed(why)) }
}

/// Whether what is counted of an object can be read.
pub(crate) fn is_readable(value: &[u8]) -> bool {
    decoded::<Metered>(value).is_ok()
}

/// Whether quotas and what is used fit together, and to what there is.
///
/// # Errors
/// With what is wrong.
pub(crate) fn sound(core: &Core) -> Sound {
    must(load::made(core) == core.quotas, "check: quotas are others than the records say")?;
    let (mut used, mut quotas) = (BTreeMap::new(), 0);
    for quota in load::all(core) {
        let (of, _) = quota.ok_or(Malformed("check: a quota cannot be read"))?;
        let usage: Option<Usage> = core.store.get(&key::usage(&of)).map(decoded).transpose()?;
        used.insert(of, usage.ok_or(Malformed("check: a quota of which nothing is used is not said"))?);
        quotas += 1;
    }
    must(quotas <= QUOTAS_MAX, "check: too many quotas")?;
    must(core.store.prefix(&[kind::QUOTA_USAGE]).count() == quotas, "check: something is used of no quota")?;
    for (_, value) in core.store.prefix(&[kind::QUOTA_WALK]) {
        decoded::<Walk>(value)?;
    }
    if core.quotas.is_empty() {
        return Ok(());
    }
    let principals = count::of_principals(core, |name| core.quotas.has_principal(name));
    for (of, usage) in &used {
        if let QuotaOf::Principal(name) = of {
            let has = principals.get(name).copied().unwrap_or_default();
            let counted = (usage.sessions as i64, usage.waiters as i64);
            must(counted == (has.sessions, has.waiters), "check: what a principal has is miscounted")?;
            used_of_nothing(usage.objects + usage.bytes)?;
        }
    }
    sound_namespaces(core, &used)
}

fn used_of_nothing(more: u64) -> Sound {
    must(more == 0, "check: somebody uses what he cannot")
}

fn sound_namespaces(core: &Core, used: &BTreeMap<QuotaOf, Usage>) -> Sound {
    let mut found: BTreeMap<QuotaOf, Usage> = BTreeMap::new();
    for (key, value) in core.store.prefix(&[kind::OBJECT]) {
        let (Some(kind), Some(Ok(name))) = (key.get(1), key.get(2..).map(core::str::from_utf8)) else {
            continue;
        };
        let Some((namespace, _)) = core.quotas.namespace_of(name) else { continue };
        let object = ObjectName { kind: TypeId(*kind), name: name.into() };
        let header: Header = decoded(value)?;
        let Some((_, counted)) = metered(core, header.incarnation) else {
            let is_counting = core.store.get(&key::quota_walk(namespace)).is_some();
            must(is_counting, "check: an object of a namespace is not counted")?;
            continue;
        };
        let (has, _) = count::of_object(core, &object, &header);
        let is_right = (counted.bytes as i64, counted.waiters as i64) == (has.bytes, has.waiters);
        must(is_right && counted.namespace == namespace, "check: what an object has is miscounted")?;
        let sum = found.entry(QuotaOf::Namespace(namespace.into())).or_default();
        sum.objects += 1;
        sum.bytes += counted.bytes;
        sum.waiters += counted.waiters;
    }
    for (of, usage) in used.iter().filter(|(of, _)| matches!(of, QuotaOf::Namespace(_))) {
        let has = found.get(of).copied().unwrap_or_default();
        must(has == *usage, "check: what a namespace has is miscounted")?;
    }
    Ok(())
}
