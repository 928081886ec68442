//! From the front to sockets: one write a round for all that a connection has to say.

use super::driver::{Broken, SocketDriver};
use super::socket::Stage;
use super::{ShardRound, WRITE_BYTES_MAX};
use crate::time::Now;

impl<S> ShardRound<S> {
    /// Writes to every connection that has something new to say or whose socket has room again.
    pub(super) fn write_all<D: SocketDriver<Socket = S>>(&mut self, driver: &mut D, now: Now) {
        let mut writable = core::mem::take(&mut self.writable);
        writable.extend(self.front.dirty());
        for conn in writable.drain(..) {
            if let Some(token) = self.sockets.token_of(conn) {
                self.flush(driver, token, now);
            }
        }
        self.writable = writable;
    }

    /// Writes what a connection has to say until its socket takes no more, or its share of the round is used up.
    pub(super) fn flush<D: SocketDriver<Socket = S>>(&mut self, driver: &mut D, token: u32, now: Now) {
        let Some(socket) = self.sockets.get(token) else { return };
        let Some(conn) = socket.conn else { return };
        let mut room = WRITE_BYTES_MAX;
        while !socket.blocked {
            let pending = self.front.output(conn);
            if pending.is_empty() && !driver.wants_write(&socket.io) {
                break;
            }
            if room == 0 {
                // A client that reads as fast as it is written to would keep all others waiting.
                self.unfinished.push(conn);
                return;
            }
            let pending = pending.get(..room).unwrap_or(pending);
            let length = pending.len();
            match driver.write(&mut socket.io, pending) {
                Ok(taken) => {
                    room -= taken;
                    self.front.sent(conn, taken);
                    socket.blocked = taken < length || driver.wants_write(&socket.io);
                }
                Err(Broken) => {
                    self.drop_socket(driver, token);
                    return;
                }
            }
        }
        if socket.blocked {
            return;
        }
        if socket.stage == Stage::Closing {
            self.linger(driver, token, now);
        } else if socket.ended && !socket.awaits_answer {
            self.drop_socket(driver, token);
        }
    }
}
