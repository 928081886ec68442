//! A turn of applying is bounded: by the bytes of commands, and by what they cost beyond those. So is what a leader puts
//! into its log before it is applied.

use council_wire::OpCode;
use sim_council::client::Client;
use sim_council::disk::SimDisk;
use sim_council::node::{Node, Step};

use crate::{START, answers, client, config};

const BUDGET: usize = 10_000;

fn start() -> Node<SimDisk> {
    let mut config = config();
    config.core.replica.apply_bytes_max = BUDGET;
    Node::start(SimDisk::new(1), &config, START).expect("the disk is well")
}

/// Commits what was sent, and applies nothing of it.
fn commit(node: &mut Node<SimDisk>) {
    for step in [Step::Shards, Step::Core] {
        node.step(step).expect("the disk is well");
    }
    for _ in 0..20 {
        node.step(Step::Advance).expect("the disk is well");
        node.step(Step::Journal).expect("the disk is well");
    }
}

/// How many of these nodes are there after each turn, until nothing changes any more.
fn turns(node: &mut Node<SimDisk>, count: impl Fn(&Node<SimDisk>) -> usize) -> Vec<usize> {
    let mut counts = vec![count(node)];
    for _ in 0..1_000 {
        node.step(Step::Apply).expect("the disk is well");
        let now = count(node);
        if counts.last() == Some(&now) {
            break;
        }
        counts.push(now);
    }
    counts
}

fn children(node: &Node<SimDisk>) -> usize {
    node.tree().node("/p").map_or(0, |parent| parent.num_children())
}

fn parent(node: &mut Node<SimDisk>) -> Client {
    let mut client = client(node);
    client.create(node, "/p", b"", 0);
    answers(node, &mut client);
    client
}

#[test]
fn turn_of_applying_ends_when_its_bytes_are_used_up() {
    let mut node = start();
    let mut writer = parent(&mut node);
    for number in 0..60 {
        writer.create(&mut node, &format!("/p/{number}"), &[0; 900], 0);
    }
    commit(&mut node);
    let counts = turns(&mut node, children);
    assert_eq!((counts.first(), counts.last()), (Some(&0), Some(&60)));
    let most = counts.windows(2).map(|pair| pair[1] - pair[0]).max();
    assert!(most <= Some(BUDGET / 900 + 1), "{counts:?}");
}

#[test]
fn turn_of_applying_ends_when_its_work_is_done() {
    let mut node = start();
    let mut writer = parent(&mut node);
    let mut owners: Vec<_> = (0..10).map(|_| client(&mut node)).collect();
    for (place, owner) in owners.iter_mut().enumerate() {
        // Each takes as many steps to be removed as half a turn has.
        for number in 0..BUDGET / 2 / 100 {
            owner.create(&mut node, &format!("/p/{place}-{number}"), b"", 1);
        }
        assert!(answers(&mut node, owner).iter().all(|reply| reply.err == 0));
    }
    for owner in &mut owners {
        owner.ask(&mut node, OpCode::CloseSession, |_| {});
    }
    commit(&mut node);
    let counts = turns(&mut node, children);
    assert_eq!((counts.first(), counts.last()), (Some(&500), Some(&0)));
    let most = counts.windows(2).map(|pair| pair[0] - pair[1]).max();
    assert!(most <= Some(100), "{counts:?}");
    writer.create(&mut node, "/p/again", b"", 0);
    assert_eq!(answers(&mut node, &mut writer)[0].err, 0);
}

#[test]
fn leader_puts_no_more_into_its_log_than_may_be_under_way() {
    let mut config = config();
    config.core.under_way_max = BUDGET as u64;
    let mut node = Node::start(SimDisk::new(1), &config, START).expect("the disk is well");
    let mut writer = parent(&mut node);
    for number in 0..60 {
        writer.create(&mut node, &format!("/p/{number}"), &[0; 900], 0);
    }
    commit(&mut node);
    // No turn of proposing comes between.
    let in_log = turns(&mut node, children).pop();
    assert!(in_log > Some(0) && in_log <= Some(BUDGET / 900 + 1), "{in_log:?}");
    assert!(answers(&mut node, &mut writer).iter().all(|reply| reply.err == 0));
    assert_eq!(children(&node), 60, "the others had their turns");
}
