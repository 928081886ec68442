//! Many partitions.

use replication_appointed::Epoch;
use replication_controller::{Effect as Order, Event, FenceRequest, Known, PartitionId, Version};
use replication_node::Effect;

use crate::bench::{Bench, C, OWN, record};

const COUNT: u32 = 9_000;

/// A node that leads all of them, each alone.
fn many() -> Bench {
    let mut bench = Bench::new();
    for id in (0..COUNT).map(PartitionId::numbered) {
        let known = Known { partition: id, version: Version(1), record: record(1, 1, &[1]) };
        bench.node.learn(known, bench.now, &mut bench.copies);
    }
    bench.create();
    bench.disk();
    bench
}

#[test]
fn idle_partitions_cost_nothing() {
    let mut bench = many();
    assert!(bench.copies.0.values().all(|copy| copy.replica.is_established()));
    assert_eq!(bench.node.next_deadline(), None);
    bench.node.tick(bench.now.plus_ms(60_000), &mut bench.copies);
    assert_eq!(bench.effects(), []);
}

#[test]
fn answers_of_many_partitions_share_messages_of_bounded_length() {
    let mut bench = many();
    let all = (0..COUNT).map(PartitionId::numbered);
    let fences = all.map(|partition| FenceRequest { partition, epoch: Epoch(2) }).collect();
    bench.order(C, Order::SendFence { node: OWN, fences });
    let lengths: Vec<usize> = bench
        .disk()
        .iter()
        .filter_map(|effect| match effect {
            Effect::Inform { event: Event::Promised { answers, .. }, .. } => Some(answers.len()),
            _ => None,
        })
        .collect();
    assert_eq!(lengths, [4_096, 4_096, 808]);
}

#[test]
fn message_for_another_node_changes_nothing() {
    let mut bench = many();
    let fences = vec![FenceRequest { partition: PartitionId::numbered(1), epoch: Epoch(2) }];
    assert_eq!(bench.order(C, Order::SendFence { node: crate::bench::OTHER, fences }), []);
    assert!(bench.copies.0.values().all(|copy| copy.replica.is_leading()));
}
