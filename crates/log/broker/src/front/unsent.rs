//! Answers that are written and not sent: their bytes are bounded for each connection and in all.
//!
//! While too much is unsent, large answers are not written yet, and the client that takes its answer most slowly is closed, if
//! it is slow: it loses its answer, and the others go on.

use std::collections::VecDeque;

use base::MonoTime;
use net_event_loop::ConnId;

/// How long a client may take its answer slowly while others wait for its room, milliseconds.
const SLOW_AFTER_MS: u64 = 1_000;
/// What is slow, bytes in a millisecond.
const SLOW_BYTES_PER_MS: u64 = 128;

#[derive(Clone, Copy, Debug)]
struct Output {
    conn: ConnId,
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
    /// By the places of the connections: nothing of those that have taken everything.
    outputs: Vec<Option<Output>>,
    /// Those for which something is unsent, in the order in which that began, and among them connections that have taken
    /// everything since: mostly an answer is sent in the turn in which it is written.
    by_age: VecDeque<(MonoTime, ConnId)>,
    /// How many connections have something unsent.
    count: usize,
}

impl UnsentAnswers {
    pub(super) const fn new(bytes_max: usize) -> Self {
        Self { bytes_max, bytes: 0, outputs: Vec::new(), by_age: VecDeque::new(), count: 0 }
    }

    /// So much was written for a connection.
    pub(super) fn written(&mut self, conn: ConnId, bytes: usize, now: MonoTime) {
        if bytes == 0 {
            return;
        }
        let place = conn.slot as usize;
        if self.outputs.len() <= place {
            self.outputs.resize(place + 1, None);
        }
        let Some(output) = self.outputs.get_mut(place) else { return };
        self.bytes += bytes;
        if let Some(output) = output {
            output.bytes += bytes;
            return;
        }
        *output = Some(Output { conn, bytes, began: now, sent: 0 });
        self.count += 1;
        self.by_age.push_back((now, conn));
        if self.by_age.len() > OLD_MAX + 2 * self.count {
            let outputs = &self.outputs;
            self.by_age.retain(|of| is_unsent(outputs, of));
        }
    }

    /// So much was sent.
    pub(super) fn sent(&mut self, conn: ConnId, bytes: usize) {
        let Some(Some(output)) = self.outputs.get_mut(conn.slot as usize) else { return };
        if output.conn != conn {
            return;
        }
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
        let Some(output) = self.outputs.get_mut(conn.slot as usize) else { return };
        let Some(gone) = output.take_if(|output| output.conn == conn) else { return };
        self.bytes -= gone.bytes;
        self.count -= 1;
        let outputs = &self.outputs;
        while self.by_age.pop_front_if(|of| !is_unsent(outputs, of)).is_some() {}
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
        let unsent = self.by_age.iter().filter_map(|of| output_of(&self.outputs, of));
        let old = unsent.take_while(|output| output.began.plus_ms(SLOW_AFTER_MS) <= now);
        let is_slow =
            |output: &&Output| output.sent < now.since(output.began).saturating_mul(SLOW_BYTES_PER_MS);
        old.take(LOOKED_AT_MAX).find(is_slow).map(|output| output.conn)
    }
}

/// What is unsent since then for that connection; nothing if it has taken everything meanwhile.
fn output_of<'o>(outputs: &'o [Option<Output>], (began, conn): &(MonoTime, ConnId)) -> Option<&'o Output> {
    let output = outputs.get(conn.slot as usize)?.as_ref()?;
    (output.conn == *conn && output.began == *began).then_some(output)
}

fn is_unsent(outputs: &[Option<Output>], of: &(MonoTime, ConnId)) -> bool {
    output_of(outputs, of).is_some()
}

/// How many connections are looked at for one that is slow: those that take their answers for the longest time.
const LOOKED_AT_MAX: usize = 1_000;
/// So many connections that have taken everything may be among those that have not.
const OLD_MAX: usize = 64;

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
        assert!(answers.bytes == 0 && answers.count == 0 && answers.by_age.is_empty());
        assert!(answers.outputs.iter().all(Option::is_none));
    }

    #[test]
    fn client_that_took_everything_begins_anew() {
        let (mut answers, at) = (UnsentAnswers::new(10), MonoTime::of_ms);
        answers.written(conn(1), 20, at(0));
        answers.sent(conn(1), 20);
        answers.written(conn(1), 20, at(5_000));
        assert_eq!((answers.overdue(at(5_999)), answers.overdue(at(6_000))), (None, Some(conn(1))));
    }

    #[test]
    fn connections_behind_a_slow_one_that_took_everything_are_not_kept() {
        let (mut answers, at) = (UnsentAnswers::new(10), MonoTime::of_ms);
        answers.written(conn(1), 20, at(0));
        for turn in 0..1_000 {
            answers.written(conn(2), 20, at(turn));
            answers.sent(conn(2), 20);
        }
        assert!(answers.by_age.len() <= OLD_MAX + 4, "{}", answers.by_age.len());
        answers.written(conn(3), 1, at(1_000));
        assert_eq!(answers.overdue(at(2_000)), Some(conn(1)));
        answers.forget(conn(1));
        assert_eq!((answers.count, answers.by_age.len()), (1, 1));
    }
}
