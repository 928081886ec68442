//! How fast copies are made that nothing waits for: `leader.replication.throttled.rate` and its kin, as Kafka's tool for
//! reassignments sets them.
//!
//! A throttle holds for the replicas that a topic names, and only for one that no record waits for: a learner, or a voter that
//! is not in sync while enough others are. What a producer waits for is never throttled. The leader holds to both rates: its own is
//! that of everything it sends under a throttle, the follower's that of what it sends to one follower.
//!
//! A rate is kept by debts: what was sent is paid off at the rate, and nothing more is sent until it is. So a message may be longer than
//! what a rate allows in a second, and no more than one message is sent ahead.

use std::collections::{BTreeMap, BTreeSet};

use base::MonoTime;
use log_config::{ThrottledReplicas, TopicConfig};
use log_partition::PartitionId;
use replication_appointed::ReplicaId;
use replication_controller::PartitionId as ReplicatedId;

use crate::config::ReplicationRates;

/// What is held back is looked at so often: it may be needed by then, milliseconds.
const LOOK_MS: u64 = 1_000;
/// A debt is not longer than this: a rate that is raised is felt by then, milliseconds.
const DEBT_MS_MAX: u64 = 60_000;

/// What a topic says of its replicas.
#[derive(Debug)]
struct Throttled {
    leader: ThrottledReplicas,
    follower: ThrottledReplicas,
}

/// When what was sent is paid off, microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Debt(u64);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    rates: ReplicationRates,
    /// Of topics that name replicas.
    topics: BTreeMap<[u8; 16], Throttled>,
    leader: Debt,
    /// Copies that the controller makes for balance, until when, and how fast they go.
    moves: BTreeMap<PartitionId, MonoTime>,
    move_rate: Option<u64>,
    moved: Debt,
    followers: BTreeMap<ReplicaId, Debt>,
    /// What was held back, and until when.
    held: BTreeMap<(ReplicaId, ReplicatedId), MonoTime>,
}

/// Which throttles hold for what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Holds {
    leader: bool,
    follower: bool,
    moved: bool,
}

impl Throttle {
    pub(super) fn of(rates: ReplicationRates) -> Self {
        Self { rates, ..Self::default() }
    }

    pub(super) fn set_rates(&mut self, rates: ReplicationRates) {
        if self.rates != rates {
            self.rates = rates;
            // What was lent at another rate is forgotten.
            (self.leader, self.followers) = (Debt::default(), BTreeMap::new());
            self.look_again();
        }
    }

    /// What is in force for a topic.
    pub(super) fn set_topic(&mut self, topic: [u8; 16], config: &TopicConfig) {
        let (leader, follower) = (config.leader_throttled.clone(), config.follower_throttled.clone());
        if is_none(&leader) && is_none(&follower) {
            self.topics.remove(&topic);
        } else {
            self.topics.insert(topic, Throttled { leader, follower });
        }
    }

    pub(super) fn forget_topic(&mut self, topic: [u8; 16]) {
        self.topics.remove(&topic);
    }

    /// These copies are made for balance, and throttled until then unless it is said again.
    pub(super) fn set_moves(&mut self, moves: Vec<PartitionId>, until: MonoTime, rate: u64) {
        self.move_rate = Some(rate);
        self.moves.extend(moves.into_iter().map(|id| (id, until)));
    }

    pub(super) fn tick(&mut self, now: MonoTime) {
        self.moves.retain(|_, until| *until > now);
    }

    pub(super) fn forget(&mut self, peer: ReplicaId) {
        self.followers.remove(&peer);
        self.held.retain(|(to, _), _| *to != peer);
    }

    /// Which throttles hold for entries of that partition from one broker to another; nothing if none does.
    pub(super) fn holds(&self, id: PartitionId, from: ReplicaId, to: ReplicaId) -> Option<Holds> {
        let of = self.topics.get(&id.topic);
        let leader = self.rates.leader.is_some() && of.is_some_and(|of| names(&of.leader, id.index, from));
        let follower =
            self.rates.follower.is_some() && of.is_some_and(|of| names(&of.follower, id.index, to));
        let moved = self.moves.contains_key(&id);
        (leader || follower || moved).then_some(Holds { leader, follower, moved })
    }

    /// Whether nothing may be sent under these throttles for now. Then it is held back, and [`Self::take_due`] gives it later.
    pub(super) fn holds_back(&mut self, holds: Holds, key: (ReplicaId, ReplicatedId), now: MonoTime) -> bool {
        let follower = self.followers.get(&key.0).copied().unwrap_or_default();
        let own = holds.leader.then(|| self.leader.until(self.rates.leader, now)).flatten();
        let other = holds.follower.then(|| follower.until(self.rates.follower, now)).flatten();
        let moved = holds.moved.then(|| self.moved.until(self.move_rate, now)).flatten();
        let until = own.max(other).max(moved);
        self.held.extend(until.map(|until| (key, until.min(now.plus_ms(LOOK_MS)))));
        until.is_some()
    }

    /// Who is in sync has changed: what is held back may be needed now.
    pub(super) fn look_again(&mut self) {
        self.held.values_mut().for_each(|until| *until = MonoTime::ZERO);
    }

    /// That was sent.
    pub(super) fn sent(&mut self, holds: Holds, to: ReplicaId, bytes: usize, now: MonoTime) {
        if holds.leader {
            self.leader.grow(bytes, self.rates.leader, now);
        }
        if holds.moved {
            self.moved.grow(bytes, self.move_rate, now);
        }
        if holds.follower {
            self.followers.entry(to).or_default().grow(bytes, self.rates.follower, now);
        }
    }

    /// Takes what was held back until now.
    pub(super) fn take_due(&mut self, now: MonoTime) -> BTreeMap<ReplicaId, Vec<ReplicatedId>> {
        let due: BTreeSet<_> =
            self.held.extract_if(.., |_, until| *until <= now).map(|(key, _)| key).collect();
        let mut by_peer = BTreeMap::<_, Vec<_>>::new();
        due.into_iter().for_each(|(to, id)| by_peer.entry(to).or_default().push(id));
        by_peer
    }

    pub(super) fn next_deadline(&self) -> Option<MonoTime> {
        self.held.values().min().copied()
    }
}

impl Debt {
    /// Until when nothing may be sent.
    fn until(self, rate: Option<u64>, now: MonoTime) -> Option<MonoTime> {
        if rate == Some(0) {
            return Some(now.plus_ms(LOOK_MS));
        }
        let left = self.0.saturating_sub(micros(now));
        (left > 0).then(|| now.plus_ms(left.div_ceil(1_000)))
    }

    fn grow(&mut self, bytes: usize, rate: Option<u64>, now: MonoTime) {
        let Some(rate) = rate.filter(|rate| *rate > 0) else { return };
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let longest = DEBT_MS_MAX * 1_000;
        let costs = bytes.saturating_mul(1_000_000).checked_div(rate).unwrap_or(longest);
        let now = micros(now);
        self.0 = self.0.max(now).saturating_add(costs).min(now + longest);
    }
}

fn micros(now: MonoTime) -> u64 {
    now.since(MonoTime::ZERO).saturating_mul(1_000)
}

fn is_none(replicas: &ThrottledReplicas) -> bool {
    matches!(replicas, ThrottledReplicas::These(these) if these.is_empty())
}

fn names(replicas: &ThrottledReplicas, index: i32, broker: ReplicaId) -> bool {
    match replicas {
        ThrottledReplicas::All => true,
        ThrottledReplicas::These(these) => these.contains(&(index, broker.0.cast_signed())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOPIC: [u8; 16] = [7; 16];
    const PARTITION: PartitionId = PartitionId { topic: TOPIC, index: 4 };
    const KEY: (ReplicaId, ReplicatedId) = (ReplicaId(2), ReplicatedId { group: TOPIC, index: 4 });

    fn at(ms: u64) -> MonoTime {
        MonoTime::ZERO.plus_ms(ms)
    }

    fn throttle(leader: Option<u64>, follower: Option<u64>) -> Throttle {
        let mut throttle = Throttle::default();
        throttle.set_rates(ReplicationRates { leader, follower });
        let of = Throttled {
            leader: ThrottledReplicas::These(vec![(4, 1)]),
            follower: ThrottledReplicas::These(vec![(4, 2)]),
        };
        throttle.topics.insert(TOPIC, of);
        throttle
    }

    /// Bytes that go in a second, in messages of `size` bytes.
    fn in_a_second(throttle: &mut Throttle, size: usize) -> usize {
        let mut sent = 0;
        for ms in 0..1_000 {
            let holds = throttle.holds(PARTITION, ReplicaId(1), ReplicaId(2)).expect("it is named");
            if !throttle.holds_back(holds, KEY, at(ms)) {
                throttle.sent(holds, ReplicaId(2), size, at(ms));
                sent += size;
            }
        }
        sent
    }

    #[test]
    fn rate_is_kept_whatever_the_length_of_messages() {
        for size in [100, 999, 50_000] {
            let sent = in_a_second(&mut throttle(Some(100_000), None), size);
            assert!((90_000..=100_000 + size).contains(&sent), "{size}: {sent}");
        }
        let sent = in_a_second(&mut throttle(Some(1 << 40), Some(20_000)), 500);
        assert!((18_000..=20_500).contains(&sent), "the lower rate counts: {sent}");
        assert_eq!(in_a_second(&mut throttle(Some(0), None), 100), 0);
    }

    #[test]
    fn only_what_a_topic_names_is_held_and_only_with_a_rate() {
        let throttle = throttle(Some(1), None);
        let other = PartitionId { index: 5, ..PARTITION };
        assert!(throttle.holds(PARTITION, ReplicaId(1), ReplicaId(2)).is_some());
        assert!(throttle.holds(other, ReplicaId(1), ReplicaId(2)).is_none());
        assert!(throttle.holds(PARTITION, ReplicaId(3), ReplicaId(2)).is_none(), "the follower has no rate");
        assert!(self::throttle(None, Some(1)).holds(PARTITION, ReplicaId(3), ReplicaId(2)).is_some());
        assert!(self::throttle(None, None).holds(PARTITION, ReplicaId(1), ReplicaId(2)).is_none());
    }

    #[test]
    fn copies_for_balance_are_throttled_until_nobody_says_so_any_more() {
        let mut throttle = Throttle::default();
        let holds = |throttle: &Throttle| throttle.holds(PARTITION, ReplicaId(1), ReplicaId(2));
        assert!(holds(&throttle).is_none());
        throttle.set_moves(vec![PARTITION], at(3_000), 50_000);
        let sent = in_a_second(&mut throttle, 500);
        assert!((45_000..=51_000).contains(&sent), "{sent}");
        throttle.tick(at(2_999));
        assert!(holds(&throttle).is_some());
        throttle.set_moves(vec![PARTITION], at(6_000), 50_000);
        throttle.tick(at(5_999));
        assert!(holds(&throttle).is_some());
        throttle.tick(at(6_000));
        assert!(holds(&throttle).is_none());
    }

    #[test]
    fn what_is_held_is_given_back_when_it_is_paid_off_or_the_rate_is_another() {
        let mut throttle = throttle(Some(1_000), None);
        let holds = throttle.holds(PARTITION, ReplicaId(1), ReplicaId(2)).expect("it is named");
        throttle.sent(holds, ReplicaId(2), 500, at(0));
        assert!(throttle.holds_back(holds, KEY, at(100)));
        assert_eq!((throttle.next_deadline(), throttle.take_due(at(499)).len()), (Some(at(500)), 0));
        assert_eq!(throttle.take_due(at(500)), [(ReplicaId(2), vec![KEY.1])].into());
        assert!(!throttle.holds_back(holds, KEY, at(500)) && throttle.next_deadline().is_none());
        throttle.sent(holds, ReplicaId(2), 1 << 40, at(500));
        assert!(throttle.holds_back(holds, KEY, at(501)));
        assert_eq!(throttle.next_deadline(), Some(at(501 + LOOK_MS)), "it may be needed by then");
        assert!(!throttle.holds_back(holds, KEY, at(500 + DEBT_MS_MAX)), "no debt is longer");
        assert!(throttle.holds_back(holds, KEY, at(499 + DEBT_MS_MAX)));
        throttle.set_rates(ReplicationRates { leader: Some(2_000), follower: None });
        assert_eq!(throttle.take_due(at(502)).len(), 1);
        assert!(!throttle.holds_back(holds, KEY, at(502)));
    }
}
