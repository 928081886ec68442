//! What shards say, and what of it waits for the read index.

use council_frontend::{ConnectRefusal, ToCore};
use council_tree::{Command, Tree};
use council_wire::{OpCode, SessionId};

use super::CouncilMachine;
use crate::group::{Group, Waiter};
use crate::proposals::weight_in;
use crate::reconfig_judge::ReconfigJudge;
use crate::sessions::{Claim, WaitingRead};

impl CouncilMachine {
    /// One message of a shard. Messages of one shard come in the order in which it sent them.
    pub(crate) fn receive(&mut self, shard: u16, message: ToCore, tree: &Tree, group: &mut Group) {
        match message {
            ToCore::Command { conn, session, command, opcode, .. } => {
                let command = if opcode == OpCode::Reconfig { self.judged(command, group) } else { command };
                let held = self.sessions.connections().held(session).filter(|held| held.is_at(shard, conn));
                if !held.is_some_and(|held| held.hold(&command)) {
                    self.proposer.command(&command, weight_in(&command, tree));
                }
            }
            ToCore::Read { conn, session, after, xid, opcode, body, identities, policy } => {
                let behind_barrier = opcode == OpCode::Sync && !group.view().is_alone();
                let read = WaitingRead { after, behind_barrier, conn, xid, opcode, body, identities, policy };
                self.read(shard, session, read, tree, group);
            }
            ToCore::Connect { .. } => self.connect(shard, message, tree, true, group),
            ToCore::Touched { round, sessions } => {
                let condemned = self.sessions.shard_answered((shard, round), &sessions, group);
                self.expire(condemned);
            }
            ToCore::Disconnected { session, generation, heard, .. } => {
                self.sessions.disconnected(session, generation, heard);
            }
        }
    }

    /// What the leader makes of a reconfig; elsewhere it is handed on as it is.
    fn judged(&self, command: Vec<u8>, group: &Group) -> Vec<u8> {
        if !group.is_leader() {
            return command;
        }
        let Ok(decoded) = Command::decode(&command) else { return command };
        ReconfigJudge { ensemble: &self.ensemble, group }.judge(decoded)
    }

    fn read(&mut self, shard: u16, session: SessionId, read: WaitingRead, tree: &Tree, group: &mut Group) {
        // Without a holder the connection is being cut, and nobody waits for the answer.
        let Some(held) = self.sessions.connections().held(session) else { return };
        if !held.is_at(shard, read.conn) {
            return;
        }
        if read.behind_barrier {
            group.wait(Waiter::Sync(session, held.generation()));
        }
        if held.read(read) {
            self.answer_reads(session, tree);
        }
    }

    /// A client wants a session. `asks` says whether the leader may still be asked how far the log is committed: another
    /// member may have opened the session, or shown the client something, a moment ago.
    fn connect(&mut self, shard: u16, message: ToCore, tree: &Tree, asks: bool, group: &mut Group) {
        let ToCore::Connect { conn, session, password, timeout_ms, last_zxid_seen, .. } = message else {
            return;
        };
        let is_behind = last_zxid_seen > tree.last_zxid();
        let is_unknown = session != SessionId::NONE && tree.session(session).is_none();
        let operation = if !group.is_serving() {
            return self.out.refuse_connection(shard, conn, ConnectRefusal::Closing);
        } else if asks && !group.view().is_alone() && (is_behind || is_unknown) {
            return group.wait(Waiter::Connect(shard, message));
        } else if is_behind {
            return self.out.refuse_connection(shard, conn, ConnectRefusal::AheadOfServer);
        } else if session == SessionId::NONE {
            Some(self.sessions.create(shard, conn, timeout_ms, tree, group.view().own()))
        } else {
            let claim = Claim { session, password: &password, timeout_ms };
            self.sessions.attach(shard, conn, claim, tree, group.view().own(), &mut self.out)
        };
        if let Some(operation) = operation {
            self.proposer.propose(operation);
        }
    }

    /// Everything is applied that was committed when it came.
    pub(super) fn free(&mut self, waiter: Waiter, tree: &Tree, group: &mut Group) {
        match waiter {
            Waiter::Connect(shard, message) => self.connect(shard, message, tree, false, group),
            Waiter::Sync(session, generation) => self.free_sync(session, generation, tree),
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
        self.reads.answer(session, tree, connections, &mut self.proposer, &mut self.out);
    }
}
