//! A query's bytes: read, and refused if no state is needed for that.

use hickory_proto::op::{Message, OpCode, ResponseCode};
use hickory_proto::rr::{DNSClass, RecordType};

use crate::query::{Header, Query};
use crate::reply;
use crate::zone::Zone;

/// More than any query needs. Its records, which nobody asked for, are read by the codec.
const QUERY_BYTES_MAX: usize = 4_096;

/// What comes of a query's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// Nothing is answered: they are no query.
    Silence,
    /// This is answered, whatever the state is.
    Answer(Vec<u8>),
    /// It is to be looked up.
    Question(Query),
}

/// Reads a query.
#[must_use]
pub fn receive(zone: &Zone, bytes: &[u8]) -> Received {
    let Some((header, counts)) = Header::read(bytes) else { return Received::Silence };
    let refuse = |code| Received::Answer(reply::of_header(header, code));
    if header.op_code != OpCode::Query {
        return refuse(ResponseCode::NotImp);
    }
    // One question, and nothing that only an answer has. Of the additional records one says what the client takes, and
    // one may be a signature, which is not looked at.
    if bytes.len() > QUERY_BYTES_MAX || !matches!(counts, [1, 0, 0, 0..=2]) {
        return refuse(ResponseCode::FormErr);
    }
    let Ok(message) = Message::from_vec(bytes) else { return refuse(ResponseCode::FormErr) };
    let [question] = &message.queries[..] else { return refuse(ResponseCode::FormErr) };
    let payload = message.edns.as_ref().map(|edns| edns.max_payload());
    let query = Query { header, question: question.clone(), payload };
    if message.edns.is_some_and(|edns| edns.version() > 0) {
        return Received::Answer(reply::refusal(&query, ResponseCode::BADVERS));
    }
    let is_transfer = matches!(query.kind(), RecordType::AXFR | RecordType::IXFR);
    let is_class = matches!(question.query_class(), DNSClass::IN | DNSClass::ANY);
    if is_transfer || !is_class || zone.inside(query.name()).is_none() {
        return Received::Answer(reply::refusal(&query, ResponseCode::Refused));
    }
    Received::Question(query)
}
