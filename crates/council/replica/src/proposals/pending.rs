//! Commands of this member's clients that are under way: kept until they are applied here, so that whoever leads next
//! can be given them again. The tree lets each take effect once.

use std::collections::VecDeque;

use bytes::Bytes;
use consensus_replica::batch::BatchReader;
use council_tree::Command;

/// A batch, and how far into it everything is settled.
#[derive(Debug)]
struct Batch {
    content: Bytes,
    weight: u64,
    settled: usize,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    batches: VecDeque<Batch>,
    bytes: usize,
    weight: u64,
    /// How many batches from the front on the present leader has been given.
    given: usize,
}

impl Pending {
    /// Keeps a batch that nobody has been given yet.
    pub(crate) fn keep(&mut self, content: Bytes, weight: u64) {
        self.bytes += content.len();
        self.weight += weight;
        self.batches.push_back(Batch { content, weight, settled: 0 });
    }

    /// The next batch that the present leader is to be given.
    pub(crate) fn next(&mut self) -> Option<Bytes> {
        let batch = self.batches.get(self.given)?;
        self.given += 1;
        Some(batch.content.clone())
    }

    /// Everything is to be given again: the leader is another, or may have lost something.
    pub(crate) const fn again(&mut self) {
        self.given = 0;
    }

    /// Lets go of what is settled, from the oldest on. Says whether anything was.
    pub(crate) fn settle(&mut self, mut is_settled: impl FnMut(&Command<'_>) -> bool) -> bool {
        let mut progressed = false;
        while let Some(front) = self.batches.front_mut() {
            let mut reader =
                BatchReader::resume(&front.content, front.settled).expect("our own batch can be read");
            loop {
                let Some(command) = reader.next_command().expect("our own batch can be read") else {
                    self.bytes -= front.content.len();
                    self.weight -= front.weight;
                    self.batches.pop_front();
                    self.given = self.given.saturating_sub(1);
                    progressed = true;
                    break;
                };
                let command = Command::decode(command).expect("our own command can be read");
                if !is_settled(&command) {
                    return progressed;
                }
                front.settled = reader.offset();
                progressed = true;
            }
        }
        progressed
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// Bytes that are kept.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// What they weigh.
    pub(crate) const fn weight(&self) -> u64 {
        self.weight
    }
}

#[cfg(test)]
mod tests {
    use council_tree::{Identities, Operation, Origin, Policy};
    use council_wire::{OpCode, SessionId};

    use super::*;
    use base::WallTime;
    use consensus_replica::batch::BatchWriter;

    fn batch(sequences: std::ops::Range<u64>) -> Bytes {
        let mut writer = BatchWriter::new(1 << 20);
        for sequence in sequences {
            let mut encoded = Vec::new();
            let origin = Some(Origin { session: SessionId(1), generation: 1, sequence });
            let operation = Operation::Client { opcode: OpCode::SetData, body: b"" };
            let (policy, identities) = (Policy::standard(), Identities::NONE);
            Command { origin, policy, identities, operation }.encode(&mut encoded);
            writer.push(&encoded, 1);
        }
        writer.take(WallTime::default()).remove(0).content
    }

    fn up_to(last: u64) -> impl FnMut(&Command<'_>) -> bool {
        move |command| command.origin.is_some_and(|origin| origin.sequence <= last)
    }

    #[test]
    fn batch_is_kept_until_its_last_command_is_settled_and_given_again_to_the_next_leader() {
        let mut pending = Pending::default();
        pending.keep(batch(1..4), 3);
        pending.keep(batch(4..6), 2);
        assert_eq!(
            (pending.next(), pending.next(), pending.next()),
            (Some(batch(1..4)), Some(batch(4..6)), None)
        );
        assert!(pending.settle(up_to(2)));
        assert!(!pending.settle(up_to(2)));
        pending.again();
        assert_eq!(pending.next(), Some(batch(1..4)));
        assert!(pending.settle(up_to(3)));
        assert_eq!((pending.next(), pending.next()), (Some(batch(4..6)), None));
        assert!(pending.settle(up_to(5)));
        assert!(pending.is_empty());
        assert_eq!((pending.bytes(), pending.weight()), (0, 0));
    }
}
