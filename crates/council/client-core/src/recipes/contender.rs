//! One contender for a lock or for leadership: a place in a fair queue of sequential ephemeral nodes.
//!
//! A contender creates one node and holds the lock when no node before its own stands in its way; it watches the
//! nearest one that does, so that only one contender wakes when a holder ends. The name of the node begins with a
//! number that is the contender's own: a contender whose connection breaks while it creates the node finds it again by
//! that name, and never makes a second one, which would stay.
//!
//! # What holds
//! - The **epoch** of a holder is the zxid that created its node. Of two exclusive holders one after the other the later has
//!   the greater epoch; no two contenders ever hold under the same one.
//! - `Held` is what was true when the last message came. A process that was stopped, or that the network delays, may
//!   believe it while its session has expired and another contender holds. So whatever the holder acts upon must check
//!   the epoch, and refuse a lower one than it has seen.
//! - While no server is connected the standing is `Suspended`, and the holder should not begin anything. After a reconnection
//!   under the same session it is `Held` again, with the same epoch, once the node was seen again.
//! - After the session has expired the lock is `Lost`, for good; leadership that is contended for [again](ContenderSettings)
//!   goes to the end of the queue, under a new epoch.

use council_wire::{Acl, ErrorCode, SessionId};

use super::layout::{Kind, Layout, Place};
use super::queue::OneAtATime;
use super::{Ask, Input, Recipe, child, lineage};
use crate::Error;
use crate::encode::CreateMode;
use crate::event::{Event, EventKind};
use crate::request::{Replied, Reply, Request};

/// The settings of a contender.
#[derive(Clone, Debug)]
pub struct ContenderSettings {
    /// The node whose children stand in the queue. It and its ancestors are made as containers if they are not there.
    pub path: String,
    /// How the children are named.
    pub layout: Layout,
    /// Whether others may hold the lock at the same time.
    pub kind: Kind,
    /// 32 hexadecimal digits that no other contender has.
    pub guid: String,
    /// The data of the node: by custom, who the contender is.
    pub data: Vec<u8>,
    /// The ACL of the node and of the containers.
    pub acl: Vec<Acl>,
    /// Whether the contender enters the queue again after it has lost its place.
    pub again: bool,
}

/// Where a contender stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It has no place in the queue yet, or does not know it.
    Entering,
    /// Another contender is before it.
    Waiting,
    /// It holds the lock, as far as it knows.
    Held {
        /// See the module.
        epoch: i64,
    },
    /// It held the lock when the connection broke. It may hold it still.
    Suspended {
        /// The epoch that it held under.
        epoch: i64,
    },
    /// It held the lock, and does no more: the session has expired, or its node was deleted.
    Lost {
        /// The epoch that it held under.
        epoch: i64,
    },
    /// It has left the queue.
    Released,
    /// It contends no more.
    Failed(Error),
}

/// What the reply that is waited for is to.
#[derive(Debug)]
enum Step {
    /// Until the server knows what became of requests of earlier connections.
    Sync,
    /// Is there a node of ours already?
    Look,
    Create,
    /// The rest of the containers that are to be made.
    Container(Vec<String>),
    /// Whose session does the node that was found belong to?
    Inspect(String),
    /// Who is before us?
    Rank,
    /// Leaves a watch at the one before us.
    WatchBefore,
    /// Leaves a watch at our own node, while we hold the lock.
    WatchOwn,
    /// Deletes a node of ours that is of no use.
    Discard,
    /// Deletes our node for good.
    Leave,
}

/// Our node.
#[derive(Clone, Debug)]
struct Own {
    name: String,
    epoch: i64,
}

/// See the module.
#[derive(Debug)]
pub struct Contender {
    settings: ContenderSettings,
    prefix: String,
    session: Option<SessionId>,
    standing: Standing,
    own: Option<Own>,
    /// There may be a node of ours besides `own`: one that was asked for, or found, and is not known to be gone.
    maybe_there: bool,
    /// The contender is to leave, and why if it was not asked to.
    leaving: Option<Option<Error>>,
    over: bool,
    requests: OneAtATime<Step>,
}

impl Contender {
    /// A contender that enters the queue as soon as a server is connected.
    #[must_use]
    pub fn new(settings: ContenderSettings) -> Self {
        Self {
            prefix: settings.layout.prefix(&settings.guid, settings.kind),
            settings,
            session: None,
            standing: Standing::Entering,
            own: None,
            maybe_there: false,
            leaving: None,
            over: false,
            requests: OneAtATime::default(),
        }
    }

    /// Where the contender stands.
    #[must_use]
    pub const fn standing(&self) -> &Standing {
        &self.standing
    }

    /// The epoch, if the contender holds the lock as far as it knows.
    #[must_use]
    pub const fn held(&self) -> Option<i64> {
        match self.standing {
            Standing::Held { epoch } => Some(epoch),
            _ => None,
        }
    }

    fn connected(&mut self, session: SessionId) {
        self.session = Some(session);
        // A reconnection that was not reported still separates earlier requests from later ones.
        self.suspend();
        self.requests.ask(Step::Sync, Request::Sync { path: self.settings.path.clone() });
    }

    fn disconnected(&mut self) {
        self.session = None;
        self.requests.forget();
        self.suspend();
    }

    fn suspend(&mut self) {
        if let Standing::Held { epoch } = self.standing {
            self.standing = Standing::Suspended { epoch };
        } else if self.standing == Standing::Waiting {
            self.standing = Standing::Entering;
        }
    }

    fn expired(&mut self) {
        self.disconnected();
        self.lose();
        // What was submitted before was refused, or runs under the next session: then it is found there.
        if self.leaving.is_some() && !self.maybe_there {
            self.leave_for_good();
        }
    }

    /// The node is gone.
    fn lose(&mut self) {
        self.own = None;
        let (Standing::Held { epoch } | Standing::Suspended { epoch }) = self.standing else { return };
        if self.leaving.is_some() {
            return;
        }
        self.standing = Standing::Lost { epoch };
        if !self.settings.again {
            self.over = !self.maybe_there;
            self.leaving = Some(None);
        }
    }

    fn release(&mut self) {
        if self.over || self.leaving.is_some() {
            return;
        }
        self.leaving = Some(None);
        self.standing = Standing::Entering;
        match (&self.own, self.session) {
            (None, _) if !self.maybe_there => self.leave_for_good(),
            (Some(own), Some(_)) => {
                let path = child(&self.settings.path, &own.name);
                self.requests.ask(Step::Leave, Request::Delete { path, version: -1 });
            }
            (None, Some(_)) => self.look(),
            // After the reconnection.
            (_, None) => {}
        }
    }

    fn leave_for_good(&mut self) {
        self.own = None;
        self.over = true;
        self.requests.forget();
        if matches!(self.standing, Standing::Lost { .. }) {
            return;
        }
        self.standing = match self.leaving.take().flatten() {
            None => Standing::Released,
            Some(error) => Standing::Failed(error),
        };
    }

    /// Something does not let the contender contend; it leaves what it has made.
    fn fail(&mut self, error: Error) {
        if self.leaving.is_some() {
            // It cannot even be undone: the session's end does it.
            return self.leave_for_good();
        }
        self.release();
        self.leaving = Some(Some(error));
        if self.over {
            self.leave_for_good();
        }
    }

    fn look(&mut self) {
        let path = self.settings.path.clone();
        self.requests.ask(Step::Look, Request::Children { path, watch: false });
    }

    fn rank(&mut self) {
        let path = self.settings.path.clone();
        self.requests.ask(Step::Rank, Request::Children { path, watch: false });
    }

    fn create(&mut self) {
        self.maybe_there = true;
        let create = Request::Create {
            path: child(&self.settings.path, &self.prefix),
            data: Some(self.settings.data.clone()),
            acl: self.settings.acl.clone(),
            mode: CreateMode::EphemeralSequential,
        };
        self.requests.ask(Step::Create, create);
    }

    fn make_containers(&mut self, mut rest: Vec<String>) {
        let Some(path) = rest.pop() else { return self.look() };
        let acl = self.settings.acl.clone();
        let create = Request::Create { path, data: Some(Vec::new()), acl, mode: CreateMode::Container };
        self.requests.ask(Step::Container(rest), create);
    }

    fn replied(&mut self, step: Step, result: Result<Reply, Error>) {
        match (step, result) {
            // The connection is gone, or the session is: the news of that comes, or has come.
            (_, Err(Error::ConnectionLost | Error::SessionExpired)) => self.disconnected(),
            (Step::Sync, Ok(_)) => self.look(),
            (Step::Look, Ok(Reply::Children(names, _))) => self.looked(&names),
            (Step::Look | Step::Rank, Err(error)) if error.is(ErrorCode::NoNode) => self.looked(&[]),
            (Step::Create, Ok(Reply::Created(path, stat))) => {
                let name = path.rsplit('/').next().unwrap_or_default();
                self.found(name, stat.czxid, SessionId(stat.ephemeral_owner));
            }
            (Step::Create, Err(error)) => {
                self.maybe_there = false;
                if !error.is(ErrorCode::NoNode) {
                    return self.fail(error);
                }
                let mut missing: Vec<String> = lineage(&self.settings.path).map(String::from).collect();
                missing.reverse();
                self.make_containers(missing);
            }
            (Step::Container(rest), Ok(_)) => self.make_containers(rest),
            (Step::Container(rest), Err(error)) if error.is(ErrorCode::NodeExists) => {
                self.make_containers(rest);
            }
            // An ancestor went again meanwhile.
            (Step::Container(_), Err(error)) if error.is(ErrorCode::NoNode) => self.look(),
            (Step::Inspect(name), Ok(Reply::Exists(Some(stat)))) => {
                self.found(&name, stat.czxid, SessionId(stat.ephemeral_owner));
            }
            (Step::Inspect(_), Ok(Reply::Exists(None))) => self.look(),
            (Step::Rank, Ok(Reply::Children(names, _))) => self.ranked(&names),
            (Step::WatchBefore, Ok(_)) => self.standing = Standing::Waiting,
            (Step::WatchBefore, Err(error)) if error.is(ErrorCode::NoNode) => self.rank(),
            (Step::WatchOwn, Ok(Reply::Data(_, stat))) => self.seen_own(stat.czxid),
            (Step::WatchOwn, Err(error)) if error.is(ErrorCode::NoNode) => self.own_gone(),
            (Step::Discard, Ok(_)) => self.look(),
            (Step::Discard, Err(error)) if error.is(ErrorCode::NoNode) => self.look(),
            (Step::Leave, Ok(_)) => self.leave_for_good(),
            (Step::Leave, Err(error)) if error.is(ErrorCode::NoNode) => self.leave_for_good(),
            (_, Err(error)) => self.fail(error),
            (_, Ok(_)) => self.fail(Error::Malformed(council_wire::Malformed("reply: of another kind"))),
        }
    }

    /// The children, after a sync: no create of an earlier connection can take effect after it.
    fn looked(&mut self, names: &[String]) {
        let mut own: Vec<&String> = names.iter().filter(|name| name.starts_with(&self.prefix)).collect();
        own.sort();
        self.maybe_there = !own.is_empty();
        match (own.as_slice(), self.leaving.is_some()) {
            ([], true) => self.leave_for_good(),
            ([], false) => {
                self.lose();
                if self.leaving.is_none() {
                    self.create();
                }
            }
            ([.., last], leaving) if leaving || own.len() > 1 => self.discard(last),
            ([name, ..], _) => {
                let (name, path) = ((*name).clone(), child(&self.settings.path, name));
                self.requests.ask(Step::Inspect(name), Request::Exists { path, watch: false });
            }
        }
    }

    fn discard(&mut self, name: &str) {
        let path = child(&self.settings.path, name);
        self.requests.ask(Step::Discard, Request::Delete { path, version: -1 });
    }

    /// A node of ours is there; it may belong to a session that has expired, and may vanish at any moment.
    fn found(&mut self, name: &str, epoch: i64, owner: SessionId) {
        if self.leaving.is_some() || self.session != Some(owner) {
            return self.discard(name);
        }
        if self.own.as_ref().is_some_and(|own| own.epoch != epoch) {
            self.lose();
            if self.leaving.is_some() {
                return self.discard(name);
            }
        }
        self.own = Some(Own { name: String::from(name), epoch });
        self.maybe_there = false;
        self.rank();
    }

    fn ranked(&mut self, names: &[String]) {
        let Some(own) = self.own.clone() else { return self.look() };
        let Some(place) = Place::of(&own.name).filter(|_| names.contains(&own.name)) else {
            return self.own_gone();
        };
        let before = names.iter().filter_map(|name| Some((name, Place::of(name)?)));
        let before = before.filter(|(_, other)| other.is_before(place) && other.blocks(self.settings.kind));
        let nearest = before.min_by_key(|(_, other)| place.sequence.wrapping_sub(other.sequence));
        match nearest {
            None => {
                self.standing = Standing::Held { epoch: own.epoch };
                self.watch_own();
            }
            Some((name, _)) => {
                // A read that fails leaves no watch behind, as one for a node's creation would.
                let path = child(&self.settings.path, name);
                self.requests.ask(Step::WatchBefore, Request::Data { path, watch: true });
            }
        }
    }

    fn watch_own(&mut self) {
        if let Some(own) = &self.own {
            let path = child(&self.settings.path, &own.name);
            self.requests.ask(Step::WatchOwn, Request::Data { path, watch: true });
        }
    }

    fn seen_own(&mut self, epoch: i64) {
        if self.own.as_ref().is_none_or(|own| own.epoch != epoch) {
            self.own_gone();
        }
    }

    /// Another client has deleted our node.
    fn own_gone(&mut self) {
        self.lose();
        if self.leaving.is_some() {
            return if self.maybe_there { self.look() } else { self.leave_for_good() };
        }
        self.look();
    }

    fn event(&mut self, event: &Event) {
        let (None, Some(_), Some(path)) = (&self.leaving, self.session, &event.path) else { return };
        let is_own = self.own.as_ref().is_some_and(|own| *path == child(&self.settings.path, &own.name));
        match (&self.standing, event.kind) {
            (Standing::Held { .. }, EventKind::NodeDeleted) if is_own => self.own_gone(),
            (Standing::Held { .. }, EventKind::NodeDataChanged) if is_own => self.watch_own(),
            (Standing::Waiting, _) if !is_own => {
                self.standing = Standing::Entering;
                self.rank();
            }
            _ => {}
        }
    }
}

impl Recipe for Contender {
    fn tell(&mut self, input: Input) {
        if self.over {
            return;
        }
        match input {
            Input::Connected { session } => self.connected(session),
            Input::Disconnected => self.disconnected(),
            Input::Expired => self.expired(),
            Input::Over(error) => {
                self.disconnected();
                self.lose();
                self.leaving.get_or_insert(Some(error));
                self.leave_for_good();
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
        self.over
    }
}

#[cfg(test)]
mod tests;
