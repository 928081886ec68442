//! What clients asked, what they were told, and what they saw. The rules are judged here. Every record has a value of its own,
//! so that what is seen names the write that it came from.

mod groups;
mod offsets;
mod retention;
mod shares;
mod transactions;
mod volatile;

use std::collections::{BTreeMap, BTreeSet};

use sim_kit::Judged;

use groups::Groups;
pub(crate) use groups::{Holder, Identity, Synced};
use offsets::Offsets;
pub(crate) use offsets::Register;
pub(crate) use retention::{RETENTION_CHECK_MS, Retention};
use shares::Shares;
pub(crate) use shares::{DELIVERIES_MAX, LOCK_MS, Taking};
pub(crate) use transactions::TransactionId;
use transactions::Transactions;
use volatile::Volatile;

/// A record's value.
pub(crate) type Value = u64;

/// How many keys a producer uses: few, which compaction thins out soon, or more than its smallest map holds.
const KEYS: [Value; 2] = [7, 97];

/// The key of the record of a value: compaction keeps the newest value of each key.
pub(crate) fn key_of(value: Value) -> String {
    let producer = value >> 32;
    format!("{producer}-{}", value % KEYS[(producer % 2) as usize])
}

/// A partition of a topic, by the topic's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) topic: [u8; 16],
    pub(crate) partition: i32,
}

/// What a producer knows of a record that it sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It may or may not be in the log, as often as it was sent.
    Open,
    /// It is at that offset.
    Acked(i64),
    /// It is not in the log.
    Refused,
}

/// A record that is about to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct New {
    pub(crate) value: Value,
    pub(crate) timestamp_ms: i64,
    /// It says that its key is gone.
    pub(crate) is_tombstone: bool,
}

/// A record that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) place: Place,
    pub(crate) producer: u32,
    pub(crate) is_idempotent: bool,
    /// It was sent to the topic of that id, not to that of a name.
    pub(crate) is_by_id: bool,
    /// How often it was sent.
    pub(crate) attempts: u32,
    pub(crate) fate: Fate,
    pub(crate) transaction: Option<TransactionId>,
    pub(crate) timestamp_ms: i64,
    pub(crate) is_tombstone: bool,
}

/// What stands at an offset, as the last reader found it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stood {
    pub(crate) offset: i64,
    pub(crate) timestamp_ms: i64,
    pub(crate) producer: (i64, i16),
    pub(crate) what: Content,
}

/// See [`Stood`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Value(Value),
    /// The end of a transaction, which is a commit or not.
    Marker(bool),
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct History {
    writes: BTreeMap<Value, Write>,
    /// What stands where, as somebody has been told or has seen.
    known: BTreeMap<(Place, i64), Value>,
    /// The topics that there were, and whether each is there.
    topics: BTreeMap<[u8; 16], bool>,
    wrongs: Vec<String>,
    judged: BTreeMap<u32, u64>,
    acked: u64,
    known_ends: BTreeMap<Place, i64>,
    producer_ids: BTreeSet<(i64, i16)>,
    transactions: Transactions,
    groups: Groups,
    offsets: Offsets,
    volatile: Volatile,
    shares: Shares,
    /// The time, and when a record was sent last.
    pub(crate) now_ms: u64,
    pub(crate) sent_ms: u64,
    /// When a client gave a transaction up last: it may be open until its time runs out.
    pub(crate) gave_up_ms: Option<u64>,
    /// Before which offset records may be gone, and before which they must be.
    trims: BTreeMap<Place, (i64, i64)>,
    /// Before which offset a client asked that records go.
    trims_asked: BTreeMap<Place, i64>,
    retentions: BTreeMap<[u8; 16], Retention>,
    /// Whether `delete.retention.ms` is over in a run.
    pub(crate) may_lose_tombstones: bool,
    /// No client is given this epoch or a higher one (L47).
    epoch_max: i16,
}

impl History {
    /// Of one broker or of several, which keep that epoch of a producer id for themselves.
    pub(crate) fn new(epoch_max: i16, is_alone: bool) -> Self {
        Self { epoch_max, shares: Shares::new(is_alone), ..Self::default() }
    }

    /// Records before that offset are to be deleted.
    fn trim_asked(&mut self, place: Place, offset: i64) {
        let asked = &mut self.trims.entry(place).or_default().0;
        *asked = offset.max(*asked);
    }

    /// Records before that offset are deleted: nobody may read them again (L69).
    pub(crate) fn trimmed(&mut self, place: Place, low: i64) {
        self.acked += 1;
        self.client_trims(place, low);
        let trimmed = &mut self.trims.entry(place).or_default().1;
        *trimmed = low.max(*trimmed);
    }

    /// A client asks that records before that offset go.
    pub(crate) fn client_trims(&mut self, place: Place, offset: i64) {
        let asked = self.trims_asked.entry(place).or_default();
        *asked = offset.max(*asked);
        self.trim_asked(place, offset);
    }

    /// Before which offset records may be gone, and before which they must be.
    pub(crate) fn trims(&self, place: Place) -> (i64, i64) {
        self.trims.get(&place).copied().unwrap_or_default()
    }

    /// A record is sent for the first time.
    pub(crate) fn sent(
        &mut self,
        New { value, timestamp_ms, is_tombstone }: New,
        place: Place,
        producer: u32,
        (is_idempotent, is_by_id): (bool, bool),
        transaction: Option<TransactionId>,
    ) {
        self.sent_ms = self.now_ms;
        let (attempts, fate) = (1, Fate::Open);
        let write = Write {
            place,
            producer,
            is_idempotent,
            is_by_id,
            attempts,
            fate,
            transaction,
            timestamp_ms,
            is_tombstone,
        };
        self.writes.insert(value, write);
    }

    /// It is sent once more.
    pub(crate) fn sent_again(&mut self, value: Value) {
        self.sent_ms = self.now_ms;
        if let Some(write) = self.writes.get_mut(&value) {
            write.attempts += 1;
            if write.fate == Fate::Refused {
                write.fate = Fate::Open;
            }
        }
    }

    /// A batch was acknowledged: its first record stands at that offset.
    pub(crate) fn acked(&mut self, values: &[Value], base: i64) {
        for (offset, value) in (base..).zip(values) {
            let Some(write) = self.writes.get_mut(value) else { continue };
            let place = write.place;
            if let Fate::Acked(before) = write.fate
                && before != offset
            {
                self.wrong(17, format!("{value} was acknowledged at {before} and at {offset} of {place:?}"));
            }
            if let Some(write) = self.writes.get_mut(value) {
                write.fate = Fate::Acked(offset);
            }
            self.judge(1);
            self.stands(place, offset, *value);
        }
        self.acked += 1;
    }

    /// How often a client was told that something is done.
    pub(crate) const fn acked_count(&self) -> u64 {
        self.acked
    }

    /// A producer was given an id and epoch (L22).
    pub(crate) fn new_producer_id(&mut self, id: (i64, i16)) {
        self.judge(22);
        if !self.producer_ids.insert(id) {
            self.wrong(22, format!("{id:?} was given twice"));
        }
        if id.1 >= self.epoch_max {
            self.wrong(47, format!("{id:?} was given, and the last epoch is {}", self.epoch_max));
        }
    }

    /// A batch was refused for certain: none of it is in the log, if it was sent once.
    pub(crate) fn refused(&mut self, values: &[Value]) {
        for value in values {
            if let Some(write) = self.writes.get_mut(value).filter(|write| write.attempts == 1) {
                write.fate = Fate::Refused;
            }
        }
    }

    /// A topic was seen to be there.
    pub(crate) fn topic_is_there(&mut self, id: [u8; 16]) {
        self.topics.entry(id).or_insert(true);
    }

    /// A topic may be gone from now on.
    pub(crate) fn topic_may_go(&mut self, id: [u8; 16]) {
        self.topics.insert(id, false);
    }

    /// Whether a topic of that id may have been made just now: none that was asked to go.
    pub(crate) fn may_be_new(&self, id: &[u8; 16]) -> bool {
        self.topics.get(id).copied().unwrap_or(true)
    }

    /// Whether the topic must be there.
    pub(crate) fn must_be_there(&self, id: &[u8; 16]) -> bool {
        self.topics.get(id).copied().unwrap_or(false)
    }

    /// A consumer was given a record.
    pub(crate) fn seen(&mut self, place: Place, offset: i64, value: Option<Value>, timestamp_ms: i64) {
        self.judge(5);
        let write = value.and_then(|value| Some((value, *self.writes.get(&value)?)));
        let Some((value, write)) = write else {
            return self
                .wrong(9, format!("offset {offset} of {place:?} holds {value:?}, which nobody has sent"));
        };
        if write.place != place && write.is_by_id {
            self.wrong(73, format!("{value} of {:?} was given from {place:?}", write.place));
        }
        self.judge(9);
        if write.timestamp_ms != timestamp_ms {
            let sent_ms = write.timestamp_ms;
            self.wrong(9, format!("{value} was sent with time {sent_ms}, and has {timestamp_ms}"));
        }
        self.judge(6);
        if write.fate == Fate::Refused {
            self.wrong(6, format!("{value} was refused, and is at offset {offset} of {place:?}"));
        }
        self.stands(place, offset, value);
    }

    /// Whoever reads an offset reads the same, always.
    pub(crate) fn stands(&mut self, place: Place, offset: i64, value: Value) {
        self.judge(7);
        self.known_now(place, offset);
        let end = self.known_ends.entry(place).or_default();
        *end = (*end).max(offset + 1);
        let known = *self.known.entry((place, offset)).or_insert(value);
        if known != value {
            self.wrong(7, format!("offset {offset} of {place:?} held {known}, and holds {value}"));
        }
    }

    /// Something is wrong.
    pub(crate) fn wrong(&mut self, rule: u32, what: String) {
        self.wrongs.push(format!("rule {rule} ({}): {what}", name_of(rule)));
    }

    /// A rule was looked at.
    pub(crate) fn judge(&mut self, rule: u32) {
        *self.judged.entry(rule).or_default() += 1;
    }

    /// A partition was read from its beginning to its end when all was well again.
    /// Of a compacted one older records of a key may be missing. Gives how many of those that were known are.
    pub(crate) fn judge_partition(
        &mut self,
        place: Place,
        end: i64,
        log: &[Stood],
        (is_compacted, bytes): (bool, i64),
    ) -> u64 {
        let value_of = |stood: &Stood| match stood.what {
            Content::Value(value) => Some((stood.offset, value)),
            Content::Marker(_) => None,
        };
        let records: Vec<(i64, Value)> = log.iter().filter_map(value_of).collect();
        let missing = self.judge_known(place, &records, is_compacted);
        if !is_compacted {
            self.judge_dense(place, end, log);
        }
        self.judge_producers(place, &records);
        self.judge_transactions(place, log);
        self.judge_retention(place, log, bytes);
        self.judge_lives(place, log);
        missing
    }

    /// L1, L5: what was acknowledged or seen is there, or a newer record of its key if the log is compacted.
    fn judge_known(&mut self, place: Place, records: &[(i64, Value)], is_compacted: bool) -> u64 {
        let found: BTreeMap<i64, Value> = records.iter().copied().collect();
        // What was aborted takes no value's place.
        let counts = records.iter().filter(|(_, value)| !self.is_aborted(*value));
        let mut newest: BTreeMap<String, i64> =
            counts.map(|(offset, value)| (key_of(*value), *offset)).collect();
        let mut missing = 0;
        let of_place = (place, self.trims(place).0)..=(place, i64::MAX);
        let known: Vec<(i64, Value)> =
            self.known.range(of_place).map(|((_, offset), value)| (*offset, *value)).collect();
        if is_compacted {
            self.judge_tombstones(place, &found, &known, &mut newest);
        }
        let unseen = if is_compacted { self.unseen_tombstones(place) } else { BTreeMap::new() };
        for (offset, value) in known {
            self.judge(1);
            let key = key_of(value);
            let is_replaced = newest.get(&key).is_some_and(|newest| *newest > offset)
                || unseen.get(&key).is_some_and(|newest| *newest > value);
            let may_miss = is_compacted && (is_replaced || !self.is_committed(value));
            if may_miss && !found.contains_key(&offset) {
                missing += 1;
            } else if found.get(&offset) != Some(&value) {
                let there = found.get(&offset);
                self.wrong(1, format!("offset {offset} of {place:?} held {value}, and holds {there:?}"));
            }
        }
        missing
    }

    /// For each key the newest record without a value of which nobody was told whether it is in the log, if such records may go by
    /// themselves: it may have been there, taken the place of older ones, and gone before anybody saw it.
    fn unseen_tombstones(&self, place: Place) -> BTreeMap<String, Value> {
        let may_have_been = |(value, write): &(&Value, &Write)| {
            let is_unseen = write.is_tombstone && write.fate == Fate::Open && !self.is_aborted(**value);
            is_unseen && write.place == place && self.may_lose_tombstones
        };
        self.writes.iter().filter(may_have_been).map(|(value, _)| (key_of(*value), *value)).collect()
    }

    /// L62: what says that a key is gone may go itself when `delete.retention.ms` is over, once no older record of it is left. It
    /// takes their places still.
    fn judge_tombstones(
        &mut self,
        place: Place,
        found: &BTreeMap<i64, Value>,
        known: &[(i64, Value)],
        newest: &mut BTreeMap<String, i64>,
    ) {
        let is_tombstone = |value: &Value| self.writes.get(value).is_some_and(|write| write.is_tombstone);
        let is_gone =
            |of: &&(i64, Value)| is_tombstone(&of.1) && self.is_committed(of.1) && !found.contains_key(&of.0);
        let gone: Vec<(i64, Value)> = known.iter().filter(is_gone).copied().collect();
        for (offset, value) in gone {
            let key = key_of(value);
            if newest.get(&key).is_some_and(|newest| *newest > offset) {
                continue;
            }
            self.judge(62);
            let mut older =
                found.iter().filter(|(_, other)| !self.is_aborted(**other) && key_of(**other) == key);
            let older = older.next().map(|(offset, value)| (*offset, *value));
            if let Some(older) = older {
                self.wrong(62, format!("{value} at {offset} of {place:?} is gone, and {older:?} is there"));
            }
            if !self.may_lose_tombstones {
                self.wrong(62, format!("{value} at {offset} of {place:?} is gone before its time"));
            }
            newest.insert(key, offset + 1);
        }
    }

    /// L8: every offset is that of one record or marker.
    fn judge_dense(&mut self, place: Place, end: i64, log: &[Stood]) {
        self.judge(8);
        let offsets: Vec<i64> = log.iter().map(|stood| stood.offset).collect();
        let trimmed = self.trims(place).0;
        let start = offsets.first().copied().unwrap_or(end).min(trimmed);
        if offsets != (start..end).collect::<Vec<_>>() {
            self.wrong(8, format!("{place:?} ends at {end}, and has the offsets {offsets:?}"));
        }
    }

    /// L12, L16: an idempotent producer's records are there once and in its order; others' no more often than they were sent.
    fn judge_producers(&mut self, place: Place, records: &[(i64, Value)]) {
        let mut last = BTreeMap::<u32, Value>::new();
        let mut times = BTreeMap::<Value, u32>::new();
        for (offset, value) in records {
            let Some(write) = self.writes.get(value).copied() else { continue };
            let count = times.entry(*value).or_default();
            *count += 1;
            let most = if write.is_idempotent { 1 } else { write.attempts };
            let count = *count;
            self.judge(16);
            if count > most {
                let attempts = write.attempts;
                self.wrong(
                    16,
                    format!(
                        "{value} is there {count} times ({offset} of {place:?}); it was sent {attempts} times"
                    ),
                );
            }
            // By its name a late batch may have found a topic that was made anew.
            if write.is_idempotent && write.place == place {
                self.judge(12);
                let before = last.insert(write.producer, *value);
                if before.is_some_and(|before| before >= *value) {
                    self.wrong(12, format!("{value} is behind {before:?} at offset {offset} of {place:?}"));
                }
            }
        }
    }

    /// The offset behind the last record of a partition that was acknowledged or seen.
    pub(crate) fn known_end(&self, place: Place) -> i64 {
        self.known_ends.get(&place).copied().unwrap_or(0)
    }

    pub(crate) fn take_wrongs(&mut self) -> Vec<String> {
        std::mem::take(&mut self.wrongs)
    }

    pub(crate) fn has_wrongs(&self) -> bool {
        !self.wrongs.is_empty()
    }

    pub(crate) fn judged(&self) -> BTreeMap<u32, Judged> {
        self.judged.iter().map(|(rule, cases)| (*rule, Judged::from([("cases", *cases)]))).collect()
    }
}

#[expect(clippy::too_many_lines, reason = "one line for each rule")]
fn name_of(rule: u32) -> &'static str {
    match rule {
        1 => "acknowledged survives",
        2 => "acknowledged means disk",
        3 => "power loss",
        5 => "seen is kept",
        6 => "definite errors",
        7 => "contents never change",
        8 => "dense offsets",
        9 => "agreement",
        10 => "high watermark",
        11 => "bounds of a read",
        12 => "order of a producer",
        13 => "whole batches",
        14 => "no skips",
        16 => "once",
        17 => "duplicate",
        18 => "gap or overlap",
        22 => "producer ids",
        23 => "one leader for each epoch",
        30 => "committed is on enough disks",
        33 => "lost disk",
        35 => "unclean leaders",
        36 => "liveness",
        37 => "all or nothing",
        38 => "last stable offset",
        40 => "one decision",
        41 => "end of a transaction",
        42 => "zombie",
        43 => "late records",
        45 => "offsets in a transaction",
        47 => "exhaustion",
        48 => "one owner",
        49 => "generations rise",
        50 => "fenced commits",
        51 => "offsets are registers",
        52 => "no early expulsion",
        53 => "progress of groups",
        54 => "static members",
        62 => "last value",
        71 => "offsets by time",
        68 => "start is monotone",
        69 => "deleted records",
        72 => "moves",
        44 => "no hanging",
        73 => "identity",
        75 => "disk errors",
        78 => "recovery",
        79 => "replies in order",
        _ => "a rule",
    }
}
