//! Waits end, sessions end, timers fire.

use objects_state::limits::PUT_OFF_MS;
use objects_state::{Effect, Outcome, TicketEnd};

use super::{End, Guests, Key, Object, Seen, Sender, Ticket, Wait, Woken, check, ends_of};
use crate::guests::{Asked, Ran, bytes};
use crate::rules::Wrong;

impl Guests {
    /// Timers that are due fire; those of what is stopped are put off.
    pub(super) fn timers(&mut self, stamp_ms: i64) {
        let mut fired = Vec::new();
        let due = |(key, object): (&Key, &Object)| Some((object.timer?, object.incarnation, key.clone()));
        let mut all: Vec<_> = self.objects.iter().filter_map(due).collect();
        all.retain(|(due_ms, ..)| *due_ms <= stamp_ms);
        all.sort_unstable();
        for (.., key) in all {
            let Some(object) = self.objects.get_mut(&key) else { continue };
            if object.is_quarantined {
                object.timer = Some(stamp_ms.saturating_add(PUT_OFF_MS));
                fired.push("timer of a stopped guest");
                continue;
            }
            object.timer = None;
            object.guest.timer_fired();
            object.count_run();
            self.outbox.take(&key, object);
            fired.push("timer of a guest");
        }
        for what in fired {
            self.judged(17, "timers of guests");
            self.reached(what);
        }
    }

    /// What has ended, and whom that wakes: `woken` are those whom the command woke.
    pub(super) fn ends(&mut self, seen: &Seen<'_>, woken: &mut Woken) -> Result<(), Wrong> {
        let mut granted = Vec::new();
        for end in ends_of(seen.effects) {
            self.end(&end, seen.stamp_ms, &mut granted)?;
        }
        self.sessions_end(seen, woken);
        for (ticket, outcome) in granted {
            let gives_bytes = self.tickets.get(&ticket).is_some_and(Ticket::gives_bytes);
            let due = woken.remove(&ticket).map(|result| match gives_bytes {
                true => bytes::kept(result.as_bytes()),
                false => result,
            });
            if due.as_ref().is_none_or(|due| *outcome != Outcome::Done(due.clone())) {
                return Err((9, format!("{ticket} is woken with {outcome:?}, and should be with {due:?}")));
            }
            self.judged(14, "calls that guests wake");
            self.reached("guest woke a call");
            if let Some(waits) = self.tickets.remove(&ticket)
                && let Some(object) = self.objects.get_mut(&waits.key)
            {
                object.waiting.remove(&ticket);
            }
        }
        match woken.is_empty() {
            true => Ok(()),
            false => Err((14, format!("these calls are not woken: {woken:?}"))),
        }
    }

    fn end<'a>(
        &mut self,
        end: &End<'a>,
        stamp_ms: i64,
        granted: &mut Vec<(u64, &'a Outcome)>,
    ) -> Result<(), Wrong> {
        let End { ticket, how, outcome } = *end;
        if self.ended.contains(&ticket) {
            return Err((15, format!("{ticket} ends again: {how:?}, {outcome:?}")));
        }
        let Some(waits) = self.tickets.get(&ticket) else { return Ok(()) };
        self.ended.insert(ticket);
        self.requests.ended(ticket, outcome, stamp_ms);
        let (key, incarnation, wait) = (waits.key.clone(), waits.incarnation, waits.wait.clone());
        let object = self.objects.get_mut(&key).filter(|object| object.incarnation == incarnation);
        let Some(object) = object else {
            self.tickets.remove(&ticket);
            return match how {
                TicketEnd::Ended => Ok(()),
                _ => Err((15, format!("{ticket} ends with its object: {how:?}, {outcome:?}"))),
            };
        };
        match (wait, how) {
            (Wait::Parked { .. }, TicketEnd::Granted) => granted.push((ticket, outcome)),
            (Wait::Parked { gives_bytes }, _) => {
                object.ticket_ended(ticket);
                self.tickets.remove(&ticket);
                let nothing = if gives_bytes { "=" } else { "{}" };
                if how != TicketEnd::Ended && *outcome != Outcome::Done(nothing.into()) {
                    return Err((1, format!("{ticket} ends with {outcome:?}")));
                }
            }
            (Wait::Run { method, number, hops, sender }, TicketEnd::Granted) => {
                let asked = Asked { method: &method, number, args: &[], position: ticket, hops };
                self.ran_for_long(&key, &asked, sender.as_ref(), outcome)?;
            }
            // It has no effect.
            (Wait::Run { .. }, _) => {
                self.tickets.remove(&ticket);
                self.reached("long run that was called off");
            }
        }
        Ok(())
    }

    /// A run that took long has ended.
    fn ran_for_long(
        &mut self,
        key: &Key,
        asked: &Asked<'_>,
        sender: Option<&Sender>,
        outcome: &Outcome,
    ) -> Result<(), Wrong> {
        let ran = self.run(key, asked);
        check(&ran, outcome)?;
        self.tickets.remove(&asked.position);
        let how = if sender.is_some() { "message " } else { "" };
        self.note_run(how, (key.0.name(), asked.method), &ran)?;
        self.reached("guest ran for long");
        if let (Some(sender), Ran::Fails(..)) = (sender, ran) {
            self.message_failed(sender);
        }
        Ok(())
    }

    /// Objects hear of the end of sessions that had called them, when all that waited in their names has ended.
    fn sessions_end(&mut self, seen: &Seen<'_>, woken: &mut Woken) {
        let mut heard = 0;
        for effect in seen.effects {
            let Effect::SessionEnded { session, .. } = effect else { continue };
            for object in self.objects.values_mut() {
                if !object.listens.remove(session) {
                    continue;
                }
                if object.is_quarantined {
                    object.failures += 1;
                    continue;
                }
                heard += 1;
                woken.extend(object.guest.session_expired(&object.waiting));
                object.count_run();
            }
        }
        for _ in 0..heard {
            self.judged(13, "ends of sessions of which guests hear");
            self.reached("guest heard of a session's end");
        }
    }
}
