//! Changes of members never leave an ensemble without a majority of voters that live.

use consensus_replica::MemberId;
use consensus_replica::founding::FoundingMessage;
use council_replica::PeerMessage;
use sim_council::client::Client;
use sim_council::disk::SimDisk;

use crate::another_disk::reconfig;
use crate::three::{LEASE_MS, LEVEL, Nodes, blank, leader, node, pass, start_among};

const FOUNDERS: [u64; 5] = [1, 2, 3, 4, 5];

/// A blank disk asks the leader until it has an id, and starts.
pub(crate) fn join(
    founders: &[u64],
    nodes: &mut Nodes,
    led: u64,
    number: u64,
    comes: impl Fn(u64, u64) -> bool,
) -> u64 {
    let empty = FoundingMessage::Blank { incarnation: [number as u8; 16], founds: false };
    let admitted = (0..20).find_map(|_| {
        node(nodes, led).peer(blank(number), PeerMessage::Founding(empty.clone())).expect("it is well");
        pass(nodes, 50, &comes).into_iter().find_map(|(from, to, message)| match message {
            PeerMessage::Founding(FoundingMessage::Admitted { id, .. })
                if from == led && to == blank(number).0 =>
            {
                Some(id.0)
            }
            _ => None,
        })
    });
    let id = admitted.expect("it is let in");
    let others: Vec<_> = nodes.keys().copied().collect();
    let now = node(nodes, led).now();
    nodes.insert(id, start_among(founders, id, SimDisk::new(id), now, &others));
    for other in others {
        node(nodes, other).core().understands(MemberId(id), LEVEL);
        node(nodes, other).link(MemberId(id), true);
    }
    id
}

/// Two of five founders never came, and others have their numbers. They learn and do not vote yet when an operator
/// removes a voter that lives: of the voters that are left, two would live and two would not.
#[test]
fn a_living_voter_goes_only_when_those_who_stay_are_a_living_majority() {
    let now = base::Now::of_ms(1_000, 1_700_000_000_000);
    let start = |id: u64| {
        let others: Vec<_> = FOUNDERS.into_iter().filter(|other| *other != id).collect();
        (id, start_among(&FOUNDERS, id, SimDisk::new(id), now, &others))
    };
    let mut nodes: Nodes = [3, 4, 5].into_iter().map(start).collect();
    for id in [3, 4, 5] {
        [1, 2].into_iter().for_each(|dead| node(&mut nodes, id).link(MemberId(dead), false));
    }
    let led = leader(&mut nodes, |_| true, |_, _| true);
    // Those who never came might have come lately, as far as their leader knows.
    pass(&mut nodes, LEASE_MS, |_, _| true);
    let goes = if led == 3 { 4 } else { 3 };
    let joined = [1, 2].map(|number| join(&FOUNDERS, &mut nodes, led, number, |_, _| true));
    pass(&mut nodes, 500, |_, _| true);
    let voters = |nodes: &mut Nodes, id| {
        let voters = &node(nodes, id).core().membership().voters;
        let mut voters: Vec<_> = voters.iter().map(|voter| voter.0).collect();
        voters.sort_unstable();
        voters
    };
    assert_eq!(voters(&mut nodes, led), FOUNDERS, "nobody votes in the place of another yet");
    reconfig(&mut nodes, led, "", &goes.to_string(), |_, _| true);

    pass(&mut nodes, 20 * LEASE_MS, |_, _| true);
    let mut expected: Vec<_> = FOUNDERS.into_iter().filter(|id| *id > 2 && *id != goes).collect();
    expected.extend(joined);
    expected.sort_unstable();
    let leads = leader(&mut nodes, |id| id != goes, |_, _| true);
    assert_eq!(voters(&mut nodes, leads), expected);
    let mut client = Client::connect(node(&mut nodes, leads), 20_000);
    pass(&mut nodes, 500, |_, _| true);
    client.create(node(&mut nodes, leads), "/a", b"", 0);
    pass(&mut nodes, 500, |_, _| true);
    assert_eq!(client.replies(node(&mut nodes, leads)).len(), 1, "what is written is committed");
    assert!(joined.iter().all(|id| !MemberId(*id).is_founder()));
}
