//! The bytes of a call that asks leaders where their partitions begin and end, and of its answer.

use log_partition::{Offset, PartitionId};
use log_wire::Malformed;
use log_wire::messages::peers::{EndsAnswer, EndsCall, PeerEnds, PeerPartition};

use super::form::{ENDS, read, written_behind};

/// How many partitions a call names at most.
pub(crate) const ENDS_PER_CALL: usize = 5_000;

/// Where a partition begins, and ends for who reads what is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) start: Offset,
    pub(crate) end: Offset,
}

/// The bytes of the question.
pub(crate) fn ends(partitions: &[PartitionId]) -> Vec<u8> {
    let partition = |id: &PartitionId| PeerPartition { topic_id: id.topic, index: id.index };
    written_behind(&[ENDS], &EndsCall { partitions: partitions.iter().map(partition).collect() })
}

pub(super) fn read_ends(body: &[u8]) -> Result<Vec<PartitionId>, Malformed> {
    let EndsCall { partitions } = read(body)?;
    if partitions.len() > ENDS_PER_CALL {
        return Err(Malformed("more partitions than a call has"));
    }
    Ok(partitions.into_iter().map(|of| PartitionId { topic: of.topic_id, index: of.index }).collect())
}

/// The bytes of the answer: nothing for a partition that is not led here.
pub(crate) fn ends_answer(ends: impl Iterator<Item = Option<Ends>>) -> Vec<u8> {
    let told = |ends: Option<Ends>| PeerEnds {
        start: ends.map_or(-1, |ends| ends.start.0),
        end: ends.map_or(-1, |ends| ends.end.0),
    };
    written_behind(&[], &EndsAnswer { partitions: ends.map(told).collect() })
}

/// The answer.
///
/// # Errors
/// No broker answers that.
pub(crate) fn read_ends_answer(bytes: &[u8]) -> Result<Vec<Option<Ends>>, Malformed> {
    let EndsAnswer { partitions } = read(bytes)?;
    let ends = |of: PeerEnds| Ends { start: Offset(of.start), end: Offset(of.end) };
    Ok(partitions.into_iter().map(|of| (of.start >= 0).then(|| ends(of))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(index: i32) -> PartitionId {
        PartitionId { topic: [7; 16], index }
    }

    #[test]
    fn ends_come_back_and_no_part_of_them_is_one() {
        let bytes = ends(&[id(3), id(4)]);
        assert_eq!(read_ends(&bytes[1..]), Ok(vec![id(3), id(4)]));
        assert!((1..bytes.len()).all(|cut| read_ends(&bytes[1..cut]).is_err()));
        let told = [Some(Ends { start: Offset(0), end: Offset(1 << 40) }), None];
        let bytes = ends_answer(told.into_iter());
        assert_eq!(read_ends_answer(&bytes), Ok(told.to_vec()));
        assert!((0..bytes.len()).all(|cut| read_ends_answer(&bytes[..cut]).is_err()));
    }

    #[test]
    fn call_has_a_bounded_number_of_partitions_and_its_answer_fits_into_a_message() {
        assert!(read_ends(&ends(&vec![id(0); ENDS_PER_CALL])[1..]).is_ok());
        assert!(read_ends(&ends(&vec![id(0); ENDS_PER_CALL + 1])[1..]).is_err());
        let most = Some(Ends { start: Offset(i64::MAX), end: Offset(i64::MAX) });
        let answer = ends_answer(std::iter::repeat_n(most, ENDS_PER_CALL));
        assert!(answer.len() < crate::peer_calls::CALL_BYTES_MAX, "{}", answer.len());
    }
}
