//! What a session reports to its driver, in order.

use council_wire::{KeeperState, SessionId};

use crate::attempt::Attempt;
use crate::event::Event;
use crate::operation::Answer;
use crate::path::Chroot;
use crate::state::{SessionState, Ticket};

/// Takes the reports of a session. `T` comes back with the reply to the request it was submitted with; `W` names a
/// watcher.
///
/// The calls come in one order, that of the connection: an event comes before the reply of any request that could show
/// its change. They are made within a call of the session, so none of them may block.
pub trait Handler<T, W> {
    /// The reply to a request, or why there is none.
    fn reply(&mut self, tag: T, answer: Answer<'_>, chroot: &Chroot);

    /// Something happened to a node that the watcher was left at, or the session is over for it (then the event has no
    /// path).
    fn event(&mut self, watcher: &W, event: &Event);

    /// The state of the connection changed; for each watcher that [listens](crate::ClientMachine::listen).
    fn state(&mut self, listener: &W, change: StateChange);

    /// Something that a person or a status page may want to know.
    fn notice(&mut self, _notice: Notice<'_>) {}
}

/// A change of the state of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateChange {
    /// The state now.
    pub state: KeeperState,
    /// The session, 0 when there is none.
    pub session: SessionId,
}

/// See [`Handler::notice`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice<'a> {
    /// A server is connected, under this session.
    Connected {
        /// Whether it only reads.
        state: SessionState,
        /// The session.
        ticket: &'a Ticket,
        /// The session timeout that the server gave, in milliseconds.
        timeout_ms: i32,
    },
    /// No server is connected any more.
    State(SessionState),
    /// An attempt to reach a server failed.
    Failed(Attempt),
    /// Every server was tried once more, without success.
    RoundOver,
}
