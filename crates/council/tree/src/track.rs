//! The text of a quota's two nodes: `count=5,bytes=6=;countHardLimit=7;byteHardLimit=8`.
//!
//! Reads and writes it as ZooKeeper does, keys that it does not know included. Knows no node.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write as _};

/// The numbers of a quota text; one that is missing counts as -1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) count: i64,
    pub(crate) bytes: i64,
    pub(crate) count_hard: i64,
    pub(crate) bytes_hard: i64,
}

impl Figures {
    /// What a text without any key says.
    pub(crate) const NONE: Self = Self { count: -1, bytes: -1, count_hard: -1, bytes_hard: -1 };

    /// The number of nodes allowed: the hard limit, otherwise the soft one.
    pub(crate) const fn count_limit(self) -> i64 {
        if self.count_hard <= -1 { self.count } else { self.count_hard }
    }

    /// The number of bytes allowed: the hard limit, otherwise the soft one.
    pub(crate) const fn bytes_limit(self) -> i64 {
        if self.bytes_hard <= -1 { self.bytes } else { self.bytes_hard }
    }

    /// Whether these limits, soft or hard, say anything about such a difference of the usage.
    pub(crate) const fn limits(self, bytes: i64, count: i64) -> bool {
        (count != 0 && (self.count > -1 || self.count_hard > -1))
            || (bytes != 0 && (self.bytes > -1 || self.bytes_hard > -1))
    }

    /// Whether the usage and this difference are more than the hard limits allow.
    pub(crate) const fn forbids(self, used: Self, bytes: i64, count: i64) -> bool {
        is_beyond(self.count_hard, used.count, count) || is_beyond(self.bytes_hard, used.bytes, bytes)
    }

    const fn add(&mut self, bytes: i64, count: i64) {
        self.count = self.count.wrapping_add(count);
        self.bytes = self.bytes.wrapping_add(bytes);
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={},{}={}", Track::COUNT, self.count, Track::BYTES, self.bytes)
    }
}

/// A quota text, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Track {
    pub(crate) figures: Figures,
    /// All keys but `count` and `bytes`, written as they follow these two.
    others: Box<str>,
}

impl Track {
    const COUNT: &str = "count";
    const BYTES: &str = "bytes";
    const COUNT_HARD: &str = "countHardLimit";
    const BYTES_HARD: &str = "byteHardLimit";

    /// A usage and nothing else.
    pub(crate) fn of_usage(count: i64, bytes: i64) -> Self {
        Self { figures: Figures { count, bytes, ..Figures::NONE }, others: Box::from("") }
    }

    /// `None` when the text is none that ZooKeeper could read.
    pub(crate) fn parse(data: Option<&[u8]>) -> Option<Self> {
        let text = core::str::from_utf8(data?).ok()?;
        // Java's `split` drops empty parts at the end, but not one at the beginning.
        let text = text.trim_end_matches([',', ';']);
        if text.starts_with([',', ';']) {
            return None;
        }
        let (mut track, mut others) = (Self::of_usage(-1, -1), Vec::new());
        for pair in text.split([',', ';']).filter(|pair| !pair.is_empty()) {
            let (key, value) = pair_of(pair)?;
            match key {
                Self::COUNT => track.figures.count = value,
                Self::BYTES => track.figures.bytes = value,
                _ => others.push((key, value)),
            }
        }
        track.keep(others);
        Some(track)
    }

    /// Keeps the other keys in order, of each the last value.
    fn keep(&mut self, mut others: Vec<(&str, i64)>) {
        // A stable sort: of one key, the last value stays last.
        others.sort_by_key(|(key, _)| *key);
        let mut text = String::new();
        for (at, (key, value)) in others.iter().enumerate() {
            if others.get(at + 1).is_some_and(|(next, _)| next == key) {
                continue;
            }
            match *key {
                Self::COUNT_HARD => self.figures.count_hard = *value,
                Self::BYTES_HARD => self.figures.bytes_hard = *value,
                _ => {}
            }
            // The `=` lets the oldest clients stop reading here.
            text.push_str(if text.is_empty() { "=;" } else { ";" });
            // A string takes everything.
            let _ = write!(text, "{key}={value}");
        }
        self.others = text.into_boxed_str();
    }

    /// Counts a difference of the usage.
    pub(crate) const fn add(&mut self, bytes: i64, count: i64) {
        self.figures.add(bytes, count);
    }

    /// How long the text is once such a difference is counted.
    pub(crate) fn len_after(&self, bytes: i64, count: i64) -> usize {
        let mut figures = self.figures;
        figures.add(bytes, count);
        format!("{figures}").len() + self.others.len()
    }
}

impl fmt::Display for Track {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.figures, self.others)
    }
}

/// A key and its number; what stands behind a second `=` does not count.
fn pair_of(pair: &str) -> Option<(&str, i64)> {
    let (key, rest) = pair.trim_end_matches('=').split_once('=')?;
    let value = rest.split('=').next().unwrap_or_default();
    Some((key, if value.is_empty() { -1 } else { value.parse().ok()? }))
}

const fn is_beyond(limit: i64, now: i64, difference: i64) -> bool {
    difference != 0 && limit > -1 && now.wrapping_add(difference) > limit
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn a_quota_text_is_read_and_written_as_by_zookeeper() {
        for (text, again) in [
            ("", "count=-1,bytes=-1"),
            ("count=5,bytes=6", "count=5,bytes=6"),
            (
                "count=5,bytes=6=;countHardLimit=7;byteHardLimit=8",
                "count=5,bytes=6=;byteHardLimit=8;countHardLimit=7",
            ),
            ("bytes=1;;x=2", "count=-1,bytes=1=;x=2"),
            ("b=1;a=2;b=3,count=1;a=4;count=9", "count=9,bytes=-1=;a=4;b=3"),
            ("count==5", "count=-1,bytes=-1"),
            (";,", "count=-1,bytes=-1"),
        ] {
            let track = Track::parse(Some(text.as_bytes()));
            assert_eq!(track.map(|track| track.to_string()).as_deref(), Some(again));
        }
        for text in ["count", "count=", "count=x", "count=1,y", ";count=1", "x=1;=;y=2"] {
            assert_eq!(Track::parse(Some(text.as_bytes())), None, "{text}");
        }
        assert_eq!(Track::parse(None), None);
    }

    #[test]
    fn a_quota_text_with_a_difference_keeps_its_other_keys() {
        let mut track = Track::parse(Some(b"z=1;bytes=9;countHardLimit=4")).expect("it can be read");
        assert_eq!((track.figures.count_limit(), track.figures.bytes_limit()), (4, 9));
        let length = track.len_after(1, 2);
        track.add(1, 2);
        assert_eq!(track.to_string(), "count=1,bytes=10=;countHardLimit=4;z=1");
        assert_eq!(track.to_string().len(), length);
    }
}
