//! A partition as the model has it: a list of records and markers, with the least that a leader has to know of producers.

use std::collections::{BTreeMap, BTreeSet};

use log_coordinators::{MarkerOutcome, Producer};
use log_partition::{CoordinatorEpoch, Marker, ProducerEpoch, ProducerId, TransactionVersion};

#[derive(Clone, Default)]
struct Known {
    epoch: ProducerEpoch,
    coordinator: CoordinatorEpoch,
    markers: u64,
    /// The values of the open transaction.
    open: Vec<i64>,
}

#[derive(Default)]
pub(crate) struct Partition {
    known: BTreeMap<ProducerId, Known>,
    /// What a `read_committed` reader sees.
    pub(crate) visible: BTreeSet<i64>,
    /// How each transaction ended here, by one of its values.
    pub(crate) ended: Vec<(i64, bool)>,
}

impl Partition {
    pub(crate) fn is_open(&self, producer: Producer) -> bool {
        let known = self.known.get(&producer.id);
        known.is_some_and(|known| known.epoch == producer.epoch && !known.open.is_empty())
    }

    pub(crate) fn is_fenced(&self, producer: Producer) -> bool {
        self.known.get(&producer.id).is_some_and(|known| producer.epoch < known.epoch)
    }

    /// Changes with every marker of the producer.
    pub(crate) fn guard(&self, id: ProducerId) -> u64 {
        self.known.get(&id).map_or(0, |known| known.markers)
    }

    pub(crate) fn append(&mut self, producer: Producer, value: i64) {
        let known = self.known.entry(producer.id).or_default();
        assert!(
            known.epoch == producer.epoch || known.open.is_empty(),
            "records of two epochs are open at once (L44)"
        );
        known.epoch = producer.epoch;
        known.open.push(value);
    }

    pub(crate) fn mark(&mut self, marker: &Marker) -> MarkerOutcome {
        let known = self.known.entry(marker.producer_id).or_default();
        if marker.coordinator_epoch < known.coordinator {
            return MarkerOutcome::Fenced;
        }
        let raised = marker.version == TransactionVersion::EpochPerTransaction;
        if marker.epoch < known.epoch || (raised && marker.epoch == known.epoch && !known.open.is_empty()) {
            return MarkerOutcome::Unneeded;
        }
        known.epoch = marker.epoch;
        known.coordinator = marker.coordinator_epoch;
        known.markers += 1;
        for value in std::mem::take(&mut known.open) {
            self.ended.push((value, marker.commit));
            if marker.commit {
                self.visible.insert(value);
            }
        }
        MarkerOutcome::Written
    }

    pub(crate) fn assert_nothing_open(&self) {
        for (id, known) in &self.known {
            assert!(known.open.is_empty(), "a transaction of producer {id} hangs (L44)");
        }
    }
}
