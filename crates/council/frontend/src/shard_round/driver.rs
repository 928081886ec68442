//! What a round asks of its driver. [`SocketDriver`] is about sockets alone; [`ShardDriver`] adds what ZooKeeper's
//! service needs: the tree, the core's stream, the lease, four-letter words and the log.

use council_tree::Tree;
use council_wire::SessionId;

use crate::connection::{ConnId, Peer};
use crate::event::FrontEvent;
use crate::message::{FromCore, ToCore};
use crate::time::Now;

/// What a read gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// So many bytes.
    Bytes {
        /// How many.
        length: usize,
        /// Whether the socket is empty now: the poll announces the next byte that comes.
        drained: bool,
    },
    /// Nothing now.
    Nothing,
    /// The peer will send no more.
    End,
}

/// What a poll tells of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// There may be something to be read, or the socket broke, which the next read tells.
    pub readable: bool,
    /// There is room for output again.
    pub writable: bool,
    /// The peer has closed its side. Its end comes behind what is still to be read.
    pub hung_up: bool,
}

/// A socket that is of no more use. The driver has logged why, if that is worth a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

/// Sockets, without any meaning of what goes over them. Nothing here waits.
pub trait SocketDriver {
    /// A socket, encrypted or not. Dropping it closes it.
    type Socket;

    /// Has the poll announce under this token what becomes of the socket.
    ///
    /// # Errors
    /// It cannot be polled.
    fn watch(&mut self, socket: &mut Self::Socket, token: u32) -> Result<(), Broken>;

    /// Before a read from a socket that is not open: false while it cannot be known whether it will be encrypted.
    ///
    /// # Errors
    /// It broke.
    fn prepare(&mut self, socket: &mut Self::Socket) -> Result<bool, Broken>;

    /// Opens a socket if it can be opened now, and says whose it is. `None` while its encryption is being agreed on.
    ///
    /// # Errors
    /// It broke, or its peer may not connect.
    fn open(&mut self, socket: &mut Self::Socket) -> Result<Option<Peer>, Broken>;

    /// Reads once, no more than there is room for.
    ///
    /// # Errors
    /// It broke.
    fn read(&mut self, socket: &mut Self::Socket, buffer: &mut [u8]) -> Result<Arrival, Broken>;

    /// Writes once; says how many bytes were taken.
    ///
    /// # Errors
    /// It broke.
    fn write(&mut self, socket: &mut Self::Socket, bytes: &[u8]) -> Result<usize, Broken>;

    /// Whether bytes that were taken have yet to reach the socket. Writing nothing sends them.
    fn wants_write(&self, socket: &Self::Socket) -> bool;

    /// Tells the peer that nothing more will come.
    fn say_goodbye(&mut self, socket: &mut Self::Socket);

    /// Closes a socket. So many bytes of output were not sent.
    fn close(&mut self, socket: Self::Socket, unsent_bytes: usize);
}

/// What a shard sees of the core at one moment: the stream can be taken only together with the tree that it leads to.
pub trait View {
    /// The tree. Nothing is applied to it as long as the view is held.
    fn tree(&self) -> &Tree;

    /// Takes all that the core's stream holds. `into` is empty.
    fn take_stream(&mut self, into: &mut Vec<FromCore>);

    /// Whether clients may be answered at this moment, by the lease that the core has told last.
    fn may_answer(&self) -> bool;
}

/// What ZooKeeper's service needs besides sockets.
pub trait ShardDriver: SocketDriver {
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
