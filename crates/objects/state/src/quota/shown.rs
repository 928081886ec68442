//! What is shown of quotas.

use super::load;
use crate::allowance::{QuotaLimits, QuotaOf, Usage};
use crate::group::Core;
use crate::key;
use crate::reply::Reply;

/// `{"namespace" or "principal","objects","bytes","waiters","sessions","calls_per_second","used":{..}}`: of the limits those that
/// are set; of what is used what can be bounded. `"counting":true` while what was there before is still being counted.
pub(super) fn one(core: &Core, of: &QuotaOf) -> String {
    let limits = core.quotas.of(of).map(|quota| quota.limits).unwrap_or_default();
    let QuotaLimits { objects, bytes, waiters, sessions, calls_per_second } = limits;
    let reply = Reply::new().text(of.word(), of.name());
    let all = [
        ("objects", objects),
        ("bytes", bytes),
        ("waiters", waiters),
        ("sessions", sessions),
        ("calls_per_second", calls_per_second),
    ];
    let set = all.into_iter().filter_map(|(name, limit)| Some((name, limit?)));
    let reply = set.fold(reply, |reply, (name, limit)| reply.number(name, limit));
    if limits.is_empty() {
        return reply.finish();
    }
    let used: Usage = core.read(&key::usage(of)).unwrap_or_default();
    let shown = match of {
        QuotaOf::Namespace(_) => Reply::new().number("objects", used.objects).number("bytes", used.bytes),
        QuotaOf::Principal(_) => Reply::new().number("sessions", used.sessions),
    };
    let reply = reply.raw("used", &shown.number("waiters", used.waiters).finish());
    let is_counting =
        matches!(of, QuotaOf::Namespace(name) if core.store.get(&key::quota_walk(name)).is_some());
    if is_counting { reply.flag("counting", true).finish() } else { reply.finish() }
}

/// All quotas, those of principals first.
pub(crate) fn all(core: &Core) -> Vec<String> {
    load::all(core).flatten().map(|(of, _)| one(core, &of)).collect()
}
