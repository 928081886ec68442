//! What threads of a member share, and what they tell its core's thread.

use std::net::SocketAddr;
use std::sync::Arc;

use base::{MemberNumber, MonoTime};
use consensus_replica::WantedMembers;
use net_peers::ChannelNumber;
use node_group::JournalCounters;
use node_threads::{Clock, Supervisor};
use parking_lot::Mutex;

use crate::config::ObjectsConfig;
use crate::figures::Figures;
use crate::standing::Standing;

/// The channel of the group's messages, on connections of its own.
pub(crate) const CHANNEL: ChannelNumber = ChannelNumber::ZERO;
/// How often what the state holds is counted.
const COUNT_MS: u64 = 1_000;

/// Something for the core's thread, besides what edges, journal and other members say.
pub(crate) enum CoreMail {
    /// This member is about to stop: another is to lead.
    StepAside,
    /// Other members are wanted.
    Members,
    /// End.
    Stop,
}

/// What threads of a member share.
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    pub(crate) supervisor: Arc<Supervisor>,
    pub(crate) standing: Arc<Standing>,
    pub(crate) figures: Arc<Figures>,
    pub(crate) journal: Arc<JournalCounters>,
    /// Where clients of other machines connect, if they can.
    pub(crate) exposed_at: Option<SocketAddr>,
    wanted: Mutex<Vec<(MemberNumber, bool)>>,
    counted: Mutex<MonoTime>,
}

impl Shared {
    pub(crate) fn new(config: &ObjectsConfig, clock: Clock) -> Self {
        Self {
            clock,
            supervisor: Arc::default(),
            standing: Arc::default(),
            figures: Arc::default(),
            journal: Arc::default(),
            exposed_at: config.exposed_at,
            wanted: Mutex::new(config.group.iter().flat_map(|group| group.members.iter().copied()).collect()),
            counted: Mutex::new(MonoTime::ZERO),
        }
    }

    /// Who is to be a member from now on; whether that is news.
    pub(crate) fn want(&self, members: Vec<(MemberNumber, bool)>) -> bool {
        let mut wanted = self.wanted.lock();
        let is_news = *wanted != members;
        *wanted = members;
        is_news
    }

    /// Who is to be a member.
    pub(crate) fn wanted(&self) -> WantedMembers {
        self.wanted.lock().iter().copied().collect()
    }

    pub(crate) fn is_time_to_count(&self, now: MonoTime) -> bool {
        let mut counted = self.counted.lock();
        let is_time = now.since(*counted) >= COUNT_MS;
        if is_time {
            *counted = now;
        }
        is_time
    }
}
