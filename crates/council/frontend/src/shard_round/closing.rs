//! The ways in which a socket ends.

use super::ShardRound;
use super::driver::SocketDriver;
use super::socket::{Stage, enqueue};
use crate::time::Now;

/// How long a connection may take to take its last bytes.
const CLOSING_MS: u64 = 10_000;
/// How long the peer of a finished connection may take to close its side.
const LINGER_MS: u64 = 1_000;

impl<S> ShardRound<S> {
    /// Ends a connection that the front is done with.
    pub(super) fn close<D>(&mut self, driver: &mut D, token: u32, after_output: bool, now: Now)
    where
        D: SocketDriver<Socket = S>,
    {
        let Some(socket) = self.sockets.get(token) else { return };
        if !after_output {
            self.drop_socket(driver, token);
            return;
        }
        socket.stage = Stage::Closing;
        self.flush(driver, token, now);
        if self.sockets.get(token).is_some_and(|socket| socket.stage == Stage::Closing) {
            self.set_timer(token, now.mono_ms() + CLOSING_MS);
        }
    }

    /// The last byte is on its way: waits for the peer to close.
    pub(super) fn linger<D: SocketDriver<Socket = S>>(&mut self, driver: &mut D, token: u32, now: Now) {
        let Some(socket) = self.sockets.get(token) else { return };
        driver.say_goodbye(&mut socket.io);
        if let Some(conn) = socket.conn.take() {
            self.front.disconnected(conn);
        }
        if socket.ended {
            self.drop_socket(driver, token);
            return;
        }
        socket.stage = Stage::Lingering;
        socket.paused = false;
        socket.partial = Vec::new();
        socket.readable = true;
        enqueue(&mut self.ready, token, socket);
        self.set_timer(token, now.mono_ms() + LINGER_MS);
    }

    /// Closes what peers have closed, but for connections that wait for an answer or for their last bytes.
    pub(super) fn close_ended<D: SocketDriver<Socket = S>>(&mut self, driver: &mut D) {
        let mut ended = core::mem::take(&mut self.ended);
        for token in ended.drain(..) {
            let Some(socket) = self.sockets.get(token) else { continue };
            let unsent = socket.conn.is_some_and(|conn| !self.front.output(conn).is_empty());
            let stays = match socket.stage {
                Stage::Closing => true,
                Stage::Open => socket.awaits_answer || unsent,
                Stage::Opening | Stage::Lingering => false,
            };
            if socket.ended && !stays {
                self.drop_socket(driver, token);
            }
        }
        self.ended = ended;
    }

    /// Closes sockets that were to be open, or gone, by now.
    pub(super) fn close_overdue<D: SocketDriver<Socket = S>>(&mut self, driver: &mut D, now: Now) {
        while let Some((deadline, token, generation)) = self.timers.first().copied() {
            if deadline > now.mono_ms() {
                break;
            }
            self.timers.pop_first();
            if let Some(socket) = self.sockets.get(token)
                && socket.generation == generation
                && socket.stage != Stage::Open
            {
                self.drop_socket(driver, token);
            }
        }
    }

    /// Closes a socket, whatever is still to be said.
    pub(super) fn drop_socket<D: SocketDriver<Socket = S>>(&mut self, driver: &mut D, token: u32) {
        let Some(socket) = self.sockets.remove(token) else { return };
        let unsent_bytes = socket.conn.map_or(0, |conn| self.front.unsent(conn));
        if let Some(conn) = socket.conn {
            self.front.disconnected(conn);
        }
        driver.close(socket.io, unsent_bytes);
    }
}
