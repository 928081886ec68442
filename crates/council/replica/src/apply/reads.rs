//! Reads behind writes, answered right behind them. A bounded number of bytes of replies is made before others are let in
//! again; what is not made then is made in the next turn, before any other command is applied: so each read shows the tree
//! right behind its write.

use std::collections::VecDeque;

use council_frontend::FromCore;
use council_tree::Tree;
use council_wire::SessionId;

use crate::output::Output;
use crate::proposer::Proposer;
use crate::sessions::Connections;

/// Bytes of replies that are made in one turn.
const REPLY_BYTES_MAX: usize = 1 << 20;
/// What a read costs beside the bytes of its reply, in bytes of a reply.
const READ_BYTES: usize = 256;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct ReadQueue {
    /// Bytes of replies that may still be made in this turn.
    bytes_left: usize,
    /// Sessions with reads whose turn has come and for which nothing was left.
    waiting: VecDeque<SessionId>,
}

impl ReadQueue {
    /// A turn begins, with its full share of bytes.
    pub(crate) const fn begin_turn(&mut self) {
        self.bytes_left = REPLY_BYTES_MAX;
    }

    /// Answers the reads of a session that need not wait any more, as far as this turn has bytes left for replies. Writes
    /// that were held behind them go on.
    pub(crate) fn answer(
        &mut self,
        session: SessionId,
        tree: &Tree,
        connections: &mut Connections,
        proposer: &mut Proposer,
        out: &mut Output,
    ) {
        let Some(held) = connections.held(session) else { return };
        let stream = out.stream(held.shard());
        while self.bytes_left > 0
            && let Some(read) = held.ready_read()
        {
            let reply = read.evaluate(session, tree);
            self.bytes_left = self.bytes_left.saturating_sub(READ_BYTES + reply.frame.len());
            stream.push(FromCore::ReadDone { conn: read.conn, xid: read.xid, reply });
        }
        if held.has_ready_read() {
            self.waiting.push_back(session);
        }
        while let Some(command) = held.released() {
            proposer.released(&command);
        }
    }

    /// Answers reads for which earlier turns had nothing left.
    pub(crate) fn answer_waiting(
        &mut self,
        tree: &Tree,
        connections: &mut Connections,
        proposer: &mut Proposer,
        out: &mut Output,
    ) {
        while self.bytes_left > 0
            && let Some(session) = self.waiting.pop_front()
        {
            self.answer(session, tree, connections, proposer, out);
        }
    }

    /// Whether there are any.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}
