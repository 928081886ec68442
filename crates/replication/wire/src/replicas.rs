//! What replicas tell each other. A frame carries messages of any number of partitions.

use core::iter::FusedIterator;

use replication_appointed::{Append, Appended, Diverged, Epoch, Position, Refused, Round};
use replication_controller::PartitionId;

use crate::append::{self, FLAGS};
use crate::codec::{Input, put_varint};
use crate::list::{Full, ListWriter, take_count};
use crate::{WireError, kind, partition};

const APPEND: u8 = 1;
const APPENDED: u8 = 2;
const DIVERGED: u8 = 3;
const REFUSED: u8 = 4;

/// Bytes of the shortest item: a partition, its kind, an epoch.
const ITEM_BYTES_MIN: usize = 3;

/// From one replica of a partition to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicaMessage<'a> {
    /// From a leader, with the owner's entries as they were encoded, which nothing here looks into.
    ///
    /// Invariants: those of [`Append::check`] (`epoch` is at least 1; `after` is not of a later epoch, nor behind `to`; `start` is
    /// not above `committed`; `starts` rise and are within `after.end..to`; the epoch of the sender begins at `epoch_start` and
    /// nowhere else). If `to` is `after.end`, `entries` is empty.
    Append {
        /// What is sent.
        append: Append,
        /// The entries of `after.end..to`.
        entries: &'a [u8],
    },
    /// From a follower. Invariant: `epoch` is at least 1.
    Appended(Appended),
    /// From a follower. Invariants: `epoch` is at least 1, and `common` is not of a later one (a follower takes no append of an epoch
    /// below that of its own log).
    Diverged(Diverged),
    /// From a voter or learner. Invariant: `promised` is at least 2, above the epoch of an append.
    Refused(Refused),
}

/// Writes one message of several partitions.
///
/// Items of one partition are taken in their order. The sender saves bytes if it puts the partitions in the order of their ids.
#[derive(Debug)]
pub struct ReplicasWriter<'o> {
    list: ListWriter<'o>,
    before: Option<PartitionId>,
}

impl<'o> ReplicasWriter<'o> {
    /// Begins a message at the end of `out`. It takes items until it would be longer than `bytes_max`; the first item is taken
    /// however long it is. A receiver takes up to [`BATCH_BYTES_MAX`](crate::BATCH_BYTES_MAX), and so much more for entries as
    /// [`message_bytes_max`](crate::message_bytes_max) says.
    #[must_use]
    pub fn new(out: &'o mut Vec<u8>, bytes_max: usize) -> Self {
        Self { list: ListWriter::new(out, kind::REPLICAS, bytes_max, |_| ()), before: None }
    }

    /// Entries for a follower: `entries` are the pieces of one encoding, in their order.
    ///
    /// # Errors
    /// [`Full`]: the item is not in the message.
    #[inline]
    pub fn put_append(
        &mut self,
        partition: PartitionId,
        append: &Append,
        entries: &[&[u8]],
    ) -> Result<(), Full> {
        self.put_item(partition, APPEND | append::flags(append), |out| append::encode(append, entries, out))
    }

    /// A follower's answer.
    ///
    /// # Errors
    /// [`Full`].
    pub fn put_appended(&mut self, partition: PartitionId, answer: Appended) -> Result<(), Full> {
        self.put_item(partition, APPENDED, |out| {
            put_varint(out, answer.epoch.0.into());
            put_varint(out, answer.durable.0);
            put_varint(out, answer.start.0);
            put_varint(out, answer.round.0);
        })
    }

    /// A follower's answer.
    ///
    /// # Errors
    /// [`Full`].
    pub fn put_diverged(&mut self, partition: PartitionId, answer: Diverged) -> Result<(), Full> {
        self.put_item(partition, DIVERGED, |out| {
            put_varint(out, answer.epoch.0.into());
            put_varint(out, answer.epoch.0.wrapping_sub(answer.common.epoch.0).into());
            put_varint(out, answer.common.end.0);
        })
    }

    /// The answer of a replica that has promised a higher epoch.
    ///
    /// # Errors
    /// [`Full`].
    pub fn put_refused(&mut self, partition: PartitionId, answer: Refused) -> Result<(), Full> {
        self.put_item(partition, REFUSED, |out| put_varint(out, answer.promised.0.into()))
    }

    /// Any of these.
    ///
    /// # Errors
    /// [`Full`].
    pub fn put(&mut self, partition: PartitionId, message: &ReplicaMessage<'_>) -> Result<(), Full> {
        match message {
            ReplicaMessage::Append { append, entries } => self.put_append(partition, append, &[entries]),
            ReplicaMessage::Appended(answer) => self.put_appended(partition, *answer),
            ReplicaMessage::Diverged(answer) => self.put_diverged(partition, *answer),
            ReplicaMessage::Refused(answer) => self.put_refused(partition, *answer),
        }
    }

    #[inline]
    fn put_item(
        &mut self,
        partition: PartitionId,
        kind: u8,
        encode: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Full> {
        let before = self.before;
        self.list.put(|out| {
            partition::encode(partition, before, out);
            out.push(kind);
            encode(out);
        })?;
        self.before = Some(partition);
        Ok(())
    }

    /// How many items the message has.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.list.count()
    }

    /// How long the message is, in bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.list.bytes()
    }
}

/// The items of one message, decoded one at a time, without an allocation unless an append crosses epochs.
///
/// An item that is refused is the last one. The items before it have been given out by then: each is whole and says nothing about
/// the others, so a receiver may have acted on them when it closes the connection.
#[derive(Clone, Debug)]
pub struct Replicas<'a> {
    input: Input<'a>,
    /// Items that are still to come.
    count: u32,
    before: Option<PartitionId>,
}

impl<'a> Replicas<'a> {
    /// What stands behind the version and the kind.
    pub(crate) fn decode(mut input: Input<'a>) -> Result<Self, WireError> {
        let count = take_count(&mut input)?;
        input.check_count(usize::try_from(count).map_err(|_| WireError::Cut)?, ITEM_BYTES_MIN)?;
        if count == 0 {
            input.finish()?;
        }
        Ok(Self { input, count, before: None })
    }

    #[inline]
    fn item(&mut self) -> Result<(PartitionId, ReplicaMessage<'a>), WireError> {
        let partition = partition::decode(self.before, &mut self.input)?;
        self.before = Some(partition);
        let message = decode_item(&mut self.input)?;
        if self.count == 0 {
            self.input.finish()?;
        }
        Ok((partition, message))
    }
}

impl<'a> Iterator for Replicas<'a> {
    type Item = Result<(PartitionId, ReplicaMessage<'a>), WireError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.count = self.count.checked_sub(1)?;
        let item = self.item();
        if item.is_err() {
            self.count = 0;
        }
        Some(item)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::from(self.count > 0), usize::try_from(self.count).ok())
    }
}

impl FusedIterator for Replicas<'_> {}

#[inline]
fn decode_item<'a>(input: &mut Input<'a>) -> Result<ReplicaMessage<'a>, WireError> {
    let kind = input.byte()?;
    match kind {
        APPENDED => {
            let (epoch, durable, start) = (input.epoch()?, input.seq()?, input.seq()?);
            let round = Round(input.varint()?);
            Ok(ReplicaMessage::Appended(Appended { epoch, durable, start, round }))
        }
        DIVERGED => decode_diverged(input).map(ReplicaMessage::Diverged),
        REFUSED => match input.epoch()? {
            Epoch(1) => Err(WireError::Forbidden("a refusal of an epoch that has no leader")),
            promised => Ok(ReplicaMessage::Refused(Refused { promised })),
        },
        _ if kind & !FLAGS == APPEND => {
            let (append, entries) = append::decode(kind & FLAGS, input)?;
            Ok(ReplicaMessage::Append { append, entries })
        }
        unknown => Err(WireError::UnknownKind(unknown)),
    }
}

fn decode_diverged(input: &mut Input<'_>) -> Result<Diverged, WireError> {
    let epoch = input.epoch()?;
    let before = epoch.0.checked_sub(input.varint32()?);
    let common = before.map(Epoch).ok_or(WireError::Forbidden("a log of a later epoch than its leader's"))?;
    Ok(Diverged { epoch, common: Position { epoch: common, end: input.seq()? } })
}
