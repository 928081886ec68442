//! A client that looks offsets up when everything is at rest: by time, the newest record, and both ends of each log (L71).

use std::collections::VecDeque;

use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{ListOffsetsRequest, ListOffsetsResponse};

use super::operator::topic_name;
use super::{Around, Link, Target};
use crate::history::{Place, Stood};

const VERSION: i16 = 7;
const PATIENCE_MS: u64 = 6_000;
pub(super) const EARLIEST: i64 = -2;
const LATEST: i64 = -1;
const NEWEST: i64 = -3;
/// Lookups by time in each partition.
const TIMES: u64 = 6;

/// A lookup, and what it must give: an offset and its time.
#[derive(Clone, Copy, Debug)]
struct Lookup {
    place: Place,
    time_ms: i64,
    isolation: i8,
    expected: (i64, i64),
}

/// See the module.
#[derive(Default)]
pub(crate) struct TimeReader {
    link: Option<Link<Lookup>>,
    todo: VecDeque<Lookup>,
}

impl TimeReader {
    /// Looks into a log that ends there. The newest record is not asked for if records were deleted: it may be one of those.
    pub(crate) fn look(&mut self, around: &mut Around<'_>, place: Place, (end, log): (i64, &[Stood])) {
        let first = log.first().map_or(end, |first| first.offset);
        // By size each leader goes by its own segments: another one has cut the log elsewhere.
        let goes_with_leader = around.brokers.len() > 1 && around.history.is_retained(place);
        if around.history.trims(place).0 > first || around.history.goes_with_time(place) || goes_with_leader {
            // Records were asked to go, and may go at any time.
            return;
        }
        let mut add = |time_ms, isolation, expected| {
            self.todo.push_back(Lookup { place, time_ms, isolation, expected });
        };
        add(EARLIEST, 0, (first, -1));
        add(LATEST, 0, (end, -1));
        add(LATEST, 1, (end, -1));
        let newest_ms = log.iter().map(|stood| stood.timestamp_ms).max();
        let at_or_after = |time_ms| {
            let found = log.iter().find(|stood| stood.timestamp_ms >= time_ms);
            found.map_or((-1, -1), |stood| (stood.offset, stood.timestamp_ms))
        };
        if let Some(newest_ms) = newest_ms {
            if around.history.trims(place).0 == 0 {
                add(NEWEST, 0, at_or_after(newest_ms));
            }
            add(newest_ms + 1, 0, (-1, -1));
        }
        for number in 0..TIMES {
            let Some(stood) = log.get(around.random.below(log.len().max(1) as u64) as usize) else { break };
            let time_ms = stood.timestamp_ms + around.random.below(3) as i64 - 1;
            add(time_ms, (number % 2) as i8, at_or_after(time_ms));
        }
    }

    /// Whether all is looked up.
    pub(crate) fn is_done(&self) -> bool {
        self.todo.is_empty()
    }

    pub(crate) fn step(&mut self, around: &mut Around<'_>) {
        let mut link = self.link.take().unwrap_or_default();
        while let Some(answer) = link.receive(around) {
            let lookup = answer.of;
            let answer = answer.read::<ListOffsetsRequest>();
            link.misled(around, found(&answer).map_or(0, |(error, _)| error));
            self.answered(around, lookup, &answer);
        }
        if link.is_lost(around, PATIENCE_MS) {
            link.leave(around);
        }
        if let Some(lookup) = self.todo.front().filter(|_| link.outstanding() == 0) {
            link.aim(around, Target::Leader(lookup.place));
        }
        if let Some(lookup) = self.todo.front().copied()
            && link.outstanding() == 0
            && link.connect(around)
            && let Some(request) = request(around, lookup.place, lookup.time_ms, lookup.isolation)
        {
            link.send(around, VERSION, &request, lookup);
        }
        self.link = Some(link);
    }

    fn answered(&mut self, around: &mut Around<'_>, lookup: Lookup, answer: &ListOffsetsResponse) {
        let Some((error, found)) = found(answer) else { return };
        if error != 0 {
            return;
        }
        self.todo.pop_front();
        around.history.judge(71);
        if found != lookup.expected {
            around.history.wrong(71, format!("{lookup:?} gave {found:?}"));
        }
    }
}

/// ListOffsets for one partition.
pub(super) fn request(
    around: &Around<'_>,
    place: Place,
    time_ms: i64,
    isolation: i8,
) -> Option<ListOffsetsRequest> {
    let (name, _) = around.topics.ids.iter().find(|(_, id)| **id == place.topic)?;
    let partition =
        ListOffsetsPartition::default().with_partition_index(place.partition).with_timestamp(time_ms);
    let topic = ListOffsetsTopic::default().with_name(topic_name(name)).with_partitions(vec![partition]);
    let request = ListOffsetsRequest::default().with_replica_id((-1).into()).with_isolation_level(isolation);
    Some(request.with_topics(vec![topic]))
}

/// The error of the only partition, and what was found: an offset and its time.
pub(super) fn found(answer: &ListOffsetsResponse) -> Option<(i16, (i64, i64))> {
    let partition = answer.topics.first()?.partitions.first()?;
    Some((partition.error_code, (partition.offset, partition.timestamp)))
}
