//! The bytes of calls between brokers: a byte for what is asked, then a message of [`log_wire::messages::peers`].

use std::sync::Arc;

use log_coordinators::{Participant, Producer, Topic, TransactionRef, VerifyPartitions};
use log_partition::{CoordinatorEpoch, Marker, PartitionId, ProducerEpoch, ProducerId, TransactionVersion};
use log_share::StateRequest;
use log_wire::messages::peers::{MarkerAnswer, MarkerCall, PeerParticipant, VerifyAnswer, VerifyCall};
use log_wire::{ErrorCode, Malformed};

use super::append_codec::{self, Append};
use super::ends_codec;
use super::form::{
    APPEND, ENDS, LOADS, MARKER, MOVES, PROBE, SHARE_GROUPS, SHARE_STATE, VERIFY, error_of, read,
    written_behind,
};
use super::load_codec::{self, Told};
use super::share_codec::{self, ToldGroups};
use crate::question::Verdict;

/// The bytes of a probe. Its answer has none.
pub(crate) const PROBE_CALL: &[u8] = &[PROBE];
/// In place of the id of a topic: the participant is a partition of that of groups.
const OFFSETS: [u8; 16] = [0; 16];

/// What another broker asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Verify(VerifyPartitions),
    /// With the epoch of the leader that is to write it, unless that does not matter.
    Marker(Participant, Marker, Option<i32>),
    Probe,
    ShareState(StateRequest),
    ShareGroups(ToldGroups),
    Append(Append),
    Loads(Told),
    Moves(Vec<PartitionId>),
    Ends(Vec<PartitionId>),
}

/// A question of another broker.
///
/// # Errors
/// No broker asks that.
pub(crate) fn asked(bytes: &[u8]) -> Result<Asked, Malformed> {
    let bad = Malformed("a call that no broker makes");
    match bytes.split_first().ok_or(bad)? {
        (&VERIFY, body) => {
            let VerifyCall { transactional_id, producer_id, producer_epoch, add, participants } = read(body)?;
            let producer = Producer { id: ProducerId(producer_id), epoch: ProducerEpoch(producer_epoch) };
            let who = TransactionRef { transactional_id: transactional_id.as_str().into(), producer };
            let partitions = participants.into_iter().map(participant).collect();
            Ok(Asked::Verify(VerifyPartitions { who, partitions, add }))
        }
        (&MARKER, body) => {
            let call: MarkerCall = read(body)?;
            let marker = Marker {
                producer_id: ProducerId(call.producer_id),
                epoch: ProducerEpoch(call.producer_epoch),
                coordinator_epoch: CoordinatorEpoch(call.coordinator_epoch),
                commit: call.commit,
                version: match call.transaction_version {
                    0 => TransactionVersion::Classic,
                    2 => TransactionVersion::EpochPerTransaction,
                    _ => return Err(bad),
                },
            };
            let epoch = Some(call.leader_epoch).filter(|epoch| *epoch >= 0);
            Ok(Asked::Marker(participant(call.participant), marker, epoch))
        }
        (&PROBE, []) => Ok(Asked::Probe),
        (&SHARE_STATE, body) => share_codec::read_request(body).map(Asked::ShareState),
        (&SHARE_GROUPS, body) => share_codec::read_groups(body).map(Asked::ShareGroups),
        (&APPEND, body) => append_codec::read_append(body).map(Asked::Append),
        (&LOADS, body) => load_codec::read_loads(body).map(Asked::Loads),
        (&MOVES, body) => load_codec::read_moves(body).map(Asked::Moves),
        (&ENDS, body) => ends_codec::read_ends(body).map(Asked::Ends),
        _ => Err(bad),
    }
}

/// The bytes of a question.
pub(crate) fn verify(verify: &VerifyPartitions) -> Vec<u8> {
    let Producer { id, epoch } = verify.who.producer;
    let call = VerifyCall {
        transactional_id: verify.who.transactional_id.to_string(),
        producer_id: id.0,
        producer_epoch: epoch.0,
        add: verify.add,
        participants: verify.partitions.iter().map(written_as).collect(),
    };
    written_behind(&[VERIFY], &call)
}

/// The bytes of a call for a marker, by the leader of that epoch if there is one.
pub(crate) fn marker((participant, marker): (&Participant, &Marker), epoch: Option<i32>) -> Vec<u8> {
    let call = MarkerCall {
        participant: written_as(participant),
        producer_id: marker.producer_id.0,
        producer_epoch: marker.epoch.0,
        coordinator_epoch: marker.coordinator_epoch.0,
        commit: marker.commit,
        transaction_version: match marker.version {
            TransactionVersion::Classic => 0,
            TransactionVersion::EpochPerTransaction => 2,
        },
        leader_epoch: epoch.unwrap_or(-1),
    };
    written_behind(&[MARKER], &call)
}

/// The bytes of the answer to a question.
pub(crate) fn verdict(verdict: &Verdict) -> Vec<u8> {
    let (error_code, error_codes) = match verdict {
        Ok(codes) => (0, codes.iter().map(|code| code.code()).collect()),
        Err(error) => (error.code(), Vec::new()),
    };
    written_behind(&[], &VerifyAnswer { error_code, error_codes })
}

/// The answer to a question.
///
/// # Errors
/// No broker answers that.
pub(crate) fn read_verdict(bytes: &[u8]) -> Result<Verdict, Malformed> {
    let VerifyAnswer { error_code, error_codes } = read(bytes)?;
    Ok(match error_of(error_code) {
        ErrorCode::None => Ok(error_codes.into_iter().map(error_of).collect()),
        error => Err(error),
    })
}

/// The bytes of what became of a marker.
pub(crate) fn written(result: Result<(), ErrorCode>) -> Vec<u8> {
    let error_code = result.err().unwrap_or_default().code();
    written_behind(&[], &MarkerAnswer { error_code })
}

/// What became of a marker.
///
/// # Errors
/// No broker answers that.
pub(crate) fn read_written(bytes: &[u8]) -> Result<Result<(), ErrorCode>, Malformed> {
    let MarkerAnswer { error_code } = read(bytes)?;
    Ok(match error_of(error_code) {
        ErrorCode::None => Ok(()),
        error => Err(error),
    })
}

fn participant(PeerParticipant { topic_id, topic, index }: PeerParticipant) -> Participant {
    if topic_id == OFFSETS {
        return Participant::Offsets(index);
    }
    Participant::Partition(Topic { name: Arc::from(topic), id: topic_id }, index)
}

fn written_as(participant: &Participant) -> PeerParticipant {
    match participant {
        Participant::Partition(Topic { name, id }, index) => {
            PeerParticipant { topic_id: *id, topic: name.to_string(), index: *index }
        }
        Participant::Offsets(index) => {
            PeerParticipant { topic_id: OFFSETS, index: *index, ..PeerParticipant::default() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition() -> Participant {
        Participant::Partition(Topic { name: "t".into(), id: [7; 16] }, 3)
    }

    #[test]
    fn questions_and_markers_come_back_and_no_part_of_them_is_one() {
        let who = TransactionRef {
            transactional_id: "x".into(),
            producer: Producer { id: ProducerId(5), epoch: ProducerEpoch(2) },
        };
        let question =
            VerifyPartitions { who, partitions: vec![partition(), Participant::Offsets(4)], add: true };
        let decided = Marker {
            producer_id: ProducerId(5),
            epoch: ProducerEpoch(2),
            coordinator_epoch: CoordinatorEpoch(9),
            commit: true,
            version: TransactionVersion::EpochPerTransaction,
        };
        let calls = [
            (verify(&question), Asked::Verify(question)),
            (marker((&partition(), &decided), Some(3)), Asked::Marker(partition(), decided, Some(3))),
            (marker((&partition(), &decided), None), Asked::Marker(partition(), decided, None)),
        ];
        for (bytes, expected) in calls {
            assert_eq!(asked(&bytes), Ok(expected));
            for cut in 0..bytes.len() {
                assert!(asked(&bytes[..cut]).is_err(), "cut at {cut}");
            }
        }
        assert!(asked(&[10]).is_err());
    }

    #[test]
    fn answers_come_back() {
        for told in [
            Ok(vec![ErrorCode::None, ErrorCode::InvalidTxnState]),
            Err(ErrorCode::NotCoordinator),
            Ok(vec![]),
        ] {
            assert_eq!(read_verdict(&verdict(&told)), Ok(told));
        }
        for told in [Ok(()), Err(ErrorCode::TransactionCoordinatorFenced)] {
            assert_eq!(read_written(&written(told)), Ok(told));
        }
    }
}
