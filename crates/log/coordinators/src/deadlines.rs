//! When something is due in a group: for each of its members, and for the group as a whole. If one member is heard of, only its
//! deadline is looked at, so a heartbeat costs the same in large groups.

use std::collections::{BTreeMap, BTreeSet};

use base::MonoTime;

use crate::Text;

#[derive(Clone, Debug, Default)]
pub(crate) struct Deadlines {
    of_members: BTreeMap<Text, MonoTime>,
    in_order: BTreeSet<(MonoTime, Text)>,
    of_group: Option<MonoTime>,
    /// The time under which the coordinator's table of timers holds the group.
    pub(crate) timer: Option<MonoTime>,
}

impl Deadlines {
    /// All of them are these.
    pub(crate) fn set_all(
        &mut self,
        members: impl Iterator<Item = (Text, MonoTime)>,
        of_group: Option<MonoTime>,
    ) {
        self.of_members = members.collect();
        self.in_order = self.of_members.iter().map(|(member, at)| (*at, member.clone())).collect();
        self.of_group = of_group;
    }

    /// That of one member is this.
    pub(crate) fn set(&mut self, member: &Text, at: Option<MonoTime>) {
        let before = match at {
            Some(at) => self.of_members.insert(member.clone(), at),
            None => self.of_members.remove(member),
        };
        if let Some(before) = before {
            self.in_order.remove(&(before, member.clone()));
        }
        if let Some(at) = at {
            self.in_order.insert((at, member.clone()));
        }
    }

    /// The first one.
    pub(crate) fn first(&self) -> Option<MonoTime> {
        let of_members = self.in_order.first().map(|(at, _)| *at);
        of_members.into_iter().chain(self.of_group).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_deadline_follows_each_member_and_the_group() {
        let at = MonoTime::of_ms;
        let mut deadlines = Deadlines::default();
        deadlines.set_all([("a".into(), at(5)), ("b".into(), at(7))].into_iter(), Some(at(9)));
        assert_eq!(deadlines.first(), Some(at(5)));
        deadlines.set(&"a".into(), Some(at(8)));
        assert_eq!(deadlines.first(), Some(at(7)));
        deadlines.set(&"b".into(), None);
        assert_eq!(deadlines.first(), Some(at(8)));
        deadlines.set(&"c".into(), Some(at(1)));
        assert_eq!(deadlines.first(), Some(at(1)));
        deadlines.set_all(std::iter::empty(), Some(at(9)));
        assert_eq!(deadlines.first(), Some(at(9)));
    }
}
