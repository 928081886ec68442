//! A dead letter: a record that tells where its record stands, and why nobody gets it, in headers (KIP-1191). If the group wants
//! that, it has the key, the value and the other headers of its record.
//!
//! What was a dead letter before loses the headers of that, and those that say when it is delivered: they were about the topic that
//! it comes from.

use log_partition::read_records;
use log_share::{DeadLetters, DeadReason};
use log_wire::{Attributes, Batch, BatchBuilder, Header, Producer, Record};

/// What the records of a batch may become without their compression, bytes. Letters of a batch that becomes more have no copy.
pub(super) const PLAIN_BYTES_MAX: usize = 32 << 20;
/// Bytes of a letter besides its copy and the names in it.
const HEADERS_BYTES: usize = 512;
/// A record that was a dead letter so often goes around in circles: it does not become one again.
const HOPS_MAX: u32 = 16;
/// How often a record was a dead letter.
const HOPS: &[u8] = b"diwan.dlq.hops";
/// Why, for programs: `rejected`, `delivery-limit` or `expired`.
const REASON: &[u8] = b"diwan.dlq.reason";
/// What all of Kafka's begin with.
const PREFIX: &[u8] = b"__dlq.errors.";
/// Headers that hold for one topic only.
const OF_TOPIC: [&[u8]; 3] = [b"diwan.ttl.ms", b"diwan.delay.ms", b"diwan.deliver.at"];

/// Where records stood.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin<'o> {
    pub(super) topic: &'o str,
    pub(super) partition: i32,
    pub(super) group: &'o str,
}

/// Letters as one batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Letters {
    /// Nothing if all records go around in circles.
    pub(super) batch: Option<Vec<u8>>,
    /// They are those of the records up to this one.
    pub(super) last: i64,
}

struct Writer<'w> {
    builder: BatchBuilder,
    origin: Origin<'w>,
    of: DeadLetters,
    bytes_max: usize,
    now_ms: i64,
    /// The next record that has no letter.
    next: i64,
    is_full: bool,
}

/// Writes letters: without copies if nothing was read, otherwise of as many records as were read and become no longer than that.
pub(super) fn write(
    of: DeadLetters,
    origin: Origin<'_>,
    source: Option<&[u8]>,
    (bytes_max, now_ms): (usize, i64),
) -> Letters {
    let builder = BatchBuilder::new(Attributes(0), Producer::NONE);
    let next = of.first;
    let mut writer = Writer { builder, origin, of, bytes_max, now_ms, next, is_full: false };
    let until = source.map_or(of.last, |bytes| writer.copy_all(bytes));
    if !writer.is_full {
        writer.point_until(until.min(of.last));
    }
    let Writer { builder, next, .. } = writer;
    Letters { batch: (!builder.is_empty()).then(|| builder.finish()), last: next - 1 }
}

impl Writer<'_> {
    /// Letters of the records of these batches. Gives up to where nothing else was there; everything if nothing was.
    fn copy_all(&mut self, mut bytes: &[u8]) -> i64 {
        let mut until = self.of.last;
        while let Ok((batch, behind)) = Batch::read(bytes) {
            let (base, last) = (batch.base_offset(), batch.last_offset());
            if base > self.of.last || self.is_full {
                return self.of.last;
            }
            let read = read_records(&batch, PLAIN_BYTES_MAX, |record| {
                let offset = base.saturating_add(record.offset_delta.into());
                if offset >= self.next && offset <= self.of.last {
                    self.point_until(offset - 1);
                    self.copy(offset, record);
                }
            });
            if read.is_err() {
                self.point_until(last.min(self.of.last));
            }
            (until, bytes) = (last, behind);
        }
        until
    }

    /// Letters without copies.
    fn point_until(&mut self, last: i64) {
        while self.next <= last && !self.is_full {
            self.push(self.next, None, 1);
        }
    }

    fn copy(&mut self, offset: i64, record: &Record<'_>) {
        if self.is_full {
            return;
        }
        let hops = record.headers().flatten().find(|header| header.key == HOPS);
        let hops = hops.and_then(|header| number(header.value)).unwrap_or(0);
        let hops = u32::try_from(hops.max(0)).unwrap_or(u32::MAX);
        if hops >= HOPS_MAX {
            self.next = offset + 1;
            return;
        }
        let headers: usize =
            record.headers().flatten().map(|of| of.key.len() + of.value.map_or(0, <[u8]>::len) + 10).sum();
        let bytes = headers + record.key.map_or(0, <[u8]>::len) + record.value.map_or(0, <[u8]>::len);
        let bytes = self.builder.len() + self.letter_bytes() + bytes;
        match (bytes <= self.bytes_max, self.builder.is_empty()) {
            (true, _) => self.push(offset, Some(record), hops + 1),
            // It is too long for the topic, whatever stands beside it.
            (false, true) => self.push(offset, None, hops + 1),
            (false, false) => self.is_full = true,
        }
    }

    fn letter_bytes(&self) -> usize {
        HEADERS_BYTES + self.origin.topic.len() + self.origin.group.len()
    }

    fn push(&mut self, offset: i64, record: Option<&Record<'_>>, hops: u32) {
        if !self.builder.is_empty() && self.builder.len() + self.letter_bytes() > self.bytes_max {
            self.is_full = true;
            return;
        }
        let numbers = [
            self.origin.partition.to_string(),
            offset.to_string(),
            self.of.delivery_count.to_string(),
            hops.to_string(),
        ];
        let [partition, at, count, hops] = numbers.each_ref().map(String::as_bytes);
        let (reason, message) = words(self.of.reason);
        let own: [(&[u8], &[u8]); 8] = [
            (b"__dlq.errors.topic", self.origin.topic.as_bytes()),
            (b"__dlq.errors.partition", partition),
            (b"__dlq.errors.offset", at),
            (b"__dlq.errors.group", self.origin.group.as_bytes()),
            (b"__dlq.errors.delivery.count", count),
            (b"__dlq.errors.message", message.as_bytes()),
            (REASON, reason.as_bytes()),
            (HOPS, hops),
        ];
        let kept = record.into_iter().flat_map(|record| record.headers().flatten());
        let mut headers: Vec<Header<'_>> = kept.filter(|header| is_kept(header.key)).collect();
        headers.extend(own.map(|(key, value)| Header { key, value: Some(value) }));
        let (key, value) = record.map_or((None, None), |record| (record.key, record.value));
        self.builder.push(self.now_ms, key, value, &headers);
        self.next = offset + 1;
    }
}

fn is_kept(key: &[u8]) -> bool {
    !key.starts_with(PREFIX) && !OF_TOPIC.contains(&key) && key != HOPS && key != REASON
}

/// A number as text, in a header; nothing if it is none.
pub(super) fn number(value: Option<&[u8]>) -> Option<i64> {
    /// A number of 64 bits has no more digits, with its sign.
    const DIGITS_MAX: usize = 20;
    let value = value.filter(|value| value.len() <= DIGITS_MAX)?;
    core::str::from_utf8(value).ok()?.trim().parse().ok()
}

/// For programs, and for people.
const fn words(reason: DeadReason) -> (&'static str, &'static str) {
    match reason {
        DeadReason::Rejected => ("rejected", "a member has rejected the record"),
        DeadReason::DeliveredTooOften => ("delivery-limit", "the record was delivered as often as it may be"),
        DeadReason::Expired => ("expired", "the time to live of the record is over"),
    }
}

#[cfg(test)]
mod tests {
    use log_wire::Records;

    use super::*;

    const ORIGIN: Origin<'_> = Origin { topic: "t", partition: 3, group: "g" };

    fn dead(first: i64, last: i64) -> DeadLetters {
        DeadLetters { first, last, reason: DeadReason::Rejected, delivery_count: 2 }
    }

    fn source(values: &[usize], headers: &[Header<'_>]) -> Vec<u8> {
        let mut builder = BatchBuilder::new(Attributes(0), Producer::NONE);
        for length in values {
            builder.push(5, Some(b"k"), Some(&vec![7; *length]), headers);
        }
        builder.finish()
    }

    /// Offset, length of the value, and other headers of each letter.
    fn shown(letters: &Letters) -> Vec<(String, Option<usize>, Vec<String>)> {
        let Some(bytes) = &letters.batch else { return Vec::new() };
        let (batch, _) = Batch::read(bytes).expect("a batch");
        assert!(batch.check_from_client().is_ok());
        let records = Records::new(batch.records(), batch.count()).map(|record| {
            let record = record.expect("a record");
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
            let headers: Vec<Header<'_>> = record.headers().flatten().collect();
            let at = headers.iter().find(|header| header.key == b"__dlq.errors.offset").expect("it is there");
            let others = headers.iter().filter(|header| is_kept(header.key)).map(|header| text(header.key));
            (text(at.value.expect("a number")), record.value.map(<[u8]>::len), others.collect())
        });
        records.collect()
    }

    #[test]
    fn letters_tell_where_records_stand_and_copy_what_is_there() {
        let pointers = write(dead(5, 6), ORIGIN, None, (10_000, 0));
        assert_eq!((shown(&pointers).len(), pointers.last), (2, 6));
        let other = Header { key: b"mine", value: None };
        let old = Header { key: b"__dlq.errors.topic", value: Some(b"older") };
        let delay = Header { key: b"diwan.delay.ms", value: Some(b"9") };
        let bytes = source(&[10, 20, 30], &[other, old, delay]);
        let copies = write(dead(1, 2), ORIGIN, Some(&bytes), (10_000, 0));
        let mine = vec![String::from("mine")];
        let expected = [("1".into(), Some(20), mine.clone()), ("2".into(), Some(30), mine)];
        assert_eq!((shown(&copies), copies.last), (expected.to_vec(), 2));
        // What compaction has taken has a letter without a copy.
        let copies = write(dead(2, 4), ORIGIN, Some(&bytes), (10_000, 0));
        assert_eq!((shown(&copies).len(), copies.last), (1, 2), "more may be behind what was read");
        assert_eq!(write(dead(3, 4), ORIGIN, Some(&[]), (10_000, 0)).last, 4);
    }

    #[test]
    fn letters_are_no_longer_than_their_topic_permits() {
        let bytes = source(&[1_000, 1_000, 90_000, 10], &[]);
        let first = write(dead(0, 3), ORIGIN, Some(&bytes), (4_000, 0));
        assert_eq!((shown(&first).len(), first.last), (2, 1));
        assert!(first.batch.is_some_and(|batch| batch.len() <= 4_000));
        let second = write(dead(2, 3), ORIGIN, Some(&bytes), (4_000, 0));
        assert_eq!(shown(&second)[0].1, None, "it is too long for any batch");
        assert_eq!((shown(&second).len(), second.last), (2, 3));
    }

    #[test]
    fn record_that_goes_around_in_circles_becomes_no_letter_again() {
        for (hops, letters) in [("15", 1), ("16", 0), ("99999999999", 0), ("-7", 1), ("many", 1)] {
            let bytes = source(&[1], &[Header { key: HOPS, value: Some(hops.as_bytes()) }]);
            let written = write(dead(0, 0), ORIGIN, Some(&bytes), (10_000, 0));
            assert_eq!((shown(&written).len(), written.last), (letters, 0), "{hops}");
        }
    }
}
