//! What all coordinators have in common.

use base::{MonoTime, Now};
use log_coordinators::{
    Answer, Damaged, Effect, GroupCoordinator, Record, Seq, TransactionAnswer, TransactionCoordinator,
    TransactionEffect,
};
use log_share::{ShareCoordinator, StateAnswer, StateEffect};
use log_wire::ErrorCode;

/// What a coordinator wants done.
pub(crate) enum Sorted<E> {
    /// Records are to be appended.
    Append(Seq, Vec<Record>),
    /// It is to be made sure that it still is the coordinator before the rest is done.
    Confirm,
    /// Its owner does it.
    Other(E),
}

/// A coordinator as this crate drives it.
pub(crate) trait Machine {
    /// What it wants done.
    type Effect: std::fmt::Debug;
    /// Takes over a record of its partition.
    fn load(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), Damaged>;
    /// Its partition is read to the end.
    fn loaded(&mut self, now: Now);
    /// Its append of that number is committed.
    fn persisted(&mut self, seq: Seq, now: Now);
    /// Takes what it wants done.
    fn take_effects(&mut self) -> Vec<Self::Effect>;
    /// Which kind that is.
    fn sort(effect: Self::Effect) -> Sorted<Self::Effect>;
    /// Another broker coordinates this partition: what is left to be done.
    fn resign(self) -> Vec<Self::Effect>;
    /// What is left of that then: a request is answered with NOT_COORDINATOR.
    fn withdraw(effect: Self::Effect) -> Option<Self::Effect>;
    /// Its append of that number was refused.
    fn refused(&mut self, seq: Seq, now: Now);
    /// Time passes.
    fn tick(&mut self, now: Now);
    /// When it wants to hear of the time.
    fn next_deadline(&self) -> Option<MonoTime>;
}

macro_rules! machine {
    ($machine:ty, $effect:ident, $answer:ident) => {
        impl Machine for $machine {
            type Effect = $effect;

            fn load(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), Damaged> {
                <$machine>::load(self, key, value)
            }

            fn loaded(&mut self, now: Now) {
                <$machine>::loaded(self, now);
            }

            fn persisted(&mut self, seq: Seq, now: Now) {
                <$machine>::persisted(self, seq, now);
            }

            fn take_effects(&mut self) -> Vec<$effect> {
                <$machine>::take_effects(self)
            }

            fn sort(effect: $effect) -> Sorted<$effect> {
                match effect {
                    $effect::Append { seq, records } => Sorted::Append(seq, records),
                    $effect::Confirm => Sorted::Confirm,
                    other => Sorted::Other(other),
                }
            }

            fn resign(self) -> Vec<$effect> {
                <$machine>::resign(self)
            }

            fn withdraw(effect: $effect) -> Option<$effect> {
                let $effect::Reply { ticket, .. } = effect else { return None };
                let answer = $answer::Failed(ErrorCode::NotCoordinator);
                Some($effect::Reply { ticket, answer })
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

machine!(GroupCoordinator, Effect, Answer);
machine!(TransactionCoordinator, TransactionEffect, TransactionAnswer);
machine!(ShareCoordinator, StateEffect, StateAnswer);
