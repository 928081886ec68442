//! From sockets to the frontend: reading in turns, and keeping what is not a whole frame yet.

use base::Now;

use crate::driver::{Broken, ReadOutcome, SocketDriver};
use crate::frontend::Frontend;
use crate::input::Piece;
use crate::sockets::{Socket, Stage, enqueue};
use crate::{ARENA_BYTES, EventLoop, READ_BYTES_MAX};

/// How many sockets whose encryption is being agreed on are read in a turn. A handshake is a millisecond of arithmetic, and
/// those that are open must not wait for a thousand of them.
const OPENINGS_PER_TURN_MAX: usize = 8;

impl<S> EventLoop<S> {
    /// Reads once from every socket that was ready when the turn began, as far as the arena reaches.
    pub(crate) fn gather<D, F>(&mut self, driver: &mut D, front: &mut F, now: Now)
    where
        D: SocketDriver<Socket = S>,
        F: Frontend<D>,
    {
        let (mut used, mut openings) = (0, 0);
        for _ in 0..self.ready.len() {
            if ARENA_BYTES - used < READ_BYTES_MAX {
                break;
            }
            let Some(token) = self.ready.pop_front() else { break };
            if self.sockets.get(token).is_some_and(|socket| socket.stage == Stage::Opening) {
                openings += 1;
                if openings > OPENINGS_PER_TURN_MAX {
                    // It waits for the next turn, which comes at once.
                    self.ready.push_back(token);
                    continue;
                }
            }
            used += self.read_one(driver, front, token, used, now);
        }
    }

    /// Reads from one socket into the arena from `used` on; says how many of its bytes are taken now.
    fn read_one<D, F>(&mut self, driver: &mut D, front: &mut F, token: u32, used: usize, now: Now) -> usize
    where
        D: SocketDriver<Socket = S>,
        F: Frontend<D>,
    {
        let Some(socket) = self.sockets.get(token) else { return 0 };
        socket.queued = false;
        if socket.paused {
            return 0;
        }
        if socket.stage == Stage::Opening {
            match driver.prepare(&mut socket.io) {
                Ok(true) => {}
                Ok(false) => return 0,
                Err(Broken) => {
                    self.linger(driver, front, token, now);
                    return 0;
                }
            }
        }
        let is_opening = socket.stage == Stage::Opening;
        let most = socket.conn.map_or(usize::MAX, |conn| front.read_bytes_max(conn));
        let Some(buffer) = self.arena.get_mut(used..used + READ_BYTES_MAX.min(most.max(1))) else { return 0 };
        let Ok(read) = read(driver, socket, buffer) else {
            match is_opening {
                // Closed at once, a socket with unread input is reset, and its client may never read why it was refused.
                true => self.linger(driver, front, token, now),
                false => self.drop_socket(driver, front, token),
            }
            return 0;
        };
        if read.is_none() {
            self.ended.push(token);
        }
        self.take_input(driver, front, token, used, read.unwrap_or(0), now)
    }

    /// Queues what was read for the frontend.
    fn take_input<D, F>(
        &mut self,
        driver: &mut D,
        front: &mut F,
        token: u32,
        used: usize,
        length: usize,
        now: Now,
    ) -> usize
    where
        D: SocketDriver<Socket = S>,
        F: Frontend<D>,
    {
        let Some(socket) = self.sockets.get(token) else { return 0 };
        if socket.readable {
            enqueue(&mut self.ready, token, socket);
        }
        match socket.stage {
            Stage::Opening => {
                if !self.try_open(driver, front, token, now) {
                    return 0;
                }
            }
            Stage::Open => {}
            // The frontend gets no more input.
            Stage::Closing | Stage::Lingering => return 0,
        }
        let Some(socket) = self.sockets.get(token) else { return 0 };
        if socket.partial.is_empty() {
            if length > 0 {
                self.pieces.push(Piece { token, arena: Some(used..used + length) });
            }
            return length;
        }
        if let Some(bytes) = self.arena.get(used..used + length) {
            socket.partial.extend_from_slice(bytes);
        }
        self.pieces.push(Piece { token, arena: None });
        0
    }

    /// Makes a connection known to the frontend as soon as it can be opened; false while it cannot.
    pub(crate) fn try_open<D, F>(&mut self, driver: &mut D, front: &mut F, token: u32, now: Now) -> bool
    where
        D: SocketDriver<Socket = S>,
        F: Frontend<D>,
    {
        let Some(socket) = self.sockets.get(token) else { return false };
        match driver.open(&mut socket.io) {
            Ok(Some(peer)) => {
                socket.stage = Stage::Open;
                let conn = front.accept(peer, now);
                self.sockets.name(token, conn);
                true
            }
            Ok(None) => false,
            Err(Broken) => {
                self.drop_socket(driver, front, token);
                false
            }
        }
    }
}

/// How many bytes one read gave; nothing if the peer will send no more.
fn read<D: SocketDriver>(
    driver: &mut D,
    socket: &mut Socket<D::Socket>,
    buffer: &mut [u8],
) -> Result<Option<usize>, Broken> {
    let backlog = core::mem::take(&mut socket.backlog);
    let arrival = match socket.readable && !backlog {
        true => driver.read(&mut socket.io, buffer)?,
        // Only what it kept is to be looked at again.
        false => ReadOutcome::Nothing,
    };
    Ok(match arrival {
        ReadOutcome::Bytes { length, drained } => {
            socket.readable = !drained || socket.hung_up;
            Some(length)
        }
        ReadOutcome::Nothing => {
            // The poll reports unread bytes only once.
            socket.readable &= backlog;
            Some(0)
        }
        ReadOutcome::End => {
            (socket.readable, socket.ended) = (false, true);
            None
        }
    })
}
