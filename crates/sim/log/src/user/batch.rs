//! Record batches, written by hand: the simulator's own, so that no mistake of the product's hides in it.

use bytes::Bytes;

use super::Around;
use crate::history::{New, Value, key_of};

/// The attribute of a batch of a transaction.
const TRANSACTIONAL: i16 = 1 << 4;

/// A batch of records, each with some padding. An idempotent producer has an id and epoch, and the sequence number of its first
/// record; the batch may belong to a transaction of it.
pub(super) fn encode(
    records: &[New],
    producer: Option<((i64, i16), i32)>,
    is_transactional: bool,
    padding: usize,
) -> Bytes {
    let ((id, epoch), sequence) = producer.unwrap_or(((-1, -1), -1));
    let count = records.len() as i32;
    let times = records.iter().map(|new| new.timestamp_ms);
    let first_ms = records.first().map_or(0, |new| new.timestamp_ms);
    let mut covered = Vec::new();
    let attributes = if is_transactional { TRANSACTIONAL } else { 0 };
    covered.extend(attributes.to_be_bytes());
    covered.extend((count - 1).to_be_bytes());
    covered.extend(first_ms.to_be_bytes());
    covered.extend(times.max().unwrap_or(0).to_be_bytes());
    covered.extend(id.to_be_bytes());
    covered.extend(epoch.to_be_bytes());
    covered.extend(sequence.to_be_bytes());
    covered.extend(count.to_be_bytes());
    for (index, new) in (0..).zip(records) {
        record((index, new.timestamp_ms - first_ms), new, padding, &mut covered);
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

/// New records of these values, written about now; of a compacted topic some say that their key is gone.
pub(super) fn draw(values: &[Value], is_compacted: bool, around: &mut Around<'_>) -> Vec<New> {
    let written_ms = around.wall_ms - around.random.below(2_000) as i64;
    let draw = |value: &Value| New {
        value: *value,
        timestamp_ms: written_ms + around.random.below(200) as i64,
        is_tombstone: is_compacted && around.random.chance(15),
    };
    values.iter().map(draw).collect()
}

/// The name of the header by which a record without a value is known.
pub(super) const ID: &str = "id";

fn record((index, after_ms): (i64, i64), new: &New, padding: usize, out: &mut Vec<u8>) {
    // No attributes.
    let mut body = vec![0];
    varint(after_ms, &mut body);
    varint(index, &mut body);
    bytes(key_of(new.value).as_bytes(), &mut body);
    let id = new.value.to_string();
    if new.is_tombstone {
        varint(-1, &mut body);
        varint(1, &mut body);
        bytes(ID.as_bytes(), &mut body);
        bytes(id.as_bytes(), &mut body);
    } else {
        bytes(format!("{id} {}", "x".repeat(padding)).as_bytes(), &mut body);
        varint(0, &mut body);
    }
    varint(body.len() as i64, out);
    out.extend(body);
}

fn bytes(bytes: &[u8], out: &mut Vec<u8>) {
    varint(bytes.len() as i64, out);
    out.extend(bytes);
}

fn varint(value: i64, out: &mut Vec<u8>) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}
