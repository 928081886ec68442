//! Elections that the controller was asked for: the record of a partition tells what became of one. The controller may die, or
//! another broker may become it, so it is asked again until then.

use base::{MonoTime, Now};
use log_partition::{LeaderEpoch, PartitionId};
use log_wire::ErrorCode;
use log_wire::messages::cluster::{ElectLeadersResponse, PartitionResult};
use net_event_loop::ConnId;
use replication_appointed::ReplicaId;
use replication_controller::{Act, ActKind};

use crate::catalog::TopicImage;
use crate::node::Node;
use crate::partitions::replicated;
use crate::response::{Form, Response};
use crate::waits::{Waiter, Waits};

/// How often the controller is asked, milliseconds.
const AGAIN_MS: u64 = 1_000;
/// How long an answer waits at most, milliseconds: an election in which no replica is asked to be waited for takes less.
const WAIT_MAX_MS: u64 = 20_000;
/// For so many partitions elections are under way at most.
pub(super) const OPEN_MAX: usize = 200_000;

/// What an election shall come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// This replica leads.
    Leader(i32),
    /// A replica that is reached leads, under a later epoch than this; records may be lost.
    Anyone(LeaderEpoch),
}

/// An election that has not ended: its place in the answer, and what it is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) place: (usize, usize),
    pub(super) id: PartitionId,
    pub(super) wanted: Wanted,
}

/// A request whose elections have not all ended.
#[derive(Debug)]
pub(super) struct Election {
    pub(super) form: Form,
    pub(super) response: ElectLeadersResponse,
    pub(super) open: Vec<Open>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Elections {
    waiting: Waits<Election>,
    acts: Vec<Act>,
    again_at: Option<MonoTime>,
}

impl Elections {
    /// For how many partitions elections are under way.
    pub(super) fn open(&self) -> usize {
        self.waiting.values().map(|election| election.open.len()).sum()
    }

    /// Begins the elections of a request. The answer comes later if there is none now.
    pub(super) fn begin(
        &mut self,
        election: Election,
        (waiter, timeout_ms): (Waiter, i32),
        now: Now,
    ) -> Option<Response> {
        if election.open.is_empty() {
            return Some(election.form.response(&election.response));
        }
        self.acts.extend(election.open.iter().map(act));
        self.again_at.get_or_insert(now.mono().plus_ms(AGAIN_MS));
        let wait_ms = u64::try_from(timeout_ms).unwrap_or(0).min(WAIT_MAX_MS);
        self.waiting.insert(waiter, now.mono().plus_ms(wait_ms), election);
        None
    }

    /// Takes what the controller is to be asked for.
    pub(crate) fn take_acts(&mut self) -> Vec<Act> {
        std::mem::take(&mut self.acts)
    }

    /// A topic is another than before, or gone.
    pub(crate) fn topic_changed(&mut self, node: &mut Node, topic: [u8; 16]) {
        self.end(node, |node, open| if open.id.topic == topic { outcome(node, open) } else { None });
    }

    /// Ends the elections of which it is known what became of them, and answers the requests that wait for no other one.
    fn end(&mut self, node: &mut Node, ended: impl Fn(&Node, &Open) -> Option<Ended>) {
        let look = |election: &mut Election| {
            let Election { response, open, .. } = election;
            open.retain(|open| {
                ended(node, open).map(|(error, why)| set(response, open.place, error, why)).is_none()
            });
            open.is_empty()
        };
        for (waiter, Election { form, response, .. }) in self.waiting.extract(look) {
            node.reply(waiter, form.response(&response));
        }
    }

    /// Answers requests whose time is over, and asks the controller again for the others.
    pub(crate) fn expire(&mut self, node: &mut Node, now: Now) {
        while let Some((waiter, Election { form, mut response, open })) = self.waiting.pop_overdue(now.mono())
        {
            for open in open {
                let (error, why) = given_up(node, &open);
                set(&mut response, open.place, error, Some(why));
            }
            node.reply(waiter, form.response(&response));
        }
        if self.again_at.is_some_and(|at| at <= now.mono()) {
            self.end(node, hopeless);
            let open = self.waiting.values().flat_map(|election| &election.open);
            self.acts = open.map(act).collect();
            self.again_at = (!self.acts.is_empty()).then(|| now.mono().plus_ms(AGAIN_MS));
        }
    }

    /// A connection is gone: nobody waits any more for what it asked for.
    pub(crate) fn disconnected(&mut self, shard: u16, conn: ConnId) {
        while self.waiting.pop_of(shard, conn).is_some() {}
    }

    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        [self.waiting.next_deadline(), self.again_at].into_iter().flatten().min()
    }
}

fn act(open: &Open) -> Act {
    let kind = match open.wanted {
        Wanted::Leader(to) => ActKind::HandOver(ReplicaId(to.cast_unsigned())),
        Wanted::Anyone(_) => ActKind::RecoverWithLoss,
    };
    Act { partition: replicated(open.id), kind }
}

/// What became of an election, with the reason if it failed.
type Ended = (ErrorCode, Option<&'static str>);

/// The replica that is to lead is lost or about to stop: the controller hands nothing over to it.
fn hopeless(node: &Node, Open { wanted, .. }: &Open) -> Option<Ended> {
    let Wanted::Leader(to) = wanted else { return None };
    let why = "the preferred replica is not alive, or about to stop";
    (!node.brokers.may_lead(*to)).then_some((ErrorCode::PreferredLeaderNotAvailable, Some(why)))
}

/// What has become of an election; nothing if it has not ended.
fn outcome(node: &Node, Open { id, wanted, .. }: &Open) -> Option<Ended> {
    let topic = node.catalog.topic_of(*id);
    let partition =
        topic.and_then(|topic: &TopicImage| topic.partitions.get(usize::try_from(id.index).ok()?));
    let Some(partition) = partition else {
        return Some((ErrorCode::UnknownTopicOrPartition, Some("the topic is gone")));
    };
    let has_come = match wanted {
        Wanted::Leader(to) => partition.leader == *to,
        Wanted::Anyone(above) => partition.epoch > *above && node.reaches(partition.leader),
    };
    has_come.then_some((ErrorCode::None, None))
}

/// What is answered for an election that has not ended in time.
fn given_up(node: &Node, Open { id, wanted, .. }: &Open) -> (ErrorCode, &'static str) {
    let topic = node.catalog.topic_of(*id);
    let partition =
        topic.and_then(|topic: &TopicImage| topic.partitions.get(usize::try_from(id.index).ok()?));
    match wanted {
        Wanted::Anyone(_) if partition.is_some_and(|partition| node.reaches(partition.leader)) => {
            (ErrorCode::ElectionNotNeeded, "the partition has its leader")
        }
        _ => (ErrorCode::RequestTimedOut, "the controller has not elected that leader in time"),
    }
}

fn set(response: &mut ElectLeadersResponse, place: (usize, usize), error: ErrorCode, why: Option<&str>) {
    let topic = response.replica_election_results.get_mut(place.0);
    if let Some(result) = topic.and_then(|topic| topic.partition_result.get_mut(place.1)) {
        *result =
            PartitionResult { error_code: error.code(), error_message: why.map(String::from), ..*result };
    }
}
