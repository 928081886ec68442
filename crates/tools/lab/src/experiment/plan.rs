//! What an experiment comes to: servers that are started together with what is measured on them; and what of it a
//! machine holds.

use tools_testbed::Setting;

use super::{Capacity, Spec};
use crate::measure::System;
use crate::task::Kind;

/// What is to be done.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Servers, and what is measured on them.
    pub blocks: Vec<Block>,
    /// What the machine does not hold, and what is done instead, in words.
    pub beyond: Vec<String>,
}

impl Plan {
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
}

impl Block {
    pub(super) fn of(servers: usize, specs: Vec<Spec>) -> Self {
        Self::with(Setting::of(servers), specs)
    }

    pub(super) const fn with(setting: Setting, specs: Vec<Spec>) -> Self {
        Self { setting, specs, has_concoord: false }
    }

    /// ConCoord takes part.
    pub(super) const fn and_concoord(mut self) -> Self {
        self.has_concoord = true;
        self
    }

    /// Whether that system takes part.
    #[must_use]
    pub const fn has(&self, system: &System) -> bool {
        self.has_concoord || !matches!(system, System::ConCoord(_))
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
