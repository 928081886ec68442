//! Much data, slow readers, and order.

use std::time::{Duration, Instant};

use log_links::{Lane, LinkEvent, NotSent};

use crate::broker::{Broker, PATIENCE, number_of, numbered, pair};

const MIB: usize = 1 << 20;

#[test]
fn gigabyte_of_large_messages_arrives_in_order() {
    const MESSAGES: u64 = 1024;
    let (mut one, mut two) = pair();
    let receiver = std::thread::spawn(move || {
        let mut next = 0;
        while next < MESSAGES {
            if let LinkEvent::Message { bytes, .. } = two.next() {
                assert_eq!((number_of(&bytes), bytes.len()), (next, MIB));
                assert!(bytes[10..].iter().all(|byte| *byte == next as u8));
                next += 1;
            }
        }
        two
    });
    let to = replication_appointed::ReplicaId(2);
    for number in 0..MESSAGES {
        let message = bytes::Bytes::from(numbered(number, MIB));
        while one.links.send(to, Lane::Bulk, message.clone()) == Err(NotSent::Full) {
            while !matches!(one.next(), LinkEvent::Room { .. }) {}
        }
    }
    drop(receiver.join().expect("all came"));
}

#[test]
fn broker_that_takes_nothing_blocks_only_itself() {
    let mut one = Broker::new(1, 1);
    let (mut slow, mut quick) = (Broker::new(2, 1), Broker::new(3, 1));
    one.knows(&[&slow, &quick]);
    slow.knows(&[&one]);
    quick.knows(&[&one]);
    slow.connected_to(&one);
    quick.connected_to(&one);
    one.connected_to(&slow);
    while one.send(&quick, Lane::Bulk, numbered(0, 10)).is_err() {
        one.next();
    }
    assert_eq!(number_of(&quick.message_of(&one)), 0);
    // Until its socket, its own queue and the queue here are full.
    let (mut sent, end) = (0, Instant::now() + PATIENCE);
    let mut full_since = None;
    while full_since.is_none_or(|since: Instant| since.elapsed() < Duration::from_millis(500)) {
        assert!(Instant::now() < end && sent < 2000, "it takes {sent} messages without end");
        match one.send(&slow, Lane::Bulk, numbered(sent, MIB / 4)) {
            Ok(()) => (sent, full_since) = (sent + 1, None),
            Err(why) => {
                assert_eq!(why, NotSent::Full);
                full_since.get_or_insert_with(Instant::now);
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
    for number in 1..100 {
        one.send(&quick, Lane::Bulk, numbered(number, MIB / 4)).expect("it is not blocked");
        assert_eq!(number_of(&quick.message_of(&one)), number);
    }
    let mut told = Vec::new();
    one.links.take(&mut told);
    assert!(!told.iter().any(|event| matches!(event, LinkEvent::Broken { .. } | LinkEvent::Silent { .. })));
    for number in 0..sent {
        assert_eq!(number_of(&slow.message_of(&one)), number);
    }
    while !matches!(one.next(), LinkEvent::Room { to, lane: Lane::Bulk } if to == slow.id) {}
    one.send(&slow, Lane::Bulk, numbered(sent, 10)).expect("there is room");
    assert_eq!(number_of(&slow.message_of(&one)), sent);
}

#[test]
fn urgent_message_overtakes_what_is_bulky() {
    let (one, mut two) = pair();
    let mut sent = 0;
    while one.send(&two, Lane::Bulk, numbered(sent, MIB)) != Err(NotSent::Full) {
        sent += 1;
        assert!(sent < 1000, "it never fills");
    }
    one.send(&two, Lane::Control, numbered(u64::MAX, 10)).expect("it has room of its own");
    let (mut before, mut overtaken) = (0, None);
    while before < sent {
        match number_of(&two.message_of(&one)) {
            u64::MAX => overtaken = Some(sent - before),
            number => {
                assert_eq!(number, before);
                before += 1;
            }
        }
    }
    assert!(overtaken.is_some_and(|overtaken| overtaken > 0), "of {sent} messages it overtook {overtaken:?}");
}

#[test]
fn small_messages_of_many_threads_arrive_in_the_order_of_each() {
    const THREADS: u64 = 4;
    const EACH: u64 = 5000;
    let (one, mut two) = pair();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let links = &one.links;
            scope.spawn(move || {
                for number in 0..EACH {
                    let message = numbered(thread << 32 | number, 100);
                    while links.send(two_id(), Lane::Control, message.clone()).is_err() {
                        std::thread::yield_now();
                    }
                }
            });
        }
        let mut next = [0; THREADS as usize];
        for _ in 0..THREADS * EACH {
            let number = number_of(&two.message_of(&one));
            let own = &mut next[(number >> 32) as usize];
            assert_eq!(number & 0xffff_ffff, *own);
            *own += 1;
        }
    });
}

const fn two_id() -> replication_appointed::ReplicaId {
    replication_appointed::ReplicaId(2)
}

#[test]
fn link_whose_message_is_refused_ends_and_is_made_anew() {
    let (mut one, mut two) = pair();
    two.send(&one, Lane::Control, numbered(1, 10)).expect("sent");
    assert_eq!(number_of(&one.message_of(&two)), 1);
    one.links.refuse(two.id, "nonsense");
    assert_eq!(one.next(), LinkEvent::Broken { from: two.id });
    assert_eq!(two.next(), LinkEvent::Broken { from: one.id });
    one.connected_to(&two);
    two.connected_to(&one);
}

#[test]
fn idle_broker_is_heard_and_never_silent() {
    let (mut one, _two) = pair();
    let (end, mut heard) = (Instant::now() + Duration::from_millis(1500), 0);
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        match one.next_within(left) {
            Some(LinkEvent::Heard { .. }) => heard += 1,
            None => break,
            Some(event) => panic!("{event:?}"),
        }
    }
    assert!((5..=30).contains(&heard), "{heard} signs of life in 1.5 s");
}
