//! The watchers of one client, by kind and path: which of them an event concerns, and what to set again.

use std::collections::BTreeMap;

use council_wire::{EventType, WatchMode, WatcherType, Writer, Zxid};

use crate::event::EventKind;

/// Bytes of paths in one setWatches: longer lists are split, as servers bound their frames.
const SET_WATCHES_BYTES: usize = 128 * 1024;

type Watchers<W> = BTreeMap<String, Vec<W>>;

/// Where a watcher is kept: the tables of ZooKeeper's own client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    Data,
    Exist,
    Child,
    Persistent,
    Recursive,
}

impl From<WatchMode> for Table {
    fn from(mode: WatchMode) -> Self {
        match mode {
            WatchMode::Persistent => Self::Persistent,
            WatchMode::PersistentRecursive => Self::Recursive,
        }
    }
}

/// All watchers; paths are the server's.
#[derive(Debug)]
pub(crate) struct WatchTables<W> {
    tables: [Watchers<W>; 5],
}

impl<W> Default for WatchTables<W> {
    fn default() -> Self {
        Self { tables: Default::default() }
    }
}

impl<W: Clone + PartialEq> WatchTables<W> {
    fn table(&mut self, table: Table) -> &mut Watchers<W> {
        &mut self.tables[table as usize]
    }

    pub(crate) fn add(&mut self, table: Table, path: &str, watcher: &W) {
        let watchers = self.table(table).entry(String::from(path)).or_default();
        if !watchers.contains(watcher) {
            watchers.push(watcher.clone());
        }
    }

    /// The watchers that an event concerns; it uses up one-shot watchers.
    pub(crate) fn fire(&mut self, event: EventType, path: &str) -> Vec<W> {
        let mut found: Vec<W> = Vec::new();
        let one_shot: &[Table] = match event {
            EventType::None => &[],
            EventType::NodeCreated | EventType::NodeDataChanged => &[Table::Data, Table::Exist],
            EventType::NodeDeleted => &[Table::Data, Table::Exist, Table::Child],
            EventType::NodeChildrenChanged => &[Table::Child],
        };
        for table in one_shot {
            join(&mut found, self.table(*table).remove(path).unwrap_or_default());
        }
        join(&mut found, self.table(Table::Persistent).get(path).cloned().unwrap_or_default());
        if event != EventType::NodeChildrenChanged {
            for ancestor in ancestors(path) {
                join(&mut found, self.table(Table::Recursive).get(ancestor).cloned().unwrap_or_default());
            }
        }
        found
    }

    /// Takes watchers of these kinds off a path; returns them, and the event that they get.
    pub(crate) fn remove(&mut self, kind: WatcherType, path: &str) -> Vec<(EventKind, W)> {
        let mut removed = Vec::new();
        for (table, event) in tables_of(kind) {
            for watcher in self.table(*table).remove(path).unwrap_or_default() {
                if !removed.contains(&(*event, watcher.clone())) {
                    removed.push((*event, watcher));
                }
            }
        }
        removed
    }

    /// Whether there is a watcher of these kinds on a path.
    pub(crate) fn has(&mut self, kind: WatcherType, path: &str) -> bool {
        tables_of(kind).iter().any(|(table, _)| self.table(*table).contains_key(path))
    }

    /// Takes one watcher off all nodes.
    pub(crate) fn remove_watcher(&mut self, watcher: &W) {
        for table in &mut self.tables {
            table.retain(|_, watchers| {
                watchers.retain(|other| other != watcher);
                !watchers.is_empty()
            });
        }
    }

    /// Takes out all watchers, each once.
    pub(crate) fn drain(&mut self) -> Vec<W> {
        let mut all = Vec::new();
        for table in std::mem::take(&mut self.tables) {
            for watchers in table.into_values() {
                join(&mut all, watchers);
            }
        }
        all
    }

    /// The bodies of the setWatches2 requests that set everything again.
    pub(crate) fn set_watches(&self, relative_zxid: Zxid) -> Vec<Vec<u8>> {
        let mut bodies = Vec::new();
        let mut lists: [Vec<&str>; 5] = Default::default();
        let mut bytes = 0;
        for (list, table) in self.tables.iter().enumerate() {
            for path in table.keys() {
                if bytes > 0 && bytes + path.len() > SET_WATCHES_BYTES {
                    bodies.push(set_watches_body(relative_zxid, &lists));
                    lists = Default::default();
                    bytes = 0;
                }
                bytes += path.len() + 4;
                lists[list].push(path);
            }
        }
        if bytes > 0 {
            bodies.push(set_watches_body(relative_zxid, &lists));
        }
        bodies
    }
}

fn set_watches_body(relative_zxid: Zxid, lists: &[Vec<&str>; 5]) -> Vec<u8> {
    let mut body = Vec::new();
    let mut writer = Writer::new(&mut body);
    writer.i64(relative_zxid.0);
    for list in lists {
        writer.texts(list.iter().copied());
    }
    body
}

const fn tables_of(kind: WatcherType) -> &'static [(Table, EventKind)] {
    const DATA: (Table, EventKind) = (Table::Data, EventKind::DataWatchRemoved);
    const EXIST: (Table, EventKind) = (Table::Exist, EventKind::DataWatchRemoved);
    const CHILD: (Table, EventKind) = (Table::Child, EventKind::ChildWatchRemoved);
    const PERSISTENT: (Table, EventKind) = (Table::Persistent, EventKind::PersistentWatchRemoved);
    const RECURSIVE: (Table, EventKind) = (Table::Recursive, EventKind::PersistentWatchRemoved);
    match kind {
        WatcherType::Children => &[CHILD],
        WatcherType::Data => &[DATA, EXIST],
        WatcherType::Any => &[CHILD, DATA, EXIST, PERSISTENT, RECURSIVE],
        WatcherType::Persistent => &[PERSISTENT],
        WatcherType::PersistentRecursive => &[RECURSIVE],
    }
}

fn join<W: PartialEq>(found: &mut Vec<W>, more: Vec<W>) {
    for watcher in more {
        if !found.contains(&watcher) {
            found.push(watcher);
        }
    }
}

/// The path itself, its parent and so on, the root last.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| match path.rfind('/') {
        Some(0) if path.len() > 1 => Some("/"),
        Some(at) if at > 0 => path.get(..at),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use council_wire::{OpCode, Request};

    use super::*;

    #[test]
    fn ancestors_end_at_the_root() {
        assert_eq!(ancestors("/a/b").collect::<Vec<_>>(), ["/a/b", "/a", "/"]);
        assert_eq!(ancestors("/").collect::<Vec<_>>(), ["/"]);
    }

    #[test]
    fn a_watcher_hears_an_event_once_however_often_it_was_left() {
        let watcher = 1_u8;
        let mut tables = WatchTables::default();
        for table in [Table::Data, Table::Data, Table::Child, Table::Persistent, Table::Recursive] {
            tables.add(table, "/a", &watcher);
        }
        assert_eq!(tables.fire(EventType::NodeDeleted, "/a").len(), 1);
        assert!(!tables.has(WatcherType::Data, "/a") && !tables.has(WatcherType::Children, "/a"));
        assert_eq!(tables.fire(EventType::NodeCreated, "/a"), [watcher]);
    }

    #[test]
    fn a_recursive_watcher_hears_of_descendants_but_not_of_child_lists() {
        let watcher = 1_u8;
        let mut tables = WatchTables::default();
        tables.add(Table::Recursive, "/a", &watcher);
        assert_eq!(tables.fire(EventType::NodeCreated, "/a/b/c"), [watcher]);
        assert_eq!(tables.fire(EventType::NodeChildrenChanged, "/a"), []);
        assert_eq!(tables.fire(EventType::NodeCreated, "/ab"), []);
    }

    #[test]
    fn removal_takes_the_kinds_that_were_meant() {
        let watcher = 1_u8;
        let mut tables = WatchTables::default();
        tables.add(Table::Data, "/a", &watcher);
        tables.add(Table::Child, "/a", &watcher);
        assert_eq!(tables.remove(WatcherType::Children, "/a"), [(EventKind::ChildWatchRemoved, watcher)]);
        assert_eq!(tables.remove(WatcherType::Any, "/a"), [(EventKind::DataWatchRemoved, watcher)]);
        assert_eq!(tables.remove(WatcherType::Any, "/a"), []);
    }

    #[test]
    fn long_lists_are_split() {
        let watcher = 1_u8;
        let mut tables = WatchTables::default();
        let name = "n".repeat(1000);
        for index in 0..300 {
            tables.add(
                if index % 2 == 0 { Table::Data } else { Table::Recursive },
                &format!("/{name}{index}"),
                &watcher,
            );
        }
        let bodies = tables.set_watches(Zxid(7));
        assert_eq!(bodies.len(), 3);
        let mut paths = 0;
        for body in &bodies {
            let Ok(Request::SetWatches2(set)) = Request::decode(OpCode::SetWatches2, body) else {
                panic!("{body:?}")
            };
            assert_eq!(set.relative_zxid, 7);
            paths += set.data.len() + set.persistent_recursive.len();
        }
        assert_eq!(paths, 300);
        assert!(WatchTables::<u8>::default().set_watches(Zxid(0)).is_empty());
    }
}
