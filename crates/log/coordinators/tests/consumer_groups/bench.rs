//! A coordinator whose appends are durable at once, and requests to it.

use base::Now;
use log_coordinators::{
    Answer, Blob, ConsumerGroupDescription, ConsumerHeartbeat, ConsumerHeartbeatAnswer, Effect, Epoch,
    Generation, GroupCoordinator, GroupLimits, Join, Joined, MemberRef, NewOffset, Offset, OffsetCommit,
    OffsetFetch, Partitions, Record, Request, Sync, Ticket, Topic, TopicId,
};
use log_wire::{ErrorCode, Reader, Writer};

use crate::topics::TopicTable;

pub(crate) struct Bench {
    pub(crate) coordinator: GroupCoordinator,
    pub(crate) topics: TopicTable,
    pub(crate) now: Now,
    pub(crate) log: Vec<Record>,
    /// The records of the largest append.
    pub(crate) largest: usize,
    limits: GroupLimits,
    ticket: u64,
}

impl Bench {
    /// With the topics `t`, of 4 partitions, and `u`, of 2.
    pub(crate) fn new() -> Self {
        Self::with(GroupLimits::default())
    }

    pub(crate) fn with(limits: GroupLimits) -> Self {
        let limits = GroupLimits { initial_rebalance_delay_ms: 0, ..limits };
        let mut coordinator = GroupCoordinator::new(limits.clone(), 1);
        let now = Now::of_ms(5_000, 1_000_000);
        coordinator.loaded(now);
        let mut topics = TopicTable::default();
        topics.put("t", 4);
        topics.put("u", 2);
        Self { coordinator, topics, now, log: Vec::new(), largest: 0, limits, ticket: 0 }
    }

    fn settle(&mut self) -> Vec<(u64, Answer)> {
        let mut answers = Vec::new();
        loop {
            let effects = self.coordinator.take_effects();
            if effects.is_empty() {
                return answers;
            }
            for effect in effects {
                match effect {
                    Effect::Append { seq, records } => {
                        self.largest = self.largest.max(records.len());
                        self.log.extend(records);
                        self.coordinator.persisted(seq, self.now);
                    }
                    Effect::Confirm => {}
                    Effect::Reply { ticket, answer } => answers.push((ticket.0, answer)),
                }
            }
        }
    }

    pub(crate) fn send(&mut self, request: Request) -> Vec<(u64, Answer)> {
        self.ticket += 1;
        self.coordinator.handle(request, Ticket(self.ticket), &self.topics, self.now);
        self.settle()
    }

    pub(crate) fn ask(&mut self, request: Request) -> Answer {
        let mut answers = self.send(request);
        assert_eq!(answers.len(), 1, "{answers:?}");
        answers.remove(0).1
    }

    /// Time passes as a driver lets it pass: it ticks when something is due.
    pub(crate) fn pass(&mut self, ms: u64) -> Vec<(u64, Answer)> {
        let end = self.now.mono().plus_ms(ms);
        let mut answers = Vec::new();
        while self.now.mono() < end {
            let due = self.coordinator.next_deadline().expect("it is loaded");
            let step = due.min(end).since(self.now.mono()).max(1);
            self.now.advance_ms(step);
            self.now.wall = self.now.wall.plus_ms(step as i64);
            self.coordinator.tick(self.now);
            answers.extend(self.settle());
        }
        answers
    }

    /// Another coordinator takes over.
    pub(crate) fn restart(&mut self) {
        let mut next = GroupCoordinator::new(self.limits.clone(), 2);
        for record in &self.log {
            next.load(&record.key, record.value.as_deref()).expect("its own record");
        }
        assert_eq!(next.snapshot(), self.coordinator.snapshot());
        next.loaded(self.now);
        self.coordinator = next;
    }

    pub(crate) fn heartbeat(
        &mut self,
        heartbeat: ConsumerHeartbeat,
    ) -> Result<ConsumerHeartbeatAnswer, ErrorCode> {
        match self.ask(Request::ConsumerHeartbeat(heartbeat)) {
            Answer::ConsumerHeartbeat(answer) => Ok(answer),
            Answer::Failed(code) => Err(code),
            other => panic!("{other:?}"),
        }
    }

    /// A heartbeat that only says what the member owns, if that.
    pub(crate) fn beat(
        &mut self,
        member: &str,
        epoch: i32,
        owned: Option<Partitions>,
    ) -> Result<Told, ErrorCode> {
        let heartbeat = ConsumerHeartbeat { owned, ..heartbeat(member, epoch) };
        self.heartbeat(heartbeat).map(told)
    }

    /// The member joins and reads `t`.
    pub(crate) fn join(&mut self, member: &str) -> Told {
        told(self.heartbeat(joining(member)).expect("it joins"))
    }

    pub(crate) fn describe(&mut self) -> ConsumerGroupDescription {
        let Answer::ConsumerDescribed(mut groups) = self.ask(Request::ConsumerDescribe(vec!["g".into()]))
        else {
            panic!("not described")
        };
        groups.remove(0)
    }

    pub(crate) fn state(&mut self) -> (&'static str, i32, i32) {
        let group = self.describe();
        (group.state, group.epoch.0, group.assignment_epoch.0)
    }

    pub(crate) fn commit(&mut self, member: &str, epoch: i32, partition: i32) -> Result<(), ErrorCode> {
        let topic = self.topic("t");
        let offset = NewOffset { topic, partition, offset: Offset(7), leader_epoch: 0, metadata: "".into() };
        let commit = OffsetCommit { who: who(member, epoch), version: 9, offsets: vec![offset] };
        match self.ask(Request::Commit(commit)) {
            Answer::Each(codes) if codes == [ErrorCode::None] => Ok(()),
            Answer::Failed(code) => Err(code),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn fetch(&mut self, member: Option<(&str, i32)>) -> Result<i64, ErrorCode> {
        let member = member.map(|(member, epoch)| (member.into(), epoch));
        let partitions = Some(vec![(self.topic("t"), 0)]);
        let fetch = OffsetFetch { group: "g".into(), partitions, require_stable: true, member };
        let Answer::Offsets(groups) = self.ask(Request::Fetch(vec![fetch])) else { panic!("no offsets") };
        match groups[0].error {
            ErrorCode::None => Ok(groups[0].offsets[0].offset.0),
            error => Err(error),
        }
    }

    pub(crate) fn topic(&self, name: &str) -> Topic {
        Topic { name: name.into(), id: self.topics.topics[name].0 }
    }

    /// A group of one classic member that owns all of `t`. Gives its id.
    pub(crate) fn classic_group(&mut self) -> String {
        let joined = self.classic_join("", &[]).expect("it joins");
        let member = joined.member.to_string();
        let all = assignment(&[("t", &[0, 1, 2, 3])]);
        let assignments = vec![(joined.member.clone(), all)];
        let sync = Sync { who: who(&member, joined.generation.0), protocol: None, assignments };
        assert!(matches!(self.ask(Request::Sync(sync)), Answer::Synced(_)));
        member
    }

    /// A classic member joins, and says what it owns of `t`.
    pub(crate) fn classic_join(&mut self, member: &str, owned: &[i32]) -> Result<Joined, ErrorCode> {
        match self.ask(Request::Join(classic(member, owned))) {
            Answer::Joined(joined) => Ok(joined),
            Answer::Failed(code) => Err(code),
            other => panic!("{other:?}"),
        }
    }

    /// What a classic member is told to own of `t`.
    pub(crate) fn sync(&mut self, member: &str, generation: i32) -> Result<Vec<i32>, ErrorCode> {
        let sync = Sync { who: who(member, generation), protocol: None, assignments: vec![] };
        match self.ask(Request::Sync(sync)) {
            Answer::Synced(synced) => Ok(numbers(&synced.assignment)),
            Answer::Failed(code) => Err(code),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn classic_beat(&mut self, member: &str, generation: i32) -> Result<(), ErrorCode> {
        match self.ask(Request::Heartbeat(who(member, generation))) {
            Answer::Done => Ok(()),
            Answer::Failed(code) => Err(code),
            other => panic!("{other:?}"),
        }
    }
}

/// Epoch and assignment of `t`, the first topic.
pub(crate) type Told = (i32, Option<Vec<i32>>);

pub(crate) fn told(answer: ConsumerHeartbeatAnswer) -> Told {
    let numbers =
        |assignment: Partitions| assignment.get(&[1; 16]).into_iter().flatten().copied().collect::<Vec<_>>();
    (answer.epoch.0, answer.assignment.map(numbers))
}

pub(crate) fn heartbeat(member: &str, epoch: i32) -> ConsumerHeartbeat {
    ConsumerHeartbeat {
        group: "g".into(),
        member: member.into(),
        epoch: Epoch(epoch),
        instance: None,
        rack: None,
        version: 1,
        client_id: "c".into(),
        client_host: "h".into(),
        rebalance_timeout_ms: None,
        topics: None,
        regex: None,
        assignor: None,
        owned: None,
    }
}

pub(crate) fn joining(member: &str) -> ConsumerHeartbeat {
    ConsumerHeartbeat {
        rebalance_timeout_ms: Some(20_000),
        topics: Some(vec!["t".into()]),
        owned: Some(Partitions::new()),
        ..heartbeat(member, 0)
    }
}

pub(crate) fn owns(topic: TopicId, numbers: &[i32]) -> Option<Partitions> {
    Some([(topic, numbers.iter().copied().collect())].into())
}

/// Partitions of `t`.
pub(crate) fn of_t(numbers: &[i32]) -> Option<Partitions> {
    owns([1; 16], numbers)
}

pub(crate) fn who(member: &str, generation: i32) -> MemberRef {
    MemberRef { group: "g".into(), member: member.into(), instance: None, generation: Generation(generation) }
}

pub(crate) fn classic(member: &str, owned: &[i32]) -> Join {
    Join {
        who: who(member, -1),
        version: 3,
        client_id: "c".into(),
        client_host: "h".into(),
        session_timeout_ms: 10_000,
        rebalance_timeout_ms: 20_000,
        protocol_type: "consumer".into(),
        protocols: vec![("range".into(), subscription(&["t"], owned))],
    }
}

pub(crate) fn subscription(topics: &[&str], owned: &[i32]) -> Blob {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, false);
    writer.i16(1).count(topics.len());
    for topic in topics {
        writer.text(topic);
    }
    writer.nullable_bytes(None).count(1).text("t").count(owned.len());
    for number in owned {
        writer.i32(*number);
    }
    out.into()
}

pub(crate) fn assignment(partitions: &[(&str, &[i32])]) -> Blob {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, false);
    writer.i16(1).count(partitions.len());
    for (topic, numbers) in partitions {
        writer.text(topic).count(numbers.len());
        for number in *numbers {
            writer.i32(*number);
        }
    }
    writer.nullable_bytes(None);
    out.into()
}

/// The partitions of `t` in a classic assignment.
fn numbers(bytes: &[u8]) -> Vec<i32> {
    let mut reader = Reader::new(bytes, false);
    reader.i16().expect("a version");
    let mut numbers = Vec::new();
    for _ in 0..reader.count(6).expect("topics") {
        let topic = reader.text().expect("a topic");
        for _ in 0..reader.count(4).expect("partitions") {
            let number = reader.i32().expect("a partition");
            assert_eq!(topic, "t");
            numbers.push(number);
        }
    }
    numbers
}
