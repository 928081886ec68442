//! Three members, and a network and a clock that do as they are told.

use base::Now;
use consensus_replica::{MemberId, MemberNumber};
use std::collections::BTreeMap;

use council_frontend::FrontConfig;
use council_replica::{CoreConfig, PeerMessage};
use council_tree::{Policy, Roster};
use sim_council::disk::SimDisk;
use sim_council::ensemble::member_of;
use sim_council::load::SUPER;
use sim_council::node::{Node, NodeConfig, STEPS, Step, small_journal};
use storage_raft_log::KeepPolicy;

pub(crate) const LEASE_MS: u64 = 4_000;
pub(crate) const LEVEL: u32 = 3;
const STEP_MS: u64 = 10;

/// By id.
pub(crate) type Nodes = BTreeMap<u64, Node<SimDisk>>;

pub(crate) fn three() -> Nodes {
    (1..=3).map(|number| (number, start(number, SimDisk::new(number)))).collect()
}

/// A founder starts on that disk.
pub(crate) fn start(number: u64, disk: SimDisk) -> Node<SimDisk> {
    let now = Now::of_ms(1_000, 1_700_000_000_000);
    let others: Vec<_> = (1..=3).filter(|other| *other != number).collect();
    start_as(number, disk, now, &others)
}

/// Whoever has that id starts on that disk, and is connected to these.
pub(crate) fn start_as(id: u64, disk: SimDisk, now: Now, others: &[u64]) -> Node<SimDisk> {
    start_among(&[1, 2, 3], id, disk, now, others)
}

/// The same in an ensemble of these founders.
pub(crate) fn start_among(
    founders: &[u64],
    id: u64,
    disk: SimDisk,
    now: Now,
    others: &[u64],
) -> Node<SimDisk> {
    let mut node = start_with(founders, id, disk, now, |_| ());
    for other in others {
        node.core().understands(MemberId(*other), LEVEL);
        node.link(MemberId(*other), true);
    }
    node
}

/// The same with other settings, and not connected to anybody.
pub(crate) fn start_with(
    founders: &[u64],
    id: u64,
    disk: SimDisk,
    now: Now,
    set: impl FnOnce(&mut CoreConfig),
) -> Node<SimDisk> {
    let member = MemberId(id);
    let mut core = CoreConfig { tick_ms: 100, ..CoreConfig::new(member, 1) };
    core.replica.feature_level = LEVEL;
    core.reconfig_enabled = true;
    core.replica.window_bytes_max = 5_000;
    core.replica.lease_ms = LEASE_MS;
    // Longer than a leader is cut off here: it goes on believing that it leads.
    core.replica.election_tick_ms = 200;
    core.roster = Some(Roster::new(founders.iter().copied().map(member_of)));
    set(&mut core);
    let mut front = FrontConfig { timeout_min_ms: 1_000, ..FrontConfig::default() };
    front.policy = front.policy | Policy::RECONFIG_ENABLED;
    let digest = council_frontend::auth::digest_id(front.auth.digest_algorithm, SUPER.as_bytes());
    front.auth.super_digest = Some(digest);
    let config = NodeConfig {
        founders: founders.iter().filter(|_| member.is_founder()).copied().map(MemberId).collect(),
        core,
        front,
        journal: small_journal(),
        keep: KeepPolicy { snapshots: 2, entries: 0 },
        piece_bytes: 4 << 10,
        chunks_at_once: 4,
        snapshot_bytes_per_second: u64::MAX,
        journal_seed: None,
        seed: [member.number().0; 32],
    };
    Node::start(disk, &config, now).expect("the disk is well")
}

/// These founders start with other settings, on blank disks, and are connected to each other.
pub(crate) fn founders_with(founders: &[u64], set: impl Fn(&mut CoreConfig)) -> Nodes {
    let mut nodes = Nodes::new();
    let now = Now::of_ms(1_000, 1_700_000_000_000);
    for id in founders {
        let mut node = start_with(founders, *id, SimDisk::new(*id), now, &set);
        for other in founders.iter().filter(|other| *other != id) {
            node.core().understands(MemberId(*other), LEVEL);
            node.link(MemberId(*other), true);
        }
        nodes.insert(*id, node);
    }
    nodes
}

/// Time passes. Gives what did not come through, in order: from, to, and what was said.
pub(crate) fn pass(
    nodes: &mut Nodes,
    ms: u64,
    comes: impl Fn(u64, u64) -> bool,
) -> Vec<(u64, u64, PeerMessage)> {
    pass_what(nodes, ms, |from, to, _| comes(from, to))
}

pub(crate) fn pass_what(
    nodes: &mut Nodes,
    ms: u64,
    comes: impl Fn(u64, u64, &PeerMessage) -> bool,
) -> Vec<(u64, u64, PeerMessage)> {
    pass_how(nodes, ms, |_, _| true, comes)
}

/// The same where members do not take all steps.
pub(crate) fn pass_how(
    nodes: &mut Nodes,
    ms: u64,
    takes: impl Fn(u64, Step) -> bool,
    comes: impl Fn(u64, u64, &PeerMessage) -> bool,
) -> Vec<(u64, u64, PeerMessage)> {
    let mut held = Vec::new();
    for _ in 0..ms / STEP_MS {
        let mut sent = Vec::new();
        for (from, node) in nodes.iter_mut() {
            node.pass(STEP_MS);
            let steps = STEPS.into_iter().filter(|step| takes(*from, *step));
            steps.for_each(|step| node.step(step).expect("the disk is well"));
            sent.extend(node.take_outgoing().into_iter().map(|(to, message)| (*from, to.0, message)));
        }
        for (from, to, message) in sent {
            match nodes.get_mut(&to).filter(|_| comes(from, to, &message)) {
                Some(node) => node.peer(MemberId(from), message).expect("nothing is wrong with it"),
                None => held.push((from, to, message)),
            }
        }
    }
    held
}

/// Passes time until one of these leads.
pub(crate) fn leader(
    nodes: &mut Nodes,
    among: impl Fn(u64) -> bool,
    comes: impl Fn(u64, u64) -> bool,
) -> u64 {
    let found = (0..3_000).find_map(|_| {
        pass(nodes, STEP_MS, &comes);
        let mut all = nodes.iter_mut().filter(|(number, _)| among(**number));
        let leads = |node: &mut Node<SimDisk>| node.leads_in().is_some() && node.core().status().serving;
        all.find_map(|(number, node)| leads(node).then_some(*number))
    });
    found.expect("somebody leads")
}

/// What a member of that number is called as long as its disk is blank.
pub(crate) const fn blank(number: u64) -> MemberId {
    MemberId::blank(MemberNumber::of(number))
}

pub(crate) fn node(nodes: &mut Nodes, number: u64) -> &mut Node<SimDisk> {
    nodes.get_mut(&number).expect("a member")
}
