//! Where each partition that lives here has its place, by its id. Every request asks for that: it is one search, for the topic.

use std::collections::BTreeMap;

use log_partition::PartitionId;

use super::Slot;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct SlotsById(BTreeMap<[u8; 16], Vec<Option<Slot>>>);

impl SlotsById {
    pub(super) fn get(&self, id: PartitionId) -> Option<Slot> {
        *self.0.get(&id.topic)?.get(usize::try_from(id.index).ok()?)?
    }

    /// A partition has this place from now on.
    pub(super) fn insert(&mut self, id: PartitionId, slot: Slot) {
        let Ok(index) = usize::try_from(id.index) else { return };
        let slots = self.0.entry(id.topic).or_default();
        if slots.len() <= index {
            slots.resize(index + 1, None);
        }
        if let Some(place) = slots.get_mut(index) {
            *place = Some(slot);
        }
    }

    /// A partition does not live here any more. Gives the place that it had.
    pub(super) fn remove(&mut self, id: PartitionId) -> Option<Slot> {
        let slots = self.0.get_mut(&id.topic)?;
        let gone = slots.get_mut(usize::try_from(id.index).ok()?)?.take();
        if slots.iter().all(Option::is_none) {
            self.0.remove(&id.topic);
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partition_is_found_until_it_is_gone_and_nothing_is_kept_of_its_topic() {
        let (mut slots, id) =
            (SlotsById::default(), |topic, index| PartitionId { topic: [topic; 16], index });
        slots.insert(id(1, 2), Slot(7));
        slots.insert(id(1, 0), Slot(8));
        slots.insert(id(2, 0), Slot(9));
        let found =
            |slots: &SlotsById| [(1, 2), (1, 0), (2, 0)].map(|(topic, index)| slots.get(id(topic, index)));
        assert_eq!(found(&slots), [Some(Slot(7)), Some(Slot(8)), Some(Slot(9))]);
        assert_eq!([id(1, 1), id(1, 3), id(1, -1), id(3, 0)].map(|id| slots.get(id)), [None; 4]);
        assert_eq!(
            (slots.remove(id(1, 2)), slots.remove(id(1, 2)), slots.remove(id(1, 0))),
            (Some(Slot(7)), None, Some(Slot(8)))
        );
        assert_eq!(found(&slots), [None, None, Some(Slot(9))]);
        assert_eq!(slots.0.len(), 1);
    }
}
