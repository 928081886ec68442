//! What the partitions of a fetch have for it at this moment.

use std::sync::Arc;

use log_partition::{Isolation, LeaderEpoch, Offset, Source};
use log_wire::{ApiKey, Batch, ErrorCode};

use super::part::Part;
use super::replicas::{find, nearest};
use super::set::{FetchSet, PartPlace};
use crate::client::Client;
use crate::node::Node;
use crate::partitions::{Hosted, Slot};
use crate::response::{FetchResponse, FetchedPartition, ToldBrokers};
use crate::rights::{By, TOPIC_READ};

/// What a client wants of the whole fetch.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// Who fetches.
    pub(crate) client: Arc<Client>,
    pub(crate) isolation: Isolation,
    /// Where it stands; empty if it does not say.
    pub(crate) rack: String,
    pub(crate) bytes_min: usize,
    pub(crate) bytes_max: usize,
    /// Partitions that have nothing new are named too.
    pub(crate) is_full: bool,
}

/// What there is.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) parts: Vec<FoundPart>,
    pub(crate) bytes: usize,
    /// With what the partitions have behind that, which another fetch will give.
    pub(crate) bytes_readable: usize,
    /// Whether it is to be given whatever its size: something is wrong, or the logs have diverged.
    pub(crate) is_urgent: bool,
    /// Partitions that have nothing new.
    pub(crate) idle: Vec<PartPlace>,
    /// Where the leaders are of those that are led elsewhere.
    pub(crate) leaders: ToldBrokers,
}

/// What a partition has.
#[derive(Debug)]
pub(crate) struct FoundPart {
    pub(crate) place: PartPlace,
    pub(crate) slot: Option<Slot>,
    pub(crate) fetched: FetchedPartition,
    /// Whether there is more than the client was told by now, or an error: it is looked at again for the next fetch.
    pub(crate) stays: bool,
    bytes: usize,
    bytes_behind: usize,
}

impl Found {
    pub(crate) const fn is_enough(&self, terms: &Terms) -> bool {
        self.is_urgent || self.bytes_readable >= terms.bytes_min
    }
}

/// Looks at the partitions that may have something new, or at all. Ends where the answer is as large as it may be; the rest
/// stays in the queue.
pub(crate) fn look(set: &FetchSet, node: &Node, terms: &Terms) -> Found {
    let mut found = Found::default();
    if terms.is_full {
        set.all().for_each(|(place, part)| found.look_at(place, part, node, terms));
    } else {
        for (place, part) in set.queued() {
            if found.bytes > 0 && found.bytes >= terms.bytes_max {
                break;
            }
            found.look_at(place, part, node, terms);
        }
    }
    found
}

impl Found {
    /// It is given to a client: counts that.
    pub(crate) fn count(&self, node: &mut Node) {
        for part in self.parts.iter().filter(|part| part.bytes > 0) {
            if let Some(hosted) = part.slot.and_then(|slot| node.partitions.get_mut(slot)) {
                hosted.traffic.bytes_out += part.bytes as u64;
                hosted.traffic.requests += 1;
            }
        }
    }

    fn look_at(&mut self, place: PartPlace, part: &Part, node: &Node, terms: &Terms) {
        let left = terms.bytes_max.saturating_sub(self.bytes);
        let mut part_found = look_at(place, part, node, terms, (left, self.bytes == 0));
        let fetched = &mut part_found.fetched;
        let of = (part.topic.name(), part.index);
        fetched.leader = node.tell_leader(&mut self.leaders, terms.client.listener, of, fetched.error);
        let is_elsewhere = fetched.error != ErrorCode::None || fetched.nearest.is_some();
        let is_urgent = is_elsewhere || fetched.divergence.is_some();
        let is_new = part.told != Some((fetched.high_watermark, fetched.start)) || part_found.bytes > 0;
        if !is_urgent && !part_found.stays {
            self.idle.push(place);
        }
        if is_urgent || is_new || terms.is_full {
            self.is_urgent |= is_urgent;
            self.bytes += part_found.bytes;
            self.bytes_readable =
                self.bytes_readable.saturating_add(part_found.bytes + part_found.bytes_behind);
            self.parts.push(part_found);
        }
    }
}

fn look_at(
    place: PartPlace,
    part: &Part,
    node: &Node,
    terms: &Terms,
    (left, is_first): (usize, bool),
) -> FoundPart {
    let by = By { client: &terms.client, api: ApiKey::Fetch };
    let may = node.may_on_topic(by, TOPIC_READ, part.topic.name());
    let found = may.and_then(|()| find(node, part.topic.name(), part.index, &terms.rack));
    let slot = found.as_ref().ok().map(|found| found.slot);
    // A partition that is known has no list of them beside an error.
    let is_known = matches!(&found, Ok(_) | Err(ErrorCode::NotLeaderOrFollower));
    let aborted = (!is_known).then(Vec::new);
    let looked = found.and_then(|found| {
        let nearest = || nearest(node, found.hosted, &terms.rack, part.from);
        match found.follows {
            true => look_into_copy(found.hosted, part, terms.isolation, (left, is_first)),
            false => look_into(found.hosted, part, terms.isolation, (left, is_first))
                .map(|(fetched, stays)| send_on((fetched, stays), nearest)),
        }
    });
    let (fetched, stays) = looked.unwrap_or_else(|error| {
        (FetchedPartition { aborted, ..FetchedPartition::failed(part.index, error) }, true)
    });
    let bytes = match &fetched.source {
        Source::Nothing => 0,
        Source::Memory(batches) => batches.iter().map(bytes::Bytes::len).sum(),
        Source::Segment(read) => read.bytes(),
    };
    let bytes_wanted = terms.bytes_min.saturating_sub(bytes);
    let behind = found
        .ok()
        .map(|found| found.hosted.partition.bytes_behind(&fetched.source, terms.isolation, bytes_wanted));
    FoundPart { place, slot, fetched, stays, bytes, bytes_behind: behind.unwrap_or(0) }
}

/// A reader whom the leader could serve had better ask the nearest replica, if there is one: it is given nothing.
fn send_on(
    (fetched, stays): (FetchedPartition, bool),
    nearest: impl FnOnce() -> Option<i32>,
) -> (FetchedPartition, bool) {
    if fetched.divergence.is_some() {
        return (fetched, stays);
    }
    match nearest() {
        None => (fetched, stays),
        nearest => (FetchedPartition { nearest, aborted: None, source: Source::Nothing, ..fetched }, true),
    }
}

/// What a copy gives that follows a leader: what it knows to be committed. Behind that it has nothing to say about offsets. What
/// else there is to refuse, the leader has to.
fn look_into_copy(
    hosted: &Hosted,
    part: &Part,
    isolation: Isolation,
    limits: (usize, bool),
) -> Result<(FetchedPartition, bool), ErrorCode> {
    let partition = &hosted.partition;
    partition.check_epoch(part.known_epoch)?;
    if part.from < partition.shown_start() || part.from > partition.end() {
        return Err(ErrorCode::NotLeaderOrFollower);
    }
    let is_committed = part.from <= partition.high_watermark();
    let last_fetched = if is_committed { part.last_fetched } else { LeaderEpoch(-1) };
    let part = Part { last_fetched, ..part.clone() };
    match look_into(hosted, &part, isolation, limits) {
        // Whether logs have diverged is the leader's to say, too: this one may lack what the reader has.
        Ok((fetched, _)) if fetched.divergence.is_some() => Err(ErrorCode::NotLeaderOrFollower),
        looked => looked.map_err(|_| ErrorCode::NotLeaderOrFollower),
    }
}

/// The offset behind the batches, as far as it is known before they are read.
fn end_of(source: &Source, from: Offset) -> Offset {
    match source {
        Source::Nothing => from,
        Source::Memory(batches) => {
            let last = batches.last().and_then(|bytes| Batch::read(bytes).ok());
            last.map_or(from, |(batch, _)| Offset(batch.last_offset()).next())
        }
        Source::Segment(read) => read.limit.offset,
    }
}

/// What the partition gives, and whether it has more.
fn look_into(
    hosted: &Hosted,
    part: &Part,
    isolation: Isolation,
    (left, is_first): (usize, bool),
) -> Result<(FetchedPartition, bool), ErrorCode> {
    let partition = &hosted.partition;
    partition.check_epoch(part.known_epoch)?;
    let divergence = match part.last_fetched {
        LeaderEpoch(..0) => None,
        epoch => partition.epochs().divergence(epoch, part.from)?,
    };
    let bytes_max = part.bytes_max.min(left);
    // A reader whose log has diverged may be beyond the end of this one.
    let from = if divergence.is_some() { partition.end() } else { part.from };
    let read = partition.read(from, isolation, bytes_max)?;
    let has_more = read.source != Source::Nothing;
    let fits = is_first || fits(&read.source, bytes_max);
    let source = if fits { read.source } else { Source::Nothing };
    // A reader that is told of a divergence is given nothing, and no list of what it was not given.
    // Nor is one whose first batch is larger than what is left of the limit.
    let is_given = divergence.is_none() && (fits || bytes_max == 0);
    let is_listed = isolation == Isolation::ReadCommitted && is_given;
    let aborted = is_listed.then(|| {
        let end = end_of(&source, from).min(partition.readable_end(isolation));
        let listed = partition.tables().transactions.aborted(from, end);
        listed.map(|aborted| (aborted.producer_id.0, aborted.first.0)).collect()
    });
    let fetched = FetchedPartition {
        id: hosted.id,
        index: part.index,
        error: ErrorCode::None,
        high_watermark: read.high_watermark.0,
        last_stable: read.last_stable.0,
        start: read.start.0,
        aborted,
        divergence,
        leader: None,
        nearest: None,
        // The first batch of an answer is given whatever its size (KIP-74).
        bytes_max: if is_first { usize::MAX } else { bytes_max },
        source,
    };
    Ok((fetched, has_more))
}

/// Whether the first batch fits. That of a segment is known only when it is read.
fn fits(source: &Source, bytes_max: usize) -> bool {
    match source {
        Source::Memory(batches) => batches.first().is_none_or(|first| first.len() <= bytes_max),
        Source::Segment(_) => bytes_max > 0,
        Source::Nothing => true,
    }
}

/// The answer, with partitions of one topic that follow each other together.
pub(crate) fn respond(found: Found, set: &FetchSet, session_id: i32) -> FetchResponse {
    let leaders = found.leaders;
    let mut response = FetchResponse { session_id, leaders, ..FetchResponse::default() };
    for FoundPart { place, fetched, .. } in found.parts {
        let Some(part) = set.get(place) else { continue };
        let topics = &mut response.topics;
        if topics.last().is_none_or(|(last, _)| *last != part.topic) {
            topics.push((part.topic.clone(), Vec::new()));
        }
        if let Some((_, partitions)) = topics.last_mut() {
            partitions.push(fetched);
        }
    }
    response
}
