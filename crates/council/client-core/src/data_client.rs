//! A client whose requests, replies and events are data: for the simulator, and for services that are state machines
//! themselves.

use std::collections::VecDeque;
use std::time::Duration;

use council_wire::Zxid;

use crate::event::Event;
use crate::handler::{Handler, StateChange};
use crate::machine::ClientMachine;
use crate::operation::{Answer, Reading};
use crate::path::Chroot;
use crate::request::{Replied, Reply, Request};
use crate::settings::Settings;

/// The number of a request, chosen by the caller that submits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// The number of a watcher, chosen by the caller that leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatcherId(pub u64);

/// What came of the requests, the watches and the connection, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// How a request ended.
    Replied(RequestId, Replied),
    /// An event, for the watcher that was left.
    Event(WatcherId, Event),
    /// A change of the connection's state, for a watcher that listens.
    State(WatcherId, StateChange),
}

/// What comes back with a reply.
#[derive(Debug)]
pub struct Tag {
    id: RequestId,
    reading: Reading<Reply>,
}

/// Keeps outputs until they are taken: what the calls of a [`DataClient`]'s machine are given.
#[derive(Debug, Default)]
pub struct Outputs(VecDeque<Output>);

/// See the module. The machine is public: the driver's half of its calls is done on it, with `outputs`.
pub struct DataClient {
    /// The client.
    pub machine: ClientMachine<Tag, WatcherId>,
    /// Its replies, events and changes of state.
    pub outputs: Outputs,
}

impl DataClient {
    /// A client that begins to connect at once.
    #[must_use]
    pub fn new(settings: Settings, now: Duration) -> Self {
        Self { machine: ClientMachine::new(settings, now), outputs: Outputs::default() }
    }

    /// Submits a request; one that leaves a watch leaves it for `watcher`. A request with a path that is not one ends at
    /// once.
    pub fn submit(&mut self, id: RequestId, request: &Request, watcher: Option<WatcherId>) {
        match request.operation(self.machine.chroot()) {
            Ok(operation) => {
                let (asked, reading) = operation.into_parts(watcher);
                self.machine.submit(asked, Tag { id, reading }, &mut self.outputs);
            }
            Err(error) => {
                let replied = Replied { zxid: Zxid(-1), result: Err(error) };
                self.outputs.0.push_back(Output::Replied(id, replied));
            }
        }
    }

    /// The next output, if there is one.
    pub fn output(&mut self) -> Option<Output> {
        self.outputs.0.pop_front()
    }
}

impl Handler<Tag, WatcherId> for Outputs {
    fn reply(&mut self, tag: Tag, answer: Answer<'_>, chroot: &Chroot) {
        let replied = Replied::of(tag.reading, answer, chroot);
        self.0.push_back(Output::Replied(tag.id, replied));
    }

    fn event(&mut self, watcher: &WatcherId, event: &Event) {
        self.0.push_back(Output::Event(*watcher, event.clone()));
    }

    fn state(&mut self, listener: &WatcherId, change: StateChange) {
        self.0.push_back(Output::State(*listener, change));
    }
}
