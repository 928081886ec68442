//! What makes a queue of a topic beyond share groups as Kafka 4.3 has them: dead letters (KIP-1191), times to live, delays, and
//! weights of topics.

use crate::group::GroupLayers;
use crate::layers::{Overrides, Values};

/// What a share group sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueGroupConfig {
    /// `errors.deadletterqueue.topic.name`; nothing if the group has no dead-letter topic.
    pub dead_letter_topic: Option<String>,
    /// `errors.deadletterqueue.copy.record.enable`.
    pub copies_records: bool,
    /// `diwan.share.topic.weights`: each at least 1. What is none is left out.
    pub topic_weights: Vec<(String, u32)>,
}

impl QueueGroupConfig {
    /// What is in force for a group.
    #[must_use]
    pub fn of(layers: &GroupLayers<'_>) -> Self {
        let text = |name: &str| layers.text(name).unwrap_or_default();
        let topic = text("errors.deadletterqueue.topic.name").trim().to_owned();
        Self {
            dead_letter_topic: (!topic.is_empty()).then_some(topic),
            copies_records: layers.is_true("errors.deadletterqueue.copy.record.enable"),
            topic_weights: weights(&text("diwan.share.topic.weights")),
        }
    }
}

/// What a topic sets for share groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueTopicConfig {
    /// `diwan.message.ttl.ms`; nothing for ever.
    pub ttl_ms: Option<i64>,
    /// `diwan.delay.ms`.
    pub delay_ms: i64,
    /// `diwan.queue.headers.enable`.
    pub reads_headers: bool,
}

impl QueueTopicConfig {
    /// What a topic sets. What cannot be read is as if it were not set.
    #[must_use]
    pub fn of(settings: &Overrides) -> Self {
        let whole = |name: &str| settings.get(name).and_then(|raw| raw.trim().parse::<i64>().ok());
        Self {
            ttl_ms: whole("diwan.message.ttl.ms").filter(|ms| *ms >= 0),
            delay_ms: whole("diwan.delay.ms").unwrap_or(0).max(0),
            reads_headers: is_true(settings, "diwan.queue.headers.enable"),
        }
    }

    /// Whether records have to be read to know when they are delivered.
    #[must_use]
    pub const fn reads_records(&self) -> bool {
        self.reads_headers || self.ttl_ms.is_some() || self.delay_ms > 0
    }
}

/// `errors.deadletterqueue.group.enable`: whether share groups may write dead letters to a topic that sets this.
#[must_use]
pub fn takes_dead_letters(settings: &Overrides) -> bool {
    is_true(settings, "errors.deadletterqueue.group.enable")
}

fn is_true(settings: &Overrides, name: &str) -> bool {
    settings.get(name).is_some_and(|raw| raw.trim().eq_ignore_ascii_case("true"))
}

/// Reads `TOPIC:WEIGHT` with commas between.
fn weights(text: &str) -> Vec<(String, u32)> {
    let weight = |element: &str| {
        let (topic, weight) = element.trim().rsplit_once(':')?;
        let weight = weight.trim().parse().ok().filter(|weight| (1..=WEIGHT_MAX).contains(weight))?;
        Some((topic.trim().to_owned(), weight))
    };
    text.split(',').filter_map(weight).collect()
}

/// The highest weight of a topic.
const WEIGHT_MAX: u32 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_read_and_what_is_none_is_left_out() {
        let read = weights("high:9, low:1,, none, zero:0, negative:-1, large:1001, a:b:2");
        assert_eq!(read, [("high".into(), 9), ("low".into(), 1), ("a:b".into(), 2)]);
    }

    #[test]
    fn settings_of_topics_that_cannot_be_read_hold_nothing_back() {
        let of = |settings: &[(&str, &str)]| {
            let settings = settings.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            QueueTopicConfig::of(&settings.collect())
        };
        assert_eq!(of(&[]), QueueTopicConfig::default());
        assert!(!of(&[("diwan.message.ttl.ms", "-1"), ("diwan.delay.ms", "-5")]).reads_records());
        assert!(!of(&[("diwan.message.ttl.ms", "99999999999999999999")]).reads_records());
        assert_eq!(of(&[("diwan.message.ttl.ms", "0")]).ttl_ms, Some(0));
        assert!(of(&[("diwan.queue.headers.enable", "true")]).reads_records());
    }
}
