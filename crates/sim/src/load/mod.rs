//! Clients that write, read, watch, hold ephemeral nodes, leave with and without a word, come back elsewhere and close,
//! and an operator who changes the members. What they do is drawn from a seed; what they see goes into the history.

mod operator;
mod visitor;

pub use operator::SUPER;

use crate::ensemble::Ensemble;
use crate::history::{Ask, History};
use crate::random::Random;
use operator::Operator;
use visitor::Visitor;

/// Requests that a client has under way at most.
const OUTSTANDING_MAX: usize = 8;
/// Nodes that everybody writes to.
const SHARED: u64 = 6;

/// How much the clients do.
#[derive(Clone, Copy, Debug)]
pub struct Appetite {
    /// How many clients there are.
    pub clients: usize,
    /// How often, of a hundred moments, one of them asks for something.
    pub asks: u64,
    /// How often, of a thousand moments, the operator wants other members.
    pub changes: u64,
}

impl Appetite {
    /// Light load, and nobody who changes the members.
    pub const LIGHT: Self = Self { clients: 4, asks: 10, changes: 0 };

    /// A draw.
    pub fn draw(random: &mut Random) -> Self {
        let clients = 3 + random.below(4) as usize;
        let asks = [3, 10, 25][random.below(3) as usize];
        let changes = if random.chance(50) { 1 + random.below(8) } else { 0 };
        Self { clients, asks, changes }
    }
}

/// All clients of an ensemble.
pub struct Load {
    random: Random,
    appetite: Appetite,
    /// How many clients only read. Nothing of a connection is answered behind a write that is not: it does not show what
    /// a member that is cut off still answers.
    readers: usize,
    visitors: Vec<Visitor>,
    operator: Operator,
    /// Comes with other people's sessions.
    intruder: Visitor,
    /// Until when a client stays away.
    away_until_ms: Vec<u64>,
    numbers: u64,
    /// What each client knows to be in the queue.
    seen: Vec<Vec<String>>,
}

impl Load {
    /// Clients of an ensemble founded by so many.
    #[must_use]
    pub fn new(appetite: Appetite, founders: u64, mut random: Random) -> Self {
        // Drawn apart: where nobody only reads, all else is as it always was.
        let readers = random.clone().fork().below(2) as usize;
        let mut visitor = |name| Visitor::new(name, 3_000 + random.below(6_000) as i32);
        let visitors: Vec<_> = (0..appetite.clients).map(&mut visitor).collect();
        Self {
            operator: Operator::new(appetite.clients, founders, appetite.changes),
            intruder: Visitor::new(appetite.clients + 1, 4_000),
            away_until_ms: vec![0; appetite.clients],
            seen: vec![Vec::new(); appetite.clients],
            visitors,
            appetite,
            readers,
            random,
            numbers: 0,
        }
    }

    /// Everybody hears what there is, and sometimes asks for something.
    pub fn moment(&mut self, ensemble: &mut Ensemble, history: &mut History) {
        self.hear(ensemble, history);
        for place in 0..self.visitors.len() {
            if self.random.chance(self.appetite.asks) {
                self.ask(place, ensemble, history);
            }
            if self.random.below(500) == 0 && (place >= self.readers || self.random.chance(20)) {
                self.wander(place, ensemble, history);
            }
        }
        self.operator.moment(ensemble, history, &mut self.random);
        if self.random.below(300) == 0 {
            self.intrude(ensemble, history);
        }
    }

    /// Everybody waits for what is still to come, and asks for nothing.
    pub fn wait(&mut self, ensemble: &mut Ensemble, history: &mut History) {
        self.away_until_ms.fill(0);
        self.hear(ensemble, history);
        self.operator.finish(ensemble, history);
    }

    /// Each client writes and reads once more.
    pub fn serve(&mut self, ensemble: &mut Ensemble, history: &mut History) {
        for visitor in &mut self.visitors {
            let path = format!("/w{}", visitor.name);
            self.numbers += 1;
            let data = format!("last {}", self.numbers).into_bytes();
            let create = Ask::Create { path: path.clone(), data: Vec::new(), flags: 0, stat: false };
            visitor.ask(ensemble, history, create);
            visitor.ask(ensemble, history, Ask::Set { path: path.clone(), data, version: -1 });
            visitor.ask(ensemble, history, Ask::Sync { path: path.clone() });
            visitor.ask(ensemble, history, Ask::Get { path, watch: false });
        }
    }

    /// Whether everybody is connected and nobody waits for an answer.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.visitors.iter().all(|visitor| visitor.is_served() && visitor.outstanding() == 0)
    }

    /// Where everybody stands.
    #[must_use]
    pub fn describe(&self) -> String {
        self.visitors.iter().map(Visitor::describe).collect()
    }

    fn hear(&mut self, ensemble: &mut Ensemble, history: &mut History) {
        let (now_ms, running) = (ensemble.now_ms(), ensemble.running());
        let away = self.away_until_ms.iter().copied().chain([0]);
        let all = self.visitors.iter_mut().chain([&mut self.operator.visitor]);
        for (visitor, away_until_ms) in all.zip(away) {
            let answered = visitor.hear(ensemble, history);
            for call in answered {
                note(&mut self.seen, visitor.name, call, history);
            }
            if !visitor.is_there() && !running.is_empty() && now_ms >= away_until_ms {
                let member = running[self.random.below(running.len() as u64) as usize];
                visitor.open(ensemble, history, member);
            }
            visitor.ping(ensemble, history);
            // A client that hears nothing for long tries another server.
            let waits = !visitor.is_served() || visitor.outstanding() > 0;
            if waits && visitor.is_there() && now_ms >= visitor.heard_ms() + visitor.timeout_ms() * 2 / 3 {
                visitor.part(ensemble, history, true);
            }
        }
        self.intruder.hear(ensemble, history);
    }

    /// A client leaves, for a while or for good.
    fn wander(&mut self, place: usize, ensemble: &mut Ensemble, history: &mut History) {
        let says_so = self.random.chance(60);
        let visitor = &mut self.visitors[place];
        if !visitor.is_there() {
            return;
        }
        if self.random.chance(30) {
            // What it sends now may come long after it has gone elsewhere.
            self.numbers += 1;
            let data = format!("parting {}", self.numbers).into_bytes();
            let path = format!("/w{}", visitor.name);
            visitor.ask(ensemble, history, Ask::Set { path, data, version: -1 });
        }
        visitor.part(ensemble, history, says_so);
        match self.random.below(10) {
            // Its session is left to expire.
            0 | 1 => visitor.forget(),
            2 | 3 => {
                let away = self.random.below(2 * visitor.timeout_ms());
                self.away_until_ms[place] = ensemble.now_ms() + away;
            }
            _ => {}
        }
    }

    /// Somebody tries to take up another's session.
    fn intrude(&mut self, ensemble: &mut Ensemble, history: &mut History) {
        let running = ensemble.running();
        if running.is_empty() {
            return;
        }
        let member = running[self.random.below(running.len() as u64) as usize];
        let victim = self.random.below(self.visitors.len() as u64) as usize;
        let session = self.visitors[victim].session();
        self.intruder.part(ensemble, history, true);
        if session.0 != 0 {
            self.intruder.forge(session);
            self.intruder.open(ensemble, history, member);
            ensemble.count("intrusion", 1);
        }
    }

    fn ask(&mut self, place: usize, ensemble: &mut Ensemble, history: &mut History) {
        let visitor = &mut self.visitors[place];
        if !visitor.is_served() || visitor.outstanding() >= OUTSTANDING_MAX {
            return;
        }
        self.numbers += 1;
        let (random, number, name) = (&mut self.random, self.numbers, visitor.name);
        let data = format!("{name} {number}").into_bytes();
        let own = format!("/w{name}");
        let shared = format!("/s/{}", random.below(SHARED));
        let any = match random.below(8) {
            0 => String::from("/q"),
            1 => String::from("/e"),
            2 => format!("/w{}", random.below(self.appetite.clients as u64)),
            3 => own.clone(),
            4 => String::from("/zookeeper/config"),
            5 => String::from("/"),
            _ => shared.clone(),
        };
        let (watch, stat) = (random.chance(40), random.chance(50));
        let version = if random.chance(70) { -1 } else { random.below(4) as i32 };
        let plain = |path: &str| Ask::Create { path: path.into(), data: Vec::new(), flags: 0, stat: false };
        let asks = match random.below(100) {
            0..2 if place < self.readers => {
                vec![Ask::Sync { path: any.clone() }, Ask::Get { path: any, watch }]
            }
            2..40 if place < self.readers => vec![Ask::Exists { path: any, watch }],
            40..60 if place < self.readers => vec![Ask::Children { path: any, watch }],
            _ if place < self.readers => vec![Ask::Get { path: any, watch }],
            _ if number % 40 == 1 => vec![plain("/q"), plain("/e"), plain("/s"), plain(&own)],
            0..18 => vec![Ask::Set { path: own, data, version: -1 }],
            18..26 => vec![Ask::Create { path: "/q/n-".into(), data, flags: 2, stat }],
            26..34 => {
                let flags = if random.chance(50) { 1 } else { 3 };
                vec![Ask::Create { path: format!("/e/{name}-{}", random.below(4)), data, flags, stat }]
            }
            34..42 => vec![Ask::Create { path: shared, data, flags: i32::from(random.chance(20)), stat }],
            42..47 => vec![Ask::Delete { path: shared, version }],
            47..55 => vec![Ask::Set { path: shared, data, version }],
            55..61 => vec![Ask::Multi(vec![
                Ask::Check { path: own.clone(), version: -1 },
                Ask::Set { path: own, data: data.clone(), version: -1 },
                Ask::Create { path: format!("/e/{name}-"), data, flags: 3, stat },
                Ask::Delete { path: shared, version },
            ])],
            61..73 => vec![Ask::Get { path: any, watch }],
            73..81 => vec![Ask::Exists { path: any, watch }],
            81..88 => vec![Ask::Children { path: any, watch }],
            88..94 => vec![Ask::Sync { path: any.clone() }, Ask::Get { path: any, watch: false }],
            94..99 => match self.seen[place].pop() {
                Some(path) => vec![Ask::Delete { path, version: -1 }],
                None => vec![Ask::Children { path: "/q".into(), watch }],
            },
            _ if random.chance(30) => vec![Ask::Close],
            _ => vec![Ask::Ping],
        };
        for ask in asks {
            visitor.ask(ensemble, history, ask);
        }
    }
}

/// Whoever has listed the queue or its own nodes knows what to delete.
fn note(seen: &mut [Vec<String>], client: usize, call: usize, history: &History) {
    let call = &history.calls[call];
    let (Some(seen), Ask::Children { path, .. }) = (seen.get_mut(client), &call.ask) else { return };
    let Some(answer) = call.answer.as_ref().filter(|answer| answer.err == 0) else { return };
    if path == "/q" || path == "/e" {
        let mut reader = jute::Reader::new(&answer.body);
        let count = reader.i32().unwrap_or(0);
        let names = (0..count).map_while(|_| reader.text().ok());
        *seen = names.map(|name| format!("{path}/{name}")).take(20).collect();
    }
}
