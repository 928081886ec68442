//! From a script's batches to bytes.

use serde_json::Value;

use super::compress::compress;
use crate::hex::from_hex;

/// The bytes of a list of batches; `{"hex": ".."}` as they are; none for null.
///
/// # Errors
/// Something is given that no batch has.
pub fn build(value: &Value) -> Result<Option<Vec<u8>>, String> {
    match value {
        Value::Null => Ok(None),
        Value::Array(batches) => {
            let batches: Result<Vec<Vec<u8>>, String> = batches.iter().map(batch).collect();
            Ok(Some(batches?.concat()))
        }
        Value::String(text) if text.is_empty() => Ok(Some(Vec::new())),
        Value::Object(object) => {
            let bytes = object.get("hex").and_then(Value::as_str).and_then(from_hex);
            bytes.map(Some).ok_or_else(|| String::from("no hexadecimal"))
        }
        _ => Err(String::from("a list of batches is wanted")),
    }
}

fn batch(given: &Value) -> Result<Vec<u8>, String> {
    let records = given["records"].as_array().map_or(&[][..], Vec::as_slice);
    let number = |key: &str, otherwise: i64| given[key].as_i64().unwrap_or(otherwise);
    let is = |key: &str| i16::from(given[key].as_bool() == Some(true));
    let times = || records.iter().map(|record| record["timestamp"].as_i64().unwrap_or(0));
    let base_time = number("baseTimestamp", times().next().unwrap_or(-1));
    let max_time = number("maxTimestamp", times().max().unwrap_or(-1));
    let mut plain = Vec::new();
    for (index, given) in records.iter().enumerate() {
        record(&mut plain, given, index as i64, base_time);
    }
    let (compression, compressed) = compress(given["compression"].as_str().unwrap_or("none"), &plain)?;
    let bits = compression | is("appendTime") << 3 | is("transactional") << 4 | is("control") << 5;
    let mut checked = Vec::new();
    let count = records.len() as i64;
    checked.extend((number("attributes", i64::from(bits)) as i16).to_be_bytes());
    checked.extend((number("lastOffsetDelta", count - 1) as i32).to_be_bytes());
    checked.extend(base_time.to_be_bytes());
    checked.extend(max_time.to_be_bytes());
    checked.extend(number("producer", -1).to_be_bytes());
    checked.extend((number("epoch", -1) as i16).to_be_bytes());
    checked.extend((number("sequence", -1) as i32).to_be_bytes());
    checked.extend((number("count", count) as i32).to_be_bytes());
    checked.extend(compressed);
    let crc = crc32c::crc32c(&checked) ^ u32::from(given["crc"] == "wrong");
    let mut out = number("baseOffset", 0).to_be_bytes().to_vec();
    // The leader's epoch, the magic and the CRC are before what is checked.
    let length = checked.len() as i64 + 9 + number("length", 0);
    out.extend((length as i32).to_be_bytes());
    out.extend((number("leaderEpoch", -1) as i32).to_be_bytes());
    out.push(number("magic", 2) as u8);
    out.extend(crc.to_be_bytes());
    out.extend(checked);
    Ok(out)
}

fn record(out: &mut Vec<u8>, given: &Value, index: i64, base_time: i64) {
    let mut body = vec![0];
    signed(&mut body, given["timestamp"].as_i64().unwrap_or(0).wrapping_sub(base_time));
    signed(&mut body, given["offsetDelta"].as_i64().unwrap_or(index));
    nullable(&mut body, given["key"].as_str());
    nullable(&mut body, given["value"].as_str());
    let headers = given["headers"].as_array().map_or(&[][..], Vec::as_slice);
    signed(&mut body, headers.len() as i64);
    for header in headers {
        nullable(&mut body, header[0].as_str());
        nullable(&mut body, header[1].as_str());
    }
    signed(out, body.len() as i64);
    out.extend(body);
}

fn nullable(out: &mut Vec<u8>, text: Option<&str>) {
    signed(out, text.map_or(-1, |text| text.len() as i64));
    out.extend(text.unwrap_or_default().as_bytes());
}

/// A zigzag varint.
fn signed(out: &mut Vec<u8>, value: i64) {
    let mut value = ((value << 1) ^ (value >> 63)).cast_unsigned();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
