//! What a change would do to the two nodes that it touches, and whether it is worth its cost.

use core::time::Duration;

use crate::model::Model;
use crate::resource::{Amounts, RESOURCES, Resource, Utilisation};
use crate::settings::Settings;

/// Below these levels of each resource, a node has no reason to use less.
pub(crate) type Levels = [Utilisation; RESOURCES];

/// A change that is not made yet. Each change touches two nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    partition: usize,
    from: usize,
    to: usize,
    from_after: Amounts,
    to_after: Amounts,
    copies: bool,
    changes_leader: bool,
}

impl Trial {
    /// The leader `from` hands over to the voter `to`.
    pub(crate) fn transfer(model: &Model, partition: usize, from: usize, to: usize) -> Self {
        let of = &model.partitions[partition];
        let (mut from_after, mut to_after) = (model.nodes[from].used, model.nodes[to].used);
        from_after -= &of.lead;
        from_after += &of.follow;
        to_after -= &of.follow;
        to_after += &of.lead;
        Self { partition, from, to, from_after, to_after, copies: false, changes_leader: true }
    }

    /// The voter `from` is replaced by `to`.
    pub(crate) fn relocation(model: &Model, partition: usize, from: usize, to: usize) -> Self {
        let amounts = model.amounts(partition, from);
        let (mut from_after, mut to_after) = (model.nodes[from].used, model.nodes[to].used);
        from_after -= amounts;
        to_after += amounts;
        let changes_leader = model.partitions[partition].leader == Some(from);
        Self { partition, from, to, from_after, to_after, copies: true, changes_leader }
    }

    /// How much of a resource the relieved node would use.
    pub(crate) fn relieved(&self, model: &Model, resource: Resource) -> Utilisation {
        model.nodes[self.from].utilisation_by(&self.from_after, resource)
    }

    /// How much of a resource the other node would use.
    pub(crate) fn burdened(&self, model: &Model, resource: Resource) -> Utilisation {
        model.nodes[self.to].utilisation_by(&self.to_after, resource)
    }

    /// By how much the change lowers the highest utilisation that it changes at all; nothing if it raises that.
    ///
    /// The utilisations of both nodes are sorted, highest first, and compared before and after: the first that
    /// differs decides. This is a strict order over whole clusters, because what a change does not touch is the
    /// same before and after. So changes with a gain cannot lead in a circle. What lies below `levels` counts
    /// as the level: between nodes that use no more than their part, nothing is to be gained or lost.
    pub(crate) fn gain(&self, model: &Model, levels: &Levels) -> Option<Utilisation> {
        let (from, to) = (&model.nodes[self.from], &model.nodes[self.to]);
        let before = sorted(&from.utilisations_by(&from.used), &to.utilisations_by(&to.used), levels);
        let after =
            sorted(&from.utilisations_by(&self.from_after), &to.utilisations_by(&self.to_after), levels);
        let (before, after) = before.iter().zip(&after).find(|(before, after)| before != after)?;
        before.0.checked_sub(after.0).map(Utilisation)
    }

    /// What the change costs: for how long the busier of the two ends would be used in full.
    pub(crate) fn cost(&self, model: &Model, settings: &Settings) -> Duration {
        let transfer = if self.changes_leader { settings.transfer_cost } else { Duration::ZERO };
        if !self.copies {
            return transfer;
        }
        let of = &model.partitions[self.partition];
        let sender = of.leader.unwrap_or(self.from);
        let link = |node: usize| model.nodes[node].capacity(Resource::NetworkIn);
        let slower = [link(sender), link(self.to)].into_iter().flatten().min();
        let bytes_per_s = slower.unwrap_or(settings.copy_bytes_per_s).max(1);
        transfer.saturating_add(seconds(of.copy_bytes as f64 / bytes_per_s as f64))
    }

    /// What the benefit must exceed: some times the cost, and more if the partition rests.
    pub(crate) fn needed_benefit(&self, model: &Model, settings: &Settings) -> Duration {
        let rests = model.partitions[self.partition].rests;
        let times = settings.benefit_over_cost.saturating_mul(if rests { settings.rest_benefit } else { 1 });
        self.cost(model, settings).saturating_mul(times)
    }
}

/// What a gain is worth: full utilisation saved for so long.
pub(crate) fn benefit(gain: Utilisation, horizon: Duration) -> Duration {
    seconds(horizon.as_secs_f64() * gain.fraction())
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

fn sorted(one: &Levels, other: &Levels, levels: &Levels) -> [Utilisation; 2 * RESOURCES] {
    let mut all = [Utilisation::default(); 2 * RESOURCES];
    for index in 0..RESOURCES {
        all[index] = one[index].max(levels[index]);
        all[RESOURCES + index] = other[index].max(levels[index]);
    }
    all.sort_unstable_by(|one, other| other.cmp(one));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::model;

    const NO_LEVELS: Levels = [Utilisation(0); RESOURCES];

    #[test]
    fn gain_is_the_fall_of_the_highest_utilisation_that_changes() {
        let model = model(&[0, 1], &[&[0, 1], &[0, 1], &[0, 1]]);
        let trial = Trial::transfer(&model, 0, 0, 1);
        assert_eq!(trial.relieved(&model, Resource::Cpu), Utilisation::percent(21));
        assert_eq!(trial.burdened(&model, Resource::Cpu), Utilisation::percent(12));
        // 30 % of the CPU and 30 % of the disk before; the disk stays.
        assert_eq!(trial.gain(&model, &NO_LEVELS), Some(Utilisation::percent(9)));
    }

    #[test]
    fn exchange_of_places_gains_nothing() {
        let model = model(&[0, 1], &[&[0, 1]]);
        assert_eq!(Trial::transfer(&model, 0, 0, 1).gain(&model, &NO_LEVELS), None);
    }

    #[test]
    fn node_below_all_levels_has_nothing_to_gain() {
        let model = model(&[0, 1], &[&[0], &[0]]);
        let trial = Trial::relocation(&model, 0, 0, 1);
        assert!(trial.gain(&model, &NO_LEVELS).is_some());
        assert_eq!(trial.gain(&model, &[Utilisation::percent(100); RESOURCES]), None);
    }

    #[test]
    fn cost_is_the_time_that_the_slower_link_is_in_use() {
        let mut model = model(&[0, 1], &[&[0]]);
        model.partitions[0].copy_bytes = 1_000_000_000;
        let settings = Settings::default();
        let trial = Trial::relocation(&model, 0, 0, 1);
        assert_eq!(trial.cost(&model, &settings), Duration::from_millis(10_005));
        model.partitions[0].rests = true;
        assert_eq!(trial.needed_benefit(&model, &settings), Duration::from_millis(60_030));
    }
}
