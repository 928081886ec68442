//! Sessions: which connection holds each here, how they begin, move and end, and when their silence ends them.

mod connections;
mod container_reaper;
mod expiry;
mod generations;
mod liveness;
mod liveness_round;
mod session_ids;
#[cfg(test)]
mod tests;

use base::{MonoTime, Now};
use consensus_raft::MemberNumber;
use consensus_replica::MemberId;
use council_frontend::{ConnectRefusal, FromCore};
use council_tree::{Operation, Outcome, Tree};
use council_wire::{SessionId, Zxid};
use net_event_loop::ConnId;

pub(crate) use self::connections::{Connections, FIRST_GENERATION, WaitingRead};
pub(crate) use self::container_reaper::ContainerReaper;
use self::expiry::Expiry;
use self::generations::next_generation;
pub(crate) use self::liveness::Condemned;
use self::liveness_round::LivenessRound;
use self::session_ids::{SessionIds, same_password};
use crate::CoreConfig;
use crate::output::{Output, SessionEnd};

/// What happened to sessions since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionCounts {
    /// Sessions that this member, leading, decided to end because of their silence.
    pub(crate) condemned: u64,
    /// Sessions that expired.
    pub(crate) expired: u64,
    /// How often a client that took its session up here was beaten by another connection of it.
    pub(crate) attach_races: u64,
    /// Milliseconds by which sessions were forgiven because this process stood still.
    pub(crate) forgiven_ms: u64,
}

/// A client says that a session is its own.
#[derive(Clone, Copy)]
pub(crate) struct Claim<'a> {
    pub(crate) session: SessionId,
    pub(crate) password: &'a [u8; 16],
    pub(crate) timeout_ms: i32,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Sessions {
    connections: Connections,
    expiry: Expiry,
    ids: SessionIds,
    round: Option<LivenessRound>,
    /// How many rounds were begun.
    rounds: u64,
    shards: u16,
    counts: SessionCounts,
}

impl Sessions {
    pub(crate) fn new(config: &CoreConfig, tree: &Tree, seed: [u8; 32], now: Now) -> Self {
        let mut expiry = Expiry::new(config.tick_ms);
        expiry.track_all(tree, now.mono());
        Self {
            connections: Connections::new(),
            expiry,
            ids: SessionIds::new(config.replica.member.number().0, now.wall, seed),
            round: None,
            rounds: 0,
            shards: config.shards,
            counts: SessionCounts::default(),
        }
    }

    /// A client wants a session of its own: what is to be proposed.
    pub(crate) fn create(
        &mut self,
        shard: u16,
        conn: ConnId,
        timeout_ms: i32,
        tree: &Tree,
        own: MemberId,
    ) -> Operation<'static> {
        if let Some(latest) = tree.latest_session(own.number().0) {
            self.ids.go_on_behind(latest);
        }
        let session = self.ids.session(|id| tree.session(id).is_none());
        let password = self.ids.password();
        self.connections.arrive(session, shard, conn, None, |_| None);
        Operation::CreateSession { session, timeout_ms, password }
    }

    /// A client takes up a session that it had: what is to be proposed, if it may.
    pub(crate) fn attach(
        &mut self,
        shard: u16,
        conn: ConnId,
        claim: Claim<'_>,
        tree: &Tree,
        own: MemberId,
        out: &mut Output,
    ) -> Option<Operation<'static>> {
        let Claim { session, password, timeout_ms } = claim;
        match tree.session(session) {
            Some(known) if same_password(&known.password, password) => {
                // Also one that is alone says who it is: others may join, and want to know who held the session.
                let member = own.number();
                let next = |before| next_generation(before, member);
                match self.connections.arrive(session, shard, conn, Some(known.generation), next) {
                    Some(generation) => Some(Operation::Attach { session, generation, timeout_ms }),
                    None => {
                        // A session that was taken up 16 million times has no generation left: it ends, and its client
                        // opens another. Only a leader may end it at once: from another member the leader takes no
                        // `Expire`, and the session ends by its silence.
                        out.refuse_connection(shard, conn, ConnectRefusal::Expired);
                        Some(Operation::Expire { session, generation: known.generation })
                    }
                }
            }
            // A wrong password must not disturb the real owner: nothing of the session is touched.
            _ => {
                out.refuse_connection(shard, conn, ConnectRefusal::Expired);
                None
            }
        }
    }

    /// A connection is gone.
    pub(crate) fn disconnected(&mut self, session: SessionId, generation: u32, heard: MonoTime) {
        self.expiry.touch(session, heard);
        self.connections.heard(session, heard);
        self.connections.detach(session, generation);
    }

    /// A session was to be opened.
    pub(crate) fn created(
        &mut self,
        tree: &Tree,
        (session, timeout_ms, password): (SessionId, i32, [u8; 16]),
        outcome: &Outcome,
        now: Now,
        out: &mut Output,
    ) {
        if *outcome == Outcome::SessionCreated {
            self.begin(tree, (session, timeout_ms, password), now, out);
        } else if let Some(arrival) = self.connections.leave(session, FIRST_GENERATION) {
            out.refuse_connection(arrival.shard, arrival.conn, ConnectRefusal::Closing);
        }
    }

    /// A session was to move to another connection.
    pub(crate) fn attached(
        &mut self,
        tree: &Tree,
        (session, generation, timeout_ms): (SessionId, u32, i32),
        outcome: &Outcome,
        now: Now,
        out: &mut Output,
    ) {
        if *outcome == Outcome::SessionAttached {
            out.tell_shards(|| FromCore::Moved { session, generation });
            let password = tree.session(session).map_or([0; 16], |known| known.password);
            self.begin(tree, (session, timeout_ms, password), now, out);
        } else if let Some(arrival) = self.connections.leave(session, generation) {
            let gone = tree.session(session).is_none();
            self.counts.attach_races += u64::from(!gone);
            let reason = if gone { ConnectRefusal::Expired } else { ConnectRefusal::Closing };
            out.refuse_connection(arrival.shard, arrival.conn, reason);
        }
    }

    /// A session was to expire. Says whether it has.
    pub(crate) fn expired(&mut self, tree: &Tree, session: SessionId, outcome: &Outcome, now: Now) -> bool {
        if *outcome == Outcome::SessionExpired {
            self.counts.expired += 1;
            return true;
        }
        if let Some(known) = tree.session(session) {
            // It moved between the verdict and its execution: it lives on, with its full timeout.
            self.expiry.track(session, known.generation, timeout(known.timeout_ms), now.mono());
        }
        false
    }

    fn begin(
        &mut self,
        tree: &Tree,
        (session, timeout_ms, password): (SessionId, i32, [u8; 16]),
        now: Now,
        out: &mut Output,
    ) {
        let generation = tree.session(session).map_or(FIRST_GENERATION, |known| known.generation);
        self.expiry.track(session, generation, timeout(timeout_ms), now.mono());
        if let Some((shard, conn)) = self.connections.settle(session, generation, now.mono()) {
            let read_only = false;
            out.tell(
                shard,
                FromCore::Connected { conn, session, generation, timeout_ms, password, read_only },
            );
        }
    }

    /// A session has ended. `serves`: clients are served here; what is applied before that happened in an earlier
    /// incarnation, or elsewhere, and is not told to the driver.
    pub(crate) fn end(
        &mut self,
        session: SessionId,
        expired: bool,
        zxid: Zxid,
        serves: bool,
        out: &mut Output,
    ) {
        if serves {
            let timeout_ms = self.expiry.timeout_ms(session).unwrap_or(0);
            out.session_ended(SessionEnd { session, timeout_ms, expired });
        }
        self.expiry.forget(session);
        self.connections.end(session);
        out.tell_shards(|| FromCore::SessionClosed { session, zxid });
    }

    /// This member begins to lead: each session gets its full timeout from now.
    pub(crate) fn term_began(&mut self, tree: &Tree, now: Now) {
        self.expiry.track_all(tree, now.mono());
    }

    /// Another tree has taken the place of this member's: clients have to come again.
    pub(crate) fn tree_replaced(&mut self, tree: &Tree, now: Now) {
        self.connections.clear();
        self.expiry.track_all(tree, now.mono());
    }

    /// This process stood still: that time counts against no client.
    pub(crate) fn forgive(&mut self, stall_ms: u64, now: Now) {
        self.expiry.forgive(stall_ms, now.mono());
        self.counts.forgiven_ms += stall_ms;
        self.round = None;
    }

    /// Which connections hold sessions here, and what waits on them.
    pub(crate) const fn connections(&mut self) -> &mut Connections {
        &mut self.connections
    }

    /// When something is due here.
    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        self.expiry.next_deadline()
    }

    /// Sessions of the whole ensemble.
    pub(crate) fn count(&self) -> usize {
        self.expiry.len()
    }

    /// Whether connections of the member of that number held any session last.
    pub(crate) fn is_holder(&self, member: MemberNumber) -> bool {
        self.expiry.is_holder(member)
    }

    /// Sessions held by connections of this member.
    pub(crate) fn held_here(&self) -> usize {
        self.connections.len()
    }

    pub(crate) const fn counts(&self) -> SessionCounts {
        self.counts
    }

    /// When each session would expire, milliseconds on the monotonic clock.
    pub(crate) fn deadlines(&self) -> Vec<(MonoTime, SessionId)> {
        self.expiry.deadlines()
    }
}

/// A session's timeout as the expiry counts it.
fn timeout(timeout_ms: i32) -> u64 {
    u64::try_from(timeout_ms).unwrap_or(0)
}
