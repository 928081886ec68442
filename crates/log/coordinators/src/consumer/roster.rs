//! Members come, change and go. All that is derived of them follows here, and nowhere else.

use std::sync::Arc;

use base::{MonoTime, WallTime};

use super::{ConsumerGroup, Member};
use crate::stored_consumer::StoredConsumerMember;
use crate::{GroupConfig, GroupLimits, Partitions, Text};

impl ConsumerGroup {
    /// The member is so from now on. A new one gets its session with the first [`Self::touch`].
    pub(crate) fn put(&mut self, member: Arc<StoredConsumerMember>, now: MonoTime) {
        let id = member.id.clone();
        let known = self.members.get(&id).map(|known| Arc::clone(&known.stored));
        if known.as_ref() == Some(&member) {
            return;
        }
        self.holders.add(&member);
        self.subscriptions.add(&member);
        self.bytes += member.bytes();
        self.classic_members += usize::from(member.classic.is_some());
        // Behind the new counts: what both have in common must not be forgotten in between.
        if let Some(known) = known {
            self.discount(&known);
            self.release_instance(&known);
        }
        if let Some(instance) = &member.instance {
            self.instances.insert(instance.clone(), id.clone());
        }
        let new = |stored| Member { stored, session: now, rebalance: None, join: None, sync: None };
        let known = self.members.entry(id.clone()).or_insert_with(|| new(Arc::clone(&member)));
        known.stored = member;
        self.changes.members.insert(id);
    }

    /// Takes a member out, without consequences for the group's epoch. Gives what it was.
    pub(super) fn take_out(&mut self, id: &Text) -> Option<Arc<StoredConsumerMember>> {
        let member = self.members.remove(id)?.stored;
        self.discount(&member);
        self.release_instance(&member);
        self.deadlines.set(id, None);
        self.changes.members.insert(id.clone());
        if self.target.remove(id).is_some() {
            self.changes.targets.insert(id.clone());
        }
        Some(member)
    }

    fn discount(&mut self, member: &StoredConsumerMember) {
        self.holders.remove(member);
        self.subscriptions.remove(member);
        self.bytes -= member.bytes();
        self.classic_members -= usize::from(member.classic.is_some());
    }

    fn release_instance(&mut self, member: &StoredConsumerMember) {
        if let Some(instance) = member.instance.as_ref()
            && self.instances.get(instance) == Some(&member.id)
        {
            self.instances.remove(instance);
        }
    }

    /// A static member has started anew under another id: it takes over what the old one was to own, and the old id is gone.
    pub(super) fn succeed(&mut self, old: &Text, new: &Text) {
        let target = self.target_of(old);
        self.take_out(old);
        self.aim(new, target);
    }

    /// The member is to own this in the end.
    pub(crate) fn aim(&mut self, id: &Text, target: Arc<Partitions>) {
        let before = match target.is_empty() {
            true => self.target.remove(id),
            false => self.target.insert(id.clone(), Arc::clone(&target)),
        };
        if before.unwrap_or_default() != target {
            self.changes.targets.insert(id.clone());
        }
    }

    /// Removes members that left, or whose time is over. What they held is free: they have given it up, or were silent for so
    /// long that they know that they have lost it.
    pub(crate) fn remove(&mut self, ids: &[Text], wall: WallTime) {
        let gone = ids.iter().filter(|id| self.take_out(id).is_some()).count();
        if gone > 0 {
            self.bump();
            if self.members.is_empty() {
                self.empty_since = wall;
            }
        }
    }

    /// The target has to be computed anew.
    pub(super) fn bump(&mut self) {
        self.epoch = self.epoch.next();
        self.changes.group = true;
    }

    /// Something was heard of the member.
    pub(crate) fn touch(&mut self, id: &Text, config: GroupConfig, limits: &GroupLimits, now: MonoTime) {
        let Some(member) = self.members.get_mut(id) else { return };
        let ms = match &member.stored.classic {
            Some(classic) => classic.session_timeout_ms,
            None => config.session_timeout_ms(&limits.consumer),
        };
        member.session = now.plus_ms(ms);
        // A restored member has to give up in its whole rebalance timeout what it had to give up before.
        let revokes = member.stored.state == crate::stored_consumer::MemberState::Unrevoked;
        if revokes && member.stored.classic.is_none() && member.rebalance.is_none() {
            member.rebalance = Some(now.plus_ms(member.stored.rebalance_timeout_ms));
        }
    }
}
