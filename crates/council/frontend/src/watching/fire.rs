//! From a change to events: which watches it fires, which clients may get the event, and where it belongs in a
//! connection's output.
//!
//! For one change the order is ZooKeeper's: data watches of the node, child watches of the node (when it is deleted),
//! child watches of its parent. An event about a node that the client may not read is not sent, and still uses up a
//! one-shot watch.

use council_tree::{Change, ChangeKind, Identities, permits};
use council_wire::{
    Acl, EventType, KeeperState, WatcherEvent, Writer, Zxid, end_frame, permission, start_frame,
};

use crate::connection::{Connection, Connections, Stage};
use crate::event::CloseReason;
use crate::replies::Slot;
use crate::shard_state::ShardState;
use crate::watch::Modes;

impl ShardState {
    pub(crate) fn fire(&mut self, connections: &mut Connections, change: &Change) {
        self.advance(change.zxid);
        if self.watching.is_empty() {
            return;
        }
        let (event, kinds) = match change.kind {
            ChangeKind::Created => (EventType::NodeCreated, Modes::DATA_TABLE),
            ChangeKind::DataChanged => (EventType::NodeDataChanged, Modes::DATA_TABLE),
            // Both tables in one step: a connection in both gets the event once.
            ChangeKind::Deleted => (EventType::NodeDeleted, Modes::ANY),
        };
        self.watching.fire(&change.path, kinds, true);
        self.count_watchers(event);
        self.tell(connections, event, &change.path, change.zxid, &change.acl);
        if change.kind != ChangeKind::DataChanged {
            let parent = change.parent_path();
            self.watching.fire(parent, Modes::CHILD_TABLE, false);
            let event = EventType::NodeChildrenChanged;
            self.count_watchers(event);
            self.tell(connections, event, parent, change.zxid, &change.parent_acl);
        }
    }

    /// Queues the event for each connection in `told` that may read the node.
    fn tell(&mut self, connections: &mut Connections, event: EventType, path: &str, zxid: Zxid, acl: &[Acl]) {
        if self.watching.told.is_empty() {
            return;
        }
        let mut frame = core::mem::take(&mut self.watching.event_frame);
        encode(event, path, zxid, &mut frame);
        let policy = self.config.policy;
        let open = permits(acl, permission::READ, Identities::NONE, policy);
        let told = core::mem::take(&mut self.watching.told);
        for slot in &told {
            let Some(connection) = connections.at_mut(*slot) else { continue };
            if open || permits(acl, permission::READ, connection.identities.identities(), policy) {
                self.count(event);
                self.notify(connection, &frame);
            } else {
                self.stats.events_filtered += 1;
            }
        }
        self.watching.told = told;
        self.watching.event_frame = frame;
    }

    /// Puts an event where it belongs: before every reply that may show its cause, behind the reply that left the watch
    /// (if that is still in the queue), and behind a setWatches that happened before.
    fn notify(&mut self, connection: &mut Connection, frame: &[u8]) {
        let unreleased = connection.slots.iter().rposition(|slot| match slot {
            Slot::Done { .. } | Slot::Event { .. } => true,
            Slot::Long(long) => long.settled().is_some(),
            _ => false,
        });
        match unreleased {
            Some(at) => connection.slots.insert(at + 1, Slot::Event { frame: frame.into() }),
            None => self.notify_now(connection, frame),
        }
        let twice_of_all = self.config.output_bytes_all_max.saturating_mul(2);
        if connection.output.len() > self.config.output_bytes_close_max
            || self.has_more_than_its_share(connection, twice_of_all)
            || connection.slots.len() > self.config.outstanding_max.saturating_mul(16)
        {
            self.close(connection, CloseReason::SlowClient, false);
        }
    }

    /// Puts an event in the output.
    pub(crate) fn notify_now(&mut self, connection: &mut Connection, frame: &[u8]) {
        if connection.stage == Stage::Closing {
            return;
        }
        connection.output.buffer(&mut self.buffers).extend_from_slice(frame);
        self.sent_event(connection);
    }

    /// Counts an event in the output.
    pub(crate) fn sent_event(&mut self, connection: &mut Connection) {
        self.stats.event_bytes += self.sent(connection) as u64;
    }

    /// Counts the connections that are to get the event, before ACLs are checked. An event without a watch is not
    /// counted.
    fn count_watchers(&mut self, event: EventType) {
        let stats = &mut self.stats;
        let tally = match event {
            EventType::NodeCreated => &mut stats.watchers_created,
            EventType::NodeDeleted => &mut stats.watchers_deleted,
            EventType::NodeDataChanged => &mut stats.watchers_data_changed,
            EventType::NodeChildrenChanged => &mut stats.watchers_children_changed,
            EventType::None => return,
        };
        if !self.watching.told.is_empty() {
            tally.record(self.watching.told.len() as u64);
        }
    }

    fn count(&mut self, event: EventType) {
        let stats = &mut self.stats;
        match event {
            EventType::NodeCreated => stats.events_created += 1,
            EventType::NodeDeleted => stats.events_deleted += 1,
            EventType::NodeDataChanged => stats.events_data_changed += 1,
            EventType::NodeChildrenChanged => stats.events_children_changed += 1,
            EventType::None => {}
        }
    }
}

/// The frame of an event, in place of what `frame` held.
pub(crate) fn encode(event: EventType, path: &str, zxid: Zxid, frame: &mut Vec<u8>) {
    frame.clear();
    let start = start_frame(frame);
    WatcherEvent { event, state: KeeperState::SyncConnected, path }.write(zxid.0, &mut Writer::new(frame));
    end_frame(frame, start);
}
