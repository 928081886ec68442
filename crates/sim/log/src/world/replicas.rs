//! What holds between the replicas of a partition, seen from above. Sampled: an epoch has one leader (L23), and what a leader shows as
//! committed is on the disks of enough voters (L30). At rest: nothing that was moved is on its way still (L72), each voter has
//! everything (L36), and all have the same records (L9). And what brokers tell their operators of their own accord.

use std::collections::BTreeMap;

use log_broker::Notice;
use log_metadata::{PartitionNode, TopicNode, paths};
use log_partition::PartitionId;

use super::LogWorld;
use crate::broker::{CopiedRecord, CopyState, Lead, Machine, Process};

/// How often it is looked, milliseconds.
const WATCH_MS: u64 = 25;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Watched {
    due_ms: u64,
    /// The newest epoch of each partition that somebody was seen to lead in.
    newest: BTreeMap<PartitionId, u32>,
    /// The broker that leads in an epoch.
    leaders: BTreeMap<(PartitionId, u32), i32>,
    /// By the places of brokers: the number of its process, and where the copy began and ended.
    copies: BTreeMap<(usize, PartitionId), (u64, i64, i64)>,
}

/// The copies of a broker, with its number and that of its process.
type Copies = (i32, u64, Vec<CopyState>);
/// The number of a broker, and what its copy of a partition has.
type Copied = (i32, BTreeMap<i64, CopiedRecord>);

impl LogWorld {
    pub(super) fn watch_replicas(&mut self) {
        let now_ms = self.sim.now_ms();
        if now_ms < self.watched.due_ms {
            return;
        }
        self.watched.due_ms = now_ms + WATCH_MS;
        let all = self.all_copies();
        for (at, (_, incarnation, copies)) in all.iter().enumerate() {
            copies.iter().for_each(|copy| self.watch_copy(at, *incarnation, copy));
        }
        for (broker, _, copies) in &all {
            copies.iter().for_each(|copy| self.watch_leader(*broker, copy, &all));
        }
    }

    fn all_copies(&self) -> Vec<Copies> {
        let copies_of = |machine: &Machine| {
            let process = machine.process.as_ref();
            let incarnation = process.map_or(0, Process::incarnation);
            (machine.node_id(), incarnation, process.map(Process::copies).unwrap_or_default())
        };
        self.brokers.iter().map(copies_of).collect()
    }

    /// Counts what rarely happens to a copy.
    fn watch_copy(&mut self, at: usize, incarnation: u64, copy: &CopyState) {
        let now = (incarnation, copy.start, copy.end);
        let Some((process, _, end)) = self.watched.copies.insert((at, copy.id), now) else { return };
        let is_same = process == incarnation;
        self.sim.count("replica begun anew", u64::from(is_same && copy.start > end));
        self.sim.count("end of a replica cut off", u64::from(is_same && copy.end < end));
    }

    fn watch_leader(&mut self, broker: i32, copy: &CopyState, all: &[Copies]) {
        let Some(lead) = &copy.leads else { return };
        let (id, epoch) = (copy.id, lead.epoch);
        let newest = self.watched.newest.entry(id).or_insert(epoch);
        let before = std::mem::replace(newest, epoch.max(*newest));
        if before > epoch {
            return self.sim.count("leader of an earlier epoch", 1);
        }
        let led_before = self.watched.leaders.get(&(id, before)).copied();
        let leader = *self.watched.leaders.entry((id, epoch)).or_insert(broker);
        self.history.judge(23);
        if leader != broker {
            self.history.wrong(23, format!("{leader} and {broker} lead {id:?} in epoch {epoch}"));
        }
        if before < epoch {
            let is_other = led_before.is_some_and(|led_before| led_before != broker);
            self.sim.count(if is_other { "another leader" } else { "leader with other replicas" }, 1);
        }
        self.judge_committed(broker, copy, all);
    }

    fn judge_committed(&mut self, broker: i32, copy: &CopyState, all: &[Copies]) {
        let Some(Lead { epoch, voters, durable_on }) = &copy.leads else { return };
        let (id, committed) = (copy.id, copy.committed);
        let lacks = |voter: &&i32| {
            let mut of_it =
                all.iter().filter(|(other, _, _)| *other == **voter).flat_map(|(_, _, copies)| copies);
            of_it.any(|other| other.id == id && other.durable < committed)
        };
        let lacking: Vec<i32> = voters.iter().filter(lacks).copied().collect();
        self.history.judge(30);
        self.sim.count("voter that lags", lacking.len() as u64);
        // Of an earlier configuration than the council's, replicas may have gone on.
        if lacking.len() > voters.len() - durable_on && self.is_in_force(id, (broker, *epoch)) {
            let what = format!("{id:?} is committed to {committed} on {durable_on} of {voters:?}");
            self.history.wrong(30, format!("{what}, and {lacking:?} lack it"));
        }
    }

    /// Whether the council says that this broker leads in that epoch, and wants nothing else.
    fn is_in_force(&self, id: PartitionId, (broker, epoch): (i32, u32)) -> bool {
        let is_so = |(of, partition): &(PartitionId, PartitionNode)| {
            *of == id && partition.leader == broker && partition.epoch.0 == epoch.cast_signed()
        };
        self.all_partitions().iter().any(|of| is_so(of) && of.1.rest.goal.is_none())
    }

    /// All partitions, by their ids, as the council says.
    fn all_partitions(&self) -> Vec<(PartitionId, PartitionNode)> {
        let mut all = Vec::new();
        for (_, data) in self.council.children(paths::TOPICS) {
            let Ok(node) = TopicNode::read(data) else { continue };
            let topic = node.id;
            all.extend((0..).zip(node.partitions).map(|(index, of)| (PartitionId { topic, index }, of)));
        }
        all
    }

    pub(super) fn are_replicas_at_rest(&self) -> bool {
        self.brokers.len() == 1 || self.unequal_replicas().is_empty()
    }

    /// Partitions that are being moved, have no leader, or of which a voter lacks something, in words (L36, L72).
    pub(super) fn unequal_replicas(&self) -> Vec<String> {
        if self.brokers.len() == 1 {
            return Vec::new();
        }
        let all = self.all_copies();
        let mut unequal = Vec::new();
        for (id, partition) in self.all_partitions() {
            let state = |of: i32| {
                let copies = all.iter().find(|(broker, _, _)| *broker == of).map(|(_, _, copies)| copies);
                copies?.iter().find(|copy| copy.id == id)
            };
            let leader = state(partition.leader).filter(|copy| copy.leads.is_some());
            let is_equal = |of: &i32| {
                let ends = state(*of).map(|copy| (copy.end, copy.durable));
                ends.is_some() && ends == leader.map(|leader| (leader.committed, leader.committed))
            };
            let voters = partition.replicas.iter().filter(|of| !partition.rest.learners.contains(of));
            if leader.is_none() || partition.rest.goal.is_some() || !voters.clone().all(is_equal) {
                let copies: Vec<_> = partition.replicas.iter().map(|of| state(*of)).collect();
                unequal.push(format!("the replicas of {id:?} are not at rest: {partition:?}, {copies:?}"));
            }
        }
        unequal
    }

    /// L9: replicas that are at rest have the same at each offset. Compaction takes what it takes at each replica in its own time.
    pub(super) fn judge_replicas(&mut self) {
        if self.brokers.len() == 1 {
            return;
        }
        for (id, _) in self.all_partitions() {
            let of_clients = self.topics.ids.values().any(|topic| *topic == id.topic);
            let is_whole = of_clients && !self.topics.is_compacted(&id.topic);
            let records = |machine: &Machine| machine.process.as_ref()?.copied_records(id);
            let copies: Vec<_> =
                self.brokers.iter().filter_map(|of| Some((of.node_id(), records(of)?))).collect();
            for two in copies.windows(2) {
                self.judge_two(id, (&two[0], &two[1]), is_whole);
            }
        }
    }

    fn judge_two(&mut self, id: PartitionId, (one, other): (&Copied, &Copied), is_whole: bool) {
        let bounds = |(_, records): &Copied| Some((*records.keys().next()?, *records.keys().next_back()?));
        let (Some(first), Some(second)) = (bounds(one), bounds(other)) else { return };
        for offset in first.0.max(second.0)..=first.1.min(second.1) {
            let (here, there) = (one.1.get(&offset), other.1.get(&offset));
            self.history.judge(9);
            let may_miss = !is_whole && (here.is_none() || there.is_none());
            if here != there && !may_miss {
                let brokers = (one.0, other.0);
                self.history
                    .wrong(9, format!("{brokers:?} differ at {offset} of {id:?}: {here:?}, {there:?}"));
            }
        }
    }

    /// A broker tells its operator something.
    pub(super) fn noticed(&mut self, at: usize, notice: &Notice) {
        let what = match notice {
            Notice::NotSent(_) => "log not read for a follower",
            Notice::NotHandedOver(..) => "partition not handed over",
            Notice::NotCompacted(..) => "pass of compaction ended early",
            Notice::Balanced { before, after, .. } if has_same(before, after) => "leaders balanced",
            Notice::Balanced { .. } => "replicas balanced",
            Notice::MayHaveLost { .. } => {
                return self.history.wrong(35, format!("broker {}: {notice:?}", at + 1));
            }
            Notice::Damaged(..) | Notice::BadTopic(..) | Notice::BadAccess(_) | Notice::BadConfigs(..) => {
                return self.history.wrong(78, format!("broker {}: {notice:?}", at + 1));
            }
            _ => return,
        };
        self.sim.tell(what, format_args!("broker {}: {notice:?}", at + 1));
    }
}

/// Whether the replicas of a partition are the same in another order.
fn has_same(before: &[i32], after: &[i32]) -> bool {
    before.len() == after.len() && before.iter().all(|of| after.contains(of))
}
