//! One machine: its host, and the member that runs on it.

use std::collections::BTreeMap;

use base::{MemberId, MonoTime};
use sim_kit::Host;
use sim_kit::peers::{Cluster, PeerMachine};
use storage_raft_log::Identity;

use crate::disk::SimDisk;
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
    pub(super) host: Host,
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
    /// Which of its shards stood still last, while the others went on.
    pub(super) stalled_shards: BTreeMap<u16, Stall>,
    /// Something that its disk had kept is no longer as it was.
    pub(super) damaged: bool,
    /// What the build that runs on it understands.
    pub(super) level: u32,
}

impl Machine {
    pub(super) fn new(random: &mut Random, drifts: bool, founder: bool, level: u32) -> Self {
        Self {
            host: Host::new(random, drifts),
            was_member: false,
            process: None,
            born: 0,
            founder,
            off: false,
            away_until_ms: 0,
            outsider: false,
            stalled_shards: BTreeMap::new(),
            damaged: false,
            level,
        }
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
        let (paused_from_ms, paused_until_ms) = self.host.last_pause_ms();
        let Some(stall) = self.stalled_shards.get(&shard) else { return paused_from_ms };
        let is_one = stall.from_ms.max(paused_from_ms) <= stall.until_ms.min(paused_until_ms);
        match is_one {
            true => stall.from_ms.min(paused_from_ms),
            false => stall.from_ms.max(paused_from_ms),
        }
    }

    /// Lets its journal flush; while its disk is slow, once each flush has taken long enough.
    pub(super) fn pace_flushes(&mut self, now_ms: u64) {
        let Some(process) = &mut self.process else { return };
        let Stage::Running(node) = &mut process.stage else { return };
        node.allow_flushes(self.host.flushes_allowed(now_ms, node.awaits_flush()));
    }

    /// Everything about it is well again.
    pub(super) fn heal(&mut self) {
        self.away_until_ms = 0;
        self.stalled_shards.values_mut().for_each(|stall| stall.until_ms = 0);
        self.host.heal();
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
        (self.host.disk, self.was_member, self.damaged) = (disk, false, false);
    }
}

impl PeerMachine for Machine {
    fn is_paused(&self, now_ms: u64) -> bool {
        self.host.is_paused(now_ms)
    }

    fn is_starting(&self) -> bool {
        matches!(self.stage(), Some(Stage::Next(_)))
    }

    fn mono(&self, now_ms: u64) -> MonoTime {
        self.host.mono(now_ms)
    }

    fn identity(&self) -> Option<(MemberId, Cluster)> {
        self.identity().map(|identity| (identity.member, identity.cluster))
    }

    fn level(&self) -> u32 {
        self.level
    }
}
