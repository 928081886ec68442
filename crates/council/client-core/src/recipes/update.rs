//! Compare-and-set on one node: read, compute, and write if the node has not changed since. Otherwise it tries again.
//!
//! # What holds
//! - [`Outcome::Written`] and [`Outcome::Unchanged`] are certain. [`Outcome::Unknown`] says that the connection broke
//!   while the write was under way: it may have taken effect, once. A caller that must know writes a value that shows
//!   its writer, and reads it.
//! - The recipe does not depend on the session, only on the connection: after an expired session it continues under the
//!   next one.

use council_wire::{Acl, ErrorCode, Malformed, Stat};

use super::queue::OneAtATime;
use super::{Ask, Input, Recipe};
use crate::Error;
use crate::encode::CreateMode;
use crate::request::{Replied, Reply, Request};

/// How an update ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The node has this data now, and this Stat.
    Written(Vec<u8>, Stat),
    /// Nothing was to be written.
    Unchanged,
    /// It may or may not have been written.
    Unknown,
    /// It was not written.
    Failed(Error),
}

/// Computes new data from old (`None` if there is no node); `None` writes nothing. Called once for each try.
pub type Compute = Box<dyn FnMut(Option<&[u8]>) -> Option<Vec<u8>> + Send>;

enum Step {
    Read,
    Write {
        data: Vec<u8>,
        /// Whether there was a node.
        existed: bool,
    },
}

/// See the module.
pub struct NodeUpdate {
    path: String,
    acl: Vec<Acl>,
    compute: Compute,
    writing: bool,
    outcome: Option<Outcome>,
    requests: OneAtATime<Step>,
}

impl NodeUpdate {
    /// Updates a node, or creates it with this ACL.
    #[must_use]
    pub fn new(path: &str, acl: &[Acl], compute: Compute) -> Self {
        Self {
            path: String::from(path),
            acl: acl.to_vec(),
            compute,
            writing: false,
            outcome: None,
            requests: OneAtATime::default(),
        }
    }

    /// How it ended, once it did.
    #[must_use]
    pub const fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    fn read(&mut self) {
        self.writing = false;
        self.requests.ask(Step::Read, Request::Data { path: self.path.clone(), watch: false });
    }

    /// What was asked on the last connection has an unknown end.
    fn parted(&mut self) {
        self.requests.forget();
        if self.writing {
            self.outcome = Some(Outcome::Unknown);
        }
    }

    fn write(&mut self, old: Option<(&[u8], i32)>) {
        let Some(new) = (self.compute)(old.map(|(data, _)| data)) else {
            self.outcome = Some(Outcome::Unchanged);
            return;
        };
        self.writing = true;
        let (path, data) = (self.path.clone(), Some(new.clone()));
        let request = match old {
            Some((_, version)) => Request::SetData { path, data, version },
            None => Request::Create { path, data, acl: self.acl.clone(), mode: CreateMode::Persistent },
        };
        let existed = old.is_some();
        self.requests.ask(Step::Write { data: new, existed }, request);
    }

    fn replied(&mut self, step: Step, result: Result<Reply, Error>) {
        match (step, result) {
            (_, Err(Error::ConnectionLost | Error::SessionExpired)) => self.parted(),
            (Step::Read, Ok(Reply::Data(data, stat))) => {
                self.write(Some((data.as_deref().unwrap_or_default(), stat.version)));
            }
            (Step::Read, Err(error)) if error.is(ErrorCode::NoNode) => self.write(None),
            (Step::Write { data, .. }, Ok(Reply::Set(stat) | Reply::Created(_, stat))) => {
                self.outcome = Some(Outcome::Written(data, stat));
            }
            (Step::Write { existed, .. }, Err(error)) if is_overtaken(&error, existed) => self.read(),
            (_, Err(error)) => self.outcome = Some(Outcome::Failed(error)),
            (_, Ok(_)) => {
                self.outcome = Some(Outcome::Failed(Malformed("reply: of another kind").into()));
            }
        }
    }
}

/// Whether another client has changed, created or deleted the node since it was read.
fn is_overtaken(error: &Error, existed: bool) -> bool {
    match existed {
        true => error.is(ErrorCode::BadVersion) || error.is(ErrorCode::NoNode),
        false => error.is(ErrorCode::NodeExists),
    }
}

impl Recipe for NodeUpdate {
    fn tell(&mut self, input: Input) {
        if self.is_over() {
            return;
        }
        match input {
            Input::Connected { .. } => {
                self.parted();
                if !self.is_over() {
                    self.read();
                }
            }
            Input::Disconnected | Input::Expired => self.parted(),
            Input::Over(error) => {
                self.parted();
                self.outcome.get_or_insert(Outcome::Failed(error));
            }
            Input::Replied(id, replied) => {
                if let Some((step, Replied { result, .. })) = self.requests.take(id, replied) {
                    self.replied(step, result);
                }
            }
            Input::Release => {
                self.parted();
                self.outcome.get_or_insert(Outcome::Failed(Error::Closed));
            }
            Input::Event(_) => {}
        }
    }

    fn next(&mut self) -> Option<Ask> {
        self.requests.next()
    }

    fn is_over(&self) -> bool {
        self.outcome.is_some()
    }
}
