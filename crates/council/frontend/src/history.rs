//! The latest changes, so that a client that was away for a moment can be told what it missed.
//!
//! A ring of what the core's stream brought, shared with the other shards and bounded in bytes. Knows no watch.

use std::collections::VecDeque;
use std::sync::Arc;

use council_tree::Change;
use council_wire::Zxid;

/// The latest changes, oldest first.
#[derive(Clone, Debug)]
pub struct History {
    lists: VecDeque<Arc<[Change]>>,
    bytes: usize,
    bytes_max: usize,
    /// All changes behind this transaction are here. `None` until the first sight of the tree.
    since: Option<Zxid>,
}

impl History {
    /// No changes yet, and never more than so many bytes of them.
    #[must_use]
    pub const fn new(bytes_max: usize) -> Self {
        Self { lists: VecDeque::new(), bytes: 0, bytes_max, since: None }
    }

    /// The last transaction of the tree when this began: what was before is not here. Counts the first time only.
    pub fn start(&mut self, applied: Zxid) {
        if self.since.is_none() {
            self.since = Some(applied);
        }
    }

    /// Forgets everything: the tree was replaced by one of which nothing is known but its last transaction.
    pub(crate) fn restart(&mut self, applied: Zxid) {
        *self = Self::new(self.bytes_max);
        self.start(applied);
    }

    /// The changes of the next transaction that made any.
    pub fn push(&mut self, changes: &Arc<[Change]>) {
        let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return };
        self.start(Zxid(first.zxid.0 - 1));
        if self.bytes_max == 0 {
            self.since = Some(last.zxid);
            return;
        }
        self.bytes += weight(changes);
        self.lists.push_back(Arc::clone(changes));
        while self.bytes > self.bytes_max {
            let Some(oldest) = self.lists.pop_front() else { break };
            self.bytes -= weight(&oldest);
            self.since = oldest.last().map(|change| change.zxid);
        }
    }

    /// Whether all changes behind `zxid` are here.
    pub(crate) fn reaches(&self, zxid: Zxid) -> bool {
        self.since.is_some_and(|since| zxid >= since)
    }

    /// Where it starts.
    pub(crate) fn start_zxid(&self) -> Zxid {
        self.since.unwrap_or_default()
    }

    /// The changes behind `zxid`, oldest first.
    pub(crate) fn behind(&self, zxid: Zxid) -> impl Iterator<Item = &Change> {
        let from = self.lists.partition_point(|list| list.last().is_none_or(|change| change.zxid <= zxid));
        self.lists.range(from..).flat_map(|list| list.iter()).filter(move |change| change.zxid > zxid)
    }

    /// Looks at the changes behind `zxid`, a few for each unit of work and whole transactions only; what `at` gives is
    /// taken off besides. Gives how far it came and whether that is the end.
    pub(crate) fn look(
        &self,
        zxid: Zxid,
        work: &mut usize,
        per_work: usize,
        mut at: impl FnMut(&Change) -> usize,
    ) -> (Zxid, bool) {
        let (mut looked, mut number) = (zxid, 0);
        for change in self.behind(zxid) {
            if *work == 0 && change.zxid != looked {
                return (looked, false);
            }
            number += 1;
            if number % per_work == 0 {
                *work = work.saturating_sub(1);
            }
            looked = change.zxid;
            *work = work.saturating_sub(at(change));
        }
        (looked, true)
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }
}

/// What an allocator adds to a small piece of memory.
const ALLOCATION_BYTES: usize = 16;
/// A shared list beside its changes: its counts, its place in the ring.
const LIST_BYTES: usize = 2 * size_of::<usize>() + size_of::<Arc<[Change]>>() + ALLOCATION_BYTES;

fn weight(changes: &[Change]) -> usize {
    let of_one = |change: &Change| size_of::<Change>() + change.path.len() + ALLOCATION_BYTES;
    LIST_BYTES + changes.iter().map(of_one).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use council_tree::{AclRef, ChangeKind};

    use super::*;

    fn changes(zxids: &[i64]) -> Arc<[Change]> {
        let acl = AclRef::new(vec![council_wire::Acl::open()]);
        let change = |zxid: &i64| Change {
            kind: ChangeKind::DataChanged,
            path: "/a".into(),
            zxid: Zxid(*zxid),
            acl: acl.clone(),
            parent_acl: acl.clone(),
            ephemeral_owner: council_wire::SessionId(0),
            data_bytes: 0,
        };
        zxids.iter().map(change).collect()
    }

    #[test]
    fn what_falls_out_raises_the_start() {
        let mut history = History::new(4 * weight(&changes(&[1])));
        history.start(Zxid(4));
        history.push(&changes(&[5, 6]));
        history.push(&changes(&[7]));
        assert!(history.reaches(Zxid(4)) && !history.reaches(Zxid(3)));
        assert_eq!(history.behind(Zxid(5)).map(|change| change.zxid.0).collect::<Vec<_>>(), [6, 7]);
        history.push(&changes(&[8, 9]));
        assert!(history.reaches(Zxid(6)) && !history.reaches(Zxid(5)));
        assert_eq!(history.behind(Zxid(8)).map(|change| change.zxid.0).collect::<Vec<_>>(), [9]);
        assert_eq!(history.behind(Zxid(9)).count(), 0);
    }

    #[test]
    fn without_room_it_never_reaches_back() {
        let mut history = History::new(0);
        history.push(&changes(&[5]));
        assert!(history.reaches(Zxid(5)) && !history.reaches(Zxid(4)));
        assert_eq!(history.bytes(), 0);
    }
}
