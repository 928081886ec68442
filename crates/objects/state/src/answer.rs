//! What every request has in common: it is carried out once and answered, and finds its object or is refused.

use crate::command::{Caller, Identity, ObjectName};
use crate::effects::Effect;
use crate::group::Core;
use crate::object::{self, Builtin, Open};
use crate::place::ReplyRef;
use crate::problem::{Outcome, Problem, SideEffect, Slug};
use crate::request::{self, Kept};

/// What became of a request.
pub(crate) enum Answer {
    Done(String),
    /// Its ticket is the position of the call, and kept already.
    Waits,
}

/// Carries out a request that has not been carried out before, and answers it.
pub(crate) fn once(
    core: &mut Core,
    caller: &Caller,
    hash: u64,
    work: impl FnOnce(&mut Core) -> Result<Answer, Problem>,
) {
    let origin = caller.origin;
    let placed = |core: &Core, problem| Problem { position: core.meta.position, ..problem };
    let before = core.mark();
    match request::known(core, caller, hash) {
        Err(problem) => {
            let outcome = Outcome::Refused(placed(core, problem));
            core.out.push(Effect::Answered { origin, outcome });
        }
        Ok(Some(Kept::Ended(_, outcome))) => core.out.push(Effect::Answered { origin, outcome }),
        Ok(Some(Kept::Waits(ticket))) => core.out.push(Effect::Parked { origin, ticket }),
        Ok(None) => {
            let mark = core.mark();
            let outcome = match work(core) {
                Ok(Answer::Waits) => return,
                Ok(Answer::Done(result)) => Outcome::Done(result),
                Err(problem) if is_for_now(&problem) => {
                    core.rollback(before);
                    let effect = effect_for_now(caller, &problem);
                    let problem = Problem { effect, ..placed(core, problem) };
                    core.out.push(Effect::Answered { origin, outcome: Outcome::Refused(problem) });
                    return;
                }
                Err(problem) => {
                    core.rollback(mark);
                    Outcome::Refused(placed(core, problem))
                }
            };
            let kept = request::keep(core, &ReplyRef::of(caller), hash, Kept::Ended(None, outcome));
            if let Kept::Ended(_, outcome) = kept {
                core.out.push(Effect::Answered { origin, outcome });
            }
        }
    }
}

/// Whether a request is refused for a reason that passes: the members still compile its type, its object is in quarantine, or another group's. A
/// client asks again under the same number or key, so that is not kept: a copy is carried out once it can be.
pub(crate) fn is_for_now(problem: &Problem) -> bool {
    // What takes long is under way at the object: that passes, too. And so may be that its slot is another group's.
    problem.slug.status() == 503 || matches!(problem.slug, Slug::Rate | Slug::WrongGroup)
}

/// Whether there may be an effect of a request that is refused for such a reason: a member may give a copy of one that has a number
/// or a key to the leader later.
fn effect_for_now(caller: &Caller, problem: &Problem) -> SideEffect {
    match problem.slug {
        Slug::WrongGroup if caller.identity == Identity::Anonymous => SideEffect::None,
        _ => SideEffect::Unknown,
    }
}

pub(crate) fn no_such_type() -> Problem {
    Problem::new(Slug::NoSuchType, "there is no such type")
}

pub(crate) fn check_incarnation(asked: Option<u64>, has: Option<u64>) -> Result<(), Problem> {
    match asked {
        Some(asked) if has != Some(asked) => {
            Err(Problem::new(Slug::WrongIncarnation, format!("incarnation {asked} is gone")))
        }
        _ => Ok(()),
    }
}

/// The object of a command, or a fresh one, and whether it was there.
pub(crate) fn find<K: Builtin>(
    core: &Core,
    object: &ObjectName,
    incarnation: Option<u64>,
    create: bool,
) -> Result<(Open<K>, bool), Problem> {
    if !object.is_valid() {
        return Err(Problem::argument("", "a name has 1 to 255 bytes and no control characters"));
    }
    let opened = object::open::<K>(core, object);
    check_incarnation(incarnation, opened.as_ref().map(|opened| opened.header.incarnation))?;
    match opened {
        Some(opened) => Ok((opened, true)),
        None if create => Ok((object::fresh(core), false)),
        None => Err(Problem::new(Slug::NoSuchObject, "there is no such object")),
    }
}
