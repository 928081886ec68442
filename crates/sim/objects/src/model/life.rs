//! Ends: of waiting calls, of sessions with all that they have, of what time takes away.

use objects_state::limits::{DEADLINES_PER_TICK, ORPHANS_PER_TICK};
use objects_state::{Caller, Identity, ObjectName, SessionId, TicketEnd, TokenNumber};
use serde_json::{Value, json};

use super::access::ACCESS_LEVEL;
use super::answer::{Answer, Refusal, Told, refusal, refuse, shown};
use super::group::{ENDED_LEVEL, Group};
use super::kind::{Holding, Left, Why};
use super::request::{Asker, KeptAt, Progress};

/// What is due, in the order in which it happens at one time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A timer of an object: what it frees is granted before a wait ends.
    Timer(u64, usize, String),
    Ticket(u64),
    Key(usize),
    Token(TokenNumber),
}

impl Group {
    /// A waiting call has ended: its answer is kept with its request, and told.
    pub(crate) fn tell_end(&mut self, waiter: &super::kind::Waiter, end: TicketEnd, answer: Answer) {
        let answer = answer.map_err(|refusal| Refusal { position: self.position, ..refusal });
        let answer = match (end, answer) {
            (TicketEnd::Ended, answer) | (_, answer @ Err(_)) => {
                if end != TicketEnd::Ended {
                    self.with_session(&waiter.asker, Value::Null);
                }
                answer
            }
            (_, Ok(result)) => Ok(self.with_session(&waiter.asker, result)),
        };
        let progress = Progress::Ended(Some(waiter.ticket), answer.clone());
        let forgotten_ms = self.forgotten_ms(&waiter.asker.kept_at, &progress);
        let kept = self.remembered.iter_mut().find(|kept| kept.at == waiter.asker.kept_at);
        if let Some(kept) = kept {
            (kept.progress, kept.forgotten_ms) = (progress, forgotten_ms);
        }
        self.told.push(Told::Ended(waiter.ticket, end, answer));
    }

    /// A result names the session that its call opened. If that session got nothing by it, it ends.
    pub(crate) fn with_session(&mut self, asker: &Asker, mut result: Value) -> Value {
        let (Some(id), Some(ttl_ms)) = (asker.session, asker.opened_ttl_ms) else { return result };
        let Some(open) = self.sessions.iter().find(|open| open.id == id) else { return result };
        let is_unused = open.forgotten.is_empty() && self.unacknowledged(id) == 0 && self.asking != Some(id);
        if is_unused && self.holdings(id).is_empty() && self.tickets(id) == 0 && !self.ending.contains(&id) {
            self.sessions.retain(|open| open.id != id);
            self.told.push(Told::Closed(id, false));
        } else if result.is_object() {
            result["session"] = json!(id.to_string());
            result["expires_in_ms"] = json!(ttl_ms);
        }
        result
    }

    pub(crate) fn tickets(&self, id: SessionId) -> usize {
        let waiters = self.objects.iter().flat_map(|object| &object.waiters);
        waiters.filter(|waiter| waiter.asker.session == Some(id)).count()
    }

    pub(crate) fn holdings(&self, id: SessionId) -> Vec<(Holding, u64, ObjectName)> {
        let mut all = Vec::new();
        for object in &self.objects {
            let own = object.kind.holdings().into_iter().filter(|holding| holding.session == id);
            all.extend(own.map(|holding| (holding, object.incarnation, object.name.clone())));
        }
        all.sort();
        all
    }

    pub(crate) fn close(&mut self, caller: &Caller, id: SessionId) -> Answer {
        let open = self.sessions.iter().find(|open| open.id == id).ok_or(refusal("session-expired"))?;
        // Before there were rights its secret was enough.
        let is_own = matches!(caller.identity, Identity::Session { session, .. } if session == id)
            && self.level < ACCESS_LEVEL;
        if !is_own && open.principal != caller.principal.name && !self.administers(&caller.principal) {
            return refuse("forbidden");
        }
        self.end_session(id, false);
        Ok(json!({ "closed": true }))
    }

    /// Everything at one position: memberships, leases, holdings, tickets; then those who are next.
    pub(crate) fn end_session(&mut self, id: SessionId, expired: bool) {
        let mut touched: Vec<ObjectName> = Vec::new();
        let mut touch = |name: &ObjectName| {
            if !touched.contains(name) {
                touched.push(name.clone());
            }
        };
        for (holding, _, name) in self.holdings(id) {
            touch(&name);
            let Some(index) = self.index_of(&name) else { continue };
            let (mut object, mut ended) = (self.objects[index].clone(), Vec::new());
            let mut cx = self.surroundings(&mut object.waiters, &mut ended, None);
            object.kind.lose(&mut cx, &holding, expired);
            self.objects[index] = object;
        }
        for (ticket, name) in self.tickets_of(id) {
            touch(&name);
            self.end_ticket(ticket, Why::Died, false);
        }
        self.remembered.retain(|kept| !matches!(&kept.at, KeptAt::Session(of, _) if *of == id));
        self.sessions.retain(|open| open.id != id);
        if self.level >= ENDED_LEVEL {
            self.ended.push((id, self.now_ms));
        }
        for name in touched {
            if let Some(index) = self.index_of(&name) {
                let object = self.objects[index].clone();
                self.settle(object, Vec::new());
            }
        }
        self.told.push(Told::Closed(id, expired));
    }

    fn tickets_of(&self, id: SessionId) -> Vec<(u64, ObjectName)> {
        let mut own = Vec::new();
        for object in &self.objects {
            let waiters = object.waiters.iter().filter(|waiter| waiter.asker.session == Some(id));
            own.extend(waiters.map(|waiter| (waiter.ticket, object.name.clone())));
        }
        own.sort();
        own
    }

    fn index_of(&self, name: &ObjectName) -> Option<usize> {
        self.objects.iter().position(|object| object.name == *name)
    }

    fn place_of(&self, ticket: u64) -> Option<(usize, usize)> {
        self.objects.iter().enumerate().find_map(|(index, object)| {
            let place = object.waiters.iter().position(|waiter| waiter.ticket == ticket)?;
            Some((index, place))
        })
    }

    /// A waiting call ends for that reason; then those who are next, if asked for.
    pub(crate) fn end_ticket(&mut self, ticket: u64, why: Why, settles: bool) {
        let Some((index, place)) = self.place_of(ticket) else { return };
        let (mut object, mut ended) = (self.objects[index].clone(), Vec::new());
        let mut waiter = object.waiters.remove(place);
        let mut cx = self.surroundings(&mut object.waiters, &mut ended, None);
        match object.kind.leave(&mut cx, &waiter, why) {
            Left::Stays(wants) => {
                (waiter.wants, waiter.deadline_ms) = (wants, None);
                cx.stand_behind(waiter);
            }
            Left::Ends(answer) => {
                let (end, answer) = match why {
                    Why::TimedOut => (TicketEnd::TimedOut, answer),
                    Why::Cancelled => (TicketEnd::Cancelled, answer),
                    Why::Died => (TicketEnd::Ended, refuse("session-expired")),
                    Why::Forbidden => (TicketEnd::Cancelled, refuse("forbidden")),
                };
                ended.insert(0, (waiter, end, answer));
            }
        }
        if settles {
            self.settle(object, ended);
        } else {
            self.objects[index] = object;
            self.tell_ends(ended);
        }
    }

    pub(crate) fn cancel(&mut self, caller: Option<&Caller>, ticket: u64) -> Answer {
        if let Some((index, place)) = self.place_of(ticket) {
            let owner = &self.objects[index].waiters[place].asker.principal;
            if caller.is_some_and(|caller| !self.may_end(caller, Some(owner))) {
                return refuse("forbidden");
            }
            self.end_ticket(ticket, Why::Cancelled, true);
            return Ok(json!({ "cancelled": true }));
        }
        for kept in &self.remembered {
            let Progress::Ended(Some(of), answer) = &kept.progress else { continue };
            if *of != ticket {
                continue;
            }
            let owner = match &kept.at {
                KeptAt::Key(principal, _) => Some(principal),
                KeptAt::Session(id, _) => {
                    self.sessions.iter().find(|open| open.id == *id).map(|open| &open.principal)
                }
                KeptAt::Nowhere => None,
            };
            if caller.is_some_and(|caller| !self.may_end(caller, owner)) {
                return refuse("forbidden");
            }
            return Err(Refusal { result: Some(shown(answer)), ..refusal("already-granted") });
        }
        refuse("no-such-ticket")
    }

    /// Whether a caller ends a wait of that principal, and sees how it has ended. Nobody's is nobody's.
    fn may_end(&self, caller: &Caller, owner: Option<&String>) -> bool {
        owner.is_some_and(|owner| caller.principal.name == *owner || self.administers(&caller.principal))
    }

    /// What is due by the stamp happens, in the order of its time.
    pub(crate) fn tick(&mut self) {
        for _ in 0..ORPHANS_PER_TICK {
            match self.first_orphan() {
                Some(ticket) => self.end_ticket(ticket, Why::Cancelled, true),
                None => break,
            }
        }
        for _ in 0..DEADLINES_PER_TICK {
            match self.first_due() {
                Some((at, due)) if at <= self.now_ms => self.happen(due),
                _ => return,
            }
        }
    }

    /// The next call whose caller nobody can reach any more: a later process of its member was heard of.
    fn first_orphan(&self) -> Option<u64> {
        let is_over =
            |(member, process): (u8, u64)| self.sources.get(&member).is_some_and(|last| process < last.0);
        let waiters = self.objects.iter().flat_map(|object| &object.waiters);
        let orphans = waiters.filter_map(|waiter| {
            waiter.process.filter(|process| is_over(*process)).map(|process| (process, waiter.ticket))
        });
        orphans.min().map(|(_, ticket)| ticket)
    }

    fn first_due(&self) -> Option<(i64, Due)> {
        let mut all = Vec::new();
        for object in &self.objects {
            let timers = object.kind.timers(&object.waiters).into_iter().enumerate();
            all.extend(timers.map(|(nth, (at, timer))| (at, Due::Timer(object.incarnation, nth, timer))));
            let tickets = object.waiters.iter();
            all.extend(tickets.filter_map(|waiter| Some((waiter.deadline_ms?, Due::Ticket(waiter.ticket)))));
        }
        let keys = self.remembered.iter().enumerate();
        all.extend(keys.filter_map(|(index, kept)| Some((kept.forgotten_ms?, Due::Key(index)))));
        all.extend(self.first_token().map(|(at, number)| (at, Due::Token(number))));
        all.into_iter().min()
    }

    fn happen(&mut self, due: Due) {
        match due {
            Due::Ticket(ticket) => self.end_ticket(ticket, Why::TimedOut, true),
            Due::Key(index) => drop(self.remembered.remove(index)),
            Due::Token(number) => self.end_token(number),
            Due::Timer(incarnation, _, timer) => {
                let found = self.objects.iter().find(|object| object.incarnation == incarnation);
                let Some(mut object) = found.cloned() else { return };
                let mut ended = Vec::new();
                let mut cx = self.surroundings(&mut object.waiters, &mut ended, None);
                object.kind.due(&mut cx, &timer);
                self.settle(object, ended);
            }
        }
    }
}
