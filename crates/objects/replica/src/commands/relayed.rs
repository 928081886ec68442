//! What this leader has taken of members' commands in its present term. Members give everything again that is not applied;
//! a log that took all of it each time would grow faster than a member that lags can read.
//!
//! Forgotten with the term, and when something that was taken did not come into the log. It saves the log, and decides
//! nothing: the state passes over copies.

use objects_state::Source;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Relayed(Vec<Source>);

impl Relayed {
    /// Whether a command is new in this term.
    pub(crate) fn admit(&mut self, source: Source) -> bool {
        let Some(known) = self.0.iter_mut().find(|known| known.member == source.member) else {
            self.0.push(source);
            return true;
        };
        let is_new = (source.incarnation, source.sequence) > (known.incarnation, known.sequence);
        if is_new {
            *known = source;
        }
        is_new
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_is_not_taken_twice_in_a_term() {
        let mut relayed = Relayed::default();
        let of = |member, incarnation, sequence| Source { member, incarnation, sequence };
        let all = [of(1, 1, 1), of(1, 1, 2), of(1, 1, 1), of(2, 1, 1), of(1, 2, 1), of(1, 1, 3)];
        assert_eq!(all.map(|source| relayed.admit(source)), [true, true, false, true, true, false]);
        relayed.clear();
        assert!(relayed.admit(of(1, 1, 1)));
    }
}
