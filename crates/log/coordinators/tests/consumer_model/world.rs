//! The group's clients, the network, the partition's log, time, and what disturbs them.

use std::collections::{BTreeMap, VecDeque};

use base::{Now, Random};
use log_coordinators::{
    Answer, ConsumerLimits, Effect, GroupCoordinator, GroupLimits, Record, Request, Seq, Text, Ticket,
};
use log_wire::ErrorCode;

use crate::client::{Client, INTERVAL_MS, Protocol, SESSION_MS, Stage};
use crate::consumer_client::give_up;
use crate::oracle::Oracle;
use crate::topics::TopicTable;

/// How long a client waits for an answer; a JoinGroup may take a whole rebalance.
const PATIENCE_MS: u64 = 4_000;
const JOIN_PATIENCE_MS: u64 = 30_000;

#[derive(Clone, Debug)]
pub(crate) enum Asked {
    ConsumerHeartbeat { says_owned: bool },
    Join,
    Sync,
    Heartbeat,
    Leave,
    Commit(i64),
}

/// A request that the coordinator has.
pub(crate) struct Pending {
    pub(crate) number: usize,
    pub(crate) incarnation: u64,
    pub(crate) asked: Asked,
    /// When the coordinator got it.
    pub(crate) counted: u64,
}

pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) now: Now,
    /// Time that counts: pauses of the coordinator do not.
    pub(crate) counted: u64,
    pub(crate) healed: bool,
    /// How seldom something disturbs the world, and how many of a hundred messages are lost.
    pub(crate) calm: u64,
    pub(crate) loss: u64,
    pub(crate) cooperative: bool,
    pub(crate) limits: GroupLimits,
    pub(crate) coordinator: GroupCoordinator,
    pub(crate) topics: TopicTable,
    pub(crate) log: Vec<Record>,
    pub(crate) in_flight: VecDeque<(Seq, Vec<Record>)>,
    pub(crate) clients: Vec<Client>,
    /// Requests on their way, and commits that come late.
    pub(crate) network: VecDeque<(u64, usize, u64, Asked, Request)>,
    pub(crate) late: Vec<(usize, u64, i64, Request)>,
    pub(crate) pending: BTreeMap<u64, Pending>,
    pub(crate) next_ticket: u64,
    pub(crate) incarnations: u64,
    pub(crate) group_type: &'static str,
    pub(crate) oracle: Oracle,
    /// Prints what happens.
    pub(crate) trace: bool,
}

fn limits(random: &mut Random) -> GroupLimits {
    let consumer = ConsumerLimits {
        session_timeout_ms: SESSION_MS,
        session_timeout_min_ms: 1_000,
        heartbeat_interval_ms: INTERVAL_MS,
        heartbeat_interval_min_ms: 1_000,
        assignment_interval_ms: random.below(3) * 700,
        ..ConsumerLimits::default()
    };
    GroupLimits {
        session_timeout_min_ms: 1_000,
        initial_rebalance_delay_ms: random.below(2) * 500,
        consumer,
        ..GroupLimits::default()
    }
}

impl World {
    pub(crate) fn new(seed: u64, trace: bool) -> Self {
        let mut random = Random::new(seed);
        let limits = limits(&mut random);
        let now = Now::of_ms(1_000, 1_000_000);
        let mut coordinator = GroupCoordinator::new(limits.clone(), random.number());
        coordinator.loaded(now);
        let mut topics = TopicTable::default();
        topics.put("t1", random.below(5) as i32 + 1);
        topics.put("t2", random.below(4) as i32 + 1);
        let mut world = Self {
            cooperative: random.chance(50),
            now,
            counted: SESSION_MS,
            healed: false,
            calm: random.below(4) * 40,
            loss: [0, 3, 10, 30][random.below(4) as usize],
            random,
            limits,
            coordinator,
            topics,
            log: Vec::new(),
            in_flight: VecDeque::new(),
            clients: Vec::new(),
            network: VecDeque::new(),
            late: Vec::new(),
            pending: BTreeMap::new(),
            next_ticket: 0,
            incarnations: 0,
            group_type: "",
            oracle: Oracle::default(),
            trace,
        };
        let count = world.random.below(4) as usize + 2;
        let (consumers, ranges) = (world.random.below(101), world.random.below(4) == 0);
        for number in 0..count {
            let protocol =
                if world.random.chance(consumers) { Protocol::Consumer } else { Protocol::Classic };
            let client = world.draw(number, protocol, None);
            world.clients.push(Client { range: ranges, ..client });
        }
        world
    }

    pub(crate) const fn ms(&self) -> u64 {
        self.now.mono().ms()
    }

    /// A client that has just started.
    pub(crate) fn draw(&mut self, number: usize, protocol: Protocol, before: Option<&Client>) -> Client {
        self.incarnations += 1;
        let instance = (number % 2 == 1).then(|| Text::from(format!("static-{number}")));
        let mut client = Client::new(number, self.incarnations, protocol, instance);
        if let Some(before) = before {
            (client.topics, client.range) = (before.topics.clone(), before.range);
        } else {
            self.draw_subscription(&mut client);
        }
        client.next_at = self.ms() + self.random.below(1_000);
        client.heard_at = self.counted;
        client
    }

    pub(crate) fn draw_subscription(&mut self, client: &mut Client) {
        client.topics = match self.random.below(4) {
            0 => ["t1".into()].into(),
            1 => ["t2".into(), "t3".into()].into(),
            _ => ["t1".into(), "t2".into(), "t3".into()].into(),
        };
        let regex = client.protocol == Protocol::Consumer && self.random.chance(25);
        client.regex = regex.then(|| "t.*".into());
    }

    /// The client's process ends, and another one takes its place.
    pub(crate) fn start_anew(&mut self, number: usize) {
        let before = self.clients[number].clone();
        if before.instance.is_some() {
            self.oracle.count("static member restarted");
        }
        self.clients[number] = self.draw(number, before.protocol, Some(&before));
    }

    pub(crate) fn ask(&mut self, number: usize, asked: Asked, request: Request) {
        self.next_ticket += 1;
        let (ticket, now) = (self.next_ticket, self.ms());
        let client = &mut self.clients[number];
        (client.waits_for, client.asked_at) = (Some(ticket), now);
        let incarnation = client.incarnation;
        self.network.push_back((ticket, number, incarnation, asked, request));
        if self.healed || self.random.chance(60) {
            self.deliver();
        }
    }

    /// The coordinator gets what is on its way to it, or loses it.
    pub(crate) fn deliver(&mut self) {
        while let Some((ticket, number, incarnation, asked, request)) = self.network.pop_front() {
            if !self.healed && self.random.chance(self.loss) {
                continue;
            }
            self.hand_over(ticket, number, incarnation, asked, request);
        }
    }

    pub(crate) fn hand_over(
        &mut self,
        ticket: u64,
        number: usize,
        incarnation: u64,
        asked: Asked,
        request: Request,
    ) {
        if let Asked::Commit(value) = &asked {
            let event = self.oracle.tick();
            self.oracle.commits.get_mut(value).expect("it was sent").handled = Some(event);
        }
        let counted = self.counted;
        self.say(|| format!("client {number} ({incarnation}), request {ticket}: {request:?}"));
        self.pending.insert(ticket, Pending { number, incarnation, asked, counted });
        self.coordinator.handle(request, Ticket(ticket), &self.topics, self.now);
        self.take();
    }

    /// Takes the coordinator's effects. Some answers are lost on their way to the clients.
    pub(crate) fn take(&mut self) {
        for effect in self.coordinator.take_effects() {
            match effect {
                Effect::Append { seq, records } => self.in_flight.push_back((seq, records)),
                Effect::Confirm => {}
                Effect::Reply { ticket, answer } => self.answered(ticket.0, answer),
            }
        }
    }

    pub(crate) fn answered(&mut self, ticket: u64, answer: Answer) {
        self.say(|| format!("request {ticket}: {answer:?}"));
        let pending = self.pending.remove(&ticket).expect("one answer for each request");
        if let Asked::Commit(value) = pending.asked {
            match &answer {
                Answer::Each(codes) if *codes == [ErrorCode::None] => self.oracle.acked(value),
                Answer::Failed(
                    ErrorCode::StaleMemberEpoch | ErrorCode::IllegalGeneration | ErrorCode::UnknownMemberId,
                ) => self.oracle.count("fenced commit"),
                _ => {}
            }
        }
        let number = pending.number;
        if self.clients[number].incarnation != pending.incarnation {
            return;
        }
        self.judge(number, &pending, &answer);
        let lost = !self.healed && self.random.chance(self.loss);
        if lost || self.clients[number].waits_for != Some(ticket) {
            return;
        }
        self.clients[number].waits_for = None;
        match pending.asked {
            Asked::Leave => self.left(number, &answer),
            Asked::Commit(_) => {}
            _ if self.clients[number].protocol == Protocol::Consumer => {
                self.consumer_answered(number, answer)
            }
            _ => self.classic_answered(number, answer),
        }
    }

    pub(crate) fn say(&self, what: impl FnOnce() -> String) {
        if self.trace {
            println!("{} ({}) {}", self.ms(), self.counted, what());
        }
    }

    pub(crate) fn replay(&self, seed: u64) -> GroupCoordinator {
        let mut replayed = GroupCoordinator::new(self.limits.clone(), seed);
        for record in &self.log {
            replayed.load(&record.key, record.value.as_deref()).expect("its own record");
        }
        replayed
    }

    /// What the coordinator has forgotten, nobody has to have done in time.
    pub(crate) fn forget_deadlines(&mut self) {
        for client in &mut self.clients {
            client.slow_since = None;
        }
    }

    pub(crate) fn settle_append(&mut self, refuse: bool) {
        let Some((seq, records)) = self.in_flight.pop_front() else { return };
        if refuse {
            self.in_flight.clear();
            self.coordinator.refused(seq, self.now);
            self.forget_deadlines();
            self.say(|| "append refused".into());
            self.oracle.count("refused");
        } else {
            self.log.extend(records);
            self.coordinator.persisted(seq, self.now);
        }
        self.take();
        if self.in_flight.is_empty() && (refuse || self.random.chance(10)) {
            assert_eq!(self.coordinator.snapshot(), self.replay(0).snapshot(), "the table is not a replay");
        }
    }

    pub(crate) fn restart(&mut self) {
        for _ in 0..self.random.below(self.in_flight.len() as u64 + 1) {
            let (_, records) = self.in_flight.pop_front().expect("so many are there");
            self.log.extend(records);
        }
        self.in_flight.clear();
        self.say(|| "restart".into());
        self.forget_deadlines();
        let seed = self.random.number();
        let next = self.replay(seed);
        let before = std::mem::replace(&mut self.coordinator, next);
        self.coordinator.loaded(self.now);
        for effect in before.resign() {
            let Effect::Reply { ticket, answer } = effect else { panic!("it appends no more") };
            self.answered(ticket.0, answer);
        }
        assert!(self.pending.is_empty(), "a request got no answer");
        // A member that has not been silent for too long has its whole session from now on (L52).
        for client in &mut self.clients {
            if client.epoch > 0 && self.counted - client.heard_at < SESSION_MS {
                client.heard_at = self.counted;
            }
        }
        self.take();
        self.oracle.count("restarted");
    }

    /// Time passes as a driver lets it pass: it ticks when something is due.
    pub(crate) fn pass(&mut self, ms: u64) {
        let end = self.now.mono().plus_ms(ms);
        while self.now.mono() < end {
            let due = self.coordinator.next_deadline().expect("it is loaded");
            let step = due.min(end).since(self.now.mono()).max(1);
            self.now.advance_ms(step);
            self.now.wall = self.now.wall.plus_ms(step as i64);
            self.counted += step;
            self.coordinator.tick(self.now);
            self.take();
        }
    }

    /// Which type the group has: what a copy of the coordinator answers once its appends are durable.
    pub(crate) fn look(&mut self) {
        let mut copy = self.coordinator.clone();
        copy.take_effects();
        copy.handle(Request::List(vec![]), Ticket(u64::MAX), &self.topics, self.now);
        let sent = copy.take_effects();
        let last = sent.iter().filter_map(|effect| match effect {
            Effect::Append { seq, .. } => Some(*seq),
            Effect::Reply { .. } | Effect::Confirm => None,
        });
        let last = last.chain(self.in_flight.iter().map(|(seq, _)| *seq)).max();
        let mut effects = sent.clone();
        if let Some(seq) = last {
            copy.persisted(seq, self.now);
            effects.extend(copy.take_effects());
        }
        let found = effects.iter().find_map(|effect| match effect {
            Effect::Reply { ticket: Ticket(u64::MAX), answer: Answer::Listed(groups) } => {
                Some(groups.first().map_or("", |group| group.group_type))
            }
            _ => None,
        });
        self.saw_type(found.expect("an answer"));
    }

    pub(crate) fn saw_type(&mut self, found: &'static str) {
        match (self.group_type, found) {
            ("classic", "consumer") => self.oracle.count("became a consumer group"),
            ("consumer", "classic") => self.oracle.count("became a classic group"),
            _ => {}
        }
        self.group_type = found;
    }

    /// Any client acts.
    pub(crate) fn turn(&mut self) {
        let number = self.random.below(self.clients.len() as u64) as usize;
        self.turn_of(number);
    }

    pub(crate) fn turn_of(&mut self, number: usize) {
        let now = self.ms();
        let client = &mut self.clients[number];
        let joins = client.protocol == Protocol::Classic && client.stage == Stage::Join;
        let patience = if joins { JOIN_PATIENCE_MS } else { PATIENCE_MS };
        if client.waits_for.is_some() && now > client.asked_at + patience {
            // The client closes its connection: what is still on it comes to the coordinator before anything new, or never.
            self.deliver();
            let client = &mut self.clients[number];
            (client.waits_for, client.says_all) = (None, true);
            if client.protocol == Protocol::Classic && client.stage == Stage::Sync {
                client.stage = Stage::Join;
            }
        }
        self.act(number);
        if self.random.chance(60) {
            self.deliver();
        }
        if self.random.chance(70) {
            self.settle_append(false);
        }
        let ms = self.random.below(500);
        self.pass(ms);
    }

    pub(crate) fn act(&mut self, number: usize) {
        let now = self.ms();
        let client = &mut self.clients[number];
        if client.silent || client.waits_for.is_some() {
            return;
        }
        let is_consumer = client.protocol == Protocol::Consumer;
        if is_consumer {
            if give_up(client, now) {
                self.oracle.count("given up");
            }
        } else {
            self.give_up_as_classic(number);
        }
        let client = &self.clients[number];
        let idles = client.stage == Stage::Member && now < client.next_at && !client.says_all;
        if idles || (client.stage == Stage::Join && now < client.next_at) {
            return;
        }
        match is_consumer {
            true => self.act_as_consumer(number),
            false => self.act_as_classic(number),
        }
    }
}
