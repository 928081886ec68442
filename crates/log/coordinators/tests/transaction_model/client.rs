//! A client with a transactional id: it begins transactions, retries what is not answered, and goes on after errors as the
//! protocol's clients do. Two clients share each id and fence each other.

use base::Random;
use log_coordinators::{
    AddPartitions, EndTransaction, InitProducerId, Participant, Producer, Text, Topic, TransactionAnswer,
    TransactionRef, TransactionRequest,
};
use log_wire::ErrorCode;

pub(crate) const PARTITIONS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Init,
    Add(usize),
    AddOffsets,
    Produce(usize, i64),
    Commit,
    End(bool),
}

#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) id: usize,
    pub(crate) version: i16,
    pub(crate) incarnation: u64,
    pub(crate) producer: Option<Producer>,
    /// It has to raise its own epoch before it begins again (KIP-360).
    pub(crate) raise: bool,
    pub(crate) attempt: Option<u64>,
    pub(crate) plan: Vec<Op>,
    pub(crate) waits: Option<u64>,
    pub(crate) asked_at: u64,
    pub(crate) silent_until: u64,
    /// The number of the InitProducerId that gave it its producer.
    pub(crate) since: u64,
}

/// What an answer means to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    Done,
    Retry,
    /// Only this transaction is lost.
    Abort,
    /// Another client has the id.
    Fenced,
}

impl Client {
    pub(crate) const fn new(id: usize, version: i16, incarnation: u64) -> Self {
        Self {
            id,
            version,
            incarnation,
            producer: None,
            raise: false,
            attempt: None,
            plan: Vec::new(),
            waits: None,
            asked_at: 0,
            silent_until: 0,
            since: 0,
        }
    }

    pub(crate) const fn raises(&self) -> bool {
        self.version >= 5
    }

    /// The steps of a transaction, the last one first.
    pub(crate) fn plan(&mut self, attempt: u64, random: &mut Random) {
        let mut steps = Vec::new();
        let mut added = [false; PARTITIONS + 1];
        for number in 0..=random.below(4) {
            let at = random.below(PARTITIONS as u64 + 1) as usize;
            let classic = !self.raises() && !std::mem::replace(&mut added[at], true);
            if at == PARTITIONS {
                steps.extend(classic.then_some(Op::AddOffsets));
                steps.push(Op::Commit);
            } else {
                steps.extend(classic.then_some(Op::Add(at)));
                steps.push(Op::Produce(at, (attempt * 10 + number) as i64));
            }
        }
        steps.push(Op::End(random.chance(75)));
        steps.reverse();
        (self.plan, self.attempt) = (steps, Some(attempt));
    }

    pub(crate) fn next(&self) -> Option<Op> {
        if self.producer.is_none() || (self.raise && self.attempt.is_none()) {
            return Some(Op::Init);
        }
        self.plan.last().copied()
    }

    pub(crate) fn request(&self, op: Op) -> TransactionRequest {
        let who = || self.who();
        match op {
            Op::Init => TransactionRequest::Init(InitProducerId {
                transactional_id: name(self.id),
                timeout_ms: 10_000,
                producer: self.producer,
            }),
            Op::Add(at) => {
                let partitions = vec![(participant(at), ErrorCode::None)];
                TransactionRequest::Add(AddPartitions { who: who(), partitions })
            }
            Op::AddOffsets => TransactionRequest::AddOffsets(who(), 0),
            Op::End(commit) => {
                TransactionRequest::End(EndTransaction { who: who(), commit, version: self.version })
            }
            Op::Produce(..) | Op::Commit => panic!("it goes to another broker"),
        }
    }

    pub(crate) fn who(&self) -> TransactionRef {
        TransactionRef { transactional_id: name(self.id), producer: self.producer.expect("it was given one") }
    }

    /// The transaction is lost: what is left is to abort it.
    pub(crate) fn lose(&mut self) {
        self.plan = vec![Op::End(false)];
        self.raise |= !self.raises();
    }
}

pub(crate) fn name(id: usize) -> Text {
    format!("id-{id}").into()
}

/// A partition, or the group's offsets.
pub(crate) fn participant(at: usize) -> Participant {
    if at == PARTITIONS {
        return Participant::Offsets(0);
    }
    Participant::Partition(Topic { name: "t".into(), id: [1; 16] }, at as i32)
}

pub(crate) fn meaning(op: Op, answer: &TransactionAnswer) -> Meaning {
    let code = match answer {
        TransactionAnswer::Failed(code) => *code,
        TransactionAnswer::Each(codes) => codes[0],
        _ => ErrorCode::None,
    };
    match code {
        ErrorCode::None => Meaning::Done,
        ErrorCode::ConcurrentTransactions
        | ErrorCode::CoordinatorLoadInProgress
        | ErrorCode::CoordinatorNotAvailable
        | ErrorCode::NotCoordinator => Meaning::Retry,
        ErrorCode::TransactionAbortable | ErrorCode::UnknownProducerId | ErrorCode::InvalidProducerEpoch => {
            Meaning::Abort
        }
        // The second is what the other client's new producer id leads to.
        ErrorCode::ProducerFenced | ErrorCode::InvalidProducerIdMapping => Meaning::Fenced,
        // Under version 1 a client cannot know whether its transaction ever began.
        ErrorCode::InvalidTxnState if op == Op::End(false) => Meaning::Done,
        code => panic!("{op:?} answered {code:?}"),
    }
}
