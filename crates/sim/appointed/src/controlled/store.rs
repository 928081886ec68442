//! The configuration: records with versions, and what they have ever said.

use std::collections::BTreeMap;

use replication_appointed::{Config, Epoch, ReplicaId};
use replication_controller::{Change, Known, PartitionId, Record, Version, Written};

use crate::violation::Violation;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    pub(super) records: BTreeMap<PartitionId, (Version, Record)>,
    /// What each epoch was.
    pub(super) said: BTreeMap<(PartitionId, Epoch), Config>,
    /// Appointments that accept a loss, and that the checks have not seen.
    pub(super) losses: Vec<(PartitionId, ReplicaId, Epoch)>,
}

impl Store {
    pub(super) fn create(&mut self, id: PartitionId, record: Record) {
        self.said.insert((id, record.config.epoch), record.config.clone());
        self.records.insert(id, (Version(1), record));
    }

    pub(super) fn known(&self, id: PartitionId) -> Option<Known> {
        let (version, record) = self.records.get(&id)?;
        Some(Known { partition: id, version: *version, record: record.clone() })
    }

    pub(super) fn all(&self) -> Vec<Known> {
        self.records.keys().filter_map(|id| self.known(*id)).collect()
    }

    /// All changes, or none.
    pub(super) fn write(&mut self, changes: &[Change]) -> Result<Vec<Written>, Violation> {
        let is_current = |change: &Change| {
            self.records.get(&change.partition).is_some_and(|known| known.0 == change.version)
        };
        if !changes.iter().all(is_current) {
            let result = |change| if is_current(change) { Written::Untried } else { Written::Conflict };
            return Ok(changes.iter().map(result).collect());
        }
        changes.iter().map(|change| self.write_one(change)).collect()
    }

    fn write_one(&mut self, change: &Change) -> Result<Written, Violation> {
        let id = change.partition;
        let (version, before) = self.records.get(&id).cloned().ok_or(Violation::Stuck("no record"))?;
        let config = &change.record.config;
        let is_new = *config != before.config;
        if is_new && config.epoch <= before.config.epoch {
            return Err(Violation::Epoch(config.epoch));
        }
        if self.said.get(&(id, config.epoch)).is_some_and(|known| known != config) {
            return Err(Violation::Epoch(config.epoch));
        }
        if change.record.loss != before.loss {
            self.losses.push((id, config.leader, config.epoch));
        }
        self.said.insert((id, config.epoch), config.clone());
        let version = Version(version.0 + 1);
        self.records.insert(id, (version, change.record.clone()));
        Ok(Written::Yes(version))
    }
}
