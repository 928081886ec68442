//! Delivers replies, events and changes of state to the threads that wait for them.

use council_client_core::operation::Answer;
use council_client_core::{
    Chroot, ClientMachine, Event, EventKind, Handler, KeeperState, Notice, StateChange, Zxid,
};

use crate::event::Watcher;
use crate::status::Status;

/// Takes one reply.
pub(crate) type Sink = Box<dyn FnOnce(Answer<'_>, &Chroot) + Send>;

/// The state machine as this crate drives it.
pub(crate) type Machine = ClientMachine<Sink, Watcher>;

/// See the module.
pub(crate) struct Delivery {
    pub(crate) status: Status,
}

impl Handler<Sink, Watcher> for Delivery {
    fn reply(&mut self, sink: Sink, answer: Answer<'_>, chroot: &Chroot) {
        sink(answer, chroot);
    }

    fn event(&mut self, watcher: &Watcher, event: &Event) {
        watcher.tell(event);
    }

    fn state(&mut self, listener: &Watcher, change: StateChange) {
        listener.tell_state(change);
    }

    fn notice(&mut self, notice: Notice<'_>) {
        match notice {
            Notice::Connected { state, ticket, timeout_ms } => {
                self.status.connected(state, ticket, timeout_ms);
            }
            Notice::State(state) => {
                self.status.server(None);
                self.status.set(state);
            }
            Notice::Failed(attempt) => self.status.failed(attempt),
            Notice::RoundOver => self.status.round_over(),
        }
    }
}

/// A change of state as an event.
pub(crate) fn state_event(state: KeeperState) -> Event {
    Event { kind: EventKind::None, state, path: None, zxid: Zxid(-1) }
}
