//! Quotas: `/zookeeper/quota/PATH/zookeeper_limits` says what PATH may hold, `zookeeper_stats` beside it what it does.
//!
//! The clients make both nodes; the server keeps the second one's data up to date, and, where it is told to, refuses
//! what goes beyond a hard limit. Soft limits are for those who read logs.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use core::fmt;

use jute::ErrorCode;

use crate::Tree;
use crate::arena::Slot;
use crate::node::Value;
use crate::path::{PathHash, QUOTA};

const LIMITS: &str = "/zookeeper_limits";
const STATS: &str = "/zookeeper_stats";

/// The path under quota of which this is the limits node.
pub(crate) fn limited_path(path: &str) -> Option<&str> {
    path.strip_prefix(QUOTA)?.strip_suffix(LIMITS).filter(|limited| !limited.is_empty())
}

/// The path under quota of which this is the stats node.
pub(crate) fn counted_path(path: &str) -> Option<&str> {
    path.strip_prefix(QUOTA)?.strip_suffix(STATS).filter(|counted| !counted.is_empty())
}

/// `key=number` pairs; a key that is missing counts as -1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Track(BTreeMap<Box<str>, i64>);

impl Track {
    const COUNT: &str = "count";
    const BYTES: &str = "bytes";
    const COUNT_HARD: &str = "countHardLimit";
    const BYTES_HARD: &str = "byteHardLimit";

    /// `None` when the text is none that ZooKeeper could read.
    fn parse(data: Option<&[u8]>) -> Option<Self> {
        let text = core::str::from_utf8(data?).ok()?;
        let mut track = Self::default();
        // Java's `split` drops empty parts at the end, but not one at the beginning.
        let text = text.trim_end_matches([',', ';']);
        if text.starts_with([',', ';']) {
            return None;
        }
        for pair in text.split([',', ';']).filter(|pair| !pair.is_empty()) {
            let (key, rest) = pair.trim_end_matches('=').split_once('=')?;
            let value = rest.split('=').next().unwrap_or_default();
            let value = if value.is_empty() { -1 } else { value.parse().ok()? };
            track.0.insert(Box::from(key), value);
        }
        Some(track)
    }

    fn value(&self, key: &str) -> i64 {
        self.0.get(key).copied().unwrap_or(-1)
    }

    fn add(&mut self, key: &str, difference: i64) {
        let value = self.value(key).wrapping_add(difference);
        self.0.insert(Box::from(key), value);
    }

    /// Whether `now` plus `difference` goes beyond the hard limit of this key.
    fn is_beyond(&self, hard: &str, now: i64, difference: i64) -> bool {
        let limit = self.value(hard);
        difference != 0 && limit > -1 && now.wrapping_add(difference) > limit
    }

    /// Whether a difference is one that some limit, soft or hard, speaks of.
    fn limits(&self, soft: &str, hard: &str, difference: i64) -> bool {
        difference != 0 && (self.value(soft) > -1 || self.value(hard) > -1)
    }
}

impl fmt::Display for Track {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={},{}={}", Self::COUNT, self.value(Self::COUNT), Self::BYTES, self.value(Self::BYTES))?;
        let mut others =
            self.0.iter().filter(|(key, _)| !matches!(&***key, Self::COUNT | Self::BYTES)).peekable();
        if others.peek().is_some() {
            // Lets the oldest clients stop reading here.
            f.write_str("=")?;
        }
        others.try_for_each(|(key, value)| write!(f, ";{key}={value}"))
    }
}

/// What one quota allows and what there is, as its two nodes say it; -1 is no limit, or not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaFigures<'t> {
    /// What is limited.
    pub path: &'t str,
    /// Nodes allowed: the hard limit, else the soft one.
    pub count_limit: i64,
    /// Bytes allowed: the hard limit, else the soft one.
    pub bytes_limit: i64,
    /// Nodes there are.
    pub count: i64,
    /// Bytes there are.
    pub bytes: i64,
}

impl Tree {
    /// All quotas.
    pub fn quotas(&self) -> impl Iterator<Item = QuotaFigures<'_>> {
        self.quotas.iter().map(|path| {
            let track = |kind| {
                let (slot, ..) = self.quota_node(path, kind)?;
                Track::parse(self.arena.node(slot).value.as_bytes())
            };
            let (limits, usage) = (track(LIMITS).unwrap_or_default(), track(STATS).unwrap_or_default());
            let limit = |hard, soft| match limits.value(hard) {
                none if none <= -1 => limits.value(soft),
                limit => limit,
            };
            QuotaFigures {
                path,
                count_limit: limit(Track::COUNT_HARD, Track::COUNT),
                bytes_limit: limit(Track::BYTES_HARD, Track::BYTES),
                count: usage.value(Track::COUNT),
                bytes: usage.value(Track::BYTES),
            }
        })
    }

    /// The deepest path under quota that is this path or above it.
    fn quota_above<'p>(&self, path: &'p str) -> Option<&'p str> {
        if self.quotas.is_empty() {
            return None;
        }
        let mut above = path;
        while !above.is_empty() {
            if self.quotas.contains(above) {
                return Some(above);
            }
            above = above.rsplit_once('/')?.0;
        }
        None
    }

    fn quota_node(&self, quota: &str, kind: &str) -> Option<(Slot, PathHash, String)> {
        let path = format!("{QUOTA}{quota}{kind}");
        let hash = PathHash::of(&path)?;
        Some((self.find(&path, hash)?, hash, path))
    }

    /// Refuses a write that brings a quota beyond a hard limit, or whose quota is not readable. Limits and usage
    /// are those before a running multi, as in ZooKeeper.
    pub(crate) fn check_quota(&self, path: &str, bytes: i64, count: i64) -> Result<(), ErrorCode> {
        let Some(quota) = self.quota_above(path) else { return Ok(()) };
        let Some((limits, ..)) = self.quota_node(quota, LIMITS) else { return Ok(()) };
        let read = |value: &Value| Track::parse(value.as_bytes()).ok_or(ErrorCode::MarshallingError);
        let Some(limits) = self.value_before(limits).map(read).transpose()? else { return Ok(()) };
        if !limits.limits(Track::COUNT, Track::COUNT_HARD, count)
            && !limits.limits(Track::BYTES, Track::BYTES_HARD, bytes)
        {
            return Ok(());
        }
        let Some((stats, ..)) = self.quota_node(quota, STATS) else { return Ok(()) };
        let Some(used) = self.value_before(stats).map(read).transpose()? else { return Ok(()) };
        let beyond = limits.is_beyond(Track::COUNT_HARD, used.value(Track::COUNT), count)
            || limits.is_beyond(Track::BYTES_HARD, used.value(Track::BYTES), bytes);
        if beyond { Err(ErrorCode::QuotaExceeded) } else { Ok(()) }
    }

    /// Brings the usage of the quota above a path up to date after a change there.
    pub(crate) fn count_for_quota(&mut self, path: &str, bytes: i64, count: i64) {
        let Some(quota) = self.quota_above(path) else { return };
        let Some((slot, hash, _)) = self.quota_node(quota, STATS) else { return };
        let Some(mut track) = Track::parse(self.arena.node(slot).value.as_bytes()) else { return };
        track.add(Track::COUNT, count);
        track.add(Track::BYTES, bytes);
        self.write_usage(slot, hash, &track);
    }

    /// Counts anew what lies below a path, when its stats node is created.
    pub(crate) fn recount_quota(&mut self, counted: &str) {
        let Some((slot, hash, _)) = self.quota_node(counted, STATS) else { return };
        let mut track = Track::default();
        let (mut count, mut bytes) = (0, 0);
        if let Some(top) = PathHash::of(counted).and_then(|hash| self.find(counted, hash)) {
            for below in core::iter::once(top).chain(self.descendants(top)) {
                count += 1;
                bytes += self.arena.node(below).value.len() as i64;
            }
        }
        track.0.insert(Box::from(Track::COUNT), count);
        track.0.insert(Box::from(Track::BYTES), bytes);
        self.write_usage(slot, hash, &track);
    }

    /// Only the data changes: no version, no time, no event.
    fn write_usage(&mut self, slot: Slot, hash: PathHash, track: &Track) {
        let text = format!("{track}");
        self.displace(slot);
        let before = self.term(slot, hash);
        let mtime = self.arena.node(slot).stat.mtime;
        self.replace_data(slot, mtime, |node| node.set_data(Some(text.as_bytes())));
        self.terms = self.terms.wrapping_sub(before).wrapping_add(self.term(slot, hash));
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn the_text_is_read_and_written_as_by_zookeeper() {
        for (text, again) in [
            ("", "count=-1,bytes=-1"),
            ("count=5,bytes=6", "count=5,bytes=6"),
            (
                "count=5,bytes=6=;countHardLimit=7;byteHardLimit=8",
                "count=5,bytes=6=;byteHardLimit=8;countHardLimit=7",
            ),
            ("bytes=1;;x=2", "count=-1,bytes=1=;x=2"),
            ("count==5", "count=-1,bytes=-1"),
            (";,", "count=-1,bytes=-1"),
        ] {
            assert_eq!(
                Track::parse(Some(text.as_bytes())).map(|track| track.to_string()).as_deref(),
                Some(again)
            );
        }
        for text in ["count", "count=", "count=x", "count=1,y", ";count=1"] {
            assert_eq!(Track::parse(Some(text.as_bytes())), None, "{text}");
        }
        assert_eq!(Track::parse(None), None);
    }

    #[test]
    fn a_limits_node_belongs_to_a_path() {
        assert_eq!(limited_path("/zookeeper/quota/a/b/zookeeper_limits"), Some("/a/b"));
        assert_eq!(limited_path("/zookeeper/quota/zookeeper_limits"), None);
        assert_eq!(limited_path("/a/zookeeper_limits"), None);
        assert_eq!(counted_path("/zookeeper/quota/a/zookeeper_stats"), Some("/a"));
    }
}
