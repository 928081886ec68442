//! How many of the process's descriptors connections may take.
//!
//! The system gives out the lowest number that is free, so the number of a new connection's descriptor says how many
//! are in use at least, whatever they are used for: no count of ours is needed. A connection whose number lies in the
//! reserve is closed again. The reserve is for the log, snapshots, keys that are read again, and other members:
//!
//! - its first part is as large as all connections to other members can be, including those that are being made again;
//! - of the rest, pages (probes, metrics, commands) and unknown hosts at the port between members may use the first
//!   half, so that clients never shut out a probe;
//! - connections to that port from a member's address may use three quarters;
//! - the last quarter is for files alone.

use std::os::fd::{AsRawFd as _, BorrowedFd};

use rustix::process::{Resource, getrlimit};

/// The reserve is an eighth of the limit, within these bounds.
const RESERVE: (u64, u64) = (24, 128);
/// Two connections stand between two members, and two may be on the way to take their place.
const FOR_EACH_MEMBER: u64 = 4;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptors {
    /// How many this process may hold.
    pub limit: u64,
    /// Besides what is for members.
    reserve: u64,
    /// For connections to other members.
    members: u64,
}

impl Descriptors {
    /// As the process is limited now. There are so many other members.
    pub fn of_process(others: usize) -> Self {
        // No limit counts as none.
        Self::new(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX), others)
    }

    /// Of a process that may hold so many. There are so many other members.
    #[must_use]
    pub fn new(limit: u64, others: usize) -> Self {
        let members = FOR_EACH_MEMBER.saturating_mul(others as u64);
        Self { limit, reserve: (limit / 8).clamp(RESERVE.0, RESERVE.1), members }
    }

    /// Whether a client's connection with this descriptor may stay.
    pub fn admit_client(self, descriptor: BorrowedFd<'_>) -> bool {
        below(descriptor, self.limit.saturating_sub(self.reserve + self.members))
    }

    /// Whether a page's connection may stay.
    pub fn admit_page(self, descriptor: BorrowedFd<'_>) -> bool {
        below(descriptor, self.limit.saturating_sub(self.reserve / 2))
    }

    /// Whether a connection at the port between members may stay, from an address of a member or not.
    pub fn admit_peer(self, descriptor: BorrowedFd<'_>, from_members_address: bool) -> bool {
        let kept = if from_members_address { self.reserve / 4 } else { self.reserve / 2 };
        below(descriptor, self.limit.saturating_sub(kept))
    }
}

fn below(descriptor: BorrowedFd<'_>, bound: u64) -> bool {
    u64::try_from(descriptor.as_raw_fd()).is_ok_and(|number| number < bound)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn clients_leave_the_reserve_alone_and_pages_half_of_it() {
        let file = std::fs::File::open("/dev/null").expect("opened");
        let number = u64::try_from(file.as_raw_fd()).expect("a number");
        let at = |limit| {
            let descriptors = Descriptors::new(limit, 0);
            (descriptors.admit_client(file.as_fd()), descriptors.admit_page(file.as_fd()))
        };
        assert_eq!(at(number + 12), (false, false));
        assert_eq!(at(number + 13), (false, true));
        assert_eq!(at(number + 24), (false, true));
        assert_eq!(at(number + 25), (true, true));
        assert_eq!(at(u64::MAX), (true, true));
    }

    #[test]
    fn members_have_descriptors_of_their_own_and_leave_the_last_quarter_to_files() {
        let file = std::fs::File::open("/dev/null").expect("opened");
        let number = u64::try_from(file.as_raw_fd()).expect("a number");
        let at = |limit| {
            let descriptors = Descriptors::new(limit, 2);
            let peer = |members| descriptors.admit_peer(file.as_fd(), members);
            (descriptors.admit_client(file.as_fd()), peer(false), peer(true))
        };
        assert_eq!(at(number + 6), (false, false, false));
        assert_eq!(at(number + 7), (false, false, true));
        assert_eq!(at(number + 12), (false, false, true));
        assert_eq!(at(number + 13), (false, true, true));
        assert_eq!(at(number + 32), (false, true, true));
        assert_eq!(at(number + 33), (true, true, true));
    }
}
