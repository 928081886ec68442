//! Messages that are lists: a head with the number of items, and the items.
//!
//! A frame with thousands of items is refused as a whole if its number of items is wrong, so a cut between two items is found.

use replication_controller::PartitionId;

use crate::codec::Input;
use crate::limits::BATCH_BYTES_MAX;
use crate::{VERSION, WireError, partition};

/// The message has no room for the item: it is sent, and the item begins the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message has no room for the item")]
pub struct Full;

/// Where the number of items stands: behind the version and the kind.
const COUNT_AT: usize = 2;
const COUNT_BYTES: usize = 4;

/// Writes a list.
#[derive(Debug)]
pub(crate) struct ListWriter<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
    count: u32,
    bytes_max: usize,
}

impl<'o> ListWriter<'o> {
    /// A list without items; `head` appends what stands before the first one.
    pub(crate) fn new(
        out: &'o mut Vec<u8>,
        kind: u8,
        bytes_max: usize,
        head: impl FnOnce(&mut Vec<u8>),
    ) -> Self {
        let start = out.len();
        out.extend_from_slice(&[VERSION, kind]);
        out.extend_from_slice(&[0; COUNT_BYTES]);
        head(out);
        Self { out, start, count: 0, bytes_max }
    }

    /// Appends an item. The first one is taken however long it is.
    #[inline]
    pub(crate) fn put(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> Result<(), Full> {
        let end = self.out.len();
        encode(self.out);
        let is_over = self.count > 0 && self.bytes() > self.bytes_max;
        let Some(count) = self.count.checked_add(1).filter(|_| !is_over) else {
            self.out.truncate(end);
            return Err(Full);
        };
        self.count = count;
        let place = self.out.get_mut(self.start + COUNT_AT..).and_then(<[u8]>::first_chunk_mut);
        *place.expect("the head was written") = count.to_le_bytes();
        Ok(())
    }

    pub(crate) const fn count(&self) -> u32 {
        self.count
    }

    /// How long the message is so far.
    pub(crate) const fn bytes(&self) -> usize {
        self.out.len() - self.start
    }
}

/// The number of items, which stands behind the version and the kind.
pub(crate) fn take_count(input: &mut Input<'_>) -> Result<u32, WireError> {
    input.array::<COUNT_BYTES>().map(u32::from_le_bytes)
}

/// An item of a list between a controller and a node.
pub(crate) trait Item: Sized {
    /// Bytes of the shortest one, with its partition.
    const BYTES_MIN: usize;

    fn partition(&self) -> PartitionId;

    /// Appends what stands behind the partition.
    fn encode(&self, out: &mut Vec<u8>);

    fn decode(partition: PartitionId, input: &mut Input<'_>) -> Result<Self, WireError>;
}

/// Encodes as many messages as the items need, and gives each to `send`. Without items it is one message.
pub(crate) fn encode_parts<T: Item>(
    kind: u8,
    items: &[T],
    head: impl Fn(&mut Vec<u8>),
    mut send: impl FnMut(&[u8]),
) {
    let (mut out, mut rest) = (Vec::new(), items);
    loop {
        out.clear();
        let taken = encode_some(&mut out, (kind, BATCH_BYTES_MAX), rest, &head);
        send(&out);
        rest = rest.get(taken..).unwrap_or_default();
        if rest.is_empty() {
            return;
        }
    }
}

/// Appends a message with as many of the items as it has room for; how many those are.
pub(crate) fn encode_some<T: Item>(
    out: &mut Vec<u8>,
    (kind, bytes_max): (u8, usize),
    items: &[T],
    head: impl FnOnce(&mut Vec<u8>),
) -> usize {
    let mut list = ListWriter::new(out, kind, bytes_max, head);
    let mut before = None;
    for item in items {
        let put = list.put(|out| {
            partition::encode(item.partition(), before, out);
            item.encode(out);
        });
        if put.is_err() {
            break;
        }
        before = Some(item.partition());
    }
    list.count() as usize
}

/// Reads the items, so many, and the end of the message.
pub(crate) fn take_items<T: Item>(input: &mut Input<'_>, count: u32) -> Result<Vec<T>, WireError> {
    let count = usize::try_from(count).map_err(|_| WireError::Cut)?;
    input.check_count(count, T::BYTES_MIN)?;
    let (mut items, mut before) = (Vec::with_capacity(count), None);
    for _ in 0..count {
        let partition = partition::decode(before, input)?;
        items.push(T::decode(partition, input)?);
        before = Some(partition);
    }
    input.finish()?;
    Ok(items)
}
