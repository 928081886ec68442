//! An ephemeral node that exists as long as its client: created again after it was deleted, and under each new session.
//!
//! # What holds
//! - The node belongs to a session of this client, or the state says that it does not. While no server is connected the state
//!   is `Unsure`.
//! - If the node is there under another session (this program's own, before it was started again, or another program's
//!   with the same name), it is left alone until it goes.

use council_wire::{Acl, ErrorCode, Malformed, SessionId};

use super::queue::OneAtATime;
use super::{Ask, Input, Recipe, lineage, parent};
use crate::Error;
use crate::encode::CreateMode;
use crate::event::{Event, EventKind};
use crate::request::{Replied, Reply, Request};

/// Whether the node is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PresenceState {
    /// Not yet, or not any more.
    Absent,
    /// It is, under this epoch: the zxid that created it.
    Present {
        /// See above.
        epoch: i64,
    },
    /// It was when the connection broke.
    Unsure {
        /// Its epoch.
        epoch: i64,
    },
    /// Another session has a node of this name.
    Taken,
    /// The node was given up.
    Released,
    /// The node cannot be made.
    Failed(Error),
}

#[derive(Debug)]
enum Step {
    Create,
    Container(Vec<String>),
    /// Reads the node that is there already, and leaves a watch.
    Inspect,
    Leave,
}

/// See the module.
#[derive(Debug)]
pub struct Presence {
    path: String,
    data: Vec<u8>,
    acl: Vec<Acl>,
    session: Option<SessionId>,
    state: PresenceState,
    /// The node may be there: one of ours was made, or is being made.
    maybe_there: bool,
    releasing: bool,
    requests: OneAtATime<Step>,
}

impl Presence {
    /// Makes the node as soon as a server is connected.
    #[must_use]
    pub fn new(path: &str, data: &[u8], acl: &[Acl]) -> Self {
        Self {
            path: String::from(path),
            data: data.to_vec(),
            acl: acl.to_vec(),
            session: None,
            state: PresenceState::Absent,
            maybe_there: false,
            releasing: false,
            requests: OneAtATime::default(),
        }
    }

    /// Whether the node is there.
    #[must_use]
    pub const fn state(&self) -> &PresenceState {
        &self.state
    }

    fn connected(&mut self, session: SessionId) {
        self.session = Some(session);
        if self.maybe_there { self.inspect() } else { self.create() }
    }

    fn disconnected(&mut self) {
        self.session = None;
        self.requests.forget();
        match self.state {
            PresenceState::Present { epoch } => self.state = PresenceState::Unsure { epoch },
            PresenceState::Taken => self.state = PresenceState::Absent,
            _ => {}
        }
    }

    fn create(&mut self) {
        self.maybe_there = true;
        let (path, data, acl) = (self.path.clone(), Some(self.data.clone()), self.acl.clone());
        self.requests.ask(Step::Create, Request::Create { path, data, acl, mode: CreateMode::Ephemeral });
    }

    fn inspect(&mut self) {
        self.requests.ask(Step::Inspect, Request::Data { path: self.path.clone(), watch: true });
    }

    fn make_containers(&mut self, mut rest: Vec<String>) {
        let Some(path) = rest.pop() else { return self.create() };
        let create = Request::Create {
            path,
            data: Some(Vec::new()),
            acl: self.acl.clone(),
            mode: CreateMode::Container,
        };
        self.requests.ask(Step::Container(rest), create);
    }

    fn replied(&mut self, step: Step, result: Result<Reply, Error>) {
        match (step, result) {
            (_, Err(Error::ConnectionLost | Error::SessionExpired)) => self.disconnected(),
            // Read it once more: for the watch, and for its owner.
            (Step::Create, Ok(_)) => self.inspect(),
            (Step::Create, Err(error)) if error.is(ErrorCode::NodeExists) => self.inspect(),
            (Step::Create, Err(error)) if error.is(ErrorCode::NoNode) => {
                let mut missing: Vec<String> = lineage(parent(&self.path)).map(String::from).collect();
                missing.reverse();
                self.make_containers(missing);
            }
            (Step::Container(rest), Ok(_)) => self.make_containers(rest),
            (Step::Container(rest), Err(error)) if error.is(ErrorCode::NodeExists) => {
                self.make_containers(rest);
            }
            (Step::Container(_), Err(error)) if error.is(ErrorCode::NoNode) => self.create(),
            (Step::Inspect, Ok(Reply::Data(_, stat))) => {
                self.inspected(stat.czxid, SessionId(stat.ephemeral_owner));
            }
            (Step::Inspect, Err(error)) if error.is(ErrorCode::NoNode) => self.absent(),
            (Step::Leave, Ok(_)) => self.state = PresenceState::Released,
            (Step::Leave, Err(error)) if error.is(ErrorCode::NoNode) => self.state = PresenceState::Released,
            (_, Err(error)) => self.state = PresenceState::Failed(error),
            (_, Ok(_)) => self.state = PresenceState::Failed(Malformed("reply: of another kind").into()),
        }
    }

    fn inspected(&mut self, epoch: i64, owner: SessionId) {
        let is_own = self.session == Some(owner);
        match (self.releasing, is_own) {
            (true, true) => {
                let delete = Request::Delete { path: self.path.clone(), version: -1 };
                self.requests.ask(Step::Leave, delete);
            }
            (true, false) => self.state = PresenceState::Released,
            (false, true) => self.state = PresenceState::Present { epoch },
            (false, false) => self.state = PresenceState::Taken,
        }
    }

    fn absent(&mut self) {
        if self.releasing {
            self.state = PresenceState::Released;
            return;
        }
        self.state = PresenceState::Absent;
        if self.session.is_some() {
            self.create();
        }
    }

    fn event(&mut self, event: &Event) {
        if event.path.as_deref() != Some(&self.path) || self.session.is_none() || self.releasing {
            return;
        }
        match (event.kind, &self.state) {
            (EventKind::NodeDeleted, PresenceState::Present { .. } | PresenceState::Taken) => self.absent(),
            // The watch is used up.
            (EventKind::NodeDataChanged, PresenceState::Present { .. } | PresenceState::Taken) => {
                self.inspect();
            }
            _ => {}
        }
    }

    fn release(&mut self) {
        if self.releasing || self.is_over() {
            return;
        }
        self.releasing = true;
        if !self.maybe_there {
            self.state = PresenceState::Released;
        } else if self.session.is_some() {
            // After all earlier requests: requests of one connection are done in order.
            self.inspect();
        }
    }
}

impl Recipe for Presence {
    fn tell(&mut self, input: Input) {
        if self.is_over() {
            return;
        }
        match input {
            Input::Connected { session } => self.connected(session),
            Input::Disconnected => self.disconnected(),
            Input::Expired => {
                self.disconnected();
                self.state = PresenceState::Absent;
            }
            Input::Over(error) => {
                self.disconnected();
                self.state =
                    if self.releasing { PresenceState::Released } else { PresenceState::Failed(error) };
            }
            Input::Event(event) => self.event(&event),
            Input::Replied(id, replied) => {
                if let Some((step, Replied { result, .. })) = self.requests.take(id, replied) {
                    self.replied(step, result);
                }
            }
            Input::Release => self.release(),
        }
    }

    fn next(&mut self) -> Option<Ask> {
        self.requests.next()
    }

    fn is_over(&self) -> bool {
        matches!(self.state, PresenceState::Released | PresenceState::Failed(_))
    }
}

#[cfg(test)]
mod tests {
    use council_wire::{KeeperState, Stat, Zxid};

    use super::*;

    fn answer(presence: &mut Presence, result: Result<Reply, Error>) -> Request {
        let Ask { id, request } = presence.next().expect("a request");
        presence.tell(Input::Replied(id, Replied { zxid: Zxid(1), result }));
        request
    }

    fn seen(czxid: i64, ephemeral_owner: i64) -> Result<Reply, Error> {
        Ok(Reply::Data(None, Stat { czxid, ephemeral_owner, ..Stat::default() }))
    }

    #[test]
    fn node_of_another_session_is_left_alone_until_it_goes() {
        let mut presence = Presence::new("/g/me", b"", &[]);
        presence.tell(Input::Connected { session: SessionId(5) });
        let there = Error::Refused { code: ErrorCode::NodeExists, path: "/g/me".into() };
        answer(&mut presence, Err(there));
        answer(&mut presence, seen(3, 4));
        assert_eq!(*presence.state(), PresenceState::Taken);
        assert_eq!(presence.next(), None);
        let (kind, state) = (EventKind::NodeDeleted, KeeperState::SyncConnected);
        presence.tell(Input::Event(Event { kind, state, path: Some("/g/me".into()), zxid: Zxid(8) }));
        answer(&mut presence, Ok(Reply::Created("/g/me".into(), Stat::default())));
        answer(&mut presence, seen(9, 5));
        assert_eq!(*presence.state(), PresenceState::Present { epoch: 9 });
        presence.tell(Input::Disconnected);
        assert_eq!(*presence.state(), PresenceState::Unsure { epoch: 9 });
        presence.tell(Input::Expired);
        assert_eq!(*presence.state(), PresenceState::Absent);
    }
}
