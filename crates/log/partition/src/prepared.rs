//! A client's batch made ready to be appended: its records are judged, and written anew where the topic wants another
//! compression.
//!
//! It needs nothing but the batch and the settings of its topic, so that it can be done before the partition is looked at: by
//! any thread, without a lock. Records that are not compressed are always looked into. Those that are compressed only where
//! the topic is compacted, for their keys, or wants another codec: decompressing every batch costs more than all else that is
//! done with it. So the highest timestamp of other compressed batches is what their producer says; Kafka makes sure of it.
//!
//! Source: the behaviour of Kafka 4.3.1. Unlike that, records whose offsets do not follow each other are refused in every
//! batch; it takes them in batches that are not compressed, and then serves offsets beyond the end of the batch.

use base::WallTime;
use log_wire::{
    Batch, Compression, ErrorCode, Record, RecordsHead, TimestampType, set_attributes, set_max_timestamp,
};

use crate::config::{PartitionConfig, TopicCompression};
use crate::plain_records::{Unreadable, each_record, plain_records};

/// The timestamp of a record that has none.
const NO_TIMESTAMP: i64 = -1;

/// How many refused records are named.
const NAMED_MAX: usize = 100;

const NO_KEY: &str = "a record of a compacted topic needs a key";
const TOO_FAR: &str = "the timestamp is too far from the broker's clock";
const REFUSED_TIMES: &str = "records with timestamps that the topic does not permit were refused";
const REFUSED_KEYS: &str = "records without a key were refused: the topic is compacted";

/// A batch that may be appended as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared<'b> {
    /// As the client sent it.
    pub(crate) sent: Batch<'b>,
    /// What is appended instead.
    pub(crate) instead: Option<Vec<u8>>,
}

/// Why a batch is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchRefused {
    /// The error of the protocol.
    pub error: ErrorCode,
    /// The records at fault, by their place in the batch, and why; not all, if they are many.
    pub records: Vec<(i32, &'static str)>,
    /// Why the batch is refused, if the error does not say it.
    pub message: Option<&'static str>,
}

impl From<ErrorCode> for BatchRefused {
    fn from(error: ErrorCode) -> Self {
        Self { error, records: Vec::new(), message: None }
    }
}

impl<'b> Prepared<'b> {
    /// Judges a batch of a client, which [verifies](Batch::verify) and [may come from one](Batch::check_from_client), and
    /// prepares it for a partition with these settings.
    ///
    /// # Errors
    /// [`BatchRefused`], with `INVALID_RECORD` or `INVALID_TIMESTAMP`.
    pub fn new(batch: &Batch<'b>, config: &PartitionConfig, now: WallTime) -> Result<Self, BatchRefused> {
        let of_client = batch.attributes().compression().unwrap_or(Compression::None);
        let wanted = match config.compression {
            TopicCompression::With(codec, _) => codec,
            TopicCompression::AsProduced => of_client,
        };
        let is_plain = of_client == Compression::None;
        if !is_plain && wanted == of_client && config.compaction.is_none() {
            return Self::unread(batch, config, now);
        }
        let mut buffer = Vec::new();
        let plain = plain_records(batch, &mut buffer).map_err(unreadable)?;
        let mut judge = Judge::new(config, now, batch);
        each_record(batch, plain, |record| judge.record(record)).map_err(unreadable)?;
        let highest_ms = judge.highest_ms;
        judge.verdict()?;
        let instead = if wanted == of_client {
            adjusted(batch, highest_ms)
        } else {
            Some(recompressed(batch, plain, wanted, config.compression, highest_ms))
        };
        Ok(Self { sent: *batch, instead })
    }

    /// A compressed batch whose records are not looked into: its header speaks for them.
    fn unread(batch: &Batch<'b>, config: &PartitionConfig, now: WallTime) -> Result<Self, BatchRefused> {
        let (oldest, newest) = (batch.base_timestamp(), batch.max_timestamp());
        if is_create_time(config) && (is_too_far(config, now, oldest) || is_too_far(config, now, newest)) {
            return Err(BatchRefused {
                error: ErrorCode::InvalidTimestamp,
                records: Vec::new(),
                message: Some(REFUSED_TIMES),
            });
        }
        Ok(Self { sent: *batch, instead: adjusted(batch, newest) })
    }

    /// How many bytes are appended.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.instead.as_ref().map_or(self.sent.bytes().len(), Vec::len)
    }
}

/// A look at the records of a batch, one after the other.
struct Judge<'j> {
    config: &'j PartitionConfig,
    now: WallTime,
    base_ms: i64,
    checks_times: bool,
    needs_keys: bool,
    next: i32,
    highest_ms: i64,
    refused: Vec<(i32, &'static str)>,
}

impl<'j> Judge<'j> {
    fn new(config: &'j PartitionConfig, now: WallTime, batch: &Batch<'_>) -> Self {
        Self {
            config,
            now,
            base_ms: batch.base_timestamp(),
            checks_times: is_create_time(config),
            needs_keys: config.compaction.is_some(),
            next: 0,
            highest_ms: -1,
            refused: Vec::new(),
        }
    }

    #[inline]
    fn record(&mut self, record: &Record<'_>) -> Result<(), Unreadable> {
        if record.offset_delta != self.next {
            return Err(Unreadable::Records("offsets that do not follow each other"));
        }
        let time_ms = self.base_ms.saturating_add(record.timestamp_delta);
        self.highest_ms = self.highest_ms.max(time_ms);
        if record.key.is_none() && self.needs_keys {
            self.refuse(NO_KEY);
        } else if self.checks_times && is_too_far(self.config, self.now, time_ms) {
            self.refuse(TOO_FAR);
        }
        self.next = self.next.saturating_add(1);
        Ok(())
    }

    #[cold]
    fn refuse(&mut self, why: &'static str) {
        if self.refused.len() < NAMED_MAX {
            self.refused.push((self.next, why));
        }
    }

    fn verdict(self) -> Result<(), BatchRefused> {
        if self.refused.is_empty() {
            return Ok(());
        }
        let is_time = self.refused.iter().any(|(_, why)| *why == TOO_FAR);
        let (error, message) = if is_time {
            (ErrorCode::InvalidTimestamp, REFUSED_TIMES)
        } else {
            (ErrorCode::InvalidRecord, REFUSED_KEYS)
        };
        Err(BatchRefused { error, records: self.refused, message: Some(message) })
    }
}

fn is_create_time(config: &PartitionConfig) -> bool {
    config.timestamp_type == TimestampType::CreateTime
}

/// Whether a timestamp is outside of what the topic permits.
#[inline]
fn is_too_far(config: &PartitionConfig, now: WallTime, time_ms: i64) -> bool {
    let age = now.ms().saturating_sub(time_ms);
    time_ms != NO_TIMESTAMP
        && (age > config.timestamp_before_max_ms || age.saturating_neg() > config.timestamp_after_max_ms)
}

/// The batch with its true highest timestamp, and without flags that only a broker sets; nothing if it is right as it is.
fn adjusted(batch: &Batch<'_>, highest_ms: i64) -> Option<Vec<u8>> {
    let attributes = batch.attributes().of_client();
    if attributes == batch.attributes() && highest_ms == batch.max_timestamp() {
        return None;
    }
    let mut bytes = batch.bytes().to_vec();
    set_attributes(&mut bytes, attributes);
    set_max_timestamp(&mut bytes, highest_ms);
    Some(bytes)
}

fn recompressed(
    batch: &Batch<'_>,
    plain: &[u8],
    codec: Compression,
    wanted: TopicCompression,
    highest_ms: i64,
) -> Vec<u8> {
    let level = match wanted {
        TopicCompression::With(_, level) => level,
        TopicCompression::AsProduced => None,
    };
    let mut records = Vec::new();
    log_compression::compress(codec, level, plain, &mut records);
    let head = RecordsHead {
        attributes: batch.attributes().of_client().with_compression(codec),
        base_timestamp: batch.base_timestamp(),
        max_timestamp: highest_ms,
        count: batch.count(),
    };
    batch.with_records(head, &records)
}

fn unreadable(why: Unreadable) -> BatchRefused {
    let message = match why {
        Unreadable::Decompress(log_compression::DecompressError::TooLarge(_)) => {
            "records that become too many bytes"
        }
        Unreadable::Decompress(_) => "records that cannot be decompressed",
        Unreadable::Records(what) => what,
    };
    BatchRefused { error: ErrorCode::InvalidRecord, records: Vec::new(), message: Some(message) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compaction;
    use crate::test_support::{assigned, compressed};
    use log_wire::{Attributes, BatchBuilder, Producer, Records};

    const NOW: WallTime = WallTime::of_ms(1_000_000);
    const CODECS: [Compression; 5] =
        [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

    fn batch(attributes: i16, records: &[(i64, Option<&[u8]>)]) -> Vec<u8> {
        let producer = Producer { id: 9, epoch: 1, base_sequence: 5 };
        let mut builder = BatchBuilder::new(Attributes(attributes), producer);
        for (time_ms, key) in records {
            builder.push(*time_ms, *key, Some(b"value"), &[]);
        }
        builder.finish()
    }

    fn good() -> Vec<u8> {
        batch(0, &[(1_000_000, Some(b"k")), (1_000_005, None), (999_000, Some(b""))])
    }

    fn prepared(bytes: &[u8], config: &PartitionConfig) -> Result<Vec<u8>, BatchRefused> {
        let prepared = Prepared::new(&assigned(bytes), config, NOW)?;
        Ok(prepared.instead.unwrap_or_else(|| bytes.to_vec()))
    }

    fn times(bytes: &[u8]) -> Vec<i64> {
        let batch = assigned(bytes);
        assert_eq!(batch.verify(), Ok(()));
        let mut buffer = Vec::new();
        let plain = plain_records(&batch, &mut buffer).expect("they can be read");
        let records = Records::new(plain, batch.count()).map(|record| record.expect("well formed"));
        records.map(|record| batch.base_timestamp() + record.timestamp_delta).collect()
    }

    fn compacted() -> PartitionConfig {
        PartitionConfig { compaction: Some(Compaction::default()), ..PartitionConfig::default() }
    }

    #[test]
    fn batch_that_is_right_stays_as_it_is() {
        for codec in CODECS {
            let bytes = compressed(&good(), codec);
            assert_eq!(prepared(&bytes, &PartitionConfig::default()), Ok(bytes), "{codec:?}");
        }
    }

    #[test]
    fn batch_is_compressed_as_its_topic_wants() {
        for from in CODECS {
            for to in CODECS {
                let compression = TopicCompression::With(to, Some(3));
                let config = PartitionConfig { compression, ..PartitionConfig::default() };
                let bytes = prepared(&compressed(&good(), from), &config).expect("it is good");
                let batch = assigned(&bytes);
                assert_eq!(batch.attributes().compression(), Some(to));
                assert_eq!(times(&bytes), [1_000_000, 1_000_005, 999_000]);
                assert_eq!((batch.max_timestamp(), batch.count(), batch.last_offset()), (1_000_005, 3, 2));
                assert_eq!((batch.producer_id(), batch.base_sequence()), (9, 5));
            }
        }
    }

    #[test]
    fn highest_timestamp_is_that_of_the_records_wherever_they_are_read() {
        let mut lying = good();
        set_max_timestamp(&mut lying, 77);
        let highest = |bytes: &[u8], config: &PartitionConfig| {
            prepared(bytes, config).map(|bytes| assigned(&bytes).max_timestamp())
        };
        let plain = PartitionConfig::default();
        assert_eq!(highest(&lying, &plain), Ok(1_000_005));
        let zstd = TopicCompression::With(Compression::Zstd, None);
        let recompressing = PartitionConfig { compression: zstd, ..plain };
        let gzip = compressed(&lying, Compression::Gzip);
        assert_eq!(highest(&gzip, &recompressing), Ok(1_000_005));
        assert_eq!(highest(&gzip, &plain), Ok(77), "compressed ones are not looked into");
    }

    #[test]
    fn flags_that_only_a_broker_sets_are_taken_away() {
        for codec in CODECS {
            let bytes = compressed(&batch(1 << 3 | 1 << 6, &[(999_000, None), (998_000, None)]), codec);
            let bytes = prepared(&bytes, &PartitionConfig::default()).expect("it is good");
            assert_eq!(assigned(&bytes).attributes().of_client(), assigned(&bytes).attributes());
            assert_eq!(times(&bytes), [999_000, 998_000]);
        }
    }

    #[test]
    fn record_of_a_compacted_topic_needs_a_key() {
        for codec in CODECS {
            let refused = prepared(&compressed(&good(), codec), &compacted()).expect_err("it has no key");
            assert_eq!((refused.error, refused.records), (ErrorCode::InvalidRecord, vec![(1, NO_KEY)]));
            let keyed = compressed(&batch(0, &[(999_000, Some(b"k")), (999_000, Some(b""))]), codec);
            assert_eq!(prepared(&keyed, &compacted()), Ok(keyed));
        }
        let many: Vec<(i64, Option<&[u8]>)> = vec![(999_000, None); 1_000];
        let refused = prepared(&batch(0, &many), &compacted()).expect_err("none has a key");
        assert_eq!(refused.records.len(), NAMED_MAX);
    }

    #[test]
    fn timestamp_of_each_record_is_within_what_the_topic_permits() {
        let config = PartitionConfig {
            timestamp_before_max_ms: 500,
            timestamp_after_max_ms: 300,
            ..PartitionConfig::default()
        };
        for time_ms in [999_499, 1_000_301, i64::MAX, -2] {
            let bytes = batch(0, &[(1_000_000, None), (time_ms, None)]);
            let refused = prepared(&bytes, &config).expect_err("it is too far");
            assert_eq!((refused.error, refused.records), (ErrorCode::InvalidTimestamp, vec![(1, TOO_FAR)]));
        }
        for time_ms in [999_500, 1_000_300, -1] {
            let bytes = batch(0, &[(1_000_000, None), (time_ms, None)]);
            assert_eq!(prepared(&bytes, &config), Ok(bytes), "{time_ms}");
        }
        let far = compressed(&batch(0, &[(1_000_000, None), (2_000_000, None)]), Compression::Lz4);
        assert_eq!(
            prepared(&far, &config).map_err(|refused| refused.error),
            Err(ErrorCode::InvalidTimestamp)
        );
        let stamped = PartitionConfig { timestamp_type: TimestampType::LogAppendTime, ..config };
        assert_eq!(prepared(&far, &stamped), Ok(far));
    }

    #[test]
    fn records_that_contradict_their_batch_are_refused() {
        let (bytes, whole) = (good(), assigned(&good()).records().len());
        let with = |count: i32, records: &[u8]| {
            let batch = assigned(&bytes);
            let head = RecordsHead {
                attributes: batch.attributes(),
                base_timestamp: batch.base_timestamp(),
                max_timestamp: batch.max_timestamp(),
                count,
            };
            batch.with_records(head, records)
        };
        let records = assigned(&bytes).records().to_vec();
        let moved = [&records[..whole / 3 * 2], &records[..whole / 3]].concat();
        for (what, wrong) in [
            ("fewer", with(2, &records)),
            ("more", with(4, &records)),
            ("cut", with(3, &records[..whole - 1])),
            ("longer", with(3, &[records.as_slice(), &[0]].concat())),
            ("moved", with(3, &moved)),
        ] {
            for codec in CODECS {
                let refused = prepared(&compressed(&wrong, codec), &compacted()).expect_err(what);
                assert_eq!(refused.error, ErrorCode::InvalidRecord, "{what}, {codec:?}");
            }
        }
        let mut garbage = compressed(&bytes, Compression::Gzip);
        let at = garbage.len() - 12;
        garbage[at] ^= 0xff;
        assert_eq!(prepared(&garbage, &compacted()).map_err(|it| it.error), Err(ErrorCode::InvalidRecord));
    }
}
