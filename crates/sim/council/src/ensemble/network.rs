//! The network between members: each message has the time at which it arrives, each direction its own pace. Messages of
//! one direction come in order, but for those that overtake. Knows no message's meaning.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::random::Random;

/// Messages on their way in one direction, beyond which some are dropped.
const LANE_MAX: usize = 300;

/// A message on its way.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) bytes: Vec<u8>,
    due_ms: u64,
}

/// One direction between two numbers.
#[derive(Debug, Default)]
struct Lane {
    flights: VecDeque<Flight>,
    /// How long a message takes at the least.
    base_ms: u64,
    extra_ms: u64,
    slow_until_ms: u64,
}

/// From one number to another.
pub(super) type Direction = (u64, u64);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Network {
    /// By direction; what is bulky has a connection of its own, as between real members.
    lanes: BTreeMap<(Direction, bool), Lane>,
    /// Directions in which nothing comes through.
    pub(super) cut: BTreeSet<Direction>,
    /// The slowest direction's pace, milliseconds.
    base_max_ms: u64,
}

impl Network {
    /// A network in which each direction takes so long at the most, before anything goes wrong.
    pub(super) fn new(base_max_ms: u64) -> Self {
        Self { base_max_ms, ..Self::default() }
    }

    /// A message sets out. `overtakes` lets it come before others.
    pub(super) fn send(
        &mut self,
        (from, to): Direction,
        lane: (Direction, bool),
        bytes: Vec<u8>,
        now_ms: u64,
        random: &mut Random,
    ) {
        let base_max_ms = self.base_max_ms;
        let lane = self
            .lanes
            .entry(lane)
            .or_insert_with(|| Lane { base_ms: random.below(base_max_ms + 1), ..Lane::default() });
        let extra_ms = if now_ms < lane.slow_until_ms { lane.extra_ms } else { 0 };
        let due_ms = now_ms + lane.base_ms + extra_ms + random.below(3);
        // In order, also when the direction has just become faster.
        let due_ms = lane.flights.back().map_or(due_ms, |last| last.due_ms.max(due_ms));
        lane.flights.push_back(Flight { from, to, bytes, due_ms });
        if lane.flights.len() > LANE_MAX {
            lane.flights.remove(random.below(LANE_MAX as u64) as usize);
        }
    }

    /// A message that has arrived. `overtakes` says whether the next one comes before it. Whom `is_deaf` names gets
    /// nothing: it waits in the socket.
    pub(super) fn arrive(
        &mut self,
        now_ms: u64,
        overtakes: bool,
        is_deaf: impl Fn(u64) -> bool,
        random: &mut Random,
    ) -> Option<(Direction, Flight)> {
        let is_due = |lane: &Lane| lane.flights.front().is_some_and(|flight| flight.due_ms <= now_ms);
        let ready = self.lanes.iter().filter(|(((_, to), _), lane)| is_due(lane) && !is_deaf(*to));
        let ready: Vec<_> = ready.map(|(key, _)| *key).collect();
        let key = *ready.get(random.below(ready.len() as u64) as usize)?;
        let lane = self.lanes.get_mut(&key)?;
        let due = lane.flights.partition_point(|flight| flight.due_ms <= now_ms) as u64;
        let at = if overtakes { random.below(due) as usize } else { 0 };
        lane.flights.remove(at).map(|flight| (key.0, flight))
    }

    /// It comes once more.
    pub(super) fn again(&mut self, lane: (Direction, bool), flight: Flight) {
        if let Some(lane) = self.lanes.get_mut(&lane) {
            let due_ms = lane.flights.back().map_or(flight.due_ms, |last| last.due_ms);
            lane.flights.push_back(Flight { due_ms, ..flight });
        }
    }

    /// How many messages are on their way.
    pub(super) fn in_flight(&self) -> usize {
        self.lanes.values().map(|lane| lane.flights.len()).sum()
    }

    /// What is on its way to and from that number is lost.
    pub(super) fn forget(&mut self, number: u64) {
        for (((from, to), _), lane) in &mut self.lanes {
            if *from == number || *to == number {
                lane.flights.clear();
            }
        }
    }

    /// All that is on its way is lost.
    pub(super) fn forget_all(&mut self) {
        self.lanes.values_mut().for_each(|lane| lane.flights.clear());
    }

    /// One direction takes longer until then, or what is bulky there.
    pub(super) fn slow_down(&mut self, direction: Direction, bulky: bool, extra_ms: u64, until_ms: u64) {
        for kind in [true, bulky] {
            if let Some(lane) = self.lanes.get_mut(&(direction, kind)) {
                (lane.extra_ms, lane.slow_until_ms) = (extra_ms, until_ms);
            }
        }
    }

    /// Every direction is as fast as it ever was, also for what is on its way.
    pub(super) fn speed_up(&mut self, now_ms: u64) {
        for lane in self.lanes.values_mut() {
            lane.slow_until_ms = 0;
            let latest_ms = now_ms + lane.base_ms;
            lane.flights.iter_mut().for_each(|flight| flight.due_ms = flight.due_ms.min(latest_ms));
        }
    }

    /// Nothing comes through between these and those.
    pub(super) fn split(&mut self, these: &[u64], those: &[u64]) {
        let pairs = these.iter().flat_map(|one| those.iter().map(move |other| (*one, *other)));
        self.cut.extend(pairs.flat_map(|(one, other)| [(one, other), (other, one)]));
    }

    /// Nothing comes through between that number and some others.
    pub(super) fn part(&mut self, some: u64, others: &[u64], one_way: bool, random: &mut Random) {
        for other in others.iter().copied().filter(|other| *other != some) {
            if random.chance(70) {
                self.cut.insert((some, other));
                if !one_way {
                    self.cut.insert((other, some));
                }
            }
        }
    }
}
