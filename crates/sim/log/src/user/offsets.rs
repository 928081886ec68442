//! Offsets that a transactional producer commits with its transactions, for a group of its own: it alone writes them, so that it
//! knows what it must read (L45, L51).

use kafka_protocol::messages::offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use kafka_protocol::messages::txn_offset_commit_request::{
    TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
};
use kafka_protocol::messages::{
    GroupId, OffsetFetchRequest, OffsetFetchResponse, TransactionalId, TxnOffsetCommitRequest,
};
use kafka_protocol::protocol::StrBytes;

use super::Around;
use super::operator::{NAMES, topic_name};

/// An offset of the first partition of the first topic, which may be made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Committed {
    topic: [u8; 16],
    offset: i64,
}

/// See the module.
pub(super) struct Offsets {
    pub(super) group: GroupId,
    /// What is committed, if that is known.
    known: Option<Committed>,
    /// What the open transaction is to commit.
    wanted: Option<i64>,
    /// What it commits.
    pending: Option<Committed>,
    next: i64,
    /// An older client has told the coordinator of the group.
    pub(super) is_added: bool,
}

impl Offsets {
    pub(super) fn new(number: u32) -> Self {
        let group = GroupId(StrBytes::from_string(format!("group-{number}")));
        Self { group, known: None, wanted: None, pending: None, next: 0, is_added: false }
    }

    /// A transaction begins, which may commit an offset.
    pub(super) fn begin(&mut self, commits: bool) {
        self.next += 1;
        (self.wanted, self.pending) = (commits.then_some(self.next), None);
        self.is_added = false;
    }

    /// What is still to be committed: where, and which offset.
    pub(super) fn wanted(&self, around: &Around<'_>) -> Option<Committed> {
        let topic = around.topics.ids.get(NAMES[0]).copied()?;
        self.wanted.map(|offset| Committed { topic, offset })
    }

    /// The offset is committed if the transaction is. What a request for a topic does that is gone is not known, nor for which of two
    /// topics of one name a request is that names it: a broker may not have heard of the second.
    pub(super) fn taken(&mut self, around: &Around<'_>, committed: Committed) {
        self.wanted = None;
        let is_clear = around.brokers.len() == 1 || !around.topics.deleted.contains_key(NAMES[0]);
        let is_there = is_clear && around.topics.ids.get(NAMES[0]) == Some(&committed.topic);
        self.pending = is_there.then_some(committed);
        if !is_there {
            self.known = None;
        }
    }

    /// The transaction has ended.
    pub(super) fn ended(&mut self, commit: bool) {
        self.wanted = None;
        if let Some(pending) = self.pending.take().filter(|_| commit) {
            self.known = Some(pending);
        }
    }

    /// Nobody knows what is committed.
    pub(super) fn forget(&mut self) {
        (self.known, self.pending) = (None, None);
    }

    /// What must be read now, if that is known.
    pub(super) fn known(&mut self, around: &Around<'_>) -> Option<Committed> {
        let topic = around.topics.ids.get(NAMES[0]).copied();
        self.known = self.known.filter(|known| Some(known.topic) == topic);
        self.known
    }

    pub(super) fn commit(
        &self,
        id: &TransactionalId,
        (producer, epoch): (i64, i16),
        committed: Committed,
    ) -> TxnOffsetCommitRequest {
        let partition = TxnOffsetCommitRequestPartition::default()
            .with_partition_index(0)
            .with_committed_offset(committed.offset);
        let topic = TxnOffsetCommitRequestTopic::default()
            .with_name(topic_name(NAMES[0]))
            .with_partitions(vec![partition]);
        TxnOffsetCommitRequest::default()
            .with_transactional_id(id.clone())
            .with_group_id(self.group.clone())
            .with_producer_id(producer.into())
            .with_producer_epoch(epoch)
            .with_generation_id(-1)
            .with_topics(vec![topic])
    }

    pub(super) fn fetch(&self) -> OffsetFetchRequest {
        let topic = OffsetFetchRequestTopics::default()
            .with_name(topic_name(NAMES[0]))
            .with_partition_indexes(vec![0]);
        let group = OffsetFetchRequestGroup::default()
            .with_group_id(self.group.clone())
            .with_topics(Some(vec![topic]));
        OffsetFetchRequest::default().with_groups(vec![group]).with_require_stable(true)
    }

    /// What was read is what was committed, or is not decided yet.
    pub(super) fn judge(&self, around: &mut Around<'_>, expected: Committed, answer: &OffsetFetchResponse) {
        const UNSTABLE: i16 = 88;
        let Some(group) = answer.groups.first().filter(|group| group.error_code == 0) else { return };
        let Some(partition) = group.topics.first().and_then(|topic| topic.partitions.first()) else { return };
        if around.topics.ids.get(NAMES[0]) != Some(&expected.topic) {
            return;
        }
        match (partition.error_code, partition.committed_offset) {
            (UNSTABLE, _) => around.sim.count("offset unstable", 1),
            (0, offset) if offset == expected.offset => around.history.judge(45),
            (error, offset) => around
                .history
                .wrong(45, format!("{:?} has {offset} (error {error}) in place of {expected:?}", self.group)),
        }
    }
}
