//! A member that is cut off, among three and a network that does as it is told: what a leader may count its lease from and
//! may still answer, who gives leases, and when somebody who comes back serves again.

use base::MemberId;
use std::collections::BTreeMap;

use council_replica::PeerMessage;
use council_wire::OpCode;
use sim_council::client::Client;
use sim_council::disk::SimDisk;
use sim_council::node::Node;

use crate::three::{LEASE_MS, Nodes, founders_with, leader, node, pass, pass_what, start, three};

#[test]
fn words_that_were_long_under_way_make_no_lease_longer() {
    let mut nodes = three();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    let cut_off = node(&mut nodes, led).now().mono();
    let apart = |from, to| from != led && to != led;
    let held = pass(&mut nodes, LEASE_MS / 8, apart);
    let late: Vec<_> = held.into_iter().filter(|(_, to, _)| *to == led).collect();
    assert!(!late.is_empty(), "somebody asks for a lease");
    pass(&mut nodes, LEASE_MS / 8, apart);
    for (from, _, message) in late {
        node(&mut nodes, led).peer(MemberId(from), message).expect("nothing is wrong with it");
    }
    pass(&mut nodes, 100, |_, _| false);
    assert!(node(&mut nodes, led).leads_in().is_some(), "it knows of nothing");
    let until = node(&mut nodes, led).core().lease_until();
    assert!(until >= cut_off, "it had a lease");
    assert!(until <= cut_off.plus_ms(LEASE_MS), "until {until}, and it was cut off at {cut_off}");
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
        node(&mut nodes, other).link(MemberId(led), false);
    }
    let apart = |from, to| from != led && to != led;
    leader(&mut nodes, |number| number != led, apart);
    let cut_off = node(&mut nodes, led);
    assert!(cut_off.now().mono().plus_ms(200) <= cut_off.core().lease_until(), "it still takes requests");
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
    let ask = PeerMessage::LeaseAsk { term, at: node(&mut nodes, believer).now().mono() };
    let grants = |node: &mut Node<SimDisk>| {
        node.take_outgoing();
        node.peer(MemberId(believer), ask.clone()).expect("nothing is wrong with it");
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
    assert!(back.now().mono() < back.core().lease_until(), "it has a lease");
    assert!(!back.core().status().serving && back.tree().node("/a").is_none());
    pass(&mut nodes, LEASE_MS / 2, |_, _| true);
    let back = node(&mut nodes, late);
    assert!(back.core().status().serving && back.tree().node("/a").is_some());
}

#[test]
fn lease_is_granted_to_no_member_that_lacks_what_was_committed_a_lease_ago() {
    let mut nodes = three();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    let late = if led == 1 { 2 } else { 1 };
    let mut client = Client::connect(node(&mut nodes, led), 30_000);
    pass(&mut nodes, 200, |_, _| true);
    assert_eq!(client.replies(node(&mut nodes, led)), []);
    assert!(node(&mut nodes, late).core().status().serving);
    // Heartbeats and leases come through, and no entry does.
    client.create(node(&mut nodes, led), "/a", b"", 0);
    pass_what(&mut nodes, 2 * LEASE_MS + 500, |_, to, message| to != late || !message.is_bulky());
    assert_eq!(client.replies(node(&mut nodes, led)).len(), 1);
    let late = node(&mut nodes, late);
    assert!(!late.core().status().serving && late.tree().node("/a").is_none());
}

/// What a new leader knows of the past is what it holds. Had it to lead for a lease first, each change of leader would let a
/// member that lags answer for two leases more.
#[test]
fn lease_of_a_new_leader_is_granted_to_no_member_that_lacks_what_was_committed_before() {
    let mut nodes = founders_with(&[1, 2, 3, 4, 5], |_| ());
    let led = leader(&mut nodes, |_| true, |_, _| true);
    let late = if led == 1 { 2 } else { 1 };
    let others: Vec<_> = (1..=5).filter(|other| *other != led).collect();
    let mut client = Client::connect(node(&mut nodes, led), 30_000);
    pass(&mut nodes, 200, |_, _| true);
    assert_eq!(client.replies(node(&mut nodes, led)), []);
    assert!(node(&mut nodes, late).core().status().serving);
    client.create(node(&mut nodes, led), "/a", b"", 0);
    let lags = |to: u64, message: &PeerMessage| to != late || !message.is_bulky();
    pass_what(&mut nodes, LEASE_MS / 2, |_, to, message| lags(to, message));
    assert_eq!(client.replies(node(&mut nodes, led)).len(), 1, "it is committed");
    assert!(node(&mut nodes, late).core().status().serving, "it has a lease yet");
    for other in &others {
        node(&mut nodes, *other).link(MemberId(led), false);
    }
    // The one that lags may vote and ask for leases, and gets no entry.
    let apart = |from, to, message: &PeerMessage| from != led && to != led && lags(to, message);
    pass_what(&mut nodes, 3 * LEASE_MS / 2, apart);
    let next = others.iter().find(|other| node(&mut nodes, **other).leads_in().is_some());
    assert!(next.is_some_and(|next| *next != late && node(&mut nodes, *next).core().status().serving));
    let late = node(&mut nodes, late);
    assert!(late.tree().node("/a").is_none());
    assert!(!late.core().status().serving && late.now().mono() > late.core().lease_until());
}
