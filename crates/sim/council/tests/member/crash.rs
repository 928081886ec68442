//! Crashes at every point: nothing acknowledged is lost, nothing that was never sent appears, and what was not
//! acknowledged is there once or not at all.

use std::collections::BTreeMap;

use sim_council::client::Client;
use sim_council::disk::{Loss, SimDisk};
use sim_council::node::{Node, NodeConfig, STEPS};
use sim_council::random::{Random, seeds};

use crate::{START, config};

/// What one client knows of its node's value: a counter that it writes.
#[derive(Default)]
struct Known {
    sent: u64,
    acknowledged: u64,
    xids: BTreeMap<i32, u64>,
}

struct Writer {
    client: Client,
    path: String,
    known: Known,
}

impl Writer {
    fn hear(&mut self, node: &mut Node<SimDisk>) {
        for reply in self.client.replies(node) {
            if let Some(value) = self.known.xids.remove(&reply.xid) {
                assert_eq!(reply.err, 0);
                self.known.acknowledged = self.known.acknowledged.max(value);
            }
        }
    }

    fn write(&mut self, node: &mut Node<SimDisk>) {
        self.known.sent += 1;
        let value = self.known.sent;
        let text = format!("{value:0>200}");
        let xid = if value == 1 {
            self.client.create(node, &self.path, text.as_bytes(), 0)
        } else {
            self.client.set(node, &self.path, text.as_bytes())
        };
        self.known.xids.insert(xid, value);
    }

    /// What the tree holds for this client, as a number; 0 when there is nothing.
    fn found(&self, node: &Node<SimDisk>) -> u64 {
        let Some(found) = node.tree().node(&self.path) else { return 0 };
        let text = std::str::from_utf8(found.data().expect("it has data")).expect("it is text");
        text.parse().expect("it is a number")
    }
}

fn settings(random: &mut Random) -> NodeConfig {
    let mut settings = config();
    settings.core.replica.snapshot_after_bytes = 4_000 + random.below(40_000);
    settings.core.replica.entry_bytes_max = 200 + random.below(4_000) as usize;
    settings
}

/// Runs until the disk crashes or the work is done; gives whether it crashed.
fn work(node: &mut Node<SimDisk>, writers: &mut [Writer], random: &mut Random) -> bool {
    for _ in 0..400 {
        let drawn = random.below(8) as usize;
        if drawn < 3 {
            let place = random.below(writers.len() as u64) as usize;
            if writers[place].client.is_connected() {
                writers[place].write(node);
            }
        } else if node.step(STEPS[drawn - 3]).is_err() {
            return true;
        }
        for writer in &mut *writers {
            writer.hear(node);
        }
    }
    false
}

fn life(seed: u64, crash_after: u64) -> u64 {
    let mut random = Random::new(seed);
    let disk = SimDisk::new(seed);
    let settings = settings(&mut random);
    let mut node = Node::start(disk.clone(), &settings, START).expect("the disk is well");
    let connect = |node: &mut Node<SimDisk>, number: usize| Writer {
        client: Client::connect(node, 30_000),
        path: format!("/w{number}"),
        known: Known::default(),
    };
    let mut writers: Vec<_> = (0..3).map(|number| connect(&mut node, number)).collect();
    node.settle().expect("the disk is well");
    for life in 0..3 {
        disk.crash_at(disk.operations() + 1 + crash_after * (life + 1) % 97);
        let crashed = work(&mut node, &mut writers, &mut random);
        let last_zxid = node.tree().last_zxid();
        drop(node);
        disk.crash([Loss::All, Loss::Nothing, Loss::Some][random.below(3) as usize]);
        node = Node::start(disk.clone(), &settings, START)
            .unwrap_or_else(|error| panic!("seed {seed} crash {crash_after} life {life}: {error:?}"));
        assert!(node.tree().last_zxid() > last_zxid, "seed {seed}: a zxid could be given out twice");
        for writer in &mut writers {
            let (found, known) = (writer.found(&node), &writer.known);
            assert!(
                (known.acknowledged..=known.sent).contains(&found),
                "seed {seed} crash {crash_after} life {life} (crashed: {crashed}): {} holds {found}, \
                 acknowledged {}, sent {}",
                writer.path,
                known.acknowledged,
                known.sent
            );
            // What was found is found for good; what was sent and is not there will never come.
            writer.known = Known { sent: found, acknowledged: found, xids: BTreeMap::new() };
            writer.client.reconnect(&mut node, 30_000);
        }
        node.settle().expect("the disk is well");
        for writer in &mut writers {
            writer.hear(&mut node);
            assert_eq!(writer.client.timeout_ms, 30_000, "seed {seed}: an acknowledged session is gone");
        }
    }
    disk.operations()
}

#[test]
fn nothing_acknowledged_is_lost_wherever_the_crash_comes() {
    let (mut operations, mut lives) = (0, 0);
    for seed in seeds(400) {
        operations += life(seed, 1 + seed % 96);
        lives += 1;
    }
    assert!(operations > lives * 25, "the disk was hardly used: {operations} operations in {lives} lives");
}
