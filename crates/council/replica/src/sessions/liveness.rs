//! A session's silence is a suspicion. Every member that is alive, a majority at the least, is asked whom its clients'
//! connections have been heard of before it is a verdict.

use base::MonoTime;
use consensus_replica::MemberId;
use council_frontend::FromCore;
use council_wire::SessionId;

use super::Sessions;
use super::generations::holder;
use super::liveness_round::{Asker, LivenessRound};
use crate::group::Group;
use crate::message::CouncilMessage;
use crate::output::Output;

/// A session that has been silent for its whole timeout, under that generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Condemned {
    pub(crate) session: SessionId,
    pub(crate) generation: u32,
}

impl Sessions {
    /// A leader asks everybody when a deadline has passed, and again those who do not answer.
    pub(crate) fn tick(&mut self, group: &mut Group, out: &mut Output) -> Vec<Condemned> {
        match &self.round {
            None if self.expiry.is_due(group.now().mono()) => self.begin_round(Asker::Us, group, out),
            Some(round) if round.asker == Asker::Us => {
                let ask = CouncilMessage::TouchAsk { round: round.number };
                group.send_each(round.silent_peers().iter().copied(), ask);
            }
            _ => {}
        }
        self.conclude_round(group)
    }

    fn begin_round(&mut self, asker: Asker, group: &mut Group, out: &mut Output) {
        self.rounds += 1;
        let (number, began) = (self.rounds, group.now().mono());
        let peers = if asker == Asker::Us { group.view().others() } else { Vec::new() };
        group.send_each(peers.iter().copied(), CouncilMessage::TouchAsk { round: number });
        self.round = Some(LivenessRound::new(number, began, asker, self.shards, peers));
        out.tell_shards(|| FromCore::TouchRound { round: number });
    }

    /// The leader asks whom this member's shards have heard of.
    pub(crate) fn asked(&mut self, leader: MemberId, round: u64, group: &mut Group, out: &mut Output) {
        let asker = Asker::Leader { id: leader, round };
        // Asked again for what is being found out already.
        if self.round.as_ref().is_none_or(|round| round.asker != asker) {
            self.begin_round(asker, group, out);
        }
    }

    /// A shard's answer.
    pub(crate) fn shard_answered(
        &mut self,
        (shard, number): (u16, u64),
        sessions: &[(SessionId, MonoTime)],
        group: &mut Group,
    ) -> Vec<Condemned> {
        for (session, heard) in sessions {
            self.expiry.touch(*session, *heard);
            self.connections.heard(*session, *heard);
        }
        if let Some(round) = &mut self.round {
            round.shard(shard, number);
        }
        self.conclude_round(group)
    }

    /// A member's answer.
    pub(crate) fn peer_answered(
        &mut self,
        (peer, number): (MemberId, u64),
        ages: &[(SessionId, u64)],
        group: &mut Group,
    ) -> Vec<Condemned> {
        for (session, age_ms) in ages {
            // The way the answer took counts for the client.
            self.expiry.touch(*session, group.now().mono().minus_ms(*age_ms));
        }
        let votes = group.view().is_voter(peer);
        if let Some(round) = &mut self.round
            && round.asker == Asker::Us
        {
            round.peer(peer, number, votes);
        }
        self.conclude_round(group)
    }

    /// The members changed: one that votes now may have answered before it did, and the round would wait for a majority
    /// that never comes.
    pub(crate) fn members_changed(&mut self) {
        self.round.take_if(|round| round.asker == Asker::Us);
    }

    /// This member does not lead any more: what it asks is of no use.
    pub(crate) fn stop_round(&mut self) {
        self.round = None;
    }

    fn conclude_round(&mut self, group: &mut Group) -> Vec<Condemned> {
        let view = group.view();
        let Some(round) = &self.round else { return Vec::new() };
        let is_alive = |peer| {
            let heard = view.heard_at(peer);
            heard > MonoTime::ZERO && view.now.mono() <= heard.plus_ms(view.config.lease_ms)
        };
        let majority = if round.asker == Asker::Us { view.members().majority() } else { 0 };
        if !round.is_complete(majority, is_alive) {
            return Vec::new();
        }
        let (asker, began) = (round.asker, round.began);
        self.round = None;
        match asker {
            // A shard stood still meanwhile, and the others answered long ago: their clients may have come back since. The
            // next tick asks anew.
            Asker::Us if view.now.mono() > began.plus_ms(view.config.lease_ms) => Vec::new(),
            Asker::Us => self.condemn(began, group),
            Asker::Leader { id, round } => {
                let ages = self.connections.ages(view.now.mono());
                group.send(id, CouncilMessage::Touched { round, ages });
                Vec::new()
            }
        }
    }

    /// Everybody who can has answered a round that began at `began`: a session whose deadline had passed by then and
    /// that is not among the answers has been silent for its whole timeout. A member that did not answer may have heard of
    /// its own clients until its lease was over, one that died or was removed until that happened. A generation says its
    /// holder's number alone: where that has passed to another disk, the one before it may have heard of its clients for
    /// as long as a lease of an earlier leader let it, and the member that has the number now knows nothing of that.
    fn condemn(&mut self, began: MonoTime, group: &Group) -> Vec<Condemned> {
        let view = group.view();
        let peers = view.others();
        let silent = peers.iter().filter(|peer| view.heard_at(**peer) < began);
        let silent: Vec<_> = silent.map(|peer| (peer.number(), group.serves_until(*peer))).collect();
        let (own, stranger) = (view.own(), group.serves_until(MemberId::NOBODY));
        let heard = |session, generation| {
            let holder = holder(session, generation);
            let mut departed = group.departed_until(holder);
            let mut ids = peers.iter().chain([&own]).filter(|id| id.number() == holder).peekable();
            if ids.peek().is_none() || ids.any(|id| id.0 != u64::from(holder.0)) {
                departed = departed.max(stranger);
            }
            let silent = silent.iter().filter(|(number, _)| *number == holder);
            silent.map(|(_, until)| *until).fold(departed, MonoTime::max)
        };
        let condemned = self.expiry.condemn(began, heard);
        self.counts.condemned += condemned.len() as u64;
        condemned.into_iter().map(|(session, generation)| Condemned { session, generation }).collect()
    }
}
