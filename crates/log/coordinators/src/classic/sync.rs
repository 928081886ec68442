//! SyncGroup, Heartbeat and LeaveGroup.

use std::collections::BTreeMap;

use log_wire::ErrorCode;

use super::{ClassicGroup, Phase};
use crate::turn::Turn;
use crate::{Answer, Blob, MemberRef, Sync, Synced, Text, Ticket};

/// A group is small that has no more members, and no more bytes of what they said and are to do.
const SMALL_MEMBERS_MAX: usize = 128;
const SMALL_BYTES_MAX: usize = 64 << 10;

impl ClassicGroup {
    pub(crate) fn sync(&mut self, sync: Sync, ticket: Ticket, turn: &mut Turn<'_>) {
        if let Err(code) = self.may_sync(&sync) {
            return turn.fail(ticket, code);
        }
        let id = &sync.who.member;
        self.touch(id, turn.now);
        match self.phase {
            Phase::Empty => turn.fail(ticket, ErrorCode::UnknownMemberId),
            Phase::Preparing { .. } => turn.fail(ticket, ErrorCode::RebalanceInProgress),
            Phase::Stable => turn.reply(ticket, Answer::Synced(self.synced(id))),
            Phase::Completing { .. } => {
                let Some(member) = self.members.get_mut(id) else { return };
                if let Some(earlier) = member.syncing.replace(ticket) {
                    turn.fail(earlier, ErrorCode::RebalanceInProgress);
                }
                if self.leader == *id {
                    self.assign(sync.assignments, turn);
                }
            }
        }
    }

    fn may_sync(&self, sync: &Sync) -> Result<(), ErrorCode> {
        self.check(&sync.who)?;
        match &sync.protocol {
            Some((kind, name)) if *kind != self.protocol_type || *name != self.protocol => {
                Err(ErrorCode::InconsistentGroupProtocol)
            }
            _ => Ok(()),
        }
    }

    /// The leader's assignment, once for each generation (L48).
    fn assign(&mut self, assignments: Vec<(Text, Blob)>, turn: &mut Turn<'_>) {
        let mut assignments: BTreeMap<_, _> = assignments.into_iter().collect();
        let bytes: usize = assignments.values().map(|assignment| assignment.len()).sum();
        if bytes > turn.limits.group_bytes_max {
            return self.prepare(turn);
        }
        (self.phase, self.assigned, self.dirty) = (Phase::Stable, true, true);
        for member in self.members.values_mut() {
            member.stored.assignment =
                assignments.remove(&member.stored.id).unwrap_or_else(|| Blob::from(&[][..]));
        }
        let ids: Vec<_> = self.members.keys().cloned().collect();
        for id in ids {
            let waiting = self.members.get_mut(&id).and_then(|member| member.syncing.take());
            if let Some(ticket) = waiting {
                self.touch(&id, turn.now);
                turn.reply(ticket, Answer::Synced(self.synced(&id)));
            }
        }
    }

    fn synced(&self, id: &Text) -> Synced {
        let nothing = || Blob::from(&[][..]);
        Synced {
            protocol_type: self.protocol_type.clone(),
            protocol: self.protocol.clone(),
            assignment: self.members.get(id).map_or_else(nothing, |member| member.stored.assignment.clone()),
        }
    }

    pub(crate) fn heartbeat(&mut self, who: &MemberRef, now: base::MonoTime) -> Answer {
        if let Err(code) = self.check(who) {
            return Answer::Failed(code);
        }
        self.touch(&who.member, now);
        match self.phase {
            Phase::Preparing { .. } => Answer::Failed(ErrorCode::RebalanceInProgress),
            _ => Answer::Done,
        }
    }

    pub(crate) fn leave(&mut self, id: &Text, instance: Option<&Text>, turn: &mut Turn<'_>) -> ErrorCode {
        if self.expected.remove(id).is_some() {
            self.complete_if_all_joined(turn);
            return ErrorCode::None;
        }
        let id = match instance.map(|instance| self.instances.get(instance).cloned()) {
            Some(Some(owner)) if id.is_empty() => owner,
            _ => id.clone(),
        };
        if let Err(code) = self.check_identity(&id, instance) {
            return code;
        }
        self.remove(&id, turn);
        // What is answered holds after a failover too: otherwise the others would wait for the session of a member that has left. Of a
        // large group that is not written: a thousand members that leave one after the other would write it a thousand times.
        self.dirty |= matches!(self.phase, Phase::Preparing { .. }) && self.is_small();
        ErrorCode::None
    }

    fn is_small(&self) -> bool {
        self.members.len() <= SMALL_MEMBERS_MAX && self.bytes() <= SMALL_BYTES_MAX
    }
}
