//! The bytes of calls about share groups: to the holder of their states, and between holders and coordinators.

use log_share::{
    DeliveryState, ShareKey, ShareState, StateAnswer, StateBatch, StateRequest, StateSummary, StateUpdate,
};
use log_wire::messages::peers::{
    PeerStateBatch, PeerStateSummary, ShareGroupsCall, ShareStateAnswer, ShareStateCall,
};
use log_wire::{ErrorCode, Malformed};

use super::form::{SHARE_GROUPS, SHARE_STATE, error_of, read, written_behind};

const READ: i8 = 0;
const WRITE: i8 = 1;
const INITIALIZE: i8 = 2;
const DELETE: i8 = 3;
const DESCRIBE: i8 = 4;

const DONE: i8 = 0;
const STATE: i8 = 1;
const SUMMARIES: i8 = 2;

/// What a broker tells the coordinator of share groups' members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToldGroups {
    /// Groups that have states.
    pub(crate) groups: Vec<String>,
    /// Groups that have none any more.
    pub(crate) gone: Vec<String>,
}

/// A request to the holder of states.
///
/// # Errors
/// No broker asks that.
pub(super) fn read_request(body: &[u8]) -> Result<StateRequest, Malformed> {
    let call: ShareStateCall = read(body)?;
    let key = ShareKey { group: call.group.as_str().into(), topic: call.topic_id, partition: call.index };
    match call.kind {
        READ => Ok(StateRequest::Read { key, leader_epoch: call.leader_epoch }),
        WRITE => {
            let update = StateUpdate { start: call.start, batches: read_batches(call.batches)? };
            let (state_epoch, leader_epoch) = (call.state_epoch, call.leader_epoch);
            Ok(StateRequest::Write { key, state_epoch, leader_epoch, update })
        }
        INITIALIZE => Ok(StateRequest::Initialize { key, start: call.start }),
        DELETE => Ok(StateRequest::Delete(key)),
        DESCRIBE => Ok(StateRequest::Describe(key.group)),
        _ => Err(Malformed("a request about states of an unknown kind")),
    }
}

/// The bytes of a request to the holder of states.
pub(crate) fn request(request: &StateRequest) -> Vec<u8> {
    let of = |kind: i8, key: &ShareKey| ShareStateCall {
        kind,
        group: key.group.to_string(),
        topic_id: key.topic,
        index: key.partition,
        ..ShareStateCall::default()
    };
    let call = match request {
        StateRequest::Read { key, leader_epoch } => {
            ShareStateCall { leader_epoch: *leader_epoch, ..of(READ, key) }
        }
        StateRequest::Write { key, state_epoch, leader_epoch, update } => ShareStateCall {
            state_epoch: *state_epoch,
            leader_epoch: *leader_epoch,
            start: update.start,
            batches: update.batches.iter().map(batch).collect(),
            ..of(WRITE, key)
        },
        StateRequest::Initialize { key, start } => ShareStateCall { start: *start, ..of(INITIALIZE, key) },
        StateRequest::Delete(key) => of(DELETE, key),
        StateRequest::Describe(group) => {
            ShareStateCall { kind: DESCRIBE, group: group.to_string(), ..ShareStateCall::default() }
        }
    };
    written_behind(&[SHARE_STATE], &call)
}

/// The bytes of an answer of the holder of states.
pub(crate) fn answer(answer: &StateAnswer) -> Vec<u8> {
    let answer = match answer {
        StateAnswer::Done => ShareStateAnswer { kind: DONE, ..ShareStateAnswer::default() },
        StateAnswer::State(state) => ShareStateAnswer {
            kind: STATE,
            state_epoch: state.state_epoch,
            leader_epoch: state.leader_epoch,
            start: state.start,
            batches: state.batches().map(|of| batch(&of)).collect(),
            ..ShareStateAnswer::default()
        },
        StateAnswer::Summaries(summaries) => ShareStateAnswer {
            kind: SUMMARIES,
            summaries: summaries.iter().map(summary).collect(),
            ..ShareStateAnswer::default()
        },
        StateAnswer::Failed(error) => {
            ShareStateAnswer { error_code: error.code(), ..ShareStateAnswer::default() }
        }
    };
    written_behind(&[], &answer)
}

/// An answer of the holder of states.
///
/// # Errors
/// No broker answers that.
pub(crate) fn read_answer(bytes: &[u8]) -> Result<StateAnswer, Malformed> {
    let answer: ShareStateAnswer = read(bytes)?;
    match (error_of(answer.error_code), answer.kind) {
        (ErrorCode::None, DONE) => Ok(StateAnswer::Done),
        (ErrorCode::None, STATE) => {
            let mut state = ShareState::new(answer.state_epoch, answer.start);
            state.leader_epoch = answer.leader_epoch;
            state.apply(&StateUpdate { start: answer.start, batches: read_batches(answer.batches)? });
            Ok(StateAnswer::State(state))
        }
        (ErrorCode::None, SUMMARIES) => {
            let summaries = answer.summaries.into_iter().map(|of| StateSummary {
                topic: of.topic_id,
                partition: of.index,
                leader_epoch: of.leader_epoch,
                start: of.start,
                finished: of.finished,
            });
            Ok(StateAnswer::Summaries(summaries.collect()))
        }
        (ErrorCode::None, _) => Err(Malformed("an answer about states of an unknown kind")),
        (error, _) => Ok(StateAnswer::Failed(error)),
    }
}

/// The bytes of which groups have states.
pub(crate) fn groups(told: &ToldGroups) -> Vec<u8> {
    let call = ShareGroupsCall { groups: told.groups.clone(), gone: told.gone.clone() };
    written_behind(&[SHARE_GROUPS], &call)
}

pub(super) fn read_groups(body: &[u8]) -> Result<ToldGroups, Malformed> {
    let ShareGroupsCall { groups, gone } = read(body)?;
    Ok(ToldGroups { groups, gone })
}

const fn batch(of: &StateBatch) -> PeerStateBatch {
    let StateBatch { first, last, state, delivery_count } = *of;
    PeerStateBatch { first, last, state: state.number(), delivery_count }
}

fn read_batches(batches: Vec<PeerStateBatch>) -> Result<Vec<StateBatch>, Malformed> {
    let each = batches.into_iter().map(|PeerStateBatch { first, last, state, delivery_count }| {
        let state = DeliveryState::of(state).ok_or(Malformed("an unknown state of records"))?;
        if first < 0 || last < first {
            return Err(Malformed("a batch that ends before it begins"));
        }
        Ok(StateBatch { first, last, state, delivery_count })
    });
    each.collect()
}

const fn summary(of: &StateSummary) -> PeerStateSummary {
    PeerStateSummary {
        topic_id: of.topic,
        index: of.partition,
        leader_epoch: of.leader_epoch,
        start: of.start,
        finished: of.finished,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> ShareKey {
        ShareKey { group: "g".into(), topic: [7; 16], partition: 3 }
    }

    fn update() -> StateUpdate {
        let batch = StateBatch { first: 5, last: 6, state: DeliveryState::Archived, delivery_count: 2 };
        StateUpdate { start: 4, batches: vec![batch] }
    }

    #[test]
    fn requests_come_back_and_no_part_of_them_is_one() {
        let requests = [
            StateRequest::Read { key: key(), leader_epoch: 2 },
            StateRequest::Write { key: key(), state_epoch: 1, leader_epoch: 2, update: update() },
            StateRequest::Initialize { key: key(), start: 9 },
            StateRequest::Delete(key()),
            StateRequest::Describe("g".into()),
        ];
        for asked in requests {
            let bytes = request(&asked);
            assert_eq!(read_request(&bytes[1..]), Ok(asked));
            assert!((1..bytes.len()).all(|cut| read_request(&bytes[1..cut]).is_err()));
        }
    }

    #[test]
    fn answers_come_back_and_what_ends_before_it_begins_is_refused() {
        let mut state = ShareState::new(1, 4);
        state.leader_epoch = 2;
        state.apply(&update());
        let summary = StateSummary { topic: [7; 16], partition: 3, leader_epoch: 2, start: 4, finished: 2 };
        let answers = [
            StateAnswer::Done,
            StateAnswer::State(state),
            StateAnswer::Summaries(vec![summary]),
            StateAnswer::Failed(ErrorCode::FencedStateEpoch),
        ];
        for told in answers {
            assert_eq!(read_answer(&answer(&told)), Ok(told));
        }
        let backwards = PeerStateBatch { first: 5, last: 4, state: 0, delivery_count: 1 };
        let bad = ShareStateAnswer { kind: STATE, batches: vec![backwards], ..ShareStateAnswer::default() };
        assert!(read_answer(&written_behind(&[], &bad)).is_err());
    }
}
