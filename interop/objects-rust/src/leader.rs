//! Which member is asked: the leader, once a response has named it.

use std::time::{Duration, Instant};

use diwan_objects::{Cluster, Counter};

use crate::harness::{Test, connect, control, fresh};

pub(crate) const TESTS: &[Test] = &[("leader.requests_go_to_the_leader", go_to_the_leader)];

const CALLS: u64 = 200;

/// How many requests each member has had.
fn asked() -> [u64; 3] {
    ["1", "2", "3"].map(|number| control(&["requests", number]).parse().expect("a number"))
}

/// Calls it; who leads and whom the requests went to, if that is not the leader throughout.
fn strays(counter: &Counter) -> Option<String> {
    let leader: usize = control(&["leader"]).parse().expect("a number");
    let before = asked();
    (0..CALLS).for_each(|_| _ = counter.increment().expect("it counts"));
    let after = asked();
    let grown: Vec<_> = after.iter().zip(before).map(|(after, before)| after.saturating_sub(before)).collect();
    let others = grown.iter().sum::<u64>() - grown[leader - 1];
    let has_kept = grown[leader - 1] >= CALLS && others < CALLS / 2;
    let strayed = !has_kept && control(&["leader"]) == leader.to_string();
    strayed.then(|| format!("member {leader} leads: {grown:?}"))
}

fn go_to_the_leader(_: &Cluster) {
    // A cluster object begins with a member that it draws.
    for _ in 0..5 {
        let cluster = connect(Duration::from_secs(5));
        let counter = Counter::new(&cluster, &fresh());
        (0..20).for_each(|_| _ = counter.increment().expect("it counts"));
        // One that was elected a moment ago may not have served then: it is shunned for 5 seconds, and another may be elected meanwhile.
        let end = Instant::now() + Duration::from_secs(20);
        while let Some(strayed) = strays(&counter) {
            assert!(Instant::now() < end, "{strayed}");
        }
        cluster.close();
    }
}
