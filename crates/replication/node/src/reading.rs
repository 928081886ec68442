//! A record that is being read, and what waits for it.

use replication_appointed::{Epoch, ReplicaId};

use crate::fences::Fences;

/// So many records that lack the epoch of dropped entries are followed by another read at once: a read that began before the
/// entries came may miss that epoch, and a record that was observed late looks like an answer. Then the next read waits for
/// [`Settings::read_ms`](crate::Settings::read_ms).
const AT_ONCE_MAX: u8 = 3;
/// After so many the entries are forgotten: no record has their epoch, so the sender is at fault.
const RECORDS_MAX: u8 = 16;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Promises of a partition that the node has no assignment for.
    pub(crate) fences: Fences,
    /// A leader whose entries were dropped, and its epoch; the newest.
    pub(crate) dropped: Option<(ReplicaId, Epoch)>,
    /// Records that have come and were not enough.
    records: u8,
}

/// Whether a record was what is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was, or nothing more is waited for.
    Done,
    /// It is read again now.
    ReadNow,
    /// It is read again later, if none comes.
    ReadLater,
}

impl Reading {
    /// Entries of that leader are dropped.
    pub(crate) fn drop_entries(&mut self, leader: ReplicaId, epoch: Epoch) {
        if self.dropped.is_none_or(|known| known.1 <= epoch) {
            self.dropped = Some((leader, epoch));
        }
    }

    /// A record of that epoch has come.
    pub(crate) fn judge(&mut self, epoch: Epoch) -> Verdict {
        if self.dropped.is_none_or(|dropped| dropped.1 <= epoch) {
            return Verdict::Done;
        }
        self.records += 1;
        match self.records {
            ..=AT_ONCE_MAX => Verdict::ReadNow,
            RECORDS_MAX.. => Verdict::Done,
            _ => Verdict::ReadLater,
        }
    }
}
