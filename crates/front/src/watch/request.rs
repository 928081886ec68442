//! What a client asks of its own watches: addWatch, checkWatches, removeWatches, and the limits on all of them.

use jute::{ErrorCode, Malformed, OpCode, Reader, Request, WatchMode, WatcherType};
use tree::Tree;

use super::Modes;
use crate::common::Common;
use crate::connection::Connection;
use crate::event::CloseReason;

impl Common {
    /// Does what a request about watches asks for.
    pub(crate) fn on_watches(
        &mut self,
        connection: &mut Connection,
        request: &Request<'_>,
        tree: &Tree,
    ) -> Result<(), ErrorCode> {
        let slot = connection.id.slot;
        match request {
            Request::AddWatch { path, mode } => {
                let modes = match WatchMode::from_code(*mode).ok_or(ErrorCode::MarshallingError)? {
                    WatchMode::Persistent => Modes::PERSISTENT,
                    WatchMode::PersistentRecursive => Modes::RECURSIVE,
                };
                if !self.may_watch(connection, 1) {
                    return Err(ErrorCode::ThrottledOp);
                }
                self.watches.add(slot, path, modes);
                Ok(())
            }
            Request::CheckWatches { path, watcher } => {
                let found = self.watches.contains(slot, path, modes_of(*watcher)?);
                found.then_some(()).ok_or(ErrorCode::NoWatcher)
            }
            Request::RemoveWatches { path, watcher } => {
                let removed = self.watches.remove(slot, path, modes_of(*watcher)?);
                removed.then_some(()).ok_or(ErrorCode::NoWatcher)
            }
            Request::SetWatches(set) | Request::SetWatches2(set) => {
                let lists = [set.data, set.exist, set.child, set.persistent, set.persistent_recursive];
                if !self.may_watch(connection, lists.iter().map(jute::PathList::len).sum()) {
                    // A client takes no error for an answer here: it would believe that it watches.
                    self.close(connection, CloseReason::TooManyWatches, false);
                    return Err(ErrorCode::ThrottledOp);
                }
                self.set_watches(connection, set, tree);
                Ok(())
            }
            _ => Err(ErrorCode::Unimplemented),
        }
    }

    /// Whether the connection may watch so many paths more.
    pub(crate) fn may_watch(&mut self, connection: &Connection, paths: usize) -> bool {
        let watched = self.watches.paths_watched_by(connection.id.slot);
        let allowed = watched.saturating_add(paths) <= self.config.watches_per_connection_max
            && self.watches.bytes() <= self.config.watch_bytes_max;
        self.stats.watches_refused += u64::from(!allowed);
        allowed
    }
}

/// Whether one of the lists of a setWatches is null, which is not the empty list: ZooKeeper stumbles over it.
pub(crate) fn has_null_list(opcode: OpCode, body: &[u8]) -> bool {
    let lists = match opcode {
        OpCode::SetWatches => 3,
        OpCode::SetWatches2 => 5,
        _ => 0,
    };
    let mut reader = Reader::new(body);
    let mut walk = || -> Result<bool, Malformed> {
        reader.i64()?;
        for _ in 0..lists {
            let count = reader.i32()?;
            if count == -1 {
                return Ok(true);
            }
            for _ in 0..count {
                reader.buffer()?;
            }
        }
        Ok(false)
    };
    walk().unwrap_or(false)
}

/// A null path is to ZooKeeper one that nobody watches and that never changes; the number behind it must be valid.
pub(crate) fn on_null_path(opcode: OpCode, body: &[u8]) -> Result<(), ErrorCode> {
    let mut reader = Reader::new(body);
    let (Ok(-1), Ok(number)) = (reader.i32(), reader.i32()) else { return Err(ErrorCode::MarshallingError) };
    match opcode {
        OpCode::AddWatch => WatchMode::from_code(number).map(|_| ()).ok_or(ErrorCode::MarshallingError),
        OpCode::CheckWatches | OpCode::RemoveWatches => modes_of(number).and(Err(ErrorCode::NoWatcher)),
        _ => Err(ErrorCode::MarshallingError),
    }
}

fn modes_of(watcher: i32) -> Result<Modes, ErrorCode> {
    WatcherType::from_code(watcher).map(Modes::of_type).ok_or(ErrorCode::MarshallingError)
}
