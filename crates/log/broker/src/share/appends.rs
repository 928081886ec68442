//! Dead letters on their way into a partition that this broker leads: each is told of once it is committed.
//!
//! The dead-letter topic must say that it takes dead letters (KIP-1191); then no right is asked for. Its partition takes a batch as
//! from a client that waits for all replicas.

use std::collections::VecDeque;

use base::Now;
use log_config::takes_dead_letters;
use log_coordinators::Ticket;
use log_partition::Offset;
use log_wire::{Batch, ErrorCode, TopicName};

use super::Share;
use crate::node::Node;
use crate::partitions::{BySlot, Slot};
use crate::peer_calls::append_codec::Append;
use crate::produce::has_enough_in_sync;
use crate::question::PeerAsker;

/// Who waits for a batch.
#[derive(Clone, Copy, Debug)]
pub(super) enum Appender {
    /// A share partition that is served here.
    Here(Ticket),
    /// Another broker.
    Peer(PeerAsker),
}

/// A batch for a partition that another broker leads.
#[derive(Debug)]
pub(crate) struct PeerAppend {
    pub(crate) broker: i32,
    pub(crate) ticket: Ticket,
    pub(crate) append: Append,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Appends {
    /// Batches that are appended and not committed, in the order of their ends.
    appended: BySlot<VecDeque<(Offset, Appender)>>,
    /// What became of batches of share partitions that are served here.
    done: VecDeque<(Ticket, ErrorCode)>,
    to_peers: Vec<PeerAppend>,
    for_peers: Vec<(PeerAsker, ErrorCode)>,
}

impl Appends {
    /// A batch is for a partition that another broker leads.
    pub(super) fn send(&mut self, append: PeerAppend) {
        self.to_peers.push(append);
    }

    /// What became of a batch.
    pub(super) fn next_done(&mut self) -> Option<(Ticket, ErrorCode)> {
        self.done.pop_front()
    }

    /// A batch is appended here.
    pub(super) fn append(&mut self, node: &mut Node, appender: Appender, append: &Append, now: Now) {
        match append_here(node, append, now) {
            Ok((slot, end)) => {
                self.appended.of(slot).push_back((end, appender));
                self.committed(node, slot);
            }
            Err(error) => self.conclude(appender, error),
        }
    }

    /// More of a partition is committed.
    pub(super) fn committed(&mut self, node: &Node, slot: Slot) {
        let Some(hosted) = node.partitions.get(slot) else { return };
        let committed = hosted.partition.high_watermark();
        while let Some((_, appender)) = self.appended.of(slot).pop_front_if(|(end, _)| *end <= committed) {
            self.conclude(appender, ErrorCode::None);
        }
    }

    /// A partition is not led here any more: what was not committed may be lost.
    pub(super) fn gone(&mut self, slot: Slot) {
        while let Some((_, appender)) = self.appended.of(slot).pop_front() {
            self.conclude(appender, ErrorCode::NotLeaderOrFollower);
        }
    }

    fn conclude(&mut self, appender: Appender, error: ErrorCode) {
        match appender {
            Appender::Here(ticket) => self.done.push_back((ticket, error)),
            Appender::Peer(asker) => self.for_peers.push((asker, error)),
        }
    }
}

impl Share {
    /// Another broker has dead letters for a partition that is led here.
    pub(crate) fn append_for_peer(&mut self, node: &mut Node, asker: PeerAsker, append: &Append, now: Now) {
        self.appends.append(node, Appender::Peer(asker), append, now);
    }

    /// Another broker tells what became of dead letters.
    pub(crate) fn append_answered(&mut self, ticket: Ticket, error: ErrorCode) {
        self.appends.done.push_back((ticket, error));
    }

    /// Takes dead letters for other brokers. Each is answered with [`Self::append_answered`].
    pub(crate) fn take_peer_appends(&mut self) -> Vec<PeerAppend> {
        std::mem::take(&mut self.appends.to_peers)
    }

    /// Takes what became of other brokers' dead letters.
    pub(crate) fn take_peer_appended(&mut self) -> Vec<(PeerAsker, ErrorCode)> {
        std::mem::take(&mut self.appends.for_peers)
    }

    /// Whether there is anything for other brokers: that is asked after each request, and mostly there is nothing.
    pub(crate) fn has_some_for_peers(&self) -> bool {
        let Appends { to_peers, for_peers, .. } = &self.appends;
        let has_states =
            !self.to_peers.is_empty() || !self.for_peers.is_empty() || !self.peer_ends.is_empty();
        has_states || !to_peers.is_empty() || !for_peers.is_empty() || !self.announced.is_told()
    }
}

/// Appends a batch. Gives where it ends.
fn append_here(node: &mut Node, append: &Append, now: Now) -> Result<(Slot, Offset), ErrorCode> {
    let topic = node.catalog.find(TopicName::Id(append.topic))?;
    if !takes_dead_letters(&topic.settings) || topic.is_internal() {
        return Err(ErrorCode::TopicAuthorizationFailed);
    }
    let (slot, hosted) = node.find(TopicName::Id(append.topic), append.index)?;
    if hosted.is_paused {
        return Err(ErrorCode::NotLeaderOrFollower);
    }
    if !has_enough_in_sync(node, hosted) {
        return Err(ErrorCode::NotEnoughReplicas);
    }
    let (batch, behind) = Batch::read(&append.batch).map_err(|_| ErrorCode::CorruptMessage)?;
    if !behind.is_empty() || batch.check_from_client().is_err() || batch.producer_id() >= 0 {
        return Err(ErrorCode::InvalidRecord);
    }
    let prepared = hosted.partition.prepare(&batch, now.wall).map_err(|refused| refused.error)?;
    node.partitions.check_room(prepared.bytes())?;
    let hosted = node.partitions.get_mut(slot).ok_or(ErrorCode::NotLeaderOrFollower)?;
    let mut appended = hosted.partition.append_prepared(prepared, now.wall)?;
    let end = appended.end;
    if let Some(new) = appended.new.take() {
        node.store(slot, new, now);
    }
    Ok((slot, end))
}
