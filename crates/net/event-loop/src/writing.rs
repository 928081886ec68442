//! From the frontend to sockets: one write a turn for all output of a connection.

use base::Now;

use crate::driver::{Broken, SocketDriver};
use crate::frontend::Frontend;
use crate::sockets::Stage;
use crate::{EventLoop, WRITE_BYTES_MAX};

impl<S> EventLoop<S> {
    /// Writes to every connection that has new output or whose socket has room again.
    pub(crate) fn write_all<D, F>(&mut self, driver: &mut D, front: &mut F, now: Now)
    where
        D: SocketDriver<Socket = S>,
        F: Frontend<D>,
    {
        let mut writable = core::mem::take(&mut self.writable);
        front.take_dirty(&mut writable);
        for conn in writable.drain(..) {
            if let Some(token) = self.sockets.token_of(conn) {
                self.flush(driver, front, token, now);
            }
        }
        self.writable = writable;
    }

    /// Writes what a connection has to say until its socket takes no more, or its share of the turn is used up.
    pub(crate) fn flush<D, F>(&mut self, driver: &mut D, front: &mut F, token: u32, now: Now)
    where
        D: SocketDriver<Socket = S>,
        F: Frontend<D>,
    {
        let Some(socket) = self.sockets.get(token) else { return };
        let Some(conn) = socket.conn else { return };
        let mut room = WRITE_BYTES_MAX;
        while !socket.blocked {
            let pending = front.output(conn);
            if pending.is_empty() && !driver.wants_write(&socket.io) {
                break;
            }
            if room == 0 {
                // A client that reads as fast as it is written to would keep all others waiting.
                self.unfinished.push(conn);
                return;
            }
            let pending = pending.first(room);
            let length = pending.len();
            let written = match pending.file {
                None => driver.write(&mut socket.io, pending.bytes),
                Some(part) => driver.write_with_file(&mut socket.io, pending.bytes, part),
            };
            match written {
                Ok(taken) => {
                    room -= taken;
                    front.sent(conn, taken);
                    socket.blocked = taken < length || driver.wants_write(&socket.io);
                }
                Err(Broken) => {
                    self.drop_socket(driver, front, token);
                    return;
                }
            }
        }
        if socket.blocked {
            return;
        }
        if socket.stage == Stage::Closing {
            self.linger(driver, front, token, now);
        } else if socket.ended && !socket.awaits_answer {
            self.drop_socket(driver, front, token);
        }
    }
}
