//! Which group answers a request, and what a group of another type, or none, answers.

use log_wire::ErrorCode;

use crate::classic::{ClassicGroup, Phase};
use crate::codec::Key;
use crate::consumer::{ConsumerGroup, check_heartbeat};
use crate::conversion;
use crate::group::Group;
use crate::turn::Turn;
use crate::{
    Answer, ConsumerHeartbeat, Epoch, GroupCoordinator, Join, Leave, MemberRef, MigrationPolicy, Request,
    Sync, Text, Ticket, Topics,
};

impl GroupCoordinator {
    pub(crate) fn dispatch(
        &mut self,
        request: Request,
        ticket: Ticket,
        topics: &dyn Topics,
    ) -> Option<Answer> {
        Some(match request {
            Request::Join(join) => return self.join(join, ticket, topics),
            Request::Sync(sync) => return self.sync(sync, ticket, topics),
            Request::Heartbeat(who) => self.heartbeat(&who, topics),
            Request::Leave(leave) => self.leave(&leave),
            Request::ConsumerHeartbeat(heartbeat) => {
                let answer = self.consumer_heartbeat(heartbeat, topics);
                answer.map_or_else(Answer::Failed, Answer::ConsumerHeartbeat)
            }
            Request::Commit(commit) => self.commit(commit),
            Request::TxnCommit(commit) => self.commit_pending(commit),
            Request::EndTransaction(marker) => self.end_transaction(&marker).unwrap_or_else(Answer::Failed),
            Request::Fetch(groups) => self.fetch(groups),
            Request::DeleteOffsets(group, partitions) => self.delete_offsets(&group, &partitions, topics),
            Request::Describe(groups) => {
                Answer::Described(groups.iter().map(|group| self.describe(group)).collect())
            }
            Request::ConsumerDescribe(groups) => Answer::ConsumerDescribed(
                groups.iter().map(|group| self.describe_consumers(group, topics)).collect(),
            ),
            Request::List(states) => self.list(&states),
            Request::DeleteGroups(groups) => {
                Answer::Each(groups.iter().map(|group| self.delete_group(group)).collect())
            }
            Request::TopicsDeleted(topics) => self.topics_deleted(&topics),
        })
    }

    fn join(&mut self, join: Join, ticket: Ticket, topics: &dyn Topics) -> Option<Answer> {
        if let Err(code) = self.check_join(&join) {
            return Some(Answer::Failed(code));
        }
        let name = join.who.group.clone();
        let context = self.context(&name, topics);
        match self.groups.get(&name) {
            Some(Group::Consumer(group)) if !group.members.is_empty() => {
                if self.limits.consumer.migration_policy == MigrationPolicy::Disabled {
                    return Some(Answer::Failed(ErrorCode::InconsistentGroupProtocol));
                }
                let answer = self.turn(&name, |group, turn| match group {
                    Group::Consumer(group) => group.classic_join(join, context, turn),
                    Group::Classic(_) => Err(ErrorCode::InconsistentGroupProtocol),
                });
                return answer.map(|answer| answer.unwrap_or_else(Answer::Failed));
            }
            Some(Group::Classic(_)) => {}
            // A member id says that the member was in the group before, and it is in none.
            _ if !join.who.member.is_empty() => return Some(Answer::Failed(ErrorCode::UnknownMemberId)),
            None if self.groups.len() >= self.limits.groups_max => {
                return Some(Answer::Failed(ErrorCode::CoordinatorNotAvailable));
            }
            None => {
                self.groups.insert(name.clone(), Group::Classic(ClassicGroup::new(self.wall)));
            }
            Some(Group::Consumer(empty)) => {
                let classic = conversion::emptied(empty);
                self.replace(&name, Group::Classic(classic));
            }
        }
        self.turn(&name, |group, turn| {
            if let Group::Classic(group) = group {
                group.join(join, ticket, turn);
            }
        });
        None
    }

    fn check_join(&self, join: &Join) -> Result<(), ErrorCode> {
        let limits = &self.limits;
        let timeouts = limits.session_timeout_min_ms..=limits.session_timeout_max_ms;
        has_name(&join.who.group)?;
        if !timeouts.contains(&join.session_timeout_ms) {
            Err(ErrorCode::InvalidSessionTimeout)
        } else if crate::classic::member_bytes(join) > limits.member_bytes_max {
            Err(ErrorCode::InvalidRequest)
        } else {
            Ok(())
        }
    }

    fn sync(&mut self, sync: Sync, ticket: Ticket, topics: &dyn Topics) -> Option<Answer> {
        if let Err(code) = has_name(&sync.who.group) {
            return Some(Answer::Failed(code));
        }
        let name = sync.who.group.clone();
        let context = self.context(&name, topics);
        let found = self.turn(&name, |group, turn| match group {
            Group::Classic(group) => {
                group.sync(sync, ticket, turn);
                None
            }
            Group::Consumer(group) => {
                Some(group.classic_sync(&sync, context, turn).unwrap_or_else(Answer::Failed))
            }
        });
        found.unwrap_or(Some(Answer::Failed(ErrorCode::UnknownMemberId)))
    }

    fn heartbeat(&mut self, who: &MemberRef, topics: &dyn Topics) -> Answer {
        if let Err(code) = has_name(&who.group) {
            return Answer::Failed(code);
        }
        let context = self.context(&who.group, topics);
        let answer = self.brief(&who.group, &who.member, |group, turn| match group {
            Group::Classic(group) => group.heartbeat(who, turn.now),
            Group::Consumer(group) => {
                group.classic_heartbeat(who, context, turn).unwrap_or_else(Answer::Failed)
            }
        });
        answer.unwrap_or(Answer::Failed(ErrorCode::UnknownMemberId))
    }

    fn leave(&mut self, leave: &Leave) -> Answer {
        if let Err(code) = has_name(&leave.group) {
            return Answer::Failed(code);
        }
        let codes = self.turn(&leave.group, |group, turn| match group {
            Group::Classic(group) => {
                let one = |(id, instance): &(Text, Option<Text>)| group.leave(id, instance.as_ref(), turn);
                leave.members.iter().map(one).collect()
            }
            Group::Consumer(group) => group.classic_leave(leave, turn),
        });
        Answer::Each(codes.unwrap_or_else(|| vec![ErrorCode::UnknownMemberId; leave.members.len()]))
    }

    fn consumer_heartbeat(
        &mut self,
        mut heartbeat: ConsumerHeartbeat,
        topics: &dyn Topics,
    ) -> Result<crate::ConsumerHeartbeatAnswer, ErrorCode> {
        check_heartbeat(&heartbeat, &self.limits.consumer)?;
        let name = heartbeat.group.clone();
        let context = self.context(&name, topics);
        if heartbeat.epoch == Epoch::JOIN {
            self.check_room(&heartbeat)?;
        }
        let mut turn = Turn {
            now: self.clock.reading(),
            wall: self.wall,
            limits: &self.limits,
            random: &mut self.random,
            replies: &mut self.replies,
        };
        if heartbeat.member.is_empty() {
            heartbeat.member = turn.fresh_id(&heartbeat.client_id);
        }
        let mut new = match self.groups.get(&name) {
            Some(Group::Consumer(_)) => {
                let answer = self.brief(&name, &heartbeat.member, |group, turn| match group {
                    Group::Consumer(group) => group.heartbeat(&heartbeat, context, turn),
                    Group::Classic(_) => Err(ErrorCode::GroupIdNotFound),
                });
                return answer.unwrap_or(Err(ErrorCode::GroupIdNotFound));
            }
            _ if heartbeat.epoch != Epoch::JOIN => return Err(ErrorCode::GroupIdNotFound),
            Some(Group::Classic(classic)) if classic.phase != Phase::Empty => {
                conversion::upgraded(classic, context, &self.limits, turn.now)?
            }
            Some(Group::Classic(empty)) => conversion::filled(empty),
            None => ConsumerGroup::new(self.wall),
        };
        // The group takes its place only if the member is taken.
        let answer = new.heartbeat(&heartbeat, context, &turn)?;
        self.replace(&name, Group::Consumer(new));
        Ok(answer)
    }

    /// Whether there is room for another member, and perhaps for another group.
    fn check_room(&self, heartbeat: &ConsumerHeartbeat) -> Result<(), ErrorCode> {
        let key = Key::ConsumerMember(heartbeat.group.clone(), heartbeat.member.clone());
        let table = self.journal.table();
        let full = table.len() >= self.limits.records_max && !table.contains_key(&key);
        let groups_full = self.groups.len() >= self.limits.groups_max;
        if full || (groups_full && !self.groups.contains_key(&heartbeat.group)) {
            return Err(ErrorCode::CoordinatorNotAvailable);
        }
        Ok(())
    }
}

/// A group without a name has no members. Offsets it may have: older clients commit so.
fn has_name(group: &Text) -> Result<(), ErrorCode> {
    if group.is_empty() { Err(ErrorCode::InvalidGroupId) } else { Ok(()) }
}
