//! A process of a broker: it joins its cluster, and serves then. Between any two of its steps anything else may happen.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use base::Now;
use council_client_core::recipes::{Ask, Input, Recipe as _};
use council_client_core::{Acl, Output};
use log_broker::{Broker, BrokerConfig, DiskExecutor, Front, Next, Notice};
use log_metadata::{BrokerNode, EndpointNode, Join, JoinRefusal, JoinStep, Keeper, KeeperLimits, id_text};
use log_partition::PartitionId;
use log_storage::StoreConfig;
use sim_kit::Host;
use sim_kit::random::Random;
use storage_wal::OpenError;

use super::compaction::Compaction;
use super::copy::{CopiedRecord, CopyState, copied_records, copy_in_words, copy_states};
use super::peers::PeerPort;
use super::shard::{Disk, Mail, Shard, Shared};
use crate::council::{Council, CouncilClient, WATCHER};
use crate::wire::{WireId, Wires};

/// What a process does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A shard makes a turn.
    Shard(u16),
    /// The disk's thread does.
    Disk,
    /// The client of the council does, with the keeper.
    Council,
}

/// Why a process has ended by itself.
pub(crate) enum Ended {
    /// Its disk has failed.
    Fault(String),
    /// It must not, or cannot start.
    Refused(String),
    /// Its number is that of another directory.
    OtherDirectory,
}

/// See the module.
pub(crate) struct Process {
    config: BrokerConfig,
    store: StoreConfig,
    shards: u16,
    has_others: bool,
    client: CouncilClient,
    keeper: Keeper,
    join: Join,
    inbox: VecDeque<Input>,
    asks: VecDeque<Ask>,
    incarnation: [u8; 16],
    /// The disk is open, and the broker has not joined.
    opened: Option<Opened>,
    serving: Option<Serving>,
}

struct Opened {
    cluster: String,
    executor: DiskExecutor<sim_kit::disk::SimDisk>,
    stored: Vec<log_broker::StoredPartition>,
}

struct Serving {
    shared: Shared,
    shards: Vec<Shard>,
    disk_wakes_at: base::MonoTime,
    next_shard: usize,
}

impl Process {
    pub(super) fn new(
        config: BrokerConfig,
        store: StoreConfig,
        (shards, servers, has_others): (u16, usize, bool),
        drawn: [u8; 16],
        now: Now,
    ) -> Self {
        let client = CouncilClient::new(servers, config.seed, time(now));
        let mut keeper = Keeper::new(vec![Acl::open()], KeeperLimits::default());
        let join = Join::new(config.node_id, drawn, now.wall.ms().cast_unsigned());
        join.begin(&mut keeper);
        Self {
            config,
            store,
            shards,
            has_others,
            client,
            keeper,
            join,
            inbox: VecDeque::new(),
            asks: VecDeque::new(),
            incarnation: drawn,
            opened: None,
            serving: None,
        }
    }

    /// Whether it takes connections.
    pub(crate) const fn is_serving(&self) -> bool {
        self.serving.is_some()
    }

    /// The number of the process among all of its broker; 0 before it has joined.
    pub(crate) const fn incarnation(&self) -> u64 {
        self.config.incarnation
    }

    /// Calls something with its end of the links to other brokers, once it serves.
    pub(crate) fn with_peers<T>(&self, call: impl FnOnce(&mut PeerPort) -> T) -> Option<T> {
        self.serving.as_ref().map(|serving| call(&mut serving.shared.peers.borrow_mut()))
    }

    /// It is asked to stop: it hands over what it leads.
    pub(crate) fn drain(&self) {
        if let Some(serving) = &self.serving {
            serving.shared.mail.borrow_mut()[0].push(Mail::Drain);
        }
    }

    /// How many partitions it leads that others could lead.
    pub(crate) fn to_hand_over(&self) -> usize {
        self.serving.as_ref().map_or(0, |serving| serving.shared.broker.borrow().to_hand_over())
    }

    /// The copy of a partition that it has, in words.
    pub(crate) fn copy_in_words(&self, id: PartitionId) -> Option<String> {
        copy_in_words(&self.serving.as_ref()?.shared, id)
    }

    /// How far its copies of partitions are.
    pub(crate) fn copies(&self) -> Vec<CopyState> {
        self.serving.as_ref().map(|serving| copy_states(&serving.shared)).unwrap_or_default()
    }

    /// The committed records of its copy of a partition, by their offsets.
    pub(crate) fn copied_records(&self, id: PartitionId) -> Option<BTreeMap<i64, CopiedRecord>> {
        copied_records(&self.serving.as_ref()?.shared, id)
    }

    /// Takes what its operator is told.
    pub(crate) fn take_notices(&self) -> Vec<Notice> {
        self.serving.as_ref().map(|serving| serving.shared.notices.take()).unwrap_or_default()
    }

    /// Takes the topics of segments that compaction has made.
    pub(crate) fn take_compacted(&self) -> Vec<[u8; 16]> {
        let take = |serving: &Serving| std::mem::take(&mut serving.shared.compaction.borrow_mut().made);
        self.serving.as_ref().map(take).unwrap_or_default()
    }

    /// How often a shard has flushed itself.
    pub(crate) fn flushed_alone(&self) -> u64 {
        self.serving.as_ref().map_or(0, |serving| *serving.shared.alone.borrow())
    }

    /// Whether its disk has failed, and it has not ended yet.
    pub(crate) fn has_failed(&self) -> bool {
        self.serving.as_ref().is_some_and(|serving| serving.shared.disk.borrow().fault.is_some())
    }

    /// A step that may be next.
    pub(crate) fn draw(&self, random: &mut Random) -> Step {
        match random.below(u64::from(self.shards) + 2) {
            0 => Step::Disk,
            1 => Step::Council,
            shard => Step::Shard(shard as u16 - 2),
        }
    }

    /// A client connects.
    pub(crate) fn accept(&mut self, id: WireId) {
        let Some(serving) = &mut self.serving else { return };
        let at = serving.next_shard % serving.shards.len();
        serving.next_shard += 1;
        serving.shared.mail.borrow_mut()[at].push(Mail::Accepted(id));
    }

    /// Bytes of a client arrive. Gives whether the connection is known.
    pub(crate) fn receive(&mut self, id: WireId, bytes: &[u8]) -> bool {
        let shard = self.shard_of(id);
        let is_known = shard.is_some();
        if let Some(shard) = shard {
            shard.receive(id, bytes);
        }
        is_known
    }

    /// A client has closed its connection. Gives whether it is known.
    pub(crate) fn ended(&mut self, id: WireId) -> bool {
        let shard = self.shard_of(id);
        let is_known = shard.is_some();
        if let Some(shard) = shard {
            shard.end(id);
        }
        is_known
    }

    fn shard_of(&mut self, id: WireId) -> Option<&mut Shard> {
        self.serving.as_mut()?.shards.iter_mut().find(|shard| shard.has(id))
    }

    /// The connection with the council breaks.
    pub(crate) fn part(&mut self, council: &mut Council) {
        self.client.cut(council);
    }

    /// The session with the council expires.
    pub(crate) fn expire(&mut self, council: &mut Council) {
        council.expire(&self.client);
    }

    /// Does a step.
    ///
    /// # Errors
    /// The process has ended.
    pub(crate) fn step(
        &mut self,
        step: Step,
        host: &mut Host,
        (wires, council): (&mut Wires, &mut Council),
        random: &mut Random,
        (now, is_stalled): (Now, bool),
    ) -> Result<(), Ended> {
        match step {
            Step::Council => self.council(host, council, random, now),
            Step::Disk => self.disk(now, is_stalled),
            Step::Shard(number) => {
                let Some(serving) = &mut self.serving else { return Ok(()) };
                serving.shared.disk.borrow_mut().is_stalled = is_stalled;
                if let Some(shard) = serving.shards.get_mut(usize::from(number)) {
                    shard.turn(&serving.shared, wires, now);
                }
                Ok(())
            }
        }
    }

    /// Ends: its connections are closed.
    pub(crate) fn end(self, wires: &mut Wires, council: &mut Council) {
        if let Some(serving) = &self.serving {
            let open: Vec<WireId> = serving.shards.iter().flat_map(Shard::wires).collect();
            open.into_iter().for_each(|id| wires.close(id));
            for mail in serving.shared.mail.take() {
                for message in mail {
                    if let Mail::Accepted(id) = message {
                        wires.close(id);
                    }
                }
            }
        }
        council.abandon(self.client);
    }

    fn disk(&mut self, now: Now, is_stalled: bool) -> Result<(), Ended> {
        let Some(serving) = &mut self.serving else { return Ok(()) };
        if !is_stalled {
            serving.shared.compaction.borrow_mut().step();
        }
        let disk = &mut *serving.shared.disk.borrow_mut();
        if let Some(fault) = disk.fault.take() {
            return Err(Ended::Fault(fault.to_string()));
        }
        if is_stalled || (disk.commands.is_empty() && now.mono() < serving.disk_wakes_at) {
            return Ok(());
        }
        let turn = disk.executor.turn(&mut disk.commands, &mut disk.events, now.mono());
        let worked = turn.and_then(|()| disk.executor.work(&mut disk.events));
        let next = worked.map_err(|fault| Ended::Fault(fault.to_string()))?;
        serving.disk_wakes_at = match next {
            Next::Now => now.mono(),
            Next::InMs(ms) => now.mono().plus_ms(ms),
        };
        Ok(())
    }

    fn council(
        &mut self,
        host: &mut Host,
        council: &mut Council,
        random: &mut Random,
        now: Now,
    ) -> Result<(), Ended> {
        self.client.drive(council, random, time(now));
        let is_over = self.client.client.machine.over().is_some();
        while let Some(output) = self.client.output() {
            self.inbox.push_back(match output {
                Output::Replied(id, replied) => Input::Replied(id, replied),
                Output::Event(_, event) => Input::Event(event),
                Output::State(_, change) => Input::of_state(change, is_over),
            });
        }
        for _ in 0..random.below(4) {
            let Some(input) = self.inbox.pop_front() else { break };
            self.keeper.tell(input);
        }
        self.join(host)?;
        if let Some(serving) = &mut self.serving {
            serving.shared.changes.take().into_iter().for_each(|change| self.keeper.change(change));
            let events = std::iter::from_fn(|| self.keeper.event()).map(Mail::Council);
            serving.shared.mail.borrow_mut()[0].extend(events);
        }
        while let Some(ask) = self.keeper.next() {
            self.asks.push_back(ask);
        }
        for _ in 0..random.below(4) {
            let Some(Ask { id, request }) = self.asks.pop_front() else { break };
            self.client.client.submit(id, &request, Some(WATCHER));
        }
        Ok(())
    }

    /// Goes on with the start.
    fn join(&mut self, host: &mut Host) -> Result<(), Ended> {
        if self.serving.is_some() {
            return Ok(());
        }
        match self.join.step(&mut self.keeper) {
            JoinStep::Wait => Ok(()),
            JoinStep::Open(cluster) => self.open(host, cluster),
            JoinStep::Joined(incarnation) => {
                self.config.incarnation = incarnation;
                self.serve(host);
                Ok(())
            }
            JoinStep::Refused(JoinRefusal::OtherDirectory) => Err(Ended::OtherDirectory),
            JoinStep::Refused(refusal) => Err(Ended::Refused(format!("{refusal:?}"))),
        }
    }

    fn open(&mut self, host: &mut Host, cluster: String) -> Result<(), Ended> {
        let opened = DiskExecutor::open(host.disk.clone(), self.store, (self.incarnation, &cluster));
        let (executor, stored) = opened.map_err(|error| match error {
            OpenError::Disk(fault) => Ended::Fault(fault.to_string()),
            other => Ended::Refused(other.to_string()),
        })?;
        let directory = id_text(&executor.directory_id());
        let peers = self.has_others.then(|| EndpointNode { host: "broker".into(), port: 9093 });
        let (host, rack) = ("broker".into(), self.config.rack.clone());
        let node = BrokerNode { directory, host, port: 9092, peers, rack, ..BrokerNode::default() };
        self.join.opened(node, &mut self.keeper);
        self.opened = Some(Opened { cluster, executor, stored });
        Ok(())
    }

    fn serve(&mut self, host: &Host) {
        let Some(Opened { cluster, executor, stored }) = self.opened.take() else { return };
        let shards =
            (0..self.shards).map(|number| Shard::new(number, Front::new(number, self.shards, &self.config)));
        let broker = Broker::new(self.config.clone(), cluster, stored);
        let shared = Shared {
            broker: RefCell::new(broker),
            disk: RefCell::new(Disk {
                executor,
                reader: host.disk.clone(),
                commands: Vec::new(),
                events: Vec::new(),
                avoid_until_us: 0,
                fault: None,
                is_stalled: false,
            }),
            compaction: RefCell::new(Compaction::new(host.disk.clone())),
            changes: RefCell::default(),
            notices: RefCell::default(),
            peers: RefCell::default(),
            mail: RefCell::new((0..self.shards).map(|_| Vec::new()).collect()),
            alone: RefCell::new(0),
        };
        self.serving = Some(Serving {
            shared,
            shards: shards.collect(),
            disk_wakes_at: base::MonoTime::ZERO,
            next_shard: 0,
        });
    }
}

fn time(now: Now) -> Duration {
    Duration::from_millis(now.mono().ms())
}
