//! Requests of this member that wait for the end of a ticket: the one that made the call, its repeats, and those that
//! collect it.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use objects_state::{Authority, Origin};

/// A request that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Joined {
    pub(crate) origin: Origin,
    /// Whether the call ends when its caller goes: it has neither session nor key.
    pub(crate) is_anonymous: bool,
    /// What vouches for who waits.
    pub(crate) authority: Authority,
    /// Whether the ticket is another principal's: then it may wait as long as no right changes.
    pub(crate) is_others: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct JoinedRequests {
    tickets: HashMap<u64, Vec<Joined>, FixedState>,
    /// For which ticket each waits, by its number.
    requests: HashMap<u64, u64, FixedState>,
}

impl JoinedRequests {
    pub(crate) fn new() -> Self {
        Self {
            tickets: HashMap::with_hasher(FixedState::default()),
            requests: HashMap::with_hasher(FixedState::default()),
        }
    }

    pub(crate) fn join(&mut self, ticket: u64, joined: Joined) {
        if self.requests.insert(joined.origin.number, ticket).is_none() {
            self.tickets.entry(ticket).or_default().push(joined);
        }
    }

    /// A ticket has ended: who waited for it.
    pub(crate) fn end(&mut self, ticket: u64) -> Vec<Joined> {
        if self.tickets.is_empty() {
            return Vec::new();
        }
        let joined = self.tickets.remove(&ticket).unwrap_or_default();
        for one in &joined {
            self.requests.remove(&one.origin.number);
        }
        joined
    }

    /// Takes out the requests for which nothing vouches any more; their tickets are the state's business.
    pub(crate) fn take_unvouched(&mut self, is_valid: impl Fn(Authority) -> bool) -> Vec<Origin> {
        let mut taken = Vec::new();
        for joined in self.tickets.values_mut() {
            let unvouched = joined.extract_if(.., |one| one.is_others || !is_valid(one.authority));
            taken.extend(unvouched.map(|one| one.origin));
        }
        self.tickets.retain(|_, joined| !joined.is_empty());
        taken.iter().for_each(|origin| _ = self.requests.remove(&origin.number));
        taken.sort_unstable_by_key(|origin| origin.number);
        taken
    }

    /// A request waits no more. Gives its ticket, if it waited, and whether that is to be cancelled.
    pub(crate) fn leave(&mut self, origin: Origin) -> Option<(u64, bool)> {
        let ticket = self.requests.remove(&origin.number)?;
        let joined = self.tickets.get_mut(&ticket)?;
        let place = joined.iter().position(|one| one.origin == origin)?;
        let is_anonymous = joined.swap_remove(place).is_anonymous;
        if joined.is_empty() {
            self.tickets.remove(&ticket);
        }
        Some((ticket, is_anonymous))
    }

    /// All tickets that somebody waits for, in order.
    pub(crate) fn tickets(&self) -> Vec<u64> {
        let mut tickets: Vec<_> = self.tickets.keys().copied().collect();
        tickets.sort_unstable();
        tickets
    }

    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticket_ends_for_all_who_wait_and_did_not_leave() {
        let mut joined = JoinedRequests::new();
        let of = |number| Joined {
            origin: Origin { member: 1, number },
            is_anonymous: number == 1,
            authority: if number == 2 { Authority::Token(7) } else { Authority::Member },
            is_others: false,
        };
        (1..=3).for_each(|number| joined.join(7, of(number)));
        joined.join(7, of(2));
        joined.join(8, of(4));
        assert_eq!((joined.len(), joined.tickets()), (4, vec![7, 8]));
        assert_eq!(joined.leave(of(1).origin), Some((7, true)));
        assert_eq!(joined.leave(of(4).origin), Some((8, false)));
        assert_eq!(joined.leave(of(9).origin), None);
        let mut ended = joined.end(7);
        ended.sort_by_key(|one| one.origin.number);
        assert_eq!((ended, joined.end(8), joined.len()), (vec![of(2), of(3)], vec![], 0));
    }

    #[test]
    fn request_whose_token_is_gone_waits_no_more() {
        let mut joined = JoinedRequests::new();
        let of = |number, authority, is_others| Joined {
            origin: Origin { member: 1, number },
            is_anonymous: false,
            authority,
            is_others,
        };
        joined.join(7, of(1, Authority::Member, false));
        joined.join(7, of(2, Authority::Token(5), false));
        joined.join(8, of(3, Authority::Token(6), false));
        joined.join(9, of(4, Authority::Root, true));
        let taken = joined.take_unvouched(|authority| authority != Authority::Token(6));
        assert_eq!(taken.iter().map(|origin| origin.number).collect::<Vec<_>>(), [3, 4]);
        assert_eq!((joined.tickets(), joined.len()), (vec![7], 2));
    }
}
