//! A member that is cut off, among three and a network that does as it is told: what a leader may count its lease from and
//! may still answer, who gives leases, and when somebody who comes back serves again.

use std::collections::BTreeMap;

use front::FrontConfig;
use journal::KeepPolicy;
use jute::OpCode;
use member::{CoreConfig, Now, PeerMessage};
use sim::client::Client;
use sim::disk::SimDisk;
use sim::ensemble::member_of;
use sim::node::{Node, NodeConfig, STEPS, small_journal};
use tree::Roster;

const LEASE_MS: u64 = 4_000;
const LEVEL: u32 = 3;
const STEP_MS: u64 = 10;

type Nodes = BTreeMap<u64, Node<SimDisk>>;

fn three() -> Nodes {
    (1..=3).map(|number| (number, start(number, SimDisk::new(number)))).collect()
}

fn start(number: u64, disk: SimDisk) -> Node<SimDisk> {
    let mut core = CoreConfig { tick_ms: 100, feature_level: LEVEL, ..CoreConfig::new(number, 1) };
    core.lease_ms = LEASE_MS;
    // Longer than a leader is cut off here: it goes on believing that it leads.
    core.election_tick_ms = 200;
    core.roster = Some(Roster::new((1..=3).map(member_of)));
    let config = NodeConfig {
        founders: vec![1, 2, 3],
        core,
        front: FrontConfig::default(),
        journal: small_journal(),
        keep: KeepPolicy { snapshots: 2, entries: 0 },
        piece_bytes: 4 << 10,
        seed: [number as u8; 32],
    };
    let now = Now { mono_ms: 1_000, wall_ms: 1_700_000_000_000 };
    let mut node = Node::start(disk, &config, now).expect("the disk is well");
    for other in (1..=3).filter(|other| *other != number) {
        node.core().understands(other, LEVEL);
        node.link(other, true);
    }
    node
}

/// Time passes. Gives what did not come through, in order: from, to, and what was said.
fn pass(nodes: &mut Nodes, ms: u64, comes: impl Fn(u64, u64) -> bool) -> Vec<(u64, u64, PeerMessage)> {
    pass_what(nodes, ms, |from, to, _| comes(from, to))
}

fn pass_what(
    nodes: &mut Nodes,
    ms: u64,
    comes: impl Fn(u64, u64, &PeerMessage) -> bool,
) -> Vec<(u64, u64, PeerMessage)> {
    let mut held = Vec::new();
    for _ in 0..ms / STEP_MS {
        let mut sent = Vec::new();
        for (from, node) in nodes.iter_mut() {
            node.pass(STEP_MS);
            STEPS.into_iter().for_each(|step| node.step(step).expect("the disk is well"));
            sent.extend(node.take_outgoing().into_iter().map(|(to, message)| (*from, to, message)));
        }
        for (from, to, message) in sent {
            match nodes.get_mut(&to).filter(|_| comes(from, to, &message)) {
                Some(node) => node.peer(from, message).expect("nothing is wrong with it"),
                None => held.push((from, to, message)),
            }
        }
    }
    held
}

/// Passes time until one of these leads.
fn leader(nodes: &mut Nodes, among: impl Fn(u64) -> bool, comes: impl Fn(u64, u64) -> bool) -> u64 {
    let found = (0..3_000).find_map(|_| {
        pass(nodes, STEP_MS, &comes);
        let mut all = nodes.iter_mut().filter(|(number, _)| among(**number));
        let leads = |node: &mut Node<SimDisk>| node.leads_in().is_some() && node.core().status().serving;
        all.find_map(|(number, node)| leads(node).then_some(*number))
    });
    found.expect("somebody leads")
}

fn node(nodes: &mut Nodes, number: u64) -> &mut Node<SimDisk> {
    nodes.get_mut(&number).expect("a member")
}

#[test]
fn words_that_were_long_under_way_make_no_lease_longer() {
    let mut nodes = three();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    let cut_off_ms = node(&mut nodes, led).now().mono_ms;
    let apart = |from, to| from != led && to != led;
    let held = pass(&mut nodes, LEASE_MS / 8, apart);
    let late: Vec<_> = held.into_iter().filter(|(_, to, _)| *to == led).collect();
    assert!(!late.is_empty(), "somebody asks for a lease");
    pass(&mut nodes, LEASE_MS / 8, apart);
    for (from, _, message) in late {
        node(&mut nodes, led).peer(from, message).expect("nothing is wrong with it");
    }
    pass(&mut nodes, 100, |_, _| false);
    assert!(node(&mut nodes, led).leads_in().is_some(), "it knows of nothing");
    let until_ms = node(&mut nodes, led).core().lease_until_ms();
    assert!(until_ms >= cut_off_ms, "it had a lease");
    assert!(until_ms <= cut_off_ms + LEASE_MS, "until {until_ms}, and it was cut off at {cut_off_ms}");
}

#[test]
fn a_sync_is_not_answered_while_somebody_else_may_lead() {
    let mut nodes = three();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    let mut client = Client::connect(node(&mut nodes, led), 10_000);
    pass(&mut nodes, 200, |_, _| true);
    assert_eq!(client.replies(node(&mut nodes, led)), []);
    let sync = |client: &mut Client, nodes: &mut Nodes| {
        client.ask(node(nodes, led), OpCode::Sync, |writer| {
            writer.text("/");
        });
    };
    sync(&mut client, &mut nodes);
    pass(&mut nodes, 200, |_, _| true);
    assert_eq!(client.replies(node(&mut nodes, led)).len(), 1);
    // The others know at once that it is gone, and it does not.
    for other in (1..=3).filter(|other| *other != led) {
        node(&mut nodes, other).link(led, false);
    }
    let apart = |from, to| from != led && to != led;
    leader(&mut nodes, |number| number != led, apart);
    let cut_off = node(&mut nodes, led);
    assert!(cut_off.now().mono_ms + 200 <= cut_off.core().lease_until_ms(), "it still takes requests");
    sync(&mut client, &mut nodes);
    pass(&mut nodes, 200, apart);
    assert_eq!(client.replies(node(&mut nodes, led)), []);
}

#[test]
fn whoever_has_led_and_starts_anew_gives_no_lease_to_those_who_believe_in_it() {
    let disks: BTreeMap<u64, SimDisk> = (1..=3).map(|number| (number, SimDisk::new(number))).collect();
    let mut nodes: Nodes =
        disks.iter().map(|(number, disk)| (*number, start(*number, disk.clone()))).collect();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    let term = node(&mut nodes, led).leads_in().expect("it leads");
    let believer = if led == 1 { 2 } else { 1 };
    let ask = PeerMessage::LeaseAsk { term, at_ms: node(&mut nodes, believer).now().mono_ms };
    let grants = |node: &mut Node<SimDisk>| {
        node.take_outgoing();
        node.peer(believer, ask.clone()).expect("nothing is wrong with it");
        node.take_outgoing().iter().any(|(_, said)| matches!(said, PeerMessage::LeaseGrant { .. }))
    };
    assert!(grants(node(&mut nodes, led)), "it leads");
    nodes.insert(led, start(led, disks[&led].clone()));
    let again = node(&mut nodes, led);
    assert!(again.leads_in().is_none());
    assert_eq!(again.core().status().term, term, "it knows what it has voted in");
    assert!(!grants(again));
}

#[test]
fn whoever_comes_back_serves_nobody_before_it_has_caught_up() {
    const BULKY: usize = 500;
    let mut nodes = three();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    let late = if led == 1 { 2 } else { 1 };
    let mut client = Client::connect(node(&mut nodes, led), 30_000);
    pass(&mut nodes, 200, |_, _| true);
    assert_eq!(client.replies(node(&mut nodes, led)), []);
    assert!(node(&mut nodes, late).core().status().serving);
    let term = node(&mut nodes, led).leads_in();
    // Written while it is away.
    let apart = |from, to| from != late && to != late;
    pass(&mut nodes, 2 * LEASE_MS, apart);
    client.create(node(&mut nodes, led), "/a", &[b'a'; BULKY], 0);
    pass(&mut nodes, 200, apart);
    assert_eq!(client.replies(node(&mut nodes, led)).len(), 1);
    assert!(!node(&mut nodes, late).core().status().serving, "its lease is over");
    // It hears its leader and is given a lease, in the reign that it knows; the log is still under way.
    let is_bulky = |message: &PeerMessage| {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        bytes.len() >= BULKY
    };
    pass_what(&mut nodes, LEASE_MS / 2, |_, to, message| to != late || !is_bulky(message));
    assert_eq!(node(&mut nodes, led).leads_in(), term);
    let back = node(&mut nodes, late);
    assert!(back.now().mono_ms < back.core().lease_until_ms(), "it has a lease");
    assert!(!back.core().status().serving && back.tree().node("/a").is_none());
    pass(&mut nodes, LEASE_MS / 2, |_, _| true);
    let back = node(&mut nodes, late);
    assert!(back.core().status().serving && back.tree().node("/a").is_some());
}
