//! Batches that a broker writes anew from what a client sent: with fewer records, or compressed in another way.
//!
//! Where the batch stands, whose it is and its sequence numbers stay; what says of its records changes with them.

use alloc::vec::Vec;

use crate::batch::{
    ATTRIBUTES, BASE_TIMESTAMP, BATCH_HEADER_BYTES, COUNT, CRC, LENGTH, MAX_TIMESTAMP, checksum, put,
};
use crate::record::Record;
use crate::{Attributes, Batch, Compression, varint};

/// What the header of a batch says of its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordsHead {
    /// The flags, the compression among them.
    pub attributes: Attributes,
    /// From which the records' timestamps count, milliseconds; with a delete horizon that.
    pub base_timestamp: i64,
    /// The highest timestamp, milliseconds.
    pub max_timestamp: i64,
    /// How many records there are.
    pub count: i32,
}

impl Batch<'_> {
    /// The same batch with these records, which are compressed as the attributes say.
    #[must_use]
    pub fn with_records(&self, head: RecordsHead, records: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BATCH_HEADER_BYTES + records.len());
        bytes.extend_from_slice(self.bytes().get(..BATCH_HEADER_BYTES).unwrap_or_default());
        bytes.extend_from_slice(records);
        let length = (bytes.len() - (LENGTH + 4)) as i32;
        put(&mut bytes, LENGTH, &length.to_be_bytes());
        put(&mut bytes, ATTRIBUTES, &head.attributes.0.to_be_bytes());
        put(&mut bytes, BASE_TIMESTAMP, &head.base_timestamp.to_be_bytes());
        put(&mut bytes, MAX_TIMESTAMP, &head.max_timestamp.to_be_bytes());
        put(&mut bytes, COUNT, &head.count.to_be_bytes());
        let checksum = checksum(&bytes);
        put(&mut bytes, CRC, &checksum.to_be_bytes());
        bytes
    }
}

/// The highest timestamp of the batch at `bytes` is this one. The checksum is made anew.
pub fn set_max_timestamp(bytes: &mut [u8], max_timestamp: i64) {
    put(bytes, MAX_TIMESTAMP, &max_timestamp.to_be_bytes());
    let checksum = checksum(bytes);
    put(bytes, CRC, &checksum.to_be_bytes());
}

/// The batch at `bytes` has these flags. The checksum is made anew.
pub fn set_attributes(bytes: &mut [u8], attributes: Attributes) {
    put(bytes, ATTRIBUTES, &attributes.0.to_be_bytes());
    let checksum = checksum(bytes);
    put(bytes, CRC, &checksum.to_be_bytes());
}

/// Appends a record with another timestamp, counted from that of its batch.
pub fn write_record(record: &Record<'_>, timestamp_delta: i64, out: &mut Vec<u8>) {
    let mut body = Vec::with_capacity(32);
    body.push(0);
    varint::write_i64(timestamp_delta, &mut body);
    varint::write_i32(record.offset_delta, &mut body);
    for field in [record.key, record.value] {
        varint::write_i32(field.map_or(-1, |field| field.len() as i32), &mut body);
        body.extend_from_slice(field.unwrap_or_default());
    }
    let (count, headers) = record.headers().raw();
    varint::write_i32(count, &mut body);
    body.extend_from_slice(headers);
    varint::write_i32(body.len() as i32, out);
    out.extend_from_slice(&body);
}

impl Attributes {
    /// The same with another compression.
    #[must_use]
    pub const fn with_compression(self, compression: Compression) -> Self {
        Self(self.0 & !0b111 | compression as i16)
    }

    /// The same without what only a broker sets: the time of the append, and a delete horizon.
    #[must_use]
    pub const fn of_client(self) -> Self {
        Self(self.0 & !(1 << 3) & !(1 << 6))
    }

    /// The same with or without a delete horizon.
    #[must_use]
    pub const fn with_delete_horizon(self, has_one: bool) -> Self {
        let bit = 1 << 6;
        Self(if has_one { self.0 | bit } else { self.0 & !bit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BatchBuilder, Header, Producer, Records};

    fn batch() -> Vec<u8> {
        let mut builder = BatchBuilder::new(Attributes(0), Producer { id: 9, epoch: 2, base_sequence: 5 });
        let header = Header { key: b"h", value: Some(b"w") };
        builder.push(1_000, Some(b"k"), Some(b"v"), &[header]);
        builder.push(900, Some(b"l"), None, &[header, header]);
        builder.push(1_100, None, Some(b""), &[]);
        let mut bytes = builder.finish();
        Batch::assign(&mut bytes, 70, 4);
        bytes
    }

    fn records<'b>(batch: &Batch<'b>) -> Vec<Record<'b>> {
        Records::new(batch.records(), batch.count()).map(|record| record.expect("well formed")).collect()
    }

    #[test]
    fn record_that_is_written_anew_is_the_same_but_for_its_time() {
        let bytes = batch();
        let batch = Batch::read(&bytes).expect("a batch").0;
        let mut same = Vec::new();
        for record in records(&batch) {
            write_record(&record, record.timestamp_delta, &mut same);
        }
        assert_eq!(same, batch.records());
        let mut later = Vec::new();
        for record in records(&batch) {
            write_record(&record, record.timestamp_delta - 5_000, &mut later);
        }
        let attributes = batch.attributes().with_delete_horizon(true);
        let head = RecordsHead { attributes, base_timestamp: 6_000, max_timestamp: 1_100, count: 3 };
        let bytes = batch.with_records(head, &later);
        let (again, rest) = Batch::read(&bytes).expect("a batch");
        assert!(rest.is_empty() && again.verify().is_ok() && again.attributes().has_delete_horizon());
        let times = records(&again).into_iter().map(|record| again.base_timestamp() + record.timestamp_delta);
        assert_eq!(times.collect::<Vec<_>>(), [1_000, 900, 1_100]);
    }

    #[test]
    fn batch_with_fewer_records_keeps_its_place_and_its_sequence() {
        let bytes = batch();
        let batch = Batch::read(&bytes).expect("a batch").0;
        let attributes = batch.attributes().with_compression(Compression::None);
        let head = RecordsHead { attributes, base_timestamp: -1, max_timestamp: 1_100, count: 0 };
        let bytes = batch.with_records(head, &[]);
        let empty = Batch::read(&bytes).expect("a batch").0;
        assert_eq!(empty.verify(), Ok(()));
        assert_eq!((empty.base_offset(), empty.last_offset(), empty.leader_epoch()), (70, 72, 4));
        assert_eq!((empty.producer_id(), empty.producer_epoch(), empty.base_sequence()), (9, 2, 5));
        assert_eq!((empty.count(), empty.max_timestamp(), empty.records()), (0, 1_100, &[][..]));
    }

    #[test]
    fn attributes_change_one_at_a_time() {
        let all = Attributes(0b111_1001);
        assert_eq!(all.with_compression(Compression::Zstd), Attributes(0b111_1100));
        assert_eq!(all.with_delete_horizon(false), Attributes(0b011_1001));
        assert_eq!(all.of_client(), Attributes(0b011_0001));
    }
}
