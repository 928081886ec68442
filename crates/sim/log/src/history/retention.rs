//! Where logs begin (L68): what retention may take away, and what it must.

use super::{Content, History, Place, Stood};

/// What a topic's records may be kept for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retention {
    /// `retention.ms`.
    Time(i64),
    /// `retention.bytes`.
    Bytes(i64),
}

/// How often the broker looks for what may go, with some room, milliseconds.
pub(crate) const RETENTION_CHECK_MS: u64 = 2_500;
/// By how much a log may be larger than `retention.bytes` says, in a run with tiny segments: a segment with its last batch.
const SEGMENT_BYTES: i64 = 4_000;

impl History {
    /// A topic of that id has this retention.
    pub(crate) fn retained(&mut self, topic: [u8; 16], retention: Retention) {
        self.retentions.insert(topic, retention);
    }

    /// Whether records of a topic go with time, at any moment.
    pub(crate) fn goes_with_time(&self, place: Place) -> bool {
        matches!(self.retentions.get(&place.topic), Some(Retention::Time(_)))
    }

    /// Whether records of a topic go by themselves.
    pub(crate) fn is_retained(&self, place: Place) -> bool {
        self.retentions.contains_key(&place.topic)
    }

    /// Somebody was told, at that time of the broker, where a log begins.
    pub(crate) fn begins(&mut self, place: Place, start: i64, wall_ms: i64) {
        self.judge(68);
        let may_be = self.trims(place).0;
        if start <= may_be {
            return;
        }
        match self.retentions.get(&place.topic).copied() {
            None => {
                self.wrong(68, format!("{place:?} begins at {start}, and {may_be} was asked for"));
            }
            Some(Retention::Bytes(_)) => {}
            Some(Retention::Time(limit_ms)) => {
                let gone = self.known.range((place, may_be)..(place, start));
                let young = gone.filter_map(|(_, value)| self.writes.get(value));
                let young = young.filter(|write| wall_ms - write.timestamp_ms <= limit_ms).count();
                if young > 0 {
                    self.wrong(68, format!("{young} records of {place:?} before {start} went too early"));
                }
            }
        }
        self.trim_asked(place, start);
    }

    /// What is left of a log of so many bytes, long after its last record was written.
    pub(super) fn judge_retention(&mut self, place: Place, log: &[Stood], bytes: i64) {
        let is_value = |stood: &Stood| matches!(stood.what, Content::Value(_));
        match self.retentions.get(&place.topic).copied() {
            None => {}
            Some(Retention::Time(_)) => {
                self.judge(68);
                let left = log.iter().filter(|stood| is_value(stood)).count();
                if left > 0 {
                    self.wrong(68, format!("{left} records of {place:?} are kept too long"));
                }
            }
            Some(Retention::Bytes(limit)) => {
                self.judge(68);
                let has_begun = log.first().is_some_and(|first| first.offset > self.trims_of_clients(place));
                if bytes > limit + SEGMENT_BYTES || (has_begun && bytes < limit) {
                    self.wrong(68, format!("{place:?} has {bytes} bytes, and should have {limit}"));
                }
            }
        }
    }

    fn trims_of_clients(&self, place: Place) -> i64 {
        self.trims_asked.get(&place).copied().unwrap_or(0)
    }
}
