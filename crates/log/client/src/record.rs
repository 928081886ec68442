//! Records as a user has them.

use log_compression::decompress;
use log_wire::{Batch, Records, TimestampType};

use crate::error::{Error, Result};

/// What the records of a batch may become at most, in bytes.
const RECORDS_BYTES_MAX: usize = 256 << 20;

/// A record of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumedRecord {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The offset.
    pub offset: i64,
    /// Milliseconds since 1970.
    pub timestamp_ms: i64,
    /// The key.
    pub key: Option<Vec<u8>>,
    /// The value.
    pub value: Option<Vec<u8>>,
    /// The headers.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
}

/// Reads the records of whole batches from `from` on, but those of aborted transactions. Gives the offset behind the last batch.
pub(crate) fn read_batches(
    (topic, partition): (&str, i32),
    mut bytes: &[u8],
    from: i64,
    out: &mut Vec<ConsumedRecord>,
) -> Result<Option<i64>> {
    let mut end = None;
    // The last batch may be cut off.
    while let Ok((batch, rest)) = Batch::read(bytes) {
        let offset = batch.base_offset();
        batch.verify().map_err(|error| Error::Batch { offset, what: error.to_string() })?;
        (bytes, end) = (rest, Some(batch.last_offset() + 1));
        if !batch.attributes().is_control() {
            let read = read_batch((topic, partition), &batch, from, out);
            read.map_err(|what| Error::Batch { offset, what })?;
        }
    }
    Ok(end)
}

/// Reads the records of a batch from `from` on, or says what is wrong with it.
fn read_batch(
    (topic, partition): (&str, i32),
    batch: &Batch<'_>,
    from: i64,
    out: &mut Vec<ConsumedRecord>,
) -> std::result::Result<(), String> {
    let attributes = batch.attributes();
    let codec = attributes.compression().ok_or("no such compression is known")?;
    let mut records = Vec::new();
    decompress(codec, batch.records(), RECORDS_BYTES_MAX, &mut records).map_err(|error| error.to_string())?;
    for record in Records::new(&records, batch.count()) {
        let record = record.map_err(|malformed| malformed.0)?;
        let offset = batch.base_offset() + i64::from(record.offset_delta);
        if offset < from {
            continue;
        }
        let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
        let headers = record.headers().filter_map(std::result::Result::ok);
        out.push(ConsumedRecord {
            topic: topic.into(),
            partition,
            offset,
            timestamp_ms: match attributes.timestamp_type() {
                TimestampType::LogAppendTime => batch.max_timestamp(),
                TimestampType::CreateTime => batch.base_timestamp().wrapping_add(record.timestamp_delta),
            },
            key: owned(record.key),
            value: owned(record.value),
            headers: headers
                .map(|header| (String::from_utf8_lossy(header.key).into_owned(), owned(header.value)))
                .collect(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use log_compression::compress;
    use log_wire::{Attributes, BatchBuilder, Compression, Producer, RecordsHead, stamp_append_time};

    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<ConsumedRecord>> {
        let mut records = Vec::new();
        read_batches(("t", 0), bytes, 0, &mut records).map(|_| records)
    }

    /// A batch of two records, whose bytes a codec has made.
    fn compressed(codec: Compression) -> Vec<u8> {
        let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
        for value in ["one", "two"] {
            builder.push(1_000, None, Some(value.as_bytes()), &[]);
        }
        let plain = builder.finish();
        let batch = Batch::read(&plain).expect("a batch").0;
        let mut records = Vec::new();
        compress(codec, None, batch.records(), &mut records);
        let attributes = batch.attributes().with_compression(codec);
        let head = RecordsHead { attributes, base_timestamp: 1_000, max_timestamp: 1_000, count: 2 };
        batch.with_records(head, &records)
    }

    #[test]
    fn batches_of_every_codec_are_read() {
        for codec in
            [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd]
        {
            let values: Vec<_> =
                read(&compressed(codec)).expect("records").into_iter().map(|of| of.value).collect();
            assert_eq!(values, [Some(b"one".to_vec()), Some(b"two".to_vec())], "{codec:?}");
        }
    }

    #[test]
    fn timestamp_of_the_broker_counts_if_the_topic_wants_that() {
        let mut bytes = compressed(Compression::None);
        assert_eq!(read(&bytes).expect("records")[1].timestamp_ms, 1_000);
        stamp_append_time(&mut bytes, 5_000);
        assert!(read(&bytes).expect("records").iter().all(|record| record.timestamp_ms == 5_000));
    }
}
