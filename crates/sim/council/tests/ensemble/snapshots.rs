//! A member that was away for so long that it is given a snapshot.

use base::MemberId;
use std::cell::RefCell;
use std::collections::BTreeSet;

use council_replica::{CoreConfig, PeerMessage};
use sim_council::client::Client;
use sim_council::node::Step;

use crate::three::{LEASE_MS, Nodes, founders_with, leader, node, pass, pass_how, pass_what};

const BULKY: usize = 5_000;
const WRITES: usize = 20;

/// Three members, who leads, and who is to be away.
fn begin() -> (Nodes, u64, u64) {
    begin_with(|_| ())
}

fn begin_with(set: impl Fn(&mut CoreConfig)) -> (Nodes, u64, u64) {
    let mut nodes = founders_with(&[1, 2, 3], set);
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

/// Both members have the same tree.
fn assert_same(nodes: &mut Nodes, one: u64, other: u64) {
    let ends = [one, other].map(|number| {
        let node = node(nodes, number);
        (node.applied_index(), node.tree().last_zxid(), node.tree().digest())
    });
    assert_eq!(ends[0], ends[1]);
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
    assert_same(&mut nodes, led, late);
}

/// It has applied a part of an entry. What comes behind the snapshot is applied from its beginning.
#[test]
fn snapshot_that_comes_in_the_middle_of_an_entry_ends_that_entry() {
    let (mut nodes, led, late) = begin_with(|core| core.replica.apply_bytes_max = 1);
    pass(&mut nodes, LEASE_MS, |_, _| true);
    let mut client = Client::connect(node(&mut nodes, led), 60_000);
    pass(&mut nodes, 500, |_, _| true);
    for number in 0..5 {
        client.create(node(&mut nodes, led), &format!("/early-{number}"), b"", 0);
    }
    let is_within = (0..100).any(|_| {
        pass(&mut nodes, 10, |_, _| true);
        !node(&mut nodes, late).core().status().between_entries
    });
    assert!(is_within);
    let applies = |number, step| number != late || step != Step::Apply;
    let away = |from, to, _: &PeerMessage| from != late && to != late;
    pass_how(&mut nodes, 500, applies, away);
    for number in 0..WRITES {
        client.create(node(&mut nodes, led), &format!("/{number}"), &[b'a'; BULKY], 0);
        pass_how(&mut nodes, 200, applies, away);
    }
    pass_how(&mut nodes, LEASE_MS, applies, |_, _, _| true);
    pass(&mut nodes, LEASE_MS, |_, _| true);
    assert_eq!(node(&mut nodes, late).core().counts()[1], 1, "it was given a snapshot");
    for number in 0..5 {
        client.create(node(&mut nodes, led), &format!("/later-{number}"), b"", 0);
    }
    pass(&mut nodes, LEASE_MS, |_, _| true);
    assert_same(&mut nodes, led, late);
    assert!(node(&mut nodes, late).tree().node("/later-4").is_some());
}

/// Whoever asks again for what is only late gets it twice.
#[test]
fn snapshot_of_which_chunks_come_twice_is_taken_at_once() {
    let (mut nodes, led, late) = begin_with(|core| core.replica.snapshot_chunk_bytes = 1_000);
    let mut client = Client::connect(node(&mut nodes, led), 60_000);
    pass(&mut nodes, 200, |_, _| true);
    write_much(&mut nodes, led, late, &mut client);
    let (chunks, given_up) = (RefCell::new(Vec::new()), RefCell::new(0));
    for _ in 0..2 * LEASE_MS / 10 {
        pass_what(&mut nodes, 10, |from, _, message| {
            match message {
                PeerMessage::Chunks { .. } => chunks.borrow_mut().push((from, message.clone())),
                PeerMessage::Taken { whole: false, .. } => *given_up.borrow_mut() += 1,
                _ => {}
            }
            true
        });
        for (from, message) in chunks.borrow().iter().rev().take(2) {
            node(&mut nodes, late).peer(MemberId(*from), message.clone()).expect("it goes on");
        }
    }
    assert!(chunks.borrow().len() > 2, "in several messages");
    assert_eq!(*given_up.borrow(), 0);
    assert_eq!(node(&mut nodes, late).core().counts()[1], 1);
    assert_same(&mut nodes, led, late);
}

/// One byte of a node's data is another one when it arrives.
#[test]
fn snapshot_that_is_changed_on_its_way_is_not_taken() {
    let (mut nodes, led, late) = begin();
    let mut client = Client::connect(node(&mut nodes, led), 60_000);
    pass(&mut nodes, 200, |_, _| true);
    write_much(&mut nodes, led, late, &mut client);
    let mut changed = 0;
    for _ in 0..2 * LEASE_MS / 10 {
        let is_first = changed == 0;
        let held = pass_what(&mut nodes, 10, |_, _, message| {
            !(is_first && matches!(message, PeerMessage::Chunks { .. }))
        });
        for (from, to, message) in held {
            let PeerMessage::Chunks { index, first, mut chunks, end } = message else { continue };
            let mut bytes = chunks[0].to_vec();
            let place = bytes.windows(20).position(|window| window == [b'a'; 20]).expect("data");
            bytes[place] = b'b';
            chunks[0] = bytes.into();
            changed += 1;
            let message = PeerMessage::Chunks { index, first, chunks, end };
            node(&mut nodes, to).peer(MemberId(from), message).expect("it goes on");
        }
    }
    assert_eq!(changed, 1);
    assert_same(&mut nodes, led, late);
    assert_eq!(node(&mut nodes, late).core().counts()[1], 1, "it was taken when it was asked for again");
}
