//! What the configuration keeps of a partition.

use std::collections::BTreeSet;

use replication_appointed::{Config, Epoch, Position, ReplicaId, Voters};

/// The replicas of a partition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Members {
    /// Whose disks count, and how many of them.
    pub voters: Voters,
    /// Who gets a copy and does not count.
    pub learners: BTreeSet<ReplicaId>,
}

/// Replicas that there shall be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Goal {
    /// Those.
    pub to: Members,
    /// Those that there were when the change began: a cancelled change goes back to them.
    pub from: Members,
}

/// A person has appointed a leader that may lack committed entries.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Loss {
    /// Its epoch.
    pub epoch: Epoch,
    /// Voters that could not be asked.
    pub missing: BTreeSet<ReplicaId>,
    /// How far the log came that is kept.
    pub kept: Position,
}

/// What the configuration keeps of a partition, with a version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// Who leads, who votes.
    pub config: Config,
    /// Which replicas are preferred as leader, the first most.
    pub preferred: Vec<ReplicaId>,
    /// If fewer voters are alive than entries must be on, those that are alive may become the voters, if they are at least so
    /// many. Nothing if the partition waits instead.
    pub voters_min: Option<usize>,
    /// A change of replicas that is under way.
    pub goal: Option<Goal>,
    /// Entries may have been lost. The owner removes this once each node that had a replica has seen it: one that has not would
    /// keep a copy with entries that are lost.
    pub loss: Option<Loss>,
}

impl Members {
    /// Those of a configuration.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        Self { voters: config.voters.clone(), learners: config.learners.clone() }
    }

    /// All of them.
    #[must_use]
    pub fn nodes(&self) -> BTreeSet<ReplicaId> {
        self.voters.replicas().union(&self.learners).copied().collect()
    }

    /// Of these only some vote from now on, and entries must be on all of those; the others learn. Nothing if nobody would
    /// vote.
    pub(crate) fn reduced_to(&self, voters: BTreeSet<ReplicaId>) -> Option<Self> {
        let learners = self.nodes().difference(&voters).copied().collect();
        let durable_on = self.voters.durable_on().min(voters.len());
        Some(Self { voters: Voters::new(voters, durable_on).ok()?, learners })
    }
}

impl Record {
    /// A partition that nothing else is known of.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, preferred: Vec::new(), voters_min: None, goal: None, loss: None }
    }

    /// The replicas.
    #[must_use]
    pub fn members(&self) -> Members {
        Members::of(&self.config)
    }

    /// All nodes that it names as leader or replica, now or in its goal.
    #[must_use]
    pub fn nodes(&self) -> BTreeSet<ReplicaId> {
        let mut nodes = self.members().nodes();
        nodes.insert(self.config.leader);
        if let Some(goal) = &self.goal {
            nodes.extend(goal.to.nodes());
        }
        nodes
    }

    /// Another leader, chosen for that epoch.
    pub(crate) fn appoint(&self, epoch: Epoch, leader: ReplicaId) -> Self {
        assert!(epoch > self.config.epoch, "an epoch that is not above the one before");
        let config = Config { epoch, leader, chosen: true, ..self.config.clone() };
        Self { config, ..self.clone() }
    }

    /// The same leader with other replicas, without a choice.
    pub(crate) fn continue_with(&self, members: Members) -> Option<Self> {
        let epoch = Epoch(self.config.epoch.0.checked_add(1)?);
        let Members { voters, learners } = members;
        let config = Config { epoch, leader: self.config.leader, voters, learners, chosen: false };
        Some(Self { config, ..self.clone() })
    }

    /// The same with fewer voters, and the goal to have the others back.
    pub(crate) fn with_fewer(&self, members: Members) -> Self {
        let before = self.members();
        let goal = self.goal.clone().unwrap_or(Goal { to: before.clone(), from: before });
        let config = Config { voters: members.voters, learners: members.learners, ..self.config.clone() };
        Self { config, goal: Some(goal), ..self.clone() }
    }

    /// Whether entries have to be on all voters.
    pub(crate) fn is_on_all(&self) -> bool {
        self.config.voters.durable_on() == self.config.voters.replicas().len()
    }

    /// Whether these are enough voters for a record that may lose some.
    pub(crate) fn may_shrink_to(&self, voters: usize) -> bool {
        voters < self.config.voters.durable_on() && self.voters_min.is_some_and(|min| voters >= min.max(1))
    }
}
