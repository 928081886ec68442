//! Fetch: what is readable now, or a wait until enough is.
//!
//! A fetch names its partitions, or goes on with a session that has them. If what there is suffices it is answered at once;
//! else it waits. What happens to a partition puts it into the queue of each fetch and session that has it, and the fetch
//! looks again when enough bytes were committed.

mod look;
mod part;
mod replicas;
mod session;
mod set;

use std::sync::Arc;

use base::{MonoTime, Now};
use log_partition::Isolation;
use log_wire::{ApiKey, ErrorCode, FetchPartition, FetchRequest, Malformed, TopicName};
use net_event_loop::ConnId;

use crate::call::{Call, Handled};
use crate::client::Client;
use crate::node::Node;
use crate::partitions::{BySlot, Slot};
use crate::response::{FetchResponse, Response};
use crate::waits::{Waiter, Waits};
use look::{Found, Terms, look, respond};
use part::size;
use session::{NEW_SESSION, NO_SESSION, SessionId, SessionOwner, Sessions};
use set::{FetchSet, PartPlace};

/// What is served here.
pub(crate) const SERVED: &[ApiKey] = &[ApiKey::Fetch];

/// How long a fetch may wait, milliseconds.
const WAIT_MS_MAX: i32 = 10 * 60 * 1_000;

/// A fetch that waits.
#[derive(Debug)]
struct PendingFetch {
    of: Of,
    terms: Terms,
    /// What there was when it was looked at last, and what was committed since.
    bytes: usize,
}

/// Whose partitions are fetched.
#[derive(Debug)]
enum Of {
    /// Those of the fetch alone.
    Own(FetchSet),
    /// Those of a session.
    Session(SessionId),
}

/// Who hears of a partition, and as which of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subscriber {
    Waiting(Waiter, PartPlace),
    Session(SessionId, PartPlace),
}

/// Fetches that wait, and fetch sessions. See the module.
#[derive(Debug)]
pub(crate) struct Fetches {
    sessions: Sessions,
    waits: Waits<PendingFetch>,
    subscribers: BySlot<Vec<Subscriber>>,
}

/// A request to Fetch, with its partitions and those that leave its session.
struct Fetch<'r> {
    request: FetchRequest<'r>,
    version: i16,
    partitions: Vec<FetchPartition<'r>>,
    forgotten: Vec<(TopicName<'r>, i32)>,
    /// The response gives no more, whatever is asked: of the broker, and of the client's quota.
    bytes_max: usize,
}

/// The first version that names topics by their ids.
const TOPIC_IDS: i16 = 13;

impl Fetches {
    /// Handles a request.
    ///
    /// # Errors
    /// It is malformed.
    pub(crate) fn dispatch(&mut self, node: &mut Node, mut call: Call<'_>) -> Result<Handled, Malformed> {
        let (mut partitions, mut forgotten) = (Vec::new(), Vec::new());
        let version = call.form.version;
        let request = FetchRequest::read(&mut call.body, version, &mut partitions, &mut forgotten)?;
        let quota = node.access.fetch_bytes_max(call.client, call.client_id);
        let bytes_max = quota.unwrap_or(usize::MAX).min(node.config.fetch_bytes_max);
        let fetch = Fetch { request, version, partitions, forgotten, bytes_max };
        Ok(Handled::of(self.fetch(node, &fetch, (call.waiter, call.client), call.now)))
    }

    /// With at most so many sessions.
    pub(crate) fn new(sessions_max: usize, seed: u64) -> Self {
        let (waits, subscribers) = (Waits::default(), BySlot::default());
        Self { sessions: Sessions::new(sessions_max, seed), waits, subscribers }
    }

    /// Handles a request. The answer comes later if there is none now.
    fn fetch(
        &mut self,
        node: &mut Node,
        fetch: &Fetch<'_>,
        (waiter, client): (Waiter, &Arc<Client>),
        now: Now,
    ) -> Option<Response> {
        let request = &fetch.request;
        let committed = request.isolation_level == 1;
        let mut terms = Terms {
            client: Arc::clone(client),
            isolation: if committed { Isolation::ReadCommitted } else { Isolation::ReadUncommitted },
            rack: request.rack.to_owned(),
            bytes_min: size(request.min_bytes),
            bytes_max: size(request.max_bytes).min(fetch.bytes_max),
            is_full: true,
        };
        let rules_version = node.access.rules_version;
        let owner = SessionOwner { client: Arc::clone(client), rules_version };
        let mut of = match self.begin(fetch, owner, now.mono()) {
            Ok(of) => of,
            Err(error) => return Some(Response::Fetch(FetchResponse::failed(error))),
        };
        terms.is_full = matches!(of, Of::Own(_)) || request.session_epoch == NEW_SESSION;
        let found = look(self.set(&mut of)?, node, &terms);
        let wait_ms = request.max_wait_ms.clamp(0, WAIT_MS_MAX);
        let is_full = self.waits.len() >= node.config.waiting_fetches_max;
        let has_none = self.set(&mut of)?.len() == 0;
        if found.is_enough(&terms) || wait_ms == 0 || has_none || is_full {
            return Some(self.answer(node, of, found));
        }
        let bytes = found.bytes_readable;
        self.listen(&mut of, waiter, &found);
        if let Of::Session(id) = &of
            && let Some(session) = self.sessions.get_mut(*id)
        {
            session.waiting = Some(waiter);
        }
        self.set(&mut of)?.dequeue(&found.idle);
        let deadline = now.mono().plus_ms(u64::from(wait_ms.unsigned_abs()));
        self.waits.insert(waiter, deadline, PendingFetch { of, terms, bytes });
        None
    }

    /// More of a partition is committed: answers fetches that have enough by it.
    pub(crate) fn committed(&mut self, node: &mut Node, slot: Slot, bytes: usize) {
        // From the last on: one that is answered leaves its place to the last, which was looked at before.
        for at in (0..self.subscribers.of(slot).len()).rev() {
            if let Some(subscriber) = self.subscribers.of(slot).get(at).copied() {
                self.hear(node, subscriber, bytes);
            }
        }
    }

    /// A partition is gone, or does not begin where it did: its fetches say so.
    pub(crate) fn changed(&mut self, node: &mut Node, slot: Slot) {
        for subscriber in self.subscribers.of(slot).clone() {
            self.hear(node, subscriber, 0);
            let waiting = match subscriber {
                Subscriber::Waiting(waiter, _) => Some(waiter),
                Subscriber::Session(id, _) => self.sessions.get_mut(id).and_then(|session| session.waiting),
            };
            if let Some(waiter) = waiting {
                self.look_again(node, waiter);
            }
        }
    }

    /// Answers fetches whose time is over with what there is.
    pub(crate) fn expire(&mut self, node: &mut Node, now: Now) {
        while let Some((waiter, pending)) = self.waits.pop_overdue(now.mono()) {
            self.answer_with_what_there_is(node, waiter, pending);
        }
    }

    /// A connection is gone: nobody waits any more for what it asked for.
    pub(crate) fn disconnected(&mut self, shard: u16, conn: ConnId) {
        while let Some((waiter, pending)) = self.waits.pop_of(shard, conn) {
            self.unlisten(waiter, &pending.of);
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        self.waits.next_deadline()
    }

    /// The partitions of a request: its own, or those of the session that begins or goes on with it.
    fn begin(&mut self, fetch: &Fetch<'_>, owner: SessionOwner, now: MonoTime) -> Result<Of, ErrorCode> {
        let (id, epoch) = (SessionId(fetch.request.session_id), fetch.request.session_epoch);
        let by_id = fetch.version >= TOPIC_IDS;
        let is_own = self.sessions.is_of(id, &owner.client);
        if epoch != NEW_SESSION && epoch != NO_SESSION {
            let id = Some(id).filter(|_| is_own).ok_or(ErrorCode::FetchSessionIdNotFound)?;
            self.sessions.go_on(id, epoch, by_id, now)?;
            self.change_session(id, fetch);
            if let Some(session) = self.sessions.get_mut(id) {
                session.follow_rules(owner.rules_version);
            }
            return Ok(Of::Session(id));
        }
        if is_own {
            self.end_session(id);
        }
        let mut set = FetchSet::default();
        fetch.partitions.iter().for_each(|wanted| set.want(wanted));
        let room = if epoch == NEW_SESSION { self.sessions.room_for(set.len(), now) } else { None };
        let Some(replaced) = room else { return Ok(Of::Own(set)) };
        if let Some(replaced) = replaced {
            self.end_session(replaced);
        }
        Ok(Of::Session(self.sessions.begin(set, owner, by_id, now)))
    }

    fn change_session(&mut self, id: SessionId, fetch: &Fetch<'_>) {
        let gone = self.sessions.change(id, |set| {
            fetch.partitions.iter().for_each(|wanted| set.want(wanted));
            let forgotten = fetch.forgotten.iter();
            forgotten.filter_map(|(topic, index)| set.forget(*topic, *index)).collect::<Vec<_>>()
        });
        for (place, part) in gone.into_iter().flatten() {
            if let Some(slot) = part.slot {
                self.remove_subscriber(slot, Subscriber::Session(id, place));
            }
        }
    }

    fn end_session(&mut self, id: SessionId) {
        let Some(session) = self.sessions.end(id) else { return };
        for (place, part) in session.set.all() {
            if let Some(slot) = part.slot {
                self.remove_subscriber(slot, Subscriber::Session(id, place));
            }
        }
    }

    fn set<'s>(&'s mut self, of: &'s mut Of) -> Option<&'s mut FetchSet> {
        match of {
            Of::Own(set) => Some(set),
            Of::Session(id) => self.sessions.get_mut(*id).map(|session| &mut session.set),
        }
    }

    /// Something happened to a partition of a fetch or session.
    fn hear(&mut self, node: &mut Node, subscriber: Subscriber, bytes: usize) {
        let waiter = match subscriber {
            Subscriber::Waiting(waiter, place) => {
                if let Some(PendingFetch { of: Of::Own(set), .. }) = self.waits.get_mut(waiter) {
                    set.enqueue(place);
                }
                Some(waiter)
            }
            Subscriber::Session(id, place) => self.sessions.get_mut(id).and_then(|session| {
                session.set.enqueue(place);
                session.waiting
            }),
        };
        let Some(waiter) = waiter else { return };
        let Some(pending) = self.waits.get_mut(waiter) else { return };
        pending.bytes = pending.bytes.saturating_add(bytes);
        if bytes > 0 && pending.bytes >= pending.terms.bytes_min {
            self.look_again(node, waiter);
        }
    }

    /// Answers a fetch that waits if it has enough by now.
    fn look_again(&mut self, node: &mut Node, waiter: Waiter) {
        let Some((deadline, mut pending)) = self.waits.take(waiter) else { return };
        let Some(set) = self.set(&mut pending.of) else { return node.reply(waiter, ended()) };
        let found = look(set, node, &pending.terms);
        if found.is_enough(&pending.terms) {
            self.unlisten(waiter, &pending.of);
            let response = self.answer(node, pending.of, found);
            return node.reply(waiter, response);
        }
        set.dequeue(&found.idle);
        pending.bytes = found.bytes_readable;
        self.waits.insert(waiter, deadline, pending);
    }

    fn answer_with_what_there_is(&mut self, node: &mut Node, waiter: Waiter, mut pending: PendingFetch) {
        self.unlisten(waiter, &pending.of);
        let Some(set) = self.set(&mut pending.of) else { return node.reply(waiter, ended()) };
        let found = look(set, node, &pending.terms);
        let response = self.answer(node, pending.of, found);
        node.reply(waiter, response);
    }

    /// The answer. A session remembers what its client is told by it.
    fn answer(&mut self, node: &mut Node, of: Of, found: Found) -> Response {
        found.count(node);
        let id = match of {
            Of::Own(set) => return Response::Fetch(respond(found, &set, 0)),
            Of::Session(id) => id,
        };
        for part in &found.parts {
            self.listen_to(id, part.place, part.slot);
        }
        let Some(session) = self.sessions.get_mut(id) else { return ended() };
        session.waiting = None;
        session.set.dequeue(&found.idle);
        let mut served = Vec::new();
        for part in &found.parts {
            if let Some(of_session) = session.set.get_mut(part.place) {
                of_session.told = Some((part.fetched.high_watermark, part.fetched.start));
            }
            served.extend(part.stays.then_some(part.place));
        }
        session.set.move_behind(&served);
        Response::Fetch(respond(found, &session.set, id.0))
    }

    /// A fetch that waits hears of its partitions.
    fn listen(&mut self, of: &mut Of, waiter: Waiter, found: &Found) {
        for part in &found.parts {
            match of {
                Of::Own(set) => {
                    if let (Some(slot), Some(own)) = (part.slot, set.get_mut(part.place)) {
                        own.slot = Some(slot);
                        self.subscribers.of(slot).push(Subscriber::Waiting(waiter, part.place));
                    }
                }
                Of::Session(id) => self.listen_to(*id, part.place, part.slot),
            }
        }
    }

    /// A session hears of a partition, where it lives by now.
    fn listen_to(&mut self, id: SessionId, place: PartPlace, slot: Option<Slot>) {
        let Some(part) = self.sessions.get_mut(id).and_then(|session| session.set.get_mut(place)) else {
            return;
        };
        if part.slot == slot {
            return;
        }
        let before = std::mem::replace(&mut part.slot, slot);
        if let Some(before) = before {
            self.remove_subscriber(before, Subscriber::Session(id, place));
        }
        if let Some(slot) = slot {
            self.subscribers.of(slot).push(Subscriber::Session(id, place));
        }
    }

    fn unlisten(&mut self, waiter: Waiter, of: &Of) {
        match of {
            Of::Own(set) => {
                for (place, part) in set.all() {
                    if let Some(slot) = part.slot {
                        self.remove_subscriber(slot, Subscriber::Waiting(waiter, place));
                    }
                }
            }
            Of::Session(id) => {
                if let Some(session) = self.sessions.get_mut(*id) {
                    session.waiting = None;
                }
            }
        }
    }

    fn remove_subscriber(&mut self, slot: Slot, gone: Subscriber) {
        let of_slot = self.subscribers.of(slot);
        if let Some(at) = of_slot.iter().position(|subscriber| *subscriber == gone) {
            of_slot.swap_remove(at);
        }
    }
}

/// The session of a fetch has ended while it waited: the client begins another one.
fn ended() -> Response {
    Response::Fetch(FetchResponse::failed(ErrorCode::FetchSessionIdNotFound))
}
