//! A member of a scenario: its disk, its process while that runs, and what was last told of it.

use base::Now;
use base::{LogIndex, Term};
use consensus_replica::{MemberId, Tenure};
use council_frontend::FrontConfig;
use council_replica::CoreConfig;
use council_tree::{Policy, Roster};
use sim_council::disk::SimDisk;
use sim_council::ensemble::member_of;
use sim_council::load::SUPER;
use sim_council::node::{Node, NodeConfig, NodeError, STEPS, Step, small_journal};
use storage_raft_log::KeepPolicy;

use crate::message::spans;

/// The feature level of every member's build.
pub(crate) const LEVEL: u32 = 3;

/// How long a process takes to start.
const START_MS: u64 = 10;

/// What a scenario may set.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) founders: Vec<u64>,
    pub(crate) lease_ms: u64,
    pub(crate) election_tick_ms: u64,
    pub(crate) window_bytes_max: usize,
    pub(crate) snapshot_chunk_bytes: usize,
    pub(crate) lag_entries: u64,
    pub(crate) snapshot_bytes_per_second: u64,
}

impl Settings {
    fn config(&self, id: u64) -> NodeConfig {
        let member = MemberId(id);
        let mut core = CoreConfig { tick_ms: 100, ..CoreConfig::new(member, 1) };
        core.replica.feature_level = LEVEL;
        core.reconfig_enabled = true;
        core.roster = Some(Roster::new(self.founders.iter().copied().map(member_of)));
        core.replica.lease_ms = self.lease_ms;
        core.replica.election_tick_ms = self.election_tick_ms;
        core.replica.window_bytes_max = self.window_bytes_max;
        core.replica.snapshot_chunk_bytes = self.snapshot_chunk_bytes;
        core.replica.lag_entries = self.lag_entries;
        let mut front = FrontConfig { timeout_min_ms: 1_000, ..FrontConfig::default() };
        front.policy = front.policy | Policy::RECONFIG_ENABLED;
        let digest = council_frontend::auth::digest_id(front.auth.digest_algorithm, SUPER.as_bytes());
        front.auth.super_digest = Some(digest);
        NodeConfig {
            founders: self.founders.iter().filter(|_| member.is_founder()).copied().map(MemberId).collect(),
            core,
            front,
            journal: small_journal(),
            keep: KeepPolicy { snapshots: 2, entries: 0 },
            piece_bytes: 4 << 10,
            chunks_at_once: 4,
            snapshot_bytes_per_second: self.snapshot_bytes_per_second,
            journal_seed: None,
            seed: [member.number().0; 32],
        }
    }
}

/// What was last told of a member.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Told {
    term: Term,
    leader: u64,
    leads: bool,
    serves: bool,
    members: String,
    snapshots_taken_over: u64,
    snapshot: LogIndex,
    is_leaving: bool,
    is_replaced: bool,
    dropped: u64,
}

impl Told {
    fn of(node: &mut Node<SimDisk>) -> Self {
        let status = node.core().status();
        Self {
            term: status.term,
            leader: status.leader.map_or(0, |leader| leader.0),
            leads: node.leads_in().is_some(),
            serves: node.core().is_serving(),
            members: members(node),
            snapshots_taken_over: status.trees_replaced,
            snapshot: status.last_snapshot.map_or(LogIndex::ZERO, |snapshot| snapshot.index),
            is_leaving: node.core().is_leaving(),
            is_replaced: status.tenure == Tenure::Lost,
            dropped: status.dropped,
        }
    }
}

/// See the module.
pub(crate) struct Member {
    pub(crate) disk: SimDisk,
    /// While it runs.
    pub(crate) node: Option<Node<SimDisk>>,
    /// Its disk stands still.
    pub(crate) is_stalled: bool,
    /// Its process stands still.
    pub(crate) is_paused: bool,
    lease_ms: u64,
    /// Its clock, while it does not run.
    pub(crate) clock: Now,
    /// The entries on its disk, by index and term.
    log: Vec<(LogIndex, Term)>,
    /// Entries on their way to its disk.
    unwritten: Vec<(LogIndex, Term)>,
    /// Entries that reached the disk since that was last told, and up to where it had applied the log then.
    untold: Vec<(LogIndex, Term)>,
    applied_told: LogIndex,
    told: Told,
}

impl Member {
    pub(crate) const fn new(disk: SimDisk, clock: Now) -> Self {
        Self {
            disk,
            node: None,
            is_stalled: false,
            is_paused: false,
            lease_ms: 0,
            clock,
            log: Vec::new(),
            unwritten: Vec::new(),
            untold: Vec::new(),
            applied_told: LogIndex::ZERO,
            told: Told {
                term: Term::ZERO,
                leader: 0,
                leads: false,
                serves: false,
                members: String::new(),
                snapshots_taken_over: 0,
                snapshot: LogIndex::ZERO,
                is_leaving: false,
                is_replaced: false,
                dropped: 0,
            },
        }
    }

    /// Its process starts. Its clock counts from there, as the server's does, and has read its disk by then.
    pub(crate) fn start(&mut self, id: u64, settings: &Settings) -> Result<(), NodeError> {
        self.clock = Now::of_ms(START_MS, self.clock.wall.ms());
        self.lease_ms = settings.lease_ms;
        let mut node = Node::start(self.disk.clone(), &settings.config(id), self.clock)?;
        let status = node.core().status();
        self.told = Told { term: status.term, members: members(&mut node), ..Told::default() };
        self.told.snapshot = status.last_snapshot.map_or(LogIndex::ZERO, |snapshot| snapshot.index);
        self.applied_told = node.applied_index();
        self.node = Some(node);
        Ok(())
    }

    /// Its process is gone, and what it had not written.
    pub(crate) fn stop(&mut self) {
        self.clock = self.node.take().map_or(self.clock, |node| node.now());
        (self.is_stalled, self.is_paused) = (false, false);
        self.unwritten.clear();
    }

    /// The process, if it runs and does not stand still.
    pub(crate) const fn active(&mut self) -> Option<&mut Node<SimDisk>> {
        if self.is_paused { None } else { self.node.as_mut() }
    }

    /// It takes all its steps once.
    pub(crate) fn take_steps(&mut self) -> Result<(), NodeError> {
        let is_stalled = self.is_stalled;
        let Some(node) = self.active() else { return Ok(()) };
        for step in STEPS.into_iter().filter(|step| !is_stalled || *step != Step::Journal) {
            node.step(step)?;
        }
        let written = node.take_written();
        self.unwritten.extend(written);
        if !is_stalled {
            let written = std::mem::take(&mut self.unwritten);
            self.write(&written);
        }
        Ok(())
    }

    fn write(&mut self, entries: &[(LogIndex, Term)]) {
        for entry in entries {
            let at = self.log.partition_point(|known| known.0 < entry.0);
            self.log.truncate(at);
            self.log.push(*entry);
        }
        self.untold.extend_from_slice(entries);
    }

    /// What has become of it since the last time, one sentence a fact. `name` tells a member's name.
    pub(crate) fn facts(&mut self, name: &impl Fn(u64) -> String) -> Vec<String> {
        let Some(node) = &mut self.node else { return Vec::new() };
        let now = Told::of(node);
        let before = std::mem::replace(&mut self.told, now.clone());
        let mut facts = Vec::new();
        if (before.term, before.leader, before.leads) != (now.term, now.leader, now.leads) {
            facts.push(match now.leader {
                _ if now.leads => format!("leads in term {}", now.term),
                0 => format!("knows no leader in term {}", now.term),
                leader => format!("follows {} in term {}", name(leader), now.term),
            });
        }
        if before.members != now.members && !before.members.is_empty() {
            facts.push(format!("applies a change: {}", named(&now.members, name)));
        }
        if before.snapshots_taken_over != now.snapshots_taken_over {
            facts.push(format!("takes over a snapshot, which ends at {}", node.applied_index()));
        }
        if before.snapshot != now.snapshot {
            facts.push(format!("has a snapshot of its own, which ends at {}", now.snapshot));
        }
        if before.dropped != now.dropped {
            facts.push("drops a command that it has applied before".into());
        }
        if !before.is_leaving && now.is_leaving {
            facts.push("is removed and parts from its clients".into());
        }
        if !before.is_replaced && now.is_replaced {
            facts.push("is told by a majority that another disk has its place".into());
        }
        if before.serves != now.serves {
            facts.push(if now.serves { "serves clients" } else { "serves no clients any more" }.into());
        }
        let refusals = node.core().take_refusals().into_iter();
        facts.extend(refusals.map(|refusal| format!("refuses {}: {}", name(refusal.from.0), refusal.reason)));
        facts
    }

    /// What reached its disk and what it applied since the last time, if anything.
    pub(crate) fn progress(&mut self) -> Option<String> {
        let written = std::mem::take(&mut self.untold);
        let applied = self.node.as_ref().map_or(self.applied_told, Node::applied_index);
        let mut parts = Vec::new();
        if !written.is_empty() {
            parts.push(format!("writes {}", spans(&written)));
        }
        if applied != self.applied_told {
            parts.push(format!("applies up to {applied}"));
        }
        self.applied_told = applied;
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// How it stands, for `show`.
    pub(crate) fn picture(&mut self, name: &impl Fn(u64) -> String) -> String {
        let end = self.log.last().map_or_else(|| "no log".to_owned(), |(index, _)| format!("log to {index}"));
        let is_paused = self.is_paused;
        let Some(node) = &mut self.node else { return format!("down, {end}") };
        let status = node.core().status();
        let role = match status.leader {
            _ if node.leads_in().is_some() => format!("leads in term {}", status.term),
            None => format!("knows no leader in term {}", status.term),
            Some(leader) => format!("follows {} in term {}", name(leader.0), status.term),
        };
        let mut nodes: Vec<String> =
            node.tree().node("/").into_iter().flat_map(|root| root.children()).map(path).collect();
        nodes.retain(|path| path != "/zookeeper");
        nodes.sort();
        let nodes = match nodes.len() {
            0 => "no znodes".to_owned(),
            1..=5 => nodes.join(" "),
            many => format!("{many} znodes"),
        };
        let lease_ms = status.lease_until.since(node.now().mono());
        let serves = match node.core().is_serving() {
            // A lease that was just granted, or never ends.
            true if lease_ms > self.lease_ms / 4 * 3 => "serves".to_owned(),
            true => format!("serves for {} ms", lease_ms / 100 * 100),
            false => "serves nobody".to_owned(),
        };
        let pauses = if is_paused { ", stands still" } else { "" };
        let applied = node.applied_index();
        format!("{role}, {end}, applied {applied}, {serves}, {nodes}{pauses}")
    }

    /// Who votes and who learns, as far as it has applied that.
    pub(crate) fn voters(&mut self, name: &impl Fn(u64) -> String) -> String {
        self.node.as_mut().map_or_else(|| "down".to_owned(), |node| named(&members(node), name))
    }

    /// The terms of the entries on its disk.
    pub(crate) fn log(&self) -> String {
        spans(&self.log)
    }

    /// A connection to another member stands.
    pub(crate) fn connect(&mut self, other: u64) {
        if let Some(node) = &mut self.node {
            node.core().understands(MemberId(other), LEVEL);
            node.link(MemberId(other), true);
        }
    }

    /// A connection to another member ended.
    pub(crate) fn disconnect(&mut self, other: u64) {
        if let Some(node) = &mut self.node {
            node.link(MemberId(other), false);
        }
    }
}

fn path(name: &str) -> String {
    format!("/{name}")
}

/// Ids in brackets, to be named.
fn members(node: &mut Node<SimDisk>) -> String {
    let membership = node.core().membership();
    let list = |ids: &[MemberId]| {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids.iter().map(|id| format!("[{id}]")).collect::<Vec<_>>().join(" ")
    };
    let mut text = format!("voters {}", list(&membership.voters));
    if !membership.voters_outgoing.is_empty() {
        text += &format!(", together with {}", list(&membership.voters_outgoing));
    }
    if !membership.learners.is_empty() {
        text += &format!(", learners {}", list(&membership.learners));
    }
    text
}

fn named(text: &str, name: &impl Fn(u64) -> String) -> String {
    let mut named = String::new();
    for part in text.split_inclusive(['[', ']']) {
        match part.strip_suffix(']') {
            Some(id) => named += &name(id.parse().expect("an id")),
            None => named += part.trim_end_matches('['),
        }
    }
    named
}
