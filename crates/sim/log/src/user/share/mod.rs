//! A member of the share group: it is told its partitions by the answers to its heartbeats, and has a taker for each broker that
//! leads some of them. It leaves, closes sessions, keeps records for longer than they are its own, and falls asleep.

mod taker;

use std::collections::{BTreeMap, BTreeSet};

use kafka_protocol::messages::{ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

use super::finder::{Finder, Leader};
use super::group::COORDINATOR_RETRIABLE;
use super::operator::{SHARE_TOPIC, topic_name};
use super::{Around, Link, Target};
use crate::history::Place;
use crate::setting::SESSION_MS;
use taker::Taker;

/// The group.
pub(crate) const GROUP: &str = "share";
const HEARTBEAT: i16 = 1;
const PATIENCE_MS: u64 = 2_500;
const INTERVAL_MS: u64 = 400;
const UNKNOWN_MEMBER_ID: i16 = 25;
const FENCED_MEMBER_EPOCH: i16 = 110;
const JOINS: i32 = 0;
const LEAVES: i32 = -1;

/// See the module.
pub(crate) struct ShareMember {
    number: u32,
    /// Heartbeats, and with which epoch they were sent.
    link: Link<i32>,
    id: StrBytes,
    /// Its epoch; it is out before it has one.
    epoch: i32,
    is_leaving: bool,
    places: BTreeSet<Place>,
    finder: Finder,
    leaders: BTreeMap<Place, Leader>,
    /// By the places of brokers among all.
    takers: BTreeMap<usize, Taker>,
    heartbeat_at_ms: u64,
    rests_until_ms: u64,
}

impl ShareMember {
    pub(crate) fn new(number: u32, around: &mut Around<'_>) -> Self {
        Self {
            number,
            link: Link::to(Target::Coordinator(0, StrBytes::from_static_str(GROUP))),
            id: drawn_id(around),
            epoch: JOINS,
            is_leaving: false,
            places: BTreeSet::new(),
            finder: Finder::new(),
            leaders: BTreeMap::new(),
            takers: BTreeMap::new(),
            heartbeat_at_ms: 0,
            rests_until_ms: around.random.below(10_000),
        }
    }

    pub(crate) fn step(&mut self, around: &mut Around<'_>) {
        if around.now_ms < self.rests_until_ms && around.is_busy {
            return;
        }
        while let Some(answer) = self.link.receive(around) {
            let response = answer.read::<ShareGroupHeartbeatRequest>();
            self.answered(around, answer.of, &response);
        }
        if self.link.is_lost(around, PATIENCE_MS) {
            self.link.forget(around);
            self.heartbeat_at_ms = 0;
            // Its session may end before its locks.
            around.history.disturbed();
        }
        self.beat(around);
        self.follow_leaders(around);
        for broker in self.takers.keys().copied().collect::<Vec<_>>() {
            let own = |place: &&Place| self.leaders.get(place).is_some_and(|leader| leader.0 == broker);
            let own: BTreeSet<Place> = self.places.iter().filter(own).copied().collect();
            let Some(taker) = self.takers.get_mut(&broker) else { continue };
            for moved in taker.step(around, &self.id, own) {
                self.leaders.remove(&moved);
            }
        }
        if around.is_busy && self.epoch > JOINS {
            match around.random.below(2_000) {
                0 => self.leave(around),
                1 => self.sleep(around),
                _ => {}
            }
        }
    }

    /// Sends a heartbeat when it is due.
    fn beat(&mut self, around: &mut Around<'_>) {
        let is_due = around.now_ms >= self.heartbeat_at_ms && around.topics.ids.contains_key(SHARE_TOPIC);
        if !is_due || !self.link.connect(around) || self.link.outstanding() > 0 {
            return;
        }
        let epoch = if self.is_leaving { LEAVES } else { self.epoch };
        let mut request = ShareGroupHeartbeatRequest::default()
            .with_group_id(StrBytes::from_static_str(GROUP).into())
            .with_member_id(self.id.clone())
            .with_member_epoch(epoch);
        if epoch == JOINS {
            request = request.with_subscribed_topic_names(Some(vec![topic_name(SHARE_TOPIC)]));
        }
        self.link.send(around, HEARTBEAT, &request, epoch);
        self.heartbeat_at_ms = around.now_ms + INTERVAL_MS;
    }

    fn answered(&mut self, around: &mut Around<'_>, epoch: i32, answer: &ShareGroupHeartbeatResponse) {
        match answer.error_code {
            _ if epoch == LEAVES => self.begin_anew(around),
            0 => {
                self.epoch = answer.member_epoch;
                let Some(assignment) = &answer.assignment else { return };
                let places = assignment.topic_partitions.iter().flat_map(|topic| {
                    let id = topic.topic_id.into_bytes();
                    topic.partitions.iter().map(move |partition| Place { topic: id, partition: *partition })
                });
                self.places = places.collect();
                around.sim.count("share partitions assigned", 1);
            }
            UNKNOWN_MEMBER_ID | FENCED_MEMBER_EPOCH => {
                around.sim.count("share member expelled", 1);
                self.begin_anew(around);
            }
            error if COORDINATOR_RETRIABLE.contains(&error) => {
                self.link.misled(around, error);
                self.heartbeat_at_ms = around.now_ms + 30;
            }
            error => around.history.wrong(59, format!("a member of {GROUP} was answered with {error}")),
        }
    }

    /// It is not of the group any more, and joins as another member.
    fn begin_anew(&mut self, around: &mut Around<'_>) {
        self.stop_taking(around);
        (self.id, self.epoch, self.is_leaving) = (drawn_id(around), JOINS, false);
        self.heartbeat_at_ms = 0;
    }

    fn stop_taking(&mut self, around: &mut Around<'_>) {
        for (_, mut taker) in std::mem::take(&mut self.takers) {
            taker.part(around);
        }
        self.places.clear();
        self.leaders.clear();
    }

    fn leave(&mut self, around: &mut Around<'_>) {
        around.sim.tell("share member left", format_args!("member {} of {GROUP} leaves", self.number));
        // Its records go to others at once: not all of its connections need break at the same time.
        around.history.disturbed();
        self.stop_taking(around);
        (self.is_leaving, self.heartbeat_at_ms) = (true, 0);
    }

    /// It stands still for longer than its session, or than it may keep records.
    fn sleep(&mut self, around: &mut Around<'_>) {
        around.history.disturbed();
        around.sim.tell("share member asleep", format_args!("member {} of {GROUP} sleeps", self.number));
        self.rests_until_ms = around.now_ms + around.random.below(SESSION_MS * 2);
    }

    fn follow_leaders(&mut self, around: &mut Around<'_>) {
        if around.brokers.len() == 1 {
            self.leaders = self.places.iter().map(|place| (*place, (0, 0))).collect();
        } else if self.places.iter().any(|place| !self.leaders.contains_key(place)) {
            let topics: BTreeSet<[u8; 16]> = self.places.iter().map(|place| place.topic).collect();
            let topics: Vec<[u8; 16]> = topics.into_iter().collect();
            self.leaders.extend(self.finder.leaders(around, &topics).unwrap_or_default());
        }
        for (broker, _) in self.leaders.values() {
            self.takers.entry(*broker).or_insert_with(|| Taker::new(self.number, *broker));
        }
    }
}

fn drawn_id(around: &mut Around<'_>) -> StrBytes {
    let mut drawn = [0; 16];
    drawn.iter_mut().for_each(|byte| *byte = around.random.number() as u8);
    StrBytes::from_string(Uuid::from_bytes(drawn).to_string())
}

/// What the group has not finished of all partitions of its topic, in words.
pub(crate) fn open_shares(around: &Around<'_>) -> Vec<String> {
    let Some(topic) = around.topics.ids.get(SHARE_TOPIC).copied() else { return Vec::new() };
    let places = (0..around.topics.partitions).map(|partition| Place { topic, partition });
    let open = places.filter_map(|place| {
        let open = around.history.share_open(place);
        (!open.is_empty()).then(|| format!("{GROUP} has not finished {open:?} of {place:?}"))
    });
    open.collect()
}
