//! An ensemble of one: what its node asks to persist, and what it withholds until that is durable.

use bytes::Bytes;
use consensus_raft::{
    Config, Entry, HardState, LogIndex, MemberId, Membership, Persist, RaftNode, Recovered, Role, Term,
};

fn fresh() -> Recovered {
    Recovered {
        hard_state: HardState::default(),
        membership: Membership::alone(MemberId(1)),
        base_index: LogIndex::ZERO,
        base_term: Term::ZERO,
        entries: Vec::new(),
    }
}

/// Takes turns until there is nothing to do; gives what is to be persisted and what was committed meanwhile.
fn turns(node: &mut RaftNode) -> (Vec<Persist>, Vec<Entry>) {
    let (mut persists, mut committed) = (Vec::new(), Vec::new());
    while let Some(ready) = node.ready() {
        persists.extend(ready.persist);
        if let Some(last) = ready.committed.last() {
            node.applied(last.index);
        }
        committed.extend(ready.committed);
    }
    (persists, committed)
}

fn leader(recovered: &Recovered, applied: LogIndex) -> (RaftNode, Vec<Persist>) {
    let mut node = RaftNode::new(&Config::new(MemberId(1), 7), recovered, applied);
    node.campaign();
    let (persists, _) = turns(&mut node);
    (node, persists)
}

#[test]
fn it_leads_at_once_and_persists_its_vote_first() {
    let (node, persists) = leader(&fresh(), LogIndex::ZERO);
    assert_eq!(node.role(), Role::Leader);
    let voted = persists.iter().filter_map(|persist| persist.hard_state).next().unwrap();
    assert_eq!((voted.term, voted.vote), (Term(1), Some(MemberId(1))));
}

#[test]
fn nothing_is_committed_before_it_is_durable() {
    let (mut node, persists) = leader(&fresh(), LogIndex::ZERO);
    node.persisted(persists.last().unwrap().number);
    let (_, committed) = turns(&mut node);
    assert_eq!(committed.len(), 1, "the leader's own first entry");
    node.propose(vec![Bytes::from_static(b"a"), Bytes::from_static(b"b")]).unwrap();
    let (persists, committed) = turns(&mut node);
    assert_eq!(persists.len(), 1, "both entries in one turn");
    assert!(committed.is_empty());
    node.persisted(persists[0].number);
    let (_, committed) = turns(&mut node);
    let data: Vec<_> = committed.iter().map(|entry| entry.data.as_ref()).collect();
    assert_eq!(data, [b"a", b"b"]);
}

#[test]
fn turns_overlap_with_the_disk_and_are_answered_in_order() {
    let (mut node, persists) = leader(&fresh(), LogIndex::ZERO);
    node.persisted(persists.last().unwrap().number);
    turns(&mut node);
    node.propose(vec![Bytes::from_static(b"a")]).unwrap();
    let (first, _) = turns(&mut node);
    node.propose(vec![Bytes::from_static(b"b")]).unwrap();
    let (second, _) = turns(&mut node);
    assert_eq!(node.persisting(), 2);
    node.persisted(first[0].number);
    let (_, committed) = turns(&mut node);
    assert_eq!(committed.len(), 1);
    node.persisted(second[0].number);
    let (_, committed) = turns(&mut node);
    assert_eq!(committed.len(), 1);
    assert_eq!(committed[0].data.as_ref(), b"b");
}

#[test]
fn after_a_restart_everything_durable_is_committed_again_under_a_new_term() {
    let (mut node, mut log) = leader(&fresh(), LogIndex::ZERO);
    node.persisted(log.last().unwrap().number);
    turns(&mut node);
    node.propose(vec![Bytes::from_static(b"kept")]).unwrap();
    log.extend(turns(&mut node).0);
    // The crash comes after the flush and before anyone heard of it.
    let recovered = Recovered {
        hard_state: log.iter().rev().find_map(|persist| persist.hard_state).unwrap(),
        entries: log.iter().flat_map(|persist| persist.entries.clone()).collect(),
        ..fresh()
    };
    let (mut node, persists) = leader(&recovered, LogIndex::ZERO);
    node.persisted(persists.last().unwrap().number);
    let (_, committed) = turns(&mut node);
    assert!(committed.iter().any(|entry| entry.data.as_ref() == b"kept"));
    assert!(node.term() > recovered.hard_state.term);
}

#[test]
fn its_learners_hear_of_a_term_only_when_its_own_disk_holds_it() {
    let mut recovered = fresh();
    recovered.membership.learners.push(MemberId(2));
    let (mut node, persists) = leader(&recovered, LogIndex::ZERO);
    assert_eq!(node.role(), Role::Leader);
    assert_eq!(node.outbox().len(), 0, "a crash now would have it lead in the same term again");
    node.persisted(persists.last().unwrap().number);
    assert!(!node.outbox().is_empty());
}

#[test]
fn the_same_seed_gives_the_same_life() {
    let life = || {
        let (node, persists) = leader(&fresh(), LogIndex::ZERO);
        format!("{:?} {}", persists, node.term())
    };
    assert_eq!(life(), life());
}
