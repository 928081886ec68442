//! What the configuration service says of a partition: who leads, who votes, and how many must have an entry.

use std::collections::BTreeSet;

use crate::{Epoch, ReplicaId, Seq};

/// The replicas whose disks count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Voters {
    replicas: BTreeSet<ReplicaId>,
    durable_on: usize,
}

/// Voters that could not keep what is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// There is no voter.
    NoVoters,
    /// Entries would have to be on more voters than there are, or on none.
    DurableOn,
}

impl Voters {
    /// These replicas, with each entry durable on so many of them.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn new(
        replicas: impl IntoIterator<Item = ReplicaId>,
        durable_on: usize,
    ) -> Result<Self, ConfigError> {
        let replicas: BTreeSet<_> = replicas.into_iter().collect();
        if replicas.is_empty() {
            Err(ConfigError::NoVoters)
        } else if durable_on == 0 || durable_on > replicas.len() {
            Err(ConfigError::DurableOn)
        } else {
            Ok(Self { replicas, durable_on })
        }
    }

    /// The replicas.
    pub const fn replicas(&self) -> &BTreeSet<ReplicaId> {
        &self.replicas
    }

    /// On how many of them an entry must be durable.
    #[must_use]
    pub const fn durable_on(&self) -> usize {
        self.durable_on
    }

    /// How many of them must promise a new epoch before a leader is chosen: one of them has each committed entry.
    #[must_use]
    pub fn fenced_min(&self) -> usize {
        self.replicas.len() - self.durable_on + 1
    }

    /// Up to where entries are durable on enough of them, if each has come as far as `durable` says.
    pub(crate) fn durable_to(&self, durable: impl Fn(ReplicaId) -> Option<Seq>) -> Option<Seq> {
        // Asked for each batch that is flushed: one replica is not searched for, and few are compared sooner than sorted.
        if let Some(only) = self.replicas.first().filter(|_| self.replicas.len() == 1) {
            return durable(*only);
        }
        let ends = || self.replicas.iter().filter_map(|id| durable(*id));
        ends().filter(|end| ends().filter(|other| other >= end).count() >= self.durable_on).max()
    }
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// It rises with each change of leader or voters.
    pub epoch: Epoch,
    /// Who appends.
    pub leader: ReplicaId,
    /// Whose disks count.
    pub voters: Voters,
    /// Who gets a copy and does not count.
    pub learners: BTreeSet<ReplicaId>,
    /// Whether the leader was chosen among replicas that had promised this epoch. Otherwise the leader before has gone on, with
    /// other voters: then only the process that led before may lead, for what was committed may not be on its own disk.
    pub chosen: bool,
}

impl Config {
    /// One replica, which leads and alone has the log.
    #[must_use]
    pub fn alone(replica: ReplicaId, epoch: Epoch) -> Self {
        let voters = Voters { replicas: BTreeSet::from([replica]), durable_on: 1 };
        Self { epoch, leader: replica, voters, learners: BTreeSet::new(), chosen: true }
    }

    /// All replicas but this one: those that a leader sends to.
    pub(crate) fn others(&self, own: ReplicaId) -> BTreeSet<ReplicaId> {
        let all = self.voters.replicas.union(&self.learners).copied();
        all.filter(|id| *id != own).collect()
    }
}
