//! Applying what is committed: to the tree, to the sessions, to the shards' streams.
//!
//! All of it happens while the driver lends the tree for writing; what a shard must know of a transaction is in its
//! stream before anyone can read the tree that the transaction made.

use std::sync::Arc;

use council::{EntryKind, Role};
use front::{ConnectRefusal, FromCore};
use jute::{SessionId, Zxid};
use tree::{Change, Command, Operation, Origin, Outcome, SnapshotProgress, Stamp, Tree};

use crate::attachment::FIRST_GENERATION;
use crate::batch::BatchReader;
use crate::core::{Core, Fault};
use crate::snapshotter::CHUNK_BYTES;
use crate::{CoreEffect, Now};

/// Bytes of commands applied before readers are let in again.
const APPLY_BYTES_MAX: usize = 256 << 10;

impl Core {
    /// Applies committed commands up to a bound, and takes a step of a snapshot that is under way. Call it while
    /// [`Core::has_work`], and unlock the tree between calls.
    ///
    /// # Errors
    /// [`Fault`] when the log holds what this build cannot read: this member must stop.
    pub fn apply(&mut self, tree: &mut Tree, now: Now) -> Result<(), Fault> {
        self.apply_some(tree, now)?;
        self.status.last_zxid = tree.last_zxid();
        if self.snapshotter.is_due() && self.status.serving && self.entry_offset == 0 {
            self.snapshotter.begin(self.snapshot_meta(tree.last_zxid().0, now), now.mono_ms);
            tree.snapshot_begin();
            self.effects.push(CoreEffect::SnapshotBegin);
        }
        if self.snapshotter.wants_chunk(tree.snapshot_side_bytes()) {
            self.scan(tree);
        }
        Ok(())
    }

    fn apply_some(&mut self, tree: &mut Tree, now: Now) -> Result<(), Fault> {
        let mut budget = APPLY_BYTES_MAX;
        while let Some(entry) = self.committed.pop_front() {
            if self.snapshotter.holds_writes(tree.snapshot_side_bytes()) || budget == 0 {
                self.committed.push_front(entry);
                return Ok(());
            }
            if entry.kind == EntryKind::Membership {
                return Err(Fault(format!(
                    "log entry {} changes the membership, which this build cannot",
                    entry.index
                )));
            }
            let unreadable =
                |_| Fault(format!("log entry {} is not of a form that this build can read", entry.index));
            let mut reader = BatchReader::resume(&entry.data, self.entry_offset).map_err(unreadable)?;
            self.applying_term = entry.term;
            let stamp = Stamp { time_ms: reader.wall_ms };
            let mut commands = 0;
            while budget > 0
                && let Some(bytes) = reader.next().map_err(unreadable)?
            {
                let command = Command::decode(bytes)
                    .map_err(|error| Fault(format!("log entry {} holds a {error}", entry.index)))?;
                self.apply_one(tree, stamp, &command, now);
                budget = budget.saturating_sub(bytes.len().max(1));
                commands += 1;
            }
            if self.status.serving {
                self.status.propagated(stamp.time_ms, now.wall_ms, commands);
            }
            if reader.offset() < entry.data.len() {
                self.entry_offset = reader.offset();
                self.snapshotter.grown(0, commands);
                self.committed.push_front(entry);
                return Ok(());
            }
            self.entry_offset = 0;
            self.snapshotter.grown(entry.data.len() as u64, commands);
            (self.applied_index, self.applied_term) = (entry.index, entry.term);
            self.council.applied(entry.index);
            // Nobody lags in an ensemble of one: what is applied need not be kept in memory.
            self.council.compact(entry.index);
        }
        Ok(())
    }

    fn apply_one(&mut self, tree: &mut Tree, stamp: Stamp, command: &Command<'_>, now: Now) {
        self.changes.clear();
        let outcome = tree.apply(stamp, command, &mut self.changes);
        self.status.refused(command, &outcome);
        self.digests.applied(tree.last_zxid(), || tree.digest());
        if !self.changes.is_empty() {
            self.status.written(self.changes.as_slice());
            let changes: Arc<[Change]> = self.changes.drain().collect();
            self.tell_all(&changes);
        }
        match command.origin {
            Some(origin) => self.answer(tree, origin, outcome),
            None => self.conclude(tree, &command.operation, &outcome, now),
        }
    }

    /// The outcome of a client's command, then the reads that waited for it.
    fn answer(&mut self, tree: &Tree, origin: Origin, outcome: Outcome) {
        let Origin { session, generation, sequence } = origin;
        let closed = outcome == Outcome::SessionClosed;
        self.status.dropped += u64::from(matches!(outcome, Outcome::Dropped(_)));
        if let Some(held) = self.attachments.held(session)
            && held.generation == generation
        {
            held.applied = sequence;
            let stream = &mut self.streams[usize::from(held.shard)];
            stream.push(FromCore::Outcome { conn: held.conn, sequence, zxid: tree.last_zxid(), outcome });
            while let Some(waiting) = held.reads.pop_front_if(|waiting| waiting.after <= sequence) {
                stream.push(waiting.evaluate(session, tree));
            }
        }
        if closed {
            self.end_session(session, tree.last_zxid());
        }
    }

    /// What the ensemble itself commanded.
    fn conclude(&mut self, tree: &Tree, operation: &Operation<'_>, outcome: &Outcome, now: Now) {
        match *operation {
            Operation::CreateSession { session, timeout_ms, password } => {
                if *outcome == Outcome::SessionCreated {
                    self.begin_session(tree, session, timeout_ms, password, now);
                } else if let Some(arrival) = self.attachments.leave(session, FIRST_GENERATION) {
                    self.refuse(arrival.shard, arrival.conn, ConnectRefusal::Closing);
                }
            }
            Operation::Attach { session, generation, timeout_ms } => {
                if *outcome == Outcome::SessionAttached {
                    for shard in 0..self.config.shards {
                        self.tell(shard, FromCore::Moved { session, generation });
                    }
                    let password = tree.session(session).map_or([0; 16], |known| known.password);
                    self.begin_session(tree, session, timeout_ms, password, now);
                } else if let Some(arrival) = self.attachments.leave(session, generation) {
                    let gone = tree.session(session).is_none();
                    let reason = if gone { ConnectRefusal::Expired } else { ConnectRefusal::Closing };
                    self.refuse(arrival.shard, arrival.conn, reason);
                }
            }
            Operation::Expire { session, .. } => {
                if *outcome == Outcome::SessionExpired {
                    self.status.expired += 1;
                    self.end_session(session, tree.last_zxid());
                } else if let Some(known) = tree.session(session) {
                    // It moved between the verdict and its execution: it lives on, with its full timeout.
                    self.expiry.track(session, known.generation, timeout(known.timeout_ms), now.mono_ms);
                }
            }
            Operation::RaiseEpoch => self.begin_reign(tree, now),
            _ => {}
        }
    }

    fn begin_session(
        &mut self,
        tree: &Tree,
        session: SessionId,
        timeout_ms: i32,
        password: [u8; 16],
        now: Now,
    ) {
        let generation = tree.session(session).map_or(FIRST_GENERATION, |known| known.generation);
        self.expiry.track(session, generation, timeout(timeout_ms), now.mono_ms);
        if let Some((shard, conn)) = self.attachments.settle(session, generation) {
            let read_only = false;
            self.tell(
                shard,
                FromCore::Connected { conn, session, generation, timeout_ms, password, read_only },
            );
        }
    }

    fn end_session(&mut self, session: SessionId, zxid: Zxid) {
        self.expiry.forget(session);
        self.attachments.end(session);
        for shard in 0..self.config.shards {
            self.tell(shard, FromCore::SessionClosed { session, zxid });
        }
    }

    /// This leader's first transaction is applied, and with it everything that was ever acknowledged. Each session
    /// gets its full timeout from now.
    fn begin_reign(&mut self, tree: &Tree, now: Now) {
        if self.status.serving
            || self.council.role() != Role::Leader
            || self.applying_term != self.council.term()
        {
            return;
        }
        self.status.serving = true;
        for known in tree.sessions() {
            self.expiry.track(known.id, known.generation, timeout(known.timeout_ms), now.mono_ms);
        }
    }

    /// Takes the next piece of the snapshot out of the tree.
    fn scan(&mut self, tree: &mut Tree) {
        let hurry = self.snapshotter.hurries(tree.snapshot_side_bytes());
        let mut bytes = Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 4);
        let progress = tree.snapshot_chunk(&mut bytes, CHUNK_BYTES);
        if !bytes.is_empty() {
            self.snapshotter.sent(bytes.len());
            self.effects.push(CoreEffect::SnapshotChunk { bytes, hurry });
        }
        if let SnapshotProgress::Done { digest } = progress
            && let Some(meta) = self.snapshotter.finish(digest)
        {
            self.effects.push(CoreEffect::SnapshotFinish(meta));
        }
    }
}

/// A session's timeout as the expiry counts it.
fn timeout(timeout_ms: i32) -> u64 {
    u64::try_from(timeout_ms).unwrap_or(0)
}
