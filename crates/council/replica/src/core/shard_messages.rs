//! What shards say, and what of it waits for the read index.

use consensus_raft::Role;
use council_frontend::{ConnectRefusal, ToCore};
use council_tree::{Command, Tree};
use council_wire::{OpCode, SessionId};

use super::Core;
use crate::proposals::weight_in;
use crate::read_index::Waiter;
use crate::reconfiguration::ReconfigJudge;
use crate::sessions::{Claim, WaitingRead};

impl Core {
    /// One message of a shard. Messages of one shard come in the order in which it sent them.
    pub fn receive(&mut self, shard: u16, message: ToCore, tree: &Tree) {
        match message {
            ToCore::Command { conn, session, command, opcode, .. } => {
                let command = if opcode == OpCode::Reconfig { self.judged(command) } else { command };
                let held = self.sessions.connections().held(session).filter(|held| held.is_at(shard, conn));
                if !held.is_some_and(|held| held.hold(&command)) {
                    self.proposer.command(&command, weight_in(&command, tree));
                }
            }
            ToCore::Read { conn, session, after, xid, opcode, body, identities, policy } => {
                let behind_barrier = opcode == OpCode::Sync && !self.view.is_alone();
                let read = WaitingRead { after, behind_barrier, conn, xid, opcode, body, identities, policy };
                self.read(shard, session, read, tree);
            }
            ToCore::Connect { .. } => self.connect(shard, message, tree, true),
            ToCore::Touched { round, sessions } => {
                let (leadership, view, out) = (&self.leadership, &self.view, &mut self.out);
                let condemned =
                    self.sessions.shard_answered((shard, round), &sessions, leadership, view, out);
                self.expire(condemned);
            }
            ToCore::Disconnected { session, generation, heard_ms, .. } => {
                self.sessions.disconnected(session, generation, heard_ms);
            }
        }
    }

    /// What the leader makes of a reconfig; elsewhere it is handed on as it is.
    fn judged(&self, command: Vec<u8>) -> Vec<u8> {
        if self.raft.role() != Role::Leader {
            return command;
        }
        let Ok(decoded) = Command::decode(&command) else { return command };
        self.judge().judge(decoded)
    }

    const fn judge(&self) -> ReconfigJudge<'_> {
        ReconfigJudge { view: &self.view, raft: &self.raft, leads: self.leadership.leads() }
    }

    fn read(&mut self, shard: u16, session: SessionId, read: WaitingRead, tree: &Tree) {
        // Without a holder the connection is being cut, and nobody waits for the answer.
        let Some(held) = self.sessions.connections().held(session) else { return };
        if !held.is_at(shard, read.conn) {
            return;
        }
        if read.behind_barrier {
            self.read_index.wait(Waiter::Sync(session, held.generation()));
        }
        if held.read(read) {
            self.answer_reads(session, tree);
        }
    }

    /// A client wants a session. `asks` says whether one that is not known here may still be asked for at the leader:
    /// another member may have opened it a moment ago.
    fn connect(&mut self, shard: u16, message: ToCore, tree: &Tree, asks: bool) {
        let ToCore::Connect { conn, session, password, timeout_ms, last_zxid_seen, .. } = message else {
            return;
        };
        let operation = if !self.is_serving() {
            return self.out.refuse_connection(shard, conn, ConnectRefusal::Closing);
        } else if last_zxid_seen > tree.last_zxid().0 {
            return self.out.refuse_connection(shard, conn, ConnectRefusal::AheadOfServer);
        } else if session == SessionId::NONE {
            Some(self.sessions.create(shard, conn, timeout_ms, tree, &self.view))
        } else if asks && !self.view.is_alone() && tree.session(session).is_none() {
            return self.read_index.wait(Waiter::Connect(shard, message));
        } else {
            let (view, out) = (&self.view, &mut self.out);
            let claim = Claim { session, password: &password, timeout_ms };
            self.sessions.attach(shard, conn, claim, tree, view, out)
        };
        if let Some(operation) = operation {
            self.proposer.propose(operation);
        }
    }

    /// Lets those go on whose read index everything applied has reached.
    pub(super) fn free_waiters(&mut self, tree: &Tree) {
        for waiter in self.read_index.applied(self.applier.index()) {
            match waiter {
                Waiter::Connect(shard, message) => self.connect(shard, message, tree, false),
                Waiter::Serve => self.caught_up(),
                Waiter::Sync(session, generation) => self.free_sync(session, generation, tree),
            }
        }
    }

    fn caught_up(&mut self) {
        let may_serve = self.may_serve();
        if !self.lease.caught_up(may_serve, &self.view, &mut self.out) {
            self.start_serving();
        }
    }

    fn free_sync(&mut self, session: SessionId, generation: u32, tree: &Tree) {
        if let Some(held) = self.sessions.connections().held(session)
            && held.generation() == generation
        {
            held.free();
            self.answer_reads(session, tree);
        }
    }

    /// Answers the reads of a session that need not wait any more.
    pub(super) fn answer_reads(&mut self, session: SessionId, tree: &Tree) {
        let connections = self.sessions.connections();
        self.applier.reads().answer(session, tree, connections, &mut self.proposer, &mut self.out);
    }
}
