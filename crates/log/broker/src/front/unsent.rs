//! Answers that are written and not sent: their bytes are bounded for each connection and in all.
//!
//! While too much is unsent, large answers are not written yet, and the client that takes its answer most slowly is closed, if
//! it is slow: it loses its answer, and the others go on.

use std::collections::{BTreeMap, BTreeSet};

use base::MonoTime;
use net_event_loop::ConnId;

/// How long a client may take its answer slowly while others wait for its room, milliseconds.
const SLOW_AFTER_MS: u64 = 1_000;
/// What is slow, bytes in a millisecond.
const SLOW_BYTES_PER_MS: u64 = 128;

#[derive(Clone, Copy, Debug)]
struct Output {
    bytes: usize,
    /// Since when something is unsent, and what was sent since.
    began: MonoTime,
    sent: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct UnsentAnswers {
    bytes_max: usize,
    bytes: usize,
    outputs: BTreeMap<ConnId, Output>,
    by_age: BTreeSet<(MonoTime, ConnId)>,
}

impl UnsentAnswers {
    pub(super) const fn new(bytes_max: usize) -> Self {
        Self { bytes_max, bytes: 0, outputs: BTreeMap::new(), by_age: BTreeSet::new() }
    }

    /// So much was written for a connection.
    pub(super) fn written(&mut self, conn: ConnId, bytes: usize, now: MonoTime) {
        if bytes == 0 {
            return;
        }
        self.bytes += bytes;
        let output = self.outputs.entry(conn).or_insert_with(|| {
            self.by_age.insert((now, conn));
            Output { bytes: 0, began: now, sent: 0 }
        });
        output.bytes += bytes;
    }

    /// So much was sent.
    pub(super) fn sent(&mut self, conn: ConnId, bytes: usize) {
        let Some(output) = self.outputs.get_mut(&conn) else { return };
        let bytes = bytes.min(output.bytes);
        self.bytes -= bytes;
        output.bytes -= bytes;
        output.sent += bytes as u64;
        if output.bytes == 0 {
            self.forget(conn);
        }
    }

    /// A connection is gone, or all is sent.
    pub(super) fn forget(&mut self, conn: ConnId) {
        if let Some(output) = self.outputs.remove(&conn) {
            self.bytes -= output.bytes;
            self.by_age.remove(&(output.began, conn));
        }
    }

    /// Whether large answers must wait.
    pub(super) const fn is_full(&self) -> bool {
        self.bytes > self.bytes_max
    }

    /// A connection to be closed, because it takes its answer slowly and others wait for its room.
    pub(super) fn overdue(&self, now: MonoTime) -> Option<ConnId> {
        if !self.is_full() {
            return None;
        }
        let old = self.by_age.iter().take_while(|(began, _)| began.plus_ms(SLOW_AFTER_MS) <= now);
        let is_slow = |(began, conn): &&(MonoTime, ConnId)| {
            let sent = self.outputs.get(conn).map_or(0, |output| output.sent);
            sent < now.since(*began).saturating_mul(SLOW_BYTES_PER_MS)
        };
        old.take(LOOKED_AT_MAX).find(is_slow).map(|(_, conn)| *conn)
    }
}

/// How many connections are looked at for one that is slow: those that take their answers for the longest time.
const LOOKED_AT_MAX: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn conn(slot: u32) -> ConnId {
        ConnId { slot, generation: 1 }
    }

    #[test]
    fn slow_client_is_given_up_only_while_others_wait_for_its_room() {
        let (mut answers, at) = (UnsentAnswers::new(1_000_000), MonoTime::of_ms);
        answers.written(conn(1), 900_000, at(0));
        answers.written(conn(2), 100_000, at(0));
        assert!(!answers.is_full() && answers.overdue(at(60_000)).is_none());
        answers.written(conn(3), 600_000, at(10));
        assert!(answers.is_full() && answers.overdue(at(999)).is_none());
        answers.sent(conn(1), 200_000);
        assert_eq!(answers.overdue(at(1_000)), Some(conn(2)), "the first takes 200 bytes in a millisecond");
        answers.forget(conn(2));
        assert_eq!(answers.overdue(at(1_010)), Some(conn(3)));
        answers.forget(conn(3));
        answers.sent(conn(1), 700_000);
        assert!(answers.bytes == 0 && answers.outputs.is_empty() && answers.by_age.is_empty());
    }

    #[test]
    fn client_that_took_everything_begins_anew() {
        let (mut answers, at) = (UnsentAnswers::new(10), MonoTime::of_ms);
        answers.written(conn(1), 20, at(0));
        answers.sent(conn(1), 20);
        answers.written(conn(1), 20, at(5_000));
        assert_eq!((answers.overdue(at(5_999)), answers.overdue(at(6_000))), (None, Some(conn(1))));
    }
}
