//! Bytes captured from a real Apache ZooKeeper 3.9.5, one file an operation: each is decoded, encoded again to the same
//! bytes, and cut at every byte. `cargo run -p tools-differential --bin differential -- --capture FOLDER` wrote the files.
#![expect(clippy::unwrap_used, reason = "a test")]

mod record;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use council_wire::{
    ConnectRequest, ConnectResponse, OpCode, Reader, ReplyHeader, Request, RequestHeader, WatcherEvent,
    Writer,
};

/// One captured frame: what it is (`request`, `reply`, ..), the operation's name, the bytes.
struct Captured {
    kind: String,
    operation: Option<OpCode>,
    bytes: Vec<u8>,
}

fn captured() -> Vec<Captured> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().flat_map(|file| frames(&fs::read_to_string(file).unwrap())).collect()
}

fn frames(text: &str) -> Vec<Captured> {
    let frame_lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', ' ']));
    frame_lines
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            let hex = words[words.len() - 1];
            Captured {
                kind: words[0].to_owned(),
                operation: OpCode::ALL.iter().copied().find(|operation| operation.name() == words[1]),
                bytes: (0..hex.len())
                    .step_by(2)
                    .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
                    .collect(),
            }
        })
        .collect()
}

fn of_kind(kind: &str) -> Vec<Captured> {
    let found: Vec<Captured> = captured().into_iter().filter(|frame| frame.kind == kind).collect();
    assert!(!found.is_empty(), "no capture of a {kind}");
    found
}

fn written(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut Writer::new(&mut out));
    out
}

#[test]
fn every_operation_that_clients_send_is_captured() {
    let seen: BTreeSet<OpCode> = of_kind("request").iter().filter_map(|frame| frame.operation).collect();
    let missing: Vec<&OpCode> = OpCode::ALL.iter().filter(|operation| !seen.contains(operation)).collect();
    assert_eq!(missing, [&OpCode::CreateSession], "which no client sends");
}

#[test]
fn requests_decode_and_encode_to_the_same_bytes() {
    for frame in of_kind("request") {
        let mut reader = Reader::new(&frame.bytes);
        let header = RequestHeader::read(&mut reader).unwrap();
        let operation = OpCode::from_code(header.operation).unwrap();
        assert_eq!(Some(operation), frame.operation);
        let Ok(request) = Request::decode(operation, reader.rest()) else {
            assert!(refused_by_the_real_server_too(&frame), "{}", operation.name());
            continue;
        };
        let again = written(|writer| {
            header.write(writer);
            record::request(&request, writer);
        });
        assert_eq!(again, frame.bytes, "{request:?}");
    }
}

#[test]
fn a_request_cut_short_anywhere_is_malformed() {
    for frame in of_kind("request") {
        let body = &frame.bytes[8..];
        for end in 0..body.len() {
            let cut = Request::decode(frame.operation.unwrap(), &body[..end]);
            assert!(
                cut.is_err(),
                "{:?} of {} at {end} of {}",
                cut,
                frame.operation.unwrap().name(),
                body.len()
            );
        }
        for end in 0..8 {
            assert!(RequestHeader::read(&mut Reader::new(&frame.bytes[..end])).is_err());
        }
    }
}

#[test]
fn replies_decode_and_encode_to_the_same_bytes() {
    for frame in of_kind("reply") {
        let mut reader = Reader::new(&frame.bytes);
        let header = ReplyHeader::read(&mut reader).unwrap();
        let again = written(|writer| {
            header.write(writer);
            if header.err == 0 {
                record::reply(frame.operation.unwrap(), &mut reader, writer).unwrap();
            }
        });
        assert_eq!(again, frame.bytes, "{}", frame.operation.unwrap().name());
        assert_eq!(reader.rest(), b"", "{}", frame.operation.unwrap().name());
    }
}

#[test]
fn a_reply_cut_short_anywhere_is_malformed() {
    for frame in of_kind("reply") {
        for end in 0..frame.bytes.len() {
            let mut reader = Reader::new(&frame.bytes[..end]);
            let mut nowhere = Vec::new();
            let cut = ReplyHeader::read(&mut reader).and_then(|_| {
                record::reply(frame.operation.unwrap(), &mut reader, &mut Writer::new(&mut nowhere))
            });
            assert!(cut.is_err(), "{} at {end}", frame.operation.unwrap().name());
        }
    }
}

#[test]
fn events_decode_and_encode_to_the_same_bytes() {
    for frame in of_kind("event") {
        let mut reader = Reader::new(&frame.bytes);
        let header = ReplyHeader::read(&mut reader).unwrap();
        let event = WatcherEvent::read(&mut reader).unwrap();
        assert_eq!(written(|writer| event.write(header.zxid, writer)), frame.bytes);
        for end in 16..frame.bytes.len() {
            assert!(WatcherEvent::read(&mut Reader::new(&frame.bytes[16..end])).is_err());
        }
    }
}

#[test]
fn handshakes_decode_and_encode_to_the_same_bytes_with_and_without_read_only() {
    let [hello, welcome] = ["hello", "welcome"].map(|kind| of_kind(kind).remove(0).bytes);
    for length in [hello.len(), hello.len() - 1] {
        let request = ConnectRequest::read(&mut Reader::new(&hello[..length])).unwrap();
        assert_eq!(written(|writer| request.write(writer)), hello[..length]);
    }
    for length in [welcome.len(), welcome.len() - 1] {
        let response = ConnectResponse::read(&mut Reader::new(&welcome[..length])).unwrap();
        assert_eq!(written(|writer| response.write(writer)), welcome[..length]);
    }
    for end in 0..hello.len() - 1 {
        assert!(ConnectRequest::read(&mut Reader::new(&hello[..end])).is_err());
    }
    for end in 0..welcome.len() - 1 {
        assert!(ConnectResponse::read(&mut Reader::new(&welcome[..end])).is_err());
    }
}

/// The one capture that is malformed on purpose: a sync inside a multi.
fn refused_by_the_real_server_too(frame: &Captured) -> bool {
    frame.operation == Some(OpCode::Multi)
        && frame.bytes.get(8..12) == Some(&OpCode::Sync.code().to_be_bytes())
}
