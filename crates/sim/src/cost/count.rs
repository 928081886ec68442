//! How often a thread did what costs. One unit of a kind is priced in [`super::Profile`]; which kinds a role knows stands
//! here and nowhere else. Knows no price.

use std::ops::{AddAssign, Sub};

/// Kinds of work that a role may tell apart.
pub const KINDS: usize = 10;

/// Whose thread it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A shard of a member: sockets of clients, and a front.
    Shard,
    /// A member's core, which also reads and writes the connections to other members.
    Core,
    /// A member's journal.
    Journal,
    /// The one thread of `lab`'s load generator, where it shares the members' host.
    Load,
}

/// What a member is to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// It leads.
    Leader,
    /// It votes.
    Follower,
    /// It does not.
    Observer,
    /// No member: the load.
    Client,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Shard, Self::Core, Self::Journal, Self::Load];

    /// Its name in profiles.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shard => "shard",
            Self::Core => "core",
            Self::Journal => "journal",
            Self::Load => "load",
        }
    }

    /// What its thread does that costs: a name for profiles and what one unit is. `wake`, `switch` and
    /// `round` are always the first.
    #[must_use]
    pub const fn kinds(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Shard => &[
                ("wake", "coming back from sleep on a core that slept too"),
                ("switch", "coming onto a core that another thread has left"),
                ("round", "a turn of its loop, however little is in it"),
                ("socket", "a system call that reads or writes a client's connection"),
                ("read", "a request that is answered from the tree"),
                ("write", "a request that becomes a command, until its reply is encoded"),
                ("change", "a transaction that the core tells of"),
                ("waited", "a read that waited for a write, as the core answers it"),
                ("kib", "1,024 bytes in or out"),
                ("event", "a watch event told to a client"),
            ],
            Self::Core => &[
                ("wake", "coming back from sleep on a core that slept too"),
                ("switch", "coming onto a core that another thread has left"),
                ("round", "a turn of its loop, however little is in it"),
                ("command", "a command of a client of this member, proposed or forwarded"),
                ("relay", "a command of another member's client, proposed"),
                ("apply", "a transaction applied to the tree"),
                ("waited", "a read that waited for a write, answered from the tree"),
                ("message", "a message to or from another member"),
                ("lane", "a system call that reads or writes a connection to a member"),
                ("kib", "1,024 bytes to or from other members"),
            ],
            Self::Journal => &[
                ("wake", "coming back from sleep on a core that slept too"),
                ("switch", "coming onto a core that another thread has left"),
                ("round", "an append and a flush, without what it waits for the disk"),
                ("kib", "1,024 bytes written"),
            ],
            Self::Load => &[
                ("wake", "coming back from sleep on a core that slept too"),
                ("switch", "coming onto a core that another thread has left"),
                ("round", "a turn of its loop, however little is in it"),
                ("socket", "a system call that reads or writes a connection"),
                ("request", "a request made and its reply taken"),
                ("kib", "1,024 bytes in or out"),
            ],
        }
    }

    /// The place of a kind.
    #[must_use]
    pub fn kind(self, name: &str) -> Option<usize> {
        self.kinds().iter().position(|(kind, _)| *kind == name)
    }
}

/// How often, by the kinds of a role.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Count(pub [f64; KINDS]);

/// Places in a [`Count`].
pub(super) mod of {
    pub(crate) const WAKE: usize = 0;
    pub(crate) const SWITCH: usize = 1;
    pub(crate) const ROUND: usize = 2;

    pub(crate) mod shard {
        pub(crate) const SOCKET: usize = 3;
        pub(crate) const READ: usize = 4;
        pub(crate) const WRITE: usize = 5;
        pub(crate) const CHANGE: usize = 6;
        pub(crate) const WAITED: usize = 7;
        pub(crate) const KIB: usize = 8;
        pub(crate) const EVENT: usize = 9;
    }

    pub(crate) mod core {
        pub(crate) const COMMAND: usize = 3;
        pub(crate) const RELAY: usize = 4;
        pub(crate) const APPLY: usize = 5;
        pub(crate) const WAITED: usize = 6;
        pub(crate) const MESSAGE: usize = 7;
        pub(crate) const LANE: usize = 8;
        pub(crate) const KIB: usize = 9;
    }

    pub(crate) mod journal {
        pub(crate) const KIB: usize = 3;
    }

    pub(crate) mod load {
        pub(crate) const SOCKET: usize = 3;
        pub(crate) const REQUEST: usize = 4;
        pub(crate) const KIB: usize = 5;
    }
}

/// How a thread came to its core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// It had it already.
    Stayed,
    /// It slept, and the core had nothing to do.
    Woke,
    /// Another one was there before.
    Switched,
}

impl Count {
    /// So many more of a kind.
    pub(super) fn add(&mut self, kind: usize, more: usize) {
        self.0[kind] += more as f64;
    }

    /// So many more bytes, where the kind counts KiB.
    pub(super) fn add_bytes(&mut self, kind: usize, bytes: usize) {
        self.0[kind] += bytes as f64 / 1024.0;
    }

    /// A turn of a loop begins.
    pub(super) fn begin(came: Came) -> Self {
        let mut count = Self::came(came);
        count.add(of::ROUND, 1);
        count
    }

    /// No turn of its own begins.
    pub(super) fn came(came: Came) -> Self {
        let mut count = Self::default();
        count.add(of::WAKE, usize::from(came == Came::Woke));
        count.add(of::SWITCH, usize::from(came == Came::Switched));
        count
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, more)| *mine += more);
    }
}

impl Sub for Count {
    type Output = Self;

    fn sub(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(mine, less)| *mine -= less);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_are_those_of_the_names() {
        fn places<const N: usize>(role: Role, names: [&str; N]) -> [usize; N] {
            names.map(|name| role.kind(name).expect("a kind of that name"))
        }
        use of::{core, journal, load, shard};
        for role in Role::ALL {
            assert_eq!(places(role, ["wake", "switch", "round"]), [of::WAKE, of::SWITCH, of::ROUND]);
            assert!(role.kinds().len() <= KINDS);
        }
        let names = ["socket", "read", "write", "change", "waited", "kib", "event"];
        let known = [
            shard::SOCKET,
            shard::READ,
            shard::WRITE,
            shard::CHANGE,
            shard::WAITED,
            shard::KIB,
            shard::EVENT,
        ];
        assert_eq!(places(Role::Shard, names), known);
        let names = ["command", "relay", "apply", "waited", "message", "lane", "kib"];
        let known =
            [core::COMMAND, core::RELAY, core::APPLY, core::WAITED, core::MESSAGE, core::LANE, core::KIB];
        assert_eq!(places(Role::Core, names), known);
        assert_eq!(places(Role::Journal, ["kib"]), [journal::KIB]);
        assert_eq!(
            places(Role::Load, ["socket", "request", "kib"]),
            [load::SOCKET, load::REQUEST, load::KIB]
        );
    }
}
