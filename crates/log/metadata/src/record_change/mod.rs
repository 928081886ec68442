//! Changes of the records of several partitions of one topic, in one write of the topic's node.
//!
//! A controller gives its changes in batches, which may be of several topics. The caller divides a batch by topic, carries out
//! one [`Change`](crate::Change) for each topic's node, and puts the results together in the order of the batch. Each change is
//! about one partition, so a batch in which one is not possible writes the others.
//!
//! # Whether the write took effect
//! If the connection broke while the node was being written, the changes are computed again from what is there
//! ([`Found::may_be_done`]). A change has taken effect if the partition has the record that was to be written, under the version
//! that follows the expected one. Another process may have written that: then it is there all the same. If the version is higher
//! still, the partition was written again by another process, and nobody can tell what the version in between was
//! ([`Written::Unknown`]).

#[cfg(test)]
mod tests;

use log_wire::ErrorCode;
use replication_controller::{Record, Version, Written};

use crate::{Decision, Found, NODE_BYTES_MAX, PartitionNode, TopicNode};

/// A change of the record of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordChange {
    /// The index of the partition in its topic.
    pub index: u32,
    /// Only if this is still the version of the partition.
    pub version: Version,
    /// The record.
    pub record: Record,
}

/// What becomes of changes of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordsWritten {
    /// What becomes of the topic's node.
    pub decision: Decision,
    /// What becomes of each change, in their order. [`Written::Yes`] holds once the decision is carried out.
    pub results: Vec<Written>,
}

/// What becomes of one change if the node is written.
enum Judged {
    /// It is possible, and is in the node that is to be written.
    Put(Version),
    /// It is written already.
    Done(Version),
    Impossible(Written),
}

impl TopicNode {
    /// Computes changes of records of the topic with that id from the data of its node:
    /// - a change whose partition has another version, or does not exist, is [`Written::Conflict`], and the others are written;
    /// - if the topic is gone, or another one has its name, each change is a [`Written::Conflict`];
    /// - if the data is damaged, each change is a [`Written::Conflict`], and the decision is a refusal that says why. The damaged
    ///   data stays;
    /// - a node that would be too large is not written: each change is [`Written::Untried`], and the decision is a refusal. The
    ///   caller has to tell a person; a controller tries it again at once.
    #[must_use]
    pub fn write_records(found: Found<'_>, topic: [u8; 16], changes: &[RecordChange]) -> RecordsWritten {
        let conflicts = |decision| {
            let results = changes.iter().map(|_| Written::Conflict).collect();
            RecordsWritten { decision, results }
        };
        match found.data.map(Self::read) {
            Some(Ok(node)) if node.id == topic => node.with_records(changes, found.may_be_done),
            Some(Ok(_)) | None => conflicts(Decision::Keep),
            Some(Err(bad)) => {
                let why = format!("the node of the topic is damaged: {bad}");
                conflicts(Decision::Refuse(ErrorCode::UnknownServerError, why))
            }
        }
    }

    fn with_records(mut self, changes: &[RecordChange], may_be_done: bool) -> RecordsWritten {
        let judged: Vec<Judged> = changes.iter().map(|change| self.put_record(change, may_be_done)).collect();
        let is_changed = judged.iter().any(|judged| matches!(judged, Judged::Put(_)));
        let bytes = if is_changed { self.bytes() } else { Vec::new() };
        let is_too_large = bytes.len() > NODE_BYTES_MAX;
        let result = |judged| match judged {
            Judged::Put(_) if is_too_large => Written::Untried,
            Judged::Put(version) => Written::Yes(version),
            Judged::Done(version) => Written::Yes(version),
            Judged::Impossible(result) => result,
        };
        let results = judged.into_iter().map(result).collect();
        let decision = match is_changed {
            true if is_too_large => {
                let why = "the topic would be too large for the council: it has too many partitions";
                Decision::Refuse(ErrorCode::PolicyViolation, why.into())
            }
            true => Decision::Write(bytes),
            false => Decision::Keep,
        };
        RecordsWritten { decision, results }
    }

    /// Puts one record into this node, if the partition has the version that the change expects. Of two changes of one partition
    /// the second one finds the version that the first one has made.
    fn put_record(&mut self, change: &RecordChange, may_be_done: bool) -> Judged {
        let RecordChange { index, version, record } = change;
        let partition = usize::try_from(*index).ok().and_then(|index| self.partitions.get_mut(index));
        let (Some(partition), Some(next)) = (partition, version.0.checked_add(1).map(Version)) else {
            return Judged::Impossible(Written::Conflict);
        };
        let wanted = PartitionNode::of(record, next);
        // A number that the node has no room for must not take the place of a record that can be read.
        if wanted.record().is_none() {
            return Judged::Impossible(Written::Conflict);
        }
        if partition.version == version.0 {
            *partition = wanted;
            return Judged::Put(next);
        }
        match may_be_done {
            true if *partition == wanted => Judged::Done(next),
            true if partition.version > next.0 => Judged::Impossible(Written::Unknown),
            _ => Judged::Impossible(Written::Conflict),
        }
    }
}
