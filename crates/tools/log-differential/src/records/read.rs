//! From a reply's bytes to batches as values.

use serde_json::{Value, json};

use crate::hex::to_hex;

/// Offset and length.
const PREFIX: usize = 12;
/// All that comes before the records.
const HEADER: usize = 61;

/// The batches; what a limit has cut off at the end is left out, for how much of a last batch is sent is a broker's choice.
pub fn read(mut bytes: &[u8]) -> Value {
    let mut batches = Vec::new();
    while let Some(length) = bytes.get(8..PREFIX) {
        let length = i32::from_be_bytes([length[0], length[1], length[2], length[3]]);
        let whole = usize::try_from(length).ok().and_then(|length| length.checked_add(PREFIX));
        let Some((head, rest)) = whole.and_then(|whole| bytes.split_at_checked(whole)) else { break };
        batches.push(batch(head));
        bytes = rest;
    }
    if batches.is_empty() && !bytes.is_empty() {
        return json!([{ "cutFirstBatch": true }]);
    }
    Value::Array(batches)
}

fn batch(bytes: &[u8]) -> Value {
    let mut reader = Reader(bytes);
    decode(&mut reader).unwrap_or_else(|| json!({ "undecodable": to_hex(bytes) }))
}

fn decode(reader: &mut Reader<'_>) -> Option<Value> {
    let whole = reader.0;
    let base_offset = i64::from_be_bytes(reader.take()?);
    reader.take::<4>()?;
    let leader_epoch = i32::from_be_bytes(reader.take()?);
    let [magic] = reader.take()?;
    if magic != 2 {
        return None;
    }
    let crc = u32::from_be_bytes(reader.take()?);
    let right = crc32c::crc32c(reader.0) == crc;
    let attributes = i16::from_be_bytes(reader.take()?);
    let last_offset_delta = i32::from_be_bytes(reader.take()?);
    let base_timestamp = i64::from_be_bytes(reader.take()?);
    let max_timestamp = i64::from_be_bytes(reader.take()?);
    let producer = i64::from_be_bytes(reader.take()?);
    let epoch = i16::from_be_bytes(reader.take()?);
    let sequence = i32::from_be_bytes(reader.take()?);
    let count = i32::from_be_bytes(reader.take()?);
    debug_assert_eq!(whole.len() - reader.0.len(), HEADER, "all of the header is read");
    let records = match attributes & 7 {
        0 => {
            let read = (0..count).map(|_| record(reader, base_timestamp)).collect::<Option<Vec<Value>>>();
            read.map_or_else(|| Value::from(to_hex(&whole[HEADER..])), Value::Array)
        }
        _ => Value::from(to_hex(reader.0)),
    };
    Some(json!({
        "baseOffset": base_offset,
        "LeaderEpoch": leader_epoch,
        "crc": if right { "right" } else { "wrong" },
        "attributes": attributes,
        "lastOffsetDelta": last_offset_delta,
        "baseTimestamp": base_timestamp,
        "maxTimestamp": max_timestamp,
        "ProducerId": producer,
        "ProducerEpoch": epoch,
        "baseSequence": sequence,
        "count": count,
        "records": records,
    }))
}

fn record(reader: &mut Reader<'_>, base_timestamp: i64) -> Option<Value> {
    let length = usize::try_from(reader.signed()?).ok()?;
    let (body, rest) = reader.0.split_at_checked(length)?;
    reader.0 = rest;
    let mut body = Reader(body);
    let [attributes] = body.take()?;
    let timestamp = base_timestamp.wrapping_add(body.signed()?);
    let offset_delta = body.signed()?;
    let (key, value) = (body.nullable()?, body.nullable()?);
    let headers = body.signed()?;
    let headers = (0..headers).map(|_| Some(json!([body.nullable()?, body.nullable()?]))).collect();
    let headers: Option<Vec<Value>> = headers;
    Some(json!({
        "attributes": attributes,
        "timestamp": timestamp,
        "offsetDelta": offset_delta,
        "key": key,
        "value": value,
        "headers": headers?,
        "left": body.0.len(),
    }))
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }

    fn signed(&mut self) -> Option<i64> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let [byte] = self.take()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some((value >> 1).cast_signed() ^ -((value & 1).cast_signed()));
            }
        }
        None
    }

    /// Text as it is; other bytes in hexadecimal.
    fn nullable(&mut self) -> Option<Value> {
        let Ok(length) = usize::try_from(self.signed()?) else { return Some(Value::Null) };
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        let text = std::str::from_utf8(head).ok().filter(|text| !text.chars().any(char::is_control));
        Some(text.map_or_else(|| Value::from(format!("0x{}", to_hex(head))), Value::from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::build;

    #[test]
    fn what_is_built_is_read() {
        let given = json!([
            {"records": [{"key": "k", "value": "v", "timestamp": 5}, {"value": null, "timestamp": 9, "headers": [["h", null]]}]},
            {"records": [{"value": "w", "timestamp": 9}], "producer": 4, "epoch": 2, "sequence": 3, "transactional": true},
        ]);
        let bytes = build(&given).expect("honest").expect("bytes");
        let read = read(&bytes);
        assert_eq!(read[0]["crc"], "right");
        assert_eq!(read[0]["maxTimestamp"], 9);
        assert_eq!(read[0]["records"][1]["timestamp"], 9);
        assert_eq!(read[0]["records"][1]["headers"], json!([["h", null]]));
        assert_eq!(read[1]["attributes"], 16);
        assert_eq!(read[1]["ProducerId"], 4);
        assert_eq!(super::read(&bytes[..bytes.len() - 1]).as_array().map(Vec::len), Some(1));
        assert_eq!(super::read(&bytes[..30]), json!([{"cutFirstBatch": true}]));
    }

    #[test]
    fn wrong_crc_is_seen() {
        let bytes = build(&json!([{"records": [{"value": "v"}], "crc": "wrong"}])).expect("honest");
        assert_eq!(read(&bytes.expect("bytes"))[0]["crc"], "wrong");
    }
}
