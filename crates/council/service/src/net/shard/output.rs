//! From the front to sockets: one write a round for all that a connection has to say, and the ways a socket ends.

use super::socket::Stage;
use super::{CLOSING_MS, LINGER_MS, Shard, WRITE_BYTES_MAX, enqueue};
use crate::clock::Moment;

impl Shard {
    /// Writes to every connection that has something new to say or whose socket has room again.
    pub(super) fn write_all(&mut self, now: Moment) {
        let mut writable = std::mem::take(&mut self.writable);
        writable.extend(self.front.dirty());
        for conn in writable.drain(..) {
            if let Some(token) = self.sockets.token_of(conn) {
                self.flush(token, now);
            }
        }
        self.writable = writable;
    }

    /// Writes what a connection has to say until its socket takes no more, or its share of the round is used up.
    fn flush(&mut self, token: u32, now: Moment) {
        let Some(socket) = self.sockets.get(token) else { return };
        let Some(conn) = socket.conn else { return };
        let mut room = WRITE_BYTES_MAX;
        while !socket.blocked {
            let pending = self.front.output(conn);
            if pending.is_empty() && !socket.transport.wants_write() {
                break;
            }
            if room == 0 {
                // A client that reads as fast as it is written to would keep all others waiting.
                self.unfinished.push(conn);
                return;
            }
            let pending = pending.get(..room).unwrap_or(pending);
            let length = pending.len();
            match socket.transport.write(pending) {
                Ok(taken) => {
                    room -= taken;
                    self.front.sent(conn, taken);
                    socket.blocked = taken < length || socket.transport.wants_write();
                }
                Err(error) => {
                    tracing::debug!(peer = %socket.peer, %error, "a connection broke");
                    self.drop_socket(token);
                    return;
                }
            }
        }
        if socket.blocked {
            return;
        }
        if socket.stage == Stage::Closing {
            self.linger(token, now);
        } else if socket.ended && !socket.asked {
            self.drop_socket(token);
        }
    }

    /// Ends a connection that the front is done with.
    pub(super) fn close(&mut self, token: u32, after_output: bool, now: Moment) {
        let Some(socket) = self.sockets.get(token) else { return };
        if !after_output {
            self.drop_socket(token);
            return;
        }
        socket.stage = Stage::Closing;
        self.flush(token, now);
        if self.sockets.get(token).is_some_and(|socket| socket.stage == Stage::Closing) {
            self.set_timer(token, now.mono_ms() + CLOSING_MS);
        }
    }

    /// The last byte is on its way: waits for the peer to close.
    pub(super) fn linger(&mut self, token: u32, now: Moment) {
        let Some(socket) = self.sockets.get(token) else { return };
        socket.transport.say_goodbye();
        if let Some(conn) = socket.conn.take() {
            self.front.disconnected(conn);
        }
        if socket.ended {
            self.drop_socket(token);
            return;
        }
        socket.stage = Stage::Lingering;
        socket.paused = false;
        socket.partial = Vec::new();
        socket.readable = true;
        enqueue(&mut self.ready, token, socket);
        self.set_timer(token, now.mono_ms() + LINGER_MS);
    }

    /// Closes what peers have closed, but for those that wait for the answer to a word or for their last bytes.
    pub(super) fn close_ended(&mut self) {
        let mut ended = std::mem::take(&mut self.ended);
        for token in ended.drain(..) {
            let Some(socket) = self.sockets.get(token) else { continue };
            let unsent = socket.conn.is_some_and(|conn| !self.front.output(conn).is_empty());
            let stays = match socket.stage {
                Stage::Closing => true,
                Stage::Open => socket.asked || unsent,
                Stage::Opening | Stage::Lingering => false,
            };
            if socket.ended && !stays {
                self.drop_socket(token);
            }
        }
        self.ended = ended;
    }

    /// Closes a socket, whatever is still to be said.
    pub(super) fn drop_socket(&mut self, token: u32) {
        if let Some(socket) = self.sockets.remove(token)
            && let Some(conn) = socket.conn
        {
            self.front.disconnected(conn);
        }
    }
}
