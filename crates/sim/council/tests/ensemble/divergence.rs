//! A member whose tree is not what the others have: it stops, and says why.

use council_wire::OpCode;
use sim_council::client::Client;

use crate::three::{Nodes, leader, node, pass, three};

/// Members compare digests at every so manieth transaction.
const INTERVAL: u64 = 128;

/// A client writes so much that members have something to compare; time enough passes for that.
fn write_and_wait(nodes: &mut Nodes, led: u64) {
    let mut client = Client::connect(node(nodes, led), 30_000);
    pass(nodes, 200, |_, _| true);
    client.replies(node(nodes, led));
    client.create(node(nodes, led), "/a", b"0", 0);
    for _ in 0..=INTERVAL {
        client.set(node(nodes, led), "/a", b"1");
        pass(nodes, 20, |_, _| true);
    }
    client.ask(node(nodes, led), OpCode::Ping, |_| {});
    pass(nodes, 5_000, |_, _| true);
    assert!(client.replies(node(nodes, led)).len() as u64 > INTERVAL);
}

#[test]
fn members_that_agree_go_on() {
    let mut nodes = three();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    write_and_wait(&mut nodes, led);
}

#[test]
#[should_panic(expected = "differs from that of a majority")]
fn member_with_another_tree_stops() {
    let mut nodes = three();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    let other = if led == 1 { 2 } else { 1 };
    // The leader's first entries take effect; one that came later could undo the difference.
    pass(&mut nodes, 500, |_, _| true);
    node(&mut nodes, other).diverge();
    write_and_wait(&mut nodes, led);
}
