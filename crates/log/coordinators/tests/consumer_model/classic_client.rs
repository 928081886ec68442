//! A client of the classic protocol. It is eager, and gives up everything before it joins again, or cooperative, and keeps what it
//! has until its leader takes it away.

use std::collections::{BTreeMap, BTreeSet};

use log_coordinators::{
    Answer, Blob, Generation, Join, Joined, JoinedMember, Leave, MemberRef, Request, Sync, Text, Topics as _,
};
use log_wire::{ErrorCode, Reader, Writer};

use crate::client::{Client, INTERVAL_MS, Partition, REBALANCE_MS, SESSION_MS, Stage};
use crate::consumer_client::give_up;
use crate::world::{Asked, World};

impl World {
    pub(crate) fn act_as_classic(&mut self, number: usize) {
        let client = self.clients[number].clone();
        let who = who(&client);
        match client.stage {
            Stage::Leave(_) => {
                let leave = Leave { group: "g".into(), members: vec![(who.member, None)] };
                self.ask(number, Asked::Leave, Request::Leave(leave));
            }
            Stage::Join => {
                if !self.cooperative {
                    self.clients[number].owned.clear();
                    self.clients[number].giving_up.clear();
                }
                let metadata = self.subscription(number);
                let join = Join {
                    who,
                    version: 9,
                    client_id: "c".into(),
                    client_host: "h".into(),
                    session_timeout_ms: SESSION_MS,
                    rebalance_timeout_ms: REBALANCE_MS,
                    protocol_type: "consumer".into(),
                    protocols: vec![("a".into(), metadata)],
                };
                self.ask(number, Asked::Join, Request::Join(join));
            }
            Stage::Sync => {
                let assignments =
                    client.leads.as_ref().map(|members| self.assign(members)).unwrap_or_default();
                let sync = Sync { who, protocol: None, assignments };
                self.ask(number, Asked::Sync, Request::Sync(sync));
            }
            Stage::Member => self.ask(number, Asked::Heartbeat, Request::Heartbeat(who)),
        }
    }

    pub(crate) fn classic_answered(&mut self, number: usize, answer: Answer) {
        match answer {
            Answer::MemberIdRequired(id) => self.clients[number].member = id,
            Answer::Joined(joined) => self.joined(number, joined),
            Answer::Synced(synced) => self.synced(number, &synced.assignment),
            Answer::Done => self.clients[number].next_at = self.ms() + INTERVAL_MS,
            Answer::Failed(ErrorCode::RebalanceInProgress) => self.clients[number].stage = Stage::Join,
            Answer::Failed(ErrorCode::IllegalGeneration) => self.clients[number].release(),
            Answer::Failed(ErrorCode::UnknownMemberId) => {
                self.clients[number].release();
                self.clients[number].member = "".into();
            }
            Answer::Failed(ErrorCode::FencedInstanceId) => self.start_anew(number),
            Answer::Failed(ErrorCode::CoordinatorNotAvailable | ErrorCode::NotCoordinator) => {
                let client = &mut self.clients[number];
                if client.stage == Stage::Sync {
                    client.stage = Stage::Join;
                }
            }
            other => panic!("{other:?}"),
        }
    }

    fn joined(&mut self, number: usize, joined: Joined) {
        let client = &mut self.clients[number];
        client.member = joined.member.clone();
        client.epoch = joined.generation.0;
        client.stage = Stage::Sync;
        // A leader that need not assign does not know for which topics its predecessor did: it will join again.
        client.assigned = if joined.skip_assignment { 0 } else { self.topics.version };
        client.leads = (joined.leader == joined.member).then_some(joined.members);
    }

    fn synced(&mut self, number: usize, bytes: &[u8]) {
        let (now, assigned) = (self.ms(), self.read_assignment(bytes));
        let client = &mut self.clients[number];
        client.stage = Stage::Member;
        client.next_at = now + INTERVAL_MS;
        client.giving_up = client.owned.difference(&assigned).copied().collect();
        client.gives_up_at = now;
        let granted = assigned.difference(&client.owned).copied().collect::<Vec<_>>();
        client.owned.extend(&granted);
        self.oracle.add("granted", granted.len() as u64);
        self.give_up_as_classic(number);
    }

    /// A cooperative client that has given up something joins again, so that another one gets it.
    pub(crate) fn give_up_as_classic(&mut self, number: usize) {
        let now = self.ms();
        let version = self.topics.version;
        let client = &mut self.clients[number];
        // What it said that it owns when it joined, it owns until it has its assignment.
        if client.stage == Stage::Sync {
            return;
        }
        let others = give_up(client, now);
        // A leader looks after the topics.
        let outdated = client.leads.is_some() && client.assigned != version;
        if (others || outdated) && client.stage == Stage::Member {
            client.stage = Stage::Join;
        }
    }

    fn subscription(&self, number: usize) -> Blob {
        let client = &self.clients[number];
        let mut owned: BTreeMap<Text, Vec<i32>> = BTreeMap::new();
        for (id, index) in &client.owned {
            if let Some(name) = self.topics.name(id) {
                owned.entry(name).or_default().push(*index);
            }
        }
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, false);
        writer.i16(1).count(client.topics.len());
        for topic in &client.topics {
            writer.text(topic);
        }
        writer.nullable_bytes(None);
        write(&mut writer, &owned);
        out.into()
    }

    /// The leader's assignment: partitions go round. Where a cooperative member owns one, another gets it only when it is free.
    fn assign(&self, members: &[JoinedMember]) -> Vec<(Text, Blob)> {
        let read: Vec<_> = members.iter().map(|member| read_subscription(&member.metadata)).collect();
        let mut given: Vec<BTreeMap<Text, Vec<i32>>> = vec![BTreeMap::new(); members.len()];
        let mut turn = 0;
        for (name, (_, partitions)) in &self.topics.topics {
            let readers: Vec<_> = (0..members.len()).filter(|at| read[*at].0.contains(name)).collect();
            if readers.is_empty() {
                continue;
            }
            for index in 0..*partitions {
                let to = readers[turn % readers.len()];
                turn += 1;
                let owns = |at: &usize| read[*at].1.contains(&(name.clone(), index));
                let free = (0..members.len()).filter(|at| *at != to).all(|at| !owns(&at));
                if free {
                    given[to].entry(name.clone()).or_default().push(index);
                }
            }
        }
        let part = |(member, partitions): (&JoinedMember, &BTreeMap<_, _>)| {
            let mut out = Vec::new();
            let mut writer = Writer::new(&mut out, false);
            writer.i16(1);
            write(&mut writer, partitions);
            writer.nullable_bytes(None);
            (member.member.clone(), Blob::from(out))
        };
        members.iter().zip(&given).map(part).collect()
    }

    pub(crate) fn read_assignment(&self, bytes: &[u8]) -> BTreeSet<Partition> {
        if bytes.is_empty() {
            return BTreeSet::new();
        }
        let mut reader = Reader::new(bytes, false);
        reader.i16().expect("a version");
        let named = read(&mut reader);
        named.into_iter().filter_map(|(name, index)| Some((self.topics.find(&name)?.0, index))).collect()
    }
}

pub(crate) fn who(client: &Client) -> MemberRef {
    MemberRef {
        group: "g".into(),
        member: client.member.clone(),
        instance: client.instance.clone(),
        generation: Generation(client.epoch),
    }
}

fn write(writer: &mut Writer<'_>, partitions: &BTreeMap<Text, Vec<i32>>) {
    writer.count(partitions.len());
    for (topic, numbers) in partitions {
        writer.text(topic).count(numbers.len());
        for number in numbers {
            writer.i32(*number);
        }
    }
}

fn read(reader: &mut Reader<'_>) -> BTreeSet<(Text, i32)> {
    let mut partitions = BTreeSet::new();
    for _ in 0..reader.count(6).expect("topics") {
        let topic = Text::from(reader.text().expect("a topic"));
        for _ in 0..reader.count(4).expect("partitions") {
            partitions.insert((topic.clone(), reader.i32().expect("a partition")));
        }
    }
    partitions
}

fn read_subscription(bytes: &[u8]) -> (BTreeSet<Text>, BTreeSet<(Text, i32)>) {
    let mut reader = Reader::new(bytes, false);
    reader.i16().expect("a version");
    let count = reader.count(2).expect("topics");
    let topics = (0..count).map(|_| Text::from(reader.text().expect("a topic"))).collect();
    reader.nullable_bytes().expect("user data");
    (topics, read(&mut reader))
}
