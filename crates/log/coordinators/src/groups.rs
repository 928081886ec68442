//! The groups of a coordinator: each has its turn, and its records and its timer follow.

use log_wire::ErrorCode;

use crate::classic::ClassicGroup;
use crate::codec::{Key, Value};
use crate::consumer::{ConsumerGroup, Context};
use crate::conversion;
use crate::group::Group;
use crate::turn::Turn;
use crate::{Answer, GroupConfig, GroupCoordinator, Text, Topics};

impl GroupCoordinator {
    /// Lets a group act, does what is due in it, writes its records and sets its timer.
    pub(crate) fn turn<R>(
        &mut self,
        name: &Text,
        act: impl FnOnce(&mut Group, &mut Turn<'_>) -> R,
    ) -> Option<R> {
        let result = self.act(name, |group, turn| {
            let result = act(group, turn);
            group.expire(turn);
            result
        })?;
        self.groups.get_mut(name)?.set_deadlines();
        self.set_timer(name);
        self.after(name);
        Some(result)
    }

    /// Lets a group act in a way that may only move the deadline of this member: the others are not looked at.
    pub(crate) fn brief<R>(
        &mut self,
        name: &Text,
        member: &Text,
        act: impl FnOnce(&mut Group, &mut Turn<'_>) -> R,
    ) -> Option<R> {
        let result = self.act(name, act)?;
        self.groups.get_mut(name)?.set_deadline(member);
        self.set_timer(name);
        self.after(name);
        Some(result)
    }

    fn act<R>(&mut self, name: &Text, act: impl FnOnce(&mut Group, &mut Turn<'_>) -> R) -> Option<R> {
        let group = self.groups.get_mut(name)?;
        let mut turn = Turn {
            now: self.clock.reading(),
            wall: self.wall,
            limits: &self.limits,
            random: &mut self.random,
            replies: &mut self.replies,
        };
        let result = act(group, &mut turn);
        for (key, value) in group.take_changes(name) {
            if value.is_some() || self.journal.table().contains_key(&key) {
                self.journal.put(key, value);
            }
        }
        Some(result)
    }

    fn set_timer(&mut self, name: &Text) {
        let Some(group) = self.groups.get_mut(name) else { return };
        let deadlines = group.deadlines();
        let wanted = deadlines.first();
        if deadlines.timer != wanted {
            if let Some(at) = deadlines.timer.take() {
                self.timers.remove(&(at, name.clone()));
            }
            if let Some(at) = wanted {
                self.timers.insert((at, name.clone()));
            }
            deadlines.timer = wanted;
        }
    }

    /// Forgets a group that nobody is in and that has no record. Remembers one that is to change its type.
    fn after(&mut self, name: &Text) {
        let Some(group) = self.groups.get(name) else { return };
        let is_known = || group.keys(name).iter().any(|key| self.journal.table().contains_key(key));
        if group.is_abandoned() && !is_known() {
            return self.forget(name);
        }
        if let Group::Consumer(consumer) = group
            && consumer.is_classic_only()
            && self.limits.consumer.migration_policy.downgrades()
            && consumer.members.len() <= self.limits.group_size_max
        {
            self.leavers.insert(name.clone());
        }
    }

    /// Forgets a group, but not its records.
    pub(crate) fn forget(&mut self, name: &Text) {
        self.leavers.remove(name);
        if let Some(at) = self.groups.remove(name).and_then(|mut group| group.deadlines().timer.take()) {
            self.timers.remove(&(at, name.clone()));
        }
    }

    /// Forgets a group with its records. Its offsets stay.
    pub(crate) fn remove_group(&mut self, name: &Text) {
        let keys = self.groups.get(name).map(|group| group.keys(name)).unwrap_or_default();
        for key in keys {
            if self.journal.table().contains_key(&key) {
                self.journal.put(key, None);
            }
        }
        self.forget(name);
    }

    /// Makes a group what its records say, as after a replay. What waited in it fails.
    pub(crate) fn restore(&mut self, name: &Text) {
        if let Some(group) = self.groups.get(name) {
            for ticket in group.waiting() {
                self.replies.push((ticket, Answer::Failed(ErrorCode::CoordinatorNotAvailable)));
            }
        }
        self.forget(name);
        let (table, now) = (self.journal.table(), self.clock.reading());
        let group = match table.get(&Key::Group(name.clone())) {
            Some(Value::Group(stored)) => Some(Group::Classic(ClassicGroup::restored(stored, now))),
            _ => ConsumerGroup::restored(name, table, self.config(name), &self.limits, now)
                .map(Group::Consumer),
        };
        if let Some(group) = group {
            self.groups.insert(name.clone(), group);
            self.turn(name, |_, _| ());
        }
    }

    /// Puts another group in the place of one, whose records go, and whose waiting requests are told to come again.
    pub(crate) fn replace(&mut self, name: &Text, group: Group) {
        if let Some(before) = self.groups.get(name) {
            for ticket in before.waiting() {
                self.replies.push((ticket, Answer::Failed(ErrorCode::RebalanceInProgress)));
            }
        }
        self.remove_group(name);
        self.groups.insert(name.clone(), group);
        self.turn(name, |_, _| ());
    }

    /// Makes classic groups of the consumer groups that nobody of KIP-848 is in any more. That takes the names of topics, so it
    /// waits for a request.
    pub(crate) fn downgrade(&mut self, topics: &dyn Topics) {
        while let Some(name) = self.leavers.pop_first() {
            let Some(Group::Consumer(consumer)) = self.groups.get(&name) else { continue };
            if !consumer.is_classic_only() {
                continue;
            }
            let mut turn = Turn {
                now: self.clock.reading(),
                wall: self.wall,
                limits: &self.limits,
                random: &mut self.random,
                replies: &mut self.replies,
            };
            let classic = conversion::downgraded(consumer, topics, &mut turn);
            self.replace(&name, Group::Classic(classic));
        }
    }

    /// What a consumer group's request may use.
    pub(crate) fn context<'t>(&self, name: &Text, topics: &'t dyn Topics) -> Context<'t> {
        Context { topics, config: self.config(name) }
    }

    fn config(&self, name: &Text) -> GroupConfig {
        self.configs.get(name).copied().unwrap_or_default()
    }
}
