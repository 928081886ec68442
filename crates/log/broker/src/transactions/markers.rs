//! Markers on their way: each is told of once it is committed, or if it cannot be written.

use std::collections::{BTreeMap, VecDeque};

use base::Now;
use log_coordinators::{MarkerOutcome, MarkersId, Participant, Text, Ticket, Topic, WriteMarkers};
use log_partition::{Marker, Offset};
use log_wire::{ErrorCode, TopicName};

use super::TransactionEvent;
use crate::catalog::{Catalog, TopicImage};
use crate::coordinators::OFFSETS;
use crate::node::Node;
use crate::partitions::{BySlot, Slot};

/// About how many bytes a marker takes on the disk.
const MARKER_BYTES: usize = 128;

/// A marker that ends a transaction at one of its participants, and who decided that.
#[derive(Debug)]
pub(super) struct Decision {
    /// The partition of the coordinator.
    pub(super) coordinator: i32,
    pub(super) transactional_id: Text,
    pub(super) id: MarkersId,
    pub(super) participant: Participant,
}

/// How far a marker has come.
#[derive(Debug)]
pub(super) enum Sent {
    /// It is committed, or will not be written.
    Done(Result<(), ErrorCode>),
    /// It is appended.
    OnItsWay,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Markers {
    decisions: BTreeMap<Ticket, Decision>,
    /// Markers that are appended and not committed, in the order of their offsets, which they are below.
    appended: BySlot<VecDeque<(Offset, Ticket)>>,
}

impl Markers {
    /// A coordinator wants markers written.
    pub(super) fn send(
        &mut self,
        node: &mut Node,
        coordinator: i32,
        markers: &WriteMarkers,
    ) -> Vec<TransactionEvent> {
        let mut events = Vec::with_capacity(markers.participants.len());
        for participant in markers.participants.iter().cloned() {
            let ticket = node.ticket();
            events.push(TransactionEvent::Marker(ticket, participant.clone(), markers.marker));
            let (transactional_id, id) = (markers.transactional_id.clone(), markers.id);
            self.decisions.insert(ticket, Decision { coordinator, transactional_id, id, participant });
        }
        events
    }

    /// Appends a marker to a partition that lives here.
    pub(super) fn write(
        &mut self,
        node: &mut Node,
        ticket: Ticket,
        to: (&Topic, i32),
        marker: &Marker,
        now: Now,
    ) -> Sent {
        let (slot, end) = match append(node, to, marker, now) {
            Ok(appended) => appended,
            Err(error) => return Sent::Done(Err(error)),
        };
        if node.partitions.get(slot).is_some_and(|hosted| end <= hosted.partition.high_watermark()) {
            return Sent::Done(Ok(()));
        }
        self.appended.of(slot).push_back((end, ticket));
        Sent::OnItsWay
    }

    /// Takes the next marker that is committed by now.
    pub(super) fn next_committed(&mut self, node: &Node, slot: Slot) -> Option<Ticket> {
        let committed = node.partitions.get(slot)?.partition.high_watermark();
        self.appended.of(slot).pop_front_if(|(end, _)| *end <= committed).map(|(_, ticket)| ticket)
    }

    /// Takes the next marker on its way to a partition that is gone.
    pub(super) fn next_gone(&mut self, slot: Slot) -> Option<Ticket> {
        self.appended.of(slot).pop_front().map(|(_, ticket)| ticket)
    }

    /// Whether it is known who decided what a marker says.
    pub(super) fn has(&self, ticket: Ticket) -> bool {
        self.decisions.contains_key(&ticket)
    }

    /// Takes who decided what a marker says.
    pub(super) fn take(&mut self, ticket: Ticket) -> Option<Decision> {
        self.decisions.remove(&ticket)
    }

    /// A coordinator is gone: what becomes of its markers is told to nobody.
    pub(super) fn forget_coordinator(&mut self, partition: i32) {
        self.decisions.retain(|_, decision| decision.coordinator != partition);
    }
}

/// Appends a marker. Gives where it stands, or where the log ended when it was found to be there already.
fn append(
    node: &mut Node,
    (topic, index): (&Topic, i32),
    marker: &Marker,
    now: Now,
) -> Result<(Slot, Offset), ErrorCode> {
    let (slot, _) = node.find(TopicName::Id(topic.id), index)?;
    node.partitions.check_room(MARKER_BYTES)?;
    let hosted = node.partitions.get_mut(slot).ok_or(ErrorCode::NotLeaderOrFollower)?;
    match hosted.partition.append_marker(marker, now.wall)? {
        Some(new) => {
            let end = new.end;
            node.store(slot, new, now);
            Ok((slot, end))
        }
        None => Ok((slot, hosted.partition.end())),
    }
}

/// Whether there is no such partition any more. At a start, topics come by and by.
fn is_gone(catalog: &Catalog, participant: &Participant) -> bool {
    catalog.is_complete() && !is_known(catalog, participant)
}

/// Whether all of these are there, as far as this broker has heard from the council.
pub(super) fn are_known(catalog: &Catalog, participants: &[Participant]) -> bool {
    participants.iter().all(|participant| is_known(catalog, participant))
}

fn is_known(catalog: &Catalog, participant: &Participant) -> bool {
    let (topic, index) = match participant {
        Participant::Partition(topic, index) => (TopicName::Id(topic.id), *index),
        Participant::Offsets(index) => (TopicName::Name(OFFSETS.name), *index),
    };
    let has = |topic: &TopicImage| usize::try_from(index).is_ok_and(|index| index < topic.partitions.len());
    catalog.find(topic).is_ok_and(has)
}

/// What became of a marker at a participant, to its coordinator.
pub(super) fn outcome(
    catalog: &Catalog,
    participant: &Participant,
    result: Result<(), ErrorCode>,
) -> MarkerOutcome {
    match result {
        Ok(()) => MarkerOutcome::Written,
        Err(
            ErrorCode::UnknownTopicId | ErrorCode::UnknownTopicOrPartition | ErrorCode::NotLeaderOrFollower,
        ) if is_gone(catalog, participant) => MarkerOutcome::Unneeded,
        Err(ErrorCode::InvalidProducerEpoch) => MarkerOutcome::Unneeded,
        // Of an unknown producer there is nothing to end, and no record can come any more: its coordinator would refuse it.
        Err(ErrorCode::ThrottlingQuotaExceeded) if matches!(participant, Participant::Partition(..)) => {
            MarkerOutcome::Unneeded
        }
        Err(ErrorCode::TransactionCoordinatorFenced) => MarkerOutcome::Fenced,
        Err(_) => MarkerOutcome::NotWritten,
    }
}
