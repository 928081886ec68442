//! What a controller knows of one partition, and whether that needs a new leader.

use base::MonoTime;
use replication_appointed::{Epoch, ReplicaId};

use crate::attempt::{Attempt, Wish};
use crate::ids::{ProposalId, Version};
use crate::nodes::Nodes;
use crate::record::{Goal, Record};

/// A hand-over that the leader prepares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HandOver {
    pub(crate) to: ReplicaId,
    pub(crate) until: MonoTime,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Partition {
    pub(crate) record: Record,
    pub(crate) version: Version,
    /// The highest epoch that some replica may have promised.
    pub(crate) floor: Epoch,
    /// The leader of this epoch is known not to lead.
    pub(crate) deposed: Epoch,
    /// The leader of this epoch has said that it leads, over the connection that there is.
    pub(crate) confirmed: Epoch,
    /// Its epoch is `floor`.
    pub(crate) attempt: Option<Attempt>,
    /// A person accepts that entries are lost.
    pub(crate) accepts_loss: bool,
    /// Who shall lead next, if its log is as long as any.
    pub(crate) wanted: Option<ReplicaId>,
    /// The replica that is preferred most shall lead next.
    pub(crate) goes_back: bool,
    pub(crate) hand_over: Option<HandOver>,
    /// Until when the leader may go on by itself with the voters that are left.
    pub(crate) shrinks_until: Option<MonoTime>,
    /// A goal that is to be written.
    pub(crate) edit: Option<Goal>,
    /// What is known of the record may be old: nothing is judged by it.
    pub(crate) is_reading: bool,
    pub(crate) proposal: Option<ProposalId>,
    /// How often another controller was found at work, and when the next attempt or hand-over may begin.
    pub(crate) refusals: u32,
    pub(crate) not_before: MonoTime,
}

impl Partition {
    pub(crate) fn new(version: Version, record: Record) -> Self {
        Self {
            record,
            version,
            floor: Epoch::NONE,
            deposed: Epoch::NONE,
            confirmed: Epoch::NONE,
            attempt: None,
            accepts_loss: false,
            wanted: None,
            goes_back: false,
            hand_over: None,
            shrinks_until: None,
            edit: None,
            is_reading: false,
            proposal: None,
            refusals: 0,
            not_before: MonoTime::ZERO,
        }
    }

    /// Another version of the record. Attempts, and wishes about the next leader, end with the configuration that they are
    /// about; what was promised stays promised.
    pub(crate) fn replace(&mut self, version: Version, record: Record) {
        if self.record.config != record.config {
            (self.attempt, self.wanted, self.hand_over, self.shrinks_until) = (None, None, None, None);
            (self.accepts_loss, self.goes_back, self.refusals) = (false, false, 0);
        }
        let is_done = |goal: &Goal| match &record.goal {
            Some(known) => known == goal,
            None => record.members() == goal.to,
        };
        self.edit = self.edit.take().filter(|goal| !is_done(goal));
        (self.version, self.record) = (version, record);
    }

    /// See the crate.
    pub(crate) fn needs_leader(&self, nodes: &Nodes) -> bool {
        let config = &self.record.config;
        nodes.is_suspected(config.leader) || self.deposed >= config.epoch || self.floor > config.epoch
    }

    /// Whether enough voters are alive for a choice.
    pub(crate) fn has_enough_voters(&self, nodes: &Nodes) -> bool {
        let voters = &self.record.config.voters;
        let alive = voters.replicas().iter().filter(|id| nodes.is_alive(**id)).count();
        alive >= voters.fenced_min() || (self.accepts_loss && alive > 0)
    }

    pub(crate) const fn wish(&self) -> Wish {
        Wish { leader: self.wanted, accepts_loss: self.accepts_loss }
    }

    /// Who is preferred most as leader and could lead, but does not.
    pub(crate) fn misplaced(&self) -> Option<ReplicaId> {
        let config = &self.record.config;
        let first = self.record.preferred.first().copied()?;
        (first != config.leader && config.voters.replicas().contains(&first)).then_some(first)
    }
}
