//! The core: takes commands of all shards, has them agreed and made durable, and keeps the sessions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use consensus_raft::{RaftNode, SnapshotOffer};
use council_frontend::{ConnId, ConnectRefusal, FromCore, ToCore};
use council_tree::{AclRef, Change, Command, Operation, Roster, Tree};
use council_wire::SessionId;
use storage_raft_log::{SnapshotMeta, Space};

use crate::attachment::{Attachments, FIRST_GENERATION, WaitingRead};
use crate::barrier::Barriers;
use crate::catchup::{Receiving, Sending};
use crate::comparison::Comparison;
use crate::convert;
use crate::digests::DigestLog;
use crate::disk_watch::DiskWatch;
use crate::expiry::Expiry;
use crate::floor::Floor;
use crate::gait::Gait;
use crate::identity::{Identities, same_password};
use crate::lease::Lease;
use crate::leaving::Leaving;
use crate::level::REFUSE_MANY_LEVEL;
use crate::peer::PeerMessage;
use crate::peer_gate::{Evicted, Refusals};
use crate::proposals::{Proposals, Whose, weight_in, weight_of};
use crate::reaper::Reaper;
use crate::refused_writes::{RefusedWrites, Run};
use crate::relays::Relays;
use crate::room::Room;
use crate::round::Round;
use crate::snapshotter::Snapshotter;
use crate::start::Seat;
use crate::succession::Succession;
use crate::{CoreConfig, CoreEffect, CoreStatus, JournalEvent, Now, SessionEnd};

/// Whether a client's request is in the command, which can be refused.
fn is_request(command: &[u8]) -> bool {
    let decoded = Command::decode(command);
    decoded.is_ok_and(|command| {
        matches!(command.operation, Operation::Client { .. }) && command.origin.is_some()
    })
}

/// The session whose connections a command is about.
const fn session_of(command: &Command<'_>) -> Option<SessionId> {
    match (command.origin, command.operation) {
        (Some(origin), _) => Some(origin.session),
        (
            None,
            Operation::Attach { session, .. }
            | Operation::CloseSession { session }
            | Operation::Expire { session, .. },
        ) => Some(session),
        _ => None,
    }
}

/// This host, or our own code, is broken: the member must stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(pub String);

/// What waits for a barrier.
#[derive(Debug)]
pub(crate) enum Waiter {
    /// The next waiting `sync` of that session's connection.
    Sync(SessionId, ConnId),
    /// A client whose session is not known here.
    Connect(u16, ToCore),
    /// This member itself, before it serves.
    Serve,
}

/// One member's core.
pub struct Core {
    pub(crate) config: CoreConfig,
    pub(crate) raft: RaftNode,
    pub(crate) membership: consensus_raft::Membership,
    /// Commands that wait, and those that are under way.
    pub(crate) proposals: Proposals,
    /// Commands that were refused for want of room and are still to come into that.
    pub(crate) refused_writes: RefusedWrites,
    /// The feature level of the log, as far as it is applied.
    pub(crate) level: u32,
    /// Which commands of other members are in the log already.
    pub(crate) relays: Relays,
    /// When something pending was last settled or given, for those that seem lost.
    pub(crate) progressed_ms: u64,
    /// The term and leader that was given what is pending.
    pub(crate) standing: (u64, u64),
    pub(crate) succession: Succession,
    pub(crate) lease: Lease,
    /// When each other member was last heard of.
    pub(crate) heard_peers: Vec<(u64, u64)>,
    /// By number: until when at the latest members whose connection broke since may have heard of their clients. Their
    /// processes may have died, and what those knew with them.
    pub(crate) parted_peers: BTreeMap<u64, u64>,
    /// Who is connected, whether it is known as a member or not.
    pub(crate) linked_peers: BTreeSet<u64>,
    /// Members that were removed in this life.
    pub(crate) evicted: Evicted,
    /// When which number said last that this member was replaced.
    pub(crate) denials: BTreeMap<u64, u64>,
    pub(crate) refusals: Refusals,
    pub(crate) outgoing: Vec<(u64, PeerMessage)>,
    /// Who is to be a member.
    pub(crate) roster: Option<Roster>,
    pub(crate) leaving: Leaving,
    /// Sessions that have ended and that the driver has not been told of.
    pub(crate) endings: Vec<SessionEnd>,
    /// How many more there were than are kept for it.
    pub(crate) endings_untold: u64,
    pub(crate) roster_changes: u64,
    /// The ACL of `/zookeeper/config`, if there is that node.
    pub(crate) config_acl: Option<AclRef>,
    /// When this leader proposed the text of `/zookeeper/config`, while that is not applied.
    pub(crate) telling_since_ms: Option<u64>,
    /// When this member's reign began, if it leads.
    pub(crate) reign_ms: u64,
    /// The feature levels that other members understand.
    pub(crate) levels: BTreeMap<u64, u32>,
    /// The seed of the tree's table, for trees that come to take its place.
    pub(crate) table_seed: u64,
    /// The level that was proposed last under this lead.
    pub(crate) level_proposed: u32,
    pub(crate) disk_watch: DiskWatch,
    /// The epoch that was found to be nearly used up.
    pub(crate) renewed_epoch: u32,
    pub(crate) comparison: Comparison,
    pub(crate) sending: Vec<Sending>,
    pub(crate) floor: Floor,
    pub(crate) gait: Gait<consensus_raft::Message>,
    pub(crate) receiving: Option<Receiving>,
    /// A snapshot of another member that is on its way to the disk, and who gave it.
    pub(crate) saving: Option<(u64, SnapshotOffer)>,
    pub(crate) barriers: Barriers<Waiter>,
    pub(crate) attachments: Attachments,
    /// Bytes of replies that may still be made in this turn.
    pub(crate) reply_bytes_left: usize,
    /// Sessions with reads whose turn has come and for which nothing was left: no command is applied before them.
    pub(crate) unread: VecDeque<SessionId>,
    pub(crate) expiry: Expiry,
    pub(crate) round: Option<Round>,
    pub(crate) rounds: u64,
    pub(crate) identities: Identities,
    pub(crate) reaper: Reaper,
    pub(crate) snapshotter: Snapshotter,
    pub(crate) committed: VecDeque<consensus_raft::Entry>,
    /// How far into the first committed entry's content the commands are applied.
    pub(crate) entry_offset: usize,
    /// Whether the next command was put off, so that readers come before it.
    pub(crate) puts_off: bool,
    pub(crate) applied_index: u64,
    pub(crate) applied_term: u64,
    /// The term of the entry whose commands are being applied.
    pub(crate) applying_term: u64,
    pub(crate) streams: Vec<Vec<FromCore>>,
    pub(crate) effects: Vec<CoreEffect>,
    pub(crate) changes: council_tree::Changes,
    pub(crate) status: CoreStatus,
    pub(crate) digests: DigestLog,
    pub(crate) now: Now,
    /// When this life began.
    pub(crate) began_ms: u64,
    pub(crate) ticked_ms: u64,
    pub(crate) writable: bool,
    pub(crate) room: Room,
    /// Of the commands proposed, those that the journal has been given.
    pub(crate) commands_handed_over: u64,
    encoded: Vec<u8>,
}

impl Core {
    /// Takes the member's seat. `tree` is the one that came with it; the rest of the log is applied as it commits.
    #[must_use]
    pub fn new(config: CoreConfig, seat: Seat, tree: &Tree, seed: [u8; 32], now: Now) -> Self {
        let recovered = &seat.recovered;
        let (engine_seed, _) = seed.split_first_chunk::<8>().expect("a seed is 32 bytes");
        let engine = consensus_raft::Config::new(
            consensus_raft::MemberId(config.member),
            u64::from_le_bytes(*engine_seed),
        );
        let mut raft = RaftNode::new(&engine, recovered, seat.applied.0);
        if recovered.membership.voters == [config.member] {
            raft.campaign();
        }
        raft.offer_snapshot(seat.snapshot.clone());
        let mut snapshotter = Snapshotter::new(
            config.snapshot_after_bytes,
            config.snapshot_after_commands,
            config.snapshot_side_bytes_max,
            seat.snapshot.as_ref().map_or(0, |snapshot| snapshot.index),
        );
        snapshotter.grown(seat.log_bytes, seat.commands);
        let mut expiry = Expiry::new(config.tick_ms);
        expiry.track_all(tree, now.mono_ms);
        let roster = tree.roster().or_else(|| config.roster.clone());
        let number = config.member % crate::founding::NUMBERS;
        let named = roster.as_ref().is_some_and(|roster| roster.member(number).is_some());
        Self {
            raft,
            proposals: Proposals::new(config.entry_bytes_max, config.under_way_max),
            refused_writes: RefusedWrites::default(),
            level: tree.feature_level(),
            relays: Relays::default(),
            progressed_ms: now.mono_ms,
            standing: (0, 0),
            succession: Succession::default(),
            lease: Lease::default(),
            heard_peers: Vec::new(),
            parted_peers: BTreeMap::new(),
            linked_peers: BTreeSet::new(),
            evicted: Evicted::default(),
            denials: BTreeMap::new(),
            refusals: Refusals::default(),
            outgoing: Vec::new(),
            leaving: Leaving::new(named),
            endings: Vec::new(),
            endings_untold: 0,
            roster,
            roster_changes: 1,
            config_acl: tree.roster_acl().cloned(),
            telling_since_ms: None,
            reign_ms: 0,
            levels: BTreeMap::new(),
            table_seed: tree.table_seed(),
            level_proposed: 0,
            disk_watch: DiskWatch::default(),
            renewed_epoch: 0,
            comparison: Comparison::default(),
            sending: Vec::new(),
            floor: Floor::default(),
            gait: Gait::default(),
            receiving: None,
            saving: None,
            barriers: Barriers::new(),
            attachments: Attachments::new(),
            reply_bytes_left: 0,
            unread: VecDeque::new(),
            expiry,
            round: None,
            rounds: 0,
            identities: Identities::new((config.member & 0xff) as u8, now.wall_ms, seed),
            reaper: Reaper::new(config.reap_interval_ms, config.reaps_per_minute, now.mono_ms),
            snapshotter,
            committed: VecDeque::new(),
            entry_offset: 0,
            puts_off: false,
            applied_index: seat.applied.0,
            applied_term: seat.applied.1,
            applying_term: seat.applied.1,
            streams: (0..config.shards).map(|_| Vec::new()).collect(),
            effects: Vec::new(),
            changes: council_tree::Changes::default(),
            status: CoreStatus { last_zxid: tree.last_zxid(), writable: true, ..CoreStatus::default() },
            digests: DigestLog::default(),
            membership: seat.recovered.membership,
            now,
            began_ms: now.mono_ms,
            ticked_ms: now.mono_ms,
            writable: true,
            room: Room::default(),
            commands_handed_over: 0,
            encoded: Vec::new(),
            config,
        }
    }

    /// One message of a shard. Messages of one shard come in the order in which it sent them.
    pub fn receive(&mut self, shard: u16, message: ToCore, tree: &Tree) {
        match message {
            ToCore::Command { conn, session, command, opcode, .. } => {
                let command =
                    if opcode == council_wire::OpCode::Reconfig { self.judged(command) } else { command };
                let held = self.attachments.held(session).filter(|held| held.conn == conn);
                if !held.is_some_and(|held| held.hold(&command)) {
                    self.command(&command, weight_in(&command, tree));
                }
            }
            ToCore::Read { conn, session, after, xid, opcode, body, identities, policy } => {
                let behind_barrier = opcode == council_wire::OpCode::Sync && !self.is_alone();
                let read = WaitingRead { after, behind_barrier, conn, xid, opcode, body, identities, policy };
                self.read(session, read, tree);
            }
            ToCore::Connect { .. } => self.connect(shard, message, tree, true),
            ToCore::Touched { round, sessions } => self.touched(shard, round, &sessions),
            ToCore::Disconnected { session, generation, heard_ms, .. } => {
                self.expiry.touch(session, heard_ms);
                self.attachments.heard(session, heard_ms);
                self.attachments.detach(session, generation);
            }
        }
    }

    /// What the leader makes of a reconfig; elsewhere it is handed on as it is.
    fn judged(&self, command: Vec<u8>) -> Vec<u8> {
        if self.raft.role() != consensus_raft::Role::Leader {
            return command;
        }
        let Ok(decoded) = Command::decode(&command) else { return command };
        self.judge_reconfig(decoded)
    }

    fn command(&mut self, command: &[u8], weight: u64) {
        if !self.writable && self.refuse_for_space(command) {
            return;
        }
        self.wait(command, weight);
    }

    /// A command is to be handed on, behind what was refused of the same session before.
    fn wait(&mut self, command: &[u8], weight: u64) {
        if !self.refused_writes.is_empty()
            && let Ok(decoded) = Command::decode(command)
            && let Some(session) = session_of(&decoded)
            && let Some(run) = self.refused_writes.take(session)
        {
            self.hand_on(&run);
        }
        self.proposals.put(command, weight, Whose::Own);
    }

    /// With no room on the disk a write keeps its place in its session's sequence, but as a refusal of a few bytes, or
    /// none for each of many.
    fn refuse_for_space(&mut self, command: &[u8]) -> bool {
        let Ok(command) = Command::decode(command) else { return false };
        if matches!(command.operation, Operation::CloseSession { .. }) {
            return false;
        }
        let Some(origin) = command.origin else { return false };
        if let Some(ended) = self.refused_writes.add(origin, command.policy) {
            self.hand_on(&ended);
        }
        if self.level < REFUSE_MANY_LEVEL {
            self.hand_on_refused();
        }
        true
    }

    /// What was refused is handed on with what else waits.
    pub(crate) fn hand_on_refused(&mut self) {
        while let Some(run) = self.refused_writes.pop() {
            self.hand_on(&run);
        }
    }

    fn hand_on(&mut self, run: &Run) {
        self.encoded.clear();
        run.command().encode(&mut self.encoded);
        self.proposals.put(&self.encoded, weight_of(&self.encoded), Whose::Own);
    }

    /// What waits to be proposed finds no room any more.
    fn refuse_waiting(&mut self) {
        for command in self.proposals.take_waiting() {
            if is_request(&command) {
                self.command(&command, weight_of(&command));
            } else {
                self.wait(&command, weight_of(&command));
            }
        }
    }

    fn read(&mut self, session: SessionId, read: WaitingRead, tree: &Tree) {
        // Without a holder the connection is being cut, and nobody waits for the answer.
        let Some(held) = self.attachments.held(session) else { return };
        if held.conn != read.conn {
            return;
        }
        if read.behind_barrier {
            self.barriers.wait(Waiter::Sync(session, read.conn));
        }
        let is_ready = !read.behind_barrier && held.applied >= read.after && held.reads.is_empty();
        held.wait(read);
        if is_ready {
            self.answer_reads(session, tree);
        }
    }

    /// A client wants a session. `asks` says whether one that is not known here may still be asked for at the leader:
    /// another member may have opened it a moment ago.
    fn connect(&mut self, shard: u16, message: ToCore, tree: &Tree, asks: bool) {
        let ToCore::Connect { conn, session, password, timeout_ms, last_zxid_seen, .. } = message else {
            return;
        };
        if !self.is_serving() {
            self.refuse(shard, conn, ConnectRefusal::Closing);
        } else if last_zxid_seen > tree.last_zxid().0 {
            self.refuse(shard, conn, ConnectRefusal::AheadOfServer);
        } else if session == SessionId::NONE {
            self.create_session(shard, conn, timeout_ms, tree);
        } else if asks && !self.is_alone() && tree.session(session).is_none() {
            self.barriers.wait(Waiter::Connect(shard, message));
        } else {
            self.attach(shard, conn, session, &password, timeout_ms, tree);
        }
    }

    fn create_session(&mut self, shard: u16, conn: ConnId, timeout_ms: i32, tree: &Tree) {
        if let Some(latest) = tree.latest_session((self.config.member & 0xff) as u8) {
            self.identities.go_on_behind(latest);
        }
        let session = self.identities.session(|id| tree.session(id).is_none());
        let password = self.identities.password();
        self.attachments.arrive(session, shard, conn, None, |_| None);
        self.propose(Operation::CreateSession { session, timeout_ms, password });
    }

    fn attach(
        &mut self,
        shard: u16,
        conn: ConnId,
        session: SessionId,
        password: &[u8; 16],
        timeout_ms: i32,
        tree: &Tree,
    ) {
        match tree.session(session) {
            Some(known) if same_password(&known.password, password) => {
                // Also one that is alone says who it is: others may join, and want to know who held the session.
                let member = self.config.member;
                let next = |before| next_generation(before, member);
                match self.attachments.arrive(session, shard, conn, Some(known.generation), next) {
                    Some(generation) => self.propose(Operation::Attach { session, generation, timeout_ms }),
                    None => self.use_up(shard, conn, session, known.generation),
                }
            }
            // A wrong password must not disturb the real owner: nothing of the session is touched.
            _ => self.refuse(shard, conn, ConnectRefusal::Expired),
        }
    }

    /// A session that was taken up 16 million times has no generation left: it ends, and its client opens another. Only a
    /// leader may end it at once: from another member the leader takes no `Expire`, and the session ends by its silence.
    fn use_up(&mut self, shard: u16, conn: ConnId, session: SessionId, generation: u32) {
        self.propose(Operation::Expire { session, generation });
        self.refuse(shard, conn, ConnectRefusal::Expired);
    }

    pub(crate) fn refuse(&mut self, shard: u16, conn: ConnId, reason: ConnectRefusal) {
        self.tell(shard, FromCore::ConnectRefused { conn, reason });
    }

    /// Lets those go on whose barriers everything applied has reached.
    pub(crate) fn free_waiters(&mut self, tree: &Tree) {
        for waiter in self.barriers.applied(self.applied_index) {
            match waiter {
                Waiter::Connect(shard, message) => self.connect(shard, message, tree, false),
                Waiter::Serve => self.caught_up(),
                Waiter::Sync(session, conn) => {
                    if let Some(held) = self.attachments.held(session)
                        && held.conn == conn
                    {
                        held.freed += 1;
                        self.answer_reads(session, tree);
                    }
                }
            }
        }
    }

    /// Answers the reads of a session that need not wait any more, as far as this turn has bytes left for replies.
    pub(crate) fn answer_reads(&mut self, session: SessionId, tree: &Tree) {
        let Some(held) = self.attachments.held(session) else { return };
        let stream = &mut self.streams[usize::from(held.shard)];
        while self.reply_bytes_left > 0
            && let Some(read) = held.ready_read()
        {
            let reply = read.evaluate(session, tree);
            self.reply_bytes_left = self.reply_bytes_left.saturating_sub(READ_BYTES + reply.frame.len());
            stream.push(FromCore::ReadDone { conn: read.conn, xid: read.xid, reply });
        }
        if held.has_ready_read() {
            self.unread.push_back(session);
        }
        let released: Vec<_> = core::iter::from_fn(|| held.released()).collect();
        released.iter().for_each(|command| self.command(command, weight_of(command)));
    }

    /// Answers reads for which earlier turns had nothing left.
    pub(crate) fn answer_unread(&mut self, tree: &Tree) {
        while self.reply_bytes_left > 0
            && let Some(session) = self.unread.pop_front()
        {
            self.answer_reads(session, tree);
        }
    }

    /// An answer of the journal.
    ///
    /// # Errors
    /// [`Fault`] when the answer shows that this member must stop.
    pub fn journal(&mut self, event: JournalEvent, now: Now) -> Result<(), Fault> {
        self.now = now;
        match event {
            JournalEvent::Persisted { number } => {
                self.disk_watch.answered(number);
                self.raft.persisted(number);
            }
            JournalEvent::Room { after, bytes } => self.room.told(after, bytes),
            JournalEvent::SnapshotChunkWritten { .. } => self.piece_written(),
            JournalEvent::SnapshotSaved { index } => self.snapshot_saved(index),
            JournalEvent::SnapshotFailed(reason) => return self.snapshot_failed(&reason),
            JournalEvent::SnapshotRead { peer, index, first, read } => {
                self.send_pieces(peer, index, first, read);
            }
            JournalEvent::Space(space) => self.space(space),
        }
        Ok(())
    }

    fn space(&mut self, space: Space) {
        let writable = matches!(space, Space::Plenty);
        self.room.answered();
        if writable == self.writable {
            return;
        }
        self.writable = writable;
        self.status.writable = writable;
        self.tell_shards(|| FromCore::Writable(writable));
        if !writable {
            self.refuse_waiting();
        }
    }

    /// Whether there is something to apply or to scan, for which the driver must lend the tree.
    #[must_use]
    pub fn has_work(&self, side_bytes: usize) -> bool {
        (!self.committed.is_empty() && !self.snapshotter.holds_writes(side_bytes))
            || !self.unread.is_empty()
            || self.snapshotter.wants_chunk(side_bytes)
            || (self.snapshotter.is_due() && self.may_snapshot())
            || self.barriers.is_due(self.applied_index)
            || self.receiving.as_ref().is_some_and(Receiving::is_due)
    }

    /// Whether nothing stands against a snapshot of our own.
    pub(crate) const fn may_snapshot(&self) -> bool {
        self.entry_offset == 0 && self.receiving.is_none() && self.saving.is_none()
    }

    /// When [`Core::tick`] should be called at the latest.
    #[must_use]
    pub fn next_deadline_ms(&self) -> u64 {
        let tick = self.ticked_ms + self.tick_interval_ms();
        [
            self.expiry.next_ms(),
            self.reaper.next_ms(),
            self.succession.next_ms(),
            self.barriers.next_ms(),
            self.gait.next_ms(),
            self.proposals.deadline_ms(self.now.mono_ms),
        ]
        .into_iter()
        .flatten()
        .filter(|deadline| *deadline > self.ticked_ms)
        .fold(tick, u64::min)
    }

    /// An ensemble of one needs no heartbeats; its ticks only find stalls and pace the expiry.
    pub(crate) fn tick_interval_ms(&self) -> u64 {
        if self.is_alone() { self.config.tick_ms.clamp(10, 200) } else { self.config.election_tick_ms }
    }

    /// Whether there is no other member, so that the lead is never lost.
    pub(crate) fn is_alone(&self) -> bool {
        self.membership.voters == [self.config.member] && self.membership.learners.is_empty()
    }

    /// Begins a snapshot at the next chance, unless all that is applied is in one already.
    pub fn request_snapshot(&mut self) {
        self.snapshotter.ask(self.applied_index);
    }

    /// Takes what the journal is to do, in order.
    pub fn take_effects(&mut self) -> Vec<CoreEffect> {
        std::mem::take(&mut self.effects)
    }

    /// Takes what is to be sent to other members, in order for each.
    pub fn take_outgoing(&mut self) -> Vec<(u64, PeerMessage)> {
        std::mem::take(&mut self.outgoing)
    }

    /// A shard's stream: to be appended to its mailbox before the tree is unlocked.
    pub fn stream(&mut self, shard: u16) -> &mut Vec<FromCore> {
        &mut self.streams[usize::from(shard)]
    }

    /// What a snapshot of everything applied so far is called.
    pub(crate) fn snapshot_meta(&self, zxid: i64, now: Now) -> SnapshotMeta {
        SnapshotMeta {
            index: self.applied_index,
            term: self.applied_term,
            membership: convert::membership(&self.membership),
            zxid,
            digest: 0,
            created_ms: now.wall_ms,
        }
    }

    pub(crate) fn propose(&mut self, operation: Operation<'_>) {
        self.push(&Command::internal(operation));
    }

    fn push(&mut self, command: &Command<'_>) {
        let mut encoded = std::mem::take(&mut self.encoded);
        encoded.clear();
        command.encode(&mut encoded);
        self.wait(&encoded, weight_of(&encoded));
        self.encoded = encoded;
    }

    pub(crate) fn tell(&mut self, shard: u16, item: FromCore) {
        self.streams[usize::from(shard)].push(item);
    }

    pub(crate) fn tell_shards(&mut self, item: impl Fn() -> FromCore) {
        self.streams.iter_mut().for_each(|stream| stream.push(item()));
    }

    pub(crate) fn tell_all(&mut self, changes: &std::sync::Arc<[Change]>) {
        self.tell_shards(|| FromCore::Changes(std::sync::Arc::clone(changes)));
    }
}

/// What a read behind a write costs beside the bytes of its reply, in bytes of a reply.
const READ_BYTES: usize = 256;

/// Members among which generations are told apart.
const GENERATION_STRIDE: u32 = 256;

/// The next generation that this member may give, or `None` if the numbers are used up. Two members may take up the same
/// session at the same time: each gives numbers of its own, so that neither takes the other's attach for its own.
fn next_generation(before: u32, member: u64) -> Option<u32> {
    let own = (member % u64::from(GENERATION_STRIDE)) as u32;
    let next = before.checked_add(1)?;
    let round = next / GENERATION_STRIDE * GENERATION_STRIDE;
    if round + own >= next { Some(round + own) } else { round.checked_add(GENERATION_STRIDE + own) }
}

/// The low byte of the id of the member that gave this generation, and held the session then.
pub(crate) fn holder(session: SessionId, generation: u32) -> u64 {
    if generation == FIRST_GENERATION {
        // The member that opens a session puts its id in front.
        (session.0 as u64) >> 56
    } else {
        u64::from(generation % GENERATION_STRIDE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_rise_and_belong_to_one_member() {
        for member in [1, 2, 255, 256, 1000] {
            let mut generation = 1;
            for _ in 0..1000 {
                let next = next_generation(generation, member).unwrap();
                assert!(next > generation && next - generation <= GENERATION_STRIDE);
                assert_eq!(u64::from(next) % 256, member % 256);
                generation = next;
            }
        }
    }

    #[test]
    fn generations_end_before_they_wrap() {
        for member in [0, 1, 2, 255] {
            let mut generation = u32::MAX - 1000;
            while let Some(next) = next_generation(generation, member) {
                assert!(next > generation, "{next} behind {generation}");
                generation = next;
            }
            assert!(generation >= u32::MAX - 255 && next_generation(u32::MAX, member).is_none());
        }
    }
}
