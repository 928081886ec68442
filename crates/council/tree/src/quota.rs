//! Quotas: `/zookeeper/quota/PATH/zookeeper_limits` says what PATH may hold, `zookeeper_stats` beside it what it holds.
//!
//! The clients make both nodes; the server keeps the second one's data up to date, and, where it is told to, refuses
//! what goes beyond a hard limit. Soft limits appear only in the log.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

use council_wire::ErrorCode;

use crate::Tree;
use crate::arena::Slot;
use crate::path::{PathHash, PathKey, QUOTA};
use crate::track::{Figures, Track};
use crate::usage::Pending;

const LIMITS: &str = "/zookeeper_limits";
const STATS: &str = "/zookeeper_stats";

/// The path under quota of which this is the limits node.
pub(crate) fn limited_path(path: &str) -> Option<&str> {
    path.strip_prefix(QUOTA)?.strip_suffix(LIMITS).filter(|limited| !limited.is_empty())
}

/// The path under quota of which this is the stats node.
pub(crate) fn counted_path(path: &str) -> Option<&str> {
    path.strip_prefix(QUOTA)?.strip_suffix(STATS).filter(|counted| !counted.is_empty())
}

/// What one quota allows and what there is, as its two nodes say it; -1 is no limit, or not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaFigures<'t> {
    /// What is limited.
    pub path: &'t str,
    /// Nodes allowed: the hard limit, else the soft one.
    pub count_limit: i64,
    /// Bytes allowed: the hard limit, else the soft one.
    pub bytes_limit: i64,
    /// Nodes there are.
    pub count: i64,
    /// Bytes there are.
    pub bytes: i64,
}

/// The quotas of a tree, and what their texts said when they were last read.
#[derive(Default)]
pub(crate) struct Quotas {
    /// The paths that have a quota.
    paths: BTreeSet<Box<str>>,
    /// How many of these paths have each key: shows, without a search, which parts of a long path cannot have a quota.
    keys: BTreeMap<PathKey, usize>,
    /// What the texts of quota nodes say, by their slots; `None` for nonsense. A text is read once, however often it
    /// is asked for.
    pub(crate) tracks: BTreeMap<Slot, Option<Track>>,
    /// What has changed below quotas in the running transaction, by the slots of their stats nodes.
    pub(crate) pending: BTreeMap<Slot, Pending>,
}

impl Quotas {
    fn insert(&mut self, path: &str, key: PathKey) {
        if self.paths.insert(Box::from(path)) {
            *self.keys.entry(key).or_insert(0) += 1;
        }
    }

    fn remove(&mut self, path: &str, key: PathKey) {
        if self.paths.remove(path)
            && let Some(count) = self.keys.get_mut(&key)
        {
            *count -= 1;
            if *count == 0 {
                self.keys.remove(&key);
            }
        }
    }

    /// The data in a slot is replaced, or gone: nothing that was read there counts any more.
    #[inline]
    pub(crate) fn forget(&mut self, slot: Slot) {
        if !self.tracks.is_empty() {
            self.tracks.remove(&slot);
            self.pending.remove(&slot);
        }
    }
}

impl Tree {
    /// All quotas.
    pub fn quotas(&self) -> impl Iterator<Item = QuotaFigures<'_>> {
        self.quotas.paths.iter().map(|path| {
            let figures = |kind| {
                let (slot, _) = self.quota_node(path, kind)?;
                match self.quotas.tracks.get(&slot) {
                    Some(known) => known.as_ref().map(|track| track.figures),
                    None => Track::parse(self.arena.node(slot).value.as_bytes()).map(|track| track.figures),
                }
            };
            let (limits, usage) =
                (figures(LIMITS).unwrap_or(Figures::NONE), figures(STATS).unwrap_or(Figures::NONE));
            QuotaFigures {
                path,
                count_limit: limits.count_limit(),
                bytes_limit: limits.bytes_limit(),
                count: usage.count,
                bytes: usage.bytes,
            }
        })
    }

    /// The deepest path under quota that is this path or above it. Takes one pass over the path, however deep it is
    /// and however many quotas there are.
    fn quota_above<'p>(&self, path: &'p str) -> Option<&'p str> {
        if self.quotas.paths.is_empty() {
            return None;
        }
        let (mut key, mut end, mut candidates) = (self.root.key, 0, Vec::new());
        for name in path.strip_prefix('/')?.split('/') {
            key = key.child(name);
            end += 1 + name.len();
            if self.quotas.keys.contains_key(&key) {
                candidates.push(end);
            }
        }
        let above = candidates.into_iter().rev().filter_map(|end| path.get(..end));
        above.into_iter().find(|above| self.quotas.paths.contains(*above))
    }

    /// A path has a quota from now on.
    pub(crate) fn limit(&mut self, limited: &str) {
        if let Some(key) = self.key_of(limited) {
            self.quotas.insert(limited, key);
        }
    }

    /// A path has no quota any more.
    pub(crate) fn unlimit(&mut self, limited: &str) {
        if let Some(key) = self.key_of(limited) {
            self.quotas.remove(limited, key);
        }
    }

    /// The stats node of the quota above a path.
    pub(crate) fn stats_above(&self, path: &str) -> Option<(Slot, PathHash)> {
        self.stats_of(self.quota_above(path)?)
    }

    /// The stats node of a quota.
    pub(crate) fn stats_of(&self, quota: &str) -> Option<(Slot, PathHash)> {
        self.quota_node(quota, STATS)
    }

    fn quota_node(&self, quota: &str, kind: &str) -> Option<(Slot, PathHash)> {
        let path = format!("{QUOTA}{quota}{kind}");
        let hash = self.hash_of(&path)?;
        Some((self.find(&path, hash.key)?, hash))
    }

    /// Refuses a write that brings a quota beyond a hard limit, or whose quota is not readable. Limits and usage
    /// are those before a running multi, as in ZooKeeper.
    pub(crate) fn check_quota(&mut self, path: &str, bytes: i64, count: i64) -> Result<(), ErrorCode> {
        let Some(quota) = self.quota_above(path) else { return Ok(()) };
        let Some((limits, _)) = self.quota_node(quota, LIMITS) else { return Ok(()) };
        let Some(limits) = self.figures_before(limits)? else { return Ok(()) };
        if !limits.limits(bytes, count) {
            return Ok(());
        }
        let Some((stats, _)) = self.quota_node(quota, STATS) else { return Ok(()) };
        let Some(used) = self.figures_before(stats)? else { return Ok(()) };
        if limits.forbids(used, bytes, count) { Err(ErrorCode::QuotaExceeded) } else { Ok(()) }
    }

    /// What a quota node said before the multi that runs, if one does; nothing when the multi created it.
    fn figures_before(&mut self, slot: Slot) -> Result<Option<Figures>, ErrorCode> {
        if !self.is_displaced(slot) {
            let figures = self.track(slot).map(|track| track.figures);
            return figures.map(Some).ok_or(ErrorCode::MarshallingError);
        }
        let known = self.undo.as_ref().and_then(|undo| undo.tracks.get(&slot));
        let track = match known {
            Some(known) => known,
            None => {
                let Some(value) = self.value_before(slot) else { return Ok(None) };
                let track = Track::parse(value.as_bytes());
                let Some(undo) = &mut self.undo else { return Ok(None) };
                undo.tracks.entry(slot).or_insert(track)
            }
        };
        track.as_ref().map(|track| Some(track.figures)).ok_or(ErrorCode::MarshallingError)
    }

    /// What the data in a slot says as a quota text; `None` for nonsense.
    pub(crate) fn track(&mut self, slot: Slot) -> Option<&Track> {
        let node = self.arena.node(slot);
        let (tracks, work) = (&mut self.quotas.tracks, &mut self.work);
        let read = || {
            work.text_read(node.value.len());
            Track::parse(node.value.as_bytes())
        };
        tracks.entry(slot).or_insert_with(read).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limits_node_belongs_to_a_path() {
        assert_eq!(limited_path("/zookeeper/quota/a/b/zookeeper_limits"), Some("/a/b"));
        assert_eq!(limited_path("/zookeeper/quota/zookeeper_limits"), None);
        assert_eq!(limited_path("/a/zookeeper_limits"), None);
        assert_eq!(counted_path("/zookeeper/quota/a/zookeeper_stats"), Some("/a"));
    }

    #[test]
    fn the_quota_above_a_path_is_the_deepest_one() {
        let mut tree = Tree::seeded(5);
        for path in ["/a", "/a/b/c", "/ab"] {
            let key = tree.key_of(path).expect("a path");
            tree.quotas.insert(path, key);
        }
        for (path, above) in [
            ("/a", Some("/a")),
            ("/a/b", Some("/a")),
            ("/a/b/c", Some("/a/b/c")),
            ("/a/b/c/d/e", Some("/a/b/c")),
            ("/a/b/cd", Some("/a")),
            ("/ab/c", Some("/ab")),
            ("/b/a", None),
            ("/", None),
            ("", None),
        ] {
            assert_eq!(tree.quota_above(path), above, "{path}");
        }
        let key = tree.key_of("/a").expect("a path");
        tree.quotas.remove("/a", key);
        assert_eq!(tree.quota_above("/a/b"), None);
    }
}
