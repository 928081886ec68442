//! Members of an older and a newer build in one ensemble: the feature level of the log rises when all are known to be of
//! the newer one.

use base::Now;
use consensus_replica::MemberId;
use sim_council::disk::SimDisk;
use sim_council::node::Node;

use crate::three::{Nodes, leader, node, pass, start_with};

const FOUNDERS: [u64; 3] = [1, 2, 3];
const OLDER: u32 = 1;
const NEWER: u32 = 2;
const START: Now = Now::of_ms(1_000, 1_700_000_000_000);

fn levels(nodes: &Nodes) -> Vec<u32> {
    nodes.values().map(|node| node.tree().feature_level()).collect()
}

/// A member of that build starts. It knows nothing of the others' builds.
fn start_on(disks: &[SimDisk; 3], id: u64, level: u32, now: Now) -> Node<SimDisk> {
    let disk = disks[id as usize - 1].clone();
    let mut node = start_with(&FOUNDERS, id, disk, now, |core| core.replica.feature_level = level);
    FOUNDERS.into_iter().filter(|other| *other != id).for_each(|other| node.link(MemberId(other), true));
    node
}

#[test]
fn level_rises_only_when_every_member_is_known_to_understand_it() {
    let disks = FOUNDERS.map(SimDisk::new);
    let start = |id: u64, level: u32, now: Now| start_on(&disks, id, level, now);
    let mut nodes: Nodes = FOUNDERS.into_iter().map(|id| (id, start(id, OLDER, START))).collect();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    pass(&mut nodes, 1_000, |_, _| true);
    assert_eq!(levels(&nodes), [OLDER; 3]);

    // The leader and another one are upgraded. Nobody knows yet what the third member understands.
    let other = if led == 1 { 2 } else { 1 };
    let third = 6 - led - other;
    let now = node(&mut nodes, led).now();
    for (one, knows) in [(led, other), (other, led)] {
        nodes.insert(one, start(one, NEWER, now));
        node(&mut nodes, one).core().understands(MemberId(knows), NEWER);
    }
    node(&mut nodes, third).link(MemberId(led), false);
    node(&mut nodes, third).link(MemberId(led), true);
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

    node(&mut nodes, led).core().understands(MemberId(third), OLDER);
    pass(&mut nodes, 1_000, |_, _| true);
    assert_eq!(levels(&nodes), [OLDER; 3]);

    let now = node(&mut nodes, led).now();
    nodes.insert(third, start(third, NEWER, now));
    node(&mut nodes, led).core().understands(MemberId(third), NEWER);
    pass(&mut nodes, 1_000, |_, _| true);
    let led = leader(&mut nodes, |id| id != third, |_, _| true);
    pass(&mut nodes, 1_000, |_, _| true);
    assert_eq!(node(&mut nodes, led).tree().feature_level(), NEWER);
}

/// A leader raises the level in a log that nobody else gets, and loses that with its term.
#[test]
fn level_is_raised_again_where_that_was_lost_with_a_term() {
    let disks = FOUNDERS.map(SimDisk::new);
    let start = |level: u32, now: Now| FOUNDERS.map(|id| (id, start_on(&disks, id, level, now)));
    let mut nodes = Nodes::from(start(OLDER, START));
    let led = leader(&mut nodes, |_| true, |_, _| true);
    pass(&mut nodes, 1_000, |_, _| true);
    let now = node(&mut nodes, led).now();
    nodes = Nodes::from(start(NEWER, now));
    let mut led = leader(&mut nodes, |_| true, |_, _| true);
    pass(&mut nodes, 1_000, |_, _| true);
    if led == 1 {
        // Of those who have all of the log, the one with the highest number is handed the lead.
        node(&mut nodes, led).core().step_aside();
        led = leader(&mut nodes, |id| id != 1, |_, _| true);
    }
    pass(&mut nodes, 1_000, |_, _| true);
    assert_eq!(levels(&nodes), [OLDER; 3]);

    let others: Vec<_> = FOUNDERS.into_iter().filter(|id| *id != led).collect();
    let apart = |from, to| from != led && to != led;
    let before = node(&mut nodes, led).core().status().commands;
    others.iter().for_each(|other| node(&mut nodes, led).core().understands(MemberId(*other), NEWER));
    pass(&mut nodes, 200, apart);
    assert!(node(&mut nodes, led).core().status().commands > before, "it raises the level");
    others.iter().for_each(|other| node(&mut nodes, *other).link(MemberId(led), false));
    let next = leader(&mut nodes, |id| id != led, apart);
    others.iter().for_each(|other| node(&mut nodes, *other).link(MemberId(led), true));
    pass(&mut nodes, 2_000, |_, _| true);
    assert_eq!(levels(&nodes), [OLDER; 3], "the next leader knows nobody's build");
    node(&mut nodes, next).core().step_aside();
    assert_eq!(leader(&mut nodes, |id| id != next, |_, _| true), led);
    pass(&mut nodes, 1_000, |_, _| true);
    assert_eq!(levels(&nodes), [NEWER; 3]);
}

#[test]
#[should_panic(expected = "the data is of feature level 2")]
fn member_of_an_older_build_stops_at_a_level_that_it_does_not_understand() {
    let disks = FOUNDERS.map(SimDisk::new);
    let mut nodes = Nodes::from(FOUNDERS.map(|id| (id, start_on(&disks, id, NEWER, START))));
    let led = leader(&mut nodes, |_| true, |_, _| true);
    FOUNDERS.into_iter().for_each(|id| node(&mut nodes, led).core().understands(MemberId(id), NEWER));
    pass(&mut nodes, 1_000, |_, _| true);
    assert_eq!(levels(&nodes), [NEWER; 3]);
    let (other, now) = (led % 3 + 1, node(&mut nodes, led).now());
    nodes.insert(other, start_on(&disks, other, OLDER, now));
    pass(&mut nodes, 5_000, |_, _| true);
}
