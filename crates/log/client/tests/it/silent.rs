//! A leader that is silent, because its process is stopped or its machine is cut off.

use std::thread;
use std::time::{Duration, Instant};

use log_client::{NewRecord, Producer};

use crate::played::Played;

fn send(producer: &mut Producer, value: &str) {
    producer.send(&NewRecord { value: Some(value.into()), ..NewRecord::default() }).unwrap();
    producer.flush().unwrap();
}

fn came(of: i32, sequence: i32, value: &str) -> (i32, i32, Vec<String>) {
    (of, sequence, vec![value.into()])
}

#[test]
fn producer_goes_on_at_the_next_leader_while_the_one_before_is_silent() {
    let played = Played::start();
    let mut producer = Producer::new(played.cluster(), "orders").unwrap();
    send(&mut producer, "a");
    played.state().silent = Some(1);
    let others = played.clone();
    let moved = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        others.state().leader = 2;
    });
    let began = Instant::now();
    send(&mut producer, "b");
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(2) && took < Duration::from_secs(10), "{took:?}");
    send(&mut producer, "c");
    moved.join().unwrap();
    assert_eq!(played.state().came, [came(1, 0, "a"), came(2, 1, "b"), came(2, 2, "c")]);
    assert_eq!(producer.acknowledged(), 3);
}

#[test]
fn producer_waits_for_a_slow_leader_that_leads_still_and_sends_nothing_twice() {
    let played = Played::start();
    let mut producer = Producer::new(played.cluster(), "orders").unwrap();
    played.state().delay = Duration::from_millis(4_500);
    send(&mut producer, "a");
    played.state().delay = Duration::ZERO;
    send(&mut producer, "b");
    assert_eq!(played.state().came, [came(1, 0, "a"), came(1, 1, "b")]);
}

#[test]
fn broker_that_is_silent_is_asked_last() {
    let played = Played::start();
    played.state().silent = Some(1);
    played.state().leader = 2;
    let began = Instant::now();
    let mut cluster = played.cluster();
    // Only the first question waits for it.
    for _ in 0..5 {
        cluster.look(None, false).unwrap();
    }
    let took = began.elapsed();
    assert!(took < Duration::from_secs(8), "{took:?}");
}
