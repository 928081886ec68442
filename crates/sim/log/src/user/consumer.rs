//! A consumer of all partitions, from their beginnings on: by a session or without one. With each broker that leads some of them
//! it has a connection and a session of its own.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic};
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::{FetchRequest, FetchResponse, ListOffsetsRequest, ListOffsetsResponse};
use kafka_protocol::protocol::StrBytes;
use kafka_protocol::records::{Record, RecordBatchDecoder};
use uuid::Uuid;

use super::batch::ID;
use super::finder::{Finder, Leader, Target, place_of};
use super::times::{EARLIEST, found, request};
use super::{Around, Link};
use crate::broker::rack_of;
use crate::history::{Content, Place, Stood, Value};

const VERSION: i16 = 13;
const LIST_OFFSETS: i16 = 7;
const PATIENCE_MS: u64 = 6_000;
const OFFSET_OUT_OF_RANGE: i16 = 1;
const NOT_LEADER: i16 = 6;
/// The broker is not the leader of that epoch any more, or does not know yet that it is.
const OTHER_EPOCH: [i16; 3] = [5, 74, 75];
const UNKNOWN_TOPIC_ID: i16 = 100;

/// What it has read of a partition.
#[derive(Debug, Default)]
struct Progress {
    next: i64,
    /// The highest watermark that was told on this connection.
    high_watermark: i64,
    last_stable: i64,
    /// Where the log began, as was told on this connection: before a start is durable, a crash takes it back.
    start: i64,
    /// The last record that it has read, and how often the power had failed then.
    last: Option<(i64, Value)>,
    failures: u64,
    /// It was answered.
    is_answered: bool,
    /// It has to ask where the log begins: on this connection it was told that its offset is out of range.
    is_lost: bool,
    /// The bytes of the batches that it has read.
    bytes: i64,
    /// The leader epoch of the last batch that was read.
    epoch: i32,
    /// What it would ask for has changed since it asked.
    is_changed: bool,
    /// The highest epoch of the partition's leaders that it was told.
    leader_epoch: i32,
    /// It is read at a replica that follows: what was deleted may be there for a moment.
    is_elsewhere: bool,
    log: Vec<Stood>,
}

impl Progress {
    /// A fetch of the partition was answered with an error.
    fn refused(&mut self, around: &mut Around<'_>, place: Place, error_code: i16) {
        match error_code {
            // The broker that was just started may not know its topics yet, and others are deleted.
            NOT_LEADER | UNKNOWN_TOPIC_ID => {}
            other if OTHER_EPOCH.contains(&other) && around.brokers.len() > 1 => {}
            OFFSET_OUT_OF_RANGE if around.history.is_volatile(place) && self.has_failed(around) => {
                self.turns_back(0);
            }
            OFFSET_OUT_OF_RANGE
                if around.history.is_retained(place) || self.next < around.history.trims(place).0 =>
            {
                self.is_lost = true;
            }
            OFFSET_OUT_OF_RANGE => {
                let next = self.next;
                around.history.wrong(10, format!("{next} of {place:?} was read before, and is out of range"));
            }
            other => {
                around.history.wrong(10, format!("a fetch of {place:?} was answered with {other}"));
            }
        }
    }

    /// Another connection is used from now on, perhaps with another broker.
    const fn begins_anew(&mut self) {
        (self.high_watermark, self.last_stable, self.is_changed) = (0, 0, true);
        (self.start, self.is_lost) = (0, false);
    }

    /// Whether the power has failed since it has read.
    fn has_failed(&self, around: &Around<'_>) -> bool {
        self.failures != around.history.power_failures()
    }

    /// What it has read from that offset on is lost.
    fn turns_back(&mut self, offset: i64) {
        (self.next, self.epoch, self.last) = (offset, -1, None);
        self.is_changed = true;
    }

    /// All records of batches up to that offset, the last one of that leader epoch, were read.
    fn ended(
        &mut self,
        around: &mut Around<'_>,
        place: Place,
        (batches_end, epoch): (i64, i32),
        is_compacted: bool,
    ) {
        // An answer may be late, and of what was read elsewhere since.
        if self.next <= batches_end {
            self.epoch = epoch;
        }
        if self.next < batches_end {
            // Compaction leaves batches whose last records are gone, and empty ones.
            self.next = batches_end;
            self.is_changed = true;
            if !is_compacted {
                around.history.wrong(14, format!("records of {place:?} before {batches_end} are missing"));
            }
        }
    }

    /// Whether the marks of the partition are where they may be after those before.
    /// Records before `trimmed` were deleted before it asked.
    fn judge(&mut self, around: &mut Around<'_>, place: Place, trimmed: i64, answer: &PartitionData) {
        if self.next < trimmed {
            let next = self.next;
            around
                .history
                .wrong(69, format!("{next} of {place:?} was given, and records before {trimmed} deleted"));
        }
        if answer.log_start_offset < self.start {
            let (before, after) = (self.start, answer.log_start_offset);
            around.history.wrong(68, format!("{place:?} began at {before}, and begins at {after}"));
        }
        self.start = answer.log_start_offset;
        self.is_answered = true;
        around.history.begins(place, self.start, around.wall_ms);
        around.history.judge(10);
        if answer.high_watermark < self.high_watermark {
            let (before, after) = (self.high_watermark, answer.high_watermark);
            around
                .history
                .wrong(10, format!("the high watermark of {place:?} went from {before} to {after}"));
        }
        around.history.judge(38);
        if answer.last_stable_offset < self.last_stable || answer.last_stable_offset > answer.high_watermark {
            let (before, after) = (self.last_stable, answer.last_stable_offset);
            around
                .history
                .wrong(38, format!("the last stable offset of {place:?} went from {before} to {after}"));
        }
        let end = answer.diverging_epoch.end_offset;
        if end >= 0 && around.history.is_volatile(place) && self.has_failed(around) {
            around.sim.count("divergence told", 1);
            around.history.judge(29);
            self.turns_back(end.min(self.next));
        } else if end >= 0 {
            around.history.wrong(14, format!("what was read of {place:?} is said to diverge at {end}"));
        }
        self.high_watermark = answer.high_watermark;
        self.last_stable = answer.last_stable_offset;
    }
}

/// What it has with one broker.
struct Fetcher {
    /// Fetches, and questions where the log of a partition begins.
    link: Link<Option<Place>>,
    session: (i32, i32),
    /// The next fetch begins another session: other partitions are read.
    is_stale: bool,
    /// Which offset of each partition it was asked for.
    asked: BTreeMap<Place, i64>,
    /// Records before these offsets were deleted before it was asked last, if it was in touch with the others. Another broker
    /// may have been asked since.
    trimmed: BTreeMap<Place, i64>,
}

/// See the module.
pub(crate) struct Consumer {
    /// By the places of brokers among all.
    fetchers: BTreeMap<usize, Fetcher>,
    finder: Finder,
    leaders: BTreeMap<Place, Leader>,
    uses_session: bool,
    /// Where it stands: it reads the replica there if the leader says so.
    rack: String,
    places: BTreeMap<Place, Progress>,
    isolation: i8,
    /// It keeps what it reads, for the judgement in the end.
    keeps: bool,
}

impl Fetcher {
    const fn new() -> Self {
        Self {
            link: Link::new(),
            session: (0, 0),
            is_stale: false,
            asked: BTreeMap::new(),
            trimmed: BTreeMap::new(),
        }
    }

    /// With the broker at that place among all.
    fn with(broker: usize) -> Self {
        Self { link: Link::to(Target::Broker(broker)), ..Self::new() }
    }
}

impl Consumer {
    pub(crate) fn new(around: &mut Around<'_>) -> Self {
        let uses_session = around.random.chance(60);
        let isolation = i8::from(around.random.chance(30));
        // Without a draw: what was drawn for a seed before there were racks stays.
        let beside = around.random.clone().below(2 * around.brokers.len() as u64);
        Self {
            fetchers: BTreeMap::new(),
            finder: Finder::new(),
            leaders: BTreeMap::new(),
            uses_session,
            rack: rack_of(beside as i32),
            places: BTreeMap::new(),
            isolation,
            keeps: false,
        }
    }

    /// One that reads everything once more when all is well: what is committed only, or all.
    pub(crate) fn last(around: &mut Around<'_>, isolation: i8) -> Self {
        Self { keeps: true, isolation, rack: String::new(), ..Self::new(around) }
    }

    /// What it has read of a partition, and how far that goes.
    pub(crate) fn read(&self, place: Place) -> Option<(i64, &[Stood])> {
        self.places.get(&place).map(|progress| (progress.next, progress.log.as_slice()))
    }

    /// The bytes of what it has read of a partition.
    pub(crate) fn bytes(&self, place: Place) -> i64 {
        self.places.get(&place).map_or(0, |progress| progress.bytes)
    }

    /// Whether both have read each partition to the same offset.
    pub(crate) fn has_read_as_far_as(&self, other: &Self) -> bool {
        self.places.values().map(|of| of.next).eq(other.places.values().map(|of| of.next))
    }

    /// Whether it has read everything that was acknowledged.
    pub(crate) fn is_at_the_end(&self, around: &Around<'_>) -> bool {
        places(around).all(|place| {
            let end = around.history.known_end(place);
            self.places.get(&place).is_some_and(|progress| {
                let is_answered = progress.is_answered || !self.keeps;
                is_answered && progress.next >= end.max(progress.high_watermark)
            })
        })
    }

    /// What it has not read, in words.
    pub(crate) fn behind(&self, around: &Around<'_>) -> Vec<String> {
        let places = places(around);
        let behind = places.filter_map(|place| {
            let end = around.history.known_end(place);
            let progress = self.places.get(&place)?;
            let leader = self.leaders.get(&place);
            let Progress { next, high_watermark, is_answered, .. } = *progress;
            (next < end.max(high_watermark) || !is_answered)
                .then(|| format!("{place:?} is read to {next} of {end}, {high_watermark}, led by {leader:?}"))
        });
        behind.collect()
    }

    pub(crate) fn step(&mut self, around: &mut Around<'_>) {
        if around.brokers.len() > 1 {
            self.follow_topics(around);
        }
        self.find_leaders(around);
        for broker in self.fetchers.keys().copied().collect::<Vec<_>>() {
            let Some(mut fetcher) = self.fetchers.remove(&broker) else { continue };
            self.fetch(around, broker, &mut fetcher);
            self.fetchers.insert(broker, fetcher);
        }
    }

    /// Deals with one broker.
    fn fetch(&mut self, around: &mut Around<'_>, broker: usize, fetcher: &mut Fetcher) {
        while let Some(answer) = fetcher.link.receive(around) {
            match answer.of {
                None => self.fetched(around, (broker, fetcher), answer.read::<FetchRequest>()),
                Some(place) => {
                    let answer = answer.read::<ListOffsetsRequest>();
                    if found(&answer).is_none_or(|(error, _)| error != 0) {
                        self.leaders.remove(&place);
                    }
                    self.found_start(around, place, &answer);
                }
            }
        }
        let is_late = fetcher.link.waits_since_ms().is_some_and(|since| since + PATIENCE_MS < around.now_ms);
        if fetcher.link.broken(around).is_some() || is_late {
            fetcher.link.leave(around);
            // A session outlives its connection, but not the broker, and not an answer that was lost.
            let begins_anew = fetcher.session.1 == 0 || around.random.chance(70);
            if begins_anew {
                fetcher.session = (0, 0);
            }
            let of_it: Vec<Place> = self.led_by(broker).collect();
            for place in of_it {
                self.places.entry(place).and_modify(Progress::begins_anew);
                // With its session it goes on where it was, until that broker says that it does not lead.
                if around.brokers.len() > 1 && begins_anew {
                    self.leaders.remove(&place);
                }
            }
        }
        if fetcher.link.outstanding() == 0
            && (around.brokers.len() == 1 || self.led_by(broker).next().is_some())
            && fetcher.link.connect(around)
        {
            self.ask(around, broker, fetcher);
        }
    }

    fn led_by(&self, broker: usize) -> impl Iterator<Item = Place> {
        let led = self.leaders.iter().filter(move |(_, (leader, _))| *leader == broker);
        led.map(|(place, _)| *place)
    }

    /// Reads the partitions that there are by now. Gives whether some are new.
    fn follow_topics(&mut self, around: &Around<'_>) -> bool {
        let present = places(around).collect::<Vec<_>>();
        let has_new = present.iter().any(|place| !self.places.contains_key(place));
        self.places.retain(|place, _| present.contains(place));
        for place in present {
            self.places.entry(place).or_insert_with(|| Progress { epoch: -1, ..Progress::default() });
        }
        if around.brokers.len() == 1 {
            self.leaders = self.places.keys().map(|place| (*place, (0, -1))).collect();
        } else {
            self.leaders.retain(|place, _| self.places.contains_key(place));
        }
        has_new
    }

    /// Learns who leads what.
    fn find_leaders(&mut self, around: &mut Around<'_>) {
        if around.brokers.len() == 1 {
            self.fetchers.entry(0).or_insert_with(Fetcher::new);
            return;
        }
        let missing = self.places.keys().any(|place| !self.leaders.contains_key(place));
        let topics: BTreeSet<[u8; 16]> = self.places.keys().map(|place| place.topic).collect();
        let topics: Vec<[u8; 16]> = topics.into_iter().collect();
        let Some(found) = missing.then(|| self.finder.leaders(around, &topics)).flatten() else { return };
        for (place, leader) in found {
            let Some(progress) = self.places.get_mut(&place) else { continue };
            // As Kafka's clients, it believes no epoch that is before one that it has seen.
            if leader.1 < progress.leader_epoch || self.leaders.get(&place) == Some(&leader) {
                continue;
            }
            (progress.leader_epoch, progress.is_elsewhere) = (leader.1, false);
            progress.begins_anew();
            self.leaders.insert(place, leader);
            self.fetchers.values_mut().for_each(|fetcher| fetcher.is_stale = true);
            self.fetchers.entry(leader.0).or_insert_with(|| Fetcher::with(leader.0));
        }
    }

    /// The log of a partition begins there, as it was told.
    fn found_start(&mut self, around: &mut Around<'_>, place: Place, answer: &ListOffsetsResponse) {
        let Some(progress) = self.places.get_mut(&place) else { return };
        let Some((0, (start, _))) = found(answer) else { return };
        around.history.begins(place, start, around.wall_ms);
        if progress.next > start {
            let next = progress.next;
            around
                .history
                .wrong(10, format!("{next} of {place:?} is out of range, and it begins at {start}"));
        }
        around.sim.count("records gone by retention", u64::from(around.history.is_retained(place)));
        if around.history.trims(place).1 > 0 {
            around.history.judge(69);
        }
        (progress.next, progress.epoch) = (start, -1);
        (progress.is_lost, progress.is_changed) = (false, true);
    }

    #[expect(clippy::too_many_lines, reason = "one kind of request after the other")]
    fn ask(&mut self, around: &mut Around<'_>, broker: usize, fetcher: &mut Fetcher) {
        let Fetcher { link, session, is_stale, asked, trimmed } = fetcher;
        if around.brokers.len() == 1 && self.follow_topics(around) {
            *session = (0, 0);
        }
        if std::mem::take(is_stale) {
            *session = (0, 0);
        }
        let led: BTreeSet<Place> = self.led_by(broker).collect();
        let of_it = self.places.iter().filter(|(place, _)| led.contains(*place));
        let lost = of_it.filter(|(_, progress)| progress.is_lost).map(|(place, _)| *place).next();
        if let Some(place) = lost
            && let Some(request) = request(around, place, EARLIEST, 0)
        {
            return link.send(around, LIST_OFFSETS, &request, Some(place));
        }
        let is_full = !self.uses_session || session.1 == 0;
        // The last one reads everything in the time that there is.
        let wide = if self.keeps { 10 } else { 1 };
        let mut topics = BTreeMap::<[u8; 16], Vec<FetchPartition>>::new();
        for (place, progress) in self.places.iter_mut().filter(|(place, _)| led.contains(*place)) {
            // One that is apart may not know yet that it leads no more, or that records were deleted.
            let is_judged = !progress.is_elsewhere && around.brokers[broker].is_in_touch(around.now_ms);
            let deleted = if is_judged { around.history.trims(*place).1 } else { 0 };
            trimmed.insert(*place, deleted);
            if is_full || std::mem::take(&mut progress.is_changed) {
                asked.insert(*place, progress.next);
                let partition = FetchPartition::default()
                    .with_partition(place.partition)
                    .with_fetch_offset(progress.next)
                    .with_current_leader_epoch(self.leaders.get(place).map_or(-1, |(_, epoch)| *epoch))
                    .with_last_fetched_epoch(progress.epoch)
                    .with_partition_max_bytes(around.random.below(2_000 * wide) as i32);
                topics.entry(place.topic).or_default().push(partition);
            }
        }
        let topics = topics.into_iter().map(|(id, partitions)| {
            FetchTopic::default().with_topic_id(Uuid::from_bytes(id)).with_partitions(partitions)
        });
        let epoch = if self.uses_session { session.1 } else { -1 };
        let request = FetchRequest::default()
            .with_max_wait_ms(around.random.below(400) as i32)
            .with_min_bytes(around.random.below(300) as i32)
            .with_max_bytes(around.random.below(5_000 * wide) as i32)
            .with_isolation_level(self.isolation)
            .with_session_id(session.0)
            .with_session_epoch(epoch)
            .with_rack_id(StrBytes::from_string(self.rack.clone()))
            .with_topics(topics.collect());
        link.send(around, VERSION, &request, None);
    }

    fn fetched(
        &mut self,
        around: &mut Around<'_>,
        (broker, fetcher): (usize, &mut Fetcher),
        answer: FetchResponse,
    ) {
        if answer.error_code != 0 {
            around.sim.count("fetch session lost", 1);
            fetcher.session = (0, 0);
            return;
        }
        if self.uses_session {
            let next = if answer.session_id == 0 { 0 } else { fetcher.session.1 + 1 };
            fetcher.session = (answer.session_id, next);
        }
        for topic in answer.responses {
            for partition in topic.partitions {
                let place =
                    Place { topic: topic.topic_id.into_bytes(), partition: partition.partition_index };
                // Another broker is asked by now: what this one says does not count.
                if self.leaders.get(&place).is_some_and(|(leader, _)| *leader == broker) {
                    self.fetched_of(around, place, partition, fetcher);
                }
            }
        }
    }

    fn fetched_of(
        &mut self,
        around: &mut Around<'_>,
        place: Place,
        answer: PartitionData,
        fetcher: &mut Fetcher,
    ) {
        let Some(progress) = self.places.get_mut(&place) else { return };
        if answer.error_code == OFFSET_OUT_OF_RANGE && fetcher.asked.get(&place) != Some(&progress.next) {
            // It was asked before another replica was read: as Kafka's clients, it counts only of where the reader is.
            progress.is_changed = true;
            return;
        }
        if answer.error_code != 0 {
            if self.keeps {
                // A session would say nothing of a partition in which nothing has changed since.
                fetcher.session = (0, 0);
            }
            if around.brokers.len() > 1 && answer.error_code != OFFSET_OUT_OF_RANGE {
                self.leaders.remove(&place);
                fetcher.session = (0, 0);
            }
            return progress.refused(around, place, answer.error_code);
        }
        if answer.preferred_read_replica.0 >= 0 {
            return self.is_sent_on(around, place, answer.preferred_read_replica.0);
        }
        let trimmed = fetcher.trimmed.get(&place).copied().unwrap_or(0);
        progress.judge(around, place, trimmed, &answer);
        let bound = if self.isolation > 0 { answer.last_stable_offset } else { answer.high_watermark };
        let mut aborted: Vec<(i64, i64)> = Vec::new();
        for transaction in answer.aborted_transactions.unwrap_or_default() {
            aborted.push((transaction.first_offset, transaction.producer_id.0));
        }
        aborted.sort_unstable();
        let bytes = answer.records.unwrap_or_default();
        if !bytes.is_empty() {
            self.take(around, place, bytes, bound, &aborted);
        }
    }

    /// The leader names another replica, which is read from now on until it refuses.
    fn is_sent_on(&mut self, around: &mut Around<'_>, place: Place, replica: i32) {
        around.sim.count("consumer sent to a replica in its rack", 1);
        let (Some(progress), Some(leader)) = (self.places.get_mut(&place), self.leaders.get_mut(&place))
        else {
            return;
        };
        progress.begins_anew();
        progress.is_elsewhere = true;
        leader.0 = place_of(replica).unwrap_or(0);
        let broker = leader.0;
        self.fetchers.values_mut().for_each(|fetcher| fetcher.is_stale = true);
        self.fetchers.entry(broker).or_insert_with(|| Fetcher::with(broker));
    }

    #[expect(clippy::too_many_lines, reason = "one rule after the other for a batch")]
    fn take(
        &mut self,
        around: &mut Around<'_>,
        place: Place,
        mut bytes: Bytes,
        bound: i64,
        aborted: &[(i64, i64)],
    ) {
        let next = self.places.get(&place).map_or(0, |progress| progress.next);
        let (batches_end, epoch, new_bytes) = end_of_batches(&bytes, next);
        let sets = RecordBatchDecoder::decode_all(&mut bytes).expect("batches can be read");
        let is_compacted = around.topics.is_compacted(&place.topic);
        let Some(progress) = self.places.get_mut(&place) else { return };
        progress.bytes += new_bytes;
        around.history.judge(13);
        let records = sets.iter().flat_map(|set| &set.records);
        let mut filter = Filter { aborted, next: 0, active: BTreeSet::new() };
        if !is_compacted && records.clone().next().is_none_or(|first| first.offset > progress.next) {
            let next = progress.next;
            around.history.wrong(14, format!("a fetch of {place:?} from {next} began behind it"));
        }
        for record in records {
            let is_dropped = self.isolation > 0 && filter.drops(record);
            if record.offset < progress.next {
                continue;
            }
            around.history.judge(14);
            if record.offset != progress.next && !is_compacted {
                let (next, offset) = (progress.next, record.offset);
                around.history.wrong(14, format!("{offset} of {place:?} came in place of {next}"));
            }
            around.history.judge(11);
            if record.offset >= bound {
                let offset = record.offset;
                around.history.wrong(11, format!("{offset} of {place:?} is not below {bound}"));
            }
            if progress.has_failed(around)
                && around.history.is_volatile(place)
                && let Some((offset, value)) = progress.last.take()
            {
                // The broker lets it read on: what it has read before is there still (L29).
                around.history.judge(29);
                around.history.stands(place, offset, value);
            }
            progress.failures = around.history.power_failures();
            progress.next = record.offset + 1;
            progress.is_changed = true;
            let content = see(around, place, record, (self.isolation > 0, is_dropped));
            if let Content::Value(value) = content {
                progress.last = Some((record.offset, value));
            }
            if self.keeps {
                let producer = (record.producer_id, record.producer_epoch);
                let (offset, timestamp_ms) = (record.offset, record.timestamp);
                progress.log.push(Stood { offset, timestamp_ms, producer, what: content });
            }
        }
        progress.ended(around, place, (batches_end, epoch), is_compacted);
        around.sim.count("batches read", sets.len() as u64);
    }
}

/// A record is noted in the history. Gives what it is.
fn see(
    around: &mut Around<'_>,
    place: Place,
    record: &Record,
    (is_committed, is_dropped): (bool, bool),
) -> Content {
    if record.control {
        around.sim.count("marker read", 1);
        return Content::Marker(is_commit(record));
    }
    let value = value_of(record);
    if record.value.is_none() {
        around.sim.count("tombstone read", 1);
    }
    around.history.seen(place, record.offset, value, record.timestamp);
    let value = value.unwrap_or_default();
    if is_dropped {
        around.sim.count("aborted record dropped", 1);
        around.history.seen_aborted(value);
    } else if is_committed {
        around.history.seen_committed(value);
    }
    Content::Value(value)
}

/// The value of a record that clients wrote.
pub(super) fn value_of(record: &Record) -> Option<Value> {
    let id = record.headers.iter().find(|(name, _)| name.as_str() == ID).and_then(|(_, id)| id.as_deref());
    record.value.as_deref().or(id).and_then(parse)
}

/// What a consumer does with the list of aborted transactions.
struct Filter<'a> {
    /// First offsets and producers, in order.
    aborted: &'a [(i64, i64)],
    next: usize,
    active: BTreeSet<i64>,
}

impl Filter<'_> {
    /// Whether a record is of an aborted transaction.
    fn drops(&mut self, record: &Record) -> bool {
        while let Some((first, producer)) = self.aborted.get(self.next).filter(|of| of.0 <= record.offset) {
            let _ = first;
            self.active.insert(*producer);
            self.next += 1;
        }
        if record.control && !is_commit(record) {
            self.active.remove(&record.producer_id);
        }
        !record.control && record.transactional && self.active.contains(&record.producer_id)
    }
}

/// Whether a control record says that its transaction is committed.
fn is_commit(record: &Record) -> bool {
    record.key.as_deref().and_then(|key| key.get(2..4)) == Some(&[0, 1])
}

/// The offset behind the last of these batches, its leader epoch, and the bytes of those that end behind `next`.
fn end_of_batches(mut bytes: &[u8], next: i64) -> (i64, i32, i64) {
    let (mut end, mut epoch, mut new) = (0, -1, 0);
    while let (Some(base), Some(length), Some(last)) =
        (bytes.first_chunk::<8>(), bytes.get(8..12), bytes.get(23..27))
    {
        let number = |bytes: &[u8]| i64::from(i32::from_be_bytes(bytes.try_into().expect("four bytes")));
        end = i64::from_be_bytes(*base) + number(last) + 1;
        epoch = number(&bytes[12..16]) as i32;
        let length = 12 + number(length);
        new += if end > next { length } else { 0 };
        bytes = &bytes[length as usize..];
    }
    (end, epoch, new)
}

fn places(around: &Around<'_>) -> impl Iterator<Item = Place> {
    let partitions = around.topics.partitions;
    let of_topic = move |topic: &[u8; 16]| {
        let topic = *topic;
        (0..partitions).map(move |partition| Place { topic, partition })
    };
    around.topics.ids.values().flat_map(of_topic)
}

fn parse(value: &[u8]) -> Option<Value> {
    std::str::from_utf8(value).ok()?.split(' ').next()?.parse().ok()
}
