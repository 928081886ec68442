//! What a read leaves behind that a shard answers itself: its watches, and what is counted.

use crate::message::WatchKind;
use crate::namespace_stats::Namespaces;
use crate::read::ReadEffects;
use crate::watch::WatchTable;

/// The trail of a read that is answered here.
pub(crate) struct Immediate<'a> {
    pub(crate) watches: &'a mut WatchTable,
    pub(crate) slot: u32,
    pub(crate) reads: &'a mut Namespaces,
}

impl ReadEffects for Immediate<'_> {
    fn watch(&mut self, path: &str, kind: WatchKind) {
        self.watches.add(self.slot, path, kind.into());
    }

    fn read(&mut self, path: &str, bytes: u64) {
        self.reads.record(path, bytes);
    }
}
