//! The tables of a partition together: what a batch changes in them, and their form in a state.

use base::WallTime;
use log_wire::{Batch, Reader, Records, Writer};

use crate::producers::ProducerUndo;
use crate::sealed::Damage;
use crate::transactions::TransactionUndo;
use crate::{
    CoordinatorEpoch, Offset, ProducerBatch, ProducerEpoch, ProducerId, Producers, Sequence, Transactions,
};

/// The types of control records that end a transaction.
const ABORT: i16 = 0;
const COMMIT: i16 = 1;

/// What a partition knows of its log besides the records, as of its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// Idempotent producers.
    pub producers: Producers,
    /// Transactions.
    pub transactions: Transactions,
}

/// What a batch has changed in the tables: enough to take it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TablesUndo {
    producer: Option<ProducerUndo>,
    transaction: TransactionUndo,
}

/// The end of a transaction, as a control batch says it.
pub(crate) struct ControlRecord {
    pub(crate) commits: bool,
    coordinator_epoch: CoordinatorEpoch,
}

impl Tables {
    /// Takes over a batch that was appended at that time. Gives what [takes it back](Self::take_back).
    ///
    /// # Errors
    /// It is a control batch that cannot be understood.
    pub fn append(&mut self, batch: &Batch<'_>, now: WallTime) -> Result<TablesUndo, Damage> {
        let base = Offset(batch.base_offset());
        let id = ProducerId(batch.producer_id());
        let mut undo = TablesUndo { producer: None, transaction: TransactionUndo::Nothing };
        if batch.attributes().is_control() {
            let control = control_record_of(batch)?;
            let epoch = ProducerEpoch(batch.producer_epoch());
            let coordinator_epoch = control.as_ref().map(|control| control.coordinator_epoch);
            undo.producer = Some(self.producers.take_marker(id, epoch, coordinator_epoch, now));
            if let Some(control) = control {
                undo.transaction = self.transactions.take_marker(id, control.commits, base);
            }
        } else if id.0 >= 0 {
            let first = Sequence(batch.base_sequence());
            let last = first.plus(batch.last_offset_delta());
            let of = ProducerBatch { id, epoch: ProducerEpoch(batch.producer_epoch()), first, last };
            let known = of.known(base, Offset(batch.last_offset()), batch.max_timestamp());
            undo.producer = Some(self.producers.take(&of, known, now));
            if batch.attributes().is_transactional() {
                undo.transaction = self.transactions.take(id, base);
            }
        }
        Ok(undo)
    }

    /// Takes back the batch that was taken over last. It was not committed.
    pub fn take_back(&mut self, undo: TablesUndo) {
        self.transactions.take_back(undo.transaction);
        if let Some(producer) = undo.producer {
            self.producers.take_back(producer);
        }
    }

    /// The log begins at that offset from now on.
    pub fn truncate_start(&mut self, start: Offset) {
        self.transactions.truncate_start(start);
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        self.producers.write(writer);
        self.transactions.write(writer);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let producers = Producers::read(reader)?;
        Ok(Self { producers, transactions: Transactions::read(reader)? })
    }
}

/// What a control batch says. One without records ends no transaction any more: compaction has kept it for the epoch of its
/// producer alone.
///
/// # Errors
/// It has a record that does not end a transaction.
pub(crate) fn control_record_of(batch: &Batch<'_>) -> Result<Option<ControlRecord>, Damage> {
    if batch.count() == 0 {
        return Ok(None);
    }
    control_kind(batch).map(Some).ok_or(Damage::Content("a control batch of no meaning"))
}

/// What a control batch says; nothing if it does not end a transaction.
pub(crate) fn control_kind(batch: &Batch<'_>) -> Option<ControlRecord> {
    let record = Records::new(batch.records(), batch.count()).next()?.ok()?;
    let kind = i16::from_be_bytes(*record.key?.get(2..)?.first_chunk()?);
    let epoch = i32::from_be_bytes(*record.value?.get(2..)?.first_chunk()?);
    let is_known = kind == COMMIT || kind == ABORT;
    is_known.then_some(ControlRecord { commits: kind == COMMIT, coordinator_epoch: CoordinatorEpoch(epoch) })
}

/// The key and the value of the record that ends a transaction.
pub(crate) fn control_record(commit: bool, coordinator_epoch: CoordinatorEpoch) -> ([u8; 4], [u8; 6]) {
    let kind = if commit { COMMIT } else { ABORT };
    let [high, low] = kind.to_be_bytes();
    let [a, b, c, d] = coordinator_epoch.0.to_be_bytes();
    ([0, 0, high, low], [0, 0, a, b, c, d])
}

#[cfg(test)]
mod tests {
    use log_wire::RecordsHead;

    use super::*;
    use crate::test_support::{assigned, marker, transactional};

    #[test]
    fn tables_are_a_function_of_the_log_and_their_bytes_give_them_back() {
        let mut tables = Tables::default();
        let now = WallTime::of_ms(77);
        for bytes in [transactional(0, 7, 2, 0, 3), transactional(3, 8, 0, 0, 1), marker(4, 7, 2, false)] {
            tables.append(&assigned(&bytes), now).expect("it stands at the end");
        }
        assert_eq!(tables.transactions.last_stable(Offset(5)), Offset(0));
        assert_eq!(tables.producers.len(), 2);
        let bytes = written(&tables);
        assert_eq!(Tables::read(&mut Reader::new(&bytes, false)), Ok(tables.clone()));
    }

    #[test]
    fn marker_without_its_record_says_the_epoch_of_its_producer_and_ends_nothing() {
        let bytes = marker(0, 7, 2, true);
        let batch = assigned(&bytes);
        let head = RecordsHead {
            attributes: batch.attributes(),
            base_timestamp: -1,
            max_timestamp: batch.max_timestamp(),
            count: 0,
        };
        let bytes = batch.with_records(head, &[]);
        let mut tables = Tables::default();
        tables.append(&assigned(&bytes), WallTime::of_ms(77)).expect("compaction has left it");
        assert_eq!(tables.producers.epoch(ProducerId(7)), Some(ProducerEpoch(2)));
        let open = transactional(1, 7, 2, 0, 1);
        tables.append(&assigned(&open), WallTime::of_ms(78)).expect("it stands at the end");
        tables.append(&assigned(&bytes), WallTime::of_ms(79)).expect("compaction has left it");
        assert_eq!(tables.transactions.last_stable(Offset(5)), Offset(1), "the transaction is still open");
    }

    fn written(tables: &Tables) -> Vec<u8> {
        let mut bytes = Vec::new();
        tables.write(&mut Writer::new(&mut bytes, false));
        bytes
    }

    #[test]
    fn bytes_that_end_early_are_refused() {
        let bytes = written(&Tables::default());
        assert!((0..bytes.len()).all(|cut| Tables::read(&mut Reader::new(&bytes[..cut], false)).is_err()));
    }
}
