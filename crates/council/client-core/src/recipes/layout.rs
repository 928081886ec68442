//! The names of the nodes that stand for a place in a lock's queue, as Curator's and kazoo's recipes have them.

/// Whether others may hold the lock at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No other contender holds it: a mutex, the write half of a read/write lock, leadership.
    Exclusive,
    /// Others of this kind may hold it: the read half of a read/write lock.
    Shared,
}

/// How the nodes of a lock are named. All contenders are recognised whatever their layout, but Curator's and kazoo's recipes
/// know only their own, so a lock that is shared with one of them must have its layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Curator's `InterProcessMutex`, and its `LeaderSelector`: `_c_GUID-lock-0000000000`.
    #[default]
    Curator,
    /// Curator's `InterProcessReadWriteLock`: `_c_GUID-__READ__0000000000`, `_c_GUID-__WRIT__0000000000`.
    CuratorReadWrite,
    /// Curator's `LeaderLatch`: `_c_GUID-latch-0000000000`.
    CuratorLatch,
    /// kazoo's `Lock`, `Election`, `ReadLock` and `WriteLock`: `GUID__lock__0000000000`, `GUID__rlock__0000000000`.
    Kazoo,
}

/// What stands before the sequence number of each layout.
const MARKERS: &[(&str, Kind)] = &[
    ("__READ__", Kind::Shared),
    ("__rlock__", Kind::Shared),
    ("__WRIT__", Kind::Exclusive),
    ("__lock__", Kind::Exclusive),
    ("latch-", Kind::Exclusive),
    ("lock-", Kind::Exclusive),
];

/// A contender's name, read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) kind: Kind,
    pub(super) sequence: i32,
}

impl Layout {
    /// What stands before the sequence number, and is of one contender alone. `guid` is a UUID as 32 hexadecimal digits.
    pub(super) fn prefix(self, guid: &str, kind: Kind) -> String {
        match (self, kind) {
            (Self::Kazoo, Kind::Exclusive) => format!("{guid}__lock__"),
            (Self::Kazoo, Kind::Shared) => format!("{guid}__rlock__"),
            (Self::CuratorLatch, _) => format!("_c_{}-latch-", hyphenated(guid)),
            (_, Kind::Shared) => format!("_c_{}-__READ__", hyphenated(guid)),
            (Self::CuratorReadWrite, Kind::Exclusive) => format!("_c_{}-__WRIT__", hyphenated(guid)),
            (Self::Curator, Kind::Exclusive) => format!("_c_{}-lock-", hyphenated(guid)),
        }
    }
}

impl Place {
    /// The place that a node's name stands for, if it is a contender's.
    pub(super) fn of(name: &str) -> Option<Self> {
        MARKERS.iter().find_map(|(marker, kind)| {
            let number = name.get(name.rfind(marker)? + marker.len()..)?;
            let is_one = number.len() >= 10 && !number.starts_with('+');
            let sequence = number.parse().ok().filter(|_| is_one)?;
            Some(Self { kind: *kind, sequence })
        })
    }

    /// Whether this place is before another one. Numbers are compared as they are drawn, round and round: the counter of a
    /// node that was used 2^31 times goes on below zero.
    pub(super) const fn is_before(self, other: Self) -> bool {
        self.sequence.wrapping_sub(other.sequence) < 0
    }

    /// Whether a contender at this place keeps one of `kind` behind it waiting.
    pub(super) fn blocks(self, kind: Kind) -> bool {
        self.kind == Kind::Exclusive || kind == Kind::Exclusive
    }
}

/// As Java's UUID prints it.
fn hyphenated(guid: &str) -> String {
    let part = |range: std::ops::Range<usize>| guid.get(range).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0..8), part(8..12), part(12..16), part(16..20), part(20..32))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUID: &str = "53345f9894234e0ca7b59f819e3ec2e1";

    #[test]
    fn names_are_those_of_curator_and_kazoo() {
        let name = |layout: Layout, kind| layout.prefix(GUID, kind);
        let curator = "_c_53345f98-9423-4e0c-a7b5-9f819e3ec2e1-";
        assert_eq!(name(Layout::Curator, Kind::Exclusive), format!("{curator}lock-"));
        assert_eq!(name(Layout::CuratorReadWrite, Kind::Exclusive), format!("{curator}__WRIT__"));
        assert_eq!(name(Layout::CuratorReadWrite, Kind::Shared), format!("{curator}__READ__"));
        assert_eq!(name(Layout::CuratorLatch, Kind::Exclusive), format!("{curator}latch-"));
        assert_eq!(name(Layout::Kazoo, Kind::Exclusive), format!("{GUID}__lock__"));
        assert_eq!(name(Layout::Kazoo, Kind::Shared), format!("{GUID}__rlock__"));
    }

    #[test]
    fn contender_is_recognised_in_every_layout() {
        let layouts = [Layout::Curator, Layout::CuratorReadWrite, Layout::CuratorLatch, Layout::Kazoo];
        for layout in layouts {
            for (number, sequence) in [("0000000007", 7), ("-000000001", -1), ("-2147483648", i32::MIN)] {
                let name = format!("{}{number}", layout.prefix(GUID, Kind::Exclusive));
                assert_eq!(Place::of(&name), Some(Place { kind: Kind::Exclusive, sequence }), "{name}");
            }
        }
        let shared = Place::of("x__rlock__0000000001").map(|place| place.kind);
        assert_eq!(shared, Some(Kind::Shared));
        for other in ["", "lock-", "lock-1", "lock-000000000x", "lock-+000000001", "members", "ä000000000"] {
            assert_eq!(Place::of(other), None, "{other}");
        }
    }

    #[test]
    fn order_survives_the_end_of_the_numbers() {
        let place = |sequence| Place { kind: Kind::Exclusive, sequence };
        assert!(place(1).is_before(place(2)) && !place(2).is_before(place(1)));
        assert!(place(i32::MAX).is_before(place(i32::MIN)));
        assert!(!place(i32::MIN).is_before(place(i32::MAX)));
        assert!(!place(3).is_before(place(3)));
    }
}
