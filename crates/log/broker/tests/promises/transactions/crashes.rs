//! The broker dies in every moment of a transaction, with every beginning of what was not durable on its disk.

use kafka_protocol::messages::{EndTxnRequest, ProduceRequest, TxnOffsetCommitRequest};

use super::client::{BOTH, Client, Protocol, committed_offset, find_coordinator, read};
use super::requests::{self, GROUP, TOPIC};
use super::serving;
use crate::bench::{Bench, topic};
use log_metadata::KeeperEvent;

/// How far a client came.
#[derive(Default)]
struct Told {
    records: usize,
    offset: bool,
    committed: bool,
}

/// A broker that dies behind so many commands to its disk.
struct Mortal {
    bench: Bench,
    left: u64,
}

impl Mortal {
    /// Lets one command after the other become durable until the request is answered, or the broker is to die.
    fn until_answered<T>(&mut self, mut answer: impl FnMut(&mut Bench) -> Option<T>) -> Option<T> {
        for _ in 0..100 {
            if let Some(answered) = answer(&mut self.bench) {
                return Some(answered);
            }
            self.step()?;
        }
        panic!("it is not answered");
    }

    /// Nothing once it is to die.
    fn step(&mut self) -> Option<()> {
        self.bench.take();
        let durable = self.bench.disk.durable();
        if durable < self.bench.disk.given {
            self.left = self.left.checked_sub(1)?;
            self.bench.durable(durable + 1);
        } else {
            self.bench.pass(50);
        }
        Some(())
    }

    /// Does what can be done until it is to die.
    fn run_on(&mut self) -> Option<()> {
        for _ in 0..40 {
            self.step()?;
        }
        Some(())
    }
}

/// A transaction of two records and an offset, up to the death of the broker.
fn transaction(mortal: &mut Mortal, client: &mut Client, told: &mut Told) -> Option<()> {
    for partition in [0, 1] {
        let (version, request) = client.record(partition, "new");
        let number = mortal.bench.begin::<ProduceRequest>(version, &request).expect_err("it waits");
        let answer = mortal.until_answered(|bench| bench.end::<ProduceRequest>(number, version))?;
        assert_eq!(answer.responses[0].partition_responses[0].error_code, 0);
        told.records += 1;
    }
    let (version, request) = (client.protocol.offsets(), requests::offsets("a", client.producer, &[(0, 7)]));
    let number = mortal.bench.begin::<TxnOffsetCommitRequest>(version, &request).expect_err("it waits");
    let answer = mortal.until_answered(|bench| bench.end::<TxnOffsetCommitRequest>(number, version))?;
    assert_eq!(answer.topics[0].partitions[0].error_code, 0);
    told.offset = true;
    let (version, request) = (client.protocol.end(), requests::end("a", client.producer, true));
    let number = mortal.bench.begin::<EndTxnRequest>(version, &request).expect_err("it waits");
    let answer = mortal.until_answered(|bench| bench.end::<EndTxnRequest>(number, version))?;
    assert_eq!(answer.error_code, 0);
    told.committed = true;
    mortal.run_on()
}

/// Whether the broker died before everything was over.
fn dies(protocol: Protocol, left: u64, more: u64) -> bool {
    let mut bench = serving();
    let mut client = Client::new(&mut bench, "a", protocol);
    for partition in [0, 1] {
        client.produce(&mut bench, partition, "old");
    }
    client.commit_offset(&mut bench, 0, 3);
    client.commit(&mut bench);
    bench.settle();
    if protocol == Protocol::Classic {
        assert_eq!(client.add(&mut bench, &[0, 1]), 0);
        let request = requests::add_offsets("a", client.producer);
        let added = bench.call::<kafka_protocol::messages::AddOffsetsToTxnRequest>(3, &request);
        assert_eq!(added.error_code, 0);
    }
    let mut mortal = Mortal { bench, left };
    let mut told = Told::default();
    let died = transaction(&mut mortal, &mut client, &mut told).is_none();
    let mut bench = mortal.bench;
    bench.take();
    bench.crash(more);
    bench.settle();
    check(&mut bench, protocol, &told, (left, more));
    died
}

fn check(bench: &mut Bench, protocol: Protocol, told: &Told, at: (u64, u64)) {
    let mut heir = Client::new(bench, "a", protocol);
    bench.settle();
    let seen = [read(bench, 0, true), read(bench, 1, true)];
    let offset = committed_offset(bench, 0);
    let (old, new) = (vec!["old".to_owned()], vec!["old".to_owned(), "new".to_owned()]);
    let all = seen == [new.clone(), new] && offset == Ok(7);
    let none = seen == [old.clone(), old] && offset == Ok(3);
    assert!(all || (none && !told.committed), "{protocol:?} {at:?}: {seen:?}, {offset:?} (L37, L40)");
    for (partition, kept) in [(0, told.records > 0), (1, told.records > 1)] {
        assert!(
            !kept || read(bench, partition, false).len() == 2,
            "{protocol:?} {at:?}: a record is lost (L1)"
        );
    }
    heir.produce(bench, 0, "next");
    heir.commit_offset(bench, 0, 8);
    heir.commit(bench);
    bench.settle();
    assert_eq!(read(bench, 0, true).last().map(String::as_str), Some("next"), "{protocol:?} {at:?} (L44)");
    assert_eq!(committed_offset(bench, 0), Ok(8));
}

#[test]
fn transaction_is_whole_or_nothing_whenever_the_broker_dies() {
    for protocol in BOTH {
        let mut died = 0;
        while dies(protocol, died, 0) {
            for more in 1..=4 {
                dies(protocol, died, more);
            }
            died += 1;
        }
        assert!((8..100).contains(&died), "it died in {died} moments");
    }
}

#[test]
fn markers_are_not_lost_to_a_topic_that_the_council_names_late() {
    for protocol in BOTH {
        let mut bench = serving();
        let mut client = Client::new(&mut bench, "a", protocol);
        client.produce(&mut bench, 0, "kept");
        let end = requests::end("a", client.producer, true);
        bench.begin::<EndTxnRequest>(protocol.end(), &end).expect_err("it is not durable");
        bench.take();
        bench.durable(bench.disk.given);
        // The decision is durable, and no marker.
        bench.crash_until_named(0, TOPIC);
        bench.settle();
        for _ in 0..5 {
            bench.pass(600);
            bench.settle();
        }
        bench.council(topic(TOPIC, 1, 2, 1));
        bench.council(KeeperEvent::Joined);
        bench.settle();
        bench.pass(600);
        bench.settle();
        assert_eq!(read(&mut bench, 0, true), ["kept"]);
    }
}

#[test]
fn what_a_coordinator_was_given_twice_counts_once() {
    let mut bench = serving();
    let mut client = Client::new(&mut bench, "a", Protocol::EpochPerTransaction);
    client.produce(&mut bench, 0, "kept");
    bench.crash(0);
    bench.flush();
    // Two threads look for what is to be read at the same time, and one of them is slow.
    let slow = bench.broker.next_load().expect("a coordinator has to read");
    bench.load();
    client.commit(&mut bench);
    bench.settle();
    let bytes = slow.read(&mut crate::bench::NoSegments);
    bench.broker.loaded(&slow, bytes, bench.now);
    bench.load();
    client.produce(&mut bench, 0, "next");
    client.commit(&mut bench);
    bench.settle();
    assert_eq!(read(&mut bench, 0, true), ["kept", "next"]);
    bench.call(4, &find_coordinator(0, GROUP));
}
