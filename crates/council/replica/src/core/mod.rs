//! The core: components that each keep their own state, and what carries an event from one to the next.
//!
//! A component is given what it works on: what the core knows of the ensemble ([`View`]), raft, and [`Output`], through
//! which alone it speaks. No component sees another's fields, and none sees the core.

mod accessors;
mod apply;
mod journal_events;
mod peer_messages;
mod shard_messages;
#[cfg(test)]
mod tests;
mod tick;
mod turn;

use base::Now;
use consensus_raft::{Config, LogIndex, MemberId, RaftNode};
use council_frontend::FromCore;
use council_tree::Tree;
use council_wire::Zxid;

use crate::append_throttle::AppendThrottle;
use crate::apply::Applier;
use crate::disk_watch::DiskWatch;
use crate::divergence::Divergence;
use crate::feature_level::FeatureLevel;
use crate::leadership::{FastElection, Leadership, Lease};
use crate::log_retention::LogRetention;
use crate::membership::EnsembleMembership;
use crate::output::Output;
use crate::peer::PeerMessage;
use crate::peers::Peers;
use crate::proposer::Proposer;
use crate::read_index::{ReadIndex, Waiter};
use crate::sessions::{ContainerReaper, Sessions};
use crate::snapshot::Snapshots;
use crate::start::Seat;
use crate::view::View;
use crate::{CoreConfig, CoreEffect};

/// One member's core.
pub struct Core {
    view: View,
    raft: RaftNode,
    out: Output,
    proposer: Proposer,
    leadership: Leadership,
    fast_election: FastElection,
    lease: Lease,
    read_index: ReadIndex<Waiter>,
    sessions: Sessions,
    reaper: ContainerReaper,
    applier: Applier,
    snapshots: Snapshots,
    log_retention: LogRetention,
    append_throttle: AppendThrottle<consensus_raft::Message>,
    divergence: Divergence,
    disk_watch: DiskWatch,
    feature_level: FeatureLevel,
    /// The last transaction applied.
    last_zxid: Zxid,
    /// When raft was told last that time had passed.
    ticked_ms: u64,
}

impl Core {
    /// Takes the member's seat. `tree` is the one that came with it; the rest of the log is applied as it commits.
    #[must_use]
    pub fn new(config: CoreConfig, seat: Seat, tree: &Tree, seed: [u8; 32], now: Now) -> Self {
        let recovered = &seat.recovered;
        let (raft_seed, _) = seed.split_first_chunk::<8>().expect("a seed is 32 bytes");
        let raft_config = Config::new(MemberId(config.member), u64::from_le_bytes(*raft_seed));
        let mut raft = RaftNode::new(&raft_config, recovered, seat.applied.0);
        if recovered.membership.voters == [config.member] {
            raft.campaign();
        }
        raft.offer_snapshot(seat.snapshot.clone());
        let covered = seat.snapshot.as_ref().map_or(LogIndex::ZERO, |snapshot| snapshot.index);
        let mut snapshots = Snapshots::new(&config, covered, tree);
        snapshots.own.grown(seat.log_bytes, seat.commands);
        Self {
            raft,
            out: Output::new(config.shards),
            proposer: Proposer::new(&config, tree.feature_level(), now),
            leadership: Leadership::default(),
            fast_election: FastElection::default(),
            lease: Lease::default(),
            read_index: ReadIndex::new(),
            sessions: Sessions::new(&config, tree, seed, now),
            reaper: ContainerReaper::new(&config, now),
            applier: Applier::new(seat.applied, config.apply_bytes_max),
            snapshots,
            log_retention: LogRetention::default(),
            append_throttle: AppendThrottle::default(),
            divergence: Divergence::default(),
            disk_watch: DiskWatch::default(),
            feature_level: FeatureLevel::default(),
            last_zxid: tree.last_zxid(),
            ticked_ms: now.mono_ms(),
            view: View {
                membership: EnsembleMembership::new(&config, seat.recovered.membership, tree, now),
                config,
                peers: Peers::default(),
                now,
            },
        }
    }

    /// Takes what the journal is to do, in order.
    pub fn take_effects(&mut self) -> Vec<CoreEffect> {
        self.out.take_effects()
    }

    /// Takes what is to be sent to other members, in order for each.
    pub fn take_outgoing(&mut self) -> Vec<(MemberId, PeerMessage)> {
        self.out.take_outgoing()
    }

    /// A shard's stream: to be appended to its mailbox before the tree is unlocked.
    pub fn stream(&mut self, shard: u16) -> &mut Vec<FromCore> {
        self.out.stream(shard)
    }

    /// Begins a snapshot at the next chance, unless all that is applied is in one already.
    pub fn request_snapshot(&mut self) {
        self.snapshots.own.ask(self.applier.index());
    }

    /// This member is about to stop: another should lead.
    pub fn step_aside(&mut self) {
        self.leadership.transfer(&mut self.raft, &self.view, |_| true);
    }

    /// Whoever leads now is given again what is under way: it may be lost.
    fn give_again(&mut self) {
        self.proposer.give_again(self.view.now);
        self.read_index.again();
    }

    /// Serves clients if this member may and has caught up; otherwise sees to it that it catches up.
    fn start_serving(&mut self) {
        if self.lease.serves() {
            return;
        }
        let may_serve = self.may_serve();
        self.lease.start(
            may_serve,
            &self.leadership,
            &self.raft,
            &self.view,
            &mut self.read_index,
            &mut self.out,
        );
    }

    fn may_serve(&self) -> bool {
        !self.disk_watch.is_stalled(self.lacks_applied(), &self.view)
            && self.view.now.mono_ms() <= self.lease.until_ms(&self.view)
    }

    /// Whether more is committed than is applied here.
    fn lacks_applied(&self) -> bool {
        self.raft.committed() > self.applier.index()
    }

    /// `/zookeeper/config` may say something else now.
    fn read_roster(&mut self, tree: &Tree) {
        let View { config, membership, now, .. } = &mut self.view;
        let leaves = membership.read_roster(tree, config, *now);
        if leaves {
            self.transfer_to_those_who_stay();
        }
    }

    fn transfer_to_those_who_stay(&mut self) {
        let membership = &self.view.membership;
        self.leadership.transfer(&mut self.raft, &self.view, |id| membership.is_to_vote(id));
    }
}
