//! What was read in a turn, as the frontend gets it.

use core::ops::Range;

use crate::conn_id::ConnId;
use crate::sockets::{Sockets, SocketsByConn};

/// Bytes that were read from one socket.
pub(crate) struct Piece {
    pub(crate) token: u32,
    /// Where in the arena; `None` when they stand in the socket's own buffer.
    pub(crate) arena: Option<Range<usize>>,
}

/// What was read in a turn: bytes of connections, in the order in which they were read.
pub struct Input<'a, S> {
    pub(crate) pieces: &'a mut Vec<Piece>,
    pub(crate) arena: &'a [u8],
    pub(crate) sockets: &'a mut Sockets<S>,
}

impl<S> Input<'_, S> {
    /// Whether nothing was read.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Hands over the bytes of each connection, those at their head that were not consumed before. `receive` says how
    /// many it has consumed.
    pub fn receive(&mut self, mut receive: impl FnMut(ConnId, &[u8]) -> usize) {
        for Piece { token, arena } in self.pieces.drain(..) {
            let Some(socket) = self.sockets.get(token) else { continue };
            let Some(conn) = socket.conn else { continue };
            match arena {
                Some(range) => {
                    let bytes = self.arena.get(range).unwrap_or_default();
                    let consumed = receive(conn, bytes).min(bytes.len());
                    socket.partial.extend_from_slice(bytes.get(consumed..).unwrap_or_default());
                }
                None => {
                    let consumed = receive(conn, &socket.partial).min(socket.partial.len());
                    match consumed == socket.partial.len() {
                        true => socket.partial = Vec::new(),
                        false => drop(socket.partial.drain(..consumed)),
                    }
                }
            }
        }
    }

    /// The sockets of this thread.
    pub fn sockets(&mut self) -> SocketsByConn<'_, S> {
        SocketsByConn(self.sockets)
    }
}
