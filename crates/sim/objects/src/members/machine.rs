//! One machine: its host, and the member's process that runs on it.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::{MemberId, MonoTime, Random};
use consensus_replica::lifecycle::{Command, MemberLifecycle, Setup};
use sim_group::storage::Opened;
use sim_kit::Host;
use sim_kit::peers::{Cluster, PeerMachine};
use storage_raft_log::Identity;

use super::deaths::Deaths;
use super::node::{Loaded, Node};

/// How far a process is.
pub(super) enum Stage {
    /// It executes this next.
    Next(Command),
    /// It asks the other members.
    Asking,
    /// Its core runs.
    Running(Box<Node>),
}

/// A member's process: it executes what its lifecycle commands, as the server's `boot` does, one command at a time.
pub(super) struct Process {
    pub(super) lifecycle: MemberLifecycle,
    pub(super) stage: Stage,
    /// What commands leave to later ones.
    pub(super) opened: Option<Opened>,
    pub(super) loaded: Option<Loaded>,
}

impl Process {
    pub(super) fn new(setup: Setup, started: u64) -> Self {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&started.to_le_bytes());
        let lifecycle = MemberLifecycle::new(setup, seed);
        Self { lifecycle, stage: Stage::Next(Command::Open), opened: None, loaded: None }
    }
}

/// See the module.
pub(super) struct Machine {
    pub(super) host: Host,
    /// What runs, if anything does.
    pub(super) process: Option<Box<Process>>,
    /// Which of all lives its core has, or had last.
    pub(super) life: u64,
    /// Until when each of its edges stands still, while all else goes on.
    pub(super) stalled_edges: BTreeMap<u16, u64>,
    /// Its member is none any more: it is turned off.
    pub(super) off: bool,
    /// How far its wall clock was set in all.
    pub(super) jumped_ms: i64,
    /// What its build understands.
    pub(super) level: u32,
    /// Its process was killed in a run, and is not started again yet.
    pub(super) was_killed: bool,
    /// What has killed its processes.
    pub(super) deaths: Arc<Deaths>,
}

impl Machine {
    pub(super) fn new(number: u64, random: &mut Random, drifts: bool, level: u32) -> Self {
        Self {
            host: Host::new(random, drifts),
            process: None,
            life: 0,
            stalled_edges: BTreeMap::new(),
            off: false,
            jumped_ms: 0,
            level,
            was_killed: false,
            deaths: Arc::new(Deaths::new(number)),
        }
    }

    /// The core, if it runs.
    pub(super) fn node(&mut self) -> Option<&mut Node> {
        match &mut self.process.as_mut()?.stage {
            Stage::Running(node) => Some(node),
            _ => None,
        }
    }

    pub(super) fn stage(&self) -> Option<&Stage> {
        self.process.as_ref().map(|process| &process.stage)
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.stage(), Some(Stage::Running(_)))
    }

    /// Lets its journal flush; while its disk is slow, once each flush has taken long enough.
    pub(super) fn pace_flushes(&mut self, now_ms: u64) {
        let Some(process) = &mut self.process else { return };
        let Stage::Running(node) = &mut process.stage else { return };
        node.allow_flushes(self.host.flushes_allowed(now_ms, node.awaits_flush()));
    }

    pub(super) fn is_edge_stalled(&self, edge: u16, now_ms: u64) -> bool {
        self.stalled_edges.get(&edge).is_some_and(|until_ms| now_ms < *until_ms)
    }

    /// Who it is among the others, while its core runs.
    fn member(&self) -> Option<Identity> {
        self.process.as_ref()?.lifecycle.identity().filter(|_| self.is_running())
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
        self.member().map(|identity| (identity.member, identity.cluster))
    }

    fn level(&self) -> u32 {
        self.level
    }
}
