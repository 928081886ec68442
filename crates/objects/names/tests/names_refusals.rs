//! What is refused, what is not answered at all, and how long an answer may be.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod support;

use hickory_proto::op::{Message, OpCode, ResponseCode};
use hickory_proto::rr::{DNSClass, RecordType};
use objects_names::{Received, Transport, UDP_BYTES_MAX, answer, receive, truncated};
use support::{World, query, with_payload};

fn sent(world: &World, message: &Message, transport: Transport) -> (Message, usize) {
    let bytes = world.send(&message.to_vec().unwrap(), transport).unwrap();
    (Message::from_vec(&bytes).unwrap(), bytes.len())
}

fn code(world: &World, message: &Message) -> ResponseCode {
    let (answer, _) = sent(world, message, Transport::Udp);
    assert!(answer.answers.is_empty());
    assert!(!answer.metadata.recursion_available);
    assert!(!answer.metadata.authoritative);
    answer.metadata.response_code
}

#[test]
fn name_outside_the_zone_is_refused() {
    let world = World::new();
    for name in ["example.com.", "internal.", "notdiwan.internal.", "m1.diwan.internal.com."] {
        assert_eq!(code(&world, &query(name, RecordType::A)), ResponseCode::Refused, "{name}");
    }
    let mut root = query("x.", RecordType::NS);
    root.queries[0].set_name(hickory_proto::rr::Name::root());
    assert_eq!(code(&world, &root), ResponseCode::Refused);
}

#[test]
fn transfer_and_other_classes_are_refused() {
    let world = World::new();
    for kind in [RecordType::AXFR, RecordType::IXFR] {
        assert_eq!(code(&world, &query("", kind)), ResponseCode::Refused);
    }
    let mut chaos = query("m1", RecordType::TXT);
    chaos.queries[0].set_query_class(DNSClass::CH);
    assert_eq!(code(&world, &chaos), ResponseCode::Refused);
}

#[test]
fn update_notification_and_unknown_operations_are_not_there() {
    let world = World::new();
    for op_code in [OpCode::Status, OpCode::Notify, OpCode::Update, OpCode::Unknown(9)] {
        let mut message = query("m1", RecordType::SOA);
        message.metadata.op_code = op_code;
        let (answer, _) = sent(&world, &message, Transport::Udp);
        assert_eq!(answer.metadata.response_code, ResponseCode::NotImp);
        assert_eq!((answer.metadata.op_code, answer.metadata.id), (op_code, 7));
    }
}

#[test]
fn several_questions_none_and_records_of_answers_are_malformed() {
    let world = World::new();
    let mut two = query("m1", RecordType::A);
    two.add_query(query("m2", RecordType::A).queries[0].clone());
    let mut none = query("m1", RecordType::A);
    none.queries.clear();
    let mut with_answer = query("m1", RecordType::A);
    with_answer.add_answer(world.ask("m1", RecordType::A).answers[0].clone());
    for message in [two, none, with_answer] {
        assert_eq!(code(&world, &message), ResponseCode::FormErr);
    }
}

#[test]
fn response_is_not_answered() {
    let world = World::new();
    let answer = world.ask("m1", RecordType::A).to_vec().unwrap();
    assert_eq!(world.send(&answer, Transport::Udp), None);
    let refusal = world.send(&query("x.", RecordType::A).to_vec().unwrap(), Transport::Udp).unwrap();
    assert_eq!(world.send(&refusal, Transport::Udp), None);
}

#[test]
fn member_without_a_lease_answers_servfail() {
    let world = World::new();
    let bytes = query("m1", RecordType::A).to_vec().unwrap();
    let bytes = answer(&world.zone, &bytes, Transport::Udp, None, 0).unwrap();
    let found = Message::from_vec(&bytes).unwrap();
    assert_eq!(found.metadata.response_code, ResponseCode::ServFail);
    assert!(!found.metadata.authoritative && found.answers.is_empty());
}

#[test]
fn newer_edns_is_answered_with_the_known_version() {
    let world = World::new();
    let mut message = with_payload(query("m1", RecordType::A), 4_096);
    message.edns.as_mut().unwrap().set_version(1);
    let (answer, _) = sent(&world, &message, Transport::Udp);
    // Two codes share this number; the codec prefers the other one.
    assert_eq!(u16::from(answer.metadata.response_code), u16::from(ResponseCode::BADVERS));
    assert_eq!(answer.edns.unwrap().version(), 0);
}

#[test]
fn edns_is_answered_only_to_who_speaks_it() {
    let world = World::new();
    let message = query("m1", RecordType::A);
    let (plain, _) = sent(&world, &message, Transport::Udp);
    assert!(plain.edns.is_none() && plain.metadata.recursion_desired);
    let (answer, _) = sent(&world, &with_payload(message, 4_096), Transport::Udp);
    assert_eq!(answer.edns.unwrap().max_payload(), UDP_BYTES_MAX);
}

/// Text of so many records of 250 bytes.
fn long(world: &mut World, records: u8) {
    for record in 0..records {
        world.set("long", &format!(r#"{{"type":"TXT","text":"{}{record:02}"}}"#, "x".repeat(248)));
    }
}

#[test]
fn answer_that_is_too_long_for_a_datagram_is_truncated_whole() {
    let mut world = World::new();
    long(&mut world, 4);
    let message = query("long", RecordType::TXT);
    let limits = [(None, 512), (Some(100), 512), (Some(1_000), 1_000), (Some(4_096), 1_232)];
    for (payload, limit) in limits {
        let message =
            payload.map_or_else(|| message.clone(), |payload| with_payload(message.clone(), payload));
        let (answer, length) = sent(&world, &message, Transport::Udp);
        let is_whole = answer.answers.len() == 4;
        assert_eq!(is_whole, limit == 1_232, "{payload:?}");
        assert_eq!(answer.metadata.truncation, !is_whole);
        assert!(is_whole || answer.answers.is_empty());
        assert!(length <= limit, "{length} {limit}");
    }
    long(&mut world, 16);
    let (answer, length) = sent(&world, &with_payload(message.clone(), 4_096), Transport::Udp);
    assert!(answer.metadata.truncation && length <= 1_232);
    let (answer, length) = sent(&world, &message, Transport::Tcp);
    assert_eq!((answer.answers.len(), answer.metadata.truncation), (16, false));
    assert!(length > 4_000);
}

#[test]
fn additional_records_give_way_before_anything_is_truncated() {
    let mut world = World::new();
    for number in 1..=16_u8 {
        let args = format!(r#"{{"name":"n{number:02}","data":{{"address":"10.1.0.{number}","port":80}}}}"#);
        world.call_of(number, "membership/web", "join", &args);
    }
    let message = with_payload(query("web.g", RecordType::SRV), 1_000);
    let (whole, _) = sent(&world, &message, Transport::Tcp);
    assert_eq!((whole.answers.len(), whole.additionals.len()), (16, 16));
    let (answer, _) = sent(&world, &message, Transport::Udp);
    assert_eq!((answer.answers.len(), answer.additionals.len()), (16, 0));
    assert!(!answer.metadata.truncation);
}

#[test]
fn truncated_answer_repeats_the_question() {
    let world = World::new();
    let bytes = query("M1", RecordType::A).to_vec().unwrap();
    let Received::Question(asked) = receive(&world.zone, &bytes) else { panic!("a question") };
    let answer = Message::from_vec(&truncated(&asked)).unwrap();
    assert!(answer.metadata.truncation && answer.answers.is_empty());
    assert_eq!(answer.queries[0].name().to_ascii(), "M1.diwan.internal.");
}
