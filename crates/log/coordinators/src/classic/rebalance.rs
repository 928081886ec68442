//! Rebalances: how one begins, how long it waits for whom, and what ends it. Each wait has an end, whatever members do (L53).

use log_wire::ErrorCode;

use super::{ClassicGroup, Phase};
use crate::turn::Turn;
use crate::{Answer, Text};

impl ClassicGroup {
    /// Begins a rebalance.
    pub(crate) fn prepare(&mut self, turn: &mut Turn<'_>) {
        for member in self.members.values_mut() {
            if let Some(ticket) = member.syncing.take() {
                turn.fail(ticket, ErrorCode::RebalanceInProgress);
                member.deadline = turn.now.plus_ms(member.stored.session_timeout_ms);
            }
        }
        let whole = self.rebalance_timeout_ms();
        self.phase = if self.phase == Phase::Empty {
            let delay = turn.limits.initial_rebalance_delay_ms.min(whole);
            let deadline = turn.now.plus_ms(delay);
            Phase::Preparing { deadline, initial_left_ms: Some(whole - delay), grown: false }
        } else {
            Phase::Preparing { deadline: turn.now.plus_ms(whole), initial_left_ms: None, grown: false }
        };
    }

    pub(super) fn complete_if_all_joined(&mut self, turn: &mut Turn<'_>) {
        let Phase::Preparing { initial_left_ms: None, .. } = self.phase else { return };
        if self.expected.is_empty() && self.members.values().all(|member| member.joining.is_some()) {
            self.complete(turn);
        }
    }

    /// Removes a member; the others rebalance.
    pub(crate) fn remove(&mut self, id: &Text, turn: &mut Turn<'_>) {
        let Some(member) = self.members.remove(id) else { return };
        for ticket in [member.joining, member.syncing].into_iter().flatten() {
            turn.fail(ticket, ErrorCode::UnknownMemberId);
        }
        if let Some(instance) = &member.stored.instance {
            self.instances.remove(instance);
        }
        if matches!(self.phase, Phase::Stable | Phase::Completing { .. }) {
            self.prepare(turn);
        }
        self.complete_if_all_joined(turn);
    }

    /// Ends the wait for members: the next generation begins with those that joined, and with static members, which stay
    /// until their session ends.
    fn complete(&mut self, turn: &mut Turn<'_>) {
        self.members.retain(|_, member| member.joining.is_some() || member.stored.instance.is_some());
        if self.members.is_empty() {
            self.generation = self.generation.next();
            (self.protocol, self.leader) = ("".into(), "".into());
            (self.phase, self.assigned) = (Phase::Empty, false);
            (self.empty_since, self.dirty) = (turn.wall, true);
            return;
        }
        let Some(first) = self.by_rank().find(|member| member.joining.is_some()) else {
            let deadline = turn.now.plus_ms(self.rebalance_timeout_ms().max(1));
            self.phase = Phase::Preparing { deadline, initial_left_ms: None, grown: false };
            return;
        };
        let first = first.stored.id.clone();
        if self.members.get(&self.leader).is_none_or(|leader| leader.joining.is_none()) {
            self.leader = first;
        }
        self.generation = self.generation.next();
        self.assigned = false;
        self.protocol = self.choose_protocol();
        self.phase = Phase::Completing { deadline: turn.now.plus_ms(self.rebalance_timeout_ms()) };
        // The generation is durable before a member hears of it: after a failover it cannot be given out again (L49).
        self.dirty = true;
        self.answer_joins(turn);
    }

    fn answer_joins(&mut self, turn: &mut Turn<'_>) {
        let ids: Vec<_> = self.members.keys().cloned().collect();
        for id in ids {
            let Some(member) = self.members.get_mut(&id) else { continue };
            let Some(ticket) = member.joining.take() else { continue };
            member.deadline = turn.now.plus_ms(member.stored.session_timeout_ms);
            turn.reply(ticket, Answer::Joined(self.joined(&id)));
        }
    }

    /// The protocol that most members prefer among those that all support.
    pub(crate) fn choose_protocol(&self) -> Text {
        let nobody: Text = "".into();
        let mut votes: Vec<(Text, usize)> = Vec::new();
        for member in self.by_rank() {
            let mut names = member.stored.protocols.iter().map(|(name, _)| name);
            let Some(name) = names.find(|name| self.all_support(name, &nobody)) else { continue };
            match votes.iter_mut().find(|(voted, _)| voted == name) {
                Some((_, count)) => *count += 1,
                None => votes.push((name.clone(), 1)),
            }
        }
        let most = votes.iter().map(|(_, count)| *count).max();
        votes.into_iter().find(|(_, count)| Some(*count) == most).map_or(nobody, |(name, _)| name)
    }

    /// Does what is due: expels silent members, and ends a wait that is over.
    pub(crate) fn expire(&mut self, turn: &mut Turn<'_>) {
        self.expected.retain(|_, deadline| *deadline > turn.now);
        let silent = self.members.values().filter(|member| {
            member.joining.is_none() && member.syncing.is_none() && member.deadline <= turn.now
        });
        let silent: Vec<_> = silent.map(|member| member.stored.id.clone()).collect();
        for id in &silent {
            self.remove(id, turn);
        }
        self.complete_if_all_joined(turn);
        match self.phase {
            Phase::Preparing { deadline, initial_left_ms, grown } if deadline <= turn.now => {
                match initial_left_ms {
                    Some(left) if grown && left > 0 => self.prolong(left, turn),
                    _ => self.complete(turn),
                }
            }
            Phase::Completing { deadline } if deadline <= turn.now => self.expel_unsynced(turn),
            _ => {}
        }
    }

    /// The first rebalance goes on while members still arrive.
    fn prolong(&mut self, left: u64, turn: &Turn<'_>) {
        let delay = turn.limits.initial_rebalance_delay_ms.min(left);
        let deadline = turn.now.plus_ms(delay);
        self.phase = Phase::Preparing { deadline, initial_left_ms: Some(left - delay), grown: false };
    }

    fn expel_unsynced(&mut self, turn: &mut Turn<'_>) {
        let late = self.members.values().filter(|member| member.syncing.is_none());
        let late: Vec<_> = late.map(|member| member.stored.id.clone()).collect();
        self.prepare(turn);
        for id in &late {
            self.remove(id, turn);
        }
    }

    /// Looks at all deadlines anew.
    pub(crate) fn set_deadlines(&mut self) {
        let ids = self.members.keys();
        let of_members: Vec<_> = ids.filter_map(|id| Some((id.clone(), self.deadline_of(id)?))).collect();
        let of_phase = match self.phase {
            Phase::Preparing { deadline, .. } | Phase::Completing { deadline } => Some(deadline),
            Phase::Empty | Phase::Stable => None,
        };
        let of_group = self.expected.values().copied().chain(of_phase).min();
        self.deadlines.set_all(of_members.into_iter(), of_group);
    }
}
