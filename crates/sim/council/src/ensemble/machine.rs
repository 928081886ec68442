//! One machine: its disk, its clock, and the member that lives on it.

use std::collections::BTreeMap;

use base::Now;
use sim_kit::peers::{Cluster, PeerMachine};
use storage_raft_log::Identity;

use crate::disk::SimDisk;
use crate::ensemble::faults::DRIFT_MAX_PPM;
use crate::ensemble::process::{Process, Stage};
use crate::node::Node;
use crate::random::Random;

/// When one shard began to stand still, and until when it does.
#[derive(Clone, Copy)]
pub(super) struct Stall {
    from_ms: u64,
    until_ms: u64,
}

/// See the module.
pub struct Machine {
    pub(super) disk: SimDisk,
    /// Whether a core ever ran on what this disk holds, or held. Known to those who judge, not to the member.
    pub(super) was_member: bool,
    /// What runs, if anything does.
    pub(super) process: Option<Box<Process>>,
    /// Which of all lives its core has, or had last.
    pub(super) born: u64,
    /// Whether its configuration names it among those who bootstrap the ensemble.
    pub(super) founder: bool,
    /// Turned off: its member was removed.
    pub(super) off: bool,
    /// Until when it is not started.
    pub(super) away_until_ms: u64,
    /// Its disk is of an ensemble that was given up for a new one.
    pub(super) outsider: bool,
    /// When it last began to stand still, and until when it does.
    pub(super) paused_from_ms: u64,
    pub(super) paused_until_ms: u64,
    /// Which of its shards did last, while the others went on.
    pub(super) stalled_shards: BTreeMap<u16, Stall>,
    /// Until when its disk does.
    pub(super) stalled_until_ms: u64,
    /// How long a flush takes, until then.
    pub(super) flush_ms: u64,
    pub(super) slow_until_ms: u64,
    /// When the flush that is under way is done.
    pub(super) flushed_ms: Option<u64>,
    pub(super) full_until_ms: Option<u64>,
    /// Its disk was told to fail.
    pub(super) failing: bool,
    /// Something that its disk had kept is no longer as it was.
    pub(super) damaged: bool,
    /// What the build that runs on it understands.
    pub(super) level: u32,
    drift_ppm: i64,
}

impl Machine {
    pub(super) fn new(random: &mut Random, drifts: bool, founder: bool, level: u32) -> Self {
        let drift_ppm = random.below(2 * DRIFT_MAX_PPM as u64 + 1) as i64 - DRIFT_MAX_PPM;
        Self {
            disk: SimDisk::new(random.number()),
            was_member: false,
            process: None,
            born: 0,
            founder,
            off: false,
            away_until_ms: 0,
            outsider: false,
            paused_from_ms: 0,
            paused_until_ms: 0,
            stalled_shards: BTreeMap::new(),
            stalled_until_ms: 0,
            flush_ms: 0,
            slow_until_ms: 0,
            flushed_ms: None,
            full_until_ms: None,
            failing: false,
            damaged: false,
            level,
            drift_ppm: if drifts { drift_ppm } else { 0 },
        }
    }

    /// What its monotonic clock says at that time.
    pub(super) const fn mono_ms(&self, now_ms: u64) -> u64 {
        (now_ms as i64 + now_ms as i64 * self.drift_ppm / 1_000_000) as u64
    }

    /// What its clocks say at that time, unless the wall clock was set.
    pub(super) const fn now(&self, now_ms: u64) -> Now {
        let mono_ms = self.mono_ms(now_ms);
        Now::of_ms(mono_ms, 1_700_000_000_000 + mono_ms as i64)
    }

    pub(super) const fn is_paused(&self, now_ms: u64) -> bool {
        now_ms < self.paused_until_ms
    }

    /// Whether one of its shards stands still, while all else goes on.
    pub(super) fn is_shard_stalled(&self, shard: u16, now_ms: u64) -> bool {
        self.stalled_shards.get(&shard).is_some_and(|stall| now_ms < stall.until_ms)
    }

    /// One of its shards stands still for so long.
    pub(super) fn stall_shard(&mut self, shard: u16, now_ms: u64, long_ms: u64) {
        let before = self.stalled_shards.get(&shard).filter(|stall| now_ms < stall.until_ms);
        let from_ms = before.map_or(now_ms, |stall| stall.from_ms);
        self.stalled_shards.insert(shard, Stall { from_ms, until_ms: now_ms + long_ms });
    }

    /// When that shard last began to stand still, with its whole process or alone; 0 if it never did.
    pub(super) fn stood_still_from_ms(&self, shard: u16) -> u64 {
        let Some(stall) = self.stalled_shards.get(&shard) else { return self.paused_from_ms };
        let is_one = stall.from_ms.max(self.paused_from_ms) <= stall.until_ms.min(self.paused_until_ms);
        match is_one {
            true => stall.from_ms.min(self.paused_from_ms),
            false => stall.from_ms.max(self.paused_from_ms),
        }
    }

    /// Whether its journal can do nothing now.
    pub(super) const fn is_disk_stalled(&self, now_ms: u64) -> bool {
        now_ms < self.stalled_until_ms
    }

    /// Lets its journal flush; while its disk is slow, once each flush has taken long enough.
    pub(super) fn pace_flushes(&mut self, now_ms: u64) {
        let Some(process) = &mut self.process else { return };
        let Stage::Running(node) = &mut process.stage else { return };
        if now_ms >= self.slow_until_ms {
            self.flushed_ms = None;
            return node.allow_flushes(u32::MAX);
        }
        let began = node.awaits_flush().then(|| *self.flushed_ms.get_or_insert(now_ms + self.flush_ms));
        let is_done = began.is_some_and(|done_ms| now_ms >= done_ms);
        if is_done || began.is_none() {
            self.flushed_ms = None;
        }
        node.allow_flushes(u32::from(is_done));
    }

    /// It stands still for so long.
    pub(super) const fn pause(&mut self, now_ms: u64, long_ms: u64) {
        if !self.is_paused(now_ms) {
            self.paused_from_ms = now_ms;
        }
        self.paused_until_ms = now_ms + long_ms;
    }

    /// Everything about it is well again.
    pub(super) fn heal(&mut self) {
        (self.paused_until_ms, self.stalled_until_ms, self.slow_until_ms) = (0, 0, 0);
        (self.full_until_ms, self.failing, self.away_until_ms) = (None, false, 0);
        self.stalled_shards.values_mut().for_each(|stall| stall.until_ms = 0);
        self.disk.repair();
    }

    /// The core, if it runs.
    pub(super) fn node(&mut self) -> Option<&mut Node<SimDisk>> {
        match &mut self.process.as_mut()?.stage {
            Stage::Running(node) => Some(node),
            _ => None,
        }
    }

    /// How far its process is, if it has one.
    pub(super) fn stage(&self) -> Option<&Stage> {
        self.process.as_ref().map(|process| &process.stage)
    }

    /// Whether no process runs.
    pub(super) const fn is_down(&self) -> bool {
        self.process.is_none()
    }

    /// Whether its core runs.
    pub(super) fn is_running(&self) -> bool {
        matches!(self.stage(), Some(Stage::Running(_)))
    }

    /// Who it is among the others, while its core runs.
    pub(super) fn identity(&self) -> Option<Identity> {
        self.process.as_ref()?.lifecycle.identity().filter(|_| self.is_running())
    }

    /// Another disk is in its place.
    pub(super) fn replace_disk(&mut self, disk: SimDisk) {
        (self.disk, self.was_member, self.damaged) = (disk, false, false);
    }
}

impl PeerMachine for Machine {
    fn is_paused(&self, now_ms: u64) -> bool {
        self.is_paused(now_ms)
    }

    fn is_starting(&self) -> bool {
        matches!(self.stage(), Some(Stage::Next(_)))
    }

    fn mono_ms(&self, now_ms: u64) -> u64 {
        self.mono_ms(now_ms)
    }

    fn identity(&self) -> Option<(u64, Cluster)> {
        self.identity().map(|identity| (identity.member, identity.cluster))
    }

    fn level(&self) -> u32 {
        self.level
    }
}
