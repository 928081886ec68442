//! A member's number is given to another disk while the one before still serves: nobody else knows until when that one
//! heard of its clients.

use consensus_replica::MemberId;
use consensus_replica::founding::FoundingMessage;
use council_replica::PeerMessage;
use council_wire::OpCode;
use sim_council::client::Client;
use sim_council::disk::SimDisk;
use sim_council::ensemble::member_of;
use sim_council::load::SUPER;
use sim_council::node::{Node, STEPS};

use crate::three::{LEASE_MS, LEVEL, Nodes, blank, leader, node, pass, start, start_as};

/// The session's, and less than a lease.
const TIMEOUT_MS: u64 = 3_000;
/// A disk that nobody had before.
const INCARNATION: [u8; 16] = [9; 16];

/// Asks for other members, and waits until they are there.
pub(crate) fn reconfig(
    nodes: &mut Nodes,
    led: u64,
    joining: &str,
    leaving: &str,
    comes: impl Fn(u64, u64) -> bool,
) {
    let mut operator = Client::connect(node(nodes, led), 20_000);
    pass(nodes, 50, &comes);
    operator.ask(node(nodes, led), OpCode::Auth, |writer| {
        writer.i32(0).text("digest").buffer(Some(SUPER.as_bytes()));
    });
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let number = operator.ask(node(nodes, led), OpCode::Reconfig, |writer| {
        writer.string(given(joining).as_deref()).string(given(leaving).as_deref()).string(None).i64(-1);
    });
    pass(nodes, 100, &comes);
    let replies = operator.replies(node(nodes, led));
    let reply = replies.iter().find(|reply| reply.xid == number).expect("an answer");
    assert_eq!(reply.err, 0);
    // The leader makes the members what they are to be.
    pass(nodes, 200, &comes);
}

/// Gives how many answers there are.
fn ping(client: &mut Client, node: &mut Node<SimDisk>) -> usize {
    client.ask(node, OpCode::Ping, |_| ());
    STEPS.into_iter().for_each(|step| node.step(step).expect("the disk is well"));
    client.replies(node).len()
}

/// Seed 601971 of the simulator.
#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn a_session_of_whoever_had_the_number_before_outlives_its_lease() {
    let disks: Vec<_> = (1..=3).map(SimDisk::new).collect();
    let mut nodes: Nodes =
        (1..=3).zip(disks.iter().cloned()).map(|(one, disk)| (one, start(one, disk))).collect();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    let mut others = (1..=3).filter(|number| *number != led);
    let (before, stays) = (others.next().expect("one"), others.next().expect("another"));
    pass(&mut nodes, 1_000, |_, _| true);
    assert!(node(&mut nodes, before).core().status().serving);
    let mut client = Client::connect(node(&mut nodes, before), TIMEOUT_MS as i32);
    let is_connected = (0..100).any(|_| {
        pass(&mut nodes, 20, |_, _| true);
        client.replies(node(&mut nodes, before));
        client.is_connected()
    });
    assert!(is_connected);
    let session = client.session;

    // It is cut off, and removed. It has its lease and serves its client; the others let in another disk in its place.
    let apart = |from, to| from != before && to != before;
    reconfig(&mut nodes, led, "", &before.to_string(), apart);
    reconfig(&mut nodes, led, &format!("server.{before}={}", member_of(before)), "", apart);
    let empty = FoundingMessage::Blank { incarnation: INCARNATION, founds: false };
    let ask = |nodes: &mut Nodes| {
        let said = PeerMessage::Founding(empty.clone());
        node(nodes, led).peer(blank(before), said).expect("nothing is wrong with it");
        let held = pass(nodes, 50, apart);
        held.into_iter().find_map(|(from, _, message)| match message {
            PeerMessage::Founding(FoundingMessage::Admitted { id, .. }) if from == led => Some(id.0),
            _ => None,
        })
    };
    let next = (0..10).find_map(|_| ask(&mut nodes)).expect("it is let in");
    assert_eq!((u64::from(MemberId(next).number()), next == before), (before, false));
    let now = node(&mut nodes, led).now();
    nodes.insert(next, start_as(next, SimDisk::new(next), now, &[led, stays]));
    for other in [led, stays] {
        node(&mut nodes, other).core().understands(MemberId(next), LEVEL);
        node(&mut nodes, other).link(MemberId(next), true);
    }
    let votes = (0..100).any(|_| {
        pass(&mut nodes, 20, apart);
        node(&mut nodes, next).core().membership().voters.contains(&MemberId(next))
    });
    assert!(votes);
    assert_eq!(ping(&mut client, node(&mut nodes, before)), 1, "it serves");

    // Whoever leads next has started anew since, and has not seen who went.
    let disk = disks[stays as usize - 1].clone();
    let now = node(&mut nodes, stays).now();
    nodes.insert(stays, start_as(stays, disk, now, &[led, next]));
    let follows = (0..100).any(|_| {
        pass(&mut nodes, 20, apart);
        node(&mut nodes, stays).core().status().serving
    });
    assert!(follows);
    let apart = |from, to| from != before && to != before && from != led && to != led;
    [stays, next].into_iter().for_each(|other| node(&mut nodes, other).link(MemberId(led), false));
    let leads = leader(&mut nodes, |number| number == stays || number == next, apart);

    // The client of the one before is heard of as long as that one may serve it.
    let old = node(&mut nodes, before);
    let (until, now) = (old.core().lease_until(), old.now().mono());
    assert!(until >= now, "it has a lease");
    let serves_ms = until.since(now);
    pass(&mut nodes, serves_ms.saturating_sub(50), apart);
    assert_eq!(ping(&mut client, node(&mut nodes, before)), 1, "it serves");
    let lives = |nodes: &mut Nodes| node(nodes, leads).tree().sessions().any(|known| known.id == session);
    pass(&mut nodes, TIMEOUT_MS - 100, apart);
    assert!(lives(&mut nodes), "it was heard of");
    pass(&mut nodes, 3 * LEASE_MS + TIMEOUT_MS, apart);
    assert!(!lives(&mut nodes), "it is heard of no more");
}
