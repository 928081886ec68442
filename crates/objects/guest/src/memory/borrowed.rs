//! A reference that functions of the host find in their instance while a run lasts. The engine's store wants data that lives
//! for ever; a run's host does not.

use std::ptr::NonNull;

use objects_state::guest::Host;

/// The host of the run that is under way, if one is.
#[derive(Default)]
pub(crate) struct Borrowed {
    host: Option<NonNull<dyn Host>>,
}

// SAFETY: it is used only by the thread that is in `lend`, while it is.
unsafe impl Send for Borrowed {}
// SAFETY: as above.
unsafe impl Sync for Borrowed {}

impl Borrowed {
    /// Asks the host.
    pub(crate) fn ask<T>(&self, question: impl FnOnce(&dyn Host) -> T) -> Option<T> {
        // SAFETY: there is a pointer only within `lend`, whose caller holds the reference.
        self.host.map(|host| question(unsafe { host.as_ref() }))
    }
}

/// Puts the host into `slot` while `body` runs, and takes it out whatever happens.
pub(crate) fn lend<S, T>(
    subject: &mut S,
    slot: impl Fn(&mut S) -> &mut Borrowed,
    host: &dyn Host,
    body: impl FnOnce(&mut S) -> T,
) -> T {
    struct Back<'a, S, F: Fn(&mut S) -> &mut Borrowed> {
        subject: &'a mut S,
        slot: F,
    }
    impl<S, F: Fn(&mut S) -> &mut Borrowed> Drop for Back<'_, S, F> {
        fn drop(&mut self) {
            (self.slot)(self.subject).host = None;
        }
    }
    let pointer: NonNull<dyn Host + '_> = NonNull::from(host);
    // SAFETY: only the lifetime changes; the pointer is taken out again before this function returns or unwinds.
    let pointer: NonNull<dyn Host + 'static> = unsafe { std::mem::transmute(pointer) };
    slot(subject).host = Some(pointer);
    let back = Back { subject, slot };
    body(back.subject)
}
