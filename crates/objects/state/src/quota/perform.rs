//! Sets a quota, or takes it away.

use super::count;
use super::settle::{add, settle};
use super::shown;
use crate::allowance::{Quota, QuotaLimits, QuotaOf, Usage};
use crate::group::Core;
use crate::key;
use crate::limits::{CALLS_PER_SECOND_MAX, KEY_BYTES_MAX, NAMESPACE_BYTES_MAX, QUOTA_MAX, QUOTAS_MAX};
use crate::problem::{Problem, Slug};

/// What it refuses it refuses before it changes anything.
///
/// # Errors
/// With the refusal.
pub(crate) fn perform(core: &mut Core, of: &QuotaOf, limits: &QuotaLimits) -> Result<String, Problem> {
    check_name(of)?;
    check_limits(of, limits)?;
    let known = core.quotas.of(of).copied();
    if known.is_none() && !limits.is_empty() && core.quotas.count() >= QUOTAS_MAX {
        let detail = format!("{QUOTAS_MAX} quotas are set: take some away");
        return Err(Problem::new(Slug::Quota, detail));
    }
    settle(core);
    if limits.is_empty() {
        if known.is_some() {
            take_away(core, of);
        }
    } else {
        let since = known.map_or(core.meta.position, |known| known.since);
        let quota = Quota { limits: *limits, since };
        core.write(key::quota(of), &quota);
        core.quotas.set(of, Some(quota));
        if known.is_none() {
            begin(core, of);
        }
    }
    core.settled = core.store.changes();
    Ok(shown::one(core, of))
}

fn take_away(core: &mut Core, of: &QuotaOf) {
    core.store.remove(&key::quota(of));
    core.store.remove(&key::usage(of));
    core.quotas.set(of, None);
    if let QuotaOf::Namespace(name) = of {
        count::begin(core, name);
    }
}

fn begin(core: &mut Core, of: &QuotaOf) {
    core.write(key::usage(of), &Usage::default());
    match of {
        QuotaOf::Principal(name) => {
            let has = count::of_principals(core, |principal| principal == name);
            add(core, of.clone(), has.get(name).copied().unwrap_or_default());
        }
        QuotaOf::Namespace(name) => count::begin(core, name),
    }
}

fn check_name(of: &QuotaOf) -> Result<(), Problem> {
    match of {
        QuotaOf::Principal(name) => {
            let fits = (1..=KEY_BYTES_MAX).contains(&name.len()) && !name.chars().any(char::is_control);
            let detail = format!("a principal's name has 1 to {KEY_BYTES_MAX} bytes");
            if fits { Ok(()) } else { Err(Problem::argument("principal", detail)) }
        }
        QuotaOf::Namespace(name) => {
            let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
            let fits = (1..=NAMESPACE_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_word);
            let detail = format!(
                "a namespace has 1 to {NAMESPACE_BYTES_MAX} letters, digits, hyphens, dots and underscores"
            );
            if fits { Ok(()) } else { Err(Problem::argument("namespace", detail)) }
        }
    }
}

fn check_limits(of: &QuotaOf, limits: &QuotaLimits) -> Result<(), Problem> {
    let QuotaLimits { objects, bytes, waiters, sessions, calls_per_second } = *limits;
    let (strange, why) = match of {
        QuotaOf::Principal(_) => (
            [("objects", objects), ("bytes", bytes)],
            "objects outlive who made them, and are nobody's: set it of their namespace",
        ),
        QuotaOf::Namespace(_) => (
            [("sessions", sessions), ("sessions", None)],
            "sessions are of no namespace: set it of their principals",
        ),
    };
    if let Some((name, _)) = strange.iter().find(|(_, limit)| limit.is_some()) {
        return Err(Problem::argument(name, why));
    }
    let all = [("objects", objects), ("bytes", bytes), ("waiters", waiters), ("sessions", sessions)];
    let is_large = |limit: Option<u64>| limit.is_some_and(|limit| limit > QUOTA_MAX);
    if let Some((name, _)) = all.iter().find(|(_, limit)| is_large(*limit)) {
        return Err(Problem::argument(name, format!("not between 0 and {QUOTA_MAX}")));
    }
    if calls_per_second.is_some_and(|rate| !(1..=CALLS_PER_SECOND_MAX).contains(&rate)) {
        let detail = format!("not between 1 and {CALLS_PER_SECOND_MAX}");
        return Err(Problem::argument("calls_per_second", detail));
    }
    Ok(())
}
