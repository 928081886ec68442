//! The records of `__share_group_state`.
//!
//! A share partition has one *snapshot*, and behind it *updates*, each under a number of its own that begins at 0 behind each
//! snapshot. An update names the snapshot that it belongs to, so compaction may keep updates of an earlier snapshot without
//! harm: they are not applied.

use log_coordinators::Damaged;
use log_wire::{Malformed, Reader, Writer};

use crate::state::{DeliveryState, ShareKey, ShareState, StateBatch, StateUpdate};

const VERSION: i8 = 0;
const SNAPSHOT: i8 = 0;
const UPDATE: i8 = 1;

/// What a record is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecordKey {
    Snapshot(ShareKey),
    /// With its number behind the snapshot.
    Update(ShareKey, i32),
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordValue {
    /// The number of the snapshot, or of that which an update belongs to.
    pub(crate) snapshot: i64,
    pub(crate) state_epoch: i32,
    pub(crate) leader_epoch: i32,
    pub(crate) update: StateUpdate,
}

impl RecordKey {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, true);
        let (kind, key) = match self {
            Self::Snapshot(key) => (SNAPSHOT, key),
            Self::Update(key, _) => (UPDATE, key),
        };
        writer.i8(VERSION).i8(kind).text(&key.group).uuid(&key.topic).i32(key.partition);
        if let Self::Update(_, number) = self {
            writer.i32(*number);
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Damaged> {
        let mut reader = Reader::new(bytes, true);
        version(&mut reader)?;
        let kind = reader.i8()?;
        let key = ShareKey { group: reader.text()?.into(), topic: reader.uuid()?, partition: reader.i32()? };
        match kind {
            SNAPSHOT => Ok(Self::Snapshot(key)),
            UPDATE => Ok(Self::Update(key, reader.i32()?)),
            _ => Err(Malformed("a key of an unknown kind")),
        }
    }
}

impl RecordValue {
    /// A snapshot of a state.
    pub(crate) fn of(state: &ShareState, snapshot: i64) -> Self {
        let update = StateUpdate { start: state.start, batches: state.batches().collect() };
        Self { snapshot, state_epoch: state.state_epoch, leader_epoch: state.leader_epoch, update }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, true);
        writer.i8(VERSION).i64(self.snapshot).i32(self.state_epoch).i32(self.leader_epoch);
        writer.i64(self.update.start).count(self.update.batches.len());
        for batch in &self.update.batches {
            writer.i64(batch.first).i64(batch.last).i8(batch.state.number()).i16(batch.delivery_count);
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Damaged> {
        /// What a batch takes.
        const BATCH_BYTES: usize = 19;
        let mut reader = Reader::new(bytes, true);
        version(&mut reader)?;
        let (snapshot, state_epoch, leader_epoch) = (reader.i64()?, reader.i32()?, reader.i32()?);
        let start = reader.i64()?;
        let count = reader.count(BATCH_BYTES)?;
        let mut batches = Vec::with_capacity(count);
        for _ in 0..count {
            let (first, last) = (reader.i64()?, reader.i64()?);
            let state = state_of(reader.i8()?)?;
            if first < 0 || last < first {
                return Err(Malformed("a batch that ends before it begins"));
            }
            batches.push(StateBatch { first, last, state, delivery_count: reader.i16()? });
        }
        Ok(Self { snapshot, state_epoch, leader_epoch, update: StateUpdate { start, batches } })
    }
}

fn version(reader: &mut Reader<'_>) -> Result<(), Damaged> {
    if reader.i8()? == VERSION { Ok(()) } else { Err(Malformed("a record of an unknown version")) }
}

fn state_of(number: i8) -> Result<DeliveryState, Damaged> {
    DeliveryState::of(number).ok_or(Malformed("an unknown state of records"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_back_and_malformed_ones_refused() {
        let key = ShareKey { group: "g".into(), topic: [7; 16], partition: 3 };
        for key in [RecordKey::Snapshot(key.clone()), RecordKey::Update(key.clone(), 9)] {
            let bytes = key.encode();
            assert_eq!(RecordKey::decode(&bytes), Ok(key));
            assert!((0..bytes.len()).all(|cut| RecordKey::decode(&bytes[..cut]).is_err()));
        }
        let batch = StateBatch { first: 5, last: 6, state: DeliveryState::Archived, delivery_count: 2 };
        let update = StateUpdate { start: 4, batches: vec![batch] };
        let value = RecordValue { snapshot: 1, state_epoch: 2, leader_epoch: 3, update };
        let bytes = value.encode();
        assert_eq!(RecordValue::decode(&bytes), Ok(value));
        assert!((0..bytes.len()).all(|cut| RecordValue::decode(&bytes[..cut]).is_err()));
    }
}
