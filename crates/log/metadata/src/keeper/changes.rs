//! Changes on their way: read, compute, write; again if another has written meanwhile, or if nobody knows whether the write
//! took effect.
//!
//! # Invariant
//! - A write takes effect only if the node is the one that was read. Its version does not tell for topics, whose nodes are deleted and
//!   made anew: these are written together with a check of [`paths::TOPIC_DELETIONS`], and each deletion raises its version.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use council_client_core::recipes::Ask;
use council_client_core::{
    Acl, CreateMode, Error, ErrorCode as NodeError, Multi, MultiResult, Replied, Reply, Request, RequestId,
    Zxid,
};
use log_wire::ErrorCode;

use super::{Change, Decision, Ended, Found};
use crate::paths;

/// What the reply is for that a change waits for.
#[derive(Debug)]
enum Step {
    /// How many topics were deleted.
    Deletions,
    Read,
    Write,
    /// A parent is made; then those that follow, the highest last.
    Parent(Vec<String>),
}

/// What a change has sent and does not know the end of.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Attempt {
    Write(Vec<u8>),
    Delete,
}

#[derive(Debug)]
struct Running {
    change: Change,
    step: Step,
    /// The version of [`paths::TOPIC_DELETIONS`] before the node was read, if it is a topic's.
    deletions: Option<i32>,
    /// It is its turn to delete a topic, until it ends or does something else.
    has_turn: bool,
    attempt: Option<Attempt>,
    /// A write was sent whose end nobody knows.
    may_be_done: bool,
}

impl Running {
    /// Whether a write whose end nobody knows has been done, by what the node has now.
    fn is_done(&self, found: Option<&Vec<u8>>) -> bool {
        let is_as_wanted = match (&self.attempt, found) {
            (Some(Attempt::Write(wanted)), Some(data)) => wanted == data,
            (Some(Attempt::Delete), None) => true,
            _ => false,
        };
        is_as_wanted && self.may_be_done && !self.change.counts
    }
}

/// A change that has ended, and the zxid that shows it.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) path: String,
    pub(super) zxid: Zxid,
    pub(super) ticket: u64,
    pub(super) ended: Ended,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Changes {
    acl: Vec<Acl>,
    at_once_max: usize,
    queue: VecDeque<Change>,
    running: BTreeMap<RequestId, Running>,
    /// Nodes that are being changed.
    busy: BTreeSet<String>,
    unsent: VecDeque<Ask>,
    finished: VecDeque<Finished>,
    next_id: u64,
    /// The version of [`paths::TOPIC_DELETIONS`], unless another broker has raised it.
    deletions: Option<i32>,
    /// A change has its turn to delete a topic. There is one at a time: each deletion is in the way of all others that are under way.
    is_turn_taken: bool,
    /// Changes that wait for their turn.
    held: VecDeque<Running>,
    connected: bool,
}

impl Changes {
    /// New nodes have this ACL; so many changes are carried out at once.
    pub(super) const fn new(acl: Vec<Acl>, at_once_max: usize) -> Self {
        Self {
            acl,
            at_once_max,
            queue: VecDeque::new(),
            running: BTreeMap::new(),
            busy: BTreeSet::new(),
            unsent: VecDeque::new(),
            finished: VecDeque::new(),
            next_id: 0,
            deletions: None,
            is_turn_taken: false,
            held: VecDeque::new(),
            connected: false,
        }
    }

    pub(super) fn push(&mut self, change: Change) {
        self.queue.push_back(change);
        self.begin();
    }

    /// How many have not ended.
    pub(super) fn len(&self) -> usize {
        self.queue.len() + self.running.len() + self.held.len()
    }

    pub(super) fn next(&mut self) -> Option<Ask> {
        self.unsent.pop_front()
    }

    pub(super) fn finished(&mut self) -> Option<Finished> {
        self.finished.pop_front()
    }

    pub(super) fn connected(&mut self) {
        self.connected = true;
        self.unsent.clear();
        for (_, mut running) in std::mem::take(&mut self.running) {
            running.may_be_done |= matches!(running.step, Step::Write);
            self.read(running);
        }
        self.begin();
    }

    /// What is under way has an unknown end: it is read when a server is connected again.
    pub(super) const fn disconnected(&mut self) {
        self.connected = false;
    }

    pub(super) fn replied(&mut self, id: RequestId, Replied { zxid, result }: Replied) {
        let Some(running) = self.running.remove(&id) else { return };
        match (&running.step, result) {
            // Another input says that the connection is lost; the next connection reads again.
            (
                _,
                Err(Error::ConnectionLost | Error::SessionExpired | Error::Closed | Error::TooManyRequests),
            ) => {
                self.running.insert(id, running);
            }
            (Step::Deletions, Ok(Reply::Exists(Some(stat)))) => {
                self.deletions = Some(stat.version);
                self.read(running);
            }
            (Step::Deletions, Ok(Reply::Exists(None))) => {
                let missing = parents(paths::TOPIC_DELETIONS).into_iter().rev();
                let missing = [paths::TOPIC_DELETIONS.into()].into_iter().chain(missing).collect();
                self.make_parents(running, missing);
            }
            (Step::Read, Ok(Reply::Data(data, stat))) => {
                self.decide(running, Some((&data.unwrap_or_default(), stat.version)), zxid);
            }
            (Step::Read, Err(error)) if error.is(NodeError::NoNode) => self.decide(running, None, zxid),
            (Step::Write, Ok(reply)) => {
                if let Some(deletions) = counted(&reply) {
                    self.deletions = Some(deletions);
                }
                self.written(running, zxid);
            }
            (Step::Write, Err(error)) if is_of_the_node(&error) => self.write_again(running, &error),
            (Step::Parent(rest), result) if result.is_ok() || is_there(&result) => {
                let rest = rest.clone();
                self.make_parents(running, rest);
            }
            (_, result) => {
                let why = result
                    .err()
                    .map_or_else(|| "something else was answered".into(), |error| error.to_string());
                let why = format!("the council has refused it: {why}");
                self.finish(running, zxid, Ended::Refused(ErrorCode::UnknownServerError, why));
            }
        }
    }

    /// The next topic may be deleted. Its change reads the node again.
    fn pass_turn(&mut self) {
        let next = self.held.pop_front();
        self.is_turn_taken = next.is_some();
        if let Some(next) = next {
            self.read(Running { has_turn: true, ..next });
        }
    }

    /// A write was refused because the node is not what it was, or because a node above it is missing.
    fn write_again(&mut self, running: Running, error: &Error) {
        if matches!(error, Error::Transaction { .. }) {
            self.deletions = None;
        }
        let parents = parents(&running.change.path);
        let makes = matches!(running.attempt, Some(Attempt::Write(_))) && !parents.is_empty();
        if makes && error.is(NodeError::NoNode) {
            let missing = parents.into_iter().rev().collect();
            self.make_parents(running, missing);
        } else {
            // Not by this change: it was refused.
            self.read(Running { attempt: None, ..running });
        }
    }

    /// Begins changes that wait, as many as may be under way at once, one for each node.
    fn begin(&mut self) {
        let mut at = 0;
        while self.connected && self.running.len() < self.at_once_max {
            let Some(next) = self.queue.get(at) else { break };
            if self.busy.contains(&next.path) {
                at += 1;
                continue;
            }
            if let Some(change) = self.queue.remove(at) {
                self.busy.insert(change.path.clone());
                self.read(Running {
                    change,
                    step: Step::Read,
                    deletions: None,
                    has_turn: false,
                    attempt: None,
                    may_be_done: false,
                });
            }
        }
    }

    fn read(&mut self, running: Running) {
        if is_of_topic(&running.change.path) && self.deletions.is_none() {
            let path = paths::TOPIC_DELETIONS.into();
            let request = Request::Exists { path, watch: false };
            return self.ask(Running { step: Step::Deletions, ..running }, request);
        }
        let path = running.change.path.clone();
        let deletions = self.deletions.filter(|_| is_of_topic(&path));
        self.ask(Running { step: Step::Read, deletions, ..running }, Request::Data { path, watch: false });
    }

    fn decide(&mut self, mut running: Running, found: Option<(&Vec<u8>, i32)>, zxid: Zxid) {
        if running.is_done(found.map(|(data, _)| data)) {
            return self.written(running, zxid);
        }
        let path = running.change.path.clone();
        let data = found.map(|(data, _)| data.as_slice());
        let decision = (running.change.compute)(Found { data, may_be_done: running.may_be_done });
        let request = match (decision, found) {
            (Decision::Write(data), Some((_, version))) => {
                running.attempt = Some(Attempt::Write(data.clone()));
                write(path, data, version, running.deletions)
            }
            (Decision::Write(data), None) => {
                running.attempt = Some(Attempt::Write(data.clone()));
                let (data, acl) = (Some(data), self.acl.clone());
                Request::Create { path, data, acl, mode: CreateMode::Persistent }
            }
            (Decision::Delete, Some(_)) if self.must_wait(&running) => {
                return self.held.push_back(running);
            }
            (Decision::Delete, Some((_, version))) => {
                running.attempt = Some(Attempt::Delete);
                if running.deletions.is_some() {
                    (running.has_turn, self.is_turn_taken, self.deletions) = (true, true, None);
                }
                delete(path, version, running.deletions)
            }
            (Decision::Delete | Decision::Keep, None) => {
                return self.finish(running, zxid, Ended::Done(None));
            }
            (Decision::Keep, Some((data, _))) => {
                return self.finish(running, zxid, Ended::Done(Some(data.clone())));
            }
            (Decision::Refuse(error, why), _) => {
                return self.finish(running, zxid, Ended::Refused(error, why));
            }
        };
        self.ask(Running { step: Step::Write, ..running }, request);
    }

    /// Whether another change has the turn to delete a topic.
    fn must_wait(&self, running: &Running) -> bool {
        running.deletions.is_some() && self.is_turn_taken && !running.has_turn
    }

    fn make_parents(&mut self, running: Running, mut missing: Vec<String>) {
        let Some(path) = missing.pop() else {
            return self.read(Running { attempt: None, ..running });
        };
        let acl = self.acl.clone();
        let create = Request::Create { path, data: Some(Vec::new()), acl, mode: CreateMode::Persistent };
        self.ask(Running { step: Step::Parent(missing), ..running }, create);
    }

    fn written(&mut self, running: Running, zxid: Zxid) {
        let data = match &running.attempt {
            Some(Attempt::Write(data)) => Some(data.clone()),
            Some(Attempt::Delete) | None => None,
        };
        self.finish(running, zxid, Ended::Done(data));
    }

    fn finish(&mut self, running: Running, zxid: Zxid, ended: Ended) {
        self.busy.remove(&running.change.path);
        if running.has_turn {
            self.pass_turn();
        }
        let Change { path, ticket, .. } = running.change;
        self.finished.push_back(Finished { path, zxid, ticket, ended });
        self.begin();
    }

    fn ask(&mut self, running: Running, request: Request) {
        let id = RequestId(self.next_id);
        self.next_id += 1;
        self.running.insert(id, running);
        self.unsent.push_back(Ask { id, request });
    }
}

/// Sets the data of a node with that version; of a topic if none was deleted since.
fn write(path: String, data: Vec<u8>, version: i32, deletions: Option<i32>) -> Request {
    match deletions {
        Some(deletions) => {
            let checked = Multi::new().check(paths::TOPIC_DELETIONS, deletions);
            Request::Commit(checked.set_data(&path, data, version))
        }
        None => Request::SetData { path, data: Some(data), version },
    }
}

/// How many topics were deleted with the one that this is the reply for.
fn counted(reply: &Reply) -> Option<i32> {
    let Reply::Committed(results) = reply else { return None };
    match results.first()? {
        MultiResult::Set(stat) => Some(stat.version),
        _ => None,
    }
}

/// Deletes a node with that version; a topic if none was deleted since, and the next ones know of it.
fn delete(path: String, version: i32, deletions: Option<i32>) -> Request {
    match deletions {
        Some(deletions) => {
            let counted = Multi::new().set_data(paths::TOPIC_DELETIONS, [], deletions);
            Request::Commit(counted.delete(&path, version))
        }
        None => Request::Delete { path, version },
    }
}

fn is_of_the_node(error: &Error) -> bool {
    [NodeError::BadVersion, NodeError::NoNode, NodeError::NodeExists].iter().any(|code| error.is(*code))
}

fn is_of_topic(path: &str) -> bool {
    paths::topic_of(path).is_some()
}

fn is_there(result: &Result<Reply, Error>) -> bool {
    result.as_ref().is_err_and(|error| error.is(NodeError::NodeExists))
}

/// The nodes above a node, the highest first.
fn parents(path: &str) -> Vec<String> {
    let ends = path.char_indices().filter(|(at, character)| *at > 0 && *character == '/').map(|(at, _)| at);
    ends.filter_map(|end| path.get(..end)).map(String::from).collect()
}
