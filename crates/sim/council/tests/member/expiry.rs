//! Sessions end when their client is silent, and never for a pause of ours.

use council_wire::OpCode;
use sim_council::client::Client;
use sim_council::disk::SimDisk;
use sim_council::node::Node;

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
    disk.crash(sim_council::disk::Loss::All);
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

#[test]
fn an_epoch_that_is_used_up_gives_no_session_more_time() {
    let mut config = config();
    config.core.epoch_transactions_max = 20;
    let mut node = Node::start(SimDisk::new(1), &config, START).unwrap();
    let owner = owner(&mut node);
    let mut writer = client(&mut node);
    let epoch = node.tree().last_zxid().epoch();
    for _ in 0..9_950 / 50 {
        pass(&mut node, 50);
        writer.set(&mut node, "/", b"x");
        assert_eq!(answers(&mut node, &mut writer)[0].err, 0);
    }
    assert!(node.tree().last_zxid().epoch() >= epoch + 5, "epochs were used up");
    assert!(node.tree().session(owner.session).is_some());
    for _ in 0..6 {
        pass(&mut node, 50);
        writer.set(&mut node, "/", b"x");
        answers(&mut node, &mut writer);
    }
    assert!(node.tree().session(owner.session).is_none(), "its silence began before all of them");
}
