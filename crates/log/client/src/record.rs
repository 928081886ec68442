//! Records as a user has them.

use log_wire::{Batch, Compression, Records};

use crate::error::{Error, Result};

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
        let wrong = |what: String| Error::Batch { offset, what };
        batch.verify().map_err(|error| wrong(error.to_string()))?;
        (bytes, end) = (rest, Some(batch.last_offset() + 1));
        if batch.attributes().is_control() {
            continue;
        }
        if batch.attributes().compression() != Some(Compression::None) {
            return Err(wrong(String::from("it is compressed")));
        }
        for record in Records::new(batch.records(), batch.count()) {
            let record = record.map_err(|malformed| wrong(malformed.0.into()))?;
            let offset = offset + i64::from(record.offset_delta);
            if offset < from {
                continue;
            }
            let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
            let headers = record.headers().filter_map(std::result::Result::ok);
            out.push(ConsumedRecord {
                topic: topic.into(),
                partition,
                offset,
                timestamp_ms: batch.base_timestamp() + record.timestamp_delta,
                key: owned(record.key),
                value: owned(record.value),
                headers: headers
                    .map(|header| (String::from_utf8_lossy(header.key).into_owned(), owned(header.value)))
                    .collect(),
            });
        }
    }
    Ok(end)
}
