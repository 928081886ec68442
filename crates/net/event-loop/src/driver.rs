//! What the loop needs of the driver, which holds the sockets.

use crate::output::FilePart;

/// What a read gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
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

/// What a poll reports of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// There may be something to be read, or the socket broke, which the next read reports.
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
    /// The peer of a connection.
    type Peer;
    /// A file of which parts are sent.
    type File;

    /// Registers the socket with the poll under this token.
    ///
    /// # Errors
    /// It cannot be polled.
    fn watch(&mut self, socket: &mut Self::Socket, token: u32) -> Result<(), Broken>;

    /// Before a read from a socket that is not open: false while it cannot be known whether it will be encrypted.
    ///
    /// # Errors
    /// It broke, or its peer may not connect. What comes from a peer that was refused is read from then on without being looked
    /// at, until the peer closes its side.
    fn prepare(&mut self, socket: &mut Self::Socket) -> Result<bool, Broken>;

    /// Opens a socket if it can be opened now, and returns its peer. `None` while its encryption is being agreed on.
    ///
    /// # Errors
    /// It broke, or its peer may not connect.
    fn open(&mut self, socket: &mut Self::Socket) -> Result<Option<Self::Peer>, Broken>;

    /// Reads once, no more than there is room for.
    ///
    /// # Errors
    /// It broke.
    fn read(&mut self, socket: &mut Self::Socket, buffer: &mut [u8]) -> Result<ReadOutcome, Broken>;

    /// Writes once; says how many bytes were taken.
    ///
    /// # Errors
    /// It broke.
    fn write(&mut self, socket: &mut Self::Socket, bytes: &[u8]) -> Result<usize, Broken>;

    /// Writes bytes, and behind them a part of a file, until all is written or the socket takes no more; says how many
    /// bytes were taken in all.
    ///
    /// # Errors
    /// It broke, or the file cannot be read: the peer cannot be told in the midst of an answer.
    fn write_with_file(
        &mut self,
        socket: &mut Self::Socket,
        bytes: &[u8],
        part: FilePart<'_, Self::File>,
    ) -> Result<usize, Broken>;

    /// Whether bytes that were taken have yet to reach the socket. Writing nothing sends them.
    fn wants_write(&self, socket: &Self::Socket) -> bool;

    /// Tells the peer that nothing more will come.
    fn say_goodbye(&mut self, socket: &mut Self::Socket);

    /// Closes a socket. So many bytes of output were not sent.
    fn close(&mut self, socket: Self::Socket, unsent_bytes: usize);
}
