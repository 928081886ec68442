//! The form of records.

use std::sync::Arc;

use base::WallTime;
use log_partition::{CoordinatorEpoch, ProducerEpoch, ProducerId};

use crate::Epoch;
use crate::codec::*;
use crate::journal::Key as _;
use crate::stored_consumer::{ClassicProtocols, MemberState, StoredConsumerGroup, StoredConsumerMember};
use crate::{Blob, Generation, Offset};

fn group() -> Value {
    let member = StoredMember {
        id: "m".into(),
        instance: Some("i".into()),
        client_id: "c".into(),
        client_host: "h".into(),
        session_timeout_ms: 6_000,
        rebalance_timeout_ms: 9_000,
        protocols: vec![("range".into(), Blob::from(&b"meta"[..]))],
        assignment: Blob::from(&b"mine"[..]),
    };
    Value::Group(StoredGroup {
        generation: Generation(7),
        protocol_type: "consumer".into(),
        protocol: "range".into(),
        leader: "m".into(),
        assigned: true,
        empty_since: WallTime::of_ms(5),
        members: vec![member],
    })
}

#[test]
fn record_is_read_as_it_was_written_and_refused_at_every_cut() {
    let (key, value) = (Key::Group("g".into()), group());
    let (key_bytes, value_bytes) = (key.encode(), Key::encode_value(&value));
    assert_eq!(read(&key_bytes, Some(&value_bytes)), Ok((key.clone(), Some(value))));
    assert_eq!(read(&key_bytes, None), Ok((key, None)));
    for cut in 0..value_bytes.len() {
        assert!(read(&key_bytes, Some(&value_bytes[..cut])).is_err(), "cut at {cut}");
    }
    for cut in 0..key_bytes.len() {
        assert!(read(&key_bytes[..cut], None).is_err(), "cut at {cut}");
    }
}

#[test]
fn transactional_records_are_read_as_they_were_written_and_refused_at_every_cut() {
    let stored = StoredOffset {
        topic_id: [1; 16],
        offset: Offset(4),
        leader_epoch: 2,
        metadata: "".into(),
        committed_at: WallTime::of_ms(5),
    };
    let pending = StoredPending { offsets: [(("t".into(), 3), stored)].into() };
    let producer = StoredProducer {
        epoch: ProducerEpoch(3),
        coordinator_epoch: Some(CoordinatorEpoch(0)),
        markers: 9,
        groups: ["g".into(), "h".into()].into(),
        last_heard: WallTime::of_ms(6),
    };
    let none = StoredProducer { coordinator_epoch: None, ..producer.clone() };
    let (pending_key, producer_key) = (Key::Pending("g".into(), ProducerId(7)), Key::Producer(ProducerId(7)));
    let cases = [
        (pending_key, Value::Pending(pending)),
        (producer_key.clone(), Value::Producer(producer)),
        (producer_key, Value::Producer(none)),
    ];
    for (key, value) in cases {
        let (key_bytes, bytes) = (key.encode(), Key::encode_value(&value));
        assert_eq!(read(&key_bytes, Some(&bytes)), Ok((key, Some(value))));
        for cut in 0..bytes.len() {
            assert!(read(&key_bytes, Some(&bytes[..cut])).is_err(), "cut at {cut}");
        }
    }
}

#[test]
fn record_of_another_version_or_with_more_behind_it_is_damaged() {
    let key = Key::Offset("g".into(), "t".into(), 3).encode();
    assert!(read(&[2, 1, 2, b'g'], None).is_err());
    assert!(read(&[&key[..], &[0]].concat(), None).is_err());
}

#[test]
fn records_of_consumer_groups_are_read_as_they_were_written_and_refused_at_every_cut() {
    let mut member = StoredConsumerMember::new("m".into());
    member.topics = ["a".into(), "b".into()].into();
    member.assigned.insert([1; 16], [(0, Epoch(2)), (3, Epoch(4))].into());
    member.revoking.insert([2; 16], [(1, Epoch(2))].into());
    let mut classic = member.clone();
    classic.instance = Some("i".into());
    classic.state = MemberState::Unrevoked;
    classic.classic = Some(ClassicProtocols {
        session_timeout_ms: 9,
        protocols: vec![("range".into(), Blob::from(&b"meta"[..]))],
    });
    let group = StoredConsumerGroup {
        epoch: Epoch(3),
        assignment_epoch: Epoch(2),
        topics_hash: u64::MAX,
        empty_since: WallTime::of_ms(5),
    };
    let member_key = Key::ConsumerMember("g".into(), "m".into());
    let cases = [
        (Key::ConsumerGroup("g".into()), Value::ConsumerGroup(group)),
        (member_key.clone(), Value::ConsumerMember(Arc::new(member))),
        (member_key, Value::ConsumerMember(Arc::new(classic))),
        (
            Key::ConsumerTarget("g".into(), "m".into()),
            Value::ConsumerTarget(Arc::new([([1; 16], [0, 1].into())].into())),
        ),
    ];
    for (key, value) in cases {
        let (key_bytes, bytes) = (key.encode(), Key::encode_value(&value));
        assert_eq!(read(&key_bytes, Some(&bytes)), Ok((key.clone(), Some(value))));
        for cut in 0..bytes.len() {
            assert!(read(&key_bytes, Some(&bytes[..cut])).is_err(), "cut at {cut}");
        }
        for cut in 0..key_bytes.len() {
            assert!(read(&key_bytes[..cut], None).is_err(), "cut at {cut}");
        }
    }
}
