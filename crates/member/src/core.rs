//! The core: takes commands of all shards, has them agreed and made durable, and keeps the sessions.

use std::collections::VecDeque;

use council::{Council, Ready, Recovered, Role};
use front::{ConnId, ConnectRefusal, FromCore, ToCore};
use journal::{Batch, SnapshotMeta, Space};
use jute::{SessionId, Zxid};
use tree::{Change, Command, Operation, Tree};

use crate::attachment::{Attachments, WaitingRead};
use crate::batch::BatchWriter;
use crate::convert;
use crate::digests::DigestLog;
use crate::expiry::Expiry;
use crate::identity::{Identities, same_password};
use crate::reaper::Reaper;
use crate::snapshotter::Snapshotter;
use crate::{CoreConfig, CoreEffect, CoreStatus, JournalEvent, Now};

/// Turns that may wait for the disk at a time: one being flushed, one behind it. What arrives meanwhile goes together
/// into the next, so that one flush serves all that waits.
const PERSISTING_MAX: usize = 2;

/// This host, or our own code, is broken: the member must stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(pub String);

/// A round of questions to the shards: whom have you heard of?
#[derive(Debug)]
struct TouchRound {
    number: u64,
    began_ms: u64,
    unanswered: Vec<bool>,
}

/// One member's core.
pub struct Core {
    pub(crate) config: CoreConfig,
    pub(crate) council: Council,
    pub(crate) waiting: BatchWriter,
    pub(crate) attachments: Attachments,
    pub(crate) expiry: Expiry,
    pub(crate) identities: Identities,
    pub(crate) reaper: Reaper,
    pub(crate) snapshotter: Snapshotter,
    pub(crate) committed: VecDeque<council::Entry>,
    /// How far into the first committed entry's content the commands are applied.
    pub(crate) entry_offset: usize,
    pub(crate) applied_index: u64,
    pub(crate) applied_term: u64,
    /// The term of the entry whose commands are being applied.
    pub(crate) applying_term: u64,
    pub(crate) streams: Vec<Vec<FromCore>>,
    pub(crate) effects: Vec<CoreEffect>,
    pub(crate) changes: tree::Changes,
    pub(crate) status: CoreStatus,
    pub(crate) digests: DigestLog,
    pub(crate) membership: council::Membership,
    round: Option<TouchRound>,
    rounds: u64,
    ticked_ms: u64,
    writable: bool,
    /// Of the commands proposed, those that the journal has been given.
    commands_handed_over: u64,
    encoded: Vec<u8>,
}

impl Core {
    /// Takes the member's seat. `tree` is what the snapshot held; the entries behind it are applied as they commit.
    #[must_use]
    pub fn new(config: CoreConfig, recovered: &Recovered, tree: &Tree, seed: [u8; 32], now: Now) -> Self {
        let (engine_seed, _) = seed.split_first_chunk::<8>().expect("a seed is 32 bytes");
        let engine = council::Config::new(council::MemberId(config.member), u64::from_le_bytes(*engine_seed));
        let mut council = Council::new(&engine, recovered, recovered.snapshot_index);
        if recovered.membership.voters == [config.member] {
            council.campaign();
        }
        Self {
            council,
            waiting: BatchWriter::new(config.entry_bytes_max),
            attachments: Attachments::new(),
            expiry: Expiry::new(config.tick_ms),
            identities: Identities::new((config.member & 0xff) as u8, now.wall_ms, seed),
            reaper: Reaper::new(config.reap_interval_ms, config.reaps_per_minute, now.mono_ms),
            snapshotter: Snapshotter::new(
                config.snapshot_after_bytes,
                config.snapshot_after_commands,
                config.snapshot_side_bytes_max,
                recovered.snapshot_index,
            ),
            committed: VecDeque::new(),
            entry_offset: 0,
            applied_index: recovered.snapshot_index,
            applied_term: recovered.snapshot_term,
            applying_term: recovered.snapshot_term,
            streams: (0..config.shards).map(|_| Vec::new()).collect(),
            effects: Vec::new(),
            changes: tree::Changes::default(),
            status: CoreStatus { last_zxid: tree.last_zxid(), writable: true, ..CoreStatus::default() },
            digests: DigestLog::default(),
            membership: recovered.membership.clone(),
            round: None,
            rounds: 0,
            ticked_ms: now.mono_ms,
            writable: true,
            commands_handed_over: 0,
            encoded: Vec::new(),
            config,
        }
    }

    /// One message of a shard. Messages of one shard come in the order in which it sent them.
    pub fn receive(&mut self, shard: u16, message: ToCore, tree: &Tree) {
        match message {
            ToCore::Command { command, .. } => self.command(&command),
            ToCore::Read { conn, session, after, xid, opcode, body, identities, policy } => {
                self.read(session, WaitingRead { after, conn, xid, opcode, body, identities, policy }, tree);
            }
            ToCore::Connect { conn, session, password, timeout_ms, last_zxid_seen, .. } => {
                if last_zxid_seen > tree.last_zxid().0 {
                    self.refuse(shard, conn, ConnectRefusal::AheadOfServer);
                } else if session == SessionId::NONE {
                    self.create_session(shard, conn, timeout_ms, tree);
                } else {
                    self.attach(shard, conn, session, &password, timeout_ms, tree);
                }
            }
            ToCore::Touched { round, sessions } => self.touched(shard, round, &sessions),
            ToCore::Disconnected { session, generation, .. } => self.attachments.detach(session, generation),
        }
    }

    fn command(&mut self, command: &[u8]) {
        if !self.writable && self.refuse_for_space(command) {
            return;
        }
        self.waiting.push(command);
    }

    /// With no room on the disk a write keeps its place in its session's sequence, but as a refusal of a few bytes.
    fn refuse_for_space(&mut self, command: &[u8]) -> bool {
        let Ok(command) = Command::decode(command) else { return false };
        if matches!(command.operation, Operation::CloseSession { .. }) {
            return false;
        }
        let refusal = Command {
            operation: Operation::Refuse(jute::ErrorCode::SystemError),
            identities: tree::Identities::NONE,
            ..command
        };
        self.push(&refusal);
        true
    }

    fn read(&mut self, session: SessionId, read: WaitingRead, tree: &Tree) {
        // Without a holder the connection is being cut, and nobody waits for the answer.
        let Some(held) = self.attachments.held(session) else { return };
        if held.conn != read.conn {
            return;
        }
        if held.applied < read.after {
            held.reads.push_back(read);
            return;
        }
        let (shard, done) = (held.shard, read.evaluate(session, tree));
        self.tell(shard, done);
    }

    fn create_session(&mut self, shard: u16, conn: ConnId, timeout_ms: i32, tree: &Tree) {
        let session = self.identities.session(|id| tree.session(id).is_none());
        let password = self.identities.password();
        self.attachments.arrive(session, shard, conn, None);
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
                let generation = self.attachments.arrive(session, shard, conn, Some(known.generation));
                self.propose(Operation::Attach { session, generation, timeout_ms });
            }
            // A wrong password must not disturb the real owner: nothing of the session is touched.
            _ => self.refuse(shard, conn, ConnectRefusal::Expired),
        }
    }

    pub(crate) fn refuse(&mut self, shard: u16, conn: ConnId, reason: ConnectRefusal) {
        self.tell(shard, FromCore::ConnectRefused { conn, reason });
    }

    fn touched(&mut self, shard: u16, number: u64, sessions: &[(SessionId, u64)]) {
        for (session, heard_ms) in sessions {
            self.expiry.touch(*session, *heard_ms);
        }
        let Some(round) = &mut self.round else { return };
        if round.number != number {
            return;
        }
        if let Some(unanswered) = round.unanswered.get_mut(usize::from(shard)) {
            *unanswered = false;
        }
        if round.unanswered.contains(&true) {
            return;
        }
        let began_ms = round.began_ms;
        self.round = None;
        self.condemn(began_ms);
    }

    /// Every shard has answered a round that began at `began_ms`: whoever's deadline had passed by then and is not
    /// among the answers has been silent for its whole timeout.
    fn condemn(&mut self, began_ms: u64) {
        for (session, generation) in self.expiry.condemn(began_ms) {
            self.propose(Operation::Expire { session, generation });
        }
    }

    /// An answer of the journal.
    ///
    /// # Errors
    /// [`Fault`] when the answer shows that this member must stop.
    pub fn journal(&mut self, event: JournalEvent, now: Now) -> Result<(), Fault> {
        match event {
            JournalEvent::Persisted { number } => self.council.persisted(number),
            JournalEvent::SnapshotChunkWritten { .. } => self.snapshotter.written(),
            JournalEvent::SnapshotSaved { .. } => self.snapshotter.saved(now.mono_ms),
            JournalEvent::SnapshotFailed(_) => self.snapshotter.failed(),
            JournalEvent::Space(space) => self.space(space),
        }
        Ok(())
    }

    fn space(&mut self, space: Space) {
        let writable = matches!(space, Space::Plenty);
        if writable == self.writable {
            return;
        }
        self.writable = writable;
        self.status.writable = writable;
        for shard in 0..self.config.shards {
            self.tell(shard, FromCore::Writable(writable));
        }
    }

    /// Time has passed. Call it at least as often as [`Core::next_deadline_ms`] says.
    pub fn tick(&mut self, now: Now, tree: &Tree) {
        let elapsed = now.mono_ms.saturating_sub(self.ticked_ms);
        self.ticked_ms = now.mono_ms;
        if elapsed > self.config.stall_ms + self.tick_interval_ms() {
            // We stood still (a stopped process, a starved machine): that time counts against no client.
            self.expiry.forgive(elapsed);
            self.status.forgiven_ms += elapsed;
            self.round = None;
        }
        self.council.tick();
        if !self.status.serving {
            return;
        }
        if self.round.is_none() && self.expiry.is_due(now.mono_ms) {
            self.begin_round(now.mono_ms);
        }
        if let Some(limit) = self.reaper.due(now.mono_ms) {
            for path in tree.reapable(now.wall_ms, self.config.never_used_ms, limit) {
                self.propose(Operation::Reap { path: &path, never_used_ms: self.config.never_used_ms });
            }
        }
    }

    fn begin_round(&mut self, now_ms: u64) {
        self.rounds += 1;
        let unanswered = vec![true; usize::from(self.config.shards)];
        self.round = Some(TouchRound { number: self.rounds, began_ms: now_ms, unanswered });
        for shard in 0..self.config.shards {
            self.tell(shard, FromCore::TouchRound { round: self.rounds });
        }
    }

    /// Proposes what waits and takes the council's turns; the effects then hold what to make durable.
    pub fn advance(&mut self, now: Now) {
        self.propose_waiting(now.wall_ms);
        while let Some(ready) = self.council.ready() {
            self.turn(ready);
        }
    }

    fn propose_waiting(&mut self, wall_ms: i64) {
        if self.waiting.commands() == 0
            || self.council.role() != Role::Leader
            || self.council.persisting() >= PERSISTING_MAX
        {
            return;
        }
        self.status.commands += self.waiting.commands() as u64;
        self.status.command_bytes += self.waiting.bytes() as u64;
        let contents = self.waiting.take(wall_ms);
        self.status.entries += contents.len() as u64;
        let taken = self.council.propose(contents);
        assert!(taken.is_ok(), "the leader of an ensemble of one refuses a proposal within its limits");
    }

    fn turn(&mut self, ready: Ready) {
        if let Some(persist) = ready.persist {
            let batch = Batch {
                hard_state: persist.hard_state.map(convert::hard_state),
                membership: None,
                entries: persist.entries.into_iter().map(convert::entry).collect(),
            };
            self.effects.push(CoreEffect::Persist {
                number: persist.number,
                batch,
                reserved: !self.writable,
                commands: self.status.commands - self.commands_handed_over,
            });
            self.commands_handed_over = self.status.commands;
        }
        self.committed.extend(ready.committed);
        if ready.role == Some(Role::Leader) {
            // The reign's first transaction: no zxid of this epoch was ever given out by another.
            self.propose(Operation::RaiseEpoch);
        }
    }

    /// Whether there is something to apply or to scan, for which the driver must lend the tree.
    #[must_use]
    pub fn has_work(&self, side_bytes: usize) -> bool {
        (!self.committed.is_empty() && !self.snapshotter.holds_writes(side_bytes))
            || self.snapshotter.wants_chunk(side_bytes)
            || (self.snapshotter.is_due() && self.status.serving)
    }

    /// When [`Core::tick`] should be called at the latest.
    #[must_use]
    pub fn next_deadline_ms(&self) -> u64 {
        let tick = self.ticked_ms + self.tick_interval_ms();
        [self.expiry.next_ms(), self.reaper.next_ms()]
            .into_iter()
            .flatten()
            .filter(|deadline| *deadline > self.ticked_ms)
            .fold(tick, u64::min)
    }

    /// An ensemble of one needs no heartbeats; its ticks only find stalls and pace the expiry.
    fn tick_interval_ms(&self) -> u64 {
        self.config.tick_ms.clamp(10, 200)
    }

    /// Begins a snapshot at the next chance, unless all that is applied is in one already.
    pub fn request_snapshot(&mut self) {
        self.snapshotter.ask(self.applied_index);
    }

    /// Takes what the journal is to do, in order.
    pub fn take_effects(&mut self) -> Vec<CoreEffect> {
        std::mem::take(&mut self.effects)
    }

    /// A shard's stream: to be appended to its mailbox before the tree is unlocked.
    pub fn stream(&mut self, shard: u16) -> &mut Vec<FromCore> {
        &mut self.streams[usize::from(shard)]
    }

    /// Whether this member leads and has applied all that was ever acknowledged.
    #[must_use]
    pub const fn is_serving(&self) -> bool {
        self.status.serving
    }

    /// A picture of this core.
    #[must_use]
    pub fn status(&self) -> CoreStatus {
        CoreStatus {
            term: self.council.term(),
            sessions: self.expiry.len(),
            attached: self.attachments.len(),
            applied_index: self.applied_index,
            waiting: self.waiting.commands(),
            snapshotting: self.snapshotter.is_scanning(),
            last_snapshot: self.snapshotter.last(),
            ..self.status.clone()
        }
    }

    /// The tree's digest right behind every 128th of the latest transactions, oldest first.
    pub fn digests(&self) -> impl Iterator<Item = (Zxid, u64)> {
        self.digests.iter()
    }

    /// When each session would expire, milliseconds on the monotonic clock.
    #[must_use]
    pub fn session_deadlines(&self) -> Vec<(u64, SessionId)> {
        self.expiry.deadlines()
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
        self.encoded.clear();
        command.encode(&mut self.encoded);
        self.waiting.push(&self.encoded);
    }

    pub(crate) fn tell(&mut self, shard: u16, item: FromCore) {
        self.streams[usize::from(shard)].push(item);
    }

    pub(crate) fn tell_all(&mut self, changes: &std::sync::Arc<[Change]>) {
        for stream in &mut self.streams {
            stream.push(FromCore::Changes(std::sync::Arc::clone(changes)));
        }
    }
}
