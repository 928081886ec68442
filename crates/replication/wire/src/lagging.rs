//! What a leader tells all nodes: which voters of its partitions lack entries that are committed.
//!
//! It is for people and for clients: nothing of the protocol depends on it.

use std::collections::BTreeMap;

use replication_appointed::{Epoch, ReplicaId};
use replication_controller::PartitionId;

use crate::codec::{Input, put_varint};
use crate::list::{Item, encode_parts, encode_some, take_count, take_items};
use crate::{WireError, kind};

/// From the leader of a partition: voters that are not in sync with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lagging {
    /// The partition.
    pub partition: PartitionId,
    /// Which the leader leads. Invariant: at least 1.
    pub epoch: Epoch,
    /// Those voters, and whether each holds all that is committed nevertheless: it is only not reached. Empty if all voters are
    /// in sync.
    pub voters: BTreeMap<ReplicaId, bool>,
}

impl Lagging {
    /// Gives `send` as many messages as the items need, each of at most [`BATCH_BYTES_MAX`](crate::BATCH_BYTES_MAX) bytes unless
    /// it has one item. Each may be lost by itself.
    pub fn encode_parts(all: &[Self], send: impl FnMut(&[u8])) {
        encode_parts(kind::LAGGING, all, |_| (), send);
    }

    /// Appends all items as one message, however long that is.
    pub fn encode(all: &[Self], out: &mut Vec<u8>) {
        encode_some(out, (kind::LAGGING, usize::MAX), all, |_| ());
    }

    /// What stands behind the version and the kind.
    pub(crate) fn decode(mut input: Input<'_>) -> Result<Vec<Self>, WireError> {
        let count = take_count(&mut input)?;
        take_items(&mut input, count)
    }
}

impl Item for Lagging {
    const BYTES_MIN: usize = 3;

    fn partition(&self) -> PartitionId {
        self.partition
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.epoch.0.into());
        put_varint(out, self.voters.len() as u64);
        let mut before = 0;
        for (ReplicaId(id), holds_all) in &self.voters {
            put_varint(out, u64::from(*id - before));
            out.push(u8::from(*holds_all));
            before = *id;
        }
    }

    fn decode(partition: PartitionId, input: &mut Input<'_>) -> Result<Self, WireError> {
        let epoch = input.epoch()?;
        let count = input.count(VOTER_BYTES_MIN)?;
        let (mut voters, mut before) = (BTreeMap::new(), None::<u32>);
        for _ in 0..count {
            let distance = input.varint32()?;
            let id = before.map_or(Some(distance), |before| before.checked_add(distance));
            let id = id.filter(|id| before.is_none_or(|before| *id > before));
            let id = id.ok_or(WireError::Forbidden("replicas that do not rise"))?;
            voters.insert(ReplicaId(id), input.flag()?);
            before = Some(id);
        }
        Ok(Self { partition, epoch, voters })
    }
}

/// Bytes of the shortest voter: its distance, and a flag.
const VOTER_BYTES_MIN: usize = 2;
