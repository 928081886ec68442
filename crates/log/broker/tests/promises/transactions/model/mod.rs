//! Clients that run transactions against a broker, with everything that can go wrong between them: requests that are late or come
//! twice, answers that are lost, connections that break, a disk that is slow or full, and a broker that dies. What may be seen
//! follows from what clients asked for and were told, and from nothing of the broker's.

mod ask;
mod at_last;
mod client;
mod network;
mod oracle;
mod world;

use std::collections::BTreeSet;

use super::client::Protocol;
use ask::Answer;
use client::{Client, Meaning, Op, meaning};
use world::World;

const SEEDS: u64 = 120;
const STEPS: u64 = 1_500;
/// Transactional ids, and clients: two share each id.
const IDS: usize = 3;
const CLIENTS: usize = 2 * IDS;
const PARTITIONS: i32 = 3;
/// Which connection of a client goes where.
const LEADER: usize = 0;
const COORDINATOR: usize = 1;
/// How long a client waits for an answer.
const RETRY_MS: u64 = 3_000;

/// The protocol of a client, and its id.
fn kind(number: usize) -> (usize, Protocol) {
    let id = number / 2;
    // One id has clients of both kinds, as while they are upgraded.
    let classic = id == 0 || (id == 1 && number.is_multiple_of(2));
    (id, if classic { Protocol::Classic } else { Protocol::EpochPerTransaction })
}

struct Model {
    world: World,
    clients: Vec<Client>,
    /// No client begins anything.
    draining: bool,
}

impl Model {
    fn new(seed: u64) -> Self {
        let clients = (0..CLIENTS).map(kind).map(|(id, protocol)| Client::new(id, protocol)).collect();
        Self { world: World::new(seed), clients, draining: false }
    }

    /// A client dies, and another one takes its place. What it has sent is still on its way.
    fn fresh(&mut self, number: usize) {
        let (id, protocol) = kind(number);
        self.clients[number] = Client::new(id, protocol);
    }

    fn act(&mut self, number: usize) {
        let now = self.world.bench.now.mono().ms();
        let client = &mut self.clients[number];
        if self.world.step < client.silent_until {
            return;
        }
        let waits = client.waits.is_some() || client.records.iter().any(|record| record.request.is_some());
        if waits {
            if now < client.asked_at + RETRY_MS {
                return;
            }
            for connection in client.give_up_waiting() {
                self.world.close(connection);
            }
        }
        let idle = client.attempt.is_none();
        if idle && self.draining {
            return;
        }
        if idle && client.producer.is_some() && !client.raise {
            let attempt = self.world.begin_attempt(client.id);
            client.plan(attempt, &mut self.world.random);
        }
        client.asked_at = now;
        match client.next() {
            None => {}
            Some(Op::Records(partition, count)) => {
                if client.records.is_empty() {
                    let attempt = client.attempt.expect("it has a transaction");
                    client.prepare(partition, self.world.new_values(attempt, partition, count));
                }
                self.world.send_records(client);
            }
            Some(op) => self.world.send_step(client, op),
        }
    }

    /// Lets the clients take the answers that have come.
    fn listen(&mut self) {
        while let Some((number, answer)) = self.world.next_answer() {
            let Some(at) = self.clients.iter().position(|client| client.waits == Some(number)) else {
                self.hear_of_record(number, answer.code);
                continue;
            };
            let op = self.clients[at].next().expect("it has asked for its step");
            self.clients[at].waits = None;
            self.hear(at, op, number, answer);
        }
    }

    fn hear_of_record(&mut self, number: u64, code: i16) {
        let find = |client: &Client| client.records.iter().position(|record| record.request == Some(number));
        let found = self.clients.iter().enumerate().find_map(|(who, client)| Some((who, find(client)?)));
        let Some((who, at)) = found else { return };
        let client = &mut self.clients[who];
        client.records[at].request = None;
        let is_first = client.records[..at].iter().all(|record| record.acked);
        let op = client.next().expect("it sends records");
        match meaning(op, code, is_first) {
            Meaning::Done => {
                client.records[at].acked = true;
                let attempt = client.attempt.expect("it has a transaction");
                self.world.oracle.attempt(attempt).acked.insert(client.records[at].value.clone());
                if client.records.iter().all(|record| record.acked) {
                    client.records.clear();
                    client.plan.pop();
                }
            }
            Meaning::Retry => self.world.retried(code),
            Meaning::Abort => client.lose(),
            Meaning::Fenced => self.fenced(who),
        }
    }

    fn hear(&mut self, who: usize, op: Op, number: u64, answer: Answer) {
        let client = &mut self.clients[who];
        let Answer { code, producer } = answer;
        match (meaning(op, code, true), op, client.attempt) {
            (Meaning::Retry, ..) => self.world.retried(code),
            (Meaning::Fenced, ..) => self.fenced(who),
            (Meaning::Done, Op::Init, _) => {
                client.become_producer(producer);
                (client.raise, client.since) = (false, self.world.init_of(number));
                if producer.1 == 0 {
                    self.world.counts.insert("new producer id");
                }
            }
            (Meaning::Done, Op::End(commit), Some(attempt)) => self.ended(who, attempt, commit, answer),
            (Meaning::Done, Op::Offset, Some(attempt)) => {
                self.world.oracle.attempt(attempt).offset_acked = true;
                client.plan.pop();
            }
            (Meaning::Done, ..) => drop(client.plan.pop()),
            (Meaning::Abort, Op::End(true), Some(attempt)) => {
                self.world.oracle.decided(attempt, false);
                self.world.counts.insert("commit after a timeout");
                client.lose();
            }
            (Meaning::Abort, ..) => client.lose(),
        }
    }

    fn ended(&mut self, who: usize, attempt: u64, commit: bool, answer: Answer) {
        self.world.oracle.decided(attempt, commit);
        self.world.counts.insert(if commit { "committed" } else { "aborted" });
        let client = &mut self.clients[who];
        let raises = !client.is_classic();
        if raises && self.world.random.chance(10) {
            // The opposite must be refused, and nobody waits for that.
            let opposite = client.ask(Op::End(!commit));
            self.world.send(client, COORDINATOR, opposite);
        }
        (client.attempt, client.plan) = (None, Vec::new());
        if raises {
            client.become_producer(answer.producer);
        }
    }

    fn fenced(&mut self, who: usize) {
        let (since, newest) = (self.clients[who].since, self.world.last_init(self.clients[who].id));
        assert!(newest > since, "a client is fenced that nobody followed (L41, L47)");
        self.world.counts.insert("fenced");
        self.fresh(who);
        // Otherwise the two clients of an id would only fence each other.
        self.clients[who].silent_until = self.world.step + self.world.random.below(300);
    }

    fn disturb(&mut self) {
        let who = self.world.random.below(CLIENTS as u64) as usize;
        match self.world.random.below(240) {
            0 | 1 => self.world.crash(),
            2..=4 => self.world.fill_disk(),
            5 => self.world.pass_long(20_000),
            6 | 7 => self.clients[who].silent_until = self.world.step + 100,
            8 | 9 => self.fresh(who),
            10..=12 => self.world.break_connection(),
            _ => {}
        }
    }

    fn turn(&mut self) {
        self.world.step += 1;
        let who = self.world.random.below(CLIENTS as u64) as usize;
        self.act(who);
        self.world.deliver();
        self.world.work();
        if self.world.random.chance(20) {
            self.world.read_offset(who / 2);
        }
        if self.world.random.chance(20) {
            self.world.read();
        }
        self.listen();
        let ms = self.world.random.below(200);
        self.world.pass(ms);
    }

    /// All faults have ended. What is open is ended by its client or by its timeout, and then everything is decided (L44).
    fn heal(&mut self) {
        self.world.heal();
        self.draining = true;
        if self.world.random.chance(50) {
            // No client comes back, and the broker knows only what is durable.
            (0..CLIENTS).for_each(|number| self.fresh(number));
            self.world.crash();
        }
        for turn in 0.. {
            self.turn();
            if self.world.is_quiet() && self.clients.iter().all(|client| client.attempt.is_none()) {
                break;
            }
            assert!(turn < 3_000, "a client does not come to the end of its transaction (L44)");
        }
        self.world.pass_long(2 * u64::from(client::TRANSACTION_MS.unsigned_abs()));
        for _ in 0..100 {
            self.turn();
        }
        self.world.check();
    }

    /// Every id can commit again.
    fn go_on(&mut self) {
        self.draining = false;
        let first = self.world.attempts;
        for number in 0..CLIENTS {
            self.fresh(number);
            self.clients[number].silent_until = if number % 2 == 0 { 0 } else { u64::MAX };
        }
        for _ in 0..3_000 {
            self.turn();
            let attempts = self.world.oracle.attempts.range(first + 1..);
            let committed = attempts.filter(|(_, attempt)| attempt.committed == Some(true));
            let ids: BTreeSet<_> = committed.map(|(_, attempt)| attempt.id).collect();
            if ids.len() == IDS {
                return;
            }
        }
        panic!("an id cannot commit any more (L44)");
    }
}

fn run(seed: u64) -> BTreeSet<&'static str> {
    let mut model = Model::new(seed);
    for _ in 0..STEPS {
        model.disturb();
        model.turn();
    }
    model.heal();
    model.go_on();
    model.world.counts
}

#[test]
fn clients_see_only_what_the_rules_of_transactions_allow() {
    let mut counts = BTreeSet::new();
    for seed in 0..SEEDS {
        match std::panic::catch_unwind(|| run(seed)) {
            Ok(seen) => counts.extend(seen),
            Err(_) => panic!("seed {seed}"),
        }
    }
    let wanted = [
        "a full disk refused",
        "aborted",
        "commit after a timeout",
        "committed",
        "died",
        "fenced",
        "new producer id",
        "the next one waited",
        "the transaction before was ending",
        "unstable",
    ];
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), wanted);
}
