//! Links come to stand, whoever starts first, and what is sent goes over the link that it was meant for.

use std::time::Duration;

use log_links::{Lane, LinkEvent, NotSent, TooManyPeers};

use crate::broker::{Broker, listener, number_of, numbered, pair, settings};

#[test]
fn two_brokers_are_linked_whoever_starts_first() {
    for (first, second) in [(0, 7), (7, 0)] {
        let mut first = Broker::new(first, 1);
        let port = listener(0);
        let at = port.local_addr().expect("bound").port();
        drop(port);
        // It is announced, and nothing listens there yet.
        let mut announced = Broker::new(second, 3).announced();
        announced.port = at;
        first.links.set_peers(vec![announced]).expect("one");
        assert_eq!(first.next_within(Duration::from_millis(120)), None);
        let mut second = Broker::with(settings(second, 3), listener(at));
        second.knows(&[&first]);
        first.connected_to(&second);
        second.connected_to(&first);
        first.send(&second, Lane::Control, numbered(1, 100)).expect("sent");
        second.send(&first, Lane::Bulk, numbered(2, 100)).expect("sent");
        assert_eq!(number_of(&second.message_of(&first)), 1);
        assert_eq!(number_of(&first.message_of(&second)), 2);
    }
}

#[test]
fn three_brokers_are_linked_with_each_other() {
    let mut brokers = [0, 1, 2].map(|id| Broker::new(id, 5));
    for at in 0..3 {
        let others: Vec<_> = brokers.iter().filter(|other| other.id.0 != at).collect();
        brokers[at as usize].knows(&others);
    }
    for at in 0..3 {
        let mut linked = Vec::new();
        while linked.len() < 2 {
            let (before, rest) = brokers.split_at_mut(at);
            let (own, after) = rest.split_first_mut().expect("itself");
            match own.next() {
                LinkEvent::Connected { from, incarnation } => {
                    assert_eq!(incarnation.0, 5);
                    linked.push(from);
                }
                LinkEvent::Broken { from } => linked.retain(|other| *other != from),
                event => panic!("{event:?}"),
            }
            let mut others: Vec<_> = before.iter().chain(&*after).map(|other| other.id).collect();
            others.retain(|other| !linked.contains(other));
            assert_eq!(others.len() + linked.len(), 2);
        }
    }
}

#[test]
fn first_message_of_a_link_arrives_behind_the_event_that_tells_of_the_link() {
    let mut one = Broker::new(1, 1);
    for incarnation in 1..=20 {
        let mut two = Broker::new(2, incarnation);
        one.knows(&[&two]);
        two.knows(&[&one]);
        two.connected_to(&one);
        two.send(&one, Lane::Control, numbered(incarnation, 10)).expect("sent");
        one.connected_to(&two);
        assert_eq!(number_of(&one.message_of(&two)), incarnation);
        drop(two);
        assert!(matches!(one.next(), LinkEvent::Broken { .. }));
    }
}

#[test]
fn message_is_taken_for_a_link_only_once_the_owner_knows_of_the_link() {
    let (one, mut two) = (Broker::new(1, 1), Broker::new(2, 1));
    one.knows(&[&two]);
    two.knows(&[&one]);
    two.connected_to(&one);
    assert_eq!(one.send(&two, Lane::Bulk, numbered(1, 10)), Err(NotSent::NotConnected));
    let mut one = one;
    one.connected_to(&two);
    assert_eq!(one.send(&two, Lane::Bulk, numbered(2, 10)), Ok(()));
    assert_eq!(number_of(&two.message_of(&one)), 2);
    drop(two);
    while one.next() != (LinkEvent::Broken { from: two_id() }) {}
    assert_eq!(one.links.send(two_id(), Lane::Bulk, numbered(3, 10)), Err(NotSent::NotConnected));
}

const fn two_id() -> replication_appointed::ReplicaId {
    replication_appointed::ReplicaId(2)
}

#[test]
fn what_is_no_message_is_not_sent() {
    let (one, two) = pair();
    let too_long = numbered(1, (2 << 20) + 1);
    for bytes in [
        Vec::new(),
        vec![0x80],
        vec![0, 0],
        vec![replication_wire::VERSION + 1, 1, 1],
        [1, 0x21, 0].repeat(20),
        too_long,
    ] {
        assert_eq!(one.send(&two, Lane::Bulk, bytes), Err(NotSent::Unsendable));
    }
    assert_eq!(one.send(&two, Lane::Bulk, numbered(1, 2 << 20)), Ok(()));
}

#[test]
fn brokers_beyond_the_bound_are_refused_and_change_nothing() {
    let mut limited = settings(1, 1);
    limited.limits.peers_max = 1;
    let mut one = Broker::with(limited, listener(0));
    let mut two = Broker::new(2, 1);
    one.knows(&[&two, &one]);
    two.knows(&[&one]);
    one.connected_to(&two);
    two.connected_to(&one);
    let three = Broker::new(3, 1);
    let all = vec![two.announced(), three.announced()];
    assert_eq!(one.links.set_peers(all), Err(TooManyPeers { announced: 2, max: 1 }));
    one.send(&two, Lane::Control, numbered(1, 10)).expect("the link stands");
    assert_eq!(number_of(&two.message_of(&one)), 1);
}
