//! Watches as a client library keeps them, to register them anew elsewhere.

use std::collections::BTreeSet;

use council_wire::{ErrorCode, EventType, WatchMode, WatcherType};

use crate::history::Ask;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Watches {
    data: BTreeSet<String>,
    exist: BTreeSet<String>,
    child: BTreeSet<String>,
    persistent: BTreeSet<String>,
    recursive: BTreeSet<String>,
}

impl Watches {
    fn all(&mut self) -> [&mut BTreeSet<String>; 5] {
        let Self { data, exist, child, persistent, recursive } = self;
        [data, exist, child, persistent, recursive]
    }

    /// A call was answered well, or an exists with that there is nothing.
    pub fn note(&mut self, ask: &Ask, err: i32) {
        match ask {
            Ask::Children { path, watch: true } if err == 0 => drop(self.child.insert(path.clone())),
            Ask::Get { path, watch: true } if err == 0 => drop(self.data.insert(path.clone())),
            Ask::Exists { path, watch: true } if err == 0 => drop(self.data.insert(path.clone())),
            Ask::Exists { path, watch: true } if err == ErrorCode::NoNode.code() => {
                self.exist.insert(path.clone());
            }
            Ask::AddWatch { path, mode } if err == 0 => match mode {
                WatchMode::Persistent => drop(self.persistent.insert(path.clone())),
                WatchMode::PersistentRecursive => drop(self.recursive.insert(path.clone())),
            },
            Ask::RemoveWatches { path, watcher } if err == 0 => {
                let all = self.all();
                let gone: &[usize] = match watcher {
                    WatcherType::Data => &[0, 1],
                    WatcherType::Children => &[2],
                    WatcherType::Persistent => &[3],
                    WatcherType::PersistentRecursive => &[4],
                    WatcherType::Any => &[0, 1, 2, 3, 4],
                };
                for (_, set) in all.into_iter().enumerate().filter(|(kind, _)| gone.contains(kind)) {
                    set.remove(path);
                }
            }
            _ => {}
        }
    }

    /// What is left once has fired.
    pub fn fired(&mut self, kind: EventType, path: &str) {
        if kind != EventType::NodeChildrenChanged {
            self.data.remove(path);
            self.exist.remove(path);
        }
        if matches!(kind, EventType::NodeChildrenChanged | EventType::NodeDeleted) {
            self.child.remove(path);
        }
    }

    /// Asks for all of them on another connection, by a client that has seen that much; nothing if there are none.
    #[must_use]
    pub fn anew(&self, relative_zxid: i64) -> Option<Ask> {
        let Self { data, exist, child, persistent, recursive } = self;
        let [data, exist, child, persistent, recursive] = [data, exist, child, persistent, recursive]
            .map(|paths| paths.iter().cloned().collect::<Vec<_>>());
        let is_none = [&data, &exist, &child, &persistent, &recursive].iter().all(|paths| paths.is_empty());
        (!is_none).then_some(Ask::SetWatches { relative_zxid, data, exist, child, persistent, recursive })
    }
}
