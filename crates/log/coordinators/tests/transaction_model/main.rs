//! Clients that run transactions against a transaction coordinator, a group coordinator and partitions, with everything that
//! can go wrong between them. The rules are those of clients and know nothing of the coordinators' code. Numbers in brackets
//! are rules of the specification.

mod client;
mod oracle;
mod partition;
mod world;

use std::collections::BTreeSet;

use log_coordinators::TransactionAnswer;
use log_wire::ErrorCode;

use client::{Client, Meaning, Op, meaning};
use oracle::Attempt;
use world::{IDS, World};

const SEEDS: u64 = 300;
const STEPS: u64 = 2_000;
const CLIENTS: usize = 2 * IDS;
const RETRY_MS: u64 = 3_000;

struct Model {
    world: World,
    clients: Vec<Client>,
    /// No client begins anything.
    draining: bool,
}

impl Model {
    fn new(seed: u64) -> Self {
        let mut world = World::new(seed, CLIENTS);
        let client = |number| {
            let (id, version) = World::id_of(number);
            Client::new(id, version, world.number())
        };
        let clients = (0..CLIENTS).map(client).collect();
        Self { world, clients, draining: false }
    }

    fn fresh(&mut self, number: usize) {
        let (id, version) = World::id_of(number);
        self.clients[number] = Client::new(id, version, self.world.number());
    }

    fn act(&mut self, number: usize) {
        let now = self.world.now.mono().ms();
        let client = &mut self.clients[number];
        let waits = client.waits.is_some() && now < client.asked_at + RETRY_MS;
        if waits || self.world.step < client.silent_until {
            return;
        }
        let idle = client.attempt.is_none();
        if idle && self.draining {
            return;
        }
        if idle && client.producer.is_some() && !client.raise {
            self.world.attempts += 1;
            let attempt = self.world.attempts;
            client.plan(attempt, &mut self.world.random);
            let told = Attempt {
                id: client.id,
                acked: Vec::new(),
                offset_acked: false,
                commit_sent: false,
                committed: None,
            };
            self.world.oracle.attempts.insert(attempt, told);
        }
        let Some(op) = client.next() else { return };
        client.waits = Some(self.world.send(number, client, op));
        client.asked_at = now;
    }

    /// Lets the clients take the answers that have come.
    fn listen(&mut self) {
        while let Some((ticket, delivery, answer)) = self.world.answers.pop_front() {
            let asked = self.world.asked[&ticket];
            if self.clients[asked.client].waits == Some(ticket) {
                self.clients[asked.client].waits = None;
                self.hear(asked.client, asked.op, delivery, &answer);
            }
        }
    }

    fn hear(&mut self, number: usize, op: Op, delivery: u64, answer: &TransactionAnswer) {
        let client = &mut self.clients[number];
        let raises = client.raises();
        assert!(
            !raises || *answer != TransactionAnswer::Failed(ErrorCode::InvalidTxnState),
            "{op:?} is refused to a client that did all in order"
        );
        match (meaning(op, answer), op, client.attempt) {
            (Meaning::Retry, ..) => {}
            (Meaning::Fenced, ..) => {
                let (since, newest) = (client.since, self.world.last_init[client.id]);
                assert!(newest > since, "a client is fenced that nobody followed (L41, L47)");
                self.world.counts.insert("fenced");
                self.fresh(number);
                // Otherwise the two clients of an id would only fence each other.
                self.clients[number].silent_until = self.world.step + self.world.random.below(300);
            }
            (Meaning::Done, Op::Init, _) => {
                if let TransactionAnswer::Initialized(producer) = answer {
                    (client.producer, client.raise, client.since) = (Some(*producer), false, delivery);
                }
            }
            (Meaning::Done, Op::End(commit), Some(attempt)) => self.ended(number, attempt, commit, answer),
            (Meaning::Done, ..) => {
                client.plan.pop();
            }
            (Meaning::Abort, Op::End(true), Some(attempt)) => {
                self.world.oracle.decided(attempt, false);
                self.world.counts.insert("commit after a timeout");
                client.lose();
            }
            (Meaning::Abort, ..) => client.lose(),
        }
    }

    fn ended(&mut self, number: usize, attempt: u64, commit: bool, answer: &TransactionAnswer) {
        self.world.oracle.decided(attempt, commit);
        let client = &mut self.clients[number];
        let raises = client.raises();
        if raises && self.world.random.chance(10) {
            // The opposite must be refused, and nobody waits for that.
            self.world.send(number, client, Op::End(!commit));
        }
        (client.attempt, client.plan) = (None, Vec::new());
        if let (TransactionAnswer::Ended(next), true) = (answer, raises) {
            client.producer = Some(*next);
        }
    }

    fn disturb(&mut self) {
        let number = self.world.random.below(CLIENTS as u64) as usize;
        match self.world.random.below(120) {
            0 => self.world.restart_transactions(),
            1 => self.world.restart_groups(),
            2 => self.world.settle_transactions(true),
            3 => self.world.settle_groups(true),
            4 => self.world.pass(60_000),
            5 | 6 => self.clients[number].silent_until = self.world.step + 100,
            7 => self.fresh(number),
            _ => {}
        }
    }

    fn turn(&mut self) {
        self.world.step += 1;
        let number = self.world.random.below(CLIENTS as u64) as usize;
        self.act(number);
        if self.world.random.chance(20) {
            self.world.read_offset(number / 2);
        }
        self.world.deliver_due();
        if self.world.becomes_durable() {
            self.world.settle_transactions(false);
        }
        if self.world.becomes_durable() {
            self.world.settle_groups(false);
        }
        self.listen();
        let ms = self.world.random.below(300);
        self.world.pass(ms);
    }

    fn calm_turn(&mut self) {
        self.turn();
        while !self.is_settled() {
            self.world.settle_transactions(false);
            self.world.settle_groups(false);
        }
        self.listen();
    }

    fn is_settled(&self) -> bool {
        self.world.is_settled()
    }

    /// All faults have ended. What is open is ended by its client or by its timeout, and then everything is decided (L44).
    fn heal(&mut self) {
        (self.world.healed, self.draining) = (true, true);
        if self.world.random.chance(50) {
            // No client comes back, and the coordinator knows only what is durable.
            (0..CLIENTS).for_each(|number| self.fresh(number));
            self.world.restart_transactions();
        }
        for turn in 0.. {
            self.calm_turn();
            if self.world.is_quiet() && self.clients.iter().all(|client| client.attempt.is_none()) {
                break;
            }
            assert!(turn < 2_000, "a client does not come to the end of its transaction (L44)");
        }
        for _ in 0..150 {
            self.calm_turn();
        }
        assert!(self.world.is_quiet(), "something is still under way");
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
        for _ in 0..2_000 {
            self.calm_turn();
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
        "aborted",
        "commit after a timeout",
        "committed",
        "fenced",
        "initialized",
        "marker again",
        "new producer id",
        "refused",
        "restarted",
        "unstable",
    ];
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), wanted);
}
