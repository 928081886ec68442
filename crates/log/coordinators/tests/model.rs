//! Clients of one group, drawn from a seed, against the coordinator: with lost answers, silent members, static members that
//! restart, refused appends, restarts of the coordinator and jumps of time. The rules know nothing of the coordinator's code:
//! they look at what clients asked and saw. Numbers in brackets are rules of the specification.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base::{Now, Random};
use log_coordinators::{
    Answer, Blob, Effect, Generation, GroupCoordinator, GroupLimits, Join, MemberRef, NewOffset, Offset,
    OffsetCommit, OffsetFetch, Record, Request, Seq, Sync, Text, Ticket, Topic,
};
use log_wire::ErrorCode;

const SEEDS: u64 = 300;
const STEPS: u64 = 600;
const CLIENTS: u64 = 4;

#[derive(Clone, Default)]
struct Client {
    instance: Option<Text>,
    member: String,
    generation: i32,
    leads: Option<Vec<Text>>,
    assigned: bool,
    waits_for: Option<u64>,
    asked_at: u64,
    silent: bool,
}

enum Asked {
    Join,
    Sync(i32),
    Heartbeat,
    Commit { value: i64, generation: i32 },
    Fetch,
}

struct Commit {
    sent: u64,
    answered: Option<u64>,
    acked: bool,
}

struct Model {
    random: Random,
    now: Now,
    step: u64,
    healed: bool,
    coordinator: GroupCoordinator,
    log: Vec<Record>,
    in_flight: VecDeque<(Seq, Vec<Record>)>,
    clients: Vec<Client>,
    asked: BTreeMap<u64, (usize, u64, Asked)>,
    next_ticket: u64,
    /// What clients saw: the leader of each generation, the assignment attempt of each, the newest generation by step.
    leaders: BTreeMap<i32, Text>,
    attempts: BTreeMap<i32, String>,
    seen: Vec<(u64, i32)>,
    commits: BTreeMap<i64, Commit>,
    counts: BTreeSet<&'static str>,
}

fn topic() -> Topic {
    Topic { name: "t".into(), id: [1; 16] }
}

impl Model {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut coordinator = GroupCoordinator::new(GroupLimits::default(), random.number());
        let now = Now::of_ms(1_000, 1_000_000);
        coordinator.loaded(now);
        let client = |number: u64| Client {
            instance: (number % 2 == 1).then(|| format!("static-{number}").into()),
            ..Client::default()
        };
        Self {
            random,
            now,
            step: 0,
            healed: false,
            coordinator,
            log: Vec::new(),
            in_flight: VecDeque::new(),
            clients: (0..CLIENTS).map(client).collect(),
            asked: BTreeMap::new(),
            next_ticket: 0,
            leaders: BTreeMap::new(),
            attempts: BTreeMap::new(),
            seen: Vec::new(),
            commits: BTreeMap::new(),
            counts: BTreeSet::new(),
        }
    }

    fn who(&self, number: usize) -> MemberRef {
        let client = &self.clients[number];
        MemberRef {
            group: "g".into(),
            member: client.member.as_str().into(),
            instance: client.instance.clone(),
            generation: Generation(client.generation),
        }
    }

    fn ask(&mut self, number: usize, asked: Asked, request: Request) {
        self.next_ticket += 1;
        let ticket = self.next_ticket;
        self.asked.insert(ticket, (number, self.step, asked));
        self.clients[number].waits_for = Some(ticket);
        self.clients[number].asked_at = self.now.mono().ms();
        self.coordinator.handle(request, Ticket(ticket), &(), self.now);
        self.take();
    }

    fn act(&mut self, number: usize) {
        let (who, client) = (self.who(number), self.clients[number].clone());
        if client.member.is_empty() || client.generation < 0 {
            let protocols = vec![("range".into(), Blob::from(&[number as u8][..]))];
            let join = Join {
                who,
                version: 9,
                client_id: "c".into(),
                client_host: "h".into(),
                session_timeout_ms: 10_000,
                rebalance_timeout_ms: 15_000,
                protocol_type: "connect".into(),
                protocols,
            };
            return self.ask(number, Asked::Join, Request::Join(join));
        }
        if !client.assigned {
            let attempt = self.next_ticket;
            let part = |member: Text| {
                let bytes = format!("{attempt}/{member}");
                (member, Blob::from(bytes.as_bytes()))
            };
            let assignments = client.leads.unwrap_or_default().into_iter().map(part).collect();
            let request = Request::Sync(Sync { who, protocol: None, assignments });
            return self.ask(number, Asked::Sync(client.generation), request);
        }
        match self.random.below(3) {
            0 => self.ask(number, Asked::Heartbeat, Request::Heartbeat(who)),
            1 => self.commit(number, who),
            _ => {
                let fetch = OffsetFetch {
                    group: "g".into(),
                    partitions: Some(vec![(topic(), 0)]),
                    require_stable: true,
                    member: None,
                };
                self.ask(number, Asked::Fetch, Request::Fetch(vec![fetch]));
            }
        }
    }

    fn commit(&mut self, number: usize, who: MemberRef) {
        let (value, generation) = (self.next_ticket as i64, who.generation.0);
        self.commits.insert(value, Commit { sent: self.step, answered: None, acked: false });
        let offset = NewOffset {
            topic: topic(),
            partition: 0,
            offset: Offset(value),
            leader_epoch: 0,
            metadata: "".into(),
        };
        let request = Request::Commit(OffsetCommit { who, version: 9, offsets: vec![offset] });
        self.ask(number, Asked::Commit { value, generation }, request);
    }

    /// Takes the coordinator's effects. Some answers are lost on their way to the clients.
    fn take(&mut self) {
        for effect in self.coordinator.take_effects() {
            match effect {
                Effect::Append { seq, records } => self.in_flight.push_back((seq, records)),
                Effect::Confirm => {}
                Effect::Reply { ticket, answer } => {
                    let found = self.asked.remove(&ticket.0);
                    let (number, sent, asked) = found.expect("one answer for each request");
                    let lost = !self.healed && self.random.chance(3);
                    if self.clients[number].waits_for == Some(ticket.0) && !lost {
                        self.clients[number].waits_for = None;
                        self.see(number, sent, &asked, answer);
                    }
                }
            }
        }
    }

    fn see(&mut self, number: usize, sent: u64, asked: &Asked, answer: Answer) {
        if let Asked::Commit { value, .. } = asked {
            let commit = self.commits.get_mut(value).expect("it was sent");
            commit.answered = Some(self.step);
        }
        match (asked, answer) {
            (_, Answer::Failed(code)) => self.failed(number, code),
            (_, Answer::MemberIdRequired(id)) => self.clients[number].member = id.to_string(),
            (_, Answer::Joined(joined)) => self.joined(number, joined),
            (Asked::Sync(generation), Answer::Synced(synced)) => {
                let bytes = String::from_utf8(synced.assignment.to_vec()).expect("a text");
                let (attempt, _) = bytes.split_once('/').expect("every member was assigned");
                let first = self.attempts.entry(*generation).or_insert_with(|| attempt.to_owned());
                assert_eq!(first, attempt, "two assignments in generation {generation} (L48)");
                self.clients[number].assigned = true;
                self.counts.insert("synced");
            }
            (Asked::Commit { value, generation }, Answer::Each(codes)) if codes == [ErrorCode::None] => {
                let newer = self.seen.iter().find(|(step, seen)| *step < sent && seen > generation);
                assert_eq!(newer, None, "a commit of generation {generation} counted (L50)");
                self.commits.get_mut(value).expect("it was sent").acked = true;
                self.counts.insert("committed");
            }
            (Asked::Fetch, Answer::Offsets(groups)) => self.fetched(sent, groups[0].offsets[0].offset.0),
            _ => {}
        }
    }

    fn failed(&mut self, number: usize, code: ErrorCode) {
        let client = &mut self.clients[number];
        match code {
            ErrorCode::UnknownMemberId | ErrorCode::FencedInstanceId => {
                client.member.clear();
                client.generation = -1;
            }
            ErrorCode::CoordinatorNotAvailable | ErrorCode::NotCoordinator => {
                if !client.assigned {
                    client.generation = -1;
                }
            }
            _ => client.generation = -1,
        }
        if client.generation < 0 {
            client.assigned = false;
        }
    }

    fn joined(&mut self, number: usize, joined: log_coordinators::Joined) {
        let generation = joined.generation.0;
        let newest = self.seen.iter().map(|(_, seen)| *seen).max().unwrap_or(0);
        assert!(generation >= newest, "generation {generation} after {newest} (L49)");
        self.seen.push((self.step, generation));
        if !joined.skip_assignment && !self.attempts.contains_key(&generation) {
            let leader = self.leaders.entry(generation).or_insert_with(|| joined.leader.clone());
            assert_eq!(*leader, joined.leader, "two leaders of generation {generation} (L49)");
        }
        let client = &mut self.clients[number];
        (client.member, client.generation, client.assigned) = (joined.member.to_string(), generation, false);
        let leads = joined.leader == joined.member;
        client.leads = leads.then(|| joined.members.into_iter().map(|each| each.member).collect());
        self.counts.insert("joined");
    }

    fn fetched(&self, sent: u64, value: i64) {
        let found = self.commits.get(&value);
        assert!(value < 0 || found.is_some(), "offset {value} was never committed (L51)");
        let since = found.map_or(Some(0), |commit| commit.answered.filter(|_| commit.acked));
        let Some(since) = since else { return };
        for (newer, commit) in &self.commits {
            let acked_before = commit.acked && commit.answered.is_some_and(|step| step < sent);
            let behind = found.is_none() || commit.sent > since;
            assert!(!(acked_before && behind), "offset {value} read after {newer} was acknowledged (L51)");
        }
    }

    fn replay(&self, seed: u64) -> GroupCoordinator {
        let mut replayed = GroupCoordinator::new(GroupLimits::default(), seed);
        for record in &self.log {
            replayed.load(&record.key, record.value.as_deref()).expect("its own record");
        }
        replayed
    }

    fn settle_append(&mut self, refuse: bool) {
        let Some((seq, records)) = self.in_flight.pop_front() else { return };
        if refuse {
            self.in_flight.clear();
            self.coordinator.refused(seq, self.now);
            self.counts.insert("refused");
        } else {
            self.log.extend(records);
            self.coordinator.persisted(seq, self.now);
        }
        self.take();
        if self.in_flight.is_empty() {
            assert_eq!(self.coordinator.snapshot(), self.replay(0).snapshot(), "the table is not a replay");
        }
    }

    fn restart(&mut self) {
        for _ in 0..self.random.below(self.in_flight.len() as u64 + 1) {
            let (_, records) = self.in_flight.pop_front().expect("so many are there");
            self.log.extend(records);
        }
        self.in_flight.clear();
        let seed = self.random.number();
        let next = self.replay(seed);
        let before = std::mem::replace(&mut self.coordinator, next);
        self.coordinator.loaded(self.now);
        for effect in before.resign() {
            let Effect::Reply { ticket, answer } = effect else { panic!("it appends no more") };
            let (number, sent, asked) = self.asked.remove(&ticket.0).expect("one answer for each request");
            self.clients[number].waits_for = None;
            self.see(number, sent, &asked, answer);
        }
        assert!(self.asked.is_empty(), "a request got no answer");
        self.counts.insert("restarted");
    }

    fn pass(&mut self, ms: u64) {
        self.now.advance_ms(ms);
        self.now.wall = self.now.wall.plus_ms(ms as i64);
        self.coordinator.tick(self.now);
        self.take();
    }

    fn disturb(&mut self) {
        match self.random.below(40) {
            0 => self.restart(),
            1 => self.settle_append(true),
            2 => self.pass(60_000),
            3 | 4 => {
                let number = self.random.below(CLIENTS) as usize;
                self.clients[number].silent ^= true;
            }
            5 => {
                let number = self.random.below(CLIENTS) as usize;
                let instance = self.clients[number].instance.clone();
                self.clients[number] = Client { instance, ..Client::default() };
            }
            _ => {}
        }
    }

    fn turn(&mut self) {
        self.step += 1;
        let number = self.random.below(CLIENTS) as usize;
        let client = &mut self.clients[number];
        if client.waits_for.is_some() && self.now.mono().ms() > client.asked_at + 20_000 {
            // The client gives up waiting; the answer may still come, and nobody reads it.
            client.waits_for = None;
            client.generation = if client.assigned { client.generation } else { -1 };
        }
        if client.waits_for.is_none() && !client.silent {
            self.act(number);
        }
        if self.random.chance(60) {
            self.settle_append(false);
        }
        let ms = self.random.below(900);
        self.pass(ms);
    }

    /// All faults have ended: the group becomes stable with everybody in it (L53).
    fn heal(&mut self) {
        self.healed = true;
        for client in &mut self.clients {
            client.silent = false;
        }
        for _ in 0..400 {
            self.turn();
            while !self.in_flight.is_empty() {
                self.settle_append(false);
            }
            let generation = self.clients[0].generation;
            if self.clients.iter().all(|client| client.assigned && client.generation == generation) {
                return;
            }
        }
        panic!("the group does not become stable (L53)");
    }
}

#[test]
fn clients_see_only_what_the_rules_allow() {
    let mut counts = BTreeSet::new();
    for seed in 0..SEEDS {
        let run = std::panic::catch_unwind(|| {
            let mut model = Model::new(seed);
            for _ in 0..STEPS {
                model.disturb();
                model.turn();
            }
            model.heal();
            model.counts
        });
        match run {
            Ok(seen) => counts.extend(seen),
            Err(_) => panic!("seed {seed}"),
        }
    }
    assert_eq!(
        counts.into_iter().collect::<Vec<_>>(),
        ["committed", "joined", "refused", "restarted", "synced"]
    );
}
