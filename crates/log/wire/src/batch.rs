//! Record batches of format 2, the only one that is stored or taken: a header of 61 bytes, then records, compressed or not.
//!
//! The checksum begins behind the fields that a broker sets: where the batch stands in the log, and under which leader.
//! So a batch is appended without a look at its records. See `assign` and [`stamp_append_time`].
//!
//! Source: Kafka's message format, magic 2 (KIP-98).

/// Bytes of a batch before its records.
pub const BATCH_HEADER_BYTES: usize = 61;
/// The base offset and the length, which the length does not count.
const LENGTH_END: usize = 12;
pub(crate) const LENGTH: usize = LENGTH_END - 4;
const LEADER_EPOCH: usize = 12;
const MAGIC: usize = 16;
pub(crate) const CRC: usize = 17;
pub(crate) const ATTRIBUTES: usize = 21;
const LAST_OFFSET_DELTA: usize = 23;
pub(crate) const BASE_TIMESTAMP: usize = 27;
pub(crate) const MAX_TIMESTAMP: usize = 35;
const PRODUCER_ID: usize = 43;
const PRODUCER_EPOCH: usize = 51;
const BASE_SEQUENCE: usize = 53;
pub(crate) const COUNT: usize = 57;

/// The format of today.
const FORMAT: u8 = 2;
const APPEND_TIME: i16 = 1 << 3;

/// Why bytes are no batch, or none that a client may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// Its length is impossible, or it ends early.
    #[error("a record batch whose length is wrong")]
    Length,
    /// It is of another format.
    #[error("a record batch of format {0}; format 2 is the only one")]
    Format(u8),
    /// Its bytes are not those that the checksum was made of.
    #[error("a record batch that does not verify")]
    Checksum,
    /// Its header contradicts itself, or says what only a broker may.
    #[error("a record batch that {0}")]
    Invalid(&'static str),
}

/// How a batch's records are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "names of compressions")]
pub enum Compression {
    None,
    Gzip,
    Snappy,
    Lz4,
    Zstd,
}

/// What the timestamps of a batch mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampType {
    /// When its producer made each record.
    CreateTime,
    /// When the broker appended it.
    LogAppendTime,
}

/// A batch's flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes(pub i16);

impl Attributes {
    /// How the records are compressed; nothing for a number that has no meaning.
    #[must_use]
    pub const fn compression(self) -> Option<Compression> {
        match self.0 & 0b111 {
            0 => Some(Compression::None),
            1 => Some(Compression::Gzip),
            2 => Some(Compression::Snappy),
            3 => Some(Compression::Lz4),
            4 => Some(Compression::Zstd),
            _ => None,
        }
    }

    /// What the timestamps mean.
    #[must_use]
    pub const fn timestamp_type(self) -> TimestampType {
        if self.0 & APPEND_TIME == 0 { TimestampType::CreateTime } else { TimestampType::LogAppendTime }
    }

    /// Whether it belongs to a transaction.
    #[must_use]
    pub const fn is_transactional(self) -> bool {
        self.0 & 1 << 4 != 0
    }

    /// Whether it is a broker's mark, and not data.
    #[must_use]
    pub const fn is_control(self) -> bool {
        self.0 & 1 << 5 != 0
    }

    /// Whether the base timestamp says from when on tombstones may go.
    #[must_use]
    pub const fn has_delete_horizon(self) -> bool {
        self.0 & 1 << 6 != 0
    }
}

/// Who writes a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Producer {
    /// -1 for one without an id.
    pub id: i64,
    /// -1 for one without an id.
    pub epoch: i16,
    /// The sequence number of the first record; -1 for none.
    pub base_sequence: i32,
}

impl Producer {
    /// One without an id.
    pub const NONE: Self = Self { id: -1, epoch: -1, base_sequence: -1 };
}

/// A batch, whose length fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch<'a> {
    bytes: &'a [u8],
}

impl<'a> Batch<'a> {
    /// The first batch of `bytes`, and what is behind it. Its checksum is not looked at.
    ///
    /// # Errors
    /// [`BatchError::Length`], [`BatchError::Format`].
    pub fn read(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), BatchError> {
        let whole = Self::length(bytes)?;
        let (bytes, rest) = bytes.split_at_checked(whole).ok_or(BatchError::Length)?;
        Ok((Self { bytes }, rest))
    }

    /// The header of a batch without its records, and how long it is with them.
    pub(crate) fn read_head(bytes: &'a [u8]) -> Result<(Self, usize), BatchError> {
        let whole = Self::length(bytes)?;
        let bytes = bytes.get(..BATCH_HEADER_BYTES).ok_or(BatchError::Length)?;
        Ok((Self { bytes }, whole))
    }

    fn length(bytes: &[u8]) -> Result<usize, BatchError> {
        // The format stands at the same place in all of them, whose headers are of different lengths.
        let format = *bytes.get(MAGIC).ok_or(BatchError::Length)?;
        if format != FORMAT {
            return Err(BatchError::Format(format));
        }
        let length = i32_at(bytes, LENGTH_END - 4).ok_or(BatchError::Length)?;
        let length = usize::try_from(length).map_err(|_| BatchError::Length)?;
        length.checked_add(LENGTH_END).filter(|whole| *whole >= BATCH_HEADER_BYTES).ok_or(BatchError::Length)
    }

    /// All of it.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The records, compressed or not.
    #[must_use]
    pub fn records(&self) -> &'a [u8] {
        self.bytes.get(BATCH_HEADER_BYTES..).unwrap_or_default()
    }

    /// Whether its bytes are those that the checksum was made of.
    ///
    /// # Errors
    /// [`BatchError::Checksum`].
    pub fn verify(&self) -> Result<(), BatchError> {
        let crc = i32_at(self.bytes, CRC).map(i32::cast_unsigned);
        if crc == Some(checksum(self.bytes)) { Ok(()) } else { Err(BatchError::Checksum) }
    }

    /// Whether a client may send it, as far as its header says.
    ///
    /// # Errors
    /// [`BatchError::Invalid`].
    pub fn check_from_client(&self) -> Result<(), BatchError> {
        let attributes = self.attributes();
        let what = if self.base_offset() != 0 {
            "does not begin at offset 0"
        } else if self.count() <= 0 || self.last_offset_delta().checked_add(1) != Some(self.count()) {
            "counts other records than its offsets say"
        } else if attributes.is_control() {
            "is a control batch"
        } else if self.producer_id() >= 0 && self.base_sequence() < 0 {
            "has a producer id and no sequence number"
        } else if attributes.compression().is_none() {
            "is compressed in an unknown way"
        } else {
            return Ok(());
        };
        Err(BatchError::Invalid(what))
    }

    /// The offset of its first record, also if that is gone by compaction.
    #[must_use]
    pub fn base_offset(&self) -> i64 {
        i64_at(self.bytes, 0).unwrap_or_default()
    }

    /// The offset of its last record, also if that is gone by compaction.
    #[must_use]
    pub fn last_offset(&self) -> i64 {
        self.base_offset().saturating_add(i64::from(self.last_offset_delta()))
    }

    /// Under which leader it was appended.
    #[must_use]
    pub fn leader_epoch(&self) -> i32 {
        i32_at(self.bytes, LEADER_EPOCH).unwrap_or_default()
    }

    /// Its flags.
    #[must_use]
    pub fn attributes(&self) -> Attributes {
        Attributes(i16_at(self.bytes, ATTRIBUTES).unwrap_or_default())
    }

    /// By how much the last offset is above the first.
    #[must_use]
    pub fn last_offset_delta(&self) -> i32 {
        i32_at(self.bytes, LAST_OFFSET_DELTA).unwrap_or_default()
    }

    /// From which its records' timestamps count, milliseconds.
    #[must_use]
    pub fn base_timestamp(&self) -> i64 {
        i64_at(self.bytes, BASE_TIMESTAMP).unwrap_or_default()
    }

    /// The highest timestamp, as its producer says, milliseconds.
    #[must_use]
    pub fn max_timestamp(&self) -> i64 {
        i64_at(self.bytes, MAX_TIMESTAMP).unwrap_or_default()
    }

    /// Its producer; -1 for one without an id.
    #[must_use]
    pub fn producer_id(&self) -> i64 {
        i64_at(self.bytes, PRODUCER_ID).unwrap_or_default()
    }

    /// Which life of its producer; -1 without an id.
    #[must_use]
    pub fn producer_epoch(&self) -> i16 {
        i16_at(self.bytes, PRODUCER_EPOCH).unwrap_or_default()
    }

    /// The sequence number of its first record; -1 without one.
    #[must_use]
    pub fn base_sequence(&self) -> i32 {
        i32_at(self.bytes, BASE_SEQUENCE).unwrap_or_default()
    }

    /// How many records there are.
    #[must_use]
    pub fn count(&self) -> i32 {
        i32_at(self.bytes, COUNT).unwrap_or_default()
    }

    /// The batch at `bytes` stands at that offset, appended under that leader. The checksum does not change.
    pub fn assign(bytes: &mut [u8], base_offset: i64, leader_epoch: i32) {
        put(bytes, 0, &base_offset.to_be_bytes());
        put(bytes, LEADER_EPOCH, &leader_epoch.to_be_bytes());
    }

    /// Writes the header of a batch at offset 0, whose records stand behind the room that was left for it.
    pub(crate) fn write_header(
        bytes: &mut [u8],
        attributes: Attributes,
        producer: Producer,
        timestamps: Option<(i64, i64)>,
        count: i32,
    ) {
        let (base_timestamp, max_timestamp) = timestamps.unwrap_or((-1, -1));
        let length = bytes.len().saturating_sub(LENGTH_END) as i32;
        put(bytes, LENGTH_END - 4, &length.to_be_bytes());
        put(bytes, MAGIC, &[FORMAT]);
        put(bytes, ATTRIBUTES, &attributes.0.to_be_bytes());
        put(bytes, LAST_OFFSET_DELTA, &(count - 1).to_be_bytes());
        put(bytes, BASE_TIMESTAMP, &base_timestamp.to_be_bytes());
        put(bytes, MAX_TIMESTAMP, &max_timestamp.to_be_bytes());
        put(bytes, PRODUCER_ID, &producer.id.to_be_bytes());
        put(bytes, PRODUCER_EPOCH, &producer.epoch.to_be_bytes());
        put(bytes, BASE_SEQUENCE, &producer.base_sequence.to_be_bytes());
        put(bytes, COUNT, &count.to_be_bytes());
        let checksum = checksum(bytes);
        put(bytes, CRC, &checksum.to_be_bytes());
    }
}

/// The batch at `bytes` was appended at that time, milliseconds, and says so. The checksum is made anew.
pub fn stamp_append_time(bytes: &mut [u8], now_ms: i64) {
    let attributes = i16_at(bytes, ATTRIBUTES).unwrap_or_default() | APPEND_TIME;
    put(bytes, ATTRIBUTES, &attributes.to_be_bytes());
    put(bytes, MAX_TIMESTAMP, &now_ms.to_be_bytes());
    let checksum = checksum(bytes);
    put(bytes, CRC, &checksum.to_be_bytes());
}

pub(crate) fn checksum(batch: &[u8]) -> u32 {
    crc32c::crc32c(batch.get(ATTRIBUTES..).unwrap_or_default())
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn i16_at(bytes: &[u8], at: usize) -> Option<i16> {
    array_at(bytes, at).map(i16::from_be_bytes)
}

fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    array_at(bytes, at).map(i32::from_be_bytes)
}

fn i64_at(bytes: &[u8], at: usize) -> Option<i64> {
    array_at(bytes, at).map(i64::from_be_bytes)
}

pub(crate) fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// A batch of a client, with that many records of these bytes, and its checksum.
    fn batch(count: i32, attributes: i16, records: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; BATCH_HEADER_BYTES];
        bytes.extend_from_slice(records);
        let timestamps = Some((1_000, 2_000));
        Batch::write_header(&mut bytes, Attributes(attributes), Producer::NONE, timestamps, count);
        bytes
    }

    fn read(bytes: &[u8]) -> Batch<'_> {
        Batch::read(bytes).expect("a batch").0
    }

    #[test]
    fn batch_is_read_with_what_is_behind_it() {
        let mut bytes = batch(3, 0b1_0010, b"records");
        bytes.push(9);
        let (read, rest) = Batch::read(&bytes).expect("a batch");
        assert_eq!(
            (read.records(), rest, read.count(), read.last_offset()),
            (&b"records"[..], &[9][..], 3, 2)
        );
        assert_eq!((read.base_timestamp(), read.max_timestamp(), read.producer_id()), (1_000, 2_000, -1));
        assert_eq!((read.producer_epoch(), read.base_sequence(), read.leader_epoch()), (-1, -1, 0));
        let attributes = read.attributes();
        assert_eq!(attributes.compression(), Some(Compression::Snappy));
        assert!(
            attributes.is_transactional() && !attributes.is_control() && !attributes.has_delete_horizon()
        );
        assert_eq!((read.verify(), read.check_from_client()), (Ok(()), Ok(())));
    }

    #[test]
    fn length_and_format_are_judged_before_anything_else() {
        let bytes = batch(1, 0, b"abc");
        assert_eq!(Batch::read(&bytes[..bytes.len() - 1]), Err(BatchError::Length));
        assert_eq!(Batch::read(&bytes[..10]), Err(BatchError::Length));
        for length in [-1i32, 0, 48, i32::MAX] {
            let mut wrong = bytes.clone();
            put(&mut wrong, 8, &length.to_be_bytes());
            assert_eq!(Batch::read(&wrong), Err(BatchError::Length), "{length}");
        }
        let mut old = bytes;
        old[MAGIC] = 1;
        assert_eq!(Batch::read(&old), Err(BatchError::Format(1)));
    }

    #[test]
    fn every_bit_from_the_attributes_on_is_guarded() {
        let bytes = batch(1, 0, b"abc");
        for bit in CRC * 8..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&flipped).verify(), Err(BatchError::Checksum), "bit {bit}");
        }
    }

    #[test]
    fn place_in_the_log_changes_no_checksum_and_the_time_of_append_makes_it_anew() {
        let mut bytes = batch(5, 0, b"abc");
        Batch::assign(&mut bytes, 40, 7);
        let placed = read(&bytes);
        assert_eq!((placed.base_offset(), placed.last_offset(), placed.leader_epoch()), (40, 44, 7));
        assert_eq!(placed.verify(), Ok(()));
        stamp_append_time(&mut bytes, 9_000);
        let stamped = read(&bytes);
        assert_eq!(stamped.attributes().timestamp_type(), TimestampType::LogAppendTime);
        assert_eq!((stamped.max_timestamp(), stamped.verify()), (9_000, Ok(())));
    }

    #[test]
    fn batch_that_only_a_broker_may_write_is_refused() {
        let changed = |at: usize, value: &[u8]| {
            let mut bytes = batch(2, 0, b"ab");
            put(&mut bytes, at, value);
            read(&bytes).check_from_client().is_err()
        };
        assert!(!changed(0, &[]));
        assert!(changed(0, &1i64.to_be_bytes()), "another offset");
        assert!(changed(COUNT, &3i32.to_be_bytes()) && changed(COUNT, &0i32.to_be_bytes()));
        assert!(changed(LAST_OFFSET_DELTA, &i32::MAX.to_be_bytes()));
        assert!(changed(ATTRIBUTES, &(1i16 << 5).to_be_bytes()), "a control batch");
        assert!(changed(ATTRIBUTES, &7i16.to_be_bytes()), "an unknown compression");
        assert!(changed(PRODUCER_ID, &4i64.to_be_bytes()), "no sequence number");
    }
}
