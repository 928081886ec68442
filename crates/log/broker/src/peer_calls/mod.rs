//! What brokers ask each other: whether records may enter a transaction whose coordinator lives elsewhere; to write markers
//! where the partitions are led; whether a leader lives ([`crate::topics::HeldMetadata`]); and for share groups, to read and
//! write the state of a share partition where it is held, to append dead letters where their partition is led, and where
//! partitions end. They also tell the coordinators of share groups which groups have states, the controller what partitions are
//! used for, and leaders which of them it moves for that (`balancing`).
//!
//! # A question, a marker, a link that breaks
//! A question goes to the broker that leads the coordinator's partition, and becomes one of that broker's own questions there
//! ([`Asker::Peer`]). A marker goes to the leader of its partition, and is told of once it is committed. If the link breaks, a
//! question is answered as by a broker that does not coordinate, and a marker is taken for unwritten: its coordinator sends it
//! again. The same happens once nothing is heard of the other broker, so that nobody waits for one that is stopped; it is asked
//! nothing until it is heard again, and answers that come late count for nothing.
//!
//! # Invariants
//! - *No record behind its marker* (L43). A coordinator answers and sends markers in one order over one connection. But it may be
//!   one that has been replaced, and does not know: then the marker of its successor comes between a question and its answer. So
//!   an answer that a marker of its producer has overtaken at that partition counts for nothing, and the client asks again.
//!   And a marker that reaches its leader late, when its coordinator has long had it written by another leader and the next
//!   transaction has begun, is refused: it names the epoch under which it is to be written.
//! - What is asked on behalf of another broker is never passed on: nothing goes in circles.
//! - *No answer to another process.* A broker may be asked by one process, and answer when another one is there under the same number:
//!   a disk stood still meanwhile. The numbers of calls begin at a random one in each process, so that such an answer is to none
//!   of its calls.

pub(crate) mod append_codec;
pub(crate) mod codec;
pub(crate) mod ends_codec;
mod form;
pub(crate) mod load_codec;
pub(crate) mod share_codec;

use std::collections::BTreeMap;

use base::Random;
use log_coordinators::{Participant, Ticket};
use log_partition::{PartitionId, ProducerId};

use crate::question::Question;
use crate::waits::Waiter;

/// A call or an answer is not longer, bytes: a message between brokers has at most 1 MiB.
pub(crate) const CALL_BYTES_MAX: usize = (1 << 20) - 64;

/// Numbers of calls come from other random numbers than everything else that comes of the broker's seed.
const SEED_OF_CALLS: u64 = 0x7065_6572_6361_6c6c;

/// What other brokers were asked and have not answered. See the module.
#[derive(Debug)]
pub(crate) struct PeerCalls {
    pub(crate) open: BTreeMap<(i32, u64), Open>,
    last_id: u64,
}

/// What was asked.
#[derive(Debug)]
pub(crate) enum Open {
    /// With whether a marker of its producer was written meanwhile, at one of its partitions.
    Question(Question, bool),
    Marker(Ticket),
    Probe,
    /// A request to the holder of a share group's states.
    ShareState(Ticket),
    /// Dead letters.
    Append(Ticket),
    /// Where these partitions end, for a request of an administrator.
    Ends(Waiter, Vec<PartitionId>),
}

impl PeerCalls {
    /// Those of a process, whose seed no other has.
    pub(crate) fn new(seed: u64) -> Self {
        Self { open: BTreeMap::new(), last_id: Random::new(seed ^ SEED_OF_CALLS).number() }
    }

    /// A number that no call has had, neither of this process nor of another one of this broker.
    pub(crate) const fn next_id(&mut self) -> u64 {
        self.last_id = self.last_id.wrapping_add(1);
        self.last_id
    }

    /// A marker is being written here: answers that it overtakes count for nothing.
    pub(crate) fn overtake(&mut self, producer: ProducerId, participant: &Participant) {
        for open in self.open.values_mut() {
            if let Open::Question(question, is_overtaken) = open
                && question.verify.who.producer.id == producer
                && question.verify.partitions.contains(participant)
            {
                *is_overtaken = true;
            }
        }
    }

    /// Takes all that one broker was asked.
    pub(crate) fn take_of(&mut self, broker: i32) -> Vec<Open> {
        self.open.extract_if((broker, 0)..=(broker, u64::MAX), |_, _| true).map(|(_, open)| open).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_call_has_the_number_of_one_of_another_process() {
        let mut known = BTreeSet::new();
        for seed in 0..100 {
            let mut calls = PeerCalls::new(seed);
            assert!((0..1_000).all(|_| known.insert(calls.next_id())), "seed {seed}");
        }
    }
}
