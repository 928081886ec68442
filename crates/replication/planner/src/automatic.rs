//! Balance without a person: at the end of each window of time the owner shows the cluster, and is told which steps to begin now.
//!
//! The owner measures, carries out what is begun, and shows in the next windows what became of it. Nothing is carried out from an old
//! plan: of each plan a few steps are begun, and once these have ended and were measured, there is a new plan.
//!
//! # Interface
//! [`Automatic::look`] at the end of each window, [`Automatic::hold`] instead of it while nothing may change. What was begun is the
//! owner's to carry out; [`Automatic::leaders_awaited`] says which changes of leader have not come about.
//!
//! # Invariants
//! - *Rest.* A cluster in balance begins nothing. Nor does one that was out of balance in fewer than three of the last four windows
//!   ([`Trigger`]).
//! - *One thing after the other.* Nothing is begun while anything that was begun is under way, or was not measured for
//!   `WINDOWS_MEASURED` windows since it ended.
//! - *No flapping.* What was moved stays for `REST_MS` at least, and each time for twice as long as the time before, up to
//!   `REST_MS_MAX`. So a load that never settles moves each partition once a day in the end.
//! - *Few at a time.* At most `TRANSFERS_AT_ONCE` changes of leader, and one copy from and one to each node.
//! - *Only what helps.* Each step that is begun is of a plan of [`plan_balance`], so it lowers the highest utilisation that it changes.
//! - *Bounded.* What is remembered of partitions is forgotten with them.

use std::collections::{BTreeMap, BTreeSet};

use crate::cluster::{Cluster, ClusterError};
use crate::ids::{NodeId, PartitionId};
use crate::partition::Partition;
use crate::plan::{Plan, is_out_of_balance, plan_balance};
use crate::settings::Settings;
use crate::step::{Action, Step};
use crate::trigger::Trigger;

/// How many leaders change at a time.
const TRANSFERS_AT_ONCE: usize = 20;
/// For how many windows what was begun has to have ended, before anything else is begun.
const WINDOWS_MEASURED: u64 = 2;
/// For how long a partition stays where it is after the first time that it was moved, milliseconds.
const REST_MS: u64 = 600_000;
/// The longest rest, milliseconds.
const REST_MS_MAX: u64 = 86_400_000;
/// A leader that has not changed by then is left as it is, milliseconds.
const TRANSFER_MS_MAX: u64 = 30_000;

/// What may be begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Nothing: it is only said what would be.
    #[default]
    Nothing,
    /// Changes of leader.
    Leaders,
    /// Moves of replicas too.
    All,
}

/// What a look came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No node uses much more than its part.
    Balanced,
    /// One does, but not for long enough.
    Waits,
    /// So many partitions are being changed.
    UnderWay(usize),
    /// What was changed is being measured.
    Measures,
    /// No change is worth what it costs, or what could be changed rests.
    NothingHelps,
    /// So many partitions would be changed.
    Proposed(usize),
    /// So many partitions are being changed from now on.
    Begun(usize),
}

/// See [`Automatic::look`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What it came to.
    pub outcome: Outcome,
    /// The plan, if one was made.
    pub plan: Option<Plan>,
    /// What is to be done now: all steps of some partitions.
    pub begin: Vec<Step>,
    /// How many partitions stay where they are because they were moved a short time ago.
    pub resting: usize,
}

/// What was begun for a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Open {
    leader: Option<NodeId>,
    voters: BTreeSet<NodeId>,
    /// Whether it gets other replicas.
    copies: bool,
    /// When it was seen last that somebody changes it, or when it was begun.
    seen_ms: u64,
}

/// For how long a partition stays where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rest {
    until_ms: u64,
    long_ms: u64,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Automatic {
    trigger: Trigger,
    open: BTreeMap<PartitionId, Open>,
    rests: BTreeMap<PartitionId, Rest>,
    /// When the last of what was begun had ended.
    settled_ms: Option<u64>,
}

impl Automatic {
    /// Nothing was seen yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing may change for now, and what is measured says nothing. Changes of leader that have not come about are given up. An
    /// imbalance counts from when it is looked again.
    pub fn hold(&mut self, now_ms: u64) {
        self.trigger = Trigger::new();
        self.open.retain(|_, open| open.copies);
        self.settled_ms = Some(now_ms);
    }

    /// Whether no partition is being changed by this.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether a partition is being changed by this.
    #[must_use]
    pub fn is_open(&self, partition: PartitionId) -> bool {
        self.open.contains_key(&partition)
    }

    /// The leaders that partitions are to have and did not have at the last look.
    pub fn leaders_awaited(&self) -> impl Iterator<Item = (PartitionId, NodeId)> {
        self.open.iter().filter_map(|(partition, open)| Some((*partition, open.leader?)))
    }

    /// A window of so many milliseconds has ended, and this is the cluster. A partition that somebody changes is pinned in it.
    /// [`Cluster::imbalance_lasted`] is not looked at.
    ///
    /// # Errors
    /// [`ClusterError`]: the caller is at fault, and nothing has happened.
    pub fn look(
        &mut self,
        mut cluster: Cluster,
        (window_ms, scope): (u64, Scope),
        settings: &Settings,
    ) -> Result<Decision, ClusterError> {
        let settings = Settings { balance_moves: scope != Scope::Leaders, ..settings.clone() };
        let is_out = is_out_of_balance(&cluster, &settings)?;
        let now_ms = cluster.now_ms;
        self.see_ends(&cluster);
        let resting = self.pin_resting(&mut cluster);
        self.trigger.observe(now_ms, window_ms, is_out);
        cluster.imbalance_lasted = self.trigger.lasted(now_ms);
        let measured_ms = self.settled_ms.map(|at| at.saturating_add(WINDOWS_MEASURED * window_ms));
        let outcome = if !self.open.is_empty() {
            Some(Outcome::UnderWay(self.open.len()))
        } else if measured_ms.is_some_and(|at| now_ms < at) {
            Some(Outcome::Measures)
        } else if cluster.imbalance_lasted.is_zero() {
            Some(if is_out { Outcome::Waits } else { Outcome::Balanced })
        } else {
            None
        };
        match outcome {
            Some(outcome) => Ok(Decision { outcome, plan: None, begin: Vec::new(), resting }),
            None => self.decide(&cluster, (scope, resting), &settings),
        }
    }

    fn decide(
        &mut self,
        cluster: &Cluster,
        (scope, resting): (Scope, usize),
        settings: &Settings,
    ) -> Result<Decision, ClusterError> {
        let plan = plan_balance(cluster, settings)?;
        let chosen = chosen(&plan);
        let begin: Vec<Step> =
            plan.steps.iter().filter(|step| chosen.contains(&step.partition)).cloned().collect();
        let outcome = match scope {
            _ if plan.is_empty() => Outcome::NothingHelps,
            Scope::Nothing => {
                Outcome::Proposed(plan.steps.iter().map(|step| step.partition).collect::<BTreeSet<_>>().len())
            }
            Scope::Leaders | Scope::All => Outcome::Begun(chosen.len()),
        };
        if !matches!(outcome, Outcome::Begun(_)) {
            return Ok(Decision { outcome, plan: Some(plan), begin: Vec::new(), resting });
        }
        for partition in cluster.partitions.iter().filter(|of| chosen.contains(&of.id)) {
            self.begin(partition, &begin, cluster.now_ms);
        }
        Ok(Decision { outcome, plan: Some(plan), begin, resting })
    }

    /// Remembers what is begun for a partition, and lets it rest from now on.
    fn begin(&mut self, partition: &Partition, steps: &[Step], now_ms: u64) {
        let (leader, voters) = (partition.leader, partition.voters.clone());
        let mut open = Open { leader, voters, copies: false, seen_ms: now_ms };
        for step in steps.iter().filter(|step| step.partition == partition.id) {
            open.apply(&step.action);
        }
        let rest = self.rests.get(&partition.id);
        let long_ms = rest.map_or(REST_MS, |rest| rest.long_ms.saturating_mul(2).min(REST_MS_MAX));
        self.rests.insert(partition.id, Rest { until_ms: now_ms.saturating_add(long_ms), long_ms });
        self.open.insert(partition.id, open);
    }

    /// Forgets what was begun and has ended, as it was to or otherwise.
    fn see_ends(&mut self, cluster: &Cluster) {
        let there: BTreeMap<PartitionId, &Partition> =
            cluster.partitions.iter().map(|partition| (partition.id, partition)).collect();
        let now_ms = cluster.now_ms;
        let before = self.open.len();
        self.open.retain(|id, open| there.get(id).is_some_and(|of| !open.has_ended(of, now_ms)));
        if self.open.len() < before {
            self.settled_ms = Some(now_ms);
        }
        // A rest is remembered for twice its length: it makes the next one longer.
        self.rests
            .retain(|id, rest| there.contains_key(id) && now_ms < rest.until_ms.saturating_add(rest.long_ms));
    }

    /// Those stay that were moved a short time ago. Gives how many.
    fn pin_resting(&self, cluster: &mut Cluster) -> usize {
        let mut resting = 0;
        for partition in &mut cluster.partitions {
            if self.rests.get(&partition.id).is_some_and(|rest| cluster.now_ms < rest.until_ms) {
                partition.pinned = true;
                resting += 1;
            }
        }
        resting
    }
}

impl Open {
    fn apply(&mut self, action: &Action) {
        match action {
            Action::TransferLeadership { to, .. } => self.leader = Some(*to),
            Action::MoveReplica { from, to, leads } => {
                self.copies = true;
                self.voters.remove(from);
                self.voters.insert(*to);
                if *leads {
                    self.leader = Some(*to);
                }
            }
            // Balance does none of these.
            Action::AddReplica { .. }
            | Action::RemoveReplica { .. }
            | Action::Place { .. }
            | Action::PromoteLearner { .. } => {}
        }
    }

    /// A copy takes as long as it takes: while somebody changes the partition, it has not ended.
    fn has_ended(&mut self, now: &Partition, now_ms: u64) -> bool {
        if now.pinned {
            self.seen_ms = now_ms;
            return false;
        }
        let is_late = now_ms >= self.seen_ms.saturating_add(TRANSFER_MS_MAX);
        is_late || (now.voters == self.voters && now.leader == self.leader)
    }
}

/// The partitions that are changed first: of those whose steps need no room that others make.
fn chosen(plan: &Plan) -> BTreeSet<PartitionId> {
    let later: BTreeSet<PartitionId> =
        plan.steps.iter().filter(|step| step.stage > 0).map(|step| step.partition).collect();
    let (mut chosen, mut transfers) = (BTreeSet::new(), 0);
    let (mut sending, mut receiving) = (BTreeSet::new(), BTreeSet::new());
    let mut seen = BTreeSet::new();
    for partition in plan.steps.iter().map(|step| step.partition) {
        if later.contains(&partition) || !seen.insert(partition) {
            continue;
        }
        let steps = || plan.steps.iter().filter(|step| step.partition == partition);
        let copies: Vec<(Option<NodeId>, NodeId)> =
            steps().filter_map(|step| Some((step.copy_from, step.action.copies_to()?))).collect();
        let is_free = copies
            .iter()
            .all(|(from, to)| !receiving.contains(to) && from.is_none_or(|from| !sending.contains(&from)));
        if !is_free || (copies.is_empty() && transfers == TRANSFERS_AT_ONCE) {
            continue;
        }
        transfers += usize::from(copies.is_empty());
        for (from, to) in copies {
            sending.extend(from);
            receiving.insert(to);
        }
        chosen.insert(partition);
    }
    chosen
}
