//! The partitions of a fetch, or of a fetch session, and a queue of those that may have something new.
//!
//! A partition that has nothing to tell leaves the queue, and comes back when something happens to it or when its client
//! asks for something else of it. So an answer costs what it holds, not what the session has.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use log_wire::{FetchPartition, TopicName};

use super::part::Part;
use crate::response::TopicKey;

/// The place of a partition in its set.
pub(crate) type PartPlace = u32;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct FetchSet {
    parts: Vec<Option<Part>>,
    free: Vec<PartPlace>,
    count: usize,
    by_name: BTreeMap<Arc<str>, BTreeMap<i32, PartPlace>>,
    by_id: BTreeMap<[u8; 16], BTreeMap<i32, PartPlace>>,
    queue: VecDeque<PartPlace>,
}

impl FetchSet {
    /// Adds a partition, or takes over what is wanted of it from now on.
    pub(crate) fn want(&mut self, wanted: &FetchPartition<'_>) {
        let place = self.find(wanted.topic, wanted.partition).unwrap_or_else(|| self.add(wanted));
        if let Some(part) = self.get_mut(place) {
            part.want(wanted);
        }
        self.enqueue(place);
    }

    /// Removes a partition.
    pub(crate) fn forget(&mut self, topic: TopicName<'_>, index: i32) -> Option<(PartPlace, Part)> {
        let place = match topic {
            TopicName::Name(name) => {
                let of_topic = self.by_name.get_mut(name)?;
                let place = of_topic.remove(&index);
                if of_topic.is_empty() {
                    self.by_name.remove(name);
                }
                place?
            }
            TopicName::Id(id) => {
                let of_topic = self.by_id.get_mut(&id)?;
                let place = of_topic.remove(&index);
                if of_topic.is_empty() {
                    self.by_id.remove(&id);
                }
                place?
            }
        };
        let part = self.parts.get_mut(place as usize)?.take()?;
        if part.is_queued {
            self.queue.retain(|queued| *queued != place);
        }
        self.free.push(place);
        self.count -= 1;
        Some((place, part))
    }

    /// Something happened to a partition: it may have something new.
    pub(crate) fn enqueue(&mut self, place: PartPlace) {
        if let Some(part) = self.get_mut(place).filter(|part| !part.is_queued) {
            part.is_queued = true;
            self.queue.push_back(place);
        }
    }

    /// It has nothing new.
    pub(crate) fn dequeue(&mut self, idle: &[PartPlace]) {
        for place in idle {
            if let Some(part) = self.get_mut(*place) {
                part.is_queued = false;
            }
        }
        if !idle.is_empty() {
            let parts = &self.parts;
            let is_queued = |place: PartPlace| {
                let part = parts.get(place as usize).and_then(Option::as_ref);
                part.is_some_and(|part| part.is_queued)
            };
            self.queue.retain(|place| is_queued(*place));
        }
    }

    /// It was served: others have their turn before it.
    pub(crate) fn move_behind(&mut self, served: &[PartPlace]) {
        self.dequeue(served);
        served.iter().for_each(|place| self.enqueue(*place));
    }

    pub(crate) fn get_mut(&mut self, place: PartPlace) -> Option<&mut Part> {
        self.parts.get_mut(place as usize).and_then(Option::as_mut)
    }

    pub(crate) fn get(&self, place: PartPlace) -> Option<&Part> {
        self.parts.get(place as usize).and_then(Option::as_ref)
    }

    /// Those that may have something new, in their turn.
    pub(crate) fn queued(&self) -> impl Iterator<Item = (PartPlace, &Part)> {
        self.queue.iter().filter_map(|place| Some((*place, self.get(*place)?)))
    }

    /// All of them. If none was removed, in the order in which they were added.
    pub(crate) fn all(&self) -> impl Iterator<Item = (PartPlace, &Part)> {
        (0..).zip(&self.parts).filter_map(|(place, part)| Some((place, part.as_ref()?)))
    }

    /// How many there are.
    pub(crate) const fn len(&self) -> usize {
        self.count
    }

    fn find(&self, topic: TopicName<'_>, index: i32) -> Option<PartPlace> {
        let of_topic = match topic {
            TopicName::Name(name) => self.by_name.get(name),
            TopicName::Id(id) => self.by_id.get(&id),
        };
        of_topic?.get(&index).copied()
    }

    fn add(&mut self, wanted: &FetchPartition<'_>) -> PartPlace {
        let place = self.free.pop().unwrap_or_else(|| {
            self.parts.push(None);
            self.parts.len() as PartPlace - 1
        });
        let topic = self.key(wanted.topic);
        let of_topic = match &topic {
            TopicKey::Name(name) => self.by_name.entry(Arc::clone(name)).or_default(),
            TopicKey::Id(id) => self.by_id.entry(*id).or_default(),
        };
        of_topic.insert(wanted.partition, place);
        if let Some(free) = self.parts.get_mut(place as usize) {
            *free = Some(Part::new(topic, wanted));
        }
        self.count += 1;
        place
    }

    /// The key of a topic. The name of one that is known is not kept twice.
    fn key(&self, topic: TopicName<'_>) -> TopicKey {
        match topic {
            TopicName::Name(name) => match self.by_name.get_key_value(name) {
                Some((known, _)) => TopicKey::Name(Arc::clone(known)),
                None => TopicKey::of(topic),
            },
            TopicName::Id(_) => TopicKey::of(topic),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(topic: &str, partition: i32, offset: i64) -> FetchPartition<'_> {
        FetchPartition {
            topic: TopicName::Name(topic),
            partition,
            current_leader_epoch: -1,
            offset,
            last_fetched_epoch: -1,
            max_bytes: 100,
        }
    }

    fn queued(set: &FetchSet) -> Vec<i32> {
        set.queued().map(|(_, part)| part.index).collect()
    }

    #[test]
    fn partition_is_in_the_set_once_and_served_ones_go_behind() {
        let mut set = FetchSet::default();
        [0, 1, 2].iter().for_each(|index| set.want(&wanted("a", *index, 0)));
        set.want(&wanted("a", 1, 7));
        assert_eq!((queued(&set), set.len()), (vec![0, 1, 2], 3));
        set.move_behind(&[0]);
        assert_eq!(queued(&set), [1, 2, 0]);
        set.dequeue(&[1, 2]);
        assert_eq!(queued(&set), [0]);
        set.enqueue(2);
        set.enqueue(2);
        assert_eq!(queued(&set), [0, 2]);
        assert_eq!(set.get(1).map(|part| part.from.0), Some(7));
    }

    #[test]
    fn forgotten_partition_leaves_its_place_to_another() {
        let mut set = FetchSet::default();
        [0, 1].iter().for_each(|index| set.want(&wanted("a", *index, 0)));
        assert!(
            set.forget(TopicName::Name("a"), 0).is_some() && set.forget(TopicName::Name("a"), 0).is_none()
        );
        set.want(&wanted("b", 5, 0));
        assert_eq!((queued(&set), set.len()), (vec![1, 5], 2));
        assert!(
            set.forget(TopicName::Name("a"), 1).is_some() && set.forget(TopicName::Name("b"), 5).is_some()
        );
        assert_eq!((queued(&set).len(), set.len()), (0, 0));
    }
}
