//! A plan: what is to be done, in its order, and what that changes.

use core::fmt;
use core::time::Duration;

use crate::balance::{Ended, balance, horizon};
use crate::cluster::{Cluster, ClusterError};
use crate::decisions::Decisions;
use crate::level::Balance;
use crate::model::Model;
use crate::node::NodeState;
use crate::place::place;
use crate::problem::{Problem, ProblemKind};
use crate::relocate::{drain, spread, tell_crowded};
use crate::repair::{leaders, missing, superfluous};
use crate::resource::{Resource, Utilisation};
use crate::route::route;
use crate::schedule::schedule;
use crate::settings::Settings;
use crate::step::{Action, Step};
use crate::summary::Summary;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The steps in the order in which they begin. Steps of one partition follow each other.
    pub steps: Vec<Step>,
    /// What cannot be done.
    pub problems: Vec<Problem>,
    /// How the load lies now.
    pub before: Summary,
    /// How it will lie.
    pub after: Summary,
    /// Whether a limit ended the search for balance. The next plan goes on.
    pub is_limited: bool,
}

impl Plan {
    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Bytes that all steps copy.
    #[must_use]
    pub fn copy_bytes(&self) -> u64 {
        self.steps.iter().map(|step| step.copy_bytes).sum()
    }

    /// How long all steps are expected to take.
    #[must_use]
    pub fn duration(&self) -> Duration {
        self.steps.iter().map(Step::end).max().unwrap_or_default()
    }

    /// How many steps copy a replica.
    #[must_use]
    pub fn copies(&self) -> usize {
        self.steps.iter().filter(|step| step.action.copies_to().is_some()).count()
    }

    /// How many steps only transfer a leadership.
    #[must_use]
    pub fn transfers(&self) -> usize {
        let is_transfer = |step: &&Step| matches!(step.action, Action::TransferLeadership { .. });
        self.steps.iter().filter(is_transfer).count()
    }
}

/// Plans everything: leaders that were lost, new partitions, repair, draining, zones and balance, in this order.
///
/// # Errors
/// [`ClusterError`]: the caller is at fault.
pub fn plan(cluster: &Cluster, settings: &Settings) -> Result<Plan, ClusterError> {
    cluster.check()?;
    let before = Model::new(cluster, settings);
    let (mut after, mut decisions) = (before.clone(), Decisions::default());
    let repair_percent = settings.repair_headroom_percent;
    leaders(&mut after, &mut decisions);
    place(&mut after, repair_percent, &mut decisions);
    missing(&mut after, repair_percent, &mut decisions);
    superfluous(&mut after, &mut decisions);
    drain(&mut after, repair_percent, &mut decisions);
    spread(&mut after, repair_percent, &mut decisions);
    let mut ended = Ended::Balanced;
    let horizon = horizon(settings, cluster.imbalance_lasted);
    if !decisions.emergency_leaders.is_empty() {
        tell_waiting(&after, &mut decisions);
    } else if settings.balance && !horizon.is_zero() {
        ended = balance(&mut after, settings, horizon, &mut decisions);
    }
    tell_crowded(&after, &mut decisions);
    tell_hot(&after, &mut decisions);
    Ok(finish(&before, &after, settings, decisions, ended))
}

/// Plans only the first replicas of new partitions, which copies nothing and moves nothing.
///
/// # Errors
/// [`ClusterError`]: the caller is at fault.
pub fn plan_new(cluster: &Cluster, settings: &Settings) -> Result<Plan, ClusterError> {
    plan_part(cluster, settings, place)
}

/// Plans only what empties nodes that are draining.
///
/// # Errors
/// [`ClusterError`]: the caller is at fault.
pub fn plan_drains(cluster: &Cluster, settings: &Settings) -> Result<Plan, ClusterError> {
    plan_part(cluster, settings, drain)
}

/// Plans only balance. Nothing is repaired or emptied, and zones are left as they are.
///
/// # Errors
/// [`ClusterError`]: the caller is at fault.
pub fn plan_balance(cluster: &Cluster, settings: &Settings) -> Result<Plan, ClusterError> {
    cluster.check()?;
    let before = Model::new(cluster, settings);
    let (mut after, mut decisions) = (before.clone(), Decisions::default());
    let mut ended = Ended::Balanced;
    let horizon = horizon(settings, cluster.imbalance_lasted);
    if !horizon.is_zero() {
        ended = balance(&mut after, settings, horizon, &mut decisions);
    }
    tell_hot(&after, &mut decisions);
    Ok(finish(&before, &after, settings, decisions, ended))
}

fn plan_part(
    cluster: &Cluster,
    settings: &Settings,
    decide: impl FnOnce(&mut Model, u32, &mut Decisions),
) -> Result<Plan, ClusterError> {
    cluster.check()?;
    let before = Model::new(cluster, settings);
    let (mut after, mut decisions) = (before.clone(), Decisions::default());
    decide(&mut after, settings.repair_headroom_percent, &mut decisions);
    Ok(finish(&before, &after, settings, decisions, Ended::Balanced))
}

/// Whether some node uses so much more than its part that a plan would relieve it. A
/// [`Trigger`](crate::Trigger) wants to know this once in each window of time.
///
/// # Errors
/// [`ClusterError`]: the caller is at fault.
pub fn is_out_of_balance(cluster: &Cluster, settings: &Settings) -> Result<bool, ClusterError> {
    cluster.check()?;
    let model = Model::new(cluster, settings);
    Ok(!Balance::new(&model, settings).out_of_balance(&model).is_empty())
}

fn finish(
    before: &Model,
    after: &Model,
    settings: &Settings,
    mut decisions: Decisions,
    ended: Ended,
) -> Plan {
    let routes = decisions
        .in_order()
        .into_iter()
        .map(|partition| (partition, route(before, after, partition, &decisions)));
    let scheduled = schedule(before, routes.collect(), settings);
    for partition in &scheduled.waiting {
        decisions.problem(before, ProblemKind::WaitsForRoom, *partition);
    }
    Plan {
        steps: scheduled.steps,
        problems: decisions.problems.list(),
        before: Summary::of(before),
        after: Summary::of(&scheduled.after),
        is_limited: ended == Ended::Limited,
    }
}

fn tell_waiting(model: &Model, decisions: &mut Decisions) {
    let waiting: Vec<usize> = decisions.emergency_leaders.keys().copied().collect();
    for partition in waiting {
        decisions.problem(model, ProblemKind::BalanceWaitsForLeader, partition);
    }
}

/// Tells which leaders alone are too much for the best node.
fn tell_hot(model: &Model, decisions: &mut Decisions) {
    let serving = || model.nodes.iter().filter(|node| node.state == NodeState::Serving);
    let too_much = |partition: usize, resource: Resource| {
        let alone = serving().map(|node| node.utilisation_by(&model.partitions[partition].lead, resource));
        alone.min().is_some_and(|least| least > Utilisation::percent(100))
    };
    for partition in 0..model.partitions.len() {
        if Resource::WITH_CAPACITY.into_iter().any(|resource| too_much(partition, resource)) {
            decisions.problem(model, ProblemKind::TooHot, partition);
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "steps: {}, copies: {}, bytes: {}, expected time: {:.1} s",
            self.steps.len(),
            self.copies(),
            self.copy_bytes(),
            self.duration().as_secs_f64()
        )?;
        for (before, after) in self.before.resources.iter().zip(&self.after.resources) {
            writeln!(f, "{before}; after the plan highest {}", after.highest)?;
        }
        for step in &self.steps {
            writeln!(f, "{step}")?;
        }
        self.problems.iter().try_for_each(|problem| writeln!(f, "problem: {problem}"))
    }
}
