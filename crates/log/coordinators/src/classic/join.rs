//! JoinGroup: who may join, which id it gets, and whether the group has to rebalance for it.

use log_wire::ErrorCode;

use super::{ClassicGroup, Phase};
use crate::codec::StoredMember;
use crate::consumer_protocol::{self, PROTOCOL_TYPE, topics};
use crate::turn::Turn;
use crate::{Answer, Blob, Join, Joined, JoinedMember, Text, Ticket};

/// The first version whose new members are sent back with an id (KIP-394).
const MEMBER_ID_REQUIRED: i16 = 4;
/// The first version that knows that the leader need not assign (KIP-814).
const SKIP_ASSIGNMENT: i16 = 9;

impl ClassicGroup {
    pub(crate) fn join(&mut self, join: Join, ticket: Ticket, turn: &mut Turn<'_>) {
        if let Err(code) = self.may_join(&join, turn) {
            return turn.fail(ticket, code);
        }
        let who = &join.who;
        if !who.member.is_empty() {
            if self.expected.remove(&who.member).is_some() {
                let id = who.member.clone();
                return self.add(id, join, ticket, turn);
            }
            return self.join_again(join, ticket, turn);
        }
        let id = turn.fresh_id(who.instance.as_ref().unwrap_or(&join.client_id));
        match who.instance.as_ref().map(|instance| self.instances.get(instance).cloned()) {
            Some(Some(old)) => self.replace_static(&old, id, join, ticket, turn),
            None if join.version >= MEMBER_ID_REQUIRED => {
                self.expected.insert(id.clone(), turn.now.plus_ms(join.session_timeout_ms));
                turn.reply(ticket, Answer::MemberIdRequired(id));
            }
            Some(None) | None => self.add(id, join, ticket, turn),
        }
    }

    fn may_join(&self, join: &Join, turn: &Turn<'_>) -> Result<(), ErrorCode> {
        let who = &join.who;
        let known = self.members.contains_key(&who.member)
            || self.expected.contains_key(&who.member)
            || who.instance.as_ref().is_some_and(|instance| self.instances.contains_key(instance));
        if !known && self.members.len() + self.expected.len() >= turn.limits.group_size_max {
            return Err(ErrorCode::GroupMaxSizeReached);
        }
        if self.bytes() + member_bytes(join) > turn.limits.group_bytes_max {
            return Err(ErrorCode::GroupMaxSizeReached);
        }
        if join.protocol_type.is_empty() || join.protocols.is_empty() {
            return Err(ErrorCode::InconsistentGroupProtocol);
        }
        if self.members.is_empty() {
            return Ok(());
        }
        let common = join.protocols.iter().any(|(name, _)| self.all_support(name, &who.member));
        if join.protocol_type != self.protocol_type || !common {
            return Err(ErrorCode::InconsistentGroupProtocol);
        }
        Ok(())
    }

    /// Bytes of the protocols and the assignments of all members.
    pub(super) fn bytes(&self) -> usize {
        let bytes = |member: &super::Member| {
            let protocols: usize =
                member.stored.protocols.iter().map(|(name, metadata)| name.len() + metadata.len()).sum();
            protocols + member.stored.assignment.len()
        };
        self.members.values().map(bytes).sum()
    }

    /// Whether every member but `except` knows the protocol.
    pub(super) fn all_support(&self, protocol: &Text, except: &Text) -> bool {
        let others = self.members.values().filter(|member| member.stored.id != *except);
        others.into_iter().all(|member| member.stored.protocols.iter().any(|(name, _)| name == protocol))
    }

    fn add(&mut self, id: Text, join: Join, ticket: Ticket, turn: &mut Turn<'_>) {
        if let Some(instance) = &join.who.instance
            && self.instances.contains_key(instance)
        {
            return turn.fail(ticket, ErrorCode::FencedInstanceId);
        }
        self.protocol_type = join.protocol_type.clone();
        self.insert(stored(id.clone(), join), turn.now);
        if let Phase::Preparing { grown, .. } = &mut self.phase {
            *grown = true;
        }
        self.wait_for_join(&id, ticket, turn);
    }

    fn join_again(&mut self, join: Join, ticket: Ticket, turn: &mut Turn<'_>) {
        let id = join.who.member.clone();
        if let Err(code) = self.check_identity(&id, join.who.instance.as_ref()) {
            return turn.fail(ticket, code);
        }
        let leads = self.leader == id;
        let Some(member) = self.members.get_mut(&id) else { return };
        let changed = member.stored.protocols != join.protocols;
        let assignment = std::mem::replace(&mut member.stored.assignment, Blob::from(&[][..]));
        member.stored = stored(id.clone(), join);
        member.stored.assignment = assignment;
        self.touch(&id, turn.now);
        let rebalance = match self.phase {
            Phase::Empty | Phase::Preparing { .. } => true,
            Phase::Completing { .. } => changed,
            Phase::Stable => changed || leads,
        };
        match rebalance {
            true => self.wait_for_join(&id, ticket, turn),
            false => turn.reply(ticket, Answer::Joined(self.joined(&id))),
        }
    }

    /// A static member has started anew: it gets a new id, and the old id is fenced (KIP-345).
    fn replace_static(&mut self, old: &Text, id: Text, join: Join, ticket: Ticket, turn: &mut Turn<'_>) {
        let Some(mut member) = self.members.remove(old) else { return };
        for waiting in [member.joining.take(), member.syncing.take()].into_iter().flatten() {
            turn.fail(waiting, ErrorCode::FencedInstanceId);
        }
        let (version, leader_before) = (join.version, self.leader.clone());
        let same = self.same_subscription(&member.stored, &join) && !self.was_giving_up(&member.stored);
        let assignment = member.stored.assignment.clone();
        member.stored = stored(id.clone(), join);
        member.stored.assignment = assignment;
        if let Some(instance) = &member.stored.instance {
            self.instances.insert(instance.clone(), id.clone());
        }
        self.members.insert(id.clone(), member);
        self.touch(&id, turn.now);
        if self.leader == *old {
            self.leader = id.clone();
        }
        if self.phase != Phase::Stable || !same || self.choose_protocol() != self.protocol {
            return self.wait_for_join(&id, ticket, turn);
        }
        self.dirty = true;
        let mut joined = self.joined(&id);
        if version >= SKIP_ASSIGNMENT {
            joined.skip_assignment = joined.leader == id;
        } else {
            // An older client that sees itself lead would assign anew: it is told the id of before.
            joined.leader = leader_before;
            joined.members.clear();
        }
        turn.reply(ticket, Answer::Joined(joined));
    }

    /// A restarted consumer owns nothing yet and says so in its metadata: only its topics tell whether something changed.
    fn same_subscription(&self, before: &StoredMember, join: &Join) -> bool {
        let Some((_, after)) = join.protocols.iter().find(|(name, _)| *name == self.protocol) else {
            return false;
        };
        let before = self.metadata(before);
        let parsed = topics(&before).zip(topics(after)).filter(|_| &*self.protocol_type == "consumer");
        parsed.map_or(before == *after, |(before, after)| before == after)
    }

    /// Whether the member had to give up partitions, and to join again so that another one gets them: it did not come to that, and
    /// nobody would get them (L53). Kafka does not look.
    fn was_giving_up(&self, before: &StoredMember) -> bool {
        &*self.protocol_type == PROTOCOL_TYPE
            && consumer_protocol::was_giving_up(&self.metadata(before), &before.assignment)
    }

    fn wait_for_join(&mut self, id: &Text, ticket: Ticket, turn: &mut Turn<'_>) {
        if !matches!(self.phase, Phase::Preparing { .. }) {
            self.prepare(turn);
        }
        if let Some(member) = self.members.get_mut(id)
            && let Some(earlier) = member.joining.replace(ticket)
        {
            turn.fail(earlier, ErrorCode::RebalanceInProgress);
        }
        self.complete_if_all_joined(turn);
    }

    /// What a member of the present generation is told.
    pub(super) fn joined(&self, id: &Text) -> Joined {
        let member = |member: &super::Member| JoinedMember {
            member: member.stored.id.clone(),
            instance: member.stored.instance.clone(),
            metadata: self.metadata(&member.stored),
        };
        let leads = self.leader == *id;
        Joined {
            generation: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            leader: self.leader.clone(),
            member: id.clone(),
            members: if leads { self.by_rank().map(member).collect() } else { Vec::new() },
            skip_assignment: false,
        }
    }
}

/// Bytes that a member takes in the group's record.
pub(crate) fn member_bytes(join: &Join) -> usize {
    let protocols: usize = join.protocols.iter().map(|(name, metadata)| name.len() + metadata.len()).sum();
    protocols + join.client_id.len() + join.client_host.len() + join.protocol_type.len()
}

fn stored(id: Text, join: Join) -> StoredMember {
    StoredMember {
        id,
        instance: join.who.instance,
        client_id: join.client_id,
        client_host: join.client_host,
        session_timeout_ms: join.session_timeout_ms,
        rebalance_timeout_ms: join.rebalance_timeout_ms,
        protocols: join.protocols,
        assignment: Blob::from(&[][..]),
    }
}
