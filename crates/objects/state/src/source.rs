//! At most once, for every command: the last command of each member that was applied.
//!
//! A member numbers the commands that it gives to leaders. It gives one again when it does not know what became of it,
//! so the log may hold copies, also late ones. A number up to the last one applied is passed over. A member that sees a
//! higher number applied than that of a command which it still waits for knows that this one never will be, and gives it
//! again under a new number.

use crate::codec::{Cursor, Field, Malformed, put_varint, record};

record! {
    /// The member that gave a command to the leader, and its number for it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Source {
        /// The member's number in the configuration.
        pub member: u8,
        /// The member's process: a later one has a higher number.
        pub incarnation: u64,
        /// The command's number, rising from 1 in each process.
        pub sequence: u64,
    }
}

record! {
    /// A process of a member.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Process {
        pub(crate) member: u8,
        pub(crate) incarnation: u64,
    }
}

/// The last command of each member, in the order of their numbers: 256 at the most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sources(Vec<Source>);

impl Sources {
    /// Takes note of a command that is to be applied. False if it comes too late.
    pub(crate) fn admit(&mut self, source: Source) -> bool {
        match self.0.binary_search_by_key(&source.member, |known| known.member) {
            Ok(place) => {
                let last = &mut self.0[place];
                let is_new = (source.incarnation, source.sequence) > (last.incarnation, last.sequence);
                if is_new {
                    *last = source;
                }
                is_new
            }
            Err(place) => {
                self.0.insert(place, source);
                true
            }
        }
    }

    pub(crate) fn last(&self, member: u8) -> Option<Source> {
        self.0.iter().find(|known| known.member == member).copied()
    }
}

impl Field for Sources {
    fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, self.0.len() as u64);
        self.0.iter().for_each(|source| source.put(out));
    }

    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let mut sources: Vec<Source> = Vec::new();
        for _ in 0..cursor.varint()? {
            let source = Source::take(cursor)?;
            if sources.last().is_some_and(|last| last.member >= source.member) {
                return Err(Malformed("sources: out of order"));
            }
            sources.push(source);
        }
        Ok(Self(sources))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{decoded, encoded};

    const fn of(member: u8, incarnation: u64, sequence: u64) -> Source {
        Source { member, incarnation, sequence }
    }

    #[test]
    fn command_that_was_applied_or_passed_over_is_never_admitted_again() {
        let mut sources = Sources::default();
        let admitted = [of(2, 7, 1), of(2, 7, 1), of(2, 7, 4), of(2, 7, 3), of(1, 7, 1), of(2, 7, 5)]
            .map(|source| sources.admit(source));
        assert_eq!(admitted, [true, false, true, false, true, true]);
    }

    #[test]
    fn commands_of_an_earlier_process_end_with_the_first_of_the_next() {
        let mut sources = Sources::default();
        let admitted = [of(1, 7, 100), of(1, 9, 1), of(1, 7, 101), of(1, 9, 2)];
        assert_eq!(admitted.map(|source| sources.admit(source)), [true, true, false, true]);
        assert_eq!(sources.last(1), Some(of(1, 9, 2)));
    }

    #[test]
    fn sources_come_back_and_are_in_order() {
        let mut sources = Sources::default();
        (0..=255).rev().for_each(|member| assert!(sources.admit(of(member, 1, 1))));
        assert_eq!(decoded::<Sources>(&encoded(&sources)), Ok(sources));
        let twice = Sources(vec![of(1, 1, 1), of(1, 1, 2)]);
        assert!(decoded::<Sources>(&encoded(&twice)).is_err());
    }
}
