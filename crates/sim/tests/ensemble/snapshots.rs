//! A member that was away for so long that it is given a snapshot.

use std::cell::RefCell;
use std::collections::BTreeSet;

use member::PeerMessage;
use sim::client::Client;
use sim::node::Step;

use crate::three::{LEASE_MS, Nodes, leader, node, pass, pass_how, pass_what, three};

const BULKY: usize = 5_000;
const WRITES: usize = 20;

/// Three members, who leads, and who is to be away.
fn begin() -> (Nodes, u64, u64) {
    let mut nodes = three();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    (nodes, led, if led == 1 { 2 } else { 1 })
}

/// More than the log that is kept for those who lag, while one is away.
fn write_much(nodes: &mut Nodes, led: u64, late: u64, client: &mut Client) {
    for number in 0..WRITES {
        client.create(node(nodes, led), &format!("/{number}"), &[b'a'; BULKY], 0);
        pass(nodes, 200, |from, to| from != late && to != late);
    }
    assert_eq!(client.replies(node(nodes, led)).len(), WRITES);
}

#[test]
fn a_snapshot_of_which_words_are_lost_arrives_soon() {
    let (mut nodes, led, late) = begin();
    let mut client = Client::connect(node(&mut nodes, led), 60_000);
    pass(&mut nodes, 200, |_, _| true);
    write_much(&mut nodes, led, late, &mut client);
    let lost = RefCell::new(BTreeSet::new());
    let comes = |message: &PeerMessage| match message {
        PeerMessage::Offer(_) => !lost.borrow_mut().insert("the offer"),
        PeerMessage::Taken { whole: true, .. } => !lost.borrow_mut().insert("that it has arrived"),
        _ => true,
    };
    pass_what(&mut nodes, LEASE_MS, |_, _, message| comes(message));
    assert_eq!(lost.borrow().len(), 2, "{lost:?}");
    let back = node(&mut nodes, late);
    assert!(back.core().status().serving && back.tree().node("/19").is_some());
}

#[test]
fn what_was_committed_before_a_snapshot_is_not_applied_behind_it() {
    let (mut nodes, led, late) = begin();
    pass(&mut nodes, 500, |_, _| true);
    let mut client = Client::connect(node(&mut nodes, led), 60_000);
    pass(&mut nodes, 200, |_, _| true);
    // It hears that these are committed, and does not come to apply them.
    let applies = |number, step| number != late || step != Step::Apply;
    for number in 0..3 {
        client.create(node(&mut nodes, led), &format!("/early-{number}"), b"", 0);
    }
    pass_how(&mut nodes, 1_000, applies, |_, _, _| true);
    assert_eq!(client.replies(node(&mut nodes, led)).len(), 3);
    assert!(node(&mut nodes, late).tree().node("/early-0").is_none());
    let away = |from, to, _: &PeerMessage| from != late && to != late;
    pass_how(&mut nodes, 100, applies, away);
    for number in 0..WRITES {
        client.create(node(&mut nodes, led), &format!("/{number}"), &[b'a'; BULKY], 0);
        pass_how(&mut nodes, 200, applies, away);
    }
    pass_how(&mut nodes, LEASE_MS, applies, |_, _, _| true);
    pass(&mut nodes, LEASE_MS, |_, _| true);
    let installs = node(&mut nodes, late).core().counts()[1];
    assert_eq!(installs, 1, "it was given a snapshot");
    let ends = [led, late].map(|number| {
        let node = node(&mut nodes, number);
        (node.applied_index(), node.tree().last_zxid(), node.tree().digest())
    });
    assert_eq!(ends[0], ends[1]);
}
