//! Members of an older and a newer build in one ensemble: the feature level of the log rises when all are known to be of
//! the newer one.

use member::Now;
use sim::disk::SimDisk;

use crate::three::{Nodes, leader, node, pass, start_with};

const FOUNDERS: [u64; 3] = [1, 2, 3];
const OLDER: u32 = 1;
const NEWER: u32 = 2;

fn levels(nodes: &Nodes) -> Vec<u32> {
    nodes.values().map(|node| node.tree().feature_level()).collect()
}

#[test]
fn level_rises_only_when_every_member_is_known_to_understand_it() {
    let disks = FOUNDERS.map(SimDisk::new);
    let start = |id: u64, level: u32, now: Now| {
        let disk = disks[id as usize - 1].clone();
        let mut node = start_with(&FOUNDERS, id, disk, now, |core| core.feature_level = level);
        FOUNDERS.into_iter().filter(|other| *other != id).for_each(|other| node.link(other, true));
        node
    };
    let now = Now { mono_ms: 1_000, wall_ms: 1_700_000_000_000 };
    let mut nodes: Nodes = FOUNDERS.into_iter().map(|id| (id, start(id, OLDER, now))).collect();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    pass(&mut nodes, 1_000, |_, _| true);
    assert_eq!(levels(&nodes), [OLDER; 3]);

    // The leader and another one are upgraded. Nobody knows yet what the third member understands.
    let other = if led == 1 { 2 } else { 1 };
    let third = 6 - led - other;
    let now = node(&mut nodes, led).now();
    for (one, knows) in [(led, other), (other, led)] {
        nodes.insert(one, start(one, NEWER, now));
        node(&mut nodes, one).core().understands(knows, NEWER);
    }
    node(&mut nodes, third).link(led, false);
    node(&mut nodes, third).link(led, true);
    let led = (0..20).find_map(|_| {
        let led = leader(&mut nodes, |_| true, |_, _| true);
        if led == third {
            node(&mut nodes, led).core().step_aside();
        }
        (led != third).then_some(led)
    });
    let led = led.expect("one of the upgraded leads");
    pass(&mut nodes, 1_000, |_, _| true);
    assert_eq!(levels(&nodes), [OLDER; 3]);

    node(&mut nodes, led).core().understands(third, OLDER);
    pass(&mut nodes, 1_000, |_, _| true);
    assert_eq!(levels(&nodes), [OLDER; 3]);

    let now = node(&mut nodes, led).now();
    nodes.insert(third, start(third, NEWER, now));
    node(&mut nodes, led).core().understands(third, NEWER);
    pass(&mut nodes, 1_000, |_, _| true);
    let led = leader(&mut nodes, |id| id != third, |_, _| true);
    pass(&mut nodes, 1_000, |_, _| true);
    assert_eq!(node(&mut nodes, led).tree().feature_level(), NEWER);
}
