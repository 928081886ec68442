//! Why a partition or a node is as it is, and why nothing is better: every place that it could have, with what
//! speaks against it. The answer is made from the same cluster and settings as a plan, so it says what the
//! planner sees.

use core::cmp::Reverse;
use core::fmt;
use core::time::Duration;

use crate::balance::horizon;
use crate::cluster::{Cluster, ClusterError};
use crate::ids::{NodeId, PartitionId, ZoneId};
use crate::level::Balance;
use crate::model::Model;
use crate::node::NodeState;
use crate::obstacle::{Demands, Obstacle, obstacle, state_obstacle};
use crate::resource::{Resource, Utilisation};
use crate::settings::Settings;
use crate::trial::{Trial, benefit};
use crate::zones::ZoneLimits;

/// How many partitions of a node are explained.
const HEAVIEST_MAX: usize = 10;

/// What the planner thinks of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It would be made.
    Pays {
        /// By how much the highest utilisation that it changes falls.
        gain: Utilisation,
    },
    /// It would help, and no node is far enough from its part for anything to be moved.
    InBalance {
        /// By how much the highest utilisation that it changes falls.
        gain: Utilisation,
    },
    /// It would help less than it costs.
    CostsTooMuch {
        /// What it is worth: full utilisation of a node saved for so long.
        benefit: Duration,
        /// What it has to be worth.
        needed: Duration,
    },
    /// It lowers no utilisation that is above its part, or raises a higher one.
    NoGain,
    /// An operator pinned the partition.
    Pinned,
    /// It is not possible.
    Impossible(Obstacle),
}

/// A change of leader or of a place that was thought of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// The node that would lead or get the replica.
    pub to: NodeId,
    /// What speaks for and against it.
    pub verdict: Verdict,
}

/// One replica and the other places that it could have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceExplanation {
    /// The node that has it.
    pub node: NodeId,
    /// The zone of that node.
    pub zone: ZoneId,
    /// The state of that node.
    pub state: NodeState,
    /// The resource of which the node uses most, and how much.
    pub most_used: (Resource, Utilisation),
    /// All other nodes.
    pub alternatives: Vec<Alternative>,
}

/// Why a partition is where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionExplanation {
    /// The partition.
    pub partition: PartitionId,
    /// Who leads it.
    pub leader: Option<NodeId>,
    /// Its other voters as leaders.
    pub leaders: Vec<Alternative>,
    /// Its voters.
    pub places: Vec<PlaceExplanation>,
}

/// A partition that uses much of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeavyPartition {
    /// The partition.
    pub partition: PartitionId,
    /// Whether the node leads it.
    pub leads: bool,
    /// How much of the most used resource of the node it uses.
    pub uses: Utilisation,
    /// The best that could be done: a change of leader, or else a move.
    pub best: Option<Alternative>,
}

/// Why a node has what it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeExplanation {
    /// The node.
    pub node: NodeId,
    /// Its state.
    pub state: NodeState,
    /// Whether an operator excluded it.
    pub is_excluded: bool,
    /// How many partitions it leads.
    pub leaders: usize,
    /// Of how many partitions it is a voter.
    pub replicas: usize,
    /// How much it uses of each resource, and the even level.
    pub uses: Vec<(Resource, Utilisation, Utilisation)>,
    /// The resource of which it uses most.
    pub most_used: Resource,
    /// The partitions that use most of that resource.
    pub heaviest: Vec<HeavyPartition>,
}

/// Explains a partition; nothing if it is not in the cluster.
///
/// # Errors
/// [`ClusterError`]: the caller is at fault.
pub fn explain_partition(
    cluster: &Cluster,
    settings: &Settings,
    id: PartitionId,
) -> Result<Option<PartitionExplanation>, ClusterError> {
    cluster.check()?;
    let explainer = Explainer::new(cluster, settings);
    Ok(explainer.model.partition_of(id).map(|partition| explainer.partition(partition)))
}

/// Explains a node; nothing if the cluster does not know it.
///
/// # Errors
/// [`ClusterError`]: the caller is at fault.
pub fn explain_node(
    cluster: &Cluster,
    settings: &Settings,
    id: NodeId,
) -> Result<Option<NodeExplanation>, ClusterError> {
    cluster.check()?;
    let explainer = Explainer::new(cluster, settings);
    Ok(explainer.model.place_of(id).map(|node| explainer.node(node)))
}

struct Explainer<'a> {
    settings: &'a Settings,
    horizon: Duration,
    model: Model,
    zones: ZoneLimits,
    levels: Balance,
    is_out_of_balance: bool,
}

impl<'a> Explainer<'a> {
    fn new(cluster: &Cluster, settings: &'a Settings) -> Self {
        let model = Model::new(cluster, settings);
        let levels = Balance::new(&model, settings);
        Self {
            settings,
            horizon: horizon(settings, cluster.imbalance_lasted),
            zones: ZoneLimits::possible(&model),
            is_out_of_balance: !levels.out_of_balance(&model).is_empty(),
            levels,
            model,
        }
    }

    fn partition(&self, partition: usize) -> PartitionExplanation {
        let of = &self.model.partitions[partition];
        PartitionExplanation {
            partition: of.id,
            leader: of.leader.map(|leader| self.model.nodes[leader].id),
            leaders: self.leaders(partition),
            places: of.voters.iter().map(|voter| self.place(partition, *voter)).collect(),
        }
    }

    /// The other voters as leaders.
    fn leaders(&self, partition: usize) -> Vec<Alternative> {
        let of = &self.model.partitions[partition];
        let Some(from) = of.leader else { return Vec::new() };
        let alternative = |to: usize| {
            let trial = || Trial::transfer(&self.model, partition, from, to);
            let verdict = match state_obstacle(&self.model, to) {
                Some(obstacle) => Verdict::Impossible(obstacle),
                None => self.verdict(partition, trial()),
            };
            Alternative { to: self.model.nodes[to].id, verdict }
        };
        of.voters.iter().copied().filter(|to| *to != from).map(alternative).collect()
    }

    fn place(&self, partition: usize, voter: usize) -> PlaceExplanation {
        let node = &self.model.nodes[voter];
        PlaceExplanation {
            node: node.id,
            zone: node.zone,
            state: node.state,
            most_used: self.most_used(voter),
            alternatives: self.moves(partition, voter),
        }
    }

    /// All other nodes as places of a replica.
    fn moves(&self, partition: usize, from: usize) -> Vec<Alternative> {
        let headroom_percent = self.settings.headroom_percent;
        let demands = Demands { headroom_percent, zones: Some(&self.zones) };
        let alternative = |to: usize| {
            let verdict = match obstacle(&self.model, partition, Some(from), to, demands) {
                Some(obstacle) => Verdict::Impossible(obstacle),
                None => self.verdict(partition, Trial::relocation(&self.model, partition, from, to)),
            };
            Alternative { to: self.model.nodes[to].id, verdict }
        };
        (0..self.model.nodes.len()).filter(|to| *to != from).map(alternative).collect()
    }

    fn verdict(&self, partition: usize, trial: Trial) -> Verdict {
        if self.model.partitions[partition].pinned {
            return Verdict::Pinned;
        }
        let Some(gain) = trial.gain(&self.model, self.levels.aims()) else { return Verdict::NoGain };
        if !self.is_out_of_balance {
            return Verdict::InBalance { gain };
        }
        let benefit = benefit(gain, self.horizon);
        let needed = trial.needed_benefit(&self.model, self.settings);
        if benefit > needed { Verdict::Pays { gain } } else { Verdict::CostsTooMuch { benefit, needed } }
    }

    fn most_used(&self, node: usize) -> (Resource, Utilisation) {
        let node = &self.model.nodes[node];
        let uses = Resource::ALL.map(|resource| (node.utilisation(resource), Reverse(resource)));
        let (utilisation, Reverse(resource)) =
            uses.into_iter().max().unwrap_or((Utilisation(0), Reverse(Resource::Cpu)));
        (resource, utilisation)
    }

    fn node(&self, place: usize) -> NodeExplanation {
        let node = &self.model.nodes[place];
        let (most_used, _) = self.most_used(place);
        let uses =
            |resource: Resource| (resource, node.utilisation(resource), self.model.even[resource.index()]);
        let used_by =
            |partition: &usize| node.utilisation_by(self.model.amounts(*partition, place), most_used);
        let mut heaviest: Vec<usize> = node.votes.iter().copied().collect();
        heaviest.sort_by_key(|partition| Reverse(used_by(partition)));
        heaviest.truncate(HEAVIEST_MAX);
        let heavy = |partition: &usize| HeavyPartition {
            partition: self.model.partitions[*partition].id,
            leads: self.model.partitions[*partition].leader == Some(place),
            uses: used_by(partition),
            best: self.best(*partition, place),
        };
        NodeExplanation {
            node: node.id,
            state: node.state,
            is_excluded: node.is_excluded,
            leaders: node.leads.len(),
            replicas: node.votes.len(),
            uses: Resource::ALL.map(uses).to_vec(),
            most_used,
            heaviest: heaviest.iter().map(heavy).collect(),
        }
    }

    /// The best that could be done with a replica: the first of the best verdicts.
    fn best(&self, partition: usize, node: usize) -> Option<Alternative> {
        let leads = self.model.partitions[partition].leader == Some(node);
        let leaders = if leads { self.leaders(partition) } else { Vec::new() };
        leaders.into_iter().chain(self.moves(partition, node)).min_by_key(|one| rank(&one.verdict))
    }
}

/// Better verdicts first; of equal ones the larger gain.
const fn rank(verdict: &Verdict) -> (u8, Reverse<Utilisation>) {
    let none = Reverse(Utilisation(0));
    match verdict {
        Verdict::Pays { gain } => (0, Reverse(*gain)),
        Verdict::InBalance { gain } => (1, Reverse(*gain)),
        Verdict::CostsTooMuch { .. } => (2, none),
        Verdict::NoGain => (3, none),
        Verdict::Pinned => (4, none),
        Verdict::Impossible(_) => (5, none),
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pays { gain } => write!(f, "it pays: utilisation falls by {gain}"),
            Self::InBalance { gain } => {
                write!(f, "utilisation would fall by {gain}, and the cluster is in balance")
            }
            Self::CostsTooMuch { benefit, needed } => write!(
                f,
                "the benefit of {:.1} s of full utilisation is less than the {:.1} s that are needed",
                benefit.as_secs_f64(),
                needed.as_secs_f64()
            ),
            Self::NoGain => write!(f, "no utilisation above its part would fall"),
            Self::Pinned => write!(f, "the partition is pinned"),
            Self::Impossible(obstacle) => obstacle.fmt(f),
        }
    }
}

impl fmt::Display for Alternative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.to, self.verdict)
    }
}

impl fmt::Display for PartitionExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.leader {
            Some(leader) => writeln!(f, "{} is led by {leader}", self.partition)?,
            None => writeln!(f, "{} has no leader", self.partition)?,
        }
        for alternative in &self.leaders {
            writeln!(f, "  instead {alternative}")?;
        }
        for place in &self.places {
            let (resource, utilisation) = place.most_used;
            writeln!(f, "replica on {} in {}, {resource} {utilisation}", place.node, place.zone)?;
            for alternative in &place.alternatives {
                writeln!(f, "  instead {alternative}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for NodeExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} leads {} partitions and has {} replicas", self.node, self.leaders, self.replicas)?;
        for (resource, used, even) in &self.uses {
            writeln!(f, "  {resource}: {used}, even {even}")?;
        }
        for heavy in &self.heaviest {
            let role = if heavy.leads { "leader" } else { "follower" };
            write!(f, "  {} ({role}): {} of {}", heavy.partition, heavy.uses, self.most_used)?;
            match &heavy.best {
                Some(best) => writeln!(f, "; best alternative {best}")?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }
}
