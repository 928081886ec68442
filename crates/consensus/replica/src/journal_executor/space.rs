//! Room on the disk: what the core is told of it, and what is done where there is none.

use storage_raft_log::{AppendError, Disk, Fault, Space};

use super::{JournalExecutor, JournalNotice, Next, Stage};
use crate::journal::JournalEvent;

impl<D: Disk> JournalExecutor<D> {
    /// Tells of room that was made since the last answer.
    pub(super) fn tell_room(&mut self) {
        let bytes = self.journal.room();
        if bytes > self.room_told {
            self.room_told = bytes;
            self.emit(JournalEvent::Room { after: self.appended, bytes });
        }
    }

    /// Tells whether the disk is full, if that has changed.
    pub(super) fn tell_space(&mut self) {
        let space = self.journal.space();
        if space == self.space {
            return;
        }
        self.space = space;
        let shortage = self.journal.shortage().map(|(fault, bytes)| (fault.clone(), bytes));
        self.notify(JournalNotice::SpaceChanged { space, shortage });
        self.emit(JournalEvent::Space(space));
    }

    /// The core holds back more than there is room for.
    pub(super) fn make_room(&mut self, bytes: u64) -> Result<(), Fault> {
        match self.journal.ensure_room(bytes) {
            Err(AppendError::Fault(fault)) => return Err(fault),
            // As for batches: shards let far less into flight.
            Err(error) => panic!("the journal was asked for room that it cannot make: {error}"),
            Ok(()) => {}
        }
        self.tell_space();
        // Also if it is what was told before: the core waits for an answer.
        self.room_told = 0;
        self.tell_room();
        Ok(())
    }

    /// The disk was full: looks whether there is room now, also for what is appended and was not flushed.
    pub(super) fn look_for_room(&mut self) -> Result<Next, Fault> {
        let space = self.journal.try_reserve()?;
        self.answer_late();
        self.tell_space();
        self.tell_room();
        Ok(match space {
            // That may have taken long: the time to wait counts from the next step.
            Space::Full => self.then(Stage::AwaitRoom),
            Space::Plenty => Next::Feed,
        })
    }

    pub(super) fn is_full(&self) -> bool {
        self.space == Space::Full
    }
}
