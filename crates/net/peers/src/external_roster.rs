//! Connections of a group whose members are told from outside, and an owner that bounds what waits in both directions.

use std::collections::BTreeMap;

use base::MonoTime;
use net_peer_pairs::{Lane as LaneName, PairRef, PeerNumber};

use super::PeerConnections;
use crate::channel::ChannelNumber;
use crate::roster::Roster;

impl PeerConnections {
    /// The members are these from now on. `processes` are those that are known to run, by number. The connections to all
    /// others end, and so do those to earlier processes; neither is let in again. The members are not told of it.
    ///
    /// Of two members the one with the greater number dials, so that they never dial each other at once. Nothing is lost by
    /// that: a member that does not know the other would refuse it anyway. A member of which a later process is known is
    /// dialled without further delay.
    pub fn set_members(&mut self, roster: Roster, processes: BTreeMap<PeerNumber, u64>) {
        let is_outdated = |number: PeerNumber, process| {
            net_peer_pairs::is_outdated(process, processes.get(&number).copied())
        };
        let gone =
            |number: PeerNumber, process| roster.member(number).is_none() || is_outdated(number, process);
        let pairs = self.pairs.iter().map(|pair| (pair.reference(), pair.process()));
        let gone: Vec<_> = pairs.filter(|(pair, process)| gone(pair.number, *process)).collect();
        let lower = roster.members().filter(|member| member.number < self.own);
        let to_dial = Roster::new(lower.cloned(), 0);
        self.credentials.names.know(roster);
        let started = self.credentials.connected.require(processes);
        gone.into_iter().for_each(|(pair, _)| self.drop_pair(pair));
        let pairs = &self.pairs;
        self.diallers.know(&to_dial, self.own, |number| pairs.pair_with(number).is_some());
        started.into_iter().for_each(|number| self.diallers.hurry(number));
    }

    /// The pair that stands with the member of that number, and the process at its other end.
    #[must_use]
    pub fn standing(&self, number: PeerNumber) -> Option<(PairRef, u64)> {
        let mut pairs = self.pairs.iter().filter(|pair| pair.is_up());
        pairs.find(|pair| pair.reference().number == number).map(|pair| (pair.reference(), pair.process()))
    }

    /// When something came last of that pair, if it stands.
    pub fn last_heard(&mut self, pair: PairRef) -> Option<MonoTime> {
        self.pairs.current(pair).map(|pair| pair.last_heard())
    }

    /// Queues the message that `encode` appends on a connection of that pair; [`Self::flush`] sends it. False if the pair
    /// does not stand, or too much waits.
    pub fn send_on(
        &mut self,
        pair: PairRef,
        lane: LaneName,
        channel: ChannelNumber,
        encode: impl FnOnce(&mut Vec<u8>),
    ) -> bool {
        let lane = self.pairs.current(pair).and_then(|pair| pair.connection(lane));
        lane.is_some_and(|lane| lane.put(channel, encode))
    }

    /// How many bytes wait to be sent on a connection of that pair.
    pub fn waiting_bytes(&mut self, pair: PairRef, lane: LaneName) -> usize {
        let lane = self.pairs.current(pair).and_then(|pair| pair.connection(lane));
        lane.map_or(0, |lane| lane.waiting_bytes())
    }

    /// Whether nothing is read from a connection of that pair for now: nobody takes what comes. The other member counts as
    /// heard meanwhile, and finds that its bytes wait.
    pub fn hold(&mut self, pair: PairRef, lane: LaneName, held: bool) {
        if let Some(lane) = self.pairs.current(pair).and_then(|pair| pair.connection(lane)) {
            lane.held = held;
        }
    }
}
