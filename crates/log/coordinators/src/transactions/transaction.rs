//! What is durable of one transactional id, and the steps between its states. It knows no request, no timer and no marker
//! that is on its way.
//!
//! | from | step | to |
//! |---|---|---|
//! | Empty, Complete | a participant is added | Ongoing |
//! | Ongoing | the client, a timeout or a fence decides | Ending (Kafka's PrepareCommit, PrepareAbort); Complete if nothing takes part |
//! | Ending | every marker is written | Complete |
//! | Empty, Complete | InitProducerId | Empty |
//!
//! Kafka's PrepareEpochFence is no state here: a fence raises the epoch and decides in one record.

use std::collections::BTreeSet;

use base::WallTime;
use log_partition::{CoordinatorEpoch, Marker, ProducerEpoch, ProducerId, TransactionVersion};

use super::{Participant, Producer};

/// What followed a producer. It decides which retries are recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FollowedBy {
    /// The client raised its own epoch (KIP-360).
    Init,
    /// The client committed its transaction (KIP-890).
    Commit,
    /// The client aborted its transaction (KIP-890).
    Abort,
    /// The coordinator aborted the transaction after its timeout.
    Timeout,
}

/// The state, but for what is in the other fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Empty,
    Ongoing,
    /// It is decided, and the markers are on their way.
    Ending {
        commit: bool,
        /// The producer in the markers.
        marker: Producer,
        version: TransactionVersion,
    },
    Complete {
        commit: bool,
    },
}

/// A transactional id as it is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Transaction {
    /// The only producer that may begin something. While the markers are written it is that of the next transaction.
    pub(crate) producer: Producer,
    /// The producer before it, if it is the same client: its retries get the answer that was lost (L41, L47).
    pub(crate) previous: Option<(Producer, FollowedBy)>,
    pub(crate) state: State,
    pub(crate) timeout_ms: u32,
    pub(crate) participants: BTreeSet<Participant>,
    pub(crate) started_at: WallTime,
    pub(crate) updated_at: WallTime,
}

impl Producer {
    pub(crate) const fn first(id: ProducerId) -> Self {
        Self { id, epoch: ProducerEpoch(0) }
    }

    pub(crate) const fn raised(self) -> Self {
        Self { id: self.id, epoch: ProducerEpoch(self.epoch.0.saturating_add(1)) }
    }
}

impl Transaction {
    pub(crate) const fn new(producer: Producer, timeout_ms: u32, now: WallTime) -> Self {
        Self {
            producer,
            previous: None,
            state: State::Empty,
            timeout_ms,
            participants: BTreeSet::new(),
            started_at: now,
            updated_at: now,
        }
    }

    pub(crate) const fn state_name(&self) -> &'static str {
        match self.state {
            State::Empty => "Empty",
            State::Ongoing => "Ongoing",
            State::Ending { commit: true, .. } => "PrepareCommit",
            State::Ending { commit: false, .. } => "PrepareAbort",
            State::Complete { commit: true } => "CompleteCommit",
            State::Complete { commit: false } => "CompleteAbort",
        }
    }

    /// The producer of the open transaction, or of the one that ends; otherwise that of the next.
    pub(crate) const fn acting(&self) -> Producer {
        match self.state {
            State::Ending { marker, .. } => marker,
            _ => self.producer,
        }
    }

    /// Whether nothing is open or on its way.
    pub(crate) const fn is_idle(&self) -> bool {
        matches!(self.state, State::Empty | State::Complete { .. })
    }

    /// The producer was followed by the present one in this way.
    pub(crate) fn follower_of(&self, producer: Producer) -> Option<FollowedBy> {
        self.previous.filter(|(previous, _)| *previous == producer).map(|(_, how)| how)
    }

    /// The marker that ends it, if it is decided.
    pub(crate) const fn marker(&self, coordinator_epoch: CoordinatorEpoch) -> Option<Marker> {
        match self.state {
            State::Ending { commit, marker, version } => Some(Marker {
                producer_id: marker.id,
                epoch: marker.epoch,
                coordinator_epoch,
                commit,
                version,
            }),
            _ => None,
        }
    }

    /// Goes on under another producer, with nothing open.
    pub(crate) fn initialize(&mut self, next: Producer, keep_previous: bool, timeout_ms: u32) {
        self.previous = keep_previous.then_some((self.producer, FollowedBy::Init));
        (self.producer, self.timeout_ms, self.state) = (next, timeout_ms, State::Empty);
    }

    /// Adds participants, and begins the transaction if none is open.
    pub(crate) fn add(&mut self, participants: impl IntoIterator<Item = Participant>, now: WallTime) {
        if self.state != State::Ongoing {
            (self.state, self.started_at) = (State::Ongoing, now);
        }
        self.participants.extend(participants);
    }

    /// Decides under the epoch of the records (transaction version 1).
    pub(crate) fn decide(&mut self, commit: bool) {
        let (marker, version) = (self.producer, TransactionVersion::Classic);
        self.state = self.decided(State::Ending { commit, marker, version }, commit);
    }

    /// Decides under an epoch above that of the records, so that no late record joins (KIP-890, KIP-1228). The next
    /// transaction is that of `next`: a new producer id, or else the same under the raised epoch.
    pub(crate) fn decide_raised(
        &mut self,
        commit: bool,
        how: Option<FollowedBy>,
        new_id: Option<ProducerId>,
    ) {
        let marker = self.producer.raised();
        self.previous = how.map(|how| (self.producer, how));
        self.producer = new_id.map_or(marker, Producer::first);
        let version = TransactionVersion::EpochPerTransaction;
        self.state = if self.state == State::Ongoing {
            self.decided(State::Ending { commit, marker, version }, commit)
        } else {
            State::Complete { commit }
        };
    }

    /// The state behind a decision: where nothing takes part, no marker is to be written.
    fn decided(&self, ending: State, commit: bool) -> State {
        if self.participants.is_empty() { State::Complete { commit } } else { ending }
    }

    /// Every marker is written.
    pub(crate) fn complete(&mut self) {
        if let State::Ending { commit, .. } = self.state {
            self.state = State::Complete { commit };
            self.participants.clear();
        }
    }
}
