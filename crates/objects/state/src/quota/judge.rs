//! Whether what a client asked for takes a namespace or a principal beyond its quota.

use super::settle::{Moved, found, settle};
use crate::allowance::{QuotaLimits, QuotaOf};
use crate::group::Core;
use crate::limits::{QUOTA_RESERVE_BYTES, QUOTA_RESERVE_SHARE, QUOTA_SMALL_BYTES};
use crate::problem::{Problem, Slug};

/// Carries out what a client asked for.
///
/// # Errors
/// It was refused, or is by a quota. It is the caller's to take it back.
pub(crate) fn judged<R>(
    core: &mut Core,
    work: impl FnOnce(&mut Core) -> Result<R, Problem>,
) -> Result<R, Problem> {
    // What has come before is not this work's.
    settle(core);
    let done = work(core)?;
    check(core)?;
    Ok(done)
}

/// Whether no quota is passed by what has changed since [`settle`].
///
/// # Errors
/// One is. It is the caller's to take it back.
pub(crate) fn check(core: &mut Core) -> Result<(), Problem> {
    let settled = found(core);
    let Some(problem) = settled.moved.iter().find_map(|moved| refusal(core, moved)) else { return Ok(()) };
    // The engine has kept what is taken back now.
    settled.ran.iter().for_each(|space| core.engine.get().forget(*space));
    Err(problem)
}

/// A limit that is passed by what has just come.
fn refusal(core: &Core, moved: &Moved) -> Option<Problem> {
    let QuotaLimits { objects, bytes, waiters, sessions, .. } = core.quotas.of(&moved.of)?.limits;
    let Moved { of, before, after, .. } = moved;
    let all = [
        (objects, 0, (before.objects, after.objects), "objects"),
        (bytes, reserve(bytes.unwrap_or_default(), moved), (before.bytes, after.bytes), "bytes"),
        (waiters, 0, (before.waiters, after.waiters), "waiting calls"),
        (sessions, 0, (before.sessions, after.sessions), "sessions"),
    ];
    all.into_iter().find_map(|(most, reserve, (before, after), what)| {
        let most = most?;
        let is_passed = after > before && after > most.saturating_add(reserve);
        is_passed.then(|| problem(of, (most, before, after), what))
    })
}

/// A call that adds no entry and next to no bytes may use the reserve.
const fn reserve(most: u64, moved: &Moved) -> u64 {
    let grown = moved.after.bytes.saturating_sub(moved.before.bytes);
    let is_small = moved.records <= 0 && grown <= QUOTA_SMALL_BYTES;
    if is_small { most / QUOTA_RESERVE_SHARE + QUOTA_RESERVE_BYTES } else { 0 }
}

fn problem(of: &QuotaOf, (most, before, after): (u64, u64, u64), what: &str) -> Problem {
    let (word, name) = (of.word(), of.name());
    let detail = format!(
        "the quota of {word} `{name}` is {most} {what}; {before} are used, and this would make it {after}: give some back, or \
         have an administrator raise it (`diwan object access quota`)"
    );
    Problem::new(Slug::Quota, detail)
}
