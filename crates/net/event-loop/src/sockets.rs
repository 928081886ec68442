//! The sockets of one thread, by the token that the poll knows them under.

use base::MonoTime;
use std::collections::VecDeque;

use crate::EventLoop;
use crate::conn_id::ConnId;

/// How far a socket is from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its encryption is being agreed on; the frontend does not know it yet.
    Opening,
    /// Open.
    Open,
    /// To be closed once its output is gone.
    Closing,
    /// All output is sent; what the peer still sends is discarded until it closes. Closing right away with unread input
    /// would reset the connection and could destroy the last reply on its way.
    Lingering,
}

/// One client's socket.
pub(crate) struct Socket<S> {
    /// The driver's.
    pub(crate) io: S,
    pub(crate) generation: u32,
    pub(crate) stage: Stage,
    /// What the frontend calls it; not before it is open.
    pub(crate) conn: Option<ConnId>,
    /// Bytes that may be there to be read: the poll reports only new ones.
    pub(crate) readable: bool,
    /// It took less than it was given: nothing is written until the poll reports room.
    pub(crate) blocked: bool,
    /// It stands in the queue of those to be read.
    pub(crate) queued: bool,
    pub(crate) paused: bool,
    /// What it kept while paused is to be looked at before more is read, or it would keep ever more.
    pub(crate) backlog: bool,
    /// The poll has said that the peer closed its side: the end is behind what is still to be read, and will not be
    /// announced again.
    pub(crate) hung_up: bool,
    /// The peer sends no more, and all that it sent was read.
    pub(crate) ended: bool,
    /// An answer is being made elsewhere, which a half-closed connection waits for.
    pub(crate) awaits_answer: bool,
    /// Bytes of a frame that is not whole yet. An idle connection has none and no room for any.
    pub(crate) partial: Vec<u8>,
}

/// All sockets of a thread.
pub(crate) struct Sockets<S> {
    places: Vec<Option<Box<Socket<S>>>>,
    free: Vec<u32>,
    by_conn: Vec<u32>,
    generation: u32,
    pub(crate) count: usize,
}

impl<S> Socket<S> {
    fn new(io: S, generation: u32) -> Self {
        Self {
            io,
            generation,
            stage: Stage::Opening,
            conn: None,
            readable: false,
            blocked: false,
            queued: false,
            paused: false,
            backlog: false,
            hung_up: false,
            ended: false,
            awaits_answer: false,
            partial: Vec::new(),
        }
    }
}

impl<S> Default for Sockets<S> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new(), by_conn: Vec::new(), generation: 0, count: 0 }
    }
}

impl<S> Sockets<S> {
    /// Gives a socket a token.
    pub(crate) fn insert(&mut self, io: S) -> u32 {
        self.generation = self.generation.wrapping_add(1);
        self.count += 1;
        let socket = Some(Box::new(Socket::new(io, self.generation)));
        if let Some(token) = self.free.pop()
            && let Some(place) = self.places.get_mut(token as usize)
        {
            *place = socket;
            return token;
        }
        self.places.push(socket);
        u32::try_from(self.places.len() - 1).expect("a process has fewer than 2^32 sockets")
    }

    pub(crate) fn get(&mut self, token: u32) -> Option<&mut Socket<S>> {
        self.places.get_mut(token as usize)?.as_deref_mut()
    }

    pub(crate) fn remove(&mut self, token: u32) -> Option<Box<Socket<S>>> {
        let socket = self.places.get_mut(token as usize)?.take()?;
        self.free.push(token);
        self.count -= 1;
        Some(socket)
    }

    /// Notes what the frontend calls a socket.
    pub(crate) fn name(&mut self, token: u32, conn: ConnId) {
        let slot = conn.slot as usize;
        if self.by_conn.len() <= slot {
            self.by_conn.resize(slot + 1, u32::MAX);
        }
        if let Some(place) = self.by_conn.get_mut(slot) {
            *place = token;
        }
        if let Some(socket) = self.get(token) {
            socket.conn = Some(conn);
        }
    }

    /// The token of what the frontend calls `conn`, while that socket is there.
    pub(crate) fn token_of(&mut self, conn: ConnId) -> Option<u32> {
        let token = *self.by_conn.get(conn.slot as usize)?;
        (self.get(token)?.conn == Some(conn)).then_some(token)
    }

    /// The socket of what the frontend calls `conn`, while it is there.
    pub(crate) fn of_conn(&mut self, conn: ConnId) -> Option<(u32, &mut Socket<S>)> {
        let token = self.token_of(conn)?;
        Some((token, self.get(token)?))
    }

    pub(crate) fn tokens(&self) -> Vec<u32> {
        let filled = self.places.iter().enumerate().filter(|(_, place)| place.is_some());
        filled.filter_map(|(token, _)| u32::try_from(token).ok()).collect()
    }
}

/// The sockets of a thread, by what the frontend calls them.
pub struct SocketsByConn<'a, S>(pub(crate) &'a mut Sockets<S>);

impl<S> SocketsByConn<'_, S> {
    /// The driver's socket of this connection, while it is there.
    pub fn get(&mut self, conn: ConnId) -> Option<&S> {
        self.0.of_conn(conn).map(|(_, socket)| &socket.io)
    }
}

impl<S> EventLoop<S> {
    /// A socket that is not open by then is closed.
    pub(crate) fn set_timer(&mut self, token: u32, deadline: MonoTime) {
        if let Some(socket) = self.sockets.get(token) {
            self.timers.insert((deadline, token, socket.generation));
        }
    }
}

pub(crate) fn enqueue<S>(ready: &mut VecDeque<u32>, token: u32, socket: &mut Socket<S>) {
    if !socket.queued {
        socket.queued = true;
        ready.push_back(token);
    }
}
