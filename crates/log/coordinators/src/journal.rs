//! The durable table of a coordinator: what a replay of its partition gives, with the changes that are on their way.
//!
//! A change is in the table at once, and in an append that the caller has to make durable. What depends on it waits: every
//! effect that is emitted while an append is on its way is withheld until that append is durable. So no answer shows a change
//! that can still be lost, and reads need no second table. If an append is refused, the table goes back to what it was before.
//!
//! It knows no group and no transaction.

use std::collections::{BTreeMap, VecDeque};

use base::MonoTime;

use crate::Seq;

/// A record of the coordinator's compacted partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its key.
    pub key: Vec<u8>,
    /// Its value; nothing for a tombstone.
    pub value: Option<Vec<u8>>,
}

/// A key of the table, with the form of its record.
pub(crate) trait Key: Clone + Ord {
    type Value: Clone;
    fn encode(&self) -> Vec<u8>;
    fn encode_value(value: &Self::Value) -> Vec<u8>;
}

/// The table, its changes on their way, and the effects `E` that wait for them.
#[derive(Clone, Debug)]
pub(crate) struct Journal<K: Key, E> {
    table: BTreeMap<K, K::Value>,
    open: Vec<Record>,
    /// What each change in an append that is not durable replaced.
    undo: VecDeque<(Seq, K, Option<K::Value>)>,
    /// The appends on their way, with the time at which each was given away.
    in_flight: VecDeque<(Seq, MonoTime)>,
    last: Seq,
    withheld: VecDeque<(Seq, E)>,
}

impl<K: Key, E> Journal<K, E> {
    pub(crate) const fn new() -> Self {
        Self {
            table: BTreeMap::new(),
            open: Vec::new(),
            undo: VecDeque::new(),
            in_flight: VecDeque::new(),
            last: Seq(0),
            withheld: VecDeque::new(),
        }
    }

    /// Takes over a record that is durable.
    pub(crate) fn load(&mut self, key: K, value: Option<K::Value>) {
        replace(&mut self.table, key, value);
    }

    /// Changes the table, and puts the change into the append that is open.
    pub(crate) fn put(&mut self, key: K, value: Option<K::Value>) {
        self.open.push(Record { key: key.encode(), value: value.as_ref().map(K::encode_value) });
        let before = replace(&mut self.table, key.clone(), value);
        self.undo.push_back((Seq(self.last.0 + 1), key, before));
    }

    /// Closes the open append, if anything is in it.
    pub(crate) fn seal(&mut self, now: MonoTime) -> Option<(Seq, Vec<Record>)> {
        if self.open.is_empty() {
            return None;
        }
        self.last = Seq(self.last.0 + 1);
        self.in_flight.push_back((self.last, now));
        Some((self.last, std::mem::take(&mut self.open)))
    }

    /// Emits an effect that depends on the table: now, or when every append until now is durable.
    pub(crate) fn emit(&mut self, effect: E, effects: &mut Vec<E>) {
        // Not `last`: that append may have been refused while one before it is still on its way.
        match self.in_flight.back() {
            None => effects.push(effect),
            Some((seq, _)) => self.withheld.push_back((*seq, effect)),
        }
    }

    /// The append of this number, and all before it, are durable.
    pub(crate) fn persisted(&mut self, seq: Seq, effects: &mut Vec<E>) {
        while self.in_flight.pop_front_if(|(at, _)| *at <= seq).is_some() {}
        while self.undo.pop_front_if(|(at, ..)| *at <= seq).is_some() {}
        while let Some((_, effect)) = self.withheld.pop_front_if(|(at, _)| *at <= seq) {
            effects.push(effect);
        }
    }

    /// The append of this number, and all behind it, are refused. Gives the keys that went back, and the effects that will not
    /// happen.
    pub(crate) fn refused(&mut self, seq: Seq) -> (Vec<K>, Vec<E>) {
        assert!(self.open.is_empty(), "an append is refused between two calls, not within one");
        while self.in_flight.pop_back_if(|(at, _)| *at >= seq).is_some() {}
        let mut keys = Vec::new();
        while let Some((_, key, before)) = self.undo.pop_back_if(|(at, ..)| *at >= seq) {
            replace(&mut self.table, key.clone(), before);
            keys.push(key);
        }
        keys.sort();
        keys.dedup();
        let kept = self.withheld.partition_point(|(at, _)| *at < seq);
        let failed = self.withheld.split_off(kept).into_iter().map(|(_, effect)| effect).collect();
        (keys, failed)
    }

    pub(crate) const fn table(&self) -> &BTreeMap<K, K::Value> {
        &self.table
    }

    pub(crate) fn appends_in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Whether `seq` is on its way.
    pub(crate) fn expects(&self, seq: Seq) -> bool {
        self.in_flight.iter().any(|(at, _)| *at == seq)
    }

    /// Since when the oldest append is on its way.
    pub(crate) fn stuck_since(&self) -> Option<MonoTime> {
        self.in_flight.front().map(|(_, at)| *at)
    }

    /// All effects that wait for an append, which will not happen.
    pub(crate) fn abandon(&mut self) -> Vec<E> {
        self.withheld.drain(..).map(|(_, effect)| effect).collect()
    }
}

fn replace<K: Ord, V>(table: &mut BTreeMap<K, V>, key: K, value: Option<V>) -> Option<V> {
    match value {
        Some(value) => table.insert(key, value),
        None => table.remove(&key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Key for u8 {
        type Value = u8;
        fn encode(&self) -> Vec<u8> {
            vec![*self]
        }
        fn encode_value(value: &u8) -> Vec<u8> {
            vec![*value]
        }
    }

    fn seal(journal: &mut Journal<u8, &'static str>) -> Seq {
        journal.seal(MonoTime::ZERO).expect("something was put").0
    }

    #[test]
    fn effect_waits_for_every_append_before_it() {
        let (mut journal, mut effects) = (Journal::new(), Vec::new());
        journal.emit("at once", &mut effects);
        journal.put(1u8, Some(1));
        let first = seal(&mut journal);
        journal.emit("after the first", &mut effects);
        journal.put(2, Some(2));
        let second = seal(&mut journal);
        journal.emit("after the second", &mut effects);
        assert_eq!(effects, ["at once"]);
        journal.persisted(first, &mut effects);
        assert_eq!(effects, ["at once", "after the first"]);
        journal.persisted(second, &mut effects);
        assert_eq!(effects.len(), 3);
    }

    #[test]
    fn refused_append_takes_back_all_behind_it_and_nothing_before() {
        let (mut journal, mut effects) = (Journal::new(), Vec::new());
        journal.load(1u8, Some(1));
        journal.put(1, Some(2));
        let first = seal(&mut journal);
        journal.emit("first", &mut effects);
        journal.put(1, Some(3));
        journal.put(2, Some(9));
        let second = seal(&mut journal);
        journal.emit("second", &mut effects);
        journal.put(1, None);
        let third = seal(&mut journal);
        journal.emit("third", &mut effects);
        assert_eq!(journal.refused(second), (vec![1, 2], vec!["second", "third"]));
        assert_eq!(journal.table(), &BTreeMap::from([(1, 2)]));
        journal.persisted(first, &mut effects);
        assert_eq!(effects, ["first"]);
        journal.put(5, Some(5));
        assert!(seal(&mut journal) > third, "a number is not used twice");
    }

    #[test]
    fn effect_behind_a_refused_append_waits_only_for_what_is_still_on_its_way() {
        let (mut journal, mut effects) = (Journal::new(), Vec::new());
        journal.put(1u8, Some(1));
        let first = seal(&mut journal);
        journal.put(1, Some(2));
        let second = seal(&mut journal);
        journal.refused(second);
        journal.emit("after the first", &mut effects);
        assert!(effects.is_empty());
        journal.persisted(first, &mut effects);
        assert_eq!(effects, ["after the first"]);
    }
}
