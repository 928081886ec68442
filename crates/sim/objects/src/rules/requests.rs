//! O3 exactly once, O4 the same reply, O5 replies matched, O6 forgotten is refused: from what the state itself answered the
//! first time.

use std::collections::BTreeMap;

use objects_state::limits::KEY_MS;
use objects_state::{Caller, Command, Effect, Identity, Outcome, SessionId};
use sim_kit::Judged;

use super::slots::is_elsewhere;
use super::{Seen, Wrong, judged, object_of, visible};
use crate::forgotten::Forgotten;
use crate::model::{Asked, KeptAt, Told};

/// How far a request had come when it was last heard of.
#[derive(Clone, Debug)]
enum Progress {
    Waits(u64),
    Ended(Outcome, i64),
}

#[derive(Clone, Debug)]
struct Known {
    at: KeptAt,
    asked: Asked,
    progress: Progress,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    known: Vec<Known>,
    /// What each open session has acknowledged.
    forgotten: Vec<(SessionId, Forgotten)>,
}

pub(super) const fn caller_of(command: &Command) -> Option<&Caller> {
    match command {
        Command::Call(call) => Some(&call.caller),
        Command::Batch(batch) => Some(&batch.caller),
        Command::Create { caller, .. } | Command::Delete { caller, .. } | Command::Import { caller, .. } => {
            Some(caller)
        }
        _ => None,
    }
}

fn asked(command: &Command) -> Option<Asked> {
    Some(match command {
        Command::Call(call) => Asked::Call(call.object.clone(), call.invocation.clone()),
        Command::Batch(batch) => Asked::Batch(batch.object.clone(), batch.invocations.clone()),
        Command::Create { object, args, .. } => Asked::Create(object.clone(), args.clone()),
        Command::Delete { object, incarnation, .. } => Asked::Delete(object.clone(), *incarnation),
        Command::Import { object, content, .. } => Asked::Import(object.clone(), content.clone()),
        _ => return None,
    })
}

impl Requests {
    fn known(&self, command: &Command, now_ms: i64) -> Option<&Known> {
        let (caller, asked) = (caller_of(command)?, asked(command)?);
        let at = KeptAt::of(caller);
        let known = self.known.iter().find(|known| known.at == at && at != KeptAt::Nowhere)?;
        match (&at, &known.progress) {
            // Another body under a key is refused, and a key is forgotten some time behind this.
            (KeptAt::Key(..), _) if known.asked != asked => None,
            (KeptAt::Key(..), Progress::Ended(_, at_ms)) if now_ms - at_ms >= KEY_MS => None,
            (KeptAt::Session(id, number), _) => {
                (!self.forgotten_with(*id, caller).contains(*number)).then_some(known)
            }
            _ => Some(known),
        }
    }

    fn is_open(&self, id: SessionId) -> bool {
        self.forgotten.iter().any(|known| known.0 == id)
    }

    /// What is forgotten of a session, with what its client's request acknowledges.
    fn forgotten_with(&self, id: SessionId, caller: &Caller) -> Forgotten {
        let known = self.forgotten.iter().find(|known| known.0 == id);
        let mut forgotten = known.map(|known| known.1.clone()).unwrap_or_default();
        forgotten.acknowledge(&caller.identity);
        forgotten
    }

    pub(super) fn is_repeat(&self, command: &Command, now_ms: i64) -> bool {
        self.known(command, now_ms).is_some()
    }

    /// Whether a key is answered as it was first, although its time is over: it is forgotten some time behind that.
    pub(super) fn is_late_repeat(&self, command: &Command, now_ms: i64, effects: &[Effect]) -> bool {
        let (Some(caller), Some(asked)) = (caller_of(command), asked(command)) else { return false };
        let at = KeptAt::of(caller);
        let is_it = |known: &&Known| known.at == at && known.asked == asked;
        match (&at, self.known.iter().find(is_it).map(|known| &known.progress)) {
            (KeptAt::Key(..), Some(Progress::Ended(first, at_ms))) => {
                now_ms - at_ms >= KEY_MS && effects.iter().any(|effect| is_answer(effect, first))
            }
            _ => false,
        }
    }

    /// Whether the answer may be the one that was kept, for all that is known: a key may have been forgotten since.
    pub(super) fn may_be_kept(&self, command: &Command, effects: &[Effect]) -> bool {
        let Some(caller) = caller_of(command) else { return false };
        let at = KeptAt::of(caller);
        let Some(known) = self.known.iter().find(|known| known.at == at) else { return false };
        match &known.progress {
            Progress::Waits(_) => true,
            Progress::Ended(first, _) => effects.iter().any(|effect| is_answer(effect, first)),
        }
    }

    /// Whether this is what another request was answered, and has something in it that only that one can have; or nothing is
    /// remembered of this one.
    pub(super) fn is_anothers(&self, seen: &Seen<'_>, outcome: &Outcome) -> bool {
        let has_no_reply = !seen.may_be_kept && is_not_remembered(seen);
        let is_plain = !has_no_reply && !is_stamped(outcome, seen.first);
        let Some(caller) = caller_of(seen.command).filter(|_| !is_plain) else { return false };
        let own = KeptAt::of(caller);
        let is_it = |known: &Known| matches!(&known.progress, Progress::Ended(first, _) if first == outcome);
        self.known.iter().any(|known| known.at != own && is_it(known))
    }

    pub(super) fn see(&mut self, seen: &Seen<'_>, all: &mut BTreeMap<u32, Judged>) -> Result<(), Wrong> {
        if let Some(caller) = caller_of(seen.command) {
            self.matched(seen, caller, all)?;
        }
        if seen.is_turned_away {
            return Ok(());
        }
        // Not even what it acknowledges is kept.
        if seen.shown.iter().any(is_elsewhere) {
            return self.is_new(seen);
        }
        if let Some(caller) = caller_of(seen.command) {
            self.forgotten(seen, caller, all)?;
            self.repeated(seen, all)?;
        }
        self.note(seen);
        Ok(())
    }

    /// O3, O4: a copy of a request that is known finds its reply, and no other refusal.
    fn is_new(&self, seen: &Seen<'_>) -> Result<(), Wrong> {
        match self.known(seen.command, seen.stamp_ms) {
            None => Ok(()),
            Some(known) => {
                Err((4, format!("{:?} was told {:?}, and is elsewhere now", known.at, known.progress)))
            }
        }
    }

    /// O5: one answer, and for this request.
    fn matched(
        &self,
        seen: &Seen<'_>,
        caller: &Caller,
        all: &mut BTreeMap<u32, Judged>,
    ) -> Result<(), Wrong> {
        judged(all, 5, "requests");
        let mut own = 0;
        for told in seen.shown {
            let (Told::Answered(origin, _) | Told::Parked(origin, _)) = told else { continue };
            if *origin != caller.origin {
                return Err((5, format!("{:?} is told what {:?} asked for", origin, caller.origin)));
            }
            own += 1;
        }
        if own == 1 { Ok(()) } else { Err((5, format!("{:?} is told {own} things", caller.origin))) }
    }

    /// O6.
    fn forgotten(
        &self,
        seen: &Seen<'_>,
        caller: &Caller,
        all: &mut BTreeMap<u32, Judged>,
    ) -> Result<(), Wrong> {
        let Identity::Session { session, request, .. } = caller.identity else { return Ok(()) };
        let forgotten = self.forgotten_with(session, caller);
        if !self.is_open(session) || !forgotten.contains(request) {
            return Ok(());
        }
        judged(all, 6, "late requests");
        if forgotten.is_above(request) {
            judged(all, 6, "late requests above the floor");
        }
        match seen.shown {
            [Told::Answered(_, Err(refusal))] if refusal.slug == "request-forgotten" => Ok(()),
            other => Err((6, format!("request {request} of {session} is forgotten, and: {other:?}"))),
        }
    }

    /// O3 and O4.
    fn repeated(&self, seen: &Seen<'_>, all: &mut BTreeMap<u32, Judged>) -> Result<(), Wrong> {
        let Some(known) = self.known(seen.command, seen.stamp_ms) else { return Ok(()) };
        judged(all, 3, "repeats");
        judged(all, 4, "repeats");
        let at = &known.at;
        let after = object_of(seen.command).map(|object| visible(seen.state, object));
        if seen.shown.len() != 1 || seen.before != after {
            let (before, shown) = (&seen.before, seen.shown);
            return Err((
                3,
                format!("{at:?} again has an effect: {shown:?}\nbefore {before:?}\nafter {after:?}"),
            ));
        }
        let first = seen.effects.iter().find_map(|effect| match effect {
            Effect::Answered { outcome, .. } => Some(outcome),
            _ => None,
        });
        match (&known.progress, &seen.shown[0], first) {
            (Progress::Waits(ticket), Told::Parked(_, again), _) if ticket == again => Ok(()),
            (Progress::Ended(first, _), _, Some(again))
                if first == again && first.to_json() == again.to_json() =>
            {
                Ok(())
            }
            (_, _, Some(Outcome::Refused(problem))) if problem.position == seen.first => {
                Err((3, format!("{at:?} is carried out again, and refused: {problem:?}")))
            }
            (_, Told::Parked(_, again), _) if *again == seen.first => {
                Err((3, format!("{at:?} again waits anew")))
            }
            (_, _, Some(again)) if self.is_anothers(seen, again) => {
                Err((5, format!("{at:?} is answered what another one was: {again:?}")))
            }
            (first, again, _) => Err((4, format!("{at:?} was told {first:?}, and then {again:?}"))),
        }
    }

    fn note(&mut self, seen: &Seen<'_>) {
        for effect in seen.effects {
            match effect {
                Effect::SessionEnded { session, .. } => {
                    self.forgotten.retain(|known| known.0 != *session);
                    self.known.retain(|known| !matches!(&known.at, KeptAt::Session(id, _) if id == session));
                }
                Effect::SessionOpened { session, .. } if !self.is_open(*session) => {
                    self.forgotten.push((*session, Forgotten::default()));
                }
                Effect::TicketEnded { ticket, outcome, .. } => {
                    let is_it =
                        |known: &&mut Known| matches!(known.progress, Progress::Waits(id) if id == *ticket);
                    if let Some(known) = self.known.iter_mut().find(is_it) {
                        known.progress = Progress::Ended(outcome.clone(), seen.stamp_ms);
                    }
                }
                _ => {}
            }
        }
        if let (Some(caller), Some(asked)) = (caller_of(seen.command), asked(seen.command)) {
            self.note_request(seen, caller, asked);
        }
    }

    fn note_request(&mut self, seen: &Seen<'_>, caller: &Caller, asked: Asked) {
        let at = KeptAt::of(caller);
        let now_ms = seen.stamp_ms;
        if let Identity::Session { session, .. } = caller.identity {
            let Some((_, forgotten)) = self.forgotten.iter_mut().find(|known| known.0 == session) else {
                return;
            };
            forgotten.acknowledge(&caller.identity);
            let forgotten = &*forgotten;
            self.known.retain(|known| !matches!(&known.at, KeptAt::Session(id, number) if *id == session && forgotten.contains(*number)));
        }
        if at == KeptAt::Nowhere {
            return;
        }
        if let Some(known) = self.known.iter().find(|known| known.at == at) {
            // Used again so late that it may have been forgotten: another answer says that it was.
            let is_late = matches!(&known.progress, Progress::Ended(_, at) if now_ms - at >= KEY_MS && !seen.may_be_kept);
            if !is_late || !matches!(at, KeptAt::Key(..)) {
                return;
            }
        }
        for effect in seen.effects {
            let progress = match effect {
                // It may have been granted at once.
                Effect::Parked { ticket, .. } => Progress::Waits(*ticket),
                Effect::Answered { outcome: Outcome::Refused(problem), .. } if is_not_kept(problem) => return,
                Effect::Answered { outcome, .. } => Progress::Ended(outcome.clone(), now_ms),
                Effect::TicketEnded { ticket, outcome, .. } if *ticket == seen.first => {
                    Progress::Ended(outcome.clone(), now_ms)
                }
                _ => continue,
            };
            self.known.retain(|known| known.at != at);
            self.known.push(Known { at: at.clone(), asked: asked.clone(), progress });
        }
    }
}

fn is_answer(effect: &Effect, first: &Outcome) -> bool {
    matches!(effect, Effect::Answered { outcome, .. } if outcome == first)
}

/// Whether a session's request has left no reply, though the model keeps one.
fn is_not_remembered(seen: &Seen<'_>) -> bool {
    let Some(Identity::Session { session, .. }) = caller_of(seen.command).map(|caller| &caller.identity)
    else {
        return false;
    };
    let kept = seen.state.session(*session).map(|session| session.unacknowledged as usize);
    kept.is_some_and(|kept| kept < seen.group.unacknowledged(*session))
}

/// Whether a position is part of an answer: no two requests have that.
fn is_stamped(outcome: &Outcome, position: u64) -> bool {
    let stamps = ["fence", "version", "id", "term", "incarnation", "generation"];
    match outcome {
        Outcome::Done(result) => {
            let result = crate::outcome::parsed(result);
            stamps.iter().any(|stamp| result[*stamp].as_u64().is_some_and(|position| position > 0))
        }
        Outcome::Refused(problem) => problem.position != position,
    }
}

/// Refusals that say something about the request's number or key, and are no reply of its call.
fn is_not_kept(problem: &objects_state::Problem) -> bool {
    let of_number = ["request-forgotten", "session-expired", "key-reused"];
    problem.effect == objects_state::SideEffect::Unknown
        || of_number.contains(&problem.slug.name())
        || problem.detail == "an idempotency key is empty"
}
