//! Balance: nodes that use more than their part of a resource are relieved, first by changes of leader, which
//! copy nothing, then by moves of replicas.
//!
//! Each change lowers the sorted list of all utilisations ([`Trial::gain`]), so the search ends, and it ends
//! where no change is left that pays. A plan made from there is empty.
//!
//! A pass looks at each pair of node and resource once. For a pair it looks at each partition on the node, and
//! for a partition at no more than [`TARGETS_MAX`] nodes with room. The work is at most passes x pairs x
//! partitions on a node x targets, and passes, failures and changes are limited.

use core::cmp::Reverse;
use core::time::Duration;

use crate::decisions::Decisions;
use crate::level::Balance;
use crate::model::Model;
use crate::node::NodeState;
use crate::obstacle::{Demands, obstacle};
use crate::reason::Reason;
use crate::resource::{Resource, Utilisation};
use crate::settings::Settings;
use crate::trial::{Trial, benefit};
use crate::zones::ZoneLimits;

/// How many passes a search makes at most. Few need ten; the longest of the tests needs 54.
const PASSES_MAX: usize = 100;

/// How many nodes are tried as the target of one replica: those that use least of the resource.
const TARGETS_MAX: usize = 6;

/// After how many partitions in a row without a target a node is left as it is.
const FAILURES_MAX: usize = 48;

/// Whether a search went on to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Nothing is left that pays.
    Balanced,
    /// A limit ended it.
    Limited,
}

/// For how long a balance is taken to last, after an imbalance of such a length.
pub(crate) fn horizon(settings: &Settings, imbalance_lasted: Duration) -> Duration {
    settings.horizon_max.min(imbalance_lasted.saturating_mul(3))
}

/// Balances the model if that gains enough.
pub(crate) fn balance(
    model: &mut Model,
    settings: &Settings,
    horizon: Duration,
    decisions: &mut Decisions,
) -> Ended {
    let changes_max = decisions.made().saturating_add(settings.balance_changes_max);
    let mut search = Search {
        settings,
        horizon,
        levels: Balance::new(model, settings),
        zones: ZoneLimits::possible(model),
        changes_max,
        out: Vec::new(),
        model: model.clone(),
        decisions: decisions.clone(),
    };
    let ended = search.run();
    if search.levels.gained(model, &search.model, settings) {
        *model = search.model;
        *decisions = search.decisions;
    }
    ended
}

struct Search<'a> {
    settings: &'a Settings,
    horizon: Duration,
    levels: Balance,
    zones: ZoneLimits,
    changes_max: usize,
    /// The resources that are or were out of balance: they are relieved down to the aim.
    out: Vec<Resource>,
    model: Model,
    decisions: Decisions,
}

impl Search<'_> {
    fn run(&mut self) -> Ended {
        for _ in 0..PASSES_MAX {
            let changed = self.pass(Self::relieve_by_transfers)
                || (self.settings.balance_moves && self.pass(Self::relieve_by_moves));
            if self.decisions.made() >= self.changes_max {
                return Ended::Limited;
            }
            if !changed {
                return Ended::Balanced;
            }
        }
        Ended::Limited
    }

    /// Relieves each node of each resource that is out of balance, the most used first. Whether anything changed.
    fn pass(&mut self, relieve: fn(&mut Self, usize, Resource) -> bool) -> bool {
        let out = self.levels.out_of_balance(&self.model);
        self.out.extend(out);
        self.out.sort_unstable();
        self.out.dedup();
        let mut pairs: Vec<(Reverse<Utilisation>, usize, Resource)> = Vec::new();
        for (place, node) in self.model.nodes.iter().enumerate() {
            for resource in &self.out {
                let used = node.utilisation(*resource);
                if node.state == NodeState::Serving && used > self.levels.aim(*resource) {
                    pairs.push((Reverse(used), place, *resource));
                }
            }
        }
        pairs.sort_unstable();
        let mut changed = false;
        for (_, node, resource) in pairs {
            changed |= relieve(self, node, resource);
        }
        changed
    }

    fn needs_relief(&self, node: usize, resource: Resource) -> bool {
        self.model.nodes[node].utilisation(resource) > self.levels.aim(resource)
            && self.decisions.made() < self.changes_max
    }

    fn relieve_by_transfers(&mut self, node: usize, resource: Resource) -> bool {
        let model = &self.model;
        let saved = |partition: usize| {
            let of = &model.partitions[partition];
            of.lead[resource].saturating_sub(of.follow[resource])
        };
        let mut led: Vec<usize> = model.nodes[node].leads.iter().copied().collect();
        led.retain(|partition| saved(*partition) > 0 && !model.partitions[*partition].pinned);
        led.sort_by_key(|partition| Reverse(saved(*partition)));
        let mut changed = false;
        for partition in led {
            if !self.needs_relief(node, resource) {
                break;
            }
            let Some((to, reason)) = self.best_leader(partition, node, resource) else { continue };
            self.decisions.lead(&mut self.model, partition, to, reason);
            changed = true;
        }
        changed
    }

    fn best_leader(&self, partition: usize, from: usize, resource: Resource) -> Option<(usize, Reason)> {
        let voters = self.model.partitions[partition].voters.iter().copied();
        let targets = voters.filter(|to| *to != from && self.model.nodes[*to].is_target);
        let trials = targets.map(|to| (to, Trial::transfer(&self.model, partition, from, to)));
        self.best(trials, from, resource)
    }

    fn relieve_by_moves(&mut self, node: usize, resource: Resource) -> bool {
        let mut changed = false;
        let mut failures = 0;
        let mut targets = self.targets(resource);
        for partition in self.movable(node, resource) {
            if !self.needs_relief(node, resource) || failures == FAILURES_MAX {
                break;
            }
            let Some((to, reason)) = self.best_target(partition, node, &targets, resource) else {
                failures += 1;
                continue;
            };
            self.decisions.replace(&mut self.model, partition, (node, to), reason);
            targets = self.targets(resource);
            (changed, failures) = (true, 0);
        }
        changed
    }

    /// The partitions on a node whose replica uses some of a resource: those first that use most of it for each
    /// byte that a move copies, and of equal ones the largest.
    fn movable(&self, node: usize, resource: Resource) -> Vec<usize> {
        /// What a move costs besides its bytes, so that a small replica is not free.
        const FIXED_BYTES: u64 = 1 << 20;
        let model = &self.model;
        let key = |partition: &usize| {
            let (of, used) = (&model.partitions[*partition], model.amounts(*partition, node)[resource]);
            let for_each_byte = used as f64 / of.copy_bytes.saturating_add(FIXED_BYTES) as f64;
            Reverse(((for_each_byte * 1e12) as u64, used))
        };
        let votes = model.nodes[node].votes.iter().copied();
        let can_move = |partition: &usize| {
            !model.partitions[*partition].pinned && model.amounts(*partition, node)[resource] > 0
        };
        let mut movable: Vec<usize> = votes.filter(can_move).collect();
        movable.sort_by_cached_key(key);
        movable
    }

    /// The nodes that may get a replica, those first that use least of a resource.
    fn targets(&self, resource: Resource) -> Vec<usize> {
        let nodes = &self.model.nodes;
        let mut targets: Vec<usize> = (0..nodes.len()).filter(|node| nodes[*node].is_target).collect();
        targets.sort_by_cached_key(|node| nodes[*node].utilisation(resource));
        targets
    }

    fn best_target(
        &self,
        partition: usize,
        from: usize,
        targets: &[usize],
        resource: Resource,
    ) -> Option<(usize, Reason)> {
        let (model, headroom_percent) = (&self.model, self.settings.headroom_percent);
        let demands = Demands { headroom_percent, zones: Some(&self.zones) };
        let level = model.nodes[from].utilisation(resource);
        let lower = targets.iter().copied().take_while(|to| model.nodes[*to].utilisation(resource) < level);
        let free = lower.filter(|to| obstacle(model, partition, Some(from), *to, demands).is_none());
        let trials = free.take(TARGETS_MAX).map(|to| (to, Trial::relocation(model, partition, from, to)));
        self.best(trials, from, resource)
    }

    /// The trial with the largest gain of those that pay. The other node must end as far below where the
    /// relieved one was as the aim is from the even level: where all nodes are above their part, as in a zone
    /// that is too small, they would exchange replicas for gains that nobody notices.
    fn best(
        &self,
        trials: impl Iterator<Item = (usize, Trial)>,
        from: usize,
        resource: Resource,
    ) -> Option<(usize, Reason)> {
        let model = &self.model;
        let before = model.nodes[from].utilisation(resource);
        let paying = trials.filter_map(|(to, trial)| {
            if trial.burdened(model, resource).times_percent(self.settings.aim_percent) > before {
                return None;
            }
            let gain = trial.gain(model, self.levels.aims())?;
            let needed = trial.needed_benefit(model, self.settings);
            (benefit(gain, self.horizon) > needed).then_some((to, trial, gain))
        });
        let (to, trial, gain) = paying.max_by_key(|(to, _, gain)| (*gain, Reverse(*to)))?;
        let after = trial.relieved(model, resource);
        Some((to, Reason::Balance { resource, before, after, gain }))
    }
}
