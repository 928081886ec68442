//! The ways in which a socket ends.

use base::Now;

use crate::EventLoop;
use crate::driver::SocketDriver;
use crate::frontend::Frontend;
use crate::sockets::{Stage, enqueue};

/// How long a connection may take to take its last bytes.
const CLOSING_MS: u64 = 10_000;
/// How long the peer of a finished connection may take to close its side.
const LINGER_MS: u64 = 1_000;

impl<S> EventLoop<S> {
    /// Ends a connection that the frontend is done with.
    pub(crate) fn close<D, F>(
        &mut self,
        driver: &mut D,
        front: &mut F,
        token: u32,
        after_output: bool,
        now: Now,
    ) where
        D: SocketDriver<Socket = S>,
        F: Frontend<D>,
    {
        let Some(socket) = self.sockets.get(token) else { return };
        if !after_output {
            self.drop_socket(driver, front, token);
            return;
        }
        socket.stage = Stage::Closing;
        self.flush(driver, front, token, now);
        if self.sockets.get(token).is_some_and(|socket| socket.stage == Stage::Closing) {
            self.set_timer(token, now.mono().plus_ms(CLOSING_MS));
        }
    }

    /// The last byte is on its way: waits for the peer to close.
    pub(crate) fn linger<D, F>(&mut self, driver: &mut D, front: &mut F, token: u32, now: Now)
    where
        D: SocketDriver<Socket = S>,
        F: Frontend<D>,
    {
        let Some(socket) = self.sockets.get(token) else { return };
        driver.say_goodbye(&mut socket.io);
        if let Some(conn) = socket.conn.take() {
            front.disconnected(conn);
        }
        if socket.ended {
            self.drop_socket(driver, front, token);
            return;
        }
        socket.stage = Stage::Lingering;
        socket.paused = false;
        socket.partial = Vec::new();
        socket.readable = true;
        enqueue(&mut self.ready, token, socket);
        self.set_timer(token, now.mono().plus_ms(LINGER_MS));
    }

    /// Closes what peers have closed, except connections that wait for an answer or for their last bytes.
    pub(crate) fn close_ended<D, F>(&mut self, driver: &mut D, front: &mut F)
    where
        D: SocketDriver<Socket = S>,
        F: Frontend<D>,
    {
        let mut ended = core::mem::take(&mut self.ended);
        for token in ended.drain(..) {
            let Some(socket) = self.sockets.get(token) else { continue };
            let unsent = socket.conn.is_some_and(|conn| !front.output(conn).is_empty());
            let stays = match socket.stage {
                Stage::Closing => true,
                Stage::Open => socket.awaits_answer || unsent,
                Stage::Opening | Stage::Lingering => false,
            };
            if socket.ended && !stays {
                self.drop_socket(driver, front, token);
            }
        }
        self.ended = ended;
    }

    /// Closes sockets that were to be open, or gone, by now.
    pub(crate) fn close_overdue<D, F>(&mut self, driver: &mut D, front: &mut F, now: Now)
    where
        D: SocketDriver<Socket = S>,
        F: Frontend<D>,
    {
        while let Some((deadline, token, generation)) = self.timers.first().copied() {
            if deadline > now.mono() {
                break;
            }
            self.timers.pop_first();
            if let Some(socket) = self.sockets.get(token)
                && socket.generation == generation
                && socket.stage != Stage::Open
            {
                self.drop_socket(driver, front, token);
            }
        }
    }

    /// Closes a socket, also if output is left.
    pub(crate) fn drop_socket<D, F>(&mut self, driver: &mut D, front: &mut F, token: u32)
    where
        D: SocketDriver<Socket = S>,
        F: Frontend<D>,
    {
        let Some(socket) = self.sockets.remove(token) else { return };
        let unsent_bytes = socket.conn.map_or(0, |conn| front.unsent(conn));
        if let Some(conn) = socket.conn {
            front.disconnected(conn);
        }
        driver.close(socket.io, unsent_bytes);
    }
}
