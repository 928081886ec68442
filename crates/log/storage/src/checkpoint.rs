//! What the first record of each segment of the write-ahead log says of a partition.

use log_partition::{Offset, PartitionId, Place};
use storage_wal::codec::{Input, Malformed, put_varint};

/// The most bytes that a checkpoint takes.
pub(crate) const CHECKPOINT_BYTES_MAX: usize = 16 + 6 * 10;

/// How far the segments of a partition are flushed, each with its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flushed {
    /// Every batch before this offset is.
    pub(crate) end: Offset,
    /// Where the last of them ends.
    pub(crate) place: Place,
}

impl Flushed {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_offset(out, self.end);
        put_offset(out, self.place.segment);
        put_varint(out, self.place.position);
    }

    pub(crate) fn decode(input: &mut Input<'_>) -> Result<Self, Malformed> {
        let end = take_offset(input)?;
        let place = Place { segment: take_offset(input)?, position: input.varint()? };
        Ok(Self { end, place })
    }
}

/// A partition at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub(crate) id: PartitionId,
    /// The end of the log: of what was appended before.
    pub(crate) end: Offset,
    pub(crate) flushed: Flushed,
    /// The number of the segment of the write-ahead log from which on it is needed: it holds the last state, every batch that the
    /// state does not know, and every batch that is not flushed. Above that of every segment if nothing is needed.
    pub(crate) needed: u64,
}

impl Checkpoint {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.topic);
        put_varint(out, u64::from(self.id.index.cast_unsigned()));
        put_offset(out, self.end);
        self.flushed.encode(out);
        put_varint(out, self.needed);
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut input = Input::new(bytes);
        let topic = input.array()?;
        let index = u32::try_from(input.varint()?).map_err(|_| Malformed)?.cast_signed();
        let end = take_offset(&mut input)?;
        let flushed = Flushed::decode(&mut input)?;
        let needed = input.varint()?;
        input.finish()?;
        Ok(Self { id: PartitionId { topic, index }, end, flushed, needed })
    }
}

pub(crate) fn put_offset(out: &mut Vec<u8>, offset: Offset) {
    put_varint(out, u64::try_from(offset.0).unwrap_or_default());
}

pub(crate) fn take_offset(input: &mut Input<'_>) -> Result<Offset, Malformed> {
    i64::try_from(input.varint()?).map(Offset).map_err(|_| Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoint_is_read_back_within_its_bound() {
        let place = Place { segment: Offset(i64::MAX), position: u64::MAX };
        let checkpoint = Checkpoint {
            id: PartitionId { topic: [7; 16], index: i32::MAX },
            end: Offset(i64::MAX),
            flushed: Flushed { end: Offset(i64::MAX), place },
            needed: u64::MAX,
        };
        let mut bytes = Vec::new();
        checkpoint.encode(&mut bytes);
        assert!(bytes.len() <= CHECKPOINT_BYTES_MAX);
        assert_eq!(Checkpoint::decode(&bytes), Ok(checkpoint));
        assert_eq!(Checkpoint::decode(&bytes[..bytes.len() - 1]), Err(Malformed));
    }
}
