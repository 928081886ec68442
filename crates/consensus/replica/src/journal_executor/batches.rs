//! Batches: appended together, flushed once, answered once.

use storage_raft_log::{AppendError, Batch, Disk, DiskError, Fault};

use super::{Flushed, JournalExecutor, JournalNotice, Next, Stage, replaces_log};
use crate::journal::{JournalEvent, JournalRequest};

/// What one flush is to cover.
#[derive(Debug)]
pub(super) struct Batches {
    /// The number of the last of them.
    number: u64,
    counted: Flushed,
}

impl Batches {
    fn count(&mut self, number: u64, batch: &Batch, commands: u64) {
        self.number = number;
        let counted = &mut self.counted;
        counted.batches += 1;
        counted.commands += commands;
        counted.entries += batch.entries.len() as u64;
        counted.bytes += batch.entries.iter().map(|entry| entry.data.len() as u64).sum::<u64>();
    }
}

impl<D: Disk> JournalExecutor<D> {
    /// Appends all batches that wait up to one that finds no room, or up to a snapshot that replaces the log.
    pub(super) fn append_waiting(&mut self, now_us: u64) -> Result<Next, Fault> {
        let waiting = self.waiting.len();
        let counted = Flushed { waiting: waiting as u64, began_us: now_us, ..Flushed::default() };
        let mut batches = Batches { number: 0, counted };
        (self.worked, self.refused) = (false, false);
        for left in (0..waiting).rev() {
            let Some(effect) = self.waiting.pop_front() else { break };
            if self.append_effect(effect, &mut batches)? {
                // What is no batch went around and comes to stand where it stood.
                self.waiting.rotate_left(left);
                break;
            }
        }
        if batches.counted.batches == 0 {
            return self.go_on(now_us);
        }
        self.worked = true;
        Ok(self.then(Stage::Flush(batches)))
    }

    /// Appends it if it is a batch, or puts it back. Whether nothing behind it may be appended in this turn.
    fn append_effect(&mut self, effect: JournalRequest, batches: &mut Batches) -> Result<bool, Fault> {
        let JournalRequest::Persist { number, batch, reserved, commands } = effect else {
            let replaces = replaces_log(&effect);
            self.waiting.push_back(effect);
            return Ok(replaces);
        };
        if self.append(&batch, reserved)? {
            self.appended = number;
            batches.count(number, &batch, commands);
            return Ok(false);
        }
        self.refused = true;
        self.waiting.push_back(JournalRequest::Persist { number, batch, reserved, commands });
        Ok(true)
    }

    /// Whether there was room for it.
    fn append(&mut self, batch: &Batch, reserved: bool) -> Result<bool, Fault> {
        // A batch that is proposed cannot be taken back, and all others come behind it: on a full disk it may use the
        // reserve, as may a batch without entries (a vote, how much is committed).
        let reserved = reserved || self.is_full() || batch.entries.is_empty();
        let appended =
            if reserved { self.journal.append_reserved(batch) } else { self.journal.append(batch) };
        match appended {
            Ok(()) => Ok(true),
            Err(AppendError::Full) => Ok(false),
            Err(AppendError::Fault(fault)) => Err(fault),
            // Our own invariants: raft hands out entries without holes and calls none committed that it did
            // not hand out, and shards let far less than a segment's 4 GiB into flight.
            Err(
                error @ (AppendError::OutOfOrder { .. }
                | AppendError::CommitAhead { .. }
                | AppendError::TooLarge { .. }),
            ) => {
                panic!("the journal was given what it cannot take: {error}")
            }
        }
    }

    /// Makes what was appended durable. If the disk has no room for it, it waits and is not durable.
    pub(super) fn flush(&mut self, mut batches: Batches, now_us: u64) -> Result<Next, Fault> {
        match self.journal.flush() {
            Err(fault) if fault.error == DiskError::Full => {
                self.tell_space();
                return self.go_on(now_us);
            }
            flushed => flushed?,
        }
        batches.counted.appended_us = now_us;
        (self.prepared, self.settled) = (false, false);
        Ok(self.then(Stage::Answer(batches)))
    }

    /// Answers what was flushed; `now_us` is when the flush was done.
    pub(super) fn answer(&mut self, batches: Batches, now_us: u64) -> Next {
        self.answer_persisted(batches.number);
        self.notify(JournalNotice::Flushed(Flushed { flushed_us: now_us, ..batches.counted }));
        self.then(Stage::KeepAhead)
    }

    /// Answers what became durable later than by its own flush: there was no room for that.
    pub(super) fn answer_late(&mut self) {
        if self.answered < self.appended && self.journal.is_flushed() {
            self.answer_persisted(self.appended);
        }
    }

    /// Everything up to that batch is durable.
    fn answer_persisted(&mut self, number: u64) {
        let bytes = self.journal.room();
        (self.answered, self.room_told) = (number, bytes);
        self.emit(JournalEvent::Room { after: number, bytes });
        self.emit(JournalEvent::Persisted { number });
    }
}
