//! Which connection of which shard holds a session here, and which of its reads wait for a write.

use base::MonoTime;
use net_event_loop::ConnId;
use std::collections::VecDeque;

use council_frontend::read::evaluate;
use council_frontend::{Asker, Evaluated};
use council_tree::{Command, IdentityList, Operation, Policy, Tree};
use council_wire::{OpCode, SessionId};
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// A read that came behind a write of its own session: evaluated right after that write, before the next command.
#[derive(Debug)]
pub(crate) struct WaitingRead {
    /// The sequence number of the write that it came behind.
    pub(crate) after: u64,
    /// Whether it waits for a barrier as well.
    pub(crate) behind_barrier: bool,
    pub(crate) conn: ConnId,
    pub(crate) xid: i32,
    pub(crate) opcode: OpCode,
    pub(crate) body: Vec<u8>,
    pub(crate) identities: IdentityList,
    pub(crate) policy: Policy,
}

impl WaitingRead {
    /// What the read finds in this tree.
    pub(crate) fn evaluate(&self, session: SessionId, tree: &Tree) -> Evaluated {
        let asker = Asker { session, identities: self.identities.identities(), policy: self.policy };
        evaluate(tree, self.opcode, self.xid, &self.body, asker)
    }
}

/// The generation of a session that was just made.
pub(crate) const FIRST_GENERATION: u32 = 1;

/// A session's connection here.
#[derive(Debug)]
pub(crate) struct Connection {
    shard: u16,
    conn: ConnId,
    generation: u32,
    /// The sequence number of the last command of this connection that was applied.
    applied: u64,
    reads: VecDeque<WaitingRead>,
    /// Of the reads that wait for barriers, how many have theirs, from the front on.
    freed: usize,
    /// Reads behind barriers that came on this connection, and those of them that were answered.
    barriers: (u64, u64),
    /// Commands that came behind such a read, each with how many of those must be answered first: a write's zxid must
    /// not lie below what a read before it has shown.
    behind: VecDeque<(u64, Vec<u8>)>,
    /// When its client was last heard of.
    heard: MonoTime,
}

impl Connection {
    pub(crate) const fn shard(&self) -> u16 {
        self.shard
    }

    pub(crate) const fn conn(&self) -> ConnId {
        self.conn
    }

    pub(crate) const fn generation(&self) -> u32 {
        self.generation
    }

    /// The sequence number of the last command of this connection that was applied.
    pub(crate) const fn applied(&self) -> u64 {
        self.applied
    }

    /// A command of this connection was applied.
    pub(crate) const fn apply(&mut self, sequence: u64) {
        self.applied = sequence;
    }

    /// The read index of one more `sync` is applied.
    pub(crate) const fn free(&mut self) {
        self.freed += 1;
    }

    /// Takes a read in. Says whether it need not wait: what it came behind is applied, and nothing waits before it.
    pub(crate) fn read(&mut self, read: WaitingRead) -> bool {
        let is_ready = !read.behind_barrier && self.applied >= read.after && self.reads.is_empty();
        self.wait(read);
        is_ready
    }

    /// Whether it is this connection of this shard. Each shard counts its own connections: two may have the same
    /// [`ConnId`].
    pub(crate) fn is_at(&self, shard: u16, conn: ConnId) -> bool {
        self.shard == shard && self.conn == conn
    }

    /// A read that has to wait.
    fn wait(&mut self, read: WaitingRead) {
        self.barriers.0 += u64::from(read.behind_barrier);
        self.reads.push_back(read);
    }

    /// Keeps a command until the reads behind barriers before it are answered; false if there are none.
    pub(crate) fn hold(&mut self, command: &[u8]) -> bool {
        let waits = self.barriers.1 < self.barriers.0;
        if waits {
            self.behind.push_back((self.barriers.0, command.to_vec()));
        }
        waits
    }

    /// The next command that need not be held any more.
    pub(crate) fn released(&mut self) -> Option<Vec<u8>> {
        let answered = self.barriers.1;
        self.behind.pop_front_if(|(needed, _)| *needed <= answered).map(|(_, command)| command)
    }

    /// Whether a read need not wait any more.
    pub(crate) fn has_ready_read(&self) -> bool {
        self.reads
            .front()
            .is_some_and(|read| read.after <= self.applied && (!read.behind_barrier || self.freed > 0))
    }

    /// The next read that need not wait any more.
    pub(crate) fn ready_read(&mut self) -> Option<WaitingRead> {
        if !self.has_ready_read() {
            return None;
        }
        let read = self.reads.pop_front()?;
        self.freed -= usize::from(read.behind_barrier);
        self.barriers.1 += u64::from(read.behind_barrier);
        Some(read)
    }
}

/// A connection that waits for its session to be made or attached.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) shard: u16,
    pub(crate) conn: ConnId,
    /// Which connection of the session it will be.
    pub(crate) generation: u32,
}

/// The connections that hold a session here or are about to.
#[derive(Debug)]
pub(crate) struct Connections {
    held: HashMap<SessionId, Connection, FixedState>,
    arrivals: HashMap<SessionId, Vec<Arrival>, FixedState>,
    /// Sessions whose connection is gone, and when their clients were last heard of here.
    parted: HashMap<SessionId, MonoTime, FixedState>,
}

impl Connections {
    pub(crate) fn new() -> Self {
        Self {
            held: HashMap::with_hasher(FixedState::default()),
            arrivals: HashMap::with_hasher(FixedState::default()),
            parted: HashMap::with_hasher(FixedState::default()),
        }
    }

    /// A connection asked for the session, which in the tree has the generation `applied`, if it is there. Gives the
    /// generation that the connection will have, `next` to the one before; `None` if there is no next.
    pub(crate) fn arrive(
        &mut self,
        session: SessionId,
        shard: u16,
        conn: ConnId,
        applied: Option<u32>,
        next: impl FnOnce(u32) -> Option<u32>,
    ) -> Option<u32> {
        let last = self.arrivals.get(&session).and_then(|arrivals| arrivals.last());
        // One that came later may have been attached already, while an earlier one still waits.
        let before = last.map(|last| last.generation).max(applied);
        let generation = before.map_or(Some(FIRST_GENERATION), next)?;
        self.arrivals.entry(session).or_default().push(Arrival { shard, conn, generation });
        Some(generation)
    }

    /// The session was made or attached under this generation: the connection holds it, if it is one of ours.
    pub(crate) fn settle(
        &mut self,
        session: SessionId,
        generation: u32,
        now: MonoTime,
    ) -> Option<(u16, ConnId)> {
        if let Some(held) = self.held.remove(&session) {
            self.parted.insert(session, held.heard);
        }
        let Arrival { shard, conn, .. } = self.leave(session, generation)?;
        self.parted.remove(&session);
        let attachment = Connection {
            shard,
            conn,
            generation,
            applied: 0,
            reads: VecDeque::new(),
            freed: 0,
            barriers: (0, 0),
            behind: VecDeque::new(),
            heard: now,
        };
        self.held.insert(session, attachment);
        Some((shard, conn))
    }

    /// The session could not be made or attached: who had asked.
    pub(crate) fn leave(&mut self, session: SessionId, generation: u32) -> Option<Arrival> {
        let arrivals = self.arrivals.get_mut(&session)?;
        let place = arrivals.iter().position(|arrival| arrival.generation == generation)?;
        let arrival = arrivals.remove(place);
        if arrivals.is_empty() {
            self.arrivals.remove(&session);
        }
        Some(arrival)
    }

    /// The connection is gone.
    pub(crate) fn detach(&mut self, session: SessionId, generation: u32) {
        if self.held.get(&session).is_some_and(|held| held.generation == generation)
            && let Some(held) = self.held.remove(&session)
        {
            self.parted.insert(session, held.heard);
        }
    }

    /// The session is gone.
    pub(crate) fn end(&mut self, session: SessionId) {
        self.held.remove(&session);
        self.parted.remove(&session);
    }

    pub(crate) fn held(&mut self, session: SessionId) -> Option<&mut Connection> {
        self.held.get_mut(&session)
    }

    /// Whether nobody here waits any more for what becomes of this command.
    pub(crate) fn is_settled(&self, command: &Command<'_>) -> bool {
        match (command.origin, &command.operation) {
            (Some(origin), _) => self.held.get(&origin.session).is_none_or(|held| {
                held.generation != origin.generation || Some(held.applied) >= command.last_sequence()
            }),
            (None, Operation::CreateSession { session, .. }) => !self.awaits(*session, FIRST_GENERATION),
            (None, Operation::Attach { session, generation, .. }) => !self.awaits(*session, *generation),
            _ => true,
        }
    }

    fn awaits(&self, session: SessionId, generation: u32) -> bool {
        let arrivals = self.arrivals.get(&session);
        arrivals.is_some_and(|all| all.iter().any(|arrival| arrival.generation == generation))
    }

    /// A shard heard of the session's client. It may say so after everybody was sent away.
    pub(crate) fn heard(&mut self, session: SessionId, heard: MonoTime) {
        let held = self.held.get_mut(&session).map(|held| &mut held.heard);
        if let Some(known) = held.or_else(|| self.parted.get_mut(&session)) {
            *known = heard.max(*known);
        }
    }

    /// How long ago the client of each session that is or was held here was heard of, milliseconds.
    pub(crate) fn ages(&self, now: MonoTime) -> Vec<(SessionId, u64)> {
        let held = self.held.iter().map(|(session, held)| (session, held.heard));
        let all = held.chain(self.parted.iter().map(|(session, heard)| (session, *heard)));
        all.map(|(session, heard)| (*session, now.since(heard))).collect()
    }

    /// Nobody holds anything here any more.
    pub(crate) fn clear(&mut self) {
        self.arrivals.clear();
        self.parted.extend(self.held.drain().map(|(session, held)| (session, held.heard)));
    }

    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A snapshot of another member takes the tree's place: all connections are cut, and only then a shard tells when it last
    /// heard of one of their clients.
    #[test]
    fn client_is_heard_of_also_when_its_connection_was_cut_before() {
        let session = SessionId(7);
        let mut attachments = Connections::new();
        attachments.arrive(session, 0, ConnId { slot: 1, generation: 1 }, None, |_| None);
        assert!(attachments.settle(session, FIRST_GENERATION, MonoTime::of_ms(1_000)).is_some());
        attachments.heard(session, MonoTime::of_ms(2_000));
        assert_eq!(attachments.ages(MonoTime::of_ms(10_000)), [(session, 8_000)]);
        attachments.clear();
        assert_eq!(attachments.ages(MonoTime::of_ms(10_000)), [(session, 8_000)]);
        attachments.heard(session, MonoTime::of_ms(5_000));
        assert_eq!(attachments.ages(MonoTime::of_ms(10_000)), [(session, 5_000)]);
        attachments.end(session);
        attachments.heard(session, MonoTime::of_ms(6_000));
        assert_eq!(attachments.ages(MonoTime::of_ms(10_000)), [], "it has ended");
    }
}
