//! From sockets to the front: reading in turns, and keeping what is not a whole frame yet.

use council_tree::Tree;

use super::socket::Stage;
use super::{ARENA_BYTES, Input, READ_BYTES_MAX, Shard, enqueue};
use crate::clock::Moment;
use crate::net::transport::Arrival;

/// The word that a number of eight bytes follows.
const STMK: &[u8] = b"stmk";
const STMK_BYTES: usize = 12;

impl Shard {
    /// Reads once from every socket that was ready when the round began, as far as the arena reaches.
    pub(super) fn gather(&mut self, now: Moment) {
        let mut used = 0;
        for _ in 0..self.ready.len() {
            if ARENA_BYTES - used < READ_BYTES_MAX {
                break;
            }
            let Some(token) = self.ready.pop_front() else { break };
            used += self.read_one(token, used, now);
        }
    }

    /// Reads from one socket into the arena from `used` on; says how many of its bytes are taken now.
    fn read_one(&mut self, token: u32, used: usize, now: Moment) -> usize {
        let Some(socket) = self.sockets.get(token) else { return 0 };
        socket.queued = false;
        if socket.paused {
            return 0;
        }
        if socket.stage == Stage::Opening
            && let Some(context) = &self.links.tls
        {
            match socket.transport.decide(context) {
                Ok(true) if socket.transport.is_encrypted() => {
                    socket.handshake.get_or_insert_with(|| self.links.metrics.handshake());
                }
                Ok(true) => {}
                Ok(false) => return 0,
                Err(_) => {
                    self.drop_socket(token);
                    return 0;
                }
            }
        }
        let whole = self.arena.get_mut(used..used + READ_BYTES_MAX);
        let Some(buffer) = whole else { return 0 };
        let backlog = std::mem::take(&mut socket.backlog);
        let arrival = match socket.readable && !backlog {
            true => socket.transport.read(buffer),
            // Only what it kept is to be looked at again.
            false => Ok(Arrival::Nothing),
        };
        let length = match arrival {
            Ok(Arrival::Bytes { length, drained }) => {
                socket.readable = !drained || socket.hung_up;
                length
            }
            Ok(Arrival::Nothing) => {
                // The poll tells of what was not read only once.
                socket.readable &= backlog;
                0
            }
            Ok(Arrival::End) => {
                socket.readable = false;
                socket.ended = true;
                self.ended.push(token);
                0
            }
            Err(error) => {
                self.troubles.broke(socket.peer, socket.stage, &error);
                self.drop_socket(token);
                return 0;
            }
        };
        self.take_input(token, used, length, now)
    }

    /// Queues what was read for the front.
    fn take_input(&mut self, token: u32, used: usize, length: usize, now: Moment) -> usize {
        let Some(socket) = self.sockets.get(token) else { return 0 };
        if socket.readable {
            enqueue(&mut self.ready, token, socket);
        }
        match socket.stage {
            Stage::Opening => {
                if !self.try_open(token, now) {
                    return 0;
                }
            }
            Stage::Open => {}
            // Nobody listens any more.
            Stage::Closing | Stage::Lingering => return 0,
        }
        let Some(socket) = self.sockets.get(token) else { return 0 };
        if socket.partial.is_empty() {
            if length > 0 {
                self.inputs.push(Input { token, arena: Some(used..used + length) });
            }
            return length;
        }
        if let Some(bytes) = self.arena.get(used..used + length) {
            socket.partial.extend_from_slice(bytes);
        }
        self.inputs.push(Input { token, arena: None });
        0
    }

    /// Makes an encrypted connection known once it is agreed upon; false while it is not.
    fn try_open(&mut self, token: u32, now: Moment) -> bool {
        let Some(socket) = self.sockets.get(token) else { return false };
        // The handshake's own answers.
        if socket.transport.write(&[]).is_err() {
            self.drop_socket(token);
            return false;
        }
        if socket.transport.is_opening() {
            return false;
        }
        let ip = socket.peer.ip();
        let verifies = self.links.tls.as_ref().is_some_and(|context| context.verifies_hostname());
        if verifies && socket.transport.session().is_some_and(|session| !session.names(ip)) {
            tracing::warn!(peer = %socket.peer, "a client's certificate does not name the client's address");
            self.drop_socket(token);
            return false;
        }
        self.open(token, now);
        true
    }

    /// Hands everything that was read to the front.
    pub(super) fn receive_inputs(&mut self, tree: &Tree, now: Moment) {
        let inputs = std::mem::take(&mut self.inputs);
        for Input { token, arena } in &inputs {
            self.receive_input(*token, arena.clone(), tree, now);
        }
        self.inputs = inputs;
        self.inputs.clear();
    }

    fn receive_input(&mut self, token: u32, arena: Option<std::ops::Range<usize>>, tree: &Tree, now: Moment) {
        let Some(socket) = self.sockets.get(token) else { return };
        let Some(conn) = socket.conn else { return };
        let bytes = match &arena {
            Some(range) => self.arena.get(range.clone()).unwrap_or_default(),
            None => socket.partial.as_slice(),
        };
        let mut consumed = 0;
        if !socket.fresh || is_stmk_whole(bytes, &mut socket.argument) {
            consumed = self.front.receive(conn, bytes, tree, now.for_front()).min(bytes.len());
            socket.fresh &= consumed == 0;
        }
        match &arena {
            Some(range) => {
                let rest = self.arena.get(range.start + consumed..range.end).unwrap_or_default();
                socket.partial.extend_from_slice(rest);
            }
            None if consumed == socket.partial.len() => socket.partial = Vec::new(),
            None => drop(socket.partial.drain(..consumed)),
        }
    }
}

/// Whether a fresh connection's first bytes may be looked at: not while the number behind `stmk` is missing, which
/// is kept aside here because to the front a word is its four letters.
fn is_stmk_whole(bytes: &[u8], argument: &mut Option<i64>) -> bool {
    if !bytes.starts_with(STMK) {
        return true;
    }
    let number = bytes.get(STMK.len()..STMK_BYTES).and_then(|number| number.try_into().ok());
    *argument = number.map(i64::from_be_bytes);
    argument.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stmk_waits_for_its_number() {
        let mut argument = None;
        assert!(is_stmk_whole(b"ruok", &mut argument));
        assert!(!is_stmk_whole(b"stmk\0\0\0", &mut argument));
        assert!(is_stmk_whole(b"stmk\0\0\0\0\0\0\0\x05\n", &mut argument));
        assert_eq!(argument, Some(5));
    }
}
