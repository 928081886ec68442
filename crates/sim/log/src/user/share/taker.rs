//! What a member of the share group has with one broker: a session by which it takes records and acknowledges them.

use std::collections::{BTreeMap, BTreeSet};

use kafka_protocol::messages::share_acknowledge_request::{
    AcknowledgePartition, AcknowledgeTopic, AcknowledgementBatch as Acknowledged,
};
use kafka_protocol::messages::share_fetch_request::{
    AcknowledgementBatch, FetchPartition, FetchTopic, ForgottenTopic,
};
use kafka_protocol::messages::share_fetch_response::PartitionData;
use kafka_protocol::messages::{ShareAcknowledgeRequest, ShareFetchRequest, ShareFetchResponse};
use kafka_protocol::protocol::StrBytes;
use kafka_protocol::records::RecordBatchDecoder;
use uuid::Uuid;

use super::GROUP;
use crate::history::{Place, Taking};
use crate::user::consumer::value_of;
use crate::user::{Around, Link, Target};

const FETCH: i16 = 1;
const ACKNOWLEDGE: i16 = 1;
const PATIENCE_MS: u64 = 7_000;
const WAIT_MS: i32 = 300;
/// One connection in so many breaks after which the member goes on with its session by another one. The broker may have ended it.
const GOES_ON_EVERY: u64 = 3;
const BEGINS: i32 = 0;
const ENDS: i32 = -1;
const INVALID_RECORD_STATE: i16 = 121;
/// The session is not known, or not at this point.
const OTHER_SESSION: [i16; 2] = [122, 123];
/// The broker does not lead the partition, or its state cannot be had or written now.
const FOR_NOW: [i16; 14] = [3, 5, 6, 7, 9, 14, 15, 16, 19, 20, 56, 74, 75, 100];
const ACCEPT: i8 = 1;
const RELEASE: i8 = 2;
const REJECT: i8 = 3;

type At = (Place, i64);

/// An acknowledgement of one record.
#[derive(Clone, Copy, Debug)]
struct Ack {
    at: At,
    kind: i8,
    /// By whom it was taken; nothing if it was never given to this member.
    taking: Option<Taking>,
}

/// A request that is outstanding.
struct Asked {
    /// What it asks for records of, if it is a ShareFetch.
    takes: Option<BTreeSet<Place>>,
    taking: Taking,
    acks: Vec<Ack>,
    /// It ends the session.
    ends: bool,
}

/// See the module.
pub(super) struct Taker {
    member: u32,
    broker: usize,
    link: Link<Asked>,
    /// The epoch of the next request of the session.
    epoch: i32,
    session: BTreeSet<Place>,
    /// What the broker is known to have for the session: as of its last answer.
    told: BTreeSet<Place>,
    held: BTreeMap<At, Taking>,
    /// All records that it was given.
    had: BTreeSet<At>,
    /// An answer was lost, with which it may have been given others.
    has_lost: bool,
    rests_until_ms: u64,
}

impl Taker {
    pub(super) fn new(member: u32, broker: usize) -> Self {
        Self {
            member,
            broker,
            link: Link::to(Target::Broker(broker)),
            epoch: BEGINS,
            session: BTreeSet::new(),
            told: BTreeSet::new(),
            held: BTreeMap::new(),
            had: BTreeSet::new(),
            has_lost: false,
            rests_until_ms: 0,
        }
    }

    /// Takes records of these partitions, which the broker leads. Gives those that it does not lead.
    pub(super) fn step(
        &mut self,
        around: &mut Around<'_>,
        id: &StrBytes,
        places: BTreeSet<Place>,
    ) -> Vec<Place> {
        let mut moved = Vec::new();
        while let Some(answer) = self.link.receive(around) {
            match answer.of.takes {
                Some(_) => {
                    let response = answer.read::<ShareFetchRequest>();
                    self.fetched(around, answer.of, response, &mut moved);
                }
                None => {
                    let response = answer.read::<ShareAcknowledgeRequest>();
                    let each = response.responses.into_iter().flat_map(|topic| {
                        let topic_id = topic.topic_id.into_bytes();
                        let of = move |partition| Place { topic: topic_id, partition };
                        topic.partitions.into_iter().map(move |p| (of(p.partition_index), p.error_code))
                    });
                    let errors = each.collect();
                    self.acknowledged(around, &answer.of, response.error_code, &errors);
                    self.goes_on(around, &answer.of, response.error_code);
                }
            }
        }
        if self.link.is_lost(around, PATIENCE_MS) {
            let (epoch, told) = (self.epoch, std::mem::take(&mut self.told));
            self.part(around);
            if around.now_ms.is_multiple_of(GOES_ON_EVERY) {
                (self.epoch, self.session, self.told) = (epoch, told.clone(), told);
            }
        }
        let is_at_rest = around.now_ms < self.rests_until_ms;
        if is_at_rest || self.link.outstanding() > 0 || (places.is_empty() && self.epoch == BEGINS) {
            return moved;
        }
        if self.link.connect(around) {
            self.ask(around, id, places);
        }
        moved
    }

    /// The connection and its session are given up, and all records with it.
    pub(super) fn part(&mut self, around: &mut Around<'_>) {
        around.history.disturbed();
        for asked in self.link.forget(around) {
            self.has_lost |= asked.takes.is_some();
            self.is_unknown(around, &asked);
        }
        self.forget(around);
    }

    /// What became of a request is not known.
    fn is_unknown(&self, around: &mut Around<'_>, asked: &Asked) {
        for ack in asked.acks.iter().filter(|ack| ack.kind != RELEASE) {
            Self::is_answered(around, ack);
            around.history.share_unanswered(ack.at);
        }
        for place in asked.takes.iter().flatten() {
            around.history.share_lost(*place);
        }
    }

    /// Nothing is outstanding any more with that.
    fn is_answered(around: &mut Around<'_>, ack: &Ack) {
        if ack.kind != RELEASE && ack.taking.is_some() {
            around.history.share_answered(ack.at);
        }
    }

    /// There is no session any more.
    fn forget(&mut self, around: &mut Around<'_>) {
        for at in std::mem::take(&mut self.held).into_keys() {
            around.history.share_given_up(at, self.member);
        }
        self.session.clear();
        self.told.clear();
        self.epoch = BEGINS;
    }

    fn ask(&mut self, around: &mut Around<'_>, id: &StrBytes, places: BTreeSet<Place>) {
        let moment = around.history.moment();
        let taking = Taking { member: self.member, broker: self.broker, moment, ms: around.now_ms };
        if around.is_busy && self.epoch > BEGINS && around.random.chance(1) {
            return self.close(around, id, taking);
        }
        let acks = if self.epoch == BEGINS { Vec::new() } else { self.choose(around) };
        if !acks.is_empty() && around.random.chance(50) {
            return self.acknowledge(around, id, (taking, acks));
        }
        let topics = self.named(&places, &acks);
        let gone = self.session.difference(&places).map(|place| {
            ForgottenTopic::default()
                .with_topic_id(Uuid::from_bytes(place.topic))
                .with_partitions(vec![place.partition])
        });
        let request = ShareFetchRequest::default()
            .with_group_id(Some(StrBytes::from_static_str(GROUP).into()))
            .with_member_id(Some(id.clone()))
            .with_share_session_epoch(self.epoch)
            .with_max_wait_ms(WAIT_MS)
            .with_min_bytes(1)
            .with_max_bytes(1 << 20)
            .with_max_records(1 + around.random.below(50) as i32)
            .with_batch_size(1 + around.random.below(50) as i32)
            .with_topics(topics)
            .with_forgotten_topics_data(gone.collect());
        self.session = places.clone();
        self.link.send(around, FETCH, &request, Asked { takes: Some(places), taking, acks, ends: false });
    }

    /// The partitions that are new in the session, and those of which something is acknowledged.
    fn named(&self, places: &BTreeSet<Place>, acks: &[Ack]) -> Vec<FetchTopic> {
        let new = places.iter().filter(|place| !self.session.contains(place));
        let named: BTreeSet<Place> = new.copied().chain(acks.iter().map(|ack| ack.at.0)).collect();
        let topics = named.into_iter().map(|place| {
            let batches = acks.iter().filter(|ack| ack.at.0 == place).map(|ack| {
                AcknowledgementBatch::default()
                    .with_first_offset(ack.at.1)
                    .with_last_offset(ack.at.1)
                    .with_acknowledge_types(vec![ack.kind])
            });
            let of = FetchPartition::default()
                .with_partition_index(place.partition)
                .with_acknowledgement_batches(batches.collect());
            FetchTopic::default().with_topic_id(Uuid::from_bytes(place.topic)).with_partitions(vec![of])
        });
        topics.collect()
    }

    /// Which records it acknowledges now, and how. Now and then one that it was never given.
    fn choose(&mut self, around: &mut Around<'_>) -> Vec<Ack> {
        if around.is_busy && around.random.chance(40) {
            return Vec::new();
        }
        let most = around.random.below(30) as usize;
        let mut acks = Vec::new();
        for (at, taking) in self.held.iter().take(most) {
            let kind = match around.random.below(100) {
                _ if !around.is_busy => ACCEPT,
                0..70 => ACCEPT,
                70..85 => RELEASE,
                _ => REJECT,
            };
            acks.push(Ack { at: *at, kind, taking: Some(*taking) });
        }
        for ack in &acks {
            self.held.remove(&ack.at);
            around.history.share_given_up(ack.at, self.member);
            if ack.kind != RELEASE {
                around.history.share_asked(ack.at);
            }
        }
        if acks.is_empty()
            && !self.has_lost
            && around.random.chance(5)
            && let Some(place) = self.session.first().copied()
        {
            let offset = around.random.below(around.history.known_end(place) as u64 + 1) as i64;
            if !self.had.contains(&(place, offset)) {
                acks.push(Ack { at: (place, offset), kind: ACCEPT, taking: None });
            }
        }
        acks
    }

    fn acknowledge(&mut self, around: &mut Around<'_>, id: &StrBytes, (taking, acks): (Taking, Vec<Ack>)) {
        let topics = acks.iter().map(|ack| {
            let batch = Acknowledged::default()
                .with_first_offset(ack.at.1)
                .with_last_offset(ack.at.1)
                .with_acknowledge_types(vec![ack.kind]);
            (ack.at.0, batch)
        });
        let mut by_place = BTreeMap::<Place, Vec<Acknowledged>>::new();
        topics.for_each(|(place, batch)| by_place.entry(place).or_default().push(batch));
        let topics = by_place.into_iter().map(|(place, batches)| {
            let of = AcknowledgePartition::default()
                .with_partition_index(place.partition)
                .with_acknowledgement_batches(batches);
            AcknowledgeTopic::default().with_topic_id(Uuid::from_bytes(place.topic)).with_partitions(vec![of])
        });
        let request = ShareAcknowledgeRequest::default()
            .with_group_id(Some(StrBytes::from_static_str(GROUP).into()))
            .with_member_id(Some(id.clone()))
            .with_share_session_epoch(self.epoch)
            .with_topics(topics.collect());
        self.link.send(around, ACKNOWLEDGE, &request, Asked { takes: None, taking, acks, ends: false });
    }

    /// Closes the session: what it has goes back, and does not count.
    fn close(&mut self, around: &mut Around<'_>, id: &StrBytes, taking: Taking) {
        around.sim.count("share session closed", 1);
        for at in std::mem::take(&mut self.held).into_keys() {
            around.history.share_uncounted(at, self.member);
        }
        let request = ShareAcknowledgeRequest::default()
            .with_group_id(Some(StrBytes::from_static_str(GROUP).into()))
            .with_member_id(Some(id.clone()))
            .with_share_session_epoch(ENDS);
        let asked = Asked { takes: None, taking, acks: Vec::new(), ends: true };
        self.link.send(around, ACKNOWLEDGE, &request, asked);
    }

    /// A request of the session was answered.
    fn goes_on(&mut self, around: &mut Around<'_>, asked: &Asked, error: i16) {
        match error {
            0 if asked.ends => self.forget(around),
            0 => {
                self.epoch += 1;
                self.told = self.session.clone();
            }
            error => {
                if !OTHER_SESSION.contains(&error) && !FOR_NOW.contains(&error) {
                    around.history.wrong(59, format!("a session of {GROUP} was answered with {error}"));
                }
                around.sim.count("share session lost", 1);
                self.part(around);
                self.rests_until_ms = around.now_ms + 50;
            }
        }
    }

    fn fetched(
        &mut self,
        around: &mut Around<'_>,
        asked: Asked,
        answer: ShareFetchResponse,
        moved: &mut Vec<Place>,
    ) {
        let mut errors = BTreeMap::new();
        let mut given = Vec::new();
        for topic in answer.responses {
            let topic_id = topic.topic_id.into_bytes();
            for of in topic.partitions {
                let place = Place { topic: topic_id, partition: of.partition_index };
                errors.insert(place, of.acknowledge_error_code);
                given.push((place, of));
            }
        }
        self.acknowledged(around, &asked, answer.error_code, &errors);
        if answer.error_code == 0 {
            for (place, of) in given {
                self.given(around, (place, asked.taking), of, moved);
            }
        }
        self.goes_on(around, &asked, answer.error_code);
    }

    /// What became of acknowledgements, by the errors of their partitions.
    fn acknowledged(
        &mut self,
        around: &mut Around<'_>,
        asked: &Asked,
        error: i16,
        errors: &BTreeMap<Place, i16>,
    ) {
        for ack in &asked.acks {
            Self::is_answered(around, ack);
            let of_place = if error == 0 { errors.get(&ack.at.0).copied().unwrap_or(0) } else { error };
            match (of_place, ack.taking) {
                (0, None) => around.history.share_stolen(ack.at),
                (0, Some(_)) if ack.kind == RELEASE => {}
                (0, Some(_)) => {
                    around.sim.count("share record finished", 1);
                    around.history.share_finished(ack.at);
                }
                (INVALID_RECORD_STATE, None) => around.sim.count("share acknowledgement refused", 1),
                (INVALID_RECORD_STATE, Some(taking)) => {
                    around.sim.count("share acknowledgement refused", 1);
                    // All of a request's are refused together: the broker may take it that the member has this one still, and not
                    // count it if the session is closed.
                    around.history.share_uncounted(ack.at, self.member);
                    let is_alone = asked.acks.iter().all(|other| other.taking.is_some());
                    if is_alone && asked.acks.iter().filter(|other| other.at.0 == ack.at.0).count() == 1 {
                        around.history.share_refused(ack.at, taking);
                    }
                }
                (_, taking) => {
                    if taking.is_some() {
                        around.history.share_uncounted(ack.at, self.member);
                    }
                    if ack.kind != RELEASE {
                        around.history.share_unanswered(ack.at);
                    }
                }
            }
        }
    }

    /// Records of a partition were given.
    fn given(
        &mut self,
        around: &mut Around<'_>,
        (place, taking): (Place, Taking),
        of: PartitionData,
        moved: &mut Vec<Place>,
    ) {
        if of.error_code != 0 {
            if !FOR_NOW.contains(&of.error_code) {
                let error = of.error_code;
                around.history.wrong(59, format!("a share fetch of {place:?} was answered with {error}"));
            }
            moved.push(place);
            self.session.remove(&place);
            self.rests_until_ms = around.now_ms + 30;
            return;
        }
        let mut bytes = of.records.unwrap_or_default();
        let sets = RecordBatchDecoder::decode_all(&mut bytes).expect("batches can be read");
        let records: BTreeMap<i64, _> =
            sets.iter().flat_map(|set| &set.records).map(|record| (record.offset, record)).collect();
        for range in of.acquired_records {
            for offset in range.first_offset..=range.last_offset {
                let Some(record) = records.get(&offset) else {
                    around.history.wrong(56, format!("{offset} of {place:?} is given without its record"));
                    continue;
                };
                around.sim.count("share record taken", 1);
                around.sim.count("share record taken again", u64::from(range.delivery_count > 1));
                around.history.seen(place, offset, value_of(record), record.timestamp);
                around.history.share_taken((place, offset), range.delivery_count, taking);
                self.held.insert((place, offset), taking);
                self.had.insert((place, offset));
            }
        }
    }
}
