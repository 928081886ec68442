//! Strangers at the port: they are refused and counted, and change nothing.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use log_links::{EnsembleSecret, Lane, LinkEvent};

use crate::broker::{Broker, PATIENCE, listener, number_of, numbered, pair, settings, until};

/// A broker that knows of `of`, and that `of` knows of beside `other`.
fn intrude(intruder: &Broker, of: &Broker, other: &Broker) {
    intruder.knows(&[of]);
    of.knows(&[other, intruder]);
}

#[test]
fn broker_with_another_secret_is_refused_and_counted() {
    let (mut one, two) = pair();
    let mut wrong = settings(3, 1);
    wrong.secret = EnsembleSecret::new(&[8; 32]).expect("long enough");
    let mut intruder = Broker::with(wrong, listener(0));
    intrude(&intruder, &one, &two);
    until("it is refused", || one.links.refusals().secret > 2);
    assert_eq!(intruder.next_within(Duration::ZERO), None);
    stands(&mut one, two);
}

#[test]
fn broker_of_another_cluster_is_refused_and_counted() {
    let (mut one, two) = pair();
    let mut intruder =
        Broker::with(log_links::LinkSettings { cluster: [1; 16], ..settings(3, 1) }, listener(0));
    intrude(&intruder, &one, &two);
    until("it is refused", || one.links.refusals().group > 2);
    assert_eq!(intruder.next_within(Duration::ZERO), None);
    stands(&mut one, two);
}

#[test]
fn garbage_is_refused_and_counted() {
    let (mut one, two) = pair();
    let garbage: [&[u8]; 4] =
        [b"GET / HTTP/1.1\r\n\r\n", &[0; 64], &[0xff; 4096], b"DIWNPEER\xff\xff\0garbage"];
    for (at, bytes) in garbage.iter().enumerate() {
        let mut stranger = TcpStream::connect(one.address()).expect("connected");
        stranger.set_read_timeout(Some(PATIENCE)).expect("set");
        stranger.write_all(bytes).expect("written");
        let mut answer = Vec::new();
        // It may be reset: more was sent than was read.
        let _ = stranger.read_to_end(&mut answer);
        assert!(answer.len() < 200, "a stranger learns little");
        until("it is counted", || one.links.refusals().foreign > at as u64);
    }
    stands(&mut one, two);
}

#[test]
fn many_strangers_that_say_nothing_keep_no_broker_out() {
    let (mut one, two) = pair();
    let strangers: Vec<_> = (0..300).map(|_| TcpStream::connect(one.address()).expect("connected")).collect();
    // This machine is where brokers are said to be: strangers have its 64 places, and who came first goes.
    until("the oldest have to go", || one.links.refusals().late >= 300 - 64);
    let mut three = Broker::new(3, 1);
    three.knows(&[&one]);
    one.knows(&[&two, &three]);
    one.connected_to(&three);
    three.connected_to(&one);
    stands(&mut one, two);
    drop(strangers);
}

/// The link stands, and nothing else has happened.
fn stands(one: &mut Broker, mut two: Broker) {
    one.send(&two, Lane::Control, numbered(1, 10)).expect("the link stands");
    assert_eq!(number_of(&two.message_of(one)), 1);
    while let Some(event) = one.next_within(Duration::ZERO) {
        assert!(matches!(event, LinkEvent::Heard { .. }), "{event:?}");
    }
}
