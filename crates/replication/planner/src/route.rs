//! From where the replicas of a partition are to where a search wants them: the changes between, in an order in
//! which the partition never has fewer replicas than before, and no zone more than it has before or after.
//!
//! A search may move a replica from one node to a second and on to a third. Only the first and the last place
//! matter here.

use std::collections::BTreeSet;

use crate::change::Change;
use crate::decisions::Decisions;
use crate::model::Model;
use crate::reason::Reason;

/// The changes of one partition with their reasons, in their order.
pub(crate) type Route = Vec<(Change, Reason)>;

/// The way of one partition from `before` to `after`.
pub(crate) fn route(before: &Model, after: &Model, partition: usize, decisions: &Decisions) -> Route {
    let (from, to) = (&before.partitions[partition], &after.partitions[partition]);
    if from.voters.is_empty() {
        return first_voters(&to.voters, to.leader);
    }
    let mut way =
        Way { partition, decisions, voters: from.voters.clone(), leader: from.leader, route: Route::new() };
    if let Some(emergency) = decisions.emergency_leaders.get(&partition) {
        way.change(Change::Lead { from: from.leader, to: *emergency }, Reason::LeaderLost);
    }
    let mut removed: Vec<usize> = from.voters.difference(&to.voters).copied().collect();
    // Replicas on nodes that serve count for their zones: they make room there first.
    removed.sort_by_key(|node| before.nodes[*node].state);
    let (promoted, added): (Vec<usize>, Vec<usize>) =
        to.voters.difference(&from.voters).partition(|node| from.learners.contains(node));
    for node in promoted {
        way.add(Change::Promote(node), node);
    }
    way.lead(to.leader);
    let mut pairs = Pairs { removed, added, pairs: Vec::new() };
    pairs.join(|from, to| before.nodes[from].zone == before.nodes[to].zone);
    pairs.join(|old, new| from.leader == Some(old) && to.leader == Some(new));
    pairs.join(|_, _| true);
    let (last, first) = pairs.pairs.iter().partition::<Vec<_>, _>(|pair| way.leader == Some(pair.0));
    way.replace(first);
    for node in pairs.added {
        way.add(Change::Add(node), node);
    }
    way.lead(to.leader);
    way.replace(last);
    way.lead(to.leader);
    let learners = from.learners.difference(&to.learners).filter(|node| !to.voters.contains(node));
    for node in pairs.removed.iter().chain(learners) {
        way.remove(*node);
    }
    way.route
}

fn first_voters(voters: &BTreeSet<usize>, leader: Option<usize>) -> Route {
    let others = voters.iter().copied().filter(|voter| Some(*voter) != leader);
    let ordered: Vec<usize> = leader.into_iter().chain(others).collect();
    if ordered.is_empty() { Route::new() } else { vec![(Change::Place(ordered), Reason::New)] }
}

/// Which removed voter makes room for which added one.
struct Pairs {
    removed: Vec<usize>,
    added: Vec<usize>,
    pairs: Vec<(usize, usize)>,
}

impl Pairs {
    fn join(&mut self, fits: impl Fn(usize, usize) -> bool) {
        let mut unpaired = Vec::new();
        for from in core::mem::take(&mut self.removed) {
            match self.added.iter().position(|to| fits(from, *to)) {
                Some(place) => self.pairs.push((from, self.added.remove(place))),
                None => unpaired.push(from),
            }
        }
        self.removed = unpaired;
    }
}

struct Way<'a> {
    partition: usize,
    decisions: &'a Decisions,
    voters: BTreeSet<usize>,
    leader: Option<usize>,
    route: Route,
}

impl Way<'_> {
    fn change(&mut self, change: Change, reason: Reason) {
        match &change {
            Change::Lead { to, .. } => self.leader = Some(*to),
            Change::Move { from, to, leads } => {
                self.voters.remove(from);
                self.voters.insert(*to);
                if *leads {
                    self.leader = Some(*to);
                }
            }
            Change::Add(node) | Change::Promote(node) => _ = self.voters.insert(*node),
            Change::Remove(node) => _ = self.voters.remove(node),
            Change::Place(_) => {}
        }
        self.route.push((change, reason));
    }

    /// Lets the wanted leader lead, if it is a voter and does not lead yet.
    fn lead(&mut self, wanted: Option<usize>) {
        let Some(to) = wanted.filter(|to| self.leader != wanted && self.voters.contains(to)) else { return };
        let reason = self.decisions.why_lead(self.partition, to);
        let reason = reason.expect("each change of leader was decided");
        self.change(Change::Lead { from: self.leader, to }, reason);
    }

    fn add(&mut self, change: Change, node: usize) {
        let reason = self.decisions.why_add(self.partition, node);
        self.change(change, reason.expect("each new replica was decided"));
    }

    fn replace(&mut self, pairs: Vec<&(usize, usize)>) {
        for (from, to) in pairs {
            let why_add = self.decisions.why_add(self.partition, *to);
            let why_remove = self.decisions.why_remove(self.partition, *from);
            let reason = why_add.into_iter().chain(why_remove).min();
            let change = Change::Move { from: *from, to: *to, leads: self.leader == Some(*from) };
            self.change(change, reason.expect("each move was decided"));
        }
    }

    fn remove(&mut self, node: usize) {
        let reason = self.decisions.why_remove(self.partition, node);
        self.change(Change::Remove(node), reason.expect("each removal was decided"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;
    use crate::node::NodeState;
    use crate::testing::model;

    const REASON: Reason = Reason::Draining(NodeId(0));

    fn changes(before: &Model, decide: impl Fn(&mut Model, &mut Decisions)) -> Vec<Change> {
        let (mut after, mut decisions) = (before.clone(), Decisions::default());
        decide(&mut after, &mut decisions);
        route(before, &after, 0, &decisions).into_iter().map(|(change, _)| change).collect()
    }

    #[test]
    fn route_leaves_out_places_between() {
        let before = model(&[0, 0, 0], &[&[0]]);
        let changes = changes(&before, |model, decisions| {
            decisions.replace(model, 0, (0, 1), REASON);
            decisions.replace(model, 0, (1, 2), REASON);
        });
        assert_eq!(changes, [Change::Move { from: 0, to: 2, leads: true }]);
    }

    #[test]
    fn route_there_and_back_is_empty() {
        let before = model(&[0, 0], &[&[0]]);
        let changes = changes(&before, |model, decisions| {
            decisions.replace(model, 0, (0, 1), REASON);
            decisions.replace(model, 0, (1, 0), REASON);
        });
        assert_eq!(changes, []);
    }

    #[test]
    fn route_moves_inside_zones_and_moves_the_leader_last() {
        let before = model(&[0, 1, 1, 0], &[&[0, 1]]);
        let changes = changes(&before, |model, decisions| {
            decisions.replace(model, 0, (0, 2), REASON);
            decisions.replace(model, 0, (1, 3), REASON);
        });
        let expected = [
            Change::Move { from: 1, to: 2, leads: false },
            Change::Lead { from: Some(0), to: 2 },
            Change::Move { from: 0, to: 3, leads: false },
        ];
        assert_eq!(changes, expected);
    }

    #[test]
    fn route_makes_room_in_a_zone_by_replicas_that_count_for_it() {
        let mut before = model(&[0, 0, 0, 1, 2], &[&[4, 0, 1]]);
        before.nodes[0].state = NodeState::Draining;
        let changes = changes(&before, |model, decisions| {
            decisions.replace(model, 0, (0, 2), REASON);
            decisions.replace(model, 0, (1, 3), REASON);
        });
        let replaced = |from, to| Change::Move { from, to, leads: false };
        assert_eq!(changes, [replaced(1, 2), replaced(0, 3)]);
    }

    #[test]
    fn route_adds_before_it_removes() {
        let before = model(&[0, 0, 0], &[&[0, 1]]);
        let changes = changes(&before, |model, decisions| {
            decisions.remove(model, 0, 1, REASON);
            decisions.add(model, 0, 2, REASON);
            decisions.remove(model, 0, 0, REASON);
            decisions.lead(model, 0, 2, REASON);
        });
        assert_eq!(changes, [Change::Move { from: 0, to: 2, leads: true }, Change::Remove(1)]);
    }
}
