//! What a client asks for, as a request of the wire, and what of its answer matters to the client.

use bytes::Bytes;
use kafka_protocol::messages::{
    AddOffsetsToTxnRequest, AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest, ProduceRequest,
    TxnOffsetCommitRequest,
};

use super::super::client::outcome;
use super::super::requests::Id;
use crate::bench::{Bench, decoded};

/// A request with its version.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Init(InitProducerIdRequest),
    Add(AddPartitionsToTxnRequest),
    AddOffsets(AddOffsetsToTxnRequest),
    Produce(i16, ProduceRequest),
    Commit(i16, TxnOffsetCommitRequest),
    End(i16, EndTxnRequest),
}

/// The error of an answer, and the producer that it gives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) code: i16,
    pub(crate) producer: Id,
}

const INIT: i16 = 5;
const ADD: i16 = 3;
const NO_PRODUCER: Id = (-1, -1);

impl Ask {
    /// Gives it to the broker. The answer comes at once, or under that number.
    pub(crate) fn deliver(&self, bench: &mut Bench, number: u64) -> Option<Answer> {
        let body = match self {
            Self::Init(request) => bench.send(number, INIT, request),
            Self::Add(request) => bench.send(number, ADD, request),
            Self::AddOffsets(request) => bench.send(number, ADD, request),
            Self::Produce(version, request) => bench.send(number, *version, request),
            Self::Commit(version, request) => bench.send(number, *version, request),
            Self::End(version, request) => bench.send(number, *version, request),
        };
        body.map(|body| self.answer(body.expect("it has an answer")))
    }

    pub(crate) fn answer(&self, body: Bytes) -> Answer {
        let mut producer = NO_PRODUCER;
        let code = match self {
            Self::Init(_) => {
                let answer = decoded::<InitProducerIdRequest>(body, INIT);
                producer = (answer.producer_id.0, answer.producer_epoch);
                answer.error_code
            }
            Self::Add(_) => {
                let answer = decoded::<AddPartitionsToTxnRequest>(body, ADD);
                answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
            }
            Self::AddOffsets(_) => decoded::<AddOffsetsToTxnRequest>(body, ADD).error_code,
            Self::Produce(version, _) => outcome(&decoded::<ProduceRequest>(body, *version)).0,
            Self::Commit(version, _) => {
                decoded::<TxnOffsetCommitRequest>(body, *version).topics[0].partitions[0].error_code
            }
            Self::End(version, _) => {
                let answer = decoded::<EndTxnRequest>(body, *version);
                producer = (answer.producer_id.0, answer.producer_epoch);
                answer.error_code
            }
        };
        Answer { code, producer }
    }
}
