//! What a client asks of its own watches: addWatch, checkWatches, removeWatches, and the limits on all of them.

use council_wire::{ErrorCode, Request, SetWatches, WatchMode, WatcherType};

use crate::connection::Connection;
use crate::event::CloseReason;
use crate::shard_state::ShardState;
use crate::watch::PATHS_PER_CONNECTION_MAX;
use crate::watch::{Modes, NULL_PATH};

impl ShardState {
    /// Does what a request about watches asks for.
    pub(crate) fn on_watches(
        &mut self,
        connection: &mut Connection,
        request: &Request<'_>,
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
                self.watching.table.add(slot, path, modes);
                Ok(())
            }
            Request::CheckWatches { path, watcher } => {
                let found = self.watching.table.contains(slot, path, modes_of(*watcher)?);
                found.then_some(()).ok_or(ErrorCode::NoWatcher)
            }
            Request::RemoveWatches { path, watcher } => {
                let removed = self.watching.table.remove(slot, path, modes_of(*watcher)?);
                removed.then_some(()).ok_or(ErrorCode::NoWatcher)
            }
            _ => Err(ErrorCode::Unimplemented),
        }
    }

    /// Whether the connection may set all these watches; otherwise it is closed: a client takes no error for an answer
    /// here, and would believe that it watches.
    pub(crate) fn may_set_watches(
        &mut self,
        connection: &mut Connection,
        set: &SetWatches<'_>,
    ) -> Result<(), ErrorCode> {
        let lists = [set.data, set.exist, set.child, set.persistent, set.persistent_recursive];
        if self.may_watch(connection, lists.iter().map(council_wire::PathList::len).sum()) {
            return Ok(());
        }
        self.close(connection, CloseReason::TooManyWatches, false);
        Err(ErrorCode::ThrottledOp)
    }

    /// Whether the connection may watch so many paths more.
    pub(crate) fn may_watch(&mut self, connection: &Connection, paths: usize) -> bool {
        let watched = self.watching.table.paths_watched_by(connection.id.slot);
        let most = self.config.watches_per_connection_max.min(PATHS_PER_CONNECTION_MAX);
        let allowed = watched.saturating_add(paths) <= most
            && self.watching.table.bytes() <= self.config.watch_bytes_max;
        self.stats.watches_refused += u64::from(!allowed);
        allowed
    }
}

/// The same body with [`NULL_PATH`] in place of a null path in front.
pub(crate) fn with_null_path(body: &[u8]) -> Option<Vec<u8>> {
    let rest = body.strip_prefix(&[255; 4])?;
    let length = u32::try_from(NULL_PATH.len()).ok()?;
    Some([&length.to_be_bytes(), NULL_PATH.as_bytes(), rest].concat())
}

fn modes_of(watcher: i32) -> Result<Modes, ErrorCode> {
    WatcherType::from_code(watcher).map(Modes::of_type).ok_or(ErrorCode::MarshallingError)
}
