//! What a shard needs from its thread besides sockets: the tree, the core's stream, the lease, four-letter words and
//! the log.

use base::Now;
use council_tree::Tree;
use council_wire::SessionId;
use net_event_loop::{ConnId, SocketDriver};

use crate::connection::Peer;
use crate::event::FrontEvent;
use crate::message::{FromCore, ToCore};

/// What a shard sees of the core at one moment: the stream can be taken only together with the tree that it leads to.
pub trait View {
    /// The tree. Nothing is applied to it as long as the view is held.
    fn tree(&self) -> &Tree;

    /// Takes all that the core's stream holds. `into` is empty.
    fn take_stream(&mut self, into: &mut Vec<FromCore>);

    /// Says whether any client of the shard watches anything: whether what is applied from now on is worth waking the
    /// shard for ([`FromCore::wake_for`]).
    fn set_watches(&mut self, any: bool);

    /// Whether clients may be answered at this moment, by the lease that the core has told last.
    fn may_answer(&self) -> bool;
}

/// What ZooKeeper's service needs besides sockets.
pub trait ShardDriver: SocketDriver<Peer = Peer> {
    /// See [`View`].
    type View<'v>: View
    where
        Self: 'v;

    /// Whether the core's stream holds anything.
    fn has_stream(&self) -> bool;

    /// Takes a view.
    fn view(&mut self) -> Self::View<'_>;

    /// Sends messages to the core, in this order; `messages` is left empty.
    fn send(&mut self, messages: &mut Vec<ToCore>, now: Now);

    /// All that was taken from the stream in this round was delivered, and the view is given up.
    fn delivered(&mut self, stream: &[FromCore]);

    /// The client at this socket was given a session, as this connection of it.
    fn connected(&mut self, conn: ConnId, session: SessionId, generation: u32, socket: &Self::Socket);

    /// A client asked for a four-letter word, perhaps with a number behind it. Gives the whole answer, or nothing if it
    /// will come by [`crate::Front::word_reply`].
    fn word(&mut self, conn: ConnId, word: [u8; 4], argument: Option<i64>) -> Option<Vec<u8>>;

    /// Something worth a line in a log. The socket is that of the event's connection, if it has one.
    fn note(&mut self, event: &FrontEvent, socket: Option<&Self::Socket>);
}
