//! Transactions: what their producers asked for and were told, and what consumers saw of them.

use std::collections::BTreeMap;

use super::{Content, History, Place, Stood, Value};

/// The number of a transaction of any client: later ones of one client have higher numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TransactionId(u64);

/// What is known of a transaction.
#[derive(Clone, Copy, Debug, Default)]
struct Transaction {
    /// Its end has an epoch above that of its records.
    has_own_epoch: bool,
    /// Somebody has asked for its commit.
    is_commit_asked: bool,
    /// Whether it is committed, as its producer was told or somebody has seen.
    is_committed: Option<bool>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Transactions {
    all: BTreeMap<TransactionId, Transaction>,
}

impl History {
    /// A client begins a transaction.
    pub(crate) fn begin_transaction(&mut self, has_own_epoch: bool) -> TransactionId {
        let id = TransactionId(self.transactions.all.len() as u64);
        self.transactions.all.insert(id, Transaction { has_own_epoch, ..Transaction::default() });
        id
    }

    /// Its client asks for its commit.
    pub(crate) fn commit_asked(&mut self, id: TransactionId) {
        if let Some(transaction) = self.transactions.all.get_mut(&id) {
            transaction.is_commit_asked = true;
        }
    }

    /// Its client was told that it is committed, or that it is not; or nobody will ever ask for its commit.
    pub(crate) fn ended(&mut self, id: TransactionId, commit: bool) {
        self.acked += 1;
        self.decided(id, commit, (40, "its client was told so"));
    }

    /// A consumer that reads what is committed was given a record.
    pub(crate) fn seen_committed(&mut self, value: Value) {
        let Some(id) = self.transaction_of(value) else { return };
        self.judge(37);
        if !self.transactions.all.get(&id).is_some_and(|transaction| transaction.is_commit_asked) {
            self.wrong(37, format!("{value} of {id:?} was seen, and nobody has asked for its commit"));
        }
        self.decided(id, true, (37, "its record was given as committed"));
    }

    /// A consumer was told to drop a record, because its transaction was aborted.
    pub(crate) fn seen_aborted(&mut self, value: Value) {
        match self.transaction_of(value) {
            Some(id) => self.decided(id, false, (37, "its record was given as aborted")),
            None => self.wrong(37, format!("{value} is of no transaction, and was given as aborted")),
        }
    }

    fn decided(&mut self, id: TransactionId, commit: bool, (rule, why): (u32, &str)) {
        self.judge(rule);
        let Some(transaction) = self.transactions.all.get_mut(&id) else { return };
        if *transaction.is_committed.get_or_insert(commit) != commit {
            self.wrong(rule, format!("{id:?}: is it committed? {commit}: {why}; before, it was not so"));
        }
    }

    fn transaction_of(&self, value: Value) -> Option<TransactionId> {
        self.writes.get(&value)?.transaction
    }

    fn fate_of(&self, value: Value) -> Option<bool> {
        let Some(id) = self.transaction_of(value) else { return Some(true) };
        self.transactions.all.get(&id)?.is_committed
    }

    /// Whether the transaction of a value was aborted.
    pub(super) fn is_aborted(&self, value: Value) -> bool {
        self.fate_of(value) == Some(false)
    }

    /// Whether a value is of no transaction, or of one that is committed.
    pub(super) fn is_committed(&self, value: Value) -> bool {
        self.fate_of(value) == Some(true)
    }

    /// L40 to L43, in the log of a partition: epochs of a producer rise; between two markers of it are records of one
    /// transaction; the marker decides as was told; and where each transaction has an epoch of its own, it has a higher one.
    pub(super) fn judge_transactions(&mut self, place: Place, log: &[Stood]) {
        let mut epochs = BTreeMap::<i64, i16>::new();
        let mut open = BTreeMap::<i64, (TransactionId, i16)>::new();
        let mut last = BTreeMap::<u32, TransactionId>::new();
        for Stood { offset, producer: (producer, epoch), what, .. } in log.iter().copied() {
            if producer < 0 {
                continue;
            }
            self.judge(42);
            let newest = epochs.entry(producer).or_insert(epoch);
            if *newest > epoch {
                let newest = *newest;
                self.wrong(42, format!("{offset} of {place:?}: epoch {epoch} of {producer} behind {newest}"));
            }
            epochs.insert(producer, epoch);
            match what {
                Content::Marker(commit) => {
                    if let Some(open) = open.remove(&producer) {
                        self.judge_marker((place, offset), open, commit, epoch);
                    }
                }
                Content::Value(value) => {
                    let Some(id) = self.transaction_of(value) else { continue };
                    let (first, _) = *open.entry(producer).or_insert((id, epoch));
                    let client = (value >> 32) as u32;
                    let before = last.insert(client, id);
                    self.judge(43);
                    if first != id || before.is_some_and(|before| before > id) {
                        self.wrong(43, format!("{offset} of {place:?} is of {id:?}, behind records of {before:?}, in {first:?}"));
                    }
                }
            }
        }
        if let Some((producer, (id, _))) = open.into_iter().next() {
            self.wrong(44, format!("{id:?} of producer {producer} is open in {place:?}"));
        }
    }

    fn judge_marker(
        &mut self,
        (place, offset): (Place, i64),
        (id, records_epoch): (TransactionId, i16),
        commit: bool,
        epoch: i16,
    ) {
        self.decided(id, commit, (40, "a marker says so"));
        let has_own_epoch =
            self.transactions.all.get(&id).is_some_and(|transaction| transaction.has_own_epoch);
        if has_own_epoch && epoch <= records_epoch {
            self.wrong(
                43,
                format!("{offset} of {place:?} ends {id:?} of epoch {records_epoch} under {epoch}"),
            );
        }
    }
}
