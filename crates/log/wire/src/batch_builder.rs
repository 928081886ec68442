//! Batches that a broker writes itself: control batches, and what coordinators keep.

use alloc::vec::Vec;

use crate::batch::{BATCH_HEADER_BYTES, Batch, Producer};
use crate::record::Header;
use crate::{Attributes, varint};

/// Records that become a batch, not compressed.
#[derive(Debug)]
pub struct BatchBuilder {
    bytes: Vec<u8>,
    attributes: Attributes,
    producer: Producer,
    /// Of the first record, and the highest, milliseconds.
    timestamps: Option<(i64, i64)>,
    count: i32,
    body: Vec<u8>,
}

impl BatchBuilder {
    /// No records yet. The attributes say nothing of a compression.
    #[must_use]
    pub fn new(attributes: Attributes, producer: Producer) -> Self {
        let bytes = alloc::vec![0; BATCH_HEADER_BYTES];
        Self { bytes, attributes, producer, timestamps: None, count: 0, body: Vec::new() }
    }

    /// One more record.
    pub fn push(
        &mut self,
        timestamp_ms: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[Header<'_>],
    ) {
        let (base, highest) = self.timestamps.unwrap_or((timestamp_ms, timestamp_ms));
        self.timestamps = Some((base, highest.max(timestamp_ms)));
        let body = &mut self.body;
        body.clear();
        body.push(0);
        varint::write_i64(timestamp_ms.wrapping_sub(base), body);
        varint::write_i32(self.count, body);
        put_bytes(key, body);
        put_bytes(value, body);
        varint::write_i32(headers.len() as i32, body);
        for header in headers {
            put_bytes(Some(header.key), body);
            put_bytes(header.value, body);
        }
        varint::write_i32(body.len() as i32, &mut self.bytes);
        self.bytes.extend_from_slice(body);
        self.count += 1;
    }

    /// Whether there are no records.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The batch, at offset 0, with its checksum.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        Batch::write_header(&mut self.bytes, self.attributes, self.producer, self.timestamps, self.count);
        self.bytes
    }
}

fn put_bytes(bytes: Option<&[u8]>, out: &mut Vec<u8>) {
    varint::write_i32(bytes.map_or(-1, |bytes| bytes.len() as i32), out);
    out.extend_from_slice(bytes.unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Records;

    #[test]
    fn batch_that_was_built_is_read_and_verifies() {
        let mut builder = BatchBuilder::new(Attributes(0), Producer { id: 9, epoch: 2, base_sequence: 5 });
        assert!(builder.is_empty());
        builder.push(1_000, Some(b"k"), Some(b"v"), &[Header { key: b"h", value: Some(b"w") }]);
        builder.push(900, None, None, &[]);
        let bytes = builder.finish();
        let (batch, rest) = Batch::read(&bytes).expect("a batch");
        assert!(rest.is_empty() && batch.verify().is_ok() && batch.check_from_client().is_ok());
        assert_eq!((batch.count(), batch.last_offset()), (2, 1));
        assert_eq!((batch.base_timestamp(), batch.max_timestamp()), (1_000, 1_000));
        assert_eq!((batch.producer_id(), batch.producer_epoch(), batch.base_sequence()), (9, 2, 5));
        let records: Vec<_> =
            Records::new(batch.records(), batch.count()).collect::<Result<_, _>>().expect("well formed");
        assert_eq!((records[0].key, records[0].headers().count()), (Some(&b"k"[..]), 1));
        assert_eq!((records[1].timestamp_delta, records[1].value), (-100, None));
    }
}
