//! What nodes do, and what that means for their partitions.

use base::MonoTime;
use replication_appointed::{Epoch, ReplicaId};

use crate::controller::Controller;
use crate::deadlines::Deadline;
use crate::ids::{Incarnation, PartitionId};
use crate::nodes::{Announced, Standing};

impl Controller {
    /// Looks at one partition.
    pub(crate) fn judge(&mut self, id: PartitionId) {
        let Some(partition) = self.partitions.get(&id) else { return };
        if partition.is_reading {
            return;
        }
        if partition.edit.is_some() {
            self.outbox.ready.insert(id);
        }
        if partition.needs_leader(&self.nodes) {
            self.appoint(id);
        } else {
            self.settle(id);
        }
    }

    pub(crate) fn announced(&mut self, node: ReplicaId, incarnation: Incarnation) {
        self.expect(node);
        let (means, is_new) = self.nodes.announced(node, incarnation, self.now);
        match means {
            Announced::Stale => return,
            Announced::Same => {}
            Announced::Restarted => self.depose(node),
        }
        if is_new {
            self.begin_silence(node);
        }
        self.reconnected(node);
    }

    pub(crate) fn heard(&mut self, node: ReplicaId) {
        self.expect(node);
        if self.nodes.heard(node, self.now) {
            self.begin_silence(node);
            self.reconnected(node);
        }
    }

    pub(crate) fn broken(&mut self, node: ReplicaId) {
        self.expect(node);
        if self.nodes.suspect(node, Standing::Suspected) {
            self.look_at_all_of(node);
        }
    }

    pub(crate) fn gone(&mut self, node: ReplicaId) {
        self.expect(node);
        if self.nodes.suspect(node, Standing::Gone) {
            self.deadlines.clear(Deadline::Silence(node));
            self.look_at_all_of(node);
        }
        self.forget_if_unnamed(node);
    }

    /// A node that is gone, and that no record names, is nothing to remember.
    pub(crate) fn forget_if_unnamed(&mut self, node: ReplicaId) {
        let is_gone = self.nodes.node(node).is_some_and(|known| known.standing == Standing::Gone);
        if is_gone && !self.of_node.contains_key(&node) {
            self.nodes.forget(node);
        }
    }

    pub(crate) fn draining(&mut self, node: ReplicaId, drains: bool) {
        self.expect(node);
        self.nodes.drain(node, drains);
        self.look_at_all_of(node);
    }

    /// It was to be looked at the node at the time `due`. A controller that is told the time much later did not run meanwhile: it
    /// may not have been told of what came either, and the others may not have run. Then the silence begins anew.
    pub(crate) fn silent(&mut self, node: ReplicaId, due: MonoTime) {
        let Some(known) = self.nodes.node(node) else { return };
        let silence_ms = match known.standing {
            Standing::Expected => self.settings.greeting_ms,
            Standing::Alive => self.settings.silence_ms,
            Standing::Suspected | Standing::Gone => return,
        };
        let is_late = self.now.since(due) >= self.settings.late_ms;
        let since = if is_late { self.now } else { known.heard };
        let end = since.plus_ms(silence_ms);
        if end > self.now {
            self.deadlines.set(Deadline::Silence(node), end);
        } else {
            self.broken(node);
        }
    }

    /// The node is one that should be heard of.
    pub(crate) fn expect(&mut self, node: ReplicaId) {
        if self.nodes.expect(node, self.now) {
            self.deadlines.set(Deadline::Silence(node), self.now.plus_ms(self.settings.greeting_ms));
        }
    }

    fn begin_silence(&mut self, node: ReplicaId) {
        self.deadlines.set(Deadline::Silence(node), self.now.plus_ms(self.settings.silence_ms));
        if let Some(after_ms) = self.settings.preferred_after_ms
            && self.misplaced.contains_key(&node)
        {
            self.deadlines.set(Deadline::Preferred(node), self.now.plus_ms(after_ms));
        }
    }

    /// What was sent to the node, and what it said of its leading, belongs to the connection before.
    fn reconnected(&mut self, node: ReplicaId) {
        self.outbox.send_again(node);
        for id in self.of_node.get(&node).into_iter().flatten() {
            if let Some(partition) = self.partitions.get_mut(id)
                && partition.record.config.leader == node
            {
                partition.confirmed = Epoch::NONE;
            }
        }
        self.look_at_all_of(node);
    }

    /// The process of the node is a new one: it leads nothing that the one before led.
    fn depose(&mut self, node: ReplicaId) {
        for id in self.of_node.get(&node).into_iter().flatten() {
            if let Some(partition) = self.partitions.get_mut(id)
                && partition.record.config.leader == node
            {
                partition.deposed = partition.record.config.epoch;
            }
        }
    }
}
