//! `unclean.leader.election.enable`: a partition that waits for its replicas for a while goes on with those that are left. Records
//! may be lost by that; whoever leads then says so ([`crate::notice::Notice::MayHaveLost`]).

use std::collections::{BTreeMap, BTreeSet};

use base::{MonoTime, Now};
use replication_controller::{Act, ActKind, Event, PartitionId, Waits};

use super::Replication;
use crate::node::Node;

/// For how long a partition waits for its replicas, milliseconds: a process that starts again takes less.
const WAIT_MS: u64 = 10_000;
/// How often it is looked at, milliseconds.
const LOOK_MS: u64 = 1_000;

/// Partitions that wait for replicas and need not, each with the time since when it does.
#[derive(Debug, Default)]
pub(super) struct Unclean {
    waiting: BTreeMap<PartitionId, MonoTime>,
    look_at: MonoTime,
}

impl Replication {
    /// The controller looks at partitions of topics that permit a loss.
    pub(super) fn elect_unclean(&mut self, node: &Node, now: Now) {
        if self.unclean.look_at > now.mono() {
            return;
        }
        self.unclean.look_at = now.mono().plus_ms(LOOK_MS);
        let permitting = node.catalog.topics().filter(|topic| topic.config.unclean_leader_election);
        let permitting: BTreeSet<[u8; 16]> = permitting.map(|topic| topic.id).collect();
        // Who is no controller knows of none.
        let status = (!permitting.is_empty()).then(|| self.role.status()).flatten();
        let partitions = status.map(|status| status.partitions).unwrap_or_default();
        let stuck = partitions
            .into_iter()
            .filter(|(id, waits)| permitting.contains(&id.group) && matches!(waits, Waits::Voters { .. }));
        let before = std::mem::take(&mut self.unclean.waiting);
        let since = |id: PartitionId| (id, before.get(&id).copied().unwrap_or(now.mono()));
        self.unclean.waiting = stuck.map(|(id, _)| since(id)).collect();
        let is_late = |(_, since): &(&PartitionId, &MonoTime)| now.mono().since(**since) >= WAIT_MS;
        let late = self.unclean.waiting.iter().filter(is_late);
        let acts: Vec<Act> =
            late.map(|(id, _)| Act { partition: *id, kind: ActKind::RecoverWithLoss }).collect();
        if !acts.is_empty() {
            self.role.hear(Event::Acts { node: self.own, acts }, now);
        }
    }
}
