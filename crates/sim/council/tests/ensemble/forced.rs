//! One member survives its ensemble, and a new one is made of it (`force-new-ensemble`).

use base::{MemberId, Now};
use sim_council::client::Client;
use sim_council::disk::SimDisk;
use sim_council::ensemble::force;
use sim_council::node::{Node, small_journal};
use sim_council::random::Random;
use storage_raft_log::Identity;

use crate::three::{Nodes, leader, node, pass, start, start_with};

/// Asks for a node. Gives the zxid and the error of the answer.
fn create(
    client: &mut Client,
    path: &str,
    nodes: &mut Nodes,
    at: u64,
    comes: fn(u64, u64) -> bool,
) -> (i64, i32) {
    client.create(node(nodes, at), path, b"", 0);
    for _ in 0..100 {
        pass(nodes, 10, comes);
        if let Some(reply) = client.replies(node(nodes, at)).pop() {
            return (reply.zxid, reply.err);
        }
    }
    panic!("`{path}` is not answered");
}

/// Member 1 is cut off, and misses an election. The two others go on in the epoch that the new leader began, and are lost.
/// The survivor's leader begins an epoch as well.
#[test]
fn new_ensemble_gives_no_zxid_that_the_lost_one_gave_behind_an_election_its_survivor_missed() {
    const SURVIVOR: u64 = 1;
    const APART: fn(u64, u64) -> bool = |from, to| from != SURVIVOR && to != SURVIVOR;
    let disk = SimDisk::new(SURVIVOR);
    let mut nodes: Nodes = [2, 3].into_iter().map(|one| (one, start(one, SimDisk::new(one)))).collect();
    nodes.insert(SURVIVOR, start(SURVIVOR, disk.clone()));
    let mut led = leader(&mut nodes, |_| true, |_, _| true);
    pass(&mut nodes, 1_000, |_, _| true);
    // The leadership goes to the highest number, and with it begins an epoch that the survivor has heard nothing of.
    if led != SURVIVOR {
        node(&mut nodes, led).core().step_aside();
    }
    [2, 3].into_iter().for_each(|one| node(&mut nodes, one).link(MemberId(SURVIVOR), false));
    led = leader(&mut nodes, |one| one != SURVIVOR && one != led, APART);
    let mut client = Client::connect(node(&mut nodes, led), 30_000);
    pass(&mut nodes, 1_000, APART);
    assert!(client.replies(node(&mut nodes, led)).is_empty() && client.is_connected());
    let (lost_zxid, err) = create(&mut client, "/lost", &mut nodes, led, APART);
    assert_eq!(err, 0);

    nodes.clear();
    let before = Identity { cluster: [1; 16], incarnation: [1; 16], member: MemberId(SURVIVOR) };
    let now = Now::of_ms(1_000, 1_700_000_000_000);
    let forced = force(&disk, &small_journal(), &before, now.wall, &mut Random::new(1)).expect("it has data");
    let survivor: Node<SimDisk> = start_with(&[1, 2, 3], forced.identity.member.0, forced.disk, now, |_| ());
    nodes.insert(SURVIVOR, survivor);
    let mut client = Client::connect(node(&mut nodes, SURVIVOR), 30_000);
    pass(&mut nodes, 1_000, |_, _| true);
    assert!(client.replies(node(&mut nodes, SURVIVOR)).is_empty() && client.is_connected());
    let (zxid, err) = create(&mut client, "/lost", &mut nodes, SURVIVOR, |_, _| true);
    assert_eq!(err, 0, "what only the others had is lost");
    assert!(zxid > lost_zxid, "{zxid:x} is given now, and {lost_zxid:x} was before");
}
