//! Between the thread of packets and the core's thread: queries one way, what was found the other way.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use base::{MonoTime, Now};
use node_metrics::Sample;
use node_threads::{Mailbox, ThreadWaker};
use objects_names::{Announcement, Found, Query, Seat, View, look_up};
use objects_replica::Core;
use objects_replica::edge::{Request, origin};
use objects_state::{Authority, Batch, Caller, Command, Identity, Principal, State};
use parking_lot::Mutex;

use super::NamesConfig;

/// The edge in whose name a member announces itself. Nobody has that number, so answers go nowhere: whether the state
/// knows of it is looked up.
const NOBODY: u16 = u16::MAX;
/// How long a member waits for an announcement before it makes another, milliseconds.
const ANNOUNCE_AGAIN_MS: u64 = 5_000;

/// A query that came from there.
pub(crate) struct Asked {
    pub(crate) to: Peer,
    pub(crate) query: Query,
}

/// What was found for it.
pub(crate) struct Told {
    pub(crate) to: Peer,
    pub(crate) query: Query,
    pub(crate) found: Found,
}

/// Whom an answer goes to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Peer {
    /// A datagram's sender.
    Datagram(std::net::SocketAddr),
    /// A connection, by its number.
    Connection(usize),
}

/// See the module.
pub(crate) struct NamesDesk {
    pub(crate) config: NamesConfig,
    /// Wakes the core's thread.
    pub(crate) asked: Mailbox<Asked>,
    /// Wakes the thread of packets, once there is one.
    pub(crate) told: OnceLock<Arc<Mailbox<Told>>>,
    pub(crate) counts: Counts,
    rotation: AtomicU32,
    announced: Mutex<Option<MonoTime>>,
}

/// What is counted.
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) queries: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) connections: AtomicU64,
}

impl NamesDesk {
    pub(crate) fn new(config: NamesConfig, core: &Arc<ThreadWaker>) -> Self {
        Self {
            config,
            asked: Mailbox::new(Arc::clone(core)),
            told: OnceLock::new(),
            counts: Counts::default(),
            rotation: AtomicU32::new(0),
            announced: Mutex::new(None),
        }
    }

    /// Looks up what was asked, in the core's state. There are never more than the thread of packets lets in at once.
    pub(crate) fn answer(&self, core: &Core, state: &State, now: Now) {
        let mut asked = Vec::new();
        self.asked.take_all(&mut asked);
        if asked.is_empty() {
            return;
        }
        let seats = seats(core);
        let leader = core.leader().map(base::MemberId::number);
        let has_lease = core.is_serving() && now.mono() <= core.lease_until();
        let view = has_lease.then_some(View { state, members: &seats, leader });
        self.tell(asked, view.as_ref());
    }

    /// Refuses what was asked: there is no core.
    pub(crate) fn refuse_all(&self) {
        let mut asked = Vec::new();
        self.asked.take_all(&mut asked);
        self.tell(asked, None);
    }

    /// Looks one up without a state: the answer that a member without a lease gives.
    pub(crate) fn refusal(&self, query: &Query) -> Found {
        look_up(&self.config.zone, query, None, 0)
    }

    fn tell(&self, asked: Vec<Asked>, view: Option<&View<'_>>) {
        let found = |Asked { to, query }| {
            let found = look_up(&self.config.zone, &query, view, self.rotation.fetch_add(1, Relaxed));
            Told { to, query, found }
        };
        let mut told: Vec<_> = asked.into_iter().map(found).collect();
        if let Some(mailbox) = self.told.get() {
            mailbox.put_all(&mut told);
        }
    }

    /// Has the group know where this member is reached, unless it does.
    pub(crate) fn announce(&self, core: &mut Core, state: &State, now: Now) {
        let number = core.id().number();
        let announcement = &self.config.announcement;
        if !core.is_serving() || core.leader().is_none() || announcement.is_known(state, number) {
            return;
        }
        let mut announced = self.announced.lock();
        if announced.is_some_and(|at| now.mono().since(at) < ANNOUNCE_AGAIN_MS) {
            return;
        }
        *announced = Some(now.mono());
        drop(announced);
        let caller = Caller {
            origin: origin(u64::from(number.0), NOBODY, now.mono_us),
            // Nobody can take that from the member.
            principal: Principal { name: String::from("diwan"), authority: Authority::Root },
            identity: Identity::Anonymous,
        };
        let command = Command::Batch(Batch {
            caller,
            object: Announcement::object(),
            incarnation: None,
            create: true,
            invocations: announcement.invocations(number),
        });
        core.receive(Request::Command { command, secret_hash: None }, state, now);
    }

    pub(crate) fn samples(&self) -> Vec<Sample> {
        let of = |counter: &AtomicU64| counter.load(Relaxed);
        let connections = i64::try_from(of(&self.counts.connections)).unwrap_or(i64::MAX);
        vec![
            Sample::counter(
                "diwan_objects_names_queries_total",
                "Queries for names of the zone",
                of(&self.counts.queries),
            ),
            Sample::counter(
                "diwan_objects_names_refused_total",
                "Queries for names that were refused, or malformed, or came without a lease",
                of(&self.counts.refused),
            ),
            Sample::counter(
                "diwan_objects_names_dropped_total",
                "Queries for names beyond a limit, which were not answered",
                of(&self.counts.dropped),
            ),
            Sample::gauge(
                "diwan_objects_names_connections",
                "Connections to the server of names",
                connections,
            ),
        ]
    }
}

/// Who is in the group, by number.
fn seats(core: &Core) -> Vec<Seat> {
    let membership = core.membership();
    let voters = membership.voters.iter().map(|id| (id.number(), true));
    let learners = membership.learners.iter().map(|id| (id.number(), false));
    let mut seats: Vec<_> = voters.chain(learners).map(|(number, votes)| Seat { number, votes }).collect();
    seats.sort_by_key(|seat| seat.number);
    seats.dedup_by_key(|seat| seat.number);
    seats
}
