//! When each step begins: within the limits of copies at a time, of leaders that change in a second, and of room.
//!
//! A new replica takes room at once, and the old one gives it back later. Within a stage only room counts that
//! was free when the stage began. So the steps of a stage may end in any order without filling a disk.

use core::time::Duration;
use std::collections::BTreeSet;

use crate::change::Change;
use crate::model::Model;
use crate::reason::Reason;
use crate::resource::{Amounts, Resource};
use crate::route::Route;
use crate::settings::Settings;
use crate::step::Step;

/// The steps with their times.
pub(crate) struct Schedule {
    /// In the order in which they begin.
    pub(crate) steps: Vec<Step>,
    /// The cluster after all of them.
    pub(crate) after: Model,
    /// Partitions whose other steps find no room in any order.
    pub(crate) waiting: BTreeSet<usize>,
}

/// What is left of the way of a partition.
struct Rest {
    partition: usize,
    route: std::vec::IntoIter<(Change, Reason)>,
    ready: Duration,
}

/// Schedules the ways of partitions, the most important first.
pub(crate) fn schedule(before: &Model, routes: Vec<(usize, Route)>, settings: &Settings) -> Schedule {
    let mut timetable = Timetable::new(before, settings);
    let rest = |(partition, route): (usize, Route)| Rest {
        partition,
        route: route.into_iter(),
        ready: Duration::ZERO,
    };
    let mut rests: Vec<Rest> = routes.into_iter().map(rest).collect();
    while !rests.is_empty() {
        let steps_before = timetable.steps.len();
        timetable.begin_stage();
        for rest in &mut rests {
            timetable.go_on(rest);
        }
        rests.retain(|rest| !rest.route.as_slice().is_empty());
        if timetable.steps.len() == steps_before {
            break;
        }
    }
    timetable.steps.sort_by_key(|step| step.start);
    let waiting = rests.into_iter().map(|rest| rest.partition).collect();
    Schedule { steps: timetable.steps, after: timetable.model, waiting }
}

struct Timetable<'a> {
    settings: &'a Settings,
    /// The cluster after all steps that have a time.
    model: Model,
    steps: Vec<Step>,
    stage: u32,
    stage_start: Duration,
    end: Duration,
    /// For each node what it uses during the stage: what is added counts, what is removed does not.
    reserved: Vec<Amounts>,
    /// For each node and each copy that it may receive at a time, when that may begin.
    receives: Vec<Vec<Duration>>,
    /// The same for what it sends.
    sends: Vec<Vec<Duration>>,
    next_transfer: Duration,
    transfer_interval: Duration,
}

impl<'a> Timetable<'a> {
    fn new(model: &Model, settings: &'a Settings) -> Self {
        let free = |count: usize| vec![vec![Duration::ZERO; count.max(1)]; model.nodes.len()];
        let transfers_per_s =
            model.partitions.len() as u64 * u64::from(settings.transfers_percent_per_s) / 100;
        Self {
            settings,
            model: model.clone(),
            steps: Vec::new(),
            stage: 0,
            stage_start: Duration::ZERO,
            end: Duration::ZERO,
            reserved: Vec::new(),
            receives: free(settings.copies_in_per_node),
            sends: free(settings.copies_out_per_node),
            next_transfer: Duration::ZERO,
            transfer_interval: Duration::from_micros(1_000_000 / transfers_per_s.max(1)),
        }
    }

    fn begin_stage(&mut self) {
        self.stage = self.steps.last().map_or(0, |_| self.stage + 1);
        self.stage_start = self.end;
        self.reserved = self.model.nodes.iter().map(|node| node.used).collect();
    }

    /// Gives times to the next steps of a partition, until one has to wait for room.
    fn go_on(&mut self, rest: &mut Rest) {
        rest.ready = rest.ready.max(self.stage_start);
        while let Some((change, reason)) = rest.route.as_slice().first().cloned() {
            if !self.reserve(rest.partition, &change) {
                return;
            }
            rest.route.next();
            let (start, duration) = self.time(rest, &change);
            self.push(rest, &change, reason, (start, duration));
        }
    }

    /// Takes the room that a change needs, if there is enough.
    fn reserve(&mut self, partition: usize, change: &Change) -> bool {
        let needs = &self.model.partitions[partition].follow;
        let free_percent = self.settings.headroom_percent.min(self.settings.repair_headroom_percent);
        let nodes = change.takes_room();
        let fits = |node: &usize| {
            [Resource::Disk, Resource::Memory].into_iter().all(|resource| {
                let usable = self.model.nodes[*node].usable(resource, free_percent);
                usable.is_none_or(|usable| self.reserved[*node][resource] + needs[resource] <= usable)
            })
        };
        if !nodes.iter().all(fits) {
            return false;
        }
        for node in nodes {
            self.reserved[node] += needs;
        }
        true
    }

    /// When a change begins and how long it takes.
    fn time(&mut self, rest: &Rest, change: &Change) -> (Duration, Duration) {
        if let Some(to) = change.copies_to() {
            return self.time_of_copy(rest, to);
        }
        if matches!(change, Change::Lead { .. }) {
            let start = rest.ready.max(self.next_transfer);
            self.next_transfer = start + self.transfer_interval;
            return (start, self.settings.transfer_cost);
        }
        (rest.ready, Duration::ZERO)
    }

    fn time_of_copy(&mut self, rest: &Rest, to: usize) -> (Duration, Duration) {
        let of = &self.model.partitions[rest.partition];
        let duration = copy_duration(of.copy_bytes, self.settings);
        let receive = self.receives[to].iter_mut().min();
        let send = of.leader.and_then(|leader| self.sends[leader].iter_mut().min());
        let mut ends: Vec<&mut Duration> = receive.into_iter().chain(send).collect();
        let free = ends.iter().map(|end| **end).max().unwrap_or_default();
        let start = rest.ready.max(free);
        for end in &mut ends {
            **end = start.saturating_add(duration);
        }
        (start, duration)
    }

    fn push(
        &mut self,
        rest: &mut Rest,
        change: &Change,
        reason: Reason,
        (start, duration): (Duration, Duration),
    ) {
        let of = &self.model.partitions[rest.partition];
        let copies = change.copies_to().is_some();
        let step = Step {
            partition: of.id,
            action: change.action(&self.model),
            reason,
            copy_bytes: if copies { of.copy_bytes } else { 0 },
            copy_from: of.leader.filter(|_| copies).map(|leader| self.model.nodes[leader].id),
            stage: self.stage,
            start,
            duration,
        };
        rest.ready = step.end();
        self.end = self.end.max(step.end());
        self.steps.push(step);
        change.apply(&mut self.model, rest.partition);
    }
}

/// How long a copy takes if all copies that a node may make at a time share what it may copy.
fn copy_duration(bytes: u64, settings: &Settings) -> Duration {
    let at_a_time = settings.copies_in_per_node.max(settings.copies_out_per_node).max(1);
    let micros =
        u128::from(bytes) * at_a_time as u128 * 1_000_000 / u128::from(settings.copy_bytes_per_s.max(1));
    Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;
    use crate::testing::model;

    fn moves(moves: &[(usize, usize, usize)]) -> Vec<(usize, Route)> {
        let route = |(partition, from, to): &(usize, usize, usize)| {
            let change = Change::Move { from: *from, to: *to, leads: true };
            (*partition, vec![(change, Reason::Draining(NodeId(0)))])
        };
        moves.iter().map(route).collect()
    }

    /// A copy of 100 bytes takes a second.
    fn settings() -> Settings {
        Settings { copy_bytes_per_s: 100, ..Settings::default() }
    }

    fn starts(schedule: &Schedule) -> Vec<u64> {
        schedule.steps.iter().map(|step| step.start.as_secs()).collect()
    }

    #[test]
    fn copies_of_one_node_follow_each_other_and_others_run_beside() {
        let model = model(&[0; 4], &[&[0], &[0], &[1]]);
        let schedule = schedule(&model, moves(&[(0, 0, 2), (1, 0, 3), (2, 1, 3)]), &settings());
        assert_eq!(starts(&schedule), [0, 1, 2]);
        assert!(schedule.steps.iter().all(|step| step.duration == Duration::from_secs(1)));
    }

    #[test]
    fn copies_at_a_time_share_what_a_node_may_copy() {
        let model = model(&[0; 4], &[&[0], &[0]]);
        let settings = Settings { copies_out_per_node: 2, ..settings() };
        let schedule = schedule(&model, moves(&[(0, 0, 2), (1, 0, 3)]), &settings);
        assert_eq!(starts(&schedule), [0, 0]);
        assert!(schedule.steps.iter().all(|step| step.duration == Duration::from_secs(2)));
    }

    #[test]
    fn step_that_needs_the_room_of_another_waits_for_the_next_stage() {
        // Nine replicas of 100 bytes fill a disk of 1,000 up to its headroom.
        let model = model(&[0; 3], &[&[0], &[1], &[1], &[1], &[1], &[1], &[1], &[1], &[1], &[1]]);
        let schedule = schedule(&model, moves(&[(0, 0, 1), (1, 1, 2)]), &settings());
        let stages: Vec<_> = schedule.steps.iter().map(|step| (step.partition.0, step.stage)).collect();
        assert_eq!(stages, [(1, 0), (0, 1)]);
        assert_eq!(starts(&schedule), [0, 1]);
    }

    #[test]
    fn steps_that_wait_for_each_other_are_left_out() {
        let full: Vec<&[u32]> = [[0_u32].as_slice(); 9].into_iter().chain([[1_u32].as_slice(); 9]).collect();
        let schedule = schedule(&model(&[0; 2], &full), moves(&[(0, 0, 1), (9, 1, 0)]), &settings());
        assert!(schedule.steps.is_empty());
        assert_eq!(schedule.waiting, [0, 9].into());
    }
}
