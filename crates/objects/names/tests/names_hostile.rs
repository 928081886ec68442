//! Bytes that nobody should send: no panic, no answer that is longer than it may be, and no answer to an answer.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod support;

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::RecordType;
use objects_names::{Transport, UDP_BYTES_MAX};
use support::{World, query, with_payload};

/// What comes back to hostile bytes is a response of bounded length, and is not answered itself.
fn check(world: &World, bytes: &[u8]) -> Option<Message> {
    let answer = world.send(bytes, Transport::Udp)?;
    assert!(answer.len() <= usize::from(UDP_BYTES_MAX));
    assert_eq!(world.send(&answer, Transport::Udp), None, "answers are not answered");
    assert_eq!(answer[..2], bytes[..2], "the answer has the query's number");
    Some(Message::from_vec(&answer).unwrap())
}

fn code(world: &World, bytes: &[u8]) -> Option<ResponseCode> {
    check(world, bytes).map(|answer| answer.metadata.response_code)
}

const HEADER: [u8; 12] = [0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];

#[test]
fn query_cut_anywhere_is_refused_or_not_answered() {
    let world = World::new();
    let whole = with_payload(query("m1", RecordType::A), 1_232).to_vec().unwrap();
    for length in 0..whole.len() {
        let expected = (length >= HEADER.len()).then_some(ResponseCode::FormErr);
        assert_eq!(code(&world, &whole[..length]), expected, "cut at {length}");
    }
    assert_eq!(code(&world, &whole), Some(ResponseCode::NoError));
}

#[test]
fn every_flipped_bit_is_survived() {
    let world = World::new();
    let whole = with_payload(query("_objects._tcp", RecordType::SRV), 1_232).to_vec().unwrap();
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        check(&world, &bytes);
    }
}

#[test]
fn compressed_names_in_circles_are_refused() {
    let world = World::new();
    let tail = [0, 1, 0, 1];
    // To itself, forward, to each other, into the header, behind the end.
    for name in [&[0xc0, 12][..], &[0xc0, 14], &[0xc0, 14, 0xc0, 12], &[0xff, 0xff], &[1, b'a', 0xc0, 12]] {
        let bytes = [&HEADER[..], name, &tail].concat();
        assert_eq!(code(&world, &bytes), Some(ResponseCode::FormErr), "{name:?}");
    }
    // Labels of a kind that nobody uses any more, and ones that are too long.
    for name in [&[0x41, 0][..], &[0x80, 0], &[64; 70]] {
        let bytes = [&HEADER[..], name, &tail].concat();
        assert_eq!(code(&world, &bytes), Some(ResponseCode::FormErr), "{name:?}");
    }
}

#[test]
fn name_that_is_too_long_is_refused() {
    let world = World::new();
    let label = [&[63][..], &[b'a'; 63]].concat();
    for labels in [4, 5, 60] {
        let bytes = [&HEADER[..], &label.repeat(labels), &[0, 0, 1, 0, 1]].concat();
        assert_eq!(code(&world, &bytes), Some(ResponseCode::FormErr), "{labels}");
    }
    let deep = [&HEADER[..], &[1, b'a'].repeat(127), &[0, 0, 1, 0, 1]].concat();
    assert_eq!(code(&world, &deep), Some(ResponseCode::Refused));
}

#[test]
fn counts_that_promise_more_than_comes_are_refused() {
    let world = World::new();
    let whole = query("m1", RecordType::A).to_vec().unwrap();
    for at in [4, 6, 8, 10] {
        for count in [2_u16, 1_000, u16::MAX] {
            let mut bytes = whole.clone();
            bytes[at..at + 2].copy_from_slice(&count.to_be_bytes());
            assert_eq!(code(&world, &bytes), Some(ResponseCode::FormErr), "{at} {count}");
        }
    }
    let questions = [&[0, 7, 1, 0, 0x40, 0, 0, 0, 0, 0, 0, 0][..], &[0, 0, 1, 0, 1].repeat(800)].concat();
    assert_eq!(code(&world, &questions), Some(ResponseCode::FormErr));
}

#[test]
fn huge_query_is_refused() {
    let world = World::new();
    let mut bytes = query("m1", RecordType::A).to_vec().unwrap();
    bytes.resize(65_535, 0);
    assert_eq!(code(&world, &bytes), Some(ResponseCode::FormErr));
}

#[test]
fn labels_of_any_bytes_are_names_that_are_not_there() {
    let world = World::new();
    for byte in 0..=255_u8 {
        if byte.is_ascii_alphanumeric() {
            continue;
        }
        for below in [&b"\x01g"[..], b"\x01o", b"\x04lock\x01o", b"\x04addr", b"\x04_tcp", b""] {
            let name = [&[2, byte, byte][..], below, b"\x05diwan\x08internal\x00"].concat();
            let bytes = [&HEADER[..], &name, &[0, 1, 0, 1]].concat();
            assert_eq!(code(&world, &bytes), Some(ResponseCode::NXDomain), "{byte} {below:?}");
        }
    }
}
