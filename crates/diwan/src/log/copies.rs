//! How far replicas have come that are being made.

use std::collections::{BTreeMap, BTreeSet};

use log_client::Cluster;

/// Replicas that a partition gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Copies {
    pub(crate) topic: String,
    pub(crate) index: i32,
    /// The brokers that get one each.
    pub(crate) to: Vec<i32>,
}

/// How many bytes brokers keep of each partition.
#[derive(Debug, Default)]
pub(crate) struct Kept(BTreeMap<(i32, String, i32), u64>);

impl Kept {
    /// Asks these brokers. Of one that does not answer nothing is known.
    pub(crate) fn by(cluster: &mut Cluster, brokers: impl IntoIterator<Item = i32>) -> Self {
        let mut kept = BTreeMap::new();
        let brokers: BTreeSet<i32> = brokers.into_iter().collect();
        for broker in brokers {
            for topic in cluster.replicas_of(broker).unwrap_or_default() {
                for of in topic.partitions {
                    let size = u64::try_from(of.partition_size).unwrap_or_default();
                    kept.insert((broker, topic.name.clone(), of.partition_index), size);
                }
            }
        }
        Self(kept)
    }

    /// What a broker keeps of a partition.
    pub(crate) fn of(&self, broker: i32, topic: &str, index: i32) -> Option<u64> {
        self.0.get(&(broker, topic.to_owned(), index)).copied()
    }

    /// What all new replicas of a partition have together.
    pub(crate) fn copied(&self, copies: &Copies) -> u64 {
        copies.to.iter().filter_map(|broker| self.of(*broker, &copies.topic, copies.index)).sum()
    }
}

/// In words: how much there is of how much, how fast it grows, and when it is all.
pub(crate) fn progress(copied: u64, all: u64, per_second: u64) -> String {
    let left = all.saturating_sub(copied).checked_div(per_second);
    let end = left.map_or_else(String::new, |left| format!(", {}/s, about {left} s left", bytes(per_second)));
    format!("{} of {}{end}", bytes(copied.min(all)), bytes(all))
}

/// Bytes in the unit in which people read them.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    match UNITS.iter().find(|(_, size)| count >= *size) {
        Some((unit, size)) => format!("{}.{} {unit}", count / size, count % size * 10 / size),
        None => format!("{count} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_digit_behind_the_point() {
        let shown = [0, 999, 1_000, 1_250_000, 61_990_000_000].map(bytes);
        assert_eq!(shown, ["0 B", "999 B", "1.0 kB", "1.2 MB", "61.9 GB"]);
    }

    #[test]
    fn progress_tells_how_much_how_fast_and_how_long() {
        let told = progress(30_000_000, 90_000_000, 10_000_000);
        assert_eq!(told, "30.0 MB of 90.0 MB, 10.0 MB/s, about 6 s left");
        assert_eq!(progress(0, 90, 0), "0 B of 90 B", "nothing is known yet");
        assert_eq!(progress(95, 90, 1), "90 B of 90 B, 1 B/s, about 0 s left");
    }

    #[test]
    fn copied_is_what_all_new_replicas_have() {
        let kept = [((1, "t".into(), 0), 50), ((2, "t".into(), 0), 20), ((3, "t".into(), 0), 5)];
        let kept = Kept(kept.into());
        let copies = Copies { topic: "t".into(), index: 0, to: vec![2, 3, 4] };
        assert_eq!((kept.copied(&copies), kept.of(1, "t", 0), kept.of(1, "t", 1)), (25, Some(50), None));
    }
}
