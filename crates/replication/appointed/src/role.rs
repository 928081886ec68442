//! What a replica does, and what it knows for that.

use std::collections::BTreeMap;

use crate::{Config, Position, ReplicaId, Round, Seq, Voters};

/// What a replica does now.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    /// It waits for a leader.
    Idle,
    Following(Following),
    Leading(Box<Leading>),
}

/// Whom a replica follows, and how far.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Following {
    pub(crate) leader: ReplicaId,
    /// Where the leader's log starts.
    pub(crate) start: Seq,
    /// Up to where the log is known to be the leader's.
    pub(crate) matched: Option<Seq>,
    /// What the leader was told last.
    pub(crate) told: Option<Told>,
    /// The leader's newest question whether it still leads.
    pub(crate) round: Round,
}

/// What a follower has told its leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Told {
    pub(crate) durable: Seq,
    pub(crate) start: Seq,
    pub(crate) round: Round,
}

/// What a leader knows of another replica.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Peer {
    /// The next entry to send.
    pub(crate) next: Seq,
    /// Whether the replica is known to have everything before `next`, sent or on its way.
    pub(crate) streams: bool,
    /// What was sent to a replica of which that is not known is not answered yet.
    pub(crate) waits: bool,
    /// It has nothing in common with what is left of the log, or too little: it has to start anew where the log starts.
    pub(crate) resets: Resets,
    /// The log is the same there, durably, up to here.
    pub(crate) durable: Option<Seq>,
    /// Where the log starts there, durably; nothing if it has not said so in this epoch.
    pub(crate) start: Option<Seq>,
    /// What it was told to be committed.
    pub(crate) told: Seq,
    /// Up to where it was told that the log starts later, and could take that.
    pub(crate) told_start: Seq,
    /// The newest question whether this still leads that it was sent.
    pub(crate) asked: Round,
    /// The newest one that it has answered.
    pub(crate) confirmed: Round,
}

/// Whether a replica has to start anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Resets {
    No,
    /// If it lacks what is before the entries that it is sent.
    IfItLacks,
    /// It ends before entries that are gone and that it needs.
    Always,
}

impl Peer {
    pub(crate) const fn new(next: Seq) -> Self {
        Self {
            next,
            streams: false,
            waits: false,
            resets: Resets::No,
            durable: None,
            start: None,
            told: Seq(0),
            told_start: Seq(0),
            asked: Round(0),
            confirmed: Round(0),
        }
    }
}

/// What a leader knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Leading {
    pub(crate) own_id: ReplicaId,
    pub(crate) config: Config,
    /// How far the log had come when the epoch began: it begins there.
    pub(crate) before: Position,
    /// The beginning of the epoch is durable. Nothing is sent before: a process that starts again must know of it.
    pub(crate) has_begun: bool,
    /// The beginning of the epoch is committed.
    pub(crate) is_established: bool,
    pub(crate) peers: BTreeMap<ReplicaId, Peer>,
    /// Voters that are asked for.
    pub(crate) next_voters: Option<Voters>,
    /// Up to where this disk has the log.
    pub(crate) own: Option<Seq>,
    /// Where the log starts on this disk.
    pub(crate) own_start: Seq,
    /// What is before that is to be deleted for good: a client has asked for it, or the log of another replica starts there.
    pub(crate) wanted_start: Seq,
    /// What is before that is deleted for good. Voters that are asked for later reach what is wanted before they are written.
    pub(crate) deleted_to: Seq,
    /// Where the log starts for those who read.
    pub(crate) shown_start: Seq,
    /// The newest question whether this still leads.
    pub(crate) round: Round,
    /// The newest one that any other replica was sent.
    pub(crate) asked: Round,
}

impl Leading {
    /// Up to where a replica has the log on its disk.
    pub(crate) fn durable_of(&self, id: ReplicaId) -> Option<Seq> {
        if id == self.own_id { self.own } else { self.peers.get(&id)?.durable }
    }

    /// Where the log starts on a replica's disk.
    pub(crate) fn start_of(&self, id: ReplicaId) -> Option<Seq> {
        if id == self.own_id { Some(self.own_start) } else { self.peers.get(&id)?.start }
    }

    /// Up to where entries are durable on enough voters.
    pub(crate) fn durable_to(&self) -> Option<Seq> {
        self.on_enough(|id| self.durable_of(id))
    }

    /// The start that enough voters have reached on their disks.
    pub(crate) fn start_on_enough(&self) -> Option<Seq> {
        self.on_enough(|id| self.start_of(id))
    }

    /// The newest question that enough voters have answered.
    pub(crate) fn confirmed(&self) -> Round {
        if self.round == Round(0) {
            return self.round;
        }
        let of = |id: ReplicaId| {
            if id == self.own_id { Some(self.round) } else { Some(self.peers.get(&id)?.confirmed) }
        };
        self.on_enough(|id| of(id).map(|round| Seq(round.0))).map_or(Round(0), |seq| Round(seq.0))
    }

    /// Where the logs of all voters that have answered in this epoch start at most. Nothing while so few have answered that what was
    /// deleted before may be known to the others alone.
    pub(crate) fn told_start(&self) -> Option<Seq> {
        let voters = &self.config.voters;
        let starts = || voters.replicas().iter().filter_map(|id| self.start_of(*id));
        if starts().count() < voters.fenced_min() { None } else { starts().max() }
    }

    /// What enough voters have reached: of those that ask to be counted, too.
    fn on_enough(&self, of: impl Fn(ReplicaId) -> Option<Seq>) -> Option<Seq> {
        let present = self.config.voters.durable_to(&of)?;
        match &self.next_voters {
            Some(next) => Some(present.min(next.durable_to(&of)?)),
            None => Some(present),
        }
    }
}
