//! Who may commit and read offsets of a consumer group (L50).

use log_wire::ErrorCode;

use super::ConsumerGroup;
use crate::stored_consumer::StoredConsumerMember;
use crate::{Epoch, MemberRef, NewOffset, Text};

/// The first version of OffsetCommit for members of KIP-848.
const MEMBER_EPOCH: i16 = 9;

impl ConsumerGroup {
    /// Whether an OffsetCommit may take effect. With an older epoch it may if each of its partitions is the member's since then:
    /// the member has just not heard of its newest epoch (KIP-1251).
    pub(crate) fn check_commit(
        &self,
        who: &MemberRef,
        version: i16,
        offsets: &[NewOffset],
    ) -> Result<(), ErrorCode> {
        if who.generation.0 < 0 && self.members.is_empty() {
            return Ok(());
        }
        let member = self.member(&who.member)?;
        if member.classic.is_none() && version < MEMBER_EPOCH {
            return Err(ErrorCode::UnsupportedVersion);
        }
        check_partitions(member, Epoch(who.generation.0), offsets)
    }

    /// Whether a TxnOffsetCommit may take effect. A client that names no member is taken as it is, in every state.
    pub(crate) fn check_transactional_commit(
        &self,
        who: &MemberRef,
        offsets: &[NewOffset],
    ) -> Result<(), ErrorCode> {
        let memberless = who.generation.0 == -1 && who.member.is_empty() && who.instance.is_none();
        if memberless || (who.generation.0 < 0 && self.members.is_empty()) {
            return Ok(());
        }
        let checked = check_partitions(self.member(&who.member)?, Epoch(who.generation.0), offsets);
        // The request is older than member epochs: it does not know their error.
        checked.map_err(|_| ErrorCode::IllegalGeneration)
    }

    /// Whether a member may read offsets.
    pub(crate) fn check_fetch(&self, id: &Text, epoch: Epoch) -> Result<(), ErrorCode> {
        let member = self.member(id)?;
        if member.epoch == epoch { Ok(()) } else { Err(stale(member)) }
    }

    fn member(&self, id: &Text) -> Result<&StoredConsumerMember, ErrorCode> {
        self.members.get(id).map(|member| &*member.stored).ok_or(ErrorCode::UnknownMemberId)
    }
}

fn check_partitions(
    member: &StoredConsumerMember,
    epoch: Epoch,
    offsets: &[NewOffset],
) -> Result<(), ErrorCode> {
    if epoch == member.epoch {
        return Ok(());
    }
    let since = |offset: &NewOffset| {
        let mut owned = [&member.assigned, &member.revoking].into_iter();
        owned.find_map(|owned| owned.get(&offset.topic.id)?.get(&offset.partition)).copied()
    };
    let is_owner = |offset: &NewOffset| since(offset).is_some_and(|since| since <= epoch);
    let is_older = epoch < member.epoch && offsets.iter().all(is_owner);
    if is_older { Ok(()) } else { Err(stale(member)) }
}

const fn stale(member: &StoredConsumerMember) -> ErrorCode {
    match member.classic {
        Some(_) => ErrorCode::IllegalGeneration,
        None => ErrorCode::StaleMemberEpoch,
    }
}
