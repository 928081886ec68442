//! Groups of one process that share the port between members: each has its own members, identities and connections.
//!
//! The group that owns the port has number 0. A dialler says in its hello which group it wants, so a member of any group
//! is reached at one address, with one certificate and one secret; nothing more is to be opened in a firewall. Each group's
//! connections go to its own thread: none waits for another's.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use mio::Poll;
use node_threads::{Mailbox, Supervisor, ThreadWaker};
use parking_lot::RwLock;

use crate::channel::Channel;
use crate::connections::PeerConnections;
use crate::credentials::Credentials;
use crate::dial::{Diallers, Means};
use crate::established::Established;
use crate::group_number::GroupNumber;

/// The groups of a process besides the one that owns the port. They may come and go while the port is served.
#[derive(Default)]
pub struct FurtherGroups(RwLock<Vec<Arc<FurtherGroup>>>);

/// One of them.
pub(crate) struct FurtherGroup {
    pub(crate) credentials: Arc<Credentials>,
    pub(crate) established: Arc<Mailbox<Established>>,
}

impl FurtherGroups {
    /// A member of another group is reached at the port from now on: by what its credentials say; its connections go to
    /// `established`.
    pub fn add(&self, credentials: Arc<Credentials>, established: Arc<Mailbox<Established>>) {
        self.0.write().push(Arc::new(FurtherGroup { credentials, established }));
    }

    /// No member of that group is reached at the port any more.
    pub fn remove(&self, number: GroupNumber) {
        self.0.write().retain(|group| group.credentials.identity.group != number);
    }

    pub(crate) fn find(&self, number: GroupNumber) -> Option<Arc<FurtherGroup>> {
        self.0.read().iter().find(|group| group.credentials.identity.group == number).cloned()
    }
}

/// The port between members, for another group of the process.
#[derive(Clone)]
pub struct SharedPort {
    /// By what members of the group that owns the port know each other.
    pub credentials: Arc<Credentials>,
    /// The groups that are reached at it, too.
    pub further: Arc<FurtherGroups>,
    /// From which address this member dials.
    pub source: Option<IpAddr>,
}

/// What a member of another group brings along.
pub struct GroupMeans {
    /// Which group.
    pub group: GroupNumber,
    /// The highest feature level that it understands.
    pub level: u32,
    /// Its own poll, with the waker of its mailboxes.
    pub poll: (Poll, Arc<ThreadWaker>),
    /// Where its connections go.
    pub established: Arc<Mailbox<Established>>,
    /// Watches the threads that dial for it.
    pub supervisor: Arc<Supervisor>,
}

impl SharedPort {
    /// The connections of another group: from now on its members are dialled, and answered at the port.
    ///
    /// # Errors
    /// The system refuses another handle of the poll.
    pub fn open(&self, means: GroupMeans, channels: &[Channel]) -> io::Result<PeerConnections> {
        let GroupMeans { group, level, poll, established, supervisor } = means;
        let credentials = Arc::new(self.credentials.of_group(group, level));
        let dialling = Means {
            credentials: Arc::clone(&credentials),
            source: self.source,
            established: Arc::clone(&established),
            supervisor,
        };
        let connections =
            PeerConnections::new(Arc::clone(&credentials), poll, Diallers::new(dialling), channels)?;
        self.further.add(credentials, established);
        Ok(connections)
    }
}
