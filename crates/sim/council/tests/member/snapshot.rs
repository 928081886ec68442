//! Snapshots: of one point in time, while writes go on, and good for a restart.

use std::collections::BTreeMap;

use council_tree::Tree;
use council_wire::Stat;
use sim_council::disk::{Loss, SimDisk};
use sim_council::node::{Node, Step};

use crate::{START, answers, client, config, data, start};

/// Every node with its Stat and data.
fn nodes(tree: &Tree) -> BTreeMap<String, (Stat, Option<Vec<u8>>)> {
    let mut nodes = BTreeMap::new();
    let mut open = vec![String::from("/")];
    while let Some(path) = open.pop() {
        let node = tree.node(&path).expect("a listed child exists");
        let above = if path == "/" { "" } else { &path };
        open.extend(node.children().map(|name| format!("{above}/{name}")));
        nodes.insert(path, (node.stat(), node.data().map(<[u8]>::to_vec)));
    }
    nodes
}

#[test]
fn a_restart_from_snapshot_and_log_gives_the_same_tree() {
    let disk = SimDisk::new(1);
    let mut node = start(&disk);
    let mut client = client(&mut node);
    for number in 0..500 {
        client.create(&mut node, &format!("/n{number}"), &[b'x'; 300], 0);
    }
    answers(&mut node, &mut client);
    node.core().request_snapshot();
    for number in 0..500 {
        client.set(&mut node, &format!("/n{number}"), format!("new {number}").as_bytes());
        // Also what the scan comes to last, before it does.
        client.set(&mut node, &format!("/n{}", (number + 400) % 500), b"newer");
        if number % 2 == 0 {
            client.delete(&mut node, &format!("/n{}", 499 - number));
        }
        for step in [Step::Shards, Step::Core, Step::Advance, Step::Journal, Step::Apply] {
            node.step(step).unwrap();
        }
    }
    answers(&mut node, &mut client);
    let last = node.core().status().last_snapshot.expect("a snapshot was saved");
    assert!(last.bytes > 100_000);
    assert!(last.position < node.tree().last_zxid().0, "writes went on meanwhile");
    let (nodes, zxid) = (nodes(node.tree()), node.tree().last_zxid());
    drop(node);
    disk.crash(Loss::All);
    let node = Node::start(disk, &config(), START).unwrap();
    assert!(crate::snapshot::nodes(node.tree()) == nodes);
    assert_eq!(node.tree().last_zxid(), council_wire::Zxid::new(zxid.epoch() + 1, 0));
}

#[test]
fn the_log_does_not_grow_for_ever() {
    let disk = SimDisk::new(1);
    let mut settings = config();
    settings.core.replica.snapshot_after_bytes = 100_000;
    let mut node = Node::start(disk.clone(), &settings, START).unwrap();
    let mut client = client(&mut node);
    client.create(&mut node, "/n", b"", 0);
    for _ in 0..2_000 {
        client.set(&mut node, "/n", &[b'x'; 1000]);
        if client.replies(&mut node).len() < 10 {
            node.settle().unwrap();
        }
    }
    answers(&mut node, &mut client);
    assert!(disk.used() < 1_000_000, "{} bytes are on the disk", disk.used());
    drop(node);
    disk.crash(Loss::All);
    let mut node = Node::start(disk, &settings, START).unwrap();
    client.reconnect(&mut node, 10_000);
    client.get(&mut node, "/n", false);
    assert_eq!(data(&answers(&mut node, &mut client)[0]), Ok(Some(vec![b'x'; 1000])));
}

/// The commands of an entry are applied in steps. A start applies whole entries behind its snapshot: were that begun in
/// the middle of one, an epoch that begins in the first half would begin twice.
#[test]
fn snapshot_is_not_begun_in_the_middle_of_an_entry() {
    let disk = SimDisk::new(1);
    let mut config = config();
    config.core.replica.apply_bytes_max = 1;
    config.core.epoch_transactions_max = 3;
    let mut node = Node::start(disk.clone(), &config, START).expect("the disk is well");
    let mut client = client(&mut node);
    for number in 0..5 {
        client.create(&mut node, &format!("/{number}"), b"", 0);
    }
    assert_eq!(answers(&mut node, &mut client).len(), 5);
    let epoch = node.tree().last_zxid().epoch();

    // The leader begins an epoch in the entry that holds these.
    node.pass(200);
    for number in 5..10 {
        client.create(&mut node, &format!("/{number}"), b"", 0);
    }
    for step in [Step::Shards, Step::Core, Step::Advance, Step::Journal, Step::Advance] {
        node.step(step).expect("the disk is well");
    }
    while node.tree().last_zxid().epoch() == epoch {
        node.step(Step::Apply).expect("the disk is well");
    }
    assert!(!node.core().status().between_entries);
    node.core().request_snapshot();
    node.step(Step::Apply).expect("the disk is well");
    node.settle().expect("the disk is well");
    assert_eq!(client.replies(&mut node).len(), 5);
    let (last, all) = (node.tree().last_zxid(), nodes(node.tree()));
    assert_eq!(last.epoch(), epoch + 1);

    let node = Node::start(disk, &config, START).expect("the disk is well");
    assert_eq!(node.tree().last_zxid().epoch(), last.epoch() + 1, "that of the new life");
    assert!(nodes(node.tree()) == all);
}
