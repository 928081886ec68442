//! Time passing: whose silence is a suspicion, and asking everybody before it is a verdict.

use council_frontend::FromCore;
use council_tree::{Operation, Tree};
use council_wire::SessionId;

use crate::Now;
use crate::core::{Core, holder};
use crate::founding::NUMBERS;
use crate::peer::PeerMessage;
use crate::round::{Asker, Round};

impl Core {
    /// Time has passed. Call it at least as often as [`Core::next_deadline_ms`] says.
    pub fn tick(&mut self, now: Now, tree: &Tree) {
        self.now = now;
        let elapsed = now.mono_ms.saturating_sub(self.ticked_ms);
        if elapsed > self.config.stall_ms + self.tick_interval_ms() {
            // We stood still (a stopped process, a starved machine): that time counts against no client.
            self.expiry.forgive(elapsed, now.mono_ms);
            self.status.forgiven_ms += elapsed;
            self.round = None;
        }
        if elapsed >= self.tick_interval_ms() || self.is_alone() {
            self.ticked_ms = now.mono_ms;
            self.raft.tick();
        }
        if self.succession.campaigns(self.config.member, now.mono_ms) && self.raft.leader().is_none() {
            self.raft.campaign();
        }
        self.keep_lease();
        self.start_serving();
        self.give_again_if_stuck();
        self.catch_up_tick();
        self.stride();
        self.doubt_tick();
        self.watch_disk();
        self.tell_digest();
        if !self.status.leading {
            return;
        }
        self.tell_roster_again(tree);
        self.converge();
        self.renew_epoch(tree);
        self.raise_level(tree);
        match &self.round {
            None if self.expiry.is_due(now.mono_ms) => self.begin_round(Asker::Us),
            Some(round) if round.asker == Asker::Us => self.ask_again(),
            _ => {}
        }
        self.conclude_round();
        if let Some(limit) = self.reaper.due(now.mono_ms) {
            for path in tree.reapable(now.wall_ms, self.config.never_used_ms, limit) {
                self.propose(Operation::Reap { path: &path, never_used_ms: self.config.never_used_ms });
            }
        }
    }

    /// When a member was last heard of; 0 for never.
    pub(crate) fn heard_ms(&self, peer: u64) -> u64 {
        self.heard_peers.iter().find(|(other, _)| *other == peer).map_or(0, |(_, heard_ms)| *heard_ms)
    }

    fn begin_round(&mut self, asker: Asker) {
        self.rounds += 1;
        let (number, began_ms) = (self.rounds, self.now.mono_ms);
        let peers = if asker == Asker::Us { self.peers() } else { Vec::new() };
        self.outgoing.extend(peers.iter().map(|peer| (*peer, PeerMessage::TouchAsk { round: number })));
        self.round = Some(Round::new(number, began_ms, asker, self.config.shards, peers));
        self.tell_shards(|| FromCore::TouchRound { round: number });
    }

    fn ask_again(&mut self) {
        let Some(round) = &self.round else { return };
        let ask = |peer: &u64| (*peer, PeerMessage::TouchAsk { round: round.number });
        self.outgoing.extend(round.silent_peers().iter().map(ask));
    }

    /// The leader asks whom this member's shards have heard of.
    pub(crate) fn touch_asked(&mut self, leader: u64, round: u64) {
        let asker = Asker::Leader { id: leader, round };
        // Asked again for what is being found out already.
        if self.round.as_ref().is_none_or(|round| round.asker != asker) {
            self.begin_round(asker);
        }
    }

    /// A shard's answer.
    pub(crate) fn touched(&mut self, shard: u16, number: u64, sessions: &[(SessionId, u64)]) {
        for (session, heard_ms) in sessions {
            self.expiry.touch(*session, *heard_ms);
            self.attachments.heard(*session, *heard_ms);
        }
        if let Some(round) = &mut self.round {
            round.shard(shard, number);
        }
        self.conclude_round();
    }

    /// A member's answer.
    pub(crate) fn peer_touched(&mut self, peer: u64, number: u64, ages: &[(SessionId, u64)]) {
        for (session, age_ms) in ages {
            // The way the answer took counts for the client.
            self.expiry.touch(*session, self.now.mono_ms.saturating_sub(*age_ms));
        }
        let votes = self.membership.voters.contains(&peer);
        if let Some(round) = &mut self.round
            && round.asker == Asker::Us
        {
            round.peer(peer, number, votes);
        }
        self.conclude_round();
    }

    fn conclude_round(&mut self) {
        let Some(round) = &self.round else { return };
        let (majority, alive_ms) = (self.membership.majority(), self.config.lease_ms);
        let is_alive = |peer| {
            let heard_ms = self.heard_ms(peer);
            heard_ms > 0 && self.now.mono_ms <= heard_ms + alive_ms
        };
        let majority = if round.asker == Asker::Us { majority } else { 0 };
        if !round.is_complete(majority, is_alive) {
            return;
        }
        let (asker, began_ms) = (round.asker, round.began_ms);
        self.round = None;
        match asker {
            Asker::Us => self.condemn(began_ms),
            Asker::Leader { id, round } => {
                let ages = self.attachments.ages(self.now.mono_ms);
                self.outgoing.push((id, PeerMessage::Touched { round, ages }));
            }
        }
    }

    /// Until when a member that this leader has not heard of since may serve clients. It has a lease of this leader's, or
    /// of the one before, who could give leases for as long as its own: that began before a majority left it.
    pub(crate) fn serves_until_ms(&self, peer: u64) -> u64 {
        let lease_ms = self.config.lease_ms;
        self.heard_ms(peer).max(self.reign_ms + lease_ms) + lease_ms
    }

    /// Everybody who can has answered a round that began at `began_ms`: whoever's deadline had passed by then and is not
    /// among the answers has been silent for its whole timeout. A member that did not answer may have heard of its own
    /// clients until its lease was over, one that died or was removed until that happened. A generation says its holder's
    /// number alone: where that has passed to another disk, the one before it may have heard of its clients for as long
    /// as a lease of an earlier leader let it, and whoever has the number now knows nothing of that.
    fn condemn(&mut self, began_ms: u64) {
        let peers = self.peers();
        let silent = peers.iter().filter(|peer| self.heard_ms(**peer) < began_ms);
        let silent: Vec<_> = silent.map(|peer| (peer % NUMBERS, self.serves_until_ms(*peer))).collect();
        let (own, stranger_ms, parted) = (self.config.member, self.serves_until_ms(0), &self.parted_peers);
        let heard_ms = |session, generation| {
            let holder = holder(session, generation);
            let mut parted_ms = parted.get(&holder).copied().unwrap_or(0);
            let mut seats = peers.iter().chain([&own]).filter(|id| **id % NUMBERS == holder).peekable();
            if seats.peek().is_none() || seats.any(|id| *id != holder) {
                parted_ms = parted_ms.max(stranger_ms);
            }
            let silent = silent.iter().filter(|(number, _)| *number == holder);
            silent.map(|(_, until_ms)| *until_ms).fold(parted_ms, u64::max)
        };
        let condemned = self.expiry.condemn(began_ms, heard_ms);
        self.status.condemned += condemned.len() as u64;
        for (session, generation) in condemned {
            self.propose(Operation::Expire { session, generation });
        }
    }
}
