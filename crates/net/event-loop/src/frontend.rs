//! What the loop needs of a protocol's connections.

use base::Now;

use crate::conn_id::ConnId;
use crate::driver::SocketDriver;
use crate::input::Input;
use crate::output::Output;
use crate::sockets::SocketsByConn;

/// What a frontend asks of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Close this connection.
    Close {
        /// Which.
        conn: ConnId,
        /// Once its output is sent, or at once.
        after_output: bool,
    },
    /// Stop reading from it, until the frontend asks again.
    PauseReading(ConnId),
    /// Look again at what it has sent and was not consumed, and read on.
    ResumeReading(ConnId),
    /// An answer is being made elsewhere: a connection whose client has closed its side waits for it.
    AwaitAnswer(ConnId),
}

impl Ask {
    /// Which connection it is about.
    #[must_use]
    pub const fn conn(self) -> ConnId {
        match self {
            Self::Close { conn, .. }
            | Self::PauseReading(conn)
            | Self::ResumeReading(conn)
            | Self::AwaitAnswer(conn) => conn,
        }
    }
}

/// The connections of one thread as their protocol sees them: bytes in, bytes out. `D` is what drives the thread, which
/// a frontend may use for more than sockets: for what it shares with other threads.
pub trait Frontend<D: SocketDriver> {
    /// A connection is open.
    fn accept(&mut self, peer: D::Peer, now: Now) -> ConnId;

    /// How many bytes of a connection are read at once, if that is less than the loop's own limit: a frontend that has no
    /// room for more says so here. What was read cannot be given back.
    fn read_bytes_max(&self, _conn: ConnId) -> usize {
        usize::MAX
    }

    /// Evaluates what was read, together with what has come from other threads. Called in every turn, also if nothing
    /// was read.
    fn evaluate(&mut self, driver: &mut D, input: &mut Input<'_, D::Socket>, now: Now);

    /// Sends other threads what they are to know, in order.
    fn send(&mut self, driver: &mut D, now: Now);

    /// What is to be sent to a connection next: when all of it is [`Self::sent`], there may be more.
    fn output(&self, conn: ConnId) -> Output<'_, D::File>;

    /// How many bytes are to be sent to it in all.
    fn unsent(&self, conn: ConnId) -> usize;

    /// The first `count` of those bytes have been handed to the socket.
    fn sent(&mut self, conn: ConnId, count: usize);

    /// Connections with bytes to send that were not there when they were last named here.
    fn take_dirty(&mut self, into: &mut Vec<ConnId>);

    /// What the loop is to do, in this order. Asked for until there is nothing.
    fn asks(&mut self, driver: &mut D, sockets: &mut SocketsByConn<'_, D::Socket>, into: &mut Vec<Ask>);

    /// The socket is gone, no matter which side closed it.
    fn disconnected(&mut self, conn: ConnId);

    /// Whether all that was read is answered.
    fn is_answered(&self) -> bool;

    /// Works off a bounded piece of what can wait. Called in every turn.
    fn sweep(&mut self);

    /// Time passes. Called every now and then.
    fn tick(&mut self, now: Now);
}
