//! A follower's commands are forwarded to the leader, which puts each into its log once. What it has not put there, or has
//! lost with an earlier term, it takes when it is forwarded again.

use base::MemberId;
use council_replica::{CouncilMessage, PeerMessage};
use sim_council::client::Client;
use sim_council::node::Step;

use crate::three::{Nodes, founders_with, leader, node, pass, pass_how, pass_what, three};

/// It has the lowest number: where logs are equally long, another one is elected.
const FOLLOWER: u64 = 1;

/// Three members, of which another one than [`FOLLOWER`] leads, and a client of that one whose first write was
/// answered.
fn begin() -> (Nodes, u64, Client) {
    let mut nodes = three();
    let mut led = leader(&mut nodes, |_| true, |_, _| true);
    if led == FOLLOWER {
        node(&mut nodes, led).core().step_aside();
        led = leader(&mut nodes, |number| number != FOLLOWER, |_, _| true);
    }
    pass(&mut nodes, 500, |_, _| true);
    let mut client = Client::connect(node(&mut nodes, FOLLOWER), 60_000);
    pass(&mut nodes, 500, |_, _| true);
    client.create(node(&mut nodes, FOLLOWER), "/a", b"", 0);
    pass(&mut nodes, 500, |_, _| true);
    assert_eq!(client.replies(node(&mut nodes, FOLLOWER)).len(), 1);
    (nodes, led, client)
}

/// The member that is to lead next hears nothing of that, and the leader leads on.
#[test]
fn command_refused_during_leadership_transfer_is_taken_afterwards() {
    let (mut nodes, led, mut client) = begin();
    let next = 6 - FOLLOWER - led;
    let term = node(&mut nodes, led).leads_in();
    node(&mut nodes, led).core().step_aside();
    client.create(node(&mut nodes, FOLLOWER), "/b", b"", 0);
    let apart = |from, to| from != next && to != next;
    pass(&mut nodes, 500, apart);
    assert_eq!(client.replies(node(&mut nodes, FOLLOWER)), [], "nothing is proposed meanwhile");
    pass(&mut nodes, 2_500, apart);
    pass(&mut nodes, 5_000, |_, _| true);
    assert_eq!(node(&mut nodes, led).leads_in(), term);
    assert_eq!(client.replies(node(&mut nodes, FOLLOWER)).len(), 1);
}

/// A leader has a command in its log that never gets to another member. It loses that to the next leader, which is not
/// given the command, and leads again.
#[test]
fn command_lost_with_leaders_term_is_taken_when_it_leads_again() {
    let (mut nodes, led, mut client) = begin();
    let other = 6 - FOLLOWER - led;
    client.create(node(&mut nodes, FOLLOWER), "/b", b"", 0);
    pass(&mut nodes, 100, |from, to| from != led && (from, to) != (other, led));
    for one in [FOLLOWER, other] {
        node(&mut nodes, one).link(MemberId(led), false);
    }
    let is_forward =
        |message: &PeerMessage| matches!(message, PeerMessage::Machine(CouncilMessage::Forward(_)));
    let apart = |from: u64, to: u64, message: &PeerMessage| from != led && to != led && !is_forward(message);
    pass_what(&mut nodes, 1_000, apart);
    let next = [FOLLOWER, other].into_iter().find(|one| node(&mut nodes, *one).leads_in().is_some());
    assert_eq!(next, Some(other));

    for one in [FOLLOWER, other] {
        node(&mut nodes, one).link(MemberId(led), true);
    }
    pass_what(&mut nodes, 2_000, |_, _, message| !is_forward(message));
    assert!(node(&mut nodes, led).leads_in().is_none());
    node(&mut nodes, other).core().step_aside();
    pass_what(&mut nodes, 500, |_, _, message| !is_forward(message));
    let term = node(&mut nodes, led).leads_in();
    assert!(term.is_some(), "it leads again");
    assert_eq!(client.replies(node(&mut nodes, FOLLOWER)), [], "nobody has it any more");
    pass(&mut nodes, 5_000, |_, _| true);
    assert_eq!(node(&mut nodes, led).leads_in(), term);
    assert_eq!(client.replies(node(&mut nodes, FOLLOWER)).len(), 1);
}

/// A leader is deposed while its disk stands still, with as much under way as may be. Its clients' commands go to the next
/// leader: what it would have proposed itself is nothing that they wait for.
#[test]
fn command_of_deposed_leader_is_forwarded_though_much_was_under_way() {
    let mut nodes = founders_with(&[1, 2, 3], |core| core.under_way_max = 300);
    let led = leader(&mut nodes, |_| true, |_, _| true);
    pass(&mut nodes, 500, |_, _| true);
    let mut client = Client::connect(node(&mut nodes, led), 60_000);
    pass(&mut nodes, 500, |_, _| true);
    client.create(node(&mut nodes, led), "/a", &[7; 1_000], 0);
    let stalls = |number: u64, step: Step| number != led || step != Step::Journal;
    pass_how(&mut nodes, 50, stalls, |from, to, _| from != led && to != led);
    for other in (1..=3).filter(|other| *other != led) {
        node(&mut nodes, other).link(MemberId(led), false);
    }
    let is_next = |nodes: &Nodes| nodes.iter().any(|(id, node)| *id != led && node.leads_in().is_some());
    while !is_next(&nodes) {
        pass_how(&mut nodes, 10, stalls, |from, to, _| from != led && to != led);
    }
    pass_how(&mut nodes, 1_000, stalls, |_, _, _| true);
    assert!(node(&mut nodes, led).leads_in().is_none(), "it has heard of the next leader");
    assert_eq!(client.replies(node(&mut nodes, led)), []);
    pass(&mut nodes, 3_000, |_, _| true);
    assert_eq!(client.replies(node(&mut nodes, led)).len(), 1, "it was forwarded again");
    client.create(node(&mut nodes, led), "/b", b"", 0);
    pass(&mut nodes, 1_000, |_, _| true);
    assert_eq!(client.replies(node(&mut nodes, led)).len(), 1);
}
