//! Leases to the millisecond: how many members a leader's lease needs, and how old the tree may be of a member that begins
//! to serve.

use base::{LogIndex, MemberId, Now};
use council_replica::PeerMessage;
use council_wire::OpCode;
use sim_council::client::Client;
use sim_council::disk::SimDisk;
use sim_council::node::Step;

use crate::another_disk::reconfig;
use crate::quorum_kept::join;
use crate::three::{
    LEASE_MS, Nodes, founders_with, leader, node, pass, pass_how, pass_what, start_among, three,
};

const START: Now = Now::of_ms(1_000, 1_700_000_000_000);
/// How long members are apart: a leader notices only later that it has no majority.
const APART_MS: u64 = LEASE_MS / 4;
const STEP_MS: u64 = 10;

/// These founders. They apply one command in each step.
fn slow(founders: &[u64]) -> Nodes {
    founders_with(founders, |core| core.replica.apply_bytes_max = 1)
}

/// Only these members hear each other. The leader among them gets no lease that begins later than now.
fn assert_lease_ends(nodes: &mut Nodes, led: u64, together: &[u64]) {
    let apart_at = node(nodes, led).now().mono();
    pass(nodes, APART_MS, |from, to| together.contains(&from) && together.contains(&to));
    assert!(node(nodes, led).leads_in().is_some(), "it knows of nothing");
    let until = node(nodes, led).core().lease_until();
    assert!(until <= apart_at.plus_ms(LEASE_MS), "until {until}, and they were apart from {apart_at} on");
}

#[test]
fn lease_of_leader_among_four_voters_needs_three() {
    const FOUNDERS: [u64; 4] = [1, 2, 3, 4];
    let start = |id: u64| {
        let others: Vec<_> = FOUNDERS.into_iter().filter(|other| *other != id).collect();
        (id, start_among(&FOUNDERS, id, SimDisk::new(id), START, &others))
    };
    let mut nodes: Nodes = FOUNDERS.into_iter().map(start).collect();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    pass(&mut nodes, 1_000, |_, _| true);
    let other = if led == 1 { 2 } else { 1 };
    assert_lease_ends(&mut nodes, led, &[led, other]);
}

/// One of three has another disk now. While that takes its place, the leader needs a majority of the three before and of
/// the three behind the change: a majority of the latter alone gives no lease.
#[test]
fn lease_of_leader_in_joint_consensus_needs_both_majorities() {
    let mut nodes = three();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    let mut others = (1..=3).filter(|number| *number != led);
    let (gone, stays) = (others.next().expect("one"), others.next().expect("another"));
    nodes.remove(&gone);
    [led, stays].into_iter().for_each(|other| node(&mut nodes, other).link(MemberId(gone), false));
    pass(&mut nodes, 3 * LEASE_MS, |_, _| true);
    let next = join(&[1, 2, 3], &mut nodes, led, gone, |_, _| true);
    let is_joint = (0..1_000).any(|_| {
        pass(&mut nodes, STEP_MS, |_, _| true);
        !node(&mut nodes, led).core().membership().voters_outgoing.is_empty()
    });
    assert!(is_joint);
    let membership = node(&mut nodes, led).core().membership().clone();
    assert!(
        membership.voters.contains(&MemberId(next)) && membership.voters_outgoing.contains(&MemberId(gone))
    );
    assert_lease_ends(&mut nodes, led, &[led, next]);
}

/// A member asked how far it has to catch up, and needed longer than a lease for that. Much was committed meanwhile: it asks
/// again before it serves.
#[test]
fn member_that_catches_up_for_longer_than_lease_serves_only_newer_tree() {
    const WRITES: usize = 120;
    let mut nodes = slow(&[1, 2, 3]);
    let led = leader(&mut nodes, |_| true, |_, _| true);
    let late = if led == 1 { 2 } else { 1 };
    let mut client = Client::connect(node(&mut nodes, led), 30_000);
    pass(&mut nodes, 2 * LEASE_MS, |from, to| from != late && to != late);
    client.replies(node(&mut nodes, led));
    assert!(!node(&mut nodes, late).core().status().serving);

    // It has a lease and all entries, and applies none.
    let applies = |number, step| number != late || step != Step::Apply;
    for number in 0..WRITES {
        client.create(node(&mut nodes, led), &format!("/{number}"), b"", 0);
        pass_how(&mut nodes, 3 * LEASE_MS / WRITES as u64, applies, |_, _, _| true);
    }
    assert_eq!(client.replies(node(&mut nodes, led)).len(), WRITES);
    let back = node(&mut nodes, late);
    assert!(back.now().mono() <= back.core().lease_until());
    assert!(!back.core().status().serving && back.tree().node("/0").is_none());
    let serves = (0..2 * WRITES).any(|_| {
        pass(&mut nodes, STEP_MS, |_, _| true);
        node(&mut nodes, late).core().status().serving
    });
    assert!(serves);
    assert!(node(&mut nodes, late).tree().node(&format!("/{}", WRITES - 1)).is_some());
}

/// A member is elected that has applied nothing of its predecessor's term. What was acknowledged in that term is in its
/// log, behind that term's own first entry.
#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn leader_serves_only_behind_first_entry_of_its_own_term() {
    const WRITES: usize = 10;
    const SLOW: u64 = 1;
    let mut nodes = slow(&[1, 2, 3]);
    let applies = |number, step| number != SLOW || step != Step::Apply;
    let serves = |nodes: &mut Nodes| {
        let mut others = nodes.iter_mut().filter(|(number, _)| **number != SLOW);
        others.find_map(|(number, other)| {
            (other.leads_in().is_some() && other.core().status().serving).then_some(*number)
        })
    };
    let led = (0..3_000).find_map(|_| {
        pass_how(&mut nodes, STEP_MS, applies, |_, _, _| true);
        if node(&mut nodes, SLOW).leads_in().is_some() {
            node(&mut nodes, SLOW).core().step_aside();
        }
        serves(&mut nodes)
    });
    let led = led.expect("another one leads");
    let other = 6 - SLOW - led;
    let mut client = Client::connect(node(&mut nodes, led), 30_000);
    pass_how(&mut nodes, 500, applies, |_, _, _| true);
    client.replies(node(&mut nodes, led));
    // The third member lacks these: it does not lead next.
    for number in 0..WRITES {
        client.create(node(&mut nodes, led), &format!("/{number}"), b"", 0);
    }
    // It has asked its leader how far to catch up, too long ago for the answer to count.
    pass_how(&mut nodes, LEASE_MS + 500, applies, |from, to, _| from != other && to != other);
    assert_eq!(client.replies(node(&mut nodes, led)).len(), WRITES);
    assert_eq!(node(&mut nodes, SLOW).applied_index(), LogIndex::ZERO);

    nodes.remove(&led);
    [SLOW, other].into_iter().for_each(|one| node(&mut nodes, one).link(MemberId(led), false));
    let leads = (0..2_000).any(|_| {
        pass_how(&mut nodes, STEP_MS, applies, |_, _, _| true);
        let next = node(&mut nodes, SLOW);
        next.leads_in().is_some() && next.now().mono() <= next.core().lease_until()
    });
    assert!(leads);
    assert!(!node(&mut nodes, SLOW).core().status().serving);
    let serves = (0..500).any(|_| {
        pass(&mut nodes, STEP_MS, |_, _| true);
        node(&mut nodes, SLOW).core().status().serving
    });
    assert!(serves);
    let tree = node(&mut nodes, SLOW).tree();
    assert!((0..WRITES).all(|number| tree.node(&format!("/{number}")).is_some()));
}

/// A member is removed and does not know it yet. The leader counts on when it last heard of it: the member's lease must not
/// outlast that.
#[test]
fn lease_is_granted_to_no_removed_member() {
    let mut nodes = three();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    let gone = if led == 1 { 2 } else { 1 };
    pass(&mut nodes, 1_000, |_, _| true);
    assert!(node(&mut nodes, gone).core().status().serving);
    let apart = |from, to| from != gone && to != gone;
    let leases_only = |from, to, message: &PeerMessage| {
        let is_of_leases = matches!(message, PeerMessage::LeaseAsk { .. } | PeerMessage::LeaseGrant { .. });
        is_of_leases || apart(from, to)
    };
    reconfig(&mut nodes, led, "", &gone.to_string(), apart);
    let is_removed = (0..100).any(|_| {
        pass_what(&mut nodes, STEP_MS, leases_only);
        !node(&mut nodes, led).core().membership().contains(MemberId(gone))
    });
    assert!(is_removed);
    let removed = node(&mut nodes, led).now().mono();
    pass_what(&mut nodes, LEASE_MS / 4, leases_only);
    let until = node(&mut nodes, gone).core().lease_until();
    assert!(until > removed, "it has a lease");
    assert!(until <= removed.plus_ms(LEASE_MS), "until {until}, and it was removed at {removed}");
}

/// What a member asks comes through; the answers are long under way.
#[test]
fn lease_that_is_granted_late_counts_from_when_it_was_asked_for() {
    for asks_leader in [false, true] {
        let mut nodes = three();
        let led = leader(&mut nodes, |_| true, |_, _| true);
        pass(&mut nodes, 1_000, |_, _| true);
        let asker = match asks_leader {
            true => led % 3 + 1,
            false => led,
        };
        let apart_at = node(&mut nodes, asker).now().mono();
        let held = pass(&mut nodes, APART_MS / 2, |_, to| to != asker);
        let asked = node(&mut nodes, asker).now().mono();
        pass(&mut nodes, APART_MS / 2, |_, to| to != asker);
        for (from, to, message) in held {
            if to == asker && matches!(message, PeerMessage::LeaseGrant { .. }) {
                node(&mut nodes, asker).peer(MemberId(from), message).expect("nothing is wrong with it");
            }
        }
        let until = node(&mut nodes, asker).core().lease_until();
        assert!(until > apart_at.plus_ms(LEASE_MS), "the answers count");
        assert!(until <= asked.plus_ms(LEASE_MS), "until {until}, and it was asked for by {asked}");
    }
}

/// A follower that serves is elected, and what it appends is long under way. It keeps the lease that it had as a follower,
/// and gets no other: it does not know what was committed last.
#[test]
fn lease_of_leader_begins_only_with_its_first_entry() {
    let mut nodes = three();
    let first = leader(&mut nodes, |_| true, |_, _| true);
    pass(&mut nodes, 1_000, |_, _| true);
    node(&mut nodes, first).core().step_aside();
    let elects = |_, _, message: &PeerMessage| !message.is_bulky();
    let next = (0..200).find_map(|_| {
        pass_what(&mut nodes, STEP_MS, elects);
        nodes.iter().find(|(id, node)| **id != first && node.leads_in().is_some()).map(|(id, _)| *id)
    });
    let next = next.expect("another is elected");
    let elected = node(&mut nodes, next).now().mono();
    assert!(node(&mut nodes, next).core().is_serving(), "it has served before");
    pass_what(&mut nodes, LEASE_MS - 500, elects);
    assert!(node(&mut nodes, next).leads_in().is_some(), "all but what is bulky comes through");
    let until = node(&mut nodes, next).core().lease_until();
    assert!(until <= elected.plus_ms(LEASE_MS), "until {until}, and it was elected at {elected}");
    pass_what(&mut nodes, 600, elects);
    assert!(!node(&mut nodes, next).core().is_serving());
    pass(&mut nodes, 2_000, |_, _| true);
    assert!(nodes.values_mut().all(|node| node.core().is_serving()), "its first entry is applied");
}

/// A process stands still for longer than its lease. One of its shards runs before its core does.
#[test]
fn shard_past_its_lease_cuts_its_clients_though_its_core_knows_of_nothing() {
    let mut nodes = three();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    let late = if led == 1 { 2 } else { 1 };
    pass(&mut nodes, 1_000, |_, _| true);
    let mut client = Client::connect(node(&mut nodes, late), 30_000);
    pass(&mut nodes, 500, |_, _| true);
    assert_eq!(client.replies(node(&mut nodes, late)), []);
    let late = node(&mut nodes, late);
    assert!(client.is_connected() && late.core().is_serving());
    late.look_at_clock(late.now().mono().plus_ms(LEASE_MS + 1));
    client.get(late, "/", false);
    late.step(Step::Shards).expect("the disk is well");
    assert_eq!(client.replies(late), []);
    assert!(late.is_closed(client.conn()) && late.core().is_serving());
}

#[test]
fn shard_past_its_lease_cuts_clients_that_have_asked_for_their_sessions_end() {
    let mut nodes = three();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    let late = if led == 1 { 2 } else { 1 };
    pass(&mut nodes, 1_000, |_, _| true);
    let mut client = Client::connect(node(&mut nodes, late), 30_000);
    pass(&mut nodes, 500, |_, _| true);
    assert_eq!(client.replies(node(&mut nodes, late)), []);
    let late = node(&mut nodes, late);
    client.ask(late, OpCode::CloseSession, |_| ());
    late.step(Step::Shards).expect("the disk is well");
    assert!(!late.is_closed(client.conn()), "it waits for the end of its session");
    client.get(late, "/", false);
    late.look_at_clock(late.now().mono().plus_ms(LEASE_MS + 1));
    late.step(Step::Shards).expect("the disk is well");
    assert_eq!(client.replies(late), []);
    assert!(late.is_closed(client.conn()) && late.core().is_serving());
}
