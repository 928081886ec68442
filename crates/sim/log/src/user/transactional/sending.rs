//! What a transaction consists of: its partitions, its batches, and the offset that it commits.

use std::collections::{BTreeMap, BTreeSet};

use kafka_protocol::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, ProduceRequest,
    ProduceResponse,
};
use uuid::Uuid;

use super::{
    ABORTABLE, ADD, Asked, Batch, COMMIT, COORDINATOR_RETRIABLE, ENDED, FETCH, MADE_ANEW_MS, OUT_OF_ORDER,
    OUTSTANDING_MAX, PATIENCE_MS, PRODUCE, RETRIABLE, Stage, TransactionalProducer, version,
};
use crate::history::{Place, Value};
use crate::user::batch::{draw, encode};
use crate::user::operator::topic_name;
use crate::user::{Around, Link, Target};

impl TransactionalProducer {
    pub(super) fn make_batch(&mut self, around: &mut Around<'_>) {
        let (Some(who), Some(transaction)) = (self.who, self.transaction) else { return };
        let at = around.random.below(self.places.len() as u64) as usize;
        let (name, place) = self.places[at];
        let made = self.sequences.get(&place).map_or(0, |(_, made)| *made);
        let oldest = self.batches.iter().find(|batch| batch.place == place);
        // A partition knows a producer's last five batches: what is sent again must be one of them.
        if oldest.is_some_and(|oldest| made - oldest.number >= OUTSTANDING_MAX) {
            return;
        }
        let count = 1 + around.random.below(4);
        let values: Vec<Value> = (0..count).map(|index| self.next_value + index).collect();
        self.next_value += count;
        let is_compacted = around.topics.is_compacted(&place.topic);
        let records = draw(&values, is_compacted, around);
        for new in &records {
            let kind = (true, self.has_own_epochs);
            around.history.sent(*new, place, self.number, kind, Some(transaction));
        }
        let (next, number) = self.sequences.entry(place).or_default();
        let (sequence, number) =
            (std::mem::replace(next, *next + count as i32), std::mem::replace(number, *number + 1));
        let bytes = encode(&records, Some((who, sequence)), true, around.random.below(80) as usize);
        let (is_sent, was_sent) = (false, false);
        self.batches.push_back(Batch { place, name, values, sequence, number, bytes, is_sent, was_sent });
        self.left -= 1;
    }

    /// Older clients tell the coordinator of each partition first.
    pub(super) fn add(&mut self, around: &mut Around<'_>) {
        if self.has_own_epochs {
            return;
        }
        let missing = |batch: &&Batch| !self.added.contains(&batch.place);
        let new: BTreeMap<Place, &'static str> =
            self.batches.iter().filter(missing).map(|batch| (batch.place, batch.name)).collect();
        let (Some((producer, epoch)), false) = (self.who, new.is_empty()) else { return };
        if !self.is_idle(around) {
            return;
        }
        let topics = new.iter().map(|(place, name)| {
            AddPartitionsToTxnTopic::default()
                .with_name(topic_name(name))
                .with_partitions(vec![place.partition])
        });
        let request = AddPartitionsToTxnRequest::default()
            .with_v3_and_below_transactional_id(self.id.clone())
            .with_v3_and_below_producer_id(producer.into())
            .with_v3_and_below_producer_epoch(epoch)
            .with_v3_and_below_topics(topics.collect());
        self.began_ms.get_or_insert(around.now_ms);
        self.coordinator.send(around, ADD, &request, Asked::Add(new.into_keys().collect()));
    }

    pub(super) fn answered_add(
        &mut self,
        around: &mut Around<'_>,
        places: Vec<Place>,
        answer: &AddPartitionsToTxnResponse,
    ) {
        let of_topics = answer.results_by_topic_v3_and_below.iter();
        let codes = of_topics.flat_map(|topic| &topic.results_by_partition);
        let worst = codes.map(|partition| partition.partition_error_code).find(|code| *code != 0);
        match worst {
            None => self.added.extend(places),
            Some(error) if COORDINATOR_RETRIABLE.contains(&error) || error == 55 => {
                self.coordinator.misled(around, error);
                self.rest(around);
            }
            Some(error) => self.was_ended(around, error),
        }
    }

    pub(super) fn commit_offsets(&mut self, around: &mut Around<'_>) {
        let (Some(committed), Some(who)) = (self.offsets.wanted(around), self.who) else { return };
        if self.has_own_epochs || self.offsets.is_added {
            let request = self.offsets.commit(&self.id, who, committed);
            let version = version(self.has_own_epochs, COMMIT);
            if let Some(link) = self.idle_with_group(around) {
                link.send(around, version, &request, Asked::Commit(committed));
                self.began_ms.get_or_insert(around.now_ms);
            }
            return;
        }
        if !self.is_idle(around) {
            return;
        }
        self.began_ms.get_or_insert(around.now_ms);
        let request = AddOffsetsToTxnRequest::default()
            .with_transactional_id(self.id.clone())
            .with_producer_id(who.0.into())
            .with_producer_epoch(who.1)
            .with_group_id(self.offsets.group.clone());
        self.coordinator.send(around, ADD, &request, Asked::AddOffsets);
    }

    pub(super) fn offsets_refused(&mut self, around: &mut Around<'_>, error: i16) {
        match error {
            0 => {}
            _ if self.stage != Stage::Open => {}
            error if COORDINATOR_RETRIABLE.contains(&error) => {
                self.coordinator.misled(around, error);
                self.of_group.misled(around, error);
                self.rest(around);
            }
            error => self.was_ended(around, error),
        }
    }

    /// Reads the offset that it has committed.
    pub(super) fn fetch(&mut self, around: &mut Around<'_>) {
        let Some(expected) = self.offsets.known(around) else { return };
        let request = self.offsets.fetch();
        if let Some(link) = self.idle_with_group(around) {
            link.send(around, FETCH, &request, Asked::Fetch(expected));
        }
    }

    /// Takes what the leaders of its partitions have answered.
    pub(super) fn receive_data(&mut self, around: &mut Around<'_>) {
        for key in self.data.keys().copied().collect::<Vec<_>>() {
            while let Some(answer) = self.data.get_mut(&key).and_then(|link| link.receive(around)) {
                self.answered(around, answer.of, &answer.read::<ProduceRequest>());
            }
        }
    }

    /// What was outstanding on connections that broke is to be sent again.
    pub(super) fn look_for_lost_data(&mut self, around: &mut Around<'_>) {
        for (key, link) in &mut self.data {
            if link.is_lost(around, PATIENCE_MS) {
                link.leave(around);
                let is_of_it = |batch: &&mut Batch| key.is_none_or(|place| place == batch.place);
                self.batches.iter_mut().filter(is_of_it).for_each(|batch| batch.is_sent = false);
            }
        }
    }

    pub(super) fn send(&mut self, around: &mut Around<'_>) {
        if around.brokers.len() == 1 {
            return self.send_to(around, None);
        }
        let places: BTreeSet<Place> = self.batches.iter().map(|batch| batch.place).collect();
        self.data.retain(|key, link| link.outstanding() > 0 || key.is_some_and(|key| places.contains(&key)));
        places.into_iter().for_each(|place| self.send_to(around, Some(place)));
    }

    /// Sends the next batch of that partition, or of all.
    fn send_to(&mut self, around: &mut Around<'_>, key: Option<Place>) {
        let target = key.map_or(Target::Any, Target::Leader);
        let link = self.data.entry(key).or_insert_with(|| Link::to(target));
        if link.outstanding() >= OUTSTANDING_MAX || !link.connect(around) {
            return;
        }
        let (is_own, added) = (self.has_own_epochs, &self.added);
        let is_of_it = |batch: &Batch| key.is_none_or(|place| place == batch.place);
        let may = |batch: &Batch| is_of_it(batch) && (is_own || added.contains(&batch.place));
        let Some(at) = self.batches.iter().position(|batch| !batch.is_sent && may(batch)) else { return };
        let batch = &mut self.batches[at];
        if std::mem::replace(&mut batch.was_sent, true) {
            batch.values.iter().for_each(|value| around.history.sent_again(*value));
            around.sim.count("batch sent again", 1);
        }
        batch.is_sent = true;
        let data = PartitionProduceData::default()
            .with_index(batch.place.partition)
            .with_records(Some(batch.bytes.clone()));
        let of_topic = TopicProduceData::default().with_partition_data(vec![data]);
        let of_topic = match is_own {
            true => of_topic.with_topic_id(Uuid::from_bytes(batch.place.topic)),
            false => of_topic.with_name(topic_name(batch.name)),
        };
        let request = ProduceRequest::default()
            .with_transactional_id(Some(self.id.clone()))
            .with_acks(-1)
            .with_timeout_ms(1_500)
            .with_topic_data(vec![of_topic]);
        let of = (batch.place, batch.sequence);
        self.began_ms.get_or_insert(around.now_ms);
        link.send(around, version(is_own, PRODUCE), &request, of);
    }

    pub(super) fn answered(&mut self, around: &mut Around<'_>, of: (Place, i32), answer: &ProduceResponse) {
        let partition = answer.responses.first().and_then(|topic| topic.partition_responses.first());
        let Some(partition) = partition else {
            return around.history.wrong(79, String::from("an answer to Produce without its partition"));
        };
        let is_it = |batch: &Batch| (batch.place, batch.sequence) == of;
        let Some(at) = self.batches.iter().position(is_it) else { return };
        let is_first = !self.batches.iter().take(at).any(|batch| batch.place == of.0);
        match partition.error_code {
            0 => {
                let Some(batch) = self.batches.remove(at) else { return };
                around.sim.count("batch of a transaction acknowledged", 1);
                // By its name the batch may have gone to a topic that was made anew.
                if self.has_own_epochs || around.topics.ids.get(batch.name) == Some(&batch.place.topic) {
                    around.history.acked(&batch.values, partition.base_offset);
                }
                self.ends.insert(of.0, partition.base_offset + batch.values.len() as i64);
            }
            // The end has overtaken it.
            _ if self.stage != Stage::Open => {}
            OUT_OF_ORDER if !is_first => self.again(around, at),
            OUT_OF_ORDER if self.has_lost_records(around, of.0) => {
                around.sim.count("sequence gone with deleted records", 1);
                self.give_up(around);
            }
            error if RETRIABLE.contains(&error) => {
                if let Some(link) = self.data.get_mut(&Some(of.0)) {
                    link.misled(around, error);
                }
                self.again(around, at);
            }
            // The coordinator and the leader may have meant different topics by that name.
            ABORTABLE if self.may_be_of_another_topic(around, at) => {
                around.sim.count("transaction of a topic that was made anew", 1);
                self.give_up(around);
            }
            error if ENDED.contains(&error) => self.was_ended(around, error),
            error => {
                let who = self.who;
                around.history.wrong(18, format!("batch {of:?} of {who:?} was answered with {error}"));
            }
        }
    }

    /// Whether the topic of a batch that named it by name was made anew just now.
    fn may_be_of_another_topic(&self, around: &Around<'_>, at: usize) -> bool {
        let name = self.batches.get(at).map_or("", |batch| batch.name);
        let deleted_ms = around.topics.deleted.get(name);
        let is_fresh = deleted_ms.is_some_and(|at_ms| around.now_ms < at_ms + MADE_ANEW_MS);
        around.brokers.len() > 1 && !self.has_own_epochs && is_fresh
    }

    /// Whether all that it has written there under its epoch may have been deleted. A replica that was made since knows of a marker
    /// behind it at most, and refuses what follows: so does Kafka's.
    fn has_lost_records(&self, around: &Around<'_>, place: Place) -> bool {
        let (asked, _) = around.history.trims(place);
        around.brokers.len() > 1 && self.ends.get(&place).is_some_and(|end| *end <= asked)
    }

    pub(super) fn again(&mut self, around: &Around<'_>, at: usize) {
        if let Some(batch) = self.batches.get_mut(at) {
            batch.is_sent = false;
        }
        self.rest(around);
    }
}
