//! A disk takes the place of one whose member is cut off and may still serve: its member must not serve at the same time.

use base::{LogIndex, MemberId};
use council_replica::PeerMessage;
use sim_council::client::Client;

use crate::quorum_kept::join;
use crate::three::{LEASE_MS, Nodes, founders_with, leader, node, pass, three};

const FOUNDERS: [u64; 5] = [1, 2, 3, 4, 5];
/// The leader that is cut off, and the member beside it.
const LED: u64 = 5;
const OLD: u64 = 4;
const STEP_MS: u64 = 20;

/// These two notice only after two leases that they have no majority, which has no say in how long leases last.
const fn election_tick_ms(id: u64) -> u64 {
    if id == LED || id == OLD { LEASE_MS / 5 } else { 100 }
}

fn five() -> Nodes {
    founders_with(&FOUNDERS, |core| core.replica.election_tick_ms = election_tick_ms(core.replica.member.0))
}

/// Two of five are cut off together, the leader among them. It grants the other one leases as long as it has one itself, so
/// that one serves for up to two leases. The other three elect a leader and let in a blank disk with its number.
#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn member_on_new_disk_serves_only_when_every_lease_of_old_one_is_over() {
    let mut nodes = five();
    let first = leader(&mut nodes, |_| true, |_, _| true);
    pass(&mut nodes, LEASE_MS, |_, _| true);
    let mut client = Client::connect(node(&mut nodes, OLD), 30_000);
    pass(&mut nodes, 500, |_, _| true);
    assert!(client.replies(node(&mut nodes, OLD)).is_empty() && client.is_connected());
    if first != LED {
        // Of those who have all of the log, the one with the highest number is handed the lead.
        node(&mut nodes, first).core().step_aside();
        assert_eq!(leader(&mut nodes, |id| id != first, |_, _| true), LED);
    }
    pass(&mut nodes, 500, |_, _| true);

    let is_cut = |id: u64| id == LED || id == OLD;
    let apart = |from, to| is_cut(from) == is_cut(to);
    let apart_at = node(&mut nodes, OLD).now().mono();
    for id in FOUNDERS.into_iter().filter(|id| !is_cut(*id)) {
        [LED, OLD].into_iter().for_each(|gone| node(&mut nodes, id).link(MemberId(gone), false));
    }
    let next = leader(&mut nodes, |id| !is_cut(id), apart);
    let passed_ms = node(&mut nodes, next).now().mono().since(apart_at);
    assert!(passed_ms < LEASE_MS / 4, "they elect one at once");
    // Nobody is let in while the old one may be alive, as far as its leader knows.
    pass(&mut nodes, LEASE_MS, apart);
    let new = join(&FOUNDERS, &mut nodes, next, OLD, apart);

    let (mut served_ms, mut caught_up_ms) = (0, u64::MAX);
    let serves = (0..4 * LEASE_MS / STEP_MS).any(|_| {
        pass(&mut nodes, STEP_MS, apart);
        let passed_ms = node(&mut nodes, OLD).now().mono().since(apart_at);
        let [serves_old, serves_new] = [OLD, new].map(|id| node(&mut nodes, id).core().status().serving);
        assert!(!(serves_old && serves_new), "both serve {passed_ms} ms after they are apart");
        if serves_old {
            served_ms = passed_ms;
        }
        if node(&mut nodes, new).applied_index() > LogIndex::ZERO {
            caught_up_ms = caught_up_ms.min(passed_ms);
        }
        serves_new
    });
    assert!(serves, "it takes its place in the end");
    assert!(node(&mut nodes, new).core().membership().voters.contains(&MemberId(new)));
    assert!(
        served_ms > caught_up_ms + LEASE_MS / 4,
        "the old one served until {served_ms} ms, {caught_up_ms}"
    );
}

/// Whether the leader grants that member a lease now.
fn grants(nodes: &mut Nodes, led: u64, to: u64) -> bool {
    let leader = node(nodes, led);
    let term = leader.leads_in().expect("it leads");
    let ask = PeerMessage::LeaseAsk { term, at: leader.now().mono() };
    leader.take_outgoing();
    leader.peer(MemberId(to), ask).expect("nothing is wrong with it");
    let is_grant = |(other, said): &(MemberId, PeerMessage)| {
        *other == MemberId(to) && matches!(said, PeerMessage::LeaseGrant { .. })
    };
    leader.take_outgoing().iter().any(is_grant)
}

/// The leader has proposed to replace a voter whose lease was over, and the change is not committed. The old member is
/// heard of again: with a lease, it would serve when the new one does.
#[test]
fn lease_is_granted_to_no_member_whose_replacement_is_proposed() {
    let mut nodes = three();
    let led = leader(&mut nodes, |_| true, |_, _| true);
    let mut others = (1..=3).filter(|number| *number != led);
    let (old, stays) = (others.next().expect("one"), others.next().expect("another"));
    pass(&mut nodes, 500, |_, _| true);
    assert!(grants(&mut nodes, led, old) && grants(&mut nodes, led, stays));
    [led, stays].into_iter().for_each(|other| node(&mut nodes, other).link(MemberId(old), false));
    let apart = |from, to| from != old && to != old;
    pass(&mut nodes, 3 * LEASE_MS, apart);
    let new = join(&[1, 2, 3], &mut nodes, led, old, apart);
    // It catches up, and the leader proposes that it vote. The voter that is left does not hear of that.
    pass(&mut nodes, LEASE_MS / 2, |from, to| apart(from, to) && from != stays && to != stays);
    assert!(
        node(&mut nodes, led).core().membership().voters.contains(&MemberId(old)),
        "nothing is committed"
    );
    assert!(grants(&mut nodes, led, stays), "it has a lease itself");
    assert!(!grants(&mut nodes, led, old), "the old member would serve beside the new one");
    let replaced = (0..100).any(|_| {
        pass(&mut nodes, 10, apart);
        assert!(!grants(&mut nodes, led, old), "while the change is under way");
        node(&mut nodes, led).core().membership().voters.contains(&MemberId(new))
    });
    assert!(replaced, "it takes its place");
}
