//! Clients that write, read, watch, hold ephemeral nodes, leave with and without a word, come back elsewhere and close,
//! and an operator who changes the members. What they do is drawn from a seed; what they see goes into the history.
//! What they ask for lies in rooms: `plain` is for all, each of the others a feature that a run may have.

mod access;
mod batches;
mod bulky;
mod features;
mod kept;
mod mortals;
mod operator;
mod plain;
mod rarities;
mod squeeze;
mod visitor;
mod watches;
mod wishes;

pub use access::PEOPLE;
pub use features::Features;
pub use kept::Watches;
pub use operator::SUPER;
pub use squeeze::Squeeze;
pub use wishes::Wishes;

use council_wire::WatchMode;

use crate::ensemble::Ensemble;
use crate::history::{Ask, History};
use crate::random::Random;
use operator::Operator;
use visitor::Visitor;

/// Requests that a client has under way at most.
pub(crate) const OUTSTANDING_MAX: usize = 8;
/// A client that is patient does not leave while it has waited longer than this, milliseconds.
const PATIENCE_MS: u64 = 500;

/// How much the clients do.
#[derive(Clone, Copy, Debug)]
pub struct Appetite {
    /// How many clients there are.
    pub clients: usize,
    /// How often, of a hundred moments, one of them asks for something.
    pub asks: u64,
    /// How often, of a thousand moments, the operator wants other members.
    pub changes: u64,
    /// Whether clients wait for an answer as long as their connection stands: what is lost for good is waited for until
    /// the end.
    pub patient: bool,
    /// What the clients make use of.
    pub features: Features,
}

impl Appetite {
    /// Light load, and nobody who changes the members.
    pub const LIGHT: Self =
        Self { clients: 4, asks: 10, changes: 0, patient: false, features: Features::NONE };

    /// A draw, of no features.
    pub fn draw(random: &mut Random) -> Self {
        let clients = 3 + random.below(4) as usize;
        let asks = [3, 10, 25][random.below(3) as usize];
        let changes = if random.chance(50) { 1 + random.below(8) } else { 0 };
        Self { clients, asks, changes, patient: false, features: Features::NONE }
    }
}

/// Who asks, and for the how manieth time anybody does.
struct Scene {
    name: usize,
    number: u64,
    clients: u64,
    reads_only: bool,
}

impl Scene {
    /// The asker's own node.
    fn own(&self) -> String {
        format!("/w{}", self.name)
    }

    /// Data that nobody else writes.
    fn data(&self) -> Vec<u8> {
        format!("{} {}", self.name, self.number).into_bytes()
    }
}

/// All clients of an ensemble.
pub struct Load {
    random: Random,
    /// Decides what concerns features, so that runs without any are not disturbed.
    apart: Random,
    appetite: Appetite,
    /// How many clients only read. Nothing of a connection is answered behind a write that is not: it does not show what
    /// a member that is cut off still answers.
    readers: usize,
    visitors: Vec<Visitor>,
    operator: Operator,
    /// Comes with other people's sessions.
    intruder: Visitor,
    /// A second connection of somebody who does not wait for the first.
    twin: Visitor,
    /// Says that it has seen more than its member can have.
    prophet: Visitor,
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
        // Drawn apart: where nobody only reads and there are no features, all else is as it always was.
        let mut apart = random.clone().fork();
        let readers = apart.below(3) as usize;
        let mut visitor = |name| Visitor::new(name, 3_000 + random.below(6_000) as i32);
        let mut visitors: Vec<_> = (0..appetite.clients).map(&mut visitor).collect();
        if appetite.features.numbers {
            // Shortly before the last number there is, or before those that are reserved.
            let firsts = [i32::MAX - 10, i32::MAX - 100, -30];
            visitors.iter_mut().for_each(|visitor| visitor.number_from(firsts[apart.below(3) as usize]));
        }
        Self {
            operator: Operator::new(appetite.clients, founders, appetite.changes),
            intruder: Visitor::new(appetite.clients + 1, 4_000),
            twin: Visitor::new(appetite.clients + 2, 4_000),
            prophet: Visitor::new(appetite.clients + 3, 4_000),
            away_until_ms: vec![0; appetite.clients],
            seen: vec![Vec::new(); appetite.clients],
            visitors,
            appetite,
            readers,
            random,
            apart,
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
            if self.appetite.features.sleepers && self.apart.below(250) == 0 {
                self.fall_asleep(place, ensemble, history);
            }
        }
        self.operator.moment(ensemble, history, &mut self.random);
        if self.random.below(300) == 0 {
            self.intrude(ensemble, history);
        }
        if self.apart.below(300) == 0 {
            self.foretell(ensemble, history);
        }
    }

    /// Everybody waits for what is still to come, and asks for nothing.
    pub fn wait(&mut self, ensemble: &mut Ensemble, history: &mut History) {
        self.away_until_ms.fill(0);
        self.twin.part(ensemble, history, true);
        self.prophet.part(ensemble, history, true);
        self.visitors.iter_mut().for_each(Visitor::wake_up);
        self.hear(ensemble, history);
        self.operator.finish(ensemble, history);
    }

    /// Each client writes and reads once more.
    pub fn serve(&mut self, ensemble: &mut Ensemble, history: &mut History) {
        for visitor in &mut self.visitors {
            let path = format!("/w{}", visitor.name);
            self.numbers += 1;
            let data = format!("last {}", self.numbers).into_bytes();
            visitor.ask(ensemble, history, Ask::plain(&path));
            visitor.ask(ensemble, history, Ask::Set { path: path.clone(), data, version: -1 });
            visitor.ask(ensemble, history, Ask::Sync { path: path.clone() });
            visitor.ask(ensemble, history, Ask::Get { path, watch: false });
        }
    }

    /// All connections break, and what was on its way over them is lost.
    pub fn part_all(&mut self, ensemble: &mut Ensemble, history: &mut History) {
        let others = [&mut self.operator.visitor, &mut self.intruder, &mut self.twin, &mut self.prophet];
        for visitor in self.visitors.iter_mut().chain(others) {
            visitor.part(ensemble, history, false);
        }
    }

    /// How many clients have seen something behind that transaction.
    #[must_use]
    pub fn ahead_of(&self, zxid: i64) -> usize {
        self.visitors.iter().filter(|visitor| visitor.seen_zxid() > zxid).count()
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
            if visitor.sleeps(now_ms) {
                continue;
            }
            if !visitor.is_there() && !running.is_empty() && now_ms >= away_until_ms {
                let member = running[self.random.below(running.len() as u64) as usize];
                visitor.open(ensemble, history, member);
                if self.appetite.features.twins && visitor.session().0 != 0 && self.apart.chance(20) {
                    let other = running[self.apart.below(running.len() as u64) as usize];
                    self.twin.part(ensemble, history, true);
                    self.twin.resemble(visitor);
                    self.twin.open(ensemble, history, other);
                    ensemble.count("two servers at once", 1);
                }
            }
            visitor.ping(ensemble, history);
            // A client that hears nothing for long tries another server.
            let waits = !visitor.is_served() || (visitor.outstanding() > 0 && !self.appetite.patient);
            if waits && visitor.is_there() && now_ms >= visitor.heard_ms() + visitor.timeout_ms() * 2 / 3 {
                visitor.give_up(ensemble, history);
            }
        }
        self.intruder.hear(ensemble, history);
        self.twin.hear(ensemble, history);
        self.prophet.hear(ensemble, history);
    }

    /// A client leaves, for a while or for good.
    fn wander(&mut self, place: usize, ensemble: &mut Ensemble, history: &mut History) {
        let says_so = self.random.chance(60);
        let visitor = &mut self.visitors[place];
        let waits_long = visitor.outstanding() > 0 && ensemble.now_ms() > visitor.heard_ms() + PATIENCE_MS;
        if !visitor.is_there() || (self.appetite.patient && waits_long) {
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
        if self.apart.chance(20) {
            visitor.wants_timeout(3_000 + self.apart.below(6_000) as i32);
        }
        match self.random.below(10) {
            // Its session is left to expire.
            0 | 1 => visitor.forget(),
            2 | 3 => {
                let away = self.random.below(2 * visitor.timeout_ms());
                self.away_until_ms[place] = ensemble.now_ms() + away;
            }
            _ if self.appetite.features.numbers && self.apart.chance(30) => visitor.forget_seen(),
            _ => {}
        }
    }

    /// A client watches everything, and then reads nothing for a while.
    fn fall_asleep(&mut self, place: usize, ensemble: &mut Ensemble, history: &mut History) {
        let long_ms = self.apart.below(12_000);
        let visitor = &mut self.visitors[place];
        // Whatever it waits for could be long; then nobody could say how much may be kept for it.
        if visitor.is_served() && visitor.outstanding() == 0 {
            let everything = Ask::AddWatch { path: "/".into(), mode: WatchMode::PersistentRecursive };
            visitor.ask(ensemble, history, everything);
            visitor.sleep(ensemble, long_ms);
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
            ensemble.count("wrong password tried", 1);
        }
    }

    /// Somebody says that it has seen the transaction behind the last that a member has applied.
    fn foretell(&mut self, ensemble: &mut Ensemble, history: &mut History) {
        let running = ensemble.running();
        let Some(member) = running.get(self.apart.below(running.len() as u64) as usize).copied() else {
            return;
        };
        self.prophet.part(ensemble, history, true);
        if self.apart.chance(50) {
            self.prophet.forget();
        }
        let next = ensemble.node(member).map_or(0, |node| node.tree().last_zxid().0 + 1);
        self.prophet.has_seen(next);
        self.prophet.open(ensemble, history, member);
        ensemble.count("client ahead of its server", 1);
    }

    fn ask(&mut self, place: usize, ensemble: &mut Ensemble, history: &mut History) {
        let visitor = &mut self.visitors[place];
        let sleeps = visitor.sleeps(ensemble.now_ms());
        if !visitor.is_served() || visitor.outstanding() >= OUTSTANDING_MAX || sleeps {
            return;
        }
        self.numbers += 1;
        let clients = self.appetite.clients as u64;
        let reads_only = place < self.readers;
        let scene = Scene { name: visitor.name, number: self.numbers, clients, reads_only };
        let features = if reads_only { Features::NONE } else { self.appetite.features };
        let asks = match features.ask(&mut self.apart, &scene) {
            Some(asks) => asks,
            None => plain::draw(&mut self.random, &scene, &mut self.seen[place]),
        };
        for ask in asks {
            match ask {
                Ask::Auth { credentials } => visitor.show(ensemble, history, credentials),
                ask => drop(visitor.ask(ensemble, history, ask)),
            }
        }
    }
}

/// Whoever has listed the queue or its own nodes knows what to delete.
fn note(seen: &mut [Vec<String>], client: usize, call: usize, history: &History) {
    let call = &history.calls[call];
    let Some(seen) = seen.get_mut(client) else { return };
    let Some(answer) = call.answer.as_ref().filter(|answer| answer.err == 0) else { return };
    if let Some(names) = names(&call.ask, &answer.body) {
        *seen = names;
    }
}

/// Some of what a good answer names, if it was the queue or the ephemeral nodes that were listed.
fn names(ask: &Ask, body: &[u8]) -> Option<Vec<String>> {
    let Ask::Children { path, .. } = ask else { return None };
    if path != "/q" && path != "/e" {
        return None;
    }
    let mut reader = council_wire::Reader::new(body);
    let count = reader.i32().unwrap_or(0);
    let names = (0..count).map_while(|_| reader.text().ok());
    Some(names.map(|name| format!("{path}/{name}")).take(20).collect())
}
