//! Which of several topics a member's fetch is served from first: by their weights (`diwan.share.topic.weights` of the group).
//!
//! Of as many fetches as all weights of its topics together, each topic comes first in as many as its weight says; behind it come
//! the others, heavier ones before. So a topic with records is never passed over for longer than that many fetches, and one
//! without records costs nothing.

use std::collections::BTreeMap;

use log_coordinators::Text;
use log_share::ShareKey;
use log_wire::TopicName;

use super::Share;
use super::pending::Place;
use crate::node::Node;

/// What a topic weighs that the group does not name.
const WEIGHT: u32 = 1;

impl Share {
    /// Puts the partitions of a fetch into the order in which they are served. Those of one topic keep theirs.
    pub(super) fn order(&self, node: &Node, group: &Text, turn: u32, places: &mut [Place]) {
        if places.len() < 2 || places.windows(2).all(|pair| matches!(pair, [one, other] if one.0 == other.0))
        {
            return;
        }
        let served = places.iter().find_map(|(topic, partition)| {
            let key = ShareKey { group: Text::clone(group), topic: *topic, partition: *partition };
            self.served.get(&key)
        });
        let Some(weights) = served.map(|served| &served.settings.topic_weights).filter(|of| !of.is_empty())
        else {
            return;
        };
        let weigh = |topic: [u8; 16]| {
            let name = node.catalog.find(TopicName::Id(topic)).map(|topic| topic.name.to_string());
            let named = |name: &String| weights.iter().find(|(topic, _)| topic == name);
            name.ok().as_ref().and_then(named).map_or(WEIGHT, |(_, weight)| *weight)
        };
        let by_topic = places.iter().map(|place| (place.0, weigh(place.0))).collect();
        sort(places, &by_topic, turn);
    }
}

/// Sorts by weight, but for the topic whose turn it is.
fn sort(places: &mut [Place], weights: &BTreeMap<[u8; 16], u32>, turn: u32) {
    let all: u32 = weights.values().fold(0, |sum, weight| sum.saturating_add(*weight));
    let mut left = turn.checked_rem(all).unwrap_or(0);
    let first = weights.iter().find(|(_, weight)| {
        let is_first = left < **weight;
        left = left.saturating_sub(**weight);
        is_first
    });
    let first = first.map(|(topic, _)| *topic);
    let heaviest = |place: &Place| u32::MAX - weights.get(&place.0).copied().unwrap_or(WEIGHT);
    places.sort_by_key(|place| (Some(place.0) != first, heaviest(place)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_come_first_as_often_as_they_weigh_and_heavier_ones_before_lighter_ones() {
        let [a, b, c] = [1, 2, 3].map(|id| [id; 16]);
        let weights = BTreeMap::from([(a, 1), (b, 7), (c, 2)]);
        let mut firsts = BTreeMap::new();
        for turn in 0..20 {
            let mut places = vec![(a, 0), (b, 5), (c, 0), (b, 4)];
            sort(&mut places, &weights, turn);
            *firsts.entry(places[0].0).or_insert(0) += 1;
            if places[0].0 == a {
                assert_eq!(places, [(a, 0), (b, 5), (b, 4), (c, 0)]);
            }
        }
        assert_eq!(firsts, BTreeMap::from([(a, 2), (b, 14), (c, 4)]));
        let mut places = vec![(a, 0)];
        sort(&mut places, &BTreeMap::from([(a, u32::MAX), (b, u32::MAX)]), u32::MAX);
        assert_eq!(places, [(a, 0)]);
    }
}
