//! Events for those who watch an object or a session, and the latest ones for watches that resume.
//!
//! They are this member's own, and in no snapshot: a watch that resumes at another member, or after a restart, is told that
//! events are lost if this member did not see them.

use std::collections::VecDeque;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use objects_state::{Event, ObjectName, Origin, Principal, Problem, SessionId};

use crate::edge::{Answer, EventId, Happening};
use crate::limits::{EVENTS_MAX, WATCHES_MAX, WATCHES_PER_SUBJECT_MAX};
use crate::mailboxes::Mailboxes;

/// What is watched; the session's secret was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Watched {
    Object(ObjectName),
    Session(SessionId),
}

impl Watched {
    fn is_about(&self, what: &Happening) -> bool {
        match (self, what) {
            (Self::Object(name), Happening::Object(event)) => event.object == *name,
            (Self::Session(id), Happening::Object(event)) => event.session == Some(*id),
            (Self::Session(id), Happening::SessionEnded { session, .. }) => session == id,
            (Self::Object(_), Happening::SessionEnded { .. }) => false,
        }
    }
}

/// What is watched, by whom.
#[derive(Debug)]
struct Watch {
    origin: Origin,
    watched: Watched,
    principal: Principal,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Watches {
    objects: HashMap<(u8, String), Vec<Origin>, FixedState>,
    sessions: HashMap<SessionId, Vec<Origin>, FixedState>,
    /// What each watches, by its number.
    watches: HashMap<u64, Watch, FixedState>,
    latest: VecDeque<(EventId, Happening)>,
    /// The last event that is not kept any more, or that this member did not see.
    forgotten: EventId,
}

impl Watches {
    /// What happened up to that position was not seen.
    pub(crate) fn new(position: u64) -> Self {
        Self {
            objects: HashMap::with_hasher(FixedState::default()),
            sessions: HashMap::with_hasher(FixedState::default()),
            watches: HashMap::with_hasher(FixedState::default()),
            latest: VecDeque::new(),
            forgotten: EventId { position, ordinal: u32::MAX },
        }
    }

    /// Begins a watch behind that event. False if there are too many.
    pub(crate) fn begin(
        &mut self,
        origin: Origin,
        principal: Principal,
        watched: Watched,
        after: Option<EventId>,
        out: &mut Mailboxes,
    ) -> bool {
        if self.watches.len() >= WATCHES_MAX || self.watches.contains_key(&origin.number) {
            return false;
        }
        let list = self.list(&watched);
        if list.len() >= WATCHES_PER_SUBJECT_MAX {
            return false;
        }
        list.push(origin);
        let id = self.latest.back().map_or(self.forgotten, |(id, _)| *id);
        out.tell(origin, Answer::Watching { origin, id });
        if after.is_some_and(|after| after < self.forgotten) {
            out.tell(origin, Answer::EventsLost { origin });
        } else if let Some(after) = after {
            let from = self.latest.partition_point(|(id, _)| *id <= after);
            for (id, what) in self.latest.range(from..).filter(|(_, what)| watched.is_about(what)) {
                out.tell(origin, Answer::Event { origin, id: *id, what: what.clone() });
            }
        }
        self.watches.insert(origin.number, Watch { origin, watched, principal });
        true
    }

    fn list(&mut self, watched: &Watched) -> &mut Vec<Origin> {
        match watched {
            Watched::Object(name) => self.objects.entry((name.kind.0, name.name.clone())).or_default(),
            Watched::Session(id) => self.sessions.entry(*id).or_default(),
        }
    }

    /// Ends a watch. Says whether there was one.
    pub(crate) fn end(&mut self, origin: Origin) -> bool {
        let Some(Watch { watched, .. }) = self.watches.remove(&origin.number) else { return false };
        let list = self.list(&watched);
        list.retain(|other| *other != origin);
        if list.is_empty() {
            match watched {
                Watched::Object(name) => drop(self.objects.remove(&(name.kind.0, name.name))),
                Watched::Session(id) => drop(self.sessions.remove(&id)),
            }
        }
        true
    }

    /// Ends the watches of those who may not watch any more. Costs all of them: tokens and rights change rarely.
    pub(crate) fn judge(
        &mut self,
        may: impl Fn(&Principal, &Watched) -> Result<(), Problem>,
        out: &mut Mailboxes,
    ) {
        let judged = |watch: &Watch| Some((watch.origin, may(&watch.principal, &watch.watched).err()?));
        let mut over: Vec<_> = self.watches.values().filter_map(judged).collect();
        over.sort_unstable_by_key(|(origin, _)| origin.number);
        for (origin, problem) in over {
            self.end(origin);
            out.refuse(origin, problem);
        }
    }

    /// Something happened.
    pub(crate) fn happened(&mut self, id: EventId, what: Happening, out: &mut Mailboxes) {
        if !self.watches.is_empty() {
            self.tell(id, &what, out);
        }
        if self.latest.len() >= EVENTS_MAX
            && let Some((oldest, _)) = self.latest.pop_front()
        {
            self.forgotten = oldest;
        }
        self.latest.push_back((id, what));
    }

    fn tell(&mut self, id: EventId, what: &Happening, out: &mut Mailboxes) {
        let tell = |origin: &Origin, out: &mut Mailboxes| {
            out.tell(*origin, Answer::Event { origin: *origin, id, what: what.clone() });
        };
        match what {
            Happening::Object(event) => {
                let object = (event.object.kind.0, event.object.name.clone());
                let of_object = self.objects.get(&object).into_iter().flatten();
                let of_session = event.session.and_then(|id| self.sessions.get(&id)).into_iter().flatten();
                of_object.chain(of_session).for_each(|origin| tell(origin, out));
            }
            Happening::SessionEnded { session, .. } => {
                for origin in self.sessions.remove(session).unwrap_or_default() {
                    tell(&origin, out);
                    self.watches.remove(&origin.number);
                }
            }
        }
    }

    /// A snapshot took the place of what happened up to that position.
    pub(crate) fn lost(&mut self, position: u64, out: &mut Mailboxes) {
        self.latest.clear();
        self.forgotten = EventId { position, ordinal: u32::MAX };
        let origins = self.objects.values().chain(self.sessions.values()).flatten();
        origins.for_each(|origin| out.tell(*origin, Answer::EventsLost { origin: *origin }));
    }

    /// The remembered events of an object behind that one, the oldest first.
    pub(crate) fn remembered<'a>(
        &'a self,
        object: &'a ObjectName,
        after: Option<EventId>,
    ) -> impl Iterator<Item = (EventId, &'a Event)> {
        let from = after.map_or(0, |after| self.latest.partition_point(|(id, _)| *id <= after));
        self.latest.range(from..).filter_map(move |(id, what)| match what {
            Happening::Object(event) if event.object == *object => Some((*id, event)),
            _ => None,
        })
    }

    /// The last event that is not remembered: all behind it are.
    pub(crate) const fn forgotten(&self) -> EventId {
        self.forgotten
    }

    /// The last event, whatever it was about.
    pub(crate) fn latest(&self) -> EventId {
        self.latest.back().map_or(self.forgotten, |(id, _)| *id)
    }

    pub(crate) fn len(&self) -> usize {
        self.watches.len()
    }
}

#[cfg(test)]
mod tests {
    use objects_state::{EventKind, TypeId};

    use super::*;

    const S: SessionId = SessionId([7; 16]);
    const WATCH: Origin = Origin { member: 1, number: 5 };

    fn name(name: &str) -> ObjectName {
        ObjectName { kind: TypeId(1), name: name.into() }
    }

    fn happen(watches: &mut Watches, position: u64, object: &str, out: &mut Mailboxes) {
        let (kind, session) = (EventKind::Acquired, Some(S));
        let (user_type, said) = (None, None);
        let event = Event { kind, object: name(object), session, position, at_ms: 0, user_type, said };
        watches.happened(EventId { position, ordinal: 0 }, Happening::Object(event), out);
    }

    fn positions(out: &mut Mailboxes) -> Vec<u64> {
        let told = core::mem::take(out.of(0)).into_iter();
        let positions = told.filter_map(|answer| match answer {
            Answer::Event { id, .. } => Some(id.position),
            Answer::EventsLost { .. } => Some(0),
            _ => None,
        });
        positions.collect()
    }

    #[test]
    fn watch_tells_each_event_of_its_subject_once_and_resumes_where_it_ended() {
        let (mut watches, mut out) = (Watches::new(10), Mailboxes::new(1, 10));
        assert!(watches.begin(WATCH, "ann".into(), Watched::Object(name("a")), None, &mut out));
        happen(&mut watches, 11, "a", &mut out);
        happen(&mut watches, 12, "b", &mut out);
        assert_eq!(positions(&mut out), [11]);
        assert!(watches.end(WATCH) && !watches.end(WATCH));
        happen(&mut watches, 13, "a", &mut out);
        let after = Some(EventId { position: 11, ordinal: 0 });
        assert!(watches.begin(WATCH, "ann".into(), Watched::Object(name("a")), after, &mut out));
        happen(&mut watches, 14, "a", &mut out);
        assert_eq!(positions(&mut out), [13, 14]);
    }

    #[test]
    fn watch_that_resumes_behind_what_is_kept_is_told_that_events_are_lost() {
        let (mut watches, mut out) = (Watches::new(10), Mailboxes::new(1, 10));
        let after = |position| Some(EventId { position, ordinal: 0 });
        assert!(watches.begin(WATCH, "ann".into(), Watched::Session(S), after(9), &mut out));
        assert_eq!(positions(&mut out), [0]);
        (0..=EVENTS_MAX as u64).for_each(|more| happen(&mut watches, 11 + more, "a", &mut out));
        assert_eq!(positions(&mut out).len(), EVENTS_MAX + 1);
        watches.end(WATCH);
        assert!(watches.begin(WATCH, "ann".into(), Watched::Session(S), after(11), &mut out));
        assert_eq!(positions(&mut out).len(), EVENTS_MAX, "the first one is seen and forgotten");
        watches.lost(99_999, &mut out);
        assert_eq!(positions(&mut out), [0]);
    }

    #[test]
    fn watch_of_a_session_ends_with_it() {
        let (mut watches, mut out) = (Watches::new(10), Mailboxes::new(1, 10));
        assert!(watches.begin(WATCH, "ann".into(), Watched::Session(S), None, &mut out));
        let ended = Happening::SessionEnded { session: S, expired: true };
        watches.happened(EventId { position: 11, ordinal: 3 }, ended, &mut out);
        assert_eq!((positions(&mut out), watches.len()), (vec![11], 0));
    }
}
