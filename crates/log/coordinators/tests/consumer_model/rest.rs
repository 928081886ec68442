//! How the world is healed, and what must hold when the group is at rest.

use std::collections::BTreeSet;

use log_coordinators::{Answer, Effect, OffsetFetch, Request, Ticket, Topic, Topics as _};

use crate::client::{Client, INTERVAL_MS, Partition, Protocol, Stage};
use crate::world::World;

/// How long a group may take to come to rest once everybody behaves.
const REST_MS: u64 = 120_000;
/// How long it has to stay at rest: topics are matched with regular expressions only every ten seconds.
const QUIET_MS: u64 = 10_000 + 3 * INTERVAL_MS;

impl World {
    /// All faults have ended: the group comes to rest, with everything owned once (L53).
    pub(crate) fn heal(&mut self) {
        self.healed = true;
        for client in &mut self.clients {
            (client.silent, client.stubborn) = (false, false);
        }
        if self.random.chance(50) {
            self.change_topics();
        }
        let end = self.counted + REST_MS;
        let mut quiet_since = None;
        loop {
            for number in 0..self.clients.len() {
                self.turn_of(number);
            }
            while !self.in_flight.is_empty() {
                self.settle_append(false);
            }
            let rests = self.unrest();
            match (&rests, quiet_since) {
                (None, None) => quiet_since = Some(self.counted),
                // It stays at rest, and the coordinator has heard of everybody.
                (None, Some(since))
                    if self.counted >= since + QUIET_MS
                        && self.clients.iter().all(|client| client.heard_at > since) =>
                {
                    break;
                }
                (None, Some(_)) => {}
                (Some(_), _) => quiet_since = None,
            }
            assert!(
                rests.is_none() || self.counted < end,
                "the group does not come to rest (L53): {rests:?}\n{:#?}",
                self.clients
            );
        }
        self.check_balance();
        self.read_offsets();
    }

    /// Why the group is not at rest.
    pub(crate) fn unrest(&mut self) -> Option<String> {
        let wanted = self.wanted();
        let owned: Vec<_> = self.clients.iter().flat_map(|client| &client.owned).copied().collect();
        let distinct: BTreeSet<_> = owned.iter().copied().collect();
        if owned.len() != distinct.len() {
            return Some(format!("a partition is owned twice: {owned:?}"));
        }
        if distinct != wanted {
            return Some(format!("{distinct:?} is owned instead of {wanted:?}"));
        }
        let reads = |client: &Client| client.owned.iter().all(|partition| self.reads(client, partition));
        if !self.clients.iter().all(reads) {
            return Some("a client owns what it does not read".into());
        }
        let moving = |client: &Client| client.stage != Stage::Member || !client.giving_up.is_empty();
        self.clients.iter().any(moving).then(|| "a client is on its way".into())
    }

    pub(crate) fn reads(&self, client: &Client, (id, _): &Partition) -> bool {
        self.topics.name(id).is_some_and(|name| client.regex.is_some() || client.topics.contains(&name))
    }

    /// Every partition that somebody reads.
    pub(crate) fn wanted(&self) -> BTreeSet<Partition> {
        let topics = self.topics.topics.values();
        let all = topics.flat_map(|(id, partitions)| (0..*partitions).map(|index| (*id, index)));
        all.filter(|partition| self.clients.iter().any(|client| self.reads(client, partition))).collect()
    }

    /// Where the coordinator assigns evenly, no move of one partition would balance better.
    pub(crate) fn check_balance(&mut self) {
        self.look();
        let both = [Protocol::Consumer, Protocol::Classic]
            .map(|protocol| self.clients.iter().any(|client| client.protocol == protocol));
        match (self.group_type, both) {
            ("classic", _) => {
                assert!(!both[0], "a client of KIP-848 is in a classic group");
                return self.oracle.count("rested as a classic group");
            }
            (_, [true, true]) => self.oracle.count("rested with both protocols"),
            (kind, _) => assert!(both[0], "no client of KIP-848 is in a {kind} group"),
        }
        let votes = |range: bool| {
            let voters = self.clients.iter().filter(|client| client.protocol == Protocol::Consumer);
            voters.filter(|client| client.range == range).count()
        };
        if votes(true) > 0 {
            return;
        }
        for from in &self.clients {
            for to in &self.clients {
                let moves = from.owned.iter().any(|partition| self.reads(to, partition));
                let (most, least) = (from.owned.len(), to.owned.len());
                assert!(!moves || most <= least + 1, "a move would balance: {most} and {least}");
            }
        }
    }

    pub(crate) fn read_offsets(&mut self) {
        let topics: Vec<_> = self.topics.topics.iter().map(|(name, found)| (name.clone(), *found)).collect();
        for (name, (id, partitions)) in topics {
            for index in 0..partitions {
                let topic = Topic { name: name.clone(), id };
                let partitions = Some(vec![(topic, index)]);
                let fetch = OffsetFetch { group: "g".into(), partitions, require_stable: true, member: None };
                self.next_ticket += 1;
                let ticket = Ticket(self.next_ticket);
                self.coordinator.handle(Request::Fetch(vec![fetch]), ticket, &self.topics, self.now);
                for effect in self.coordinator.take_effects() {
                    if let Effect::Reply { answer: Answer::Offsets(groups), .. } = effect {
                        self.oracle.fetched((id, index), groups[0].offsets[0].offset.0);
                    }
                }
            }
        }
    }
}
