//! What all coordinators have in common.

use base::{MonoTime, Now};
use log_coordinators::{Damaged, GroupCoordinator, Seq, TransactionCoordinator};
use log_share::ShareCoordinator;

/// A coordinator as this crate drives it.
pub(crate) trait Machine {
    /// Takes over a record of its partition.
    fn load(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), Damaged>;
    /// Its partition is read to the end.
    fn loaded(&mut self, now: Now);
    /// Its append of that number is committed.
    fn persisted(&mut self, seq: Seq, now: Now);
    /// Its append of that number was refused.
    fn refused(&mut self, seq: Seq, now: Now);
    /// Time passes.
    fn tick(&mut self, now: Now);
    /// When it wants to hear of the time.
    fn next_deadline(&self) -> Option<MonoTime>;
}

macro_rules! machine {
    ($machine:ty) => {
        impl Machine for $machine {
            fn load(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), Damaged> {
                <$machine>::load(self, key, value)
            }

            fn loaded(&mut self, now: Now) {
                <$machine>::loaded(self, now);
            }

            fn persisted(&mut self, seq: Seq, now: Now) {
                <$machine>::persisted(self, seq, now);
            }

            fn refused(&mut self, seq: Seq, now: Now) {
                <$machine>::refused(self, seq, now);
            }

            fn tick(&mut self, now: Now) {
                <$machine>::tick(self, now);
            }

            fn next_deadline(&self) -> Option<MonoTime> {
                <$machine>::next_deadline(self)
            }
        }
    };
}

machine!(GroupCoordinator);
machine!(TransactionCoordinator);
machine!(ShareCoordinator);
