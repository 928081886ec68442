//! A node with copies that have no entries, and a disk that does what it is told.

use std::collections::{BTreeMap, BTreeSet};

use base::MonoTime;
use replication_appointed::{
    Appended, Config, Durable, Epoch, Fence, LeadError, LogShape, Position, Refused, Replica, ReplicaId,
    Round, Seq, Voters,
};
use replication_controller::{
    Effect as Order, Event, FenceAnswer, FenceRequest, Incarnation, Known, PartitionId, Promise, Record,
    Report, Task, Version, Work,
};
use replication_node::{Admission, ControllerId, Copies, Effect, Input, LogCopy, Node, Reply, Settings};

pub(crate) const OWN: ReplicaId = ReplicaId(1);
pub(crate) const OTHER: ReplicaId = ReplicaId(2);
pub(crate) const P: PartitionId = PartitionId::numbered(7);
pub(crate) const C: ControllerId = ControllerId(1);

pub(crate) struct Copy {
    pub(crate) replica: Replica,
    /// Promises and beginnings of epochs that were given to the disk.
    pub(crate) persists: usize,
}

#[derive(Default)]
pub(crate) struct All(pub(crate) BTreeMap<PartitionId, Copy>);

impl Copies for All {
    type Copy<'a> = &'a mut Copy;

    fn copy(&mut self, partition: PartitionId) -> Option<&mut Copy> {
        self.0.get_mut(&partition)
    }
}

impl LogCopy for Copy {
    fn replica(&self) -> &Replica {
        &self.replica
    }

    fn fence(&mut self, epoch: Epoch) -> Result<(), Refused> {
        match self.replica.fence(epoch) {
            Fence::Refused(refused) => Err(refused),
            Fence::Persist(_) => {
                self.persists += 1;
                Ok(())
            }
        }
    }

    fn lead(&mut self, own: ReplicaId, config: &Config) -> Result<(), LeadError> {
        self.persists += 1;
        self.replica.lead(own, config.clone()).map(drop)
    }

    fn apply(&mut self, input: Input) {
        input.apply_to(&mut self.replica);
    }

    fn take_answer(&mut self) -> Option<(ReplicaId, Appended)> {
        self.replica.take_answer()
    }
}

/// A node whose effects are looked at.
pub(crate) struct Bench {
    pub(crate) node: Node,
    pub(crate) copies: All,
    pub(crate) now: MonoTime,
}

impl Bench {
    /// A node that a controller is connected to.
    pub(crate) fn new() -> Self {
        Self::with(Settings::default())
    }

    pub(crate) fn with(settings: Settings) -> Self {
        let mut node = Node::new(OWN, Incarnation(1), settings);
        node.connected(C);
        node.take_effects();
        Self { node, copies: All::default(), now: MonoTime::of_ms(1_000) }
    }

    /// The node has a copy for that record, and the disk is done.
    pub(crate) fn assigned(record: Record) -> Self {
        let mut bench = Self::new();
        let known = known(1, record);
        bench.node.learn(known, bench.now, &mut bench.copies);
        bench.create();
        bench.disk();
        bench
    }

    /// A leader of epoch 1 over three voters, each entry on two, that is established.
    pub(crate) fn leading() -> Self {
        let mut bench = Self::assigned(record(1, 1, &[1, 2, 3]));
        bench.acknowledge(2, 0);
        bench.acknowledge(3, 0);
        bench
    }

    pub(crate) fn learn(&mut self, version: u64, record: Record) -> Vec<Effect> {
        self.node.learn(known(version, record), self.now, &mut self.copies);
        self.effects()
    }

    /// Makes the copies that the node wants; the effects of that, and those that it had already.
    pub(crate) fn create(&mut self) -> Vec<Effect> {
        let mut effects = self.effects();
        for effect in effects.clone() {
            if let Effect::Create { partition, promised } = effect {
                effects.extend(self.created(partition, promised));
            }
        }
        effects
    }

    pub(crate) fn created(&mut self, partition: PartitionId, promised: Epoch) -> Vec<Effect> {
        let log = LogShape::empty(Position::default());
        let replica = Replica::restore(Durable { promised, log, committed: Seq(0) });
        self.copies.0.insert(partition, Copy { replica, persists: 0 });
        self.node.created(partition, promised, self.now, &mut self.copies);
        self.effects()
    }

    /// Everything that was given to disks is durable.
    pub(crate) fn disk(&mut self) -> Vec<Effect> {
        let all: Vec<PartitionId> = self.copies.0.keys().copied().collect();
        for partition in all {
            if let Some(copy) = self.copies.0.get_mut(&partition) {
                let last = copy.replica.last_persist();
                copy.replica.persisted(last);
            }
            self.node.follow_up(partition, self.now, &mut self.copies);
        }
        self.effects()
    }

    /// A leader appends so many entries, and its disk has them.
    pub(crate) fn append(&mut self, count: u64) -> Vec<Effect> {
        let replica = &mut self.copy().replica;
        let id = replica.appended(Seq(replica.log().end().0 + count));
        replica.persisted(id);
        self.node.follow_up(P, self.now, &mut self.copies);
        self.effects()
    }

    /// That follower is sent all, and says that it has so much.
    pub(crate) fn acknowledge(&mut self, follower: u32, durable: u64) -> Vec<Effect> {
        let (follower, end) = (ReplicaId(follower), self.copy().replica.log().end());
        let replica = &mut self.copy().replica;
        if let Some(append) = replica.next_append(follower) {
            let append = replica.with_entries(append.clone(), append.after.end..end);
            replica.sent(follower, &append);
        }
        let epoch = replica.promised();
        self.reply(
            follower,
            Reply::Appended(Appended { epoch, durable: Seq(durable), start: Seq(0), round: Round(0) }),
        )
    }

    pub(crate) fn reply(&mut self, from: ReplicaId, reply: Reply) -> Vec<Effect> {
        self.node.answered(P, from, reply, self.now, &mut self.copies);
        self.effects()
    }

    pub(crate) fn admit(&mut self, from: ReplicaId, epoch: u32) -> Admission {
        self.node.admit(P, from, Epoch(epoch), self.now)
    }

    pub(crate) fn order(&mut self, from: ControllerId, order: Order) -> Vec<Effect> {
        self.node.handle(from, order, self.now, &mut self.copies);
        self.effects()
    }

    pub(crate) fn fence(&mut self, from: ControllerId, epoch: u32) -> Vec<Effect> {
        let fences = vec![FenceRequest { partition: P, epoch: Epoch(epoch) }];
        self.order(from, Order::SendFence { node: OWN, fences })
    }

    pub(crate) fn tell(&mut self, version: u64, record: Record) -> Vec<Effect> {
        self.order(C, Order::Tell { node: OWN, known: vec![known(version, record)] })
    }

    pub(crate) fn ask(&mut self, epoch: u32, work: Work) -> Vec<Effect> {
        let tasks = vec![Task { partition: P, epoch: Epoch(epoch), work }];
        self.order(C, Order::Ask { node: OWN, tasks })
    }

    /// Time passes, with a tick if one is due.
    pub(crate) fn pass(&mut self, ms: u64) -> Vec<Effect> {
        self.now = self.now.plus_ms(ms);
        if self.node.next_deadline().is_some_and(|at| at <= self.now) {
            self.node.tick(self.now, &mut self.copies);
        }
        self.effects()
    }

    pub(crate) fn effects(&mut self) -> Vec<Effect> {
        self.node.take_effects()
    }

    pub(crate) fn copy(&mut self) -> &mut Copy {
        self.copies.0.get_mut(&P).expect("the node has a copy")
    }
}

pub(crate) fn known(version: u64, record: Record) -> Known {
    Known { partition: P, version: Version(version), record }
}

/// A record of a chosen leader, with each entry on two of the voters, or on the only one.
pub(crate) fn record(epoch: u32, leader: u32, voters: &[u32]) -> Record {
    let count = voters.len().min(2);
    let voters = Voters::new(voters.iter().copied().map(ReplicaId), count).expect("voters");
    let (epoch, leader, learners) = (Epoch(epoch), ReplicaId(leader), BTreeSet::new());
    Record::new(Config { epoch, leader, voters, learners, chosen: true })
}

/// The same leader goes on with other voters.
pub(crate) fn goes_on(epoch: u32, voters: &[u32]) -> Record {
    let record = record(epoch, 1, voters);
    Record { config: Config { chosen: false, ..record.config.clone() }, ..record }
}

pub(crate) fn promises(effects: &[Effect]) -> Vec<(ControllerId, u32, Promise)> {
    let mut all = Vec::new();
    for effect in effects {
        if let Effect::Inform { controller, event: Event::Promised { answers, .. } } = effect {
            all.extend(
                answers.iter().map(|FenceAnswer { epoch, promise, .. }| (*controller, epoch.0, *promise)),
            );
        }
    }
    all
}

pub(crate) fn given(epoch: u32, end: u64) -> Promise {
    Promise::Given(Position { epoch: Epoch(epoch), end: Seq(end) })
}

pub(crate) fn reports(effects: &[Effect]) -> Vec<(ControllerId, Report)> {
    let mut all = Vec::new();
    for effect in effects {
        if let Effect::Inform { controller, event: Event::Reported { reports, .. } } = effect {
            all.extend(reports.iter().map(|report| (*controller, *report)));
        }
    }
    all
}

pub(crate) fn reads(effects: &[Effect]) -> Vec<PartitionId> {
    let read = |effect: &Effect| match effect {
        Effect::Read { partitions } => partitions.clone(),
        _ => Vec::new(),
    };
    effects.iter().flat_map(read).collect()
}
