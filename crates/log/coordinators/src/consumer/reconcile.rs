//! One step of a member towards its target. The step is a function of what the member holds, what it is to own, what others
//! hold, and what it says that it owns.

use super::ConsumerGroup;
use crate::stored_consumer::{MemberState, Owned, StoredConsumerMember};
use crate::turn::Turn;
use crate::{Epoch, Partitions, Text, TopicId};

/// What a step looks at besides the member.
struct Step<'a> {
    target: &'a Partitions,
    target_epoch: Epoch,
    /// What the member says that it owns. Nothing means that it does not say so.
    owned: Option<&'a Partitions>,
    reads: &'a dyn Fn(&TopicId) -> bool,
    others_hold: &'a dyn Fn(&TopicId, i32) -> bool,
}

impl ConsumerGroup {
    /// Leads a member one step.
    pub(super) fn reconcile(
        &mut self,
        id: &Text,
        subscription_changed: bool,
        owned: Option<&Partitions>,
        turn: &Turn<'_>,
    ) {
        let Some(member) = self.members.get(id) else { return };
        let before = &member.stored;
        if !subscription_changed && self.is_reconciled(before) {
            return;
        }
        let step = Step {
            target: &self.target_of(id),
            target_epoch: self.assignment_epoch,
            owned,
            reads: &|topic| self.subscriptions.reads(before, topic),
            others_hold: &|topic, number| self.holders.others_hold(topic, number, before),
        };
        let after = step.take(before, subscription_changed);
        // Only what is new, or what comes behind what it has given up, gives it more time.
        let more_time =
            before.state != MemberState::Unrevoked || !contains(&after.revoking, &before.revoking);
        self.put(after.into(), turn.now);
        let Some(member) = self.members.get_mut(id) else { return };
        if member.stored.classic.is_some() || member.stored.state != MemberState::Unrevoked {
            member.rebalance = None;
        } else if more_time {
            member.rebalance = Some(turn.now.plus_ms(member.stored.rebalance_timeout_ms));
        }
    }
}

impl Step<'_> {
    fn take(&self, member: &StoredConsumerMember, subscription_changed: bool) -> StoredConsumerMember {
        let waits = match member.state {
            MemberState::Stable => member.epoch == self.target_epoch,
            MemberState::Unrevoked => self.still_owns(&member.revoking),
            MemberState::Unreleased => false,
        };
        match (waits, subscription_changed) {
            (false, _) => self.next(member),
            (true, true) => self.drop_unread(member),
            (true, false) => member.clone(),
        }
    }

    /// Towards the newest target. What the member had to give up before is given up.
    fn next(&self, member: &StoredConsumerMember) -> StoredConsumerMember {
        let mut next = member.clone();
        next.revoking = take_if(&mut next.assigned, |id, number| !self.wants(id, number));
        if !next.revoking.is_empty() && self.still_owns(&next.revoking) {
            next.state = MemberState::Unrevoked;
            return next;
        }
        next.revoking.clear();
        next.state = MemberState::Stable;
        for (id, numbers) in self.target.iter().filter(|(id, _)| (self.reads)(id)) {
            for number in numbers {
                let has = next.assigned.get(id).is_some_and(|numbers| numbers.contains_key(number));
                if has {
                    continue;
                }
                if (self.others_hold)(id, *number) {
                    next.state = MemberState::Unreleased;
                } else {
                    next.assigned.entry(*id).or_default().insert(*number, self.target_epoch);
                }
            }
        }
        if next.epoch != self.target_epoch {
            next.advance(self.target_epoch);
        }
        next
    }

    /// Topics that the member reads no more have to go at once, even if the target is not computed anew yet.
    fn drop_unread(&self, member: &StoredConsumerMember) -> StoredConsumerMember {
        let mut next = member.clone();
        let dropped = take_if(&mut next.assigned, |id, _| !(self.reads)(id));
        if dropped.is_empty() {
            return next;
        }
        let mut revoking = member.revoking.clone();
        for (id, numbers) in dropped {
            revoking.entry(id).or_default().extend(numbers);
        }
        if self.still_owns(&revoking) {
            (next.state, next.revoking) = (MemberState::Unrevoked, revoking);
        }
        next
    }

    fn wants(&self, id: &TopicId, number: i32) -> bool {
        (self.reads)(id) && self.target.get(id).is_some_and(|numbers| numbers.contains(&number))
    }

    /// Whether the member owns any of these, as far as it says.
    fn still_owns(&self, partitions: &Owned) -> bool {
        let Some(owned) = self.owned else { return true };
        let any = |(id, numbers): (&TopicId, &std::collections::BTreeMap<i32, Epoch>)| {
            owned.get(id).is_some_and(|owned| numbers.keys().any(|number| owned.contains(number)))
        };
        partitions.iter().any(any)
    }
}

/// Takes the partitions out that fulfil the condition.
fn take_if(from: &mut Owned, condition: impl Fn(&TopicId, i32) -> bool) -> Owned {
    let mut taken = Owned::new();
    for (id, numbers) in from.iter_mut() {
        let gone: Vec<_> = numbers.keys().copied().filter(|number| condition(id, *number)).collect();
        for number in gone {
            if let Some(since) = numbers.remove(&number) {
                taken.entry(*id).or_default().insert(number, since);
            }
        }
    }
    from.retain(|_, numbers| !numbers.is_empty());
    taken
}

fn contains(all: &Owned, some: &Owned) -> bool {
    some.iter().all(|(id, numbers)| {
        all.get(id).is_some_and(|all| numbers.keys().all(|number| all.contains_key(number)))
    })
}
