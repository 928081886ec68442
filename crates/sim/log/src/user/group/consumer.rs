//! A member of a consumer group (KIP-848): it is led by the answers to its heartbeats. It gives up what is not its own any more,
//! at once or after a while, commits, leaves, starts anew, and falls asleep for longer than its session.

use std::collections::{BTreeMap, BTreeSet};

use kafka_protocol::messages::consumer_group_heartbeat_request::TopicPartitions;
use kafka_protocol::messages::{ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

use super::commits::{Commits, Who, coordinator, group_id};
use super::{COORDINATOR_RETRIABLE, GROUPS, UNKNOWN_MEMBER_ID, standing};
use crate::history::{Holder, Place, Register};
use crate::served::Served;
use crate::setting::SESSION_MS;
use crate::user::operator::{GROUP_TOPIC, NAMES, topic_name};
use crate::user::{Around, Link};

const GROUP: &str = GROUPS[1];
const HEARTBEAT: i16 = 1;
const FENCED_MEMBER_EPOCH: i16 = 110;
const UNRELEASED_INSTANCE_ID: i16 = 111;
const PATIENCE_MS: u64 = 2_500;
const INTERVAL_MS: u64 = 400;
/// The epochs of a member that joins, of one that leaves, and of a static one that comes back.
const JOINS: i32 = 0;
const LEAVES: i32 = -1;
const LEAVES_FOR_NOW: i32 = -2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Out,
    In,
    /// It is about to leave, with that epoch.
    Leaving(i32),
}

/// What a heartbeat said.
struct Asked {
    epoch: i32,
    /// The highest epoch that was known.
    known: i32,
    sent: Served,
}

/// See the module.
pub(crate) struct ConsumerMember {
    number: u32,
    link: Link<Asked>,
    commits: Commits,
    who: Who,
    before: Option<Who>,
    rebalance_ms: u64,
    stage: Stage,
    owned: BTreeSet<Place>,
    /// What it is to give up, and when it does.
    gives_up: BTreeSet<Place>,
    gives_up_at_ms: u64,
    /// The next heartbeat says everything: an answer was lost, or it has given something up.
    says_all: bool,
    /// A heartbeat was lost since it joined: the broker may read it late, behind others that it has answered.
    has_lost: bool,
    heard: Served,
    confirmed: Served,
    heartbeat_at_ms: u64,
    rests_until_ms: u64,
}

impl ConsumerMember {
    pub(crate) fn new(number: u32, around: &mut Around<'_>) -> Self {
        let instance = around.random.chance(30).then(|| StrBytes::from_string(format!("instance-{number}")));
        Self {
            number,
            link: Link::to(coordinator(GROUP)),
            commits: Commits::new(GROUP, number),
            who: Who { id: StrBytes::default(), generation: JOINS, instance },
            before: None,
            rebalance_ms: 2_500 + around.random.below(3_000),
            stage: Stage::Out,
            owned: BTreeSet::new(),
            gives_up: BTreeSet::new(),
            gives_up_at_ms: 0,
            says_all: true,
            has_lost: false,
            heard: around.served,
            confirmed: around.served,
            heartbeat_at_ms: 0,
            rests_until_ms: around.random.below(20_000),
        }
    }

    /// How it stands, in words.
    pub(super) fn standing(&self) -> String {
        let Self { number, stage, owned, who, link, rests_until_ms, .. } = self;
        standing((*number, *rests_until_ms), stage, who.generation, owned, link)
    }

    pub(super) fn rests_with(&self) -> Option<Vec<Place>> {
        let is_at_rest = self.stage == Stage::In && self.gives_up.is_empty();
        is_at_rest.then(|| self.owned.iter().copied().collect())
    }

    pub(crate) fn step(&mut self, around: &mut Around<'_>) {
        if around.now_ms < self.rests_until_ms {
            return;
        }
        self.commits.step(around);
        while let Some(answer) = self.link.receive(around) {
            let response = answer.read::<ConsumerGroupHeartbeatRequest>();
            self.answered(around, &answer.of, &response);
        }
        if self.link.is_lost(around, PATIENCE_MS) {
            self.parted(around);
        }
        if !self.link.connect(around) || self.link.outstanding() > 0 {
            return;
        }
        match self.stage {
            Stage::Out => self.join(around),
            Stage::In => self.go_on(around),
            Stage::Leaving(epoch) => self.heartbeat(around, epoch),
        }
    }

    /// What is on its way is lost: an old heartbeat that comes late says what is not true any more.
    fn parted(&mut self, around: &mut Around<'_>) {
        self.has_lost |= !self.link.forget(around).is_empty();
        self.says_all = true;
        if matches!(self.stage, Stage::Leaving(_)) {
            self.has_left(around);
        }
    }

    fn join(&mut self, around: &mut Around<'_>) {
        let mut drawn = [0; 16];
        drawn.iter_mut().for_each(|byte| *byte = around.random.number() as u8);
        self.who.id = StrBytes::from_string(Uuid::from_bytes(drawn).to_string());
        (self.heard, self.confirmed) = (around.served, around.served);
        self.heartbeat(around, JOINS);
    }

    fn heartbeat(&mut self, around: &mut Around<'_>, epoch: i32) {
        let mut request = ConsumerGroupHeartbeatRequest::default()
            .with_group_id(group_id(GROUP))
            .with_member_id(self.who.id.clone())
            .with_member_epoch(epoch)
            .with_instance_id(self.who.instance.clone())
            .with_rebalance_timeout_ms(-1);
        if self.says_all || epoch == JOINS {
            let names = [GROUP_TOPIC, NAMES[0]].map(topic_name).to_vec();
            request = request
                .with_rebalance_timeout_ms(self.rebalance_ms as i32)
                .with_subscribed_topic_names(Some(names))
                .with_topic_partitions(Some(self.owned_by_topic()));
        }
        let asked = Asked { epoch, known: around.history.known_generation(GROUP), sent: around.served };
        self.link.send(around, HEARTBEAT, &request, asked);
        self.says_all = false;
        self.heartbeat_at_ms = around.now_ms + INTERVAL_MS;
    }

    fn owned_by_topic(&self) -> Vec<TopicPartitions> {
        let mut topics = BTreeMap::<[u8; 16], Vec<i32>>::new();
        for place in &self.owned {
            topics.entry(place.topic).or_default().push(place.partition);
        }
        let of = |(topic, partitions)| {
            TopicPartitions::default().with_topic_id(Uuid::from_bytes(topic)).with_partitions(partitions)
        };
        topics.into_iter().map(of).collect()
    }

    fn answered(&mut self, around: &mut Around<'_>, asked: &Asked, answer: &ConsumerGroupHeartbeatResponse) {
        if matches!(self.stage, Stage::Leaving(_)) {
            if asked.epoch >= JOINS {
                return;
            }
            if answer.error_code == 0 {
                around.history.left(&self.who.id);
            }
            return self.has_left(around);
        }
        if answer.error_code != 0 {
            return self.refused(around, answer.error_code);
        }
        self.judge_epoch(around, asked, answer.member_epoch);
        self.who.generation = answer.member_epoch;
        self.stage = Stage::In;
        self.heard = asked.sent;
        if self.gives_up.is_empty() {
            self.confirmed = asked.sent;
        }
        if let Some(assignment) = &answer.assignment {
            let places = assignment.topic_partitions.iter().flat_map(|topic| {
                let topic_id = topic.topic_id.into_bytes();
                topic.partitions.iter().map(move |partition| Place { topic: topic_id, partition: *partition })
            });
            let target: BTreeSet<Place> = places.collect();
            self.follow(around, target, asked.sent);
        }
        let Self { heard, confirmed, rebalance_ms, .. } = *self;
        around
            .history
            .holder_is(self.number, Holder { heard, confirmed, session_ms: SESSION_MS, rebalance_ms });
    }

    fn judge_epoch(&self, around: &mut Around<'_>, asked: &Asked, epoch: i32) {
        // A new member has what the newest assignment has, and another one never less than it had.
        let least = if asked.epoch == JOINS { asked.known } else { asked.epoch };
        around.history.told_generation(GROUP, epoch, least);
    }

    /// It was told what is its own.
    fn follow(&mut self, around: &mut Around<'_>, target: BTreeSet<Place>, sent: Served) {
        let lost: BTreeSet<Place> = self.owned.difference(&target).copied().collect();
        if lost.is_empty() {
            self.confirmed = sent;
        } else if self.gives_up.is_empty() {
            self.gives_up_at_ms = around.now_ms + around.random.below(1_500);
        }
        self.gives_up = lost;
        for place in target {
            let register = Register { group: GROUP, place };
            around.history.given(register, self.number, around.served);
            self.owned.insert(place);
        }
        around.sim.count("assignment received", 1);
    }

    fn refused(&mut self, around: &mut Around<'_>, error: i16) {
        match error {
            UNKNOWN_MEMBER_ID | FENCED_MEMBER_EPOCH if self.stage == Stage::In => {
                let holder = Holder {
                    heard: self.heard,
                    confirmed: self.confirmed,
                    session_ms: SESSION_MS,
                    rebalance_ms: self.rebalance_ms,
                };
                // Behind an answer that was lost, or a heartbeat that came late, a member may be two epochs behind.
                let may =
                    holder.may_be_gone(around.served) || (error == FENCED_MEMBER_EPOCH && self.has_lost);
                let why =
                    format!("member {} is gone ({error}): {holder:?}, {:?}", self.number, around.served);
                around.history.expelled(&self.who.id, !may, why);
                around.sim.count("member expelled", 1);
                self.has_left(around);
            }
            UNRELEASED_INSTANCE_ID if self.stage == Stage::Out => {
                // An older start of it was not told goodbye: its session has to end.
                self.rests_until_ms = around.now_ms + 500;
            }
            error if COORDINATOR_RETRIABLE.contains(&error) => {
                self.link.misled(around, error);
                (self.says_all, self.rests_until_ms) = (true, around.now_ms + 30);
            }
            error => {
                let text = format!("member {} of {GROUP} was answered with {error}", self.number);
                around.history.wrong(53, text);
            }
        }
    }

    /// It is not of the group any more, and owns nothing.
    fn has_left(&mut self, around: &mut Around<'_>) {
        self.give_up_all(around);
        self.before = Some(self.who.clone());
        (self.stage, self.says_all, self.has_lost) = (Stage::Out, true, false);
    }

    fn give_up_all(&mut self, around: &mut Around<'_>) {
        for place in std::mem::take(&mut self.owned) {
            around.history.given_up(Register { group: GROUP, place }, self.number);
        }
        self.gives_up.clear();
    }

    fn go_on(&mut self, around: &mut Around<'_>) {
        if !self.gives_up.is_empty() && around.now_ms >= self.gives_up_at_ms {
            for place in std::mem::take(&mut self.gives_up) {
                self.owned.remove(&place);
                around.history.given_up(Register { group: GROUP, place }, self.number);
            }
            (self.says_all, self.heartbeat_at_ms) = (true, 0);
            around.sim.count("partitions given up", 1);
        }
        if around.now_ms >= self.heartbeat_at_ms {
            let epoch = self.who.generation;
            self.heartbeat(around, epoch);
        }
        self.commit(around);
        if !around.is_busy {
            return;
        }
        match around.random.below(1_500) {
            0 => self.leave(around, LEAVES),
            1 => self.sleep(around),
            2..4 if self.who.instance.is_some() => self.leave(around, LEAVES_FOR_NOW),
            _ => {}
        }
    }

    fn commit(&mut self, around: &mut Around<'_>) {
        let topic = around.topics.ids.get(GROUP_TOPIC);
        let mut own = self.owned.iter().filter(|place| Some(&place.topic) == topic);
        let Some(place) = own.next_back().copied() else { return };
        match around.random.below(60) {
            0..3 => {
                let who = self.who.clone();
                self.commits.commit(around, &who, place, false);
            }
            3 => self.commits.fetch(around, place),
            4 => {
                if let Some(before) = self.before.clone().filter(|before| before.generation > 0) {
                    self.commits.commit(around, &before, place, false);
                }
            }
            _ => {}
        }
    }

    fn leave(&mut self, around: &mut Around<'_>, epoch: i32) {
        around.sim.tell("member left", format_args!("member {} of {GROUP} leaves: {epoch}", self.number));
        self.stage = Stage::Leaving(epoch);
        self.give_up_all(around);
    }

    /// It stands still for longer than its session.
    fn sleep(&mut self, around: &mut Around<'_>) {
        around.sim.tell("member asleep", format_args!("member {} of {GROUP} sleeps", self.number));
        self.parted(around);
        self.rests_until_ms = around.now_ms + SESSION_MS / 2 + around.random.below(SESSION_MS * 2);
    }
}
