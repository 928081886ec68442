//! A query as it came: read, and refused if no state is needed for that.

use hickory_proto::op::{Message, OpCode, Query as Question, ResponseCode};
use hickory_proto::rr::{DNSClass, Name, RecordType};

use crate::reply;
use crate::zone::Zone;

/// The bytes before the question.
const HEADER: usize = 12;
/// More than any query needs. Its records, which nobody asked for, are read by the codec.
const QUERY_BYTES_MAX: usize = 4_096;

/// A query for a name of the zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub(crate) header: Header,
    /// As it was asked: answers repeat it.
    pub(crate) question: Question,
    /// How many bytes of a datagram the client takes, if it says so.
    pub(crate) payload: Option<u16>,
}

/// What an answer repeats of a query's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) id: u16,
    pub(crate) op_code: OpCode,
    pub(crate) recursion_desired: bool,
    pub(crate) checking_disabled: bool,
}

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

impl Query {
    pub(crate) fn name(&self) -> &Name {
        self.question.name()
    }

    pub(crate) fn kind(&self) -> RecordType {
        self.question.query_type()
    }
}

impl Header {
    /// With the numbers of questions, answers, authorities and additional records; nothing if it is no query's.
    fn read(bytes: &[u8]) -> Option<(Self, [u16; 4])> {
        let (header, _) = bytes.split_first_chunk::<HEADER>()?;
        let number = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let (first, second) = (header[2], header[3]);
        let own = Self {
            id: number(0),
            op_code: OpCode::from_u8((first >> 3) & 0x0f),
            recursion_desired: first & 1 != 0,
            checking_disabled: second & 0x10 != 0,
        };
        let is_response = first & 0x80 != 0;
        (!is_response).then_some((own, [number(4), number(6), number(8), number(10)]))
    }
}
