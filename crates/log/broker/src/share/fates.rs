//! When records are delivered to share groups: their times to live, and their delays. Records are read for that only where their
//! topic says so.
//!
//! A time counts from the timestamp of the record. What is none, or is below zero, is as if it were not there; a header counts
//! before the setting of the topic. A record that is expired before it may be delivered is expired.

use base::Now;
use log_config::QueueTopicConfig;
use log_partition::read_records;
use log_share::{Fate, LogBatch};
use log_wire::{Batch, Record, TimestampType};

use super::letter::number;

/// No delay ends later from now on, milliseconds: 30 days.
const DELAY_MS_MAX: i64 = 2_592_000_000;
/// More headers of a record are not looked at.
const HEADERS_MAX: usize = 1_000;

/// Appends what becomes of the records of a batch, in order and without gaps. Gives how many bytes were read for that.
/// What cannot be read is delivered: members see what is wrong with it.
pub(super) fn of_batch(
    batch: &Batch<'_>,
    config: QueueTopicConfig,
    (bytes_max, now): (usize, Now),
    out: &mut Vec<LogBatch>,
) -> usize {
    let (base, last) = (batch.base_offset(), batch.last_offset());
    let begin = out.len();
    let mut next = base;
    let read = read_records(batch, bytes_max, |record| {
        let offset = base.saturating_add(record.offset_delta.into());
        if offset < next || offset > last {
            return;
        }
        let fate = fate(record, timestamp_of(batch, record), config, now);
        // What compaction has taken goes with what is before it.
        put(out, begin, (next, offset - 1), Fate::Delivered);
        put(out, begin, (offset, offset), fate);
        next = offset + 1;
    });
    let Ok(bytes) = read else {
        out.truncate(begin);
        out.push(LogBatch { first: base, last, fate: Fate::Delivered });
        return 0;
    };
    put(out, begin, (next, last), Fate::Delivered);
    bytes
}

/// Appends records, to those before if they have the same fate.
fn put(out: &mut Vec<LogBatch>, begin: usize, (first, last): (i64, i64), fate: Fate) {
    if last < first {
        return;
    }
    match out.get_mut(begin..).and_then(<[LogBatch]>::last_mut) {
        Some(before) if before.fate == fate => before.last = last,
        _ => out.push(LogBatch { first, last, fate }),
    }
}

fn timestamp_of(batch: &Batch<'_>, record: &Record<'_>) -> i64 {
    match batch.attributes().timestamp_type() {
        TimestampType::LogAppendTime => batch.max_timestamp(),
        TimestampType::CreateTime => batch.base_timestamp().saturating_add(record.timestamp_delta),
    }
}

fn fate(record: &Record<'_>, timestamp_ms: i64, config: QueueTopicConfig, now: Now) -> Fate {
    let (mut ttl, mut delay, mut deliver_at) = (None, None, None);
    if config.reads_headers {
        for header in record.headers().flatten().take(HEADERS_MAX) {
            let place = match header.key {
                b"diwan.ttl.ms" => &mut ttl,
                b"diwan.delay.ms" => &mut delay,
                b"diwan.deliver.at" => &mut deliver_at,
                _ => continue,
            };
            *place = number(header.value).filter(|number| *number >= 0).or(*place);
        }
    }
    let now_ms = now.wall.ms();
    // A record without a timestamp has -1: its times count from 1970.
    let after = |ms: i64| timestamp_ms.max(0).saturating_add(ms);
    if ttl.or(config.ttl_ms).is_some_and(|ttl| after(ttl) <= now_ms) {
        return Fate::Expired;
    }
    let due_ms = deliver_at.unwrap_or_else(|| after(delay.unwrap_or(config.delay_ms)));
    let left_ms = due_ms.saturating_sub(now_ms).min(DELAY_MS_MAX);
    match (u64::try_from(left_ms), deliver_at.is_some() || delay.unwrap_or(config.delay_ms) > 0) {
        (Ok(left_ms), true) if left_ms > 0 => Fate::Delayed(now.mono().plus_ms(left_ms)),
        _ => Fate::Delivered,
    }
}

#[cfg(test)]
mod tests {
    use log_wire::{Attributes, BatchBuilder, Header, Producer};

    use super::*;

    const HEADERS: QueueTopicConfig = QueueTopicConfig { ttl_ms: None, delay_ms: 0, reads_headers: true };

    fn now() -> Now {
        Now::of_ms(50, 10_000)
    }

    /// What becomes of a record with these headers, whose timestamp is 9000.
    fn fate_of(headers: &[(&str, &str)], config: QueueTopicConfig) -> Fate {
        let headers: Vec<Header<'_>> = headers
            .iter()
            .map(|(key, value)| Header { key: key.as_bytes(), value: Some(value.as_bytes()) })
            .collect();
        let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
        builder.push(9_000, None, None, &headers);
        let (bytes, mut out) = (builder.finish(), Vec::new());
        let (batch, _) = Batch::read(&bytes).expect("a batch");
        of_batch(&batch, config, (1_000, now()), &mut out);
        assert_eq!((out.len(), out[0].first, out[0].last), (1, 0, 0));
        out[0].fate
    }

    fn delayed(ms: u64) -> Fate {
        Fate::Delayed(now().mono().plus_ms(ms))
    }

    #[test]
    fn headers_say_when_a_record_is_delivered_and_nonsense_says_nothing() {
        let of = |key: &str, value: &str| fate_of(&[(key, value)], HEADERS);
        assert_eq!([of("diwan.ttl.ms", "999"), of("diwan.ttl.ms", "1001")], [Fate::Expired, Fate::Delivered]);
        assert_eq!(of("diwan.ttl.ms", "0"), Fate::Expired);
        assert_eq!(of("diwan.ttl.ms", "9223372036854775807"), Fate::Delivered);
        assert_eq!(
            [of("diwan.delay.ms", "1000"), of("diwan.delay.ms", "1500")],
            [Fate::Delivered, delayed(500)]
        );
        assert_eq!(of("diwan.deliver.at", "10007"), delayed(7));
        assert_eq!(of("diwan.deliver.at", "9223372036854775807"), delayed(DELAY_MS_MAX as u64));
        assert_eq!(of("diwan.delay.ms", "9223372036854775807"), delayed(DELAY_MS_MAX as u64));
        for nonsense in ["-1", "-9223372036854775808", "99999999999999999999999", "", "soon", "\u{0}", "1.5"]
        {
            for key in ["diwan.ttl.ms", "diwan.delay.ms", "diwan.deliver.at"] {
                assert_eq!(of(key, nonsense), Fate::Delivered, "{key} {nonsense}");
            }
        }
        let late = fate_of(&[("diwan.ttl.ms", "5"), ("diwan.delay.ms", "5000")], HEADERS);
        assert_eq!(late, Fate::Expired);
    }

    #[test]
    fn settings_hold_for_records_that_say_nothing_and_headers_only_where_they_are_read() {
        let topic = QueueTopicConfig { ttl_ms: Some(900), delay_ms: 0, reads_headers: false };
        assert_eq!(fate_of(&[("diwan.ttl.ms", "5000")], topic), Fate::Expired);
        let topic = QueueTopicConfig { reads_headers: true, ..topic };
        assert_eq!(fate_of(&[("diwan.ttl.ms", "5000")], topic), Fate::Delivered);
        let topic = QueueTopicConfig { ttl_ms: None, delay_ms: 1_250, reads_headers: true };
        assert_eq!(fate_of(&[], topic), delayed(250));
        assert_eq!(fate_of(&[("diwan.delay.ms", "0")], topic), Fate::Delivered);
    }

    #[test]
    fn records_of_one_fate_are_one_range_and_what_cannot_be_read_is_delivered() {
        let soon = Header { key: b"diwan.deliver.at", value: Some(b"10100") };
        let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
        for headers in [&[][..], &[], &[soon], &[soon], &[]] {
            builder.push(9_000, None, None, headers);
        }
        let mut bytes = builder.finish();
        let (batch, _) = Batch::read(&bytes).expect("a batch");
        let mut out = Vec::new();
        assert!(of_batch(&batch, HEADERS, (1_000, now()), &mut out) > 0);
        let shown: Vec<_> = out.iter().map(|of| (of.first, of.last, of.fate)).collect();
        assert_eq!(shown, [(0, 1, Fate::Delivered), (2, 3, delayed(100)), (4, 4, Fate::Delivered)]);
        let end = bytes.len() - 2;
        bytes[end] ^= 0xff;
        let (batch, _) = Batch::read(&bytes).expect("a batch");
        let mut out = Vec::new();
        assert_eq!(of_batch(&batch, HEADERS, (1_000, now()), &mut out), 0);
        assert_eq!(out, [LogBatch { first: 0, last: 4, fate: Fate::Delivered }]);
    }
}
