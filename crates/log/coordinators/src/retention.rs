//! When offsets and empty groups go (L55). A check looks at the groups in the order of their names, some at a time, so that
//! requests pass in between.

use std::ops::Bound;

use base::MonoTime;

use crate::codec::Key;
use crate::group::Group;
use crate::{GroupCoordinator, Text};

/// How long a check waits before it looks at the next groups.
const PAUSE_MS: u64 = 10;

/// How far the check is.
#[derive(Clone, Debug, Default)]
pub(crate) struct RetentionCheck {
    /// When it begins or goes on.
    pub(crate) due: MonoTime,
    /// The last group that it looked at, if it has begun.
    at: Option<Text>,
}

impl GroupCoordinator {
    /// Looks at the next groups.
    pub(crate) fn check_retention(&mut self) {
        let reading = self.clock.reading();
        let mut looked_at = 0;
        while looked_at < self.limits.retention_records_per_tick {
            let Some(name) = self.next_name(self.retention.at.as_ref()) else {
                self.expire_producers();
                self.retention.at = None;
                self.retention.due = reading.plus_ms(self.limits.retention_check_ms);
                return;
            };
            looked_at += 1 + self.offsets_of(&name).count();
            self.expire_group(&name);
            self.retention.at = Some(name);
        }
        self.retention.due = reading.plus_ms(PAUSE_MS);
    }

    /// The next group in the order of names, one of offsets alone included.
    pub(crate) fn next_name(&self, behind: Option<&Text>) -> Option<Text> {
        let (group, first) = match behind {
            None => (self.groups.keys().next(), Text::from("")),
            Some(name) => {
                let bounds = (Bound::Excluded(name), Bound::Unbounded);
                let next = self.groups.range::<Text, _>(bounds).next();
                (next.map(|(name, _)| name), Text::from(format!("{name}\0")))
            }
        };
        let table = self.journal.table();
        let of_offsets = table.range(Key::Offset(first.clone(), "".into(), i32::MIN)..).next();
        let of_pending = table.range(Key::Pending(first, log_partition::ProducerId(i64::MIN))..).next();
        let owner = |entry: Option<(&Key, _)>| match entry {
            Some((Key::Offset(name, ..) | Key::Pending(name, _), _)) => Some(name.clone()),
            _ => None,
        };
        let of_offsets = of_offsets.filter(|(key, _)| matches!(key, Key::Offset(..)));
        [group.cloned(), owner(of_offsets), owner(of_pending)].into_iter().flatten().min()
    }

    /// Removes the offsets of a group whose retention is over, and the group if it has neither members nor offsets.
    fn expire_group(&mut self, name: &Text) {
        let (wall, retention) = (self.wall, self.limits.offsets_retention_ms);
        let (group, unstable) = (self.groups.get(name), self.unstable(name));
        let over = self.keys_of(name, |topic, stored| {
            let since = match group {
                None => stored.committed_at,
                Some(group) if group.is_empty() => stored.committed_at.max(group.empty_since()),
                Some(group) if group.has_dropped(topic) => stored.committed_at,
                Some(_) => return false,
            };
            wall.since(since) >= retention
        });
        for key in over {
            let stable = |topic: &Text, partition| !unstable.contains_key(&(topic.clone(), partition));
            if matches!(&key, Key::Offset(_, topic, partition) if stable(topic, *partition)) {
                self.remove_offset(key);
            }
        }
        let idle = |group: &Group| group.is_empty() && group.is_abandoned();
        if self.groups.get(name).is_some_and(idle) && !self.has_offsets(name) {
            self.remove_group(name);
        }
    }
}
