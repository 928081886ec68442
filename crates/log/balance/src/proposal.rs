//! What is proposed, and what it comes to.

use replication_planner::{Action, Plan, Reason, Resource, ResourceSummary, Utilisation};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposal {
    /// In the order in which they are to begin.
    pub changes: Vec<Change>,
    /// How each resource is used, now and after all changes.
    pub levels: Vec<Level>,
    /// What cannot be done, in words.
    pub problems: Vec<String>,
    /// A limit has ended the search: the next proposal goes on.
    pub is_limited: bool,
}

/// Other replicas, or another leader, of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its topic.
    pub topic: String,
    /// Its number in the topic.
    pub index: i32,
    /// Its replicas now.
    pub before: Vec<i32>,
    /// Its replicas then; the first one is to lead.
    pub after: Vec<i32>,
    /// Whether another broker is to lead than does now.
    pub moves_leader: bool,
    /// Why, in words; one for each step.
    pub reasons: Vec<String>,
    /// Bytes that are copied.
    pub copy_bytes: u64,
    /// All changes of the stages before have to have ended.
    pub stage: u32,
}

/// How a resource is used. Numbers are percentages of what brokers have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The resource.
    pub resource: Resource,
    /// Who uses most of it.
    pub most_used: Option<i32>,
    /// How much that is.
    pub highest: Utilisation,
    /// How much each broker would use if nothing was to be improved.
    pub even: Utilisation,
    /// The highest after all changes.
    pub highest_after: Utilisation,
}

impl Change {
    /// Whether it gets a replica on another broker, which copies what it keeps.
    #[must_use]
    pub fn is_move(&self) -> bool {
        self.after.iter().any(|broker| !self.before.contains(broker))
    }
}

impl Proposal {
    /// Bytes that all changes copy.
    #[must_use]
    pub fn copy_bytes(&self) -> u64 {
        self.changes.iter().map(|change| change.copy_bytes).sum()
    }

    /// How many changes copy nothing: only the leader is another one.
    #[must_use]
    pub fn transfers(&self) -> usize {
        self.changes.iter().filter(|change| change.copy_bytes == 0).count()
    }
}

pub(crate) fn levels(plan: &Plan) -> Vec<Level> {
    let both = plan.before.resources.iter().zip(&plan.after.resources);
    let level = |(before, after): (&ResourceSummary, &ResourceSummary)| Level {
        resource: before.resource,
        most_used: before.most_used.map(|node| node.0.cast_signed()),
        highest: before.highest,
        even: before.even,
        highest_after: after.highest,
    };
    both.map(level).collect()
}

/// Why a step is planned.
pub(crate) fn reason(action: &Action, reason: &Reason) -> String {
    let Reason::Balance { resource, before, after, .. } = reason else {
        return reason.to_string().replace("node", "broker").replace("zone", "rack");
    };
    let relieved = match action {
        Action::TransferLeadership { from, .. } => *from,
        Action::MoveReplica { from, .. } | Action::RemoveReplica { from } => Some(*from),
        Action::Place { .. } | Action::AddReplica { .. } | Action::PromoteLearner { .. } => None,
    };
    let of = relieved.map_or_else(|| String::from("a broker"), |node| format!("broker {}", node.0));
    format!("{resource} of {of}: {before} -> {after}")
}
