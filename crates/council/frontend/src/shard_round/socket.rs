//! The sockets of one shard, by the token that the poll knows them under.

use std::collections::VecDeque;

use super::ShardRound;
use super::word::FirstWord;
use crate::connection::ConnId;

/// How far a socket is from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its encryption is being agreed on; the front does not know it yet.
    Opening,
    /// Open.
    Open,
    /// To be closed once its output is gone.
    Closing,
    /// Everything is said; what the peer still sends is thrown away until it closes. Closing right away with
    /// unread input would reset the connection and could destroy the last reply on its way.
    Lingering,
}

/// One client's socket.
pub(super) struct Socket<S> {
    /// The driver's.
    pub(super) io: S,
    pub(super) generation: u32,
    pub(super) stage: Stage,
    /// What the front calls it; not before it is open.
    pub(super) conn: Option<ConnId>,
    /// Bytes that may be there to be read: the poll tells only of new ones.
    pub(super) readable: bool,
    /// It took less than it was given: nothing is written until the poll says so.
    pub(super) blocked: bool,
    /// It stands in the queue of those to be read.
    pub(super) queued: bool,
    pub(super) paused: bool,
    /// What it kept while paused is to be looked at before more is read, or it would keep ever more.
    pub(super) backlog: bool,
    /// The poll has said that the peer closed its side: the end is behind what is still to be read, and will not be
    /// announced again.
    pub(super) hung_up: bool,
    /// The peer sends no more, and all that it sent was read.
    pub(super) ended: bool,
    /// An answer is being made elsewhere, which a half-closed connection waits for.
    pub(super) awaits_answer: bool,
    /// Bytes of a frame that is not whole yet. An idle connection has none and no room for any.
    pub(super) partial: Vec<u8>,
    pub(super) first: FirstWord,
}

/// All sockets of a shard.
pub(super) struct Sockets<S> {
    places: Vec<Option<Box<Socket<S>>>>,
    free: Vec<u32>,
    by_front: Vec<u32>,
    generation: u32,
    pub(super) count: usize,
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
            first: FirstWord::default(),
        }
    }
}

impl<S> Default for Sockets<S> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new(), by_front: Vec::new(), generation: 0, count: 0 }
    }
}

impl<S> Sockets<S> {
    /// Gives a socket a token.
    pub(super) fn insert(&mut self, io: S) -> u32 {
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

    pub(super) fn get(&mut self, token: u32) -> Option<&mut Socket<S>> {
        self.places.get_mut(token as usize)?.as_deref_mut()
    }

    pub(super) fn remove(&mut self, token: u32) -> Option<Box<Socket<S>>> {
        let socket = self.places.get_mut(token as usize)?.take()?;
        self.free.push(token);
        self.count -= 1;
        Some(socket)
    }

    /// Notes what the front calls a socket.
    pub(super) fn name(&mut self, token: u32, conn: ConnId) {
        let slot = conn.slot as usize;
        if self.by_front.len() <= slot {
            self.by_front.resize(slot + 1, u32::MAX);
        }
        if let Some(place) = self.by_front.get_mut(slot) {
            *place = token;
        }
        if let Some(socket) = self.get(token) {
            socket.conn = Some(conn);
        }
    }

    /// The token of what the front calls `conn`, while that socket is there.
    pub(super) fn token_of(&mut self, conn: ConnId) -> Option<u32> {
        let token = *self.by_front.get(conn.slot as usize)?;
        (self.get(token)?.conn == Some(conn)).then_some(token)
    }

    /// The socket of what the front calls `conn`, while it is there.
    pub(super) fn of_conn(&mut self, conn: ConnId) -> Option<(u32, &mut Socket<S>)> {
        let token = self.token_of(conn)?;
        Some((token, self.get(token)?))
    }

    pub(super) fn tokens(&self) -> Vec<u32> {
        let filled = self.places.iter().enumerate().filter(|(_, place)| place.is_some());
        filled.filter_map(|(token, _)| u32::try_from(token).ok()).collect()
    }
}

impl<S> ShardRound<S> {
    /// A socket that is not open by then is closed.
    pub(super) fn set_timer(&mut self, token: u32, deadline_ms: u64) {
        if let Some(socket) = self.sockets.get(token) {
            self.timers.insert((deadline_ms, token, socket.generation));
        }
    }
}

pub(super) fn enqueue<S>(ready: &mut VecDeque<u32>, token: u32, socket: &mut Socket<S>) {
    if !socket.queued {
        socket.queued = true;
        ready.push_back(token);
    }
}
