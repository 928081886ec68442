//! An attempt to appoint a leader: an epoch, and which voters have promised it. It knows no time and sends nothing.

use std::collections::BTreeMap;

use replication_appointed::{Epoch, Position, ReplicaId, Voters, choose};

use crate::nodes::Nodes;
use crate::record::{Loss, Record};

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) epoch: Epoch,
    /// Voters that have promised it, and how far their logs have come.
    pub(crate) told: BTreeMap<ReplicaId, Position>,
    /// Whoever has not answered yet is not waited for any more.
    pub(crate) is_grace_over: bool,
    /// The end of that time has a deadline.
    pub(crate) has_grace: bool,
}

/// How far an attempt has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Too few voters that are alive have answered.
    TooFew,
    /// A leader could be chosen, and more voters are alive.
    Enough,
    /// A leader is to be chosen.
    Ready,
}

/// How a leader is chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    /// The first of equals.
    pub(crate) leader: Option<ReplicaId>,
    /// Even if entries that are committed may be lost.
    pub(crate) accepts_loss: bool,
}

impl Attempt {
    pub(crate) const fn new(epoch: Epoch) -> Self {
        Self { epoch, told: BTreeMap::new(), is_grace_over: false, has_grace: false }
    }

    pub(crate) fn progress(&self, record: &Record, wish: Wish, nodes: &Nodes) -> Progress {
        let voters = &record.config.voters;
        let answered = self.answers(voters, nodes).len();
        let alive = voters.replicas().iter().filter(|id| nodes.is_alive(**id)).count();
        let is_enough = answered >= voters.fenced_min() || (wish.accepts_loss && answered > 0);
        match is_enough {
            false => Progress::TooFew,
            true if answered == alive || self.is_grace_over => Progress::Ready,
            true => Progress::Enough,
        }
    }

    /// The record with the leader that is chosen.
    pub(crate) fn appointment(&self, record: &Record, wish: Wish, nodes: &Nodes) -> Option<Record> {
        if self.progress(record, wish, nodes) != Progress::Ready {
            return None;
        }
        let voters = &record.config.voters;
        let told = self.answers(voters, nodes);
        let preferred = preference(record, wish.leader, nodes);
        match choose(voters, &told, &preferred) {
            Some(leader) => Some(with_survivors(record, &told).appoint(self.epoch, leader)),
            None => self.with_loss(record, &told, &preferred).filter(|_| wish.accepts_loss),
        }
    }

    /// Only nodes that are alive: who has promised and died cannot lead.
    fn answers(&self, voters: &Voters, nodes: &Nodes) -> BTreeMap<ReplicaId, Position> {
        let counts = |id: &ReplicaId| voters.replicas().contains(id) && nodes.is_alive(*id);
        self.told.iter().filter(|(id, _)| counts(id)).map(|(id, position)| (*id, *position)).collect()
    }

    /// The longest log of those that answered leads, and alone votes: no other is known to have what it has.
    fn with_loss(
        &self,
        record: &Record,
        told: &BTreeMap<ReplicaId, Position>,
        preferred: &[ReplicaId],
    ) -> Option<Record> {
        let all = Voters::new(told.keys().copied(), told.len()).ok()?;
        let leader = choose(&all, told, preferred)?;
        let missing = record.config.voters.replicas().iter().filter(|id| !told.contains_key(id)).copied();
        let kept = told.get(&leader).copied().unwrap_or_default();
        let loss = Loss { epoch: self.epoch, missing: missing.collect(), kept };
        let alone = record.members().reduced_to([leader].into())?;
        Some(Record { loss: Some(loss), ..record.with_fewer(alone) }.appoint(self.epoch, leader))
    }
}

/// If entries have to be on all voters, each of those that answered has all that is committed, and they may go on alone.
fn with_survivors(record: &Record, told: &BTreeMap<ReplicaId, Position>) -> Record {
    let survivors = || record.members().reduced_to(told.keys().copied().collect());
    match survivors().filter(|_| record.is_on_all() && record.may_shrink_to(told.len())) {
        Some(members) => record.with_fewer(members),
        None => record.clone(),
    }
}

/// Who leads first, of replicas with equal logs: who is wanted, then those that are preferred, then the others; nodes that are
/// alive and do not drain before those that do.
pub(crate) fn preference(record: &Record, wanted: Option<ReplicaId>, nodes: &Nodes) -> Vec<ReplicaId> {
    let voters = record.config.voters.replicas();
    let mut order: Vec<ReplicaId> = wanted.into_iter().collect();
    for id in record.preferred.iter().chain(voters) {
        if voters.contains(id) && !order.contains(id) {
            order.push(*id);
        }
    }
    order.sort_by_key(|id| !nodes.may_lead(*id));
    order
}
