//! The word of a disk that is gone again comes late, while the member that has its number now is cut off. Seed 989733.

use base::MemberId;
use consensus_replica::founding::FoundingMessage;
use council_replica::PeerMessage;
use sim_council::disk::SimDisk;

use crate::three::{LEASE_MS, Nodes, blank, leader, node, pass, start};

#[test]
fn a_word_alone_takes_nobodys_vote() {
    let mut nodes: Nodes = (1..=3).map(|one| (one, start(one, SimDisk::new(one)))).collect();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    let mut others = (1..=3).filter(|number| *number != led);
    let (cut, stays) = (others.next().expect("one"), others.next().expect("another"));
    pass(&mut nodes, 1_000, |_, _| true);

    let apart = |from, to| from != cut && to != cut;
    pass(&mut nodes, 4 * LEASE_MS, apart);
    let empty = FoundingMessage::Blank { incarnation: [9; 16], founds: false };
    let learners = |nodes: &mut Nodes| node(nodes, led).core().membership().learners.clone();
    let admitted = (0..10).any(|_| {
        let said = PeerMessage::Founding(empty.clone());
        node(&mut nodes, led).peer(blank(cut), said).expect("nothing is wrong with it");
        pass(&mut nodes, 50, apart);
        !learners(&mut nodes).is_empty()
    });
    assert!(admitted, "a disk in the place of one that is silent may learn");
    pass(&mut nodes, 20 * LEASE_MS, apart);
    assert_eq!(node(&mut nodes, led).core().membership().voters, [1, 2, 3].map(MemberId));

    // Another one fails: the two that are left are a majority, and the seat that nobody has goes.
    let apart = |from, to| from != stays && to != stays;
    let leads = leader(&mut nodes, |number| number != stays, apart);
    let settles = (0..200).any(|_| {
        pass(&mut nodes, 50, apart);
        let core = node(&mut nodes, leads).core();
        core.status().serving && core.membership().learners.is_empty()
    });
    assert!(settles);
    assert_eq!(node(&mut nodes, leads).core().membership().voters, [1, 2, 3].map(MemberId));
}
