//! A member that is removed while it lives: it parts from its clients before the others go on without it.
//!
//! It learns of its removal when the new members are applied from the log. From then on it takes no new session and says
//! that it does not serve, so that its driver parts from clients as at a stop: what was asked is answered, and they go
//! elsewhere. The leader waits a moment before it takes the vote away, for without new entries nothing more could be
//! answered; and one that is itself removed hands leadership over.

use base::MonoTime;

/// What this member knows of removals.
#[derive(Debug, Default)]
pub(super) struct Leaving {
    /// Whether the members that are to be named this one.
    named: bool,
    /// Whether they did, and do no more.
    leaves: bool,
    /// When they changed last.
    pub(super) changed: MonoTime,
}

impl Leaving {
    pub(super) fn new(named: bool) -> Self {
        Self { named, ..Self::default() }
    }

    /// The members that are to be have changed.
    pub(super) const fn changed(&mut self, named: bool, now: MonoTime) {
        self.leaves = !named && (self.named || self.leaves);
        (self.named, self.changed) = (named, now);
    }

    pub(super) const fn is_leaving(&self) -> bool {
        self.leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn member_leaves_only_where_it_was_named() {
        let leaves = |before: bool, then: &[bool]| {
            let mut leaving = Leaving::new(before);
            then.iter().for_each(|named| leaving.changed(*named, MonoTime::of_ms(1)));
            leaving.leaves
        };
        assert!(leaves(true, &[false]) && leaves(false, &[true, false]) && leaves(true, &[false, false]));
        assert!(!leaves(true, &[]) && !leaves(false, &[false]) && !leaves(true, &[false, true]));
    }
}
