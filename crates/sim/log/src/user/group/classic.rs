//! A member of a classic group: it joins, is given its partitions by the leader of its generation, or is the leader; it sends
//! heartbeats, commits, leaves, starts anew, and falls asleep for longer than its session.

use std::collections::BTreeMap;

use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest, SyncGroupRequest,
    SyncGroupResponse,
};
use kafka_protocol::protocol::StrBytes;

use super::commits::{Commits, Who, coordinator, group_id};
use super::subscription::{assigned, assignment, subscription};
use super::{
    COORDINATOR_RETRIABLE, FENCED_INSTANCE_ID, GROUPS, REBALANCE_IN_PROGRESS, UNKNOWN_MEMBER_ID, places,
    standing,
};
use crate::history::{Identity, Place, Synced};
use crate::served::Served;
use crate::user::operator::GROUP_TOPIC;
use crate::user::{Answer, Around, Link};

const GROUP: &str = GROUPS[0];
const JOIN: i16 = 9;
const SYNC: i16 = 5;
const HEARTBEAT: i16 = 4;
const LEAVE: i16 = 5;
const PROTOCOL_TYPE: &str = "consumer";
const PROTOCOL: &str = "range";
const MEMBER_ID_REQUIRED: i16 = 79;
const ILLEGAL_GENERATION: i16 = 22;
/// How long it waits for an answer, milliseconds: for others to join, longer.
const PATIENCE_MS: u64 = 3_500;
const JOIN_PATIENCE_MS: u64 = 12_000;
/// For how long a request of a connection that was left may still arrive, milliseconds.
const LATE_MS: u64 = 15_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It has to join.
    Out,
    /// It waits for an answer to JoinGroup.
    Joining,
    /// It is of a generation, and waits for its partitions.
    Syncing,
    Stable,
}

/// What a request is for, and when it was sent.
enum Asked {
    /// The highest generation that was known, the moment, and whether it starts anew.
    Join {
        known: i32,
        moment: u64,
        is_new: bool,
    },
    Sync,
    Heartbeat,
    /// As the member that it was before another start.
    OldHeartbeat,
    Leave(StrBytes),
}

/// See the module.
pub(crate) struct ClassicMember {
    number: u32,
    link: Link<(Asked, Served)>,
    commits: Commits,
    instance: Option<StrBytes>,
    /// How many members there are, if all are static.
    all_static: Option<usize>,
    session_ms: u64,
    rebalance_ms: u64,
    who: Who,
    /// Who it was before it joined anew.
    before: Option<Who>,
    was: Option<Synced>,
    stage: Stage,
    /// It was given its partitions under its present id.
    is_known: bool,
    /// When the last request was sent that was answered with no error and shows that it is a member.
    heard: Served,
    owned: Vec<Place>,
    mark: u32,
    heartbeat_at_ms: u64,
    rests_until_ms: u64,
    /// Until then a lost JoinGroup of its own may arrive.
    lost_until_ms: u64,
}

impl ClassicMember {
    pub(crate) fn new(number: u32, all_static: Option<usize>, around: &mut Around<'_>) -> Self {
        let is_static = all_static.is_some() || around.random.chance(25);
        let instance = is_static.then(|| StrBytes::from_string(format!("instance-{number}")));
        let who = Who { id: StrBytes::default(), generation: -1, instance: instance.clone() };
        Self {
            number,
            link: Link::to(coordinator(GROUP)),
            commits: Commits::new(GROUP, number),
            instance,
            all_static,
            session_ms: 2_000 + around.random.below(3_000),
            rebalance_ms: 2_500 + around.random.below(3_000),
            who,
            before: None,
            was: None,
            stage: Stage::Out,
            is_known: false,
            heard: around.served,
            owned: Vec::new(),
            mark: 0,
            heartbeat_at_ms: 0,
            rests_until_ms: around.random.below(20_000),
            lost_until_ms: 0,
        }
    }

    /// How it stands, in words.
    pub(super) fn standing(&self) -> String {
        let Self { number, stage, owned, who, link, rests_until_ms, .. } = self;
        standing((*number, *rests_until_ms), stage, who.generation, owned, link)
    }

    pub(super) fn rests_with(&self) -> Option<Vec<Place>> {
        (self.stage == Stage::Stable).then(|| self.owned.clone())
    }

    pub(crate) fn step(&mut self, around: &mut Around<'_>) {
        if around.now_ms < self.rests_until_ms {
            return;
        }
        self.commits.step(around);
        while let Some(answer) = self.link.receive(around) {
            self.answered(around, answer);
        }
        let patience_ms = if self.stage == Stage::Joining { JOIN_PATIENCE_MS } else { PATIENCE_MS };
        if self.link.is_lost(around, patience_ms) {
            self.parted(around);
        }
        if !self.link.connect(around) {
            return;
        }
        match self.stage {
            Stage::Out if self.link.outstanding() == 0 => self.join(around),
            Stage::Stable => self.go_on(around),
            Stage::Out | Stage::Joining | Stage::Syncing => {}
        }
    }

    fn parted(&mut self, around: &mut Around<'_>) {
        let lost = self.link.leave(around);
        let is_join = |(asked, _): &(Asked, Served)| matches!(asked, Asked::Join { .. });
        if lost.iter().any(is_join) {
            self.lost_until_ms = around.now_ms + LATE_MS;
        }
        if matches!(self.stage, Stage::Joining | Stage::Syncing) {
            self.stage = Stage::Out;
        }
    }

    fn identity(&self) -> Identity {
        self.instance.as_ref().unwrap_or(&self.who.id).to_string()
    }

    fn join(&mut self, around: &mut Around<'_>) {
        let protocol = JoinGroupRequestProtocol::default()
            .with_name(StrBytes::from_static_str(PROTOCOL))
            .with_metadata(subscription(self.mark));
        let request = JoinGroupRequest::default()
            .with_group_id(group_id(GROUP))
            .with_session_timeout_ms(self.session_ms as i32)
            .with_rebalance_timeout_ms(self.rebalance_ms as i32)
            .with_member_id(self.who.id.clone())
            .with_group_instance_id(self.instance.clone())
            .with_protocol_type(StrBytes::from_static_str(PROTOCOL_TYPE))
            .with_protocols(vec![protocol]);
        let known = around.history.known_generation(GROUP);
        let moment = around.history.moment();
        let is_new = self.who.id.is_empty();
        around.history.member_is(GROUP, self.number, None);
        let asked = (Asked::Join { known, moment, is_new }, around.served);
        self.link.send(around, JOIN, &request, asked);
        self.stage = Stage::Joining;
    }

    fn answered(&mut self, around: &mut Around<'_>, answer: Answer<(Asked, Served)>) {
        let sent = answer.of.1;
        match &answer.of.0 {
            Asked::Join { known, moment, is_new } => {
                self.joined(around, (*known, *moment, *is_new), &answer.read::<JoinGroupRequest>());
            }
            Asked::Sync => self.synced(around, sent, &answer.read::<SyncGroupRequest>()),
            Asked::Heartbeat => {
                let error = answer.read::<HeartbeatRequest>().error_code;
                match error {
                    0 if around.served.is_known() && self.may_be_gone(around) => self.is_unsure(around),
                    0 => self.is_heard(around, sent),
                    error => self.refused(around, error),
                }
            }
            Asked::OldHeartbeat => {
                let error = answer.read::<HeartbeatRequest>().error_code;
                around.history.replaced_member_answered(GROUP, self.number, error);
            }
            Asked::Leave(id) => {
                let answer = answer.read::<LeaveGroupRequest>();
                if answer.error_code == 0 && answer.members.iter().all(|member| member.error_code == 0) {
                    around.history.left(id);
                }
            }
        }
    }

    fn joined(
        &mut self,
        around: &mut Around<'_>,
        (known, moment, is_new): (i32, u64, bool),
        answer: &JoinGroupResponse,
    ) {
        if self.stage != Stage::Joining {
            return;
        }
        match answer.error_code {
            0 => {}
            MEMBER_ID_REQUIRED => {
                (self.who.id, self.is_known, self.stage) = (answer.member_id.clone(), false, Stage::Out);
                return;
            }
            error => return self.refused(around, error),
        }
        let leads = answer.leader == answer.member_id;
        self.who.id = answer.member_id.clone();
        self.who.generation = answer.generation_id;
        self.is_known &= !is_new;
        let leader = self.leader(answer);
        around.history.joined(GROUP, answer.generation_id, known, leader);
        self.started_anew(around, moment, is_new);
        around.sim.count("generation joined", 1);
        self.stage = Stage::Syncing;
        if around.is_busy && around.random.chance(3) {
            // It vanishes: the others must not wait for it for ever.
            return self.sleep(around);
        }
        self.sync(around, leads && !answer.skip_assignment, answer);
    }

    /// Who it is, if it leads.
    fn leader(&self, answer: &JoinGroupResponse) -> Option<Identity> {
        let is_own = answer.leader == answer.member_id;
        match is_own {
            true => Some(self.identity()),
            false => None,
        }
    }

    /// A static member that started anew: its older self is fenced, and its group is not disturbed.
    fn started_anew(&mut self, around: &mut Around<'_>, moment: u64, is_new: bool) {
        let Some(was) = self.was.take().filter(|_| is_new && self.instance.is_some()) else { return };
        around.sim.count("static member started anew", 1);
        let is_calm = around.now_ms >= self.lost_until_ms;
        if let Some(members) = self.all_static.filter(|_| is_calm) {
            let told = (self.who.generation, around.served);
            around.history.static_joined_again((GROUP, self.number), members, moment, was, told);
        }
        if let Some(before) = self.before.clone() {
            self.send_heartbeat(around, &before, Asked::OldHeartbeat);
        }
    }

    fn sync(&mut self, around: &mut Around<'_>, assigns: bool, answer: &JoinGroupResponse) {
        let topic = around.topics.ids.get(GROUP_TOPIC).copied().unwrap_or_default();
        let all = places(around, topic);
        let mut each = BTreeMap::<Identity, Vec<u8>>::new();
        let mut assignments = Vec::new();
        if assigns {
            let turn = around.random.below(8) as usize;
            for (at, member) in answer.members.iter().enumerate() {
                let own = |place: &&Place| (place.partition as usize + turn) % answer.members.len() == at;
                let own: Vec<i32> = all.iter().filter(own).map(|place| place.partition).collect();
                let bytes = assignment(&own, around.random.number() as u32);
                let identity = member.group_instance_id.as_ref().unwrap_or(&member.member_id);
                each.insert(identity.to_string(), bytes.to_vec());
                let one = SyncGroupRequestAssignment::default()
                    .with_member_id(member.member_id.clone())
                    .with_assignment(bytes);
                assignments.push(one);
            }
            around.history.leader_assigns(GROUP, self.who.generation, each);
        }
        let request = SyncGroupRequest::default()
            .with_group_id(group_id(GROUP))
            .with_generation_id(self.who.generation)
            .with_member_id(self.who.id.clone())
            .with_group_instance_id(self.instance.clone())
            .with_protocol_type(Some(StrBytes::from_static_str(PROTOCOL_TYPE)))
            .with_protocol_name(Some(StrBytes::from_static_str(PROTOCOL)))
            .with_assignments(assignments);
        let asked = (Asked::Sync, around.served);
        self.link.send(around, SYNC, &request, asked);
    }

    fn synced(&mut self, around: &mut Around<'_>, sent: Served, answer: &SyncGroupResponse) {
        if self.stage != Stage::Syncing {
            return;
        }
        if answer.error_code != 0 {
            return self.refused(around, answer.error_code);
        }
        let identity = self.identity();
        around.history.assigned(GROUP, self.who.generation, &identity, &answer.assignment);
        let topic = around.topics.ids.get(GROUP_TOPIC).copied().unwrap_or_default();
        let own = assigned(&answer.assignment).into_iter();
        self.owned = own.map(|partition| Place { topic, partition }).collect();
        (self.stage, self.is_known) = (Stage::Stable, true);
        self.was = None;
        self.is_heard(around, sent);
    }

    /// Whether it may have been expelled since it was last heard.
    fn may_be_gone(&self, around: &Around<'_>) -> bool {
        around.served.may_have_passed(self.heard, self.session_ms.min(self.rebalance_ms))
    }

    /// It may have been gone when its heartbeat was answered with no error: a coordinator that still reads its partition
    /// answers any, as Kafka's does. It knows that it is a member when it is given its partitions again.
    fn is_unsure(&mut self, around: &mut Around<'_>) {
        (self.is_known, self.was) = (false, None);
        around.history.member_is(GROUP, self.number, None);
    }

    /// A request that was sent at that time was answered with no error.
    fn is_heard(&mut self, around: &mut Around<'_>, sent: Served) {
        if self.stage != Stage::Stable || !self.is_known {
            return;
        }
        self.heard = sent;
        let since = self.was.map_or_else(|| around.history.moment(), |was| was.since);
        let (generation, session_ms) = (self.who.generation, self.session_ms.min(self.rebalance_ms));
        let synced = Synced { generation, since, heard: sent, session_ms };
        self.was = Some(synced);
        around.history.member_is(GROUP, self.number, Some(synced));
    }

    fn refused(&mut self, around: &mut Around<'_>, error: i16) {
        self.stage = Stage::Out;
        around.history.member_is(GROUP, self.number, None);
        match error {
            REBALANCE_IN_PROGRESS | ILLEGAL_GENERATION => {}
            UNKNOWN_MEMBER_ID => {
                let (now, heard, may) = (around.served, self.heard, self.may_be_gone(around));
                let why = format!("member {} was heard at {heard:?}, and is gone at {now:?}", self.number);
                around.history.expelled(&self.who.id, self.is_known && !may, why);
                around.sim.count("member expelled", 1);
                self.begin_anew();
            }
            FENCED_INSTANCE_ID => {
                if around.now_ms >= self.lost_until_ms {
                    let text = format!("member {} was fenced, and nobody replaced it", self.number);
                    around.history.wrong(54, text);
                }
                self.begin_anew();
            }
            error if COORDINATOR_RETRIABLE.contains(&error) => {
                self.link.misled(around, error);
                self.rests_until_ms = around.now_ms + 30;
            }
            error => {
                let text = format!("member {} of {GROUP} was answered with {error}", self.number);
                around.history.wrong(53, text);
            }
        }
    }

    fn begin_anew(&mut self) {
        self.before = Some(self.who.clone());
        (self.who.id, self.is_known) = (StrBytes::default(), false);
        (self.stage, self.was) = (Stage::Out, None);
    }

    fn go_on(&mut self, around: &mut Around<'_>) {
        if around.now_ms >= self.heartbeat_at_ms && self.link.outstanding() == 0 {
            self.heartbeat_at_ms = around.now_ms + self.session_ms / 5;
            let who = self.who.clone();
            self.send_heartbeat(around, &who, Asked::Heartbeat);
        }
        if let Some(place) = self.owned.first().copied() {
            self.commit(around, place);
        }
        if !around.is_busy {
            return;
        }
        match around.random.below(1_500) {
            0 => self.leave(around),
            1 => self.sleep(around),
            2..5 if self.instance.is_some() => self.start_anew(around),
            5 => {
                self.mark += 1;
                self.stage = Stage::Out;
            }
            _ => {}
        }
    }

    fn commit(&mut self, around: &mut Around<'_>, place: Place) {
        match around.random.below(60) {
            0..3 => {
                let who = self.who.clone();
                self.commits.commit(around, &who, place, true);
            }
            3 => self.commits.fetch(around, place),
            4 => {
                if let Some(before) = self.before.clone().filter(|before| before.generation >= 0) {
                    self.commits.commit(around, &before, place, true);
                }
            }
            _ => {}
        }
    }

    fn send_heartbeat(&mut self, around: &mut Around<'_>, who: &Who, asked: Asked) {
        let request = HeartbeatRequest::default()
            .with_group_id(group_id(GROUP))
            .with_generation_id(who.generation)
            .with_member_id(who.id.clone())
            .with_group_instance_id(who.instance.clone());
        let asked = (asked, around.served);
        self.link.send(around, HEARTBEAT, &request, asked);
    }

    fn leave(&mut self, around: &mut Around<'_>) {
        around.sim.tell("member left", format_args!("member {} of {GROUP} leaves", self.number));
        let member = MemberIdentity::default()
            .with_member_id(self.who.id.clone())
            .with_group_instance_id(self.instance.clone());
        let request = LeaveGroupRequest::default().with_group_id(group_id(GROUP)).with_members(vec![member]);
        let asked = (Asked::Leave(self.who.id.clone()), around.served);
        self.link.send(around, LEAVE, &request, asked);
        around.history.member_is(GROUP, self.number, None);
        self.owned.clear();
        self.begin_anew();
        self.rests_until_ms = around.now_ms + around.random.below(2_000);
    }

    /// The process of a static member ends, and another one begins.
    fn start_anew(&mut self, around: &mut Around<'_>) {
        self.parted(around);
        let was = self.was;
        around.history.member_is(GROUP, self.number, None);
        self.begin_anew();
        self.was = was;
        self.rests_until_ms = around.now_ms + around.random.below(self.session_ms / 2);
    }

    /// It stands still for longer than its session.
    fn sleep(&mut self, around: &mut Around<'_>) {
        around.sim.tell("member asleep", format_args!("member {} of {GROUP} sleeps", self.number));
        self.parted(around);
        around.history.member_is(GROUP, self.number, None);
        self.rests_until_ms = around.now_ms + self.session_ms / 2 + around.random.below(self.session_ms * 2);
    }
}
