//! Which nodes are alive, as far as the controller was told.

use std::collections::BTreeMap;

use base::MonoTime;
use replication_appointed::ReplicaId;

use crate::ids::Incarnation;

/// What is thought of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It was not heard of yet.
    Expected,
    Alive,
    Suspected,
    Gone,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) standing: Standing,
    pub(crate) incarnation: Option<Incarnation>,
    pub(crate) heard: MonoTime,
    pub(crate) alive_since: MonoTime,
    pub(crate) drains: bool,
}

/// What an announcement means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Announced {
    /// It is older than what is known.
    Stale,
    /// The process is the one that is known, or the first.
    Same,
    /// The process is a new one.
    Restarted,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    nodes: BTreeMap<ReplicaId, Node>,
}

impl Nodes {
    /// The node is to be heard of from now on; whether that is new.
    pub(crate) fn expect(&mut self, id: ReplicaId, now: MonoTime) -> bool {
        let is_new = !self.nodes.contains_key(&id);
        self.nodes.entry(id).or_insert(Node {
            standing: Standing::Expected,
            incarnation: None,
            heard: now,
            alive_since: now,
            drains: false,
        });
        is_new
    }

    /// The node is alive; whether that is new.
    pub(crate) fn heard(&mut self, id: ReplicaId, now: MonoTime) -> bool {
        let Some(node) = self.nodes.get_mut(&id) else { return false };
        if node.standing == Standing::Gone {
            return false;
        }
        node.heard = now;
        let is_new = node.standing != Standing::Alive;
        if is_new {
            (node.standing, node.alive_since) = (Standing::Alive, now);
        }
        is_new
    }

    pub(crate) fn announced(
        &mut self,
        id: ReplicaId,
        incarnation: Incarnation,
        now: MonoTime,
    ) -> (Announced, bool) {
        let Some(node) = self.nodes.get_mut(&id) else { return (Announced::Stale, false) };
        let before = node.incarnation;
        if before.is_some_and(|known| known > incarnation) {
            return (Announced::Stale, false);
        }
        node.incarnation = Some(incarnation);
        if node.standing == Standing::Gone {
            node.standing = Standing::Suspected;
        }
        let is_restart = before.is_some_and(|known| known < incarnation);
        let means = if is_restart { Announced::Restarted } else { Announced::Same };
        (means, self.heard(id, now))
    }

    /// Whether that changes anything.
    pub(crate) fn suspect(&mut self, id: ReplicaId, standing: Standing) -> bool {
        let Some(node) = self.nodes.get_mut(&id) else { return false };
        if node.standing == standing || node.standing == Standing::Gone {
            return false;
        }
        node.standing = standing;
        true
    }

    pub(crate) fn drain(&mut self, id: ReplicaId, drains: bool) {
        if let Some(node) = self.nodes.get_mut(&id) {
            node.drains = drains;
        }
    }

    pub(crate) fn forget(&mut self, id: ReplicaId) {
        self.nodes.remove(&id);
    }

    pub(crate) fn node(&self, id: ReplicaId) -> Option<&Node> {
        self.nodes.get(&id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ReplicaId, &Node)> {
        self.nodes.iter().map(|(id, node)| (*id, node))
    }

    pub(crate) fn is_alive(&self, id: ReplicaId) -> bool {
        self.nodes.get(&id).is_some_and(|node| node.standing == Standing::Alive)
    }

    /// Whether the node is thought to be dead; one that is expected is not, yet.
    pub(crate) fn is_suspected(&self, id: ReplicaId) -> bool {
        let standing = self.nodes.get(&id).map(|node| node.standing);
        matches!(standing, Some(Standing::Suspected | Standing::Gone))
    }

    /// Whether the node may get something to lead.
    pub(crate) fn may_lead(&self, id: ReplicaId) -> bool {
        self.is_alive(id) && self.nodes.get(&id).is_some_and(|node| !node.drains)
    }

    pub(crate) fn drains(&self, id: ReplicaId) -> bool {
        self.nodes.get(&id).is_some_and(|node| node.drains)
    }
}
