//! Record batches, written by hand: the simulator's own, so that no mistake of the product's hides in it.

use bytes::Bytes;

use crate::history::{Value, key_of};

/// The attribute of a batch of a transaction.
const TRANSACTIONAL: i16 = 1 << 4;

/// A batch of values, each with some padding. An idempotent producer has an id and epoch, and the sequence number of its first
/// record; the batch may belong to a transaction of it.
pub(super) fn encode(
    values: &[Value],
    producer: Option<((i64, i16), i32)>,
    is_transactional: bool,
    padding: usize,
) -> Bytes {
    const TIMESTAMP_MS: i64 = 1_700_000_000_000;
    let ((id, epoch), sequence) = producer.unwrap_or(((-1, -1), -1));
    let count = values.len() as i32;
    let mut covered = Vec::new();
    let attributes = if is_transactional { TRANSACTIONAL } else { 0 };
    covered.extend(attributes.to_be_bytes());
    covered.extend((count - 1).to_be_bytes());
    covered.extend(TIMESTAMP_MS.to_be_bytes());
    covered.extend(TIMESTAMP_MS.to_be_bytes());
    covered.extend(id.to_be_bytes());
    covered.extend(epoch.to_be_bytes());
    covered.extend(sequence.to_be_bytes());
    covered.extend(count.to_be_bytes());
    for (index, value) in (0..).zip(values) {
        let text = format!("{value} {}", "x".repeat(padding));
        record(index, key_of(*value).as_bytes(), text.as_bytes(), &mut covered);
    }
    let mut batch = Vec::new();
    batch.extend(0i64.to_be_bytes());
    batch.extend((covered.len() as i32 + 4 + 1 + 4).to_be_bytes());
    batch.extend((-1i32).to_be_bytes());
    batch.push(2);
    batch.extend(crc32c::crc32c(&covered).to_be_bytes());
    batch.extend(covered);
    Bytes::from(batch)
}

fn record(index: i64, key: &[u8], value: &[u8], out: &mut Vec<u8>) {
    // No attributes, no time of its own, no headers.
    let mut body = vec![0, 0];
    varint(index, &mut body);
    varint(key.len() as i64, &mut body);
    body.extend(key);
    varint(value.len() as i64, &mut body);
    body.extend(value);
    varint(0, &mut body);
    varint(body.len() as i64, out);
    out.extend(body);
}

fn varint(value: i64, out: &mut Vec<u8>) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}
