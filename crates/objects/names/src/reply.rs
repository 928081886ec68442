//! An answer as bytes.

use hickory_proto::op::{Edns, Message, ResponseCode};

use crate::Transport;
use crate::found::Found;
use crate::query::{Header, Query};

/// What passes every path unfragmented: a longer datagram is truncated, whatever the client takes.
pub const UDP_BYTES_MAX: u16 = 1_232;
/// What a client takes that says nothing.
const UDP_BYTES_MIN: u16 = 512;

/// The answer to a query for which this was found.
#[must_use]
pub fn encode(query: &Query, found: Found, transport: Transport) -> Vec<u8> {
    let longest = match transport {
        Transport::Tcp => usize::from(u16::MAX),
        Transport::Udp => usize::from(query.payload.unwrap_or(0).clamp(UDP_BYTES_MIN, UDP_BYTES_MAX)),
    };
    let mut message = beginning(query, found.code);
    message.metadata.authoritative = found.code != ResponseCode::ServFail;
    message.insert_answers(found.answers);
    message.insert_authorities(found.authorities);
    message.insert_additionals(found.additionals);
    let fitting = |message: &Message| message.to_vec().ok().filter(|bytes| bytes.len() <= longest);
    if let Some(bytes) = fitting(&message) {
        return bytes;
    }
    // Nobody asked for the additional records: without them the answer is whole.
    message.additionals.clear();
    fitting(&message).unwrap_or_else(|| truncated(query))
}

/// Tells the client to ask again over TCP.
#[must_use]
pub fn truncated(query: &Query) -> Vec<u8> {
    let mut message = beginning(query, ResponseCode::NoError);
    message.metadata.authoritative = true;
    message.metadata.truncation = true;
    finished(&message, query.header)
}

/// A refusal that repeats the question.
pub(crate) fn refusal(query: &Query, code: ResponseCode) -> Vec<u8> {
    finished(&beginning(query, code), query.header)
}

/// A refusal of what has no question that can be read.
pub(crate) fn of_header(header: Header, code: ResponseCode) -> Vec<u8> {
    headed(header, code).to_vec().unwrap_or_default()
}

/// What is shorter than any limit.
fn finished(message: &Message, header: Header) -> Vec<u8> {
    message.to_vec().unwrap_or_else(|_| of_header(header, ResponseCode::ServFail))
}

fn beginning(query: &Query, code: ResponseCode) -> Message {
    let mut message = headed(query.header, code);
    message.add_query(query.question.clone());
    if query.payload.is_some() {
        let mut edns = Edns::new();
        edns.set_max_payload(UDP_BYTES_MAX);
        message.set_edns(edns);
    }
    message
}

fn headed(header: Header, code: ResponseCode) -> Message {
    let mut message = Message::response(header.id, header.op_code);
    message.metadata.response_code = code;
    message.metadata.recursion_desired = header.recursion_desired;
    message.metadata.checking_disabled = header.checking_disabled;
    message
}
