//! Sessions end when their client is silent, and never for a pause of ours.

use jute::OpCode;
use sim::client::Client;
use sim::disk::SimDisk;
use sim::node::Node;

use crate::{START, answers, client, config, start};

/// Lets `ms` pass in steps short enough that none of them looks like a stall.
fn pass(node: &mut Node<SimDisk>, ms: u64) {
    for _ in 0..ms / 50 {
        node.pass(50);
        node.settle().expect("the disk is well");
    }
}

fn owner(node: &mut Node<SimDisk>) -> Client {
    let mut owner = client(node);
    owner.create(node, "/mine", b"", 1);
    answers(node, &mut owner);
    owner
}

#[test]
fn a_silent_session_ends_after_its_timeout_and_at_most_two_ticks_more() {
    let mut node = start(&SimDisk::new(1));
    let mut owner = owner(&mut node);
    pass(&mut node, 9_950);
    assert!(node.tree().session(owner.session).is_some());
    pass(&mut node, 300);
    assert!(node.tree().session(owner.session).is_none());
    assert!(node.tree().node("/mine").is_none());
    assert!(node.is_closed(owner.conn()));
    owner.reconnect(&mut node, 10_000);
    answers(&mut node, &mut owner);
    assert_eq!(owner.timeout_ms, 0, "an expired session is told so");
}

#[test]
fn pings_keep_a_session() {
    let mut node = start(&SimDisk::new(1));
    let mut owner = owner(&mut node);
    for _ in 0..10 {
        pass(&mut node, 5_000);
        owner.ask(&mut node, OpCode::Ping, |_| {});
    }
    pass(&mut node, 5_000);
    assert!(node.tree().session(owner.session).is_some());
}

#[test]
fn a_pause_of_the_server_ends_no_session() {
    let mut node = start(&SimDisk::new(1));
    let owner = owner(&mut node);
    pass(&mut node, 5_000);
    node.pass(60_000);
    node.settle().unwrap();
    pass(&mut node, 4_800);
    assert!(node.tree().session(owner.session).is_some());
    assert!(node.core().status().forgiven_ms >= 60_000);
    pass(&mut node, 500);
    assert!(node.tree().session(owner.session).is_none(), "but its own silence still counts");
}

#[test]
fn after_a_restart_each_session_has_its_full_timeout_again() {
    let disk = SimDisk::new(1);
    let mut node = start(&disk);
    let owner = owner(&mut node);
    pass(&mut node, 9_000);
    drop(node);
    disk.crash(sim::disk::Loss::All);
    let mut node = Node::start(disk, &config(), START).unwrap();
    pass(&mut node, 9_900);
    assert!(node.tree().session(owner.session).is_some());
    pass(&mut node, 400);
    assert!(node.tree().session(owner.session).is_none());
}

#[test]
fn a_session_that_moves_while_its_expiry_is_under_way_lives_on() {
    let mut node = start(&SimDisk::new(1));
    let mut owner = owner(&mut node);
    pass(&mut node, 9_950);
    node.pass(50);
    node.pass(50);
    // The verdict is being reached; the client comes back first.
    owner.reconnect(&mut node, 10_000);
    answers(&mut node, &mut owner);
    let lives = node.tree().session(owner.session).is_some();
    assert_eq!(lives, owner.timeout_ms == 10_000, "what the client was told is what happened");
}
