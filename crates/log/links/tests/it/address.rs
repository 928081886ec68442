//! Brokers that move, start anew, and are announced no more.

use std::time::Duration;

use log_links::{Lane, LinkEvent};

use crate::broker::{Broker, number_of, numbered, pair, until};

#[test]
fn broker_at_another_address_is_linked_there() {
    let (mut one, two) = pair();
    let mut moved = Broker::new(2, 2);
    assert_ne!(moved.port, two.port);
    one.knows(&[&moved]);
    moved.knows(&[&one]);
    assert_eq!(one.next(), LinkEvent::Broken { from: two.id });
    one.connected_to(&moved);
    moved.connected_to(&one);
    one.send(&moved, Lane::Control, numbered(4, 10)).expect("sent");
    assert_eq!(number_of(&moved.message_of(&one)), 4);
    // The earlier process still runs, and dials on: it is not let in, and told so in its log.
    let refused = || one.links.refusals().outdated;
    until("the earlier process is refused", || refused() > 0);
    only_heard(&mut one);
    drop(two);
}

/// Nothing else than signs of life has come.
fn only_heard(one: &mut Broker) {
    while let Some(event) = one.next_within(Duration::ZERO) {
        assert!(matches!(event, LinkEvent::Heard { .. }), "{event:?}");
    }
}

#[test]
fn broker_that_is_announced_no_more_is_let_go_and_comes_back_when_it_is() {
    let (mut one, mut two) = pair();
    one.knows(&[]);
    assert_eq!(one.next(), LinkEvent::Broken { from: two.id });
    assert_eq!(two.next(), LinkEvent::Broken { from: one.id });
    until("its attempts are refused", || one.links.refusals().other > 0);
    one.knows(&[&two]);
    one.connected_to(&two);
    two.connected_to(&one);
}

#[test]
fn list_that_says_the_same_leaves_links_alone() {
    let (mut one, mut two) = pair();
    for number in 0..10 {
        one.knows(&[&two]);
        one.send(&two, Lane::Control, numbered(number, 10)).expect("sent");
        assert_eq!(number_of(&two.message_of(&one)), number);
    }
    only_heard(&mut one);
}
