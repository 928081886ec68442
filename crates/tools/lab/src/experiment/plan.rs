//! What an experiment comes to: servers that are started together with what is measured on them; and what of it a
//! machine holds. An experiment is on the council or on the log.

use tools_testbed::Setting;

use super::{Capacity, Scale, Spec};
use crate::log::{Contestant, Job};
use crate::measure::System;
use crate::task::Kind;

/// What is to be done.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Servers, and what is measured on them.
    pub blocks: Vec<Block>,
    /// Brokers, and what is measured on them.
    pub brokers: Vec<BrokerBlock>,
    /// What the machine does not hold, and what is done instead, in words.
    pub beyond: Vec<String>,
}

impl Plan {
    /// Brokers alone.
    pub(super) fn of_brokers(brokers: Vec<BrokerBlock>) -> Self {
        Self { brokers, ..Self::default() }
    }

    /// Whether that system takes part in anything of it.
    #[must_use]
    pub fn has(&self, system: &System) -> bool {
        self.blocks.iter().any(|block| block.has(system))
    }

    /// What a machine holds of it: ensembles that are too large go, heaps and trees become smaller.
    pub(super) fn held_by(mut self, capacity: Capacity) -> Self {
        let most = capacity.servers();
        let too_large: Vec<_> =
            self.blocks.iter().map(Block::members).filter(|members| *members > most).collect();
        if !too_large.is_empty() {
            let counts: Vec<_> = too_large.iter().map(ToString::to_string).collect();
            self.beyond.push(format!("{} servers: this machine holds {most}", counts.join(", ")));
        }
        self.blocks.retain(|block| block.members() <= most);
        for block in &mut self.brokers {
            block.heap_mb = block.heap_mb.min(capacity.heap_mb(block.brokers));
        }
        for block in &mut self.blocks {
            let members = block.members();
            block.setting.heap_mb = block.setting.heap_mb.min(capacity.heap_mb(members));
            for spec in &mut block.specs {
                self.beyond.extend(hold(spec, members, capacity));
            }
        }
        self
    }

    /// Marks the point in which system calls are counted, too: in the middle of the first three servers, or of as many as
    /// there are, that are left as they were. One of an experiment is enough: what is counted hardly varies.
    pub(super) fn counting_calls(mut self) -> Self {
        let is_fit = |block: &Block| {
            block.setting.observers == 0
                && !block.setting.can_be_cut
                && block.specs.iter().all(Spec::spares_servers)
        };
        let place = self.blocks.iter().position(|block| is_fit(block) && block.members() == 3);
        let place = place.or_else(|| self.blocks.iter().position(is_fit));
        if let Some(block) = place.and_then(|place| self.blocks.get_mut(place)) {
            let middle = block.specs.len().saturating_sub(1) / 2;
            block.specs[middle].counts_calls = true;
        }
        self
    }
}

/// Makes a task's tree one that servers hold; says so if it was larger.
fn hold(spec: &mut Spec, members: usize, capacity: Capacity) -> Option<String> {
    let place = spec.place();
    let nodes = capacity.nodes(members, spec.task.value_bytes);
    let (meant, held) = match spec.task.kind {
        // Where the time is limited, so is what is made.
        Kind::Own if spec.task.measured_ms == 0 => {
            let each = (nodes / spec.task.clients as u64).max(1);
            let meant = std::mem::replace(&mut spec.task.count, 0);
            spec.task.count = meant.min(u32::try_from(each).unwrap_or(u32::MAX));
            (meant, spec.task.count)
        }
        Kind::Mixed | Kind::Timeline => {
            let keys = spec.task.keys.min(u32::try_from(nodes).unwrap_or(u32::MAX));
            if let Some(prepare) = &mut spec.prepare {
                prepare.keys = keys;
                prepare.from = prepare.from.min(keys);
            }
            (std::mem::replace(&mut spec.task.keys, keys), keys)
        }
        _ => return None,
    };
    (held < meant).then(|| format!("{place}: {held} of {meant} nodes, as this machine holds"))
}

/// Servers that are started together, and what is measured on them.
#[derive(Clone, Debug)]
pub struct Block {
    /// The servers.
    pub setting: Setting,
    /// What is measured.
    pub specs: Vec<Spec>,
    /// Whether ConCoord takes part: where it did in what was published.
    pub has_concoord: bool,
    /// Whether Diwan's live objects take part.
    pub has_objects: bool,
    /// The names of the systems that take part, if these are others than in the published experiments.
    pub only: Option<&'static [&'static str]>,
}

impl Block {
    pub(super) fn of(servers: usize, specs: Vec<Spec>) -> Self {
        Self::with(Setting::of(servers), specs)
    }

    pub(super) const fn with(setting: Setting, specs: Vec<Spec>) -> Self {
        Self { setting, specs, has_concoord: false, has_objects: false, only: None }
    }

    /// ConCoord takes part.
    pub(super) const fn and_concoord(mut self) -> Self {
        self.has_concoord = true;
        self
    }

    /// ConCoord and Diwan's live objects take part.
    pub(super) const fn and_live_objects(self) -> Self {
        self.and_concoord().and_objects()
    }

    /// Diwan's live objects take part.
    pub(super) const fn and_objects(mut self) -> Self {
        self.has_objects = true;
        self
    }

    /// Only these systems take part.
    pub(super) const fn only(mut self, names: &'static [&'static str]) -> Self {
        self.only = Some(names);
        self
    }

    /// Whether that system takes part.
    #[must_use]
    pub fn has(&self, system: &System) -> bool {
        match (self.only, system) {
            (Some(names), _) => names.contains(&system.name()),
            (None, System::ConCoord(_)) => self.has_concoord,
            (None, System::Objects(_)) => self.has_objects,
            (
                None,
                System::Curator { .. } | System::Hazelcast(_) | System::Redis(..) | System::BareHttp(_),
            ) => false,
            (None, _) => true,
        }
    }

    /// The nodes that all of its tasks share are made before the first.
    pub(super) fn prepared(mut self) -> Self {
        let first = self.specs.drain(..1).next().map(|spec| spec.prepared(0));
        self.specs.splice(0..0, first);
        self
    }

    /// All its servers, whether they vote or not.
    #[must_use]
    pub const fn members(&self) -> usize {
        self.setting.servers + self.setting.observers
    }
}

/// A broker that is started, or a cluster of several, and what is measured on it.
#[derive(Clone, Debug)]
pub struct BrokerBlock {
    /// How many brokers: each partition has a replica on each of up to three.
    pub brokers: usize,
    /// Its heap limit if it is a JVM, MiB.
    pub heap_mb: u32,
    /// What is measured, in this order.
    pub specs: Vec<BrokerSpec>,
}

/// One job, and where its figures stand.
#[derive(Clone, Debug)]
pub struct BrokerSpec {
    /// The line of the figure.
    pub series: String,
    /// Where on it.
    pub at: String,
    /// What is measured.
    pub job: Job,
}

impl BrokerSpec {
    pub(super) fn new(series: impl Into<String>, at: impl ToString, job: Job) -> Self {
        Self { series: series.into(), at: at.to_string(), job }
    }

    /// Where it stands, in words.
    #[must_use]
    pub fn place(&self) -> String {
        let words = [self.series.as_str(), self.at.as_str()];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

impl BrokerBlock {
    /// The heap that Kafka's own script gives it, MiB.
    const HEAP_MB: u32 = 1024;

    pub(super) const fn of(specs: Vec<BrokerSpec>) -> Self {
        Self { brokers: 1, heap_mb: Self::HEAP_MB, specs }
    }

    /// A cluster of so many brokers.
    pub(super) const fn of_cluster(brokers: usize, specs: Vec<BrokerSpec>) -> Self {
        Self { brokers, heap_mb: Self::HEAP_MB, specs }
    }

    /// Whether that contestant takes part.
    #[must_use]
    pub fn has(&self, contestant: &Contestant) -> bool {
        let is_startable = self.brokers == 1 || contestant.has_clusters();
        is_startable && self.specs.iter().any(|spec| spec.job.is_for(contestant))
    }

    /// How long it takes, roughly.
    #[must_use]
    pub fn estimate(&self, contestant: &Contestant, scale: &Scale) -> std::time::Duration {
        // A JVM starts for seconds, and a broker on one is missed for nine.
        let (start, restart) = if contestant.is_jvm() { (6, 15) } else { (1, 2) };
        let restart = std::time::Duration::from_secs(restart);
        let specs = self.specs.iter().filter(|spec| spec.job.is_for(contestant)).enumerate();
        let each = specs.map(|(place, spec)| {
            spec.job.estimate(restart, scale.broker_warm_up(contestant, place == 0), scale.measured)
        });
        std::time::Duration::from_secs(start * self.brokers as u64) + each.sum::<std::time::Duration>()
    }
}
