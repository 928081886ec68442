//! Which member is asked: the leader, once a response has named it.

use std::time::Duration;

use diwan_objects::{Cluster, Counter};

use crate::harness::{Test, connect, control, fresh};

pub(crate) const TESTS: &[Test] = &[("leader.requests_go_to_the_leader", go_to_the_leader)];

const CALLS: u64 = 200;

/// How many requests each member has had.
fn asked() -> [u64; 3] {
    ["1", "2", "3"].map(|number| control(&["requests", number]).parse().expect("a number"))
}

fn go_to_the_leader(_: &Cluster) {
    // A cluster object begins with a member that it draws.
    for _ in 0..5 {
        let cluster = connect(Duration::from_secs(5));
        let counter = Counter::new(&cluster, &fresh());
        (0..20).for_each(|_| _ = counter.increment().expect("it counts"));
        let leader: usize = control(&["leader"]).parse().expect("a number");
        let before = asked();
        (0..CALLS).for_each(|_| _ = counter.increment().expect("it counts"));
        let after = asked();
        let grown: Vec<_> = after.iter().zip(before).map(|(after, before)| after.saturating_sub(before)).collect();
        let others = grown.iter().sum::<u64>() - grown[leader - 1];
        if control(&["leader"]) == leader.to_string() {
            assert!(grown[leader - 1] >= CALLS && others < CALLS / 2, "member {leader} leads: {grown:?}");
        }
        cluster.close();
    }
}
