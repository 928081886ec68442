//! Share sessions: a member names what it fetches once, and only what changes afterwards. One for each member of a group.
//!
//! Invariant: a request is taken only with the epoch that is next, so a copy of an earlier one changes nothing.

use std::collections::BTreeMap;

use log_coordinators::{Text, TopicId};
use log_wire::ErrorCode;

/// Whose session it is: the group, and the member.
pub type SessionKey = (Text, Text);

/// What a request says of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEpoch {
    /// It begins one.
    Begin,
    /// It goes on with it.
    Next(i32),
    /// It ends it.
    End,
}

impl SessionEpoch {
    /// As the protocol has it.
    #[must_use]
    pub const fn of(epoch: i32) -> Self {
        match epoch {
            0 => Self::Begin,
            -1 => Self::End,
            epoch => Self::Next(epoch),
        }
    }
}

/// What a member fetches, those that were served longest ago first.
#[derive(Clone, Debug, Default)]
struct Session {
    next_epoch: i32,
    partitions: Vec<(TopicId, i32)>,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct ShareSessions {
    by_member: BTreeMap<SessionKey, Session>,
    sessions_max: usize,
}

impl ShareSessions {
    /// At most so many: `group.share.max.share.sessions`.
    #[must_use]
    pub const fn new(sessions_max: usize) -> Self {
        Self { by_member: BTreeMap::new(), sessions_max }
    }

    /// At most so many from now on. Those that there are stay.
    pub const fn limit(&mut self, sessions_max: usize) {
        self.sessions_max = sessions_max;
    }

    /// A request of a member comes.
    ///
    /// # Errors
    /// `SHARE_SESSION_NOT_FOUND`, `INVALID_SHARE_SESSION_EPOCH` or `SHARE_SESSION_LIMIT_REACHED`.
    pub fn enter(&mut self, key: &SessionKey, epoch: SessionEpoch) -> Result<(), ErrorCode> {
        if epoch == SessionEpoch::Begin {
            if self.by_member.len() >= self.sessions_max && !self.by_member.contains_key(key) {
                return Err(ErrorCode::ShareSessionLimitReached);
            }
            self.by_member.insert(key.clone(), Session { next_epoch: 1, partitions: Vec::new() });
            return Ok(());
        }
        let session = self.by_member.get_mut(key).ok_or(ErrorCode::ShareSessionNotFound)?;
        if let SessionEpoch::Next(epoch) = epoch {
            if epoch != session.next_epoch {
                return Err(ErrorCode::InvalidShareSessionEpoch);
            }
            session.next_epoch = if epoch == i32::MAX { 1 } else { epoch + 1 };
        }
        Ok(())
    }

    /// A member fetches these partitions too, and those not any more.
    pub fn change(&mut self, key: &SessionKey, more: &[(TopicId, i32)], less: &[(TopicId, i32)]) {
        let Some(session) = self.by_member.get_mut(key) else { return };
        session.partitions.retain(|partition| !less.contains(partition));
        for partition in more {
            if !session.partitions.contains(partition) {
                session.partitions.push(*partition);
            }
        }
    }

    /// What a member fetches, in the order in which it is to be served.
    #[must_use]
    pub fn partitions(&self, key: &SessionKey) -> &[(TopicId, i32)] {
        self.by_member.get(key).map_or(&[], |session| &session.partitions)
    }

    /// A member got records of a partition: the others come first next time.
    pub fn served(&mut self, key: &SessionKey, partition: (TopicId, i32)) {
        let Some(session) = self.by_member.get_mut(key) else { return };
        if let Some(at) = session.partitions.iter().position(|own| *own == partition) {
            let partition = session.partitions.remove(at);
            session.partitions.push(partition);
        }
    }

    /// Whether a group has a session.
    #[must_use]
    pub fn has_group(&self, group: &str) -> bool {
        let first: SessionKey = (group.into(), "".into());
        self.by_member.range(first..).next().is_some_and(|((of, _), _)| **of == *group)
    }

    /// A session is over. Says whether there was one.
    pub fn end(&mut self, key: &SessionKey) -> bool {
        self.by_member.remove(key).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_follow_each_other() {
        let mut sessions = ShareSessions::new(1);
        let key: SessionKey = ("g".into(), "m".into());
        assert_eq!(sessions.enter(&key, SessionEpoch::of(1)), Err(ErrorCode::ShareSessionNotFound));
        assert_eq!(sessions.enter(&key, SessionEpoch::of(0)), Ok(()));
        assert_eq!(sessions.enter(&key, SessionEpoch::of(2)), Err(ErrorCode::InvalidShareSessionEpoch));
        assert_eq!(sessions.enter(&key, SessionEpoch::of(1)), Ok(()));
        assert_eq!(sessions.enter(&key, SessionEpoch::of(1)), Err(ErrorCode::InvalidShareSessionEpoch));
        let other: SessionKey = ("g".into(), "n".into());
        assert_eq!(sessions.enter(&other, SessionEpoch::of(0)), Err(ErrorCode::ShareSessionLimitReached));
        assert!(sessions.has_group("g") && !sessions.has_group("f") && !sessions.has_group("h"));
        assert!(sessions.end(&key) && !sessions.end(&key) && !sessions.has_group("g"));
        assert_eq!(sessions.enter(&other, SessionEpoch::of(0)), Ok(()));
    }

    #[test]
    fn partitions_take_turns() {
        let mut sessions = ShareSessions::new(9);
        let key: SessionKey = ("g".into(), "m".into());
        sessions.enter(&key, SessionEpoch::Begin).expect("there is room");
        let [a, b, c] = [1, 2, 3].map(|number| ([0; 16], number));
        sessions.change(&key, &[a, b, c, a], &[]);
        sessions.served(&key, a);
        assert_eq!(sessions.partitions(&key), [b, c, a]);
        sessions.change(&key, &[], &[c]);
        assert_eq!(sessions.partitions(&key), [b, a]);
    }
}
