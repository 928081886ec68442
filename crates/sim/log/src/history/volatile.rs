//! Topics with `diwan.durability=replicated`: a failure of the power may take the end of a log, which was acknowledged before it
//! was flushed. What is left is what stood before some offset, whole (L3); and what was acknowledged longer than `flush.ms` ago
//! is left (L2).

use std::collections::BTreeMap;

use super::{Content, Fate, History, Place, Stood, Value};

/// What was known of a partition when the power failed.
#[derive(Debug)]
struct Life {
    place: Place,
    failed_ms: u64,
    /// Values, and for how long they were known while the broker could flush them.
    records: BTreeMap<i64, (Value, u64)>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Volatile {
    /// Topics, with the time after which they are flushed.
    topics: BTreeMap<[u8; 16], u64>,
    /// For how long the broker could have flushed what it had to, in the whole run, milliseconds: its process ran, and its disk
    /// took what it wrote.
    able_ms: u64,
    /// What that was when a record became known.
    known_at: BTreeMap<(Place, i64), u64>,
    lives: Vec<Life>,
    failures: u64,
}

/// How much longer a flush may take, milliseconds.
const LATE_MS: u64 = 700;

impl History {
    /// A topic of that id is volatile.
    pub(crate) fn topic_is_volatile(&mut self, topic: [u8; 16], flush_ms: u64) {
        self.volatile.topics.insert(topic, flush_ms);
    }

    /// Whether the power may take the end of its log.
    pub(crate) fn is_volatile(&self, place: Place) -> bool {
        self.volatile.topics.contains_key(&place.topic)
    }

    /// How often the power has failed.
    pub(crate) const fn power_failures(&self) -> u64 {
        self.volatile.failures
    }

    /// It is that time. Whether the broker could flush since the time before is said with it.
    pub(crate) const fn passes(&mut self, now_ms: u64, could_flush: bool) {
        if could_flush {
            self.volatile.able_ms += now_ms - self.now_ms;
        }
        self.now_ms = now_ms;
    }

    pub(super) fn known_now(&mut self, place: Place, offset: i64) {
        if self.is_volatile(place) {
            let able_ms = self.volatile.able_ms;
            self.volatile.known_at.entry((place, offset)).or_insert(able_ms);
        }
    }

    /// The power fails, and what was not flushed may be lost.
    pub(crate) fn power_failed(&mut self) {
        self.volatile.failures += 1;
        let mut lives = BTreeMap::<Place, BTreeMap<i64, (Value, u64)>>::new();
        let able_ms = self.volatile.able_ms;
        for ((place, offset), known_at) in std::mem::take(&mut self.volatile.known_at) {
            let Some(value) = self.known.remove(&(place, offset)) else { continue };
            lives.entry(place).or_default().insert(offset, (value, able_ms - known_at));
            self.known_ends.remove(&place);
            if let Some(write) = self.writes.get_mut(&value) {
                write.fate = Fate::Open;
            }
        }
        let failed_ms = self.now_ms;
        let lives = lives.into_iter().map(|(place, records)| Life { place, failed_ms, records });
        self.volatile.lives.extend(lives);
    }

    /// The log of a volatile partition holds of what was known at each failure what stood before some offset.
    pub(super) fn judge_lives(&mut self, place: Place, log: &[Stood]) {
        let Some(flush_ms) = self.volatile.topics.get(&place.topic).copied() else { return };
        let value_of = |stood: &Stood| match stood.what {
            Content::Value(value) => Some((stood.offset, value)),
            Content::Marker(_) => None,
        };
        let found: BTreeMap<i64, Value> = log.iter().filter_map(value_of).collect();
        for life in std::mem::take(&mut self.volatile.lives) {
            if life.place == place {
                self.judge_life(&life, &found, flush_ms);
            } else {
                self.volatile.lives.push(life);
            }
        }
    }

    fn judge_life(&mut self, life: &Life, found: &BTreeMap<i64, Value>, flush_ms: u64) {
        let mut lost_from = None;
        for (offset, (value, known_ms)) in &life.records {
            self.judge(3);
            let is_there = found.get(offset) == Some(value);
            if is_there && let Some(lost) = lost_from {
                let place = life.place;
                self.wrong(3, format!("{offset} of {place:?} is there, and {lost} before it is lost"));
            }
            if is_there || lost_from.is_some() {
                continue;
            }
            lost_from = Some(*offset);
            self.judge(2);
            if *known_ms > flush_ms + LATE_MS {
                let (place, failed_ms) = (life.place, life.failed_ms);
                let text = format!(
                    "{offset} of {place:?} was lost at {failed_ms}, {known_ms} ms after it was known"
                );
                self.wrong(2, text);
            }
        }
    }
}
