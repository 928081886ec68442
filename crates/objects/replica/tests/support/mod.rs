//! Three members in one process, over simulated time: disks that keep everything at once, a network that may lose, repeat
//! and delay messages, processes that die, stand still and start again.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(unreachable_pub, reason = "shared by test files")]

mod disk;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::{LogIndex, Now, Random};
use consensus_replica::{JournalRequest, MemberId, PeerMessage};
use objects_replica::edge::{Answer, Consistency, Happening, Question, Request, SessionProof, origin};
use objects_replica::{Core, CoreConfig, ObjectsMessage};
use objects_state::guest::{Engine, NoEngine};
use objects_state::{
    Call, Caller, Command, Identity, Invocation, Loader, NewSession, ObjectName, Origin, Outcome, Principal,
    Ranges, SessionId, Slug, State, type_named,
};

use self::disk::Disk;

/// How often time is told to members, milliseconds.
const TICK_MS: u64 = 10;
/// How often an edge says of whom it has heard, milliseconds.
const HEARD_MS: u64 = 150;
/// When tests begin, on the wall clock.
pub const START_MS: i64 = 1_700_000_000_000;

pub struct Member {
    pub core: Core,
    pub state: State,
    /// Answers that were taken out of its mailbox, by request.
    pub done: BTreeMap<u64, (u64, Outcome)>,
    pub parked: BTreeMap<u64, u64>,
    /// Sessions that requests keep which wait here over an open connection.
    pub keeps: BTreeMap<u64, SessionId>,
    pub events: Vec<(u64, Happening)>,
    pub lost_events: usize,
    pub watching: BTreeSet<u64>,
    /// Backups that were given, by request: what they cover.
    pub backups: BTreeMap<u64, LogIndex>,
    /// Whether its edge says at once of whom it has heard when it is asked.
    pub edge_answers: bool,
}

/// What the network does to a message between members, in a thousand.
#[derive(Clone, Copy, Default)]
pub struct Faults {
    pub lost: u64,
    pub repeated: u64,
    pub delayed: u64,
}

struct Sent {
    at_ms: u64,
    from: u64,
    to: u64,
    bytes: Vec<u8>,
}

pub struct World {
    pub members: BTreeMap<u64, Member>,
    disks: BTreeMap<u64, Disk>,
    pub now_ms: u64,
    /// How far a member's wall clock is from the others'.
    pub clock_offset_ms: BTreeMap<u64, i64>,
    /// Members that stand still.
    pub paused: BTreeSet<u64>,
    /// Members that nobody hears.
    pub away: BTreeSet<u64>,
    /// Who asks.
    pub principal: Principal,
    /// By the token of this hash, if by one.
    pub token: Option<[u8; 32]>,
    pub faults: Faults,
    sent: Vec<Sent>,
    random: Random,
    next_request: u64,
    starts: u64,
    pub change_config: fn(&mut CoreConfig),
    engine: fn(u64) -> Arc<dyn Engine>,
}

pub fn object(path: &str) -> ObjectName {
    let (kind, name) = path.split_once('/').expect("a path is a type and a name");
    ObjectName { kind: type_named(kind).expect("a known type"), name: name.into() }
}

pub fn session(number: u8) -> SessionId {
    SessionId([number; 16])
}

pub fn proof(number: u8) -> SessionProof {
    SessionProof { session: session(number), secret_hash: [number; 32] }
}

pub fn shown(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Done(result) => result.clone(),
        Outcome::Refused(problem) => format!("refused {}", problem.slug.name()),
    }
}

/// A request of a session, of which nothing is acknowledged.
pub fn by(number: u8, request: u64) -> Identity {
    Identity::Session { session: session(number), request, acknowledged: 0, above: Ranges::new() }
}

pub fn key(key: &str) -> Identity {
    Identity::Key(key.into())
}

impl World {
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    /// A group whose objects of users' types are run by engines, one for each process.
    pub fn with_engines(engine: fn(u64) -> Arc<dyn Engine>) -> Self {
        Self::started(|_| {}, engine)
    }

    /// The same in a group that has reached this level and no higher one.
    pub fn with_engines_at(engine: fn(u64) -> Arc<dyn Engine>, change_config: fn(&mut CoreConfig)) -> Self {
        Self::started(change_config, engine)
    }

    /// A group of three that serves.
    pub fn with(change_config: fn(&mut CoreConfig)) -> Self {
        Self::started(change_config, |_| Arc::new(NoEngine))
    }

    fn started(change_config: fn(&mut CoreConfig), engine: fn(u64) -> Arc<dyn Engine>) -> Self {
        let mut world = Self {
            members: BTreeMap::new(),
            disks: (1..=3).map(|id| (id, Disk::new())).collect(),
            now_ms: 100_000,
            clock_offset_ms: BTreeMap::new(),
            paused: BTreeSet::new(),
            away: BTreeSet::new(),
            principal: "ada".into(),
            token: None,
            faults: Faults::default(),
            sent: Vec::new(),
            random: Random::new(7),
            next_request: 0,
            starts: 0,
            change_config,
            engine,
        };
        (1..=3).for_each(|id| world.start(id));
        world.pass(3_000);
        assert!(world.members.values().all(|member| member.core.is_serving()));
        world
    }

    /// What the network does from now on is drawn from this seed.
    pub fn set_seed(&mut self, seed: u64) {
        self.random = Random::new(seed);
    }

    pub fn now(&self, id: u64) -> Now {
        let offset = self.clock_offset_ms.get(&id).copied().unwrap_or(0);
        Now::of_ms(self.now_ms, START_MS + self.now_ms as i64 + offset)
    }

    /// A member's process begins, with what its disk holds.
    pub fn start(&mut self, id: u64) {
        let now = self.now(id);
        self.starts += 1;
        let mut config = CoreConfig::new(MemberId(id), 1);
        (self.change_config)(&mut config);
        let disk = self.disks.get_mut(&id).expect("a member");
        let (seat, state) = disk.seat((self.engine)(id));
        let mut seed = [id as u8; 32];
        seed[0] = self.starts as u8;
        let core = Core::new(&config, &seat, &state, None, seed, now);
        let member = Member {
            core,
            state,
            done: BTreeMap::new(),
            parked: BTreeMap::new(),
            keeps: BTreeMap::new(),
            events: Vec::new(),
            lost_events: 0,
            watching: BTreeSet::new(),
            backups: BTreeMap::new(),
            edge_answers: true,
        };
        self.members.insert(id, member);
        self.link(id, true);
    }

    /// A member's process dies; what was sent to it is lost.
    pub fn kill(&mut self, id: u64) {
        self.members.remove(&id);
        self.sent.retain(|sent| sent.to != id);
        self.link(id, false);
    }

    /// A member is cut off, or comes back. The others notice.
    pub fn set_away(&mut self, id: u64, away: bool) {
        if away {
            self.away.insert(id);
        } else {
            self.away.remove(&id);
        }
        self.link(id, !away);
    }

    fn link(&mut self, id: u64, up: bool) {
        for other in (1..=3).filter(|other| *other != id) {
            let up = up && !self.away.contains(&other) && !self.away.contains(&id);
            for (at, peer) in [(id, other), (other, id)] {
                let now = self.now(at);
                let is_there = self.members.contains_key(&peer);
                if let Some(member) = self.members.get_mut(&at) {
                    member.core.link(MemberId(peer), up && is_there, now);
                }
            }
        }
    }

    pub fn pass(&mut self, ms: u64) {
        self.pass_until(ms, |_| false);
    }

    /// Time passes, and ends early behind the turn after which this holds. Says whether it did.
    pub fn pass_until(&mut self, ms: u64, holds: impl Fn(&Self) -> bool) -> bool {
        for _ in 0..ms / TICK_MS {
            self.now_ms += TICK_MS;
            for id in self.running() {
                let now = self.now(id);
                let member = self.members.get_mut(&id).expect("it runs");
                member.core.tick(now, &member.state);
                if self.now_ms.is_multiple_of(HEARD_MS) {
                    member.tell_heard(None, now);
                }
            }
            for _ in 0..4 {
                self.turn();
                if holds(self) {
                    return true;
                }
            }
        }
        false
    }

    fn running(&self) -> Vec<u64> {
        self.members.keys().copied().filter(|id| !self.paused.contains(id)).collect()
    }

    /// One turn of each member, in which no time passes; then what was sent arrives.
    pub fn turn(&mut self) {
        for id in self.running() {
            let now = self.now(id);
            let disk = self.disks.get_mut(&id).expect("a member");
            let member = self.members.get_mut(&id).expect("it runs");
            member.turn(disk, now);
            for (to, message) in member.core.take_outgoing() {
                self.send(id, to.0, &message);
            }
        }
        self.deliver();
    }

    fn send(&mut self, from: u64, to: u64, message: &PeerMessage<ObjectsMessage>) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        let Faults { lost, repeated, delayed } = self.faults;
        let chance = |random: &mut Random, of| random.below(1_000) < of;
        let copies = 1 + u64::from(chance(&mut self.random, repeated)) * 2;
        for _ in 0..copies {
            if chance(&mut self.random, lost) {
                continue;
            }
            let delay = if chance(&mut self.random, delayed) { self.random.below(400) } else { 0 };
            self.sent.push(Sent { at_ms: self.now_ms + delay, from, to, bytes: bytes.clone() });
        }
    }

    fn deliver(&mut self) {
        let (due, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.sent)
            .into_iter()
            .partition(|sent| sent.at_ms <= self.now_ms && !self.paused.contains(&sent.to));
        self.sent = later;
        for Sent { from, to, bytes, .. } in due {
            let is_cut = self.away.contains(&from) || self.away.contains(&to);
            let now = self.now(to);
            if let Some(member) = self.members.get_mut(&to).filter(|_| !is_cut) {
                let message = PeerMessage::decode(bytes.into()).expect("it was encoded");
                member.core.peer(MemberId(from), message, now).expect("no fault");
            }
        }
    }

    /// The member that leads.
    pub fn leader(&self) -> u64 {
        self.find_leader().expect("one leads")
    }

    pub fn find_leader(&self) -> Option<u64> {
        let leads = |(id, member): (&u64, &Member)| {
            (member.core.is_serving() && !self.away.contains(id) && !self.paused.contains(id))
                .then(|| Some((member.core.leads_in()?, *id)))
                .flatten()
        };
        self.members.iter().filter_map(leads).max().map(|(_, id)| id)
    }

    /// A member that does not lead.
    pub fn follower(&self) -> u64 {
        self.leader() % 3 + 1
    }

    /// Gives a member a request under a new number.
    pub fn ask(&mut self, id: u64, request: impl FnOnce(Origin) -> Request) -> u64 {
        self.next_request += 1;
        let number = self.next_request;
        let mut request = request(origin(id, 0, number));
        if let Some(hash) = self.token {
            request = Request::ByToken { hash, request: Box::new(request) };
        }
        self.tell(id, request);
        number
    }

    pub fn tell(&mut self, id: u64, request: Request) {
        let now = self.now(id);
        let member = self.members.get_mut(&id).expect("it runs");
        member.core.receive(request, &member.state, now);
    }

    pub fn command(&mut self, id: u64, command: impl FnOnce(Caller) -> Command, identity: Identity) -> u64 {
        let secret_hash = match identity {
            Identity::Session { session, .. } => Some([session.0[0]; 32]),
            _ => None,
        };
        let principal = self.principal.clone();
        self.ask(id, |origin| {
            let caller = Caller { origin, principal, identity };
            Request::Command { command: command(caller), secret_hash }
        })
    }

    pub fn call(&mut self, id: u64, path: &str, method: &str, args: &str, identity: Identity) -> u64 {
        let invocation = Invocation { method: method.into(), args: args.into() };
        let object = object(path);
        let call = |caller| {
            let (incarnation, wait_ms, opens) = (None, None, None);
            Command::Call(Call { caller, object, incarnation, create: true, wait_ms, opens, invocation })
        };
        self.command(id, call, identity)
    }

    pub fn query(&mut self, id: u64, path: &str, method: &str, consistency: Consistency) -> u64 {
        self.query_at(id, path, method, consistency, None)
    }

    pub fn query_at(
        &mut self,
        id: u64,
        path: &str,
        method: &str,
        consistency: Consistency,
        min_position: Option<u64>,
    ) -> u64 {
        let (object, method) = (object(path), String::from(method).into());
        let question = Question::Method { object, incarnation: None, create: true, method, args: Vec::new() };
        let principal = self.principal.clone();
        self.ask(id, |origin| Request::Query {
            origin,
            principal,
            question,
            consistency,
            min_position,
            proof: None,
        })
    }

    /// Asks a member something else than a method, linearizable.
    pub fn question(&mut self, id: u64, question: Question) -> u64 {
        let (principal, consistency) = (self.principal.clone(), Consistency::Linearizable);
        let (min_position, proof) = (None, None);
        self.ask(id, |origin| Request::Query {
            origin,
            principal,
            question,
            consistency,
            min_position,
            proof,
        })
    }

    /// Opens a session at a member, and waits for it.
    pub fn open(&mut self, id: u64, number: u8, ttl_ms: i64) {
        let session =
            NewSession { id: session(number), secret_hash: [number; 32], generation: 1, ttl_ms, name: None };
        let asked = self.command(id, |caller| Command::OpenSession { caller, session }, Identity::Anonymous);
        assert!(self.wait(id, asked).starts_with("{\"session\""));
    }

    pub fn renew(&mut self, id: u64, number: u8) -> u64 {
        self.ask(id, |origin| Request::Renew { origin, principal: "ada".into(), proof: proof(number) })
    }

    /// The connection of a request is gone.
    pub fn hang_up(&mut self, id: u64, number: u64) {
        self.member(id).keeps.remove(&number);
        self.tell(id, Request::Gone { origin: origin(id, 0, number) });
    }

    /// How a request was answered, if it was.
    pub fn answer(&self, id: u64, number: u64) -> Option<String> {
        self.members.get(&id)?.done.get(&number).map(|(_, outcome)| shown(outcome))
    }

    pub fn position(&self, id: u64, number: u64) -> u64 {
        self.members[&id].done[&number].0
    }

    pub fn slug(&self, id: u64, number: u64) -> Option<Slug> {
        match self.members.get(&id)?.done.get(&number)? {
            (_, Outcome::Refused(problem)) => Some(problem.slug),
            (_, Outcome::Done(_)) => None,
        }
    }

    /// Waits for an answer.
    pub fn wait(&mut self, id: u64, number: u64) -> String {
        self.pass_until(10_000, |world| world.answer(id, number).is_some());
        self.answer(id, number).unwrap_or_else(|| panic!("request {number} of {id} is not answered"))
    }

    /// Waits until a request waits, and gives its ticket.
    pub fn ticket(&mut self, id: u64, number: u64) -> u64 {
        self.pass_until(10_000, |world| world.members[&id].parked.contains_key(&number));
        assert_eq!(self.answer(id, number), None);
        self.members[&id].parked[&number]
    }

    /// All members have applied the same, and nothing is left to do.
    pub fn check_equal(&mut self) {
        self.pass(1_000);
        let states: BTreeSet<_> =
            self.members.values().map(|member| (member.state.position(), member.state.digest())).collect();
        assert_eq!(states.len(), 1, "{states:?}");
        for member in self.members.values() {
            member.state.check().expect("the records fit together");
            assert_eq!(
                member.core.status().commands_waiting,
                0,
                "{:?} {:?}",
                member.core.status(),
                member.state.last_of(2)
            );
        }
    }

    /// What a counter says at a member, after all is applied.
    pub fn counted(&self, id: u64, path: &str) -> i64 {
        let result = self.members[&id].state.query(&object(path), None, true, "get", b"").expect("a counter");
        let digits: String =
            result.chars().skip_while(|c| *c != ':').skip(1).take_while(|c| *c != ',' && *c != '}').collect();
        digits.parse().expect("a number")
    }

    /// Waits until a request is given a backup: what that covers, and the state in it.
    pub fn backup(&mut self, id: u64, number: u64) -> (LogIndex, State) {
        self.pass_until(10_000, |world| world.members[&id].backups.contains_key(&number));
        assert_eq!(self.answer(id, number), None);
        let (index, bytes) = self.disks[&id].newest_snapshot().expect("a snapshot");
        assert_eq!(self.members[&id].backups.get(&number), Some(&index));
        let mut loader = Loader::new();
        loader.chunk(bytes).expect("a snapshot");
        (index, loader.finish().expect("a whole snapshot"))
    }

    /// A member's disk refuses snapshots, or takes them again.
    pub fn refuse_snapshots(&mut self, id: u64, refuses: bool) {
        self.disks.get_mut(&id).expect("a member").refuses_snapshots = refuses;
    }

    pub fn request_snapshot(&mut self, id: u64) {
        self.members.get_mut(&id).expect("it runs").core.request_snapshot();
    }

    pub fn member(&mut self, id: u64) -> &mut Member {
        self.members.get_mut(&id).expect("it runs")
    }
}

impl Member {
    fn turn(&mut self, disk: &mut Disk, now: Now) {
        self.core.advance(now);
        for request in self.core.take_requests() {
            self.write(request, disk, now);
        }
        self.core.advance(now);
        while self.core.has_work(self.state.snapshot_side_bytes()) {
            self.core.apply(&mut self.state, now).expect("no fault");
        }
        self.read_mail(now);
    }

    fn write(&mut self, request: JournalRequest, disk: &mut Disk, now: Now) {
        if let Some(event) = disk.take(request) {
            self.core.journal(event, now).expect("no fault");
        }
    }

    /// Its edge says of whom it has heard.
    fn tell_heard(&mut self, round: Option<u64>, now: Now) {
        let sessions: Vec<_> = self.keeps.values().map(|session| (*session, now.mono())).collect();
        if round.is_some() || !sessions.is_empty() {
            self.core.receive(Request::Heard { edge: 0, round, sessions }, &self.state, now);
        }
    }

    fn read_mail(&mut self, now: Now) {
        for answer in std::mem::take(self.core.answers(0)) {
            match answer {
                Answer::Done { origin, position, outcome } => {
                    let before = self.done.insert(origin.number, (position, outcome));
                    self.keeps.remove(&origin.number);
                    assert_eq!(before, None, "a request is answered once");
                }
                Answer::Parked { origin, ticket, keeps } => {
                    assert!(!self.done.contains_key(&origin.number));
                    self.keeps.extend(keeps.map(|session| (origin.number, session)));
                    self.parked.insert(origin.number, ticket);
                }
                Answer::Watching { origin, .. } => {
                    assert!(self.watching.insert(origin.number));
                }
                Answer::Backup { origin, index } => {
                    assert!(!self.done.contains_key(&origin.number));
                    assert_eq!(self.backups.insert(origin.number, index), None, "it is given once");
                }
                Answer::Event { origin, what, .. } => self.events.push((origin.number, what)),
                Answer::EventsLost { .. } => self.lost_events += 1,
                Answer::WhoWasHeard { round } => {
                    if self.edge_answers {
                        self.tell_heard(Some(round), now);
                    }
                }
            }
        }
    }
}
