//! A query as it came, and what its answer repeats of it.

use hickory_proto::op::{OpCode, Query as Question};
use hickory_proto::rr::{Name, RecordType};

/// The bytes before the question.
const HEADER: usize = 12;

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
    pub(crate) fn read(bytes: &[u8]) -> Option<(Self, [u16; 4])> {
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
