//! A group without a log: commands are applied one after the other, through their encoded form, and after each of them
//! the records of the state must fit together.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(unreachable_pub, reason = "shared by test files")]

pub mod engine;
pub mod users;

use std::collections::BTreeMap;

use base::WallTime;
use objects_state::{
    Batch, Call, Caller, Command, Effect, Effects, Identity, Invocation, Loader, NewSession, ObjectName,
    Origin, Outcome, Principal, Ranges, SessionId, SnapshotProgress, State, TicketEnd, type_named,
};

/// Who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Nobody in particular.
    Anyone,
    /// A session, by number.
    S(u8),
    /// Somebody with a key.
    K(&'static str),
}

pub use Who::{Anyone, K, S};

/// A state with a clock.
pub struct World {
    pub state: State,
    pub now: i64,
    pub origins: u64,
    requests: BTreeMap<u8, u64>,
    /// Who calls.
    pub principal: Principal,
    /// What the last command did.
    pub effects: Effects,
}

pub fn session(number: u8) -> SessionId {
    SessionId([number; 16])
}

pub fn object(path: &str) -> ObjectName {
    let (kind, name) = path.split_once('/').expect("a path is a type and a name");
    ObjectName { kind: type_named(kind).expect("a known type"), name: name.into() }
}

pub fn shown(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Done(result) => result.clone(),
        Outcome::Refused(problem) => format!("refused {}", problem.slug.name()),
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

impl World {
    pub fn new() -> Self {
        let (state, requests, effects) = (State::new(), BTreeMap::new(), Vec::new());
        Self { state, now: 1_000_000, origins: 0, requests, principal: "ann".into(), effects }
    }

    /// One in which the first sessions are open.
    pub fn with_sessions(count: u8) -> Self {
        let mut world = Self::new();
        (1..=count).for_each(|number| world.open(number, 1));
        world
    }

    pub fn apply(&mut self, command: &Command) -> Effects {
        let mut bytes = Vec::new();
        command.encode(&mut bytes);
        assert_eq!(Command::decode(&bytes).as_ref(), Ok(command));
        let mut effects = Vec::new();
        self.state
            .apply_encoded(WallTime::of_ms(self.now), &bytes, &mut effects)
            .expect("it was just encoded");
        assert_eq!(self.state.check(), Ok(()), "after {command:?}");
        self.effects.clone_from(&effects);
        effects
    }

    pub fn caller(&mut self, who: Who) -> Caller {
        self.origins += 1;
        let identity = match who {
            Anyone => Identity::Anonymous,
            S(number) => {
                let request = self.requests.entry(number).or_insert(0);
                *request += 1;
                let (acknowledged, above) = (*request - 1, Ranges::new());
                Identity::Session { session: session(number), request: *request, acknowledged, above }
            }
            K(key) => Identity::Key(key.into()),
        };
        Caller {
            origin: Origin { member: 1, number: self.origins },
            principal: self.principal.clone(),
            identity,
        }
    }

    pub fn new_call(&mut self, who: Who, path: &str, method: &str, args: &str) -> Call {
        Call {
            caller: self.caller(who),
            object: object(path),
            incarnation: None,
            create: true,
            wait_ms: None,
            opens: None,
            invocation: Invocation { method: method.into(), args: args.into() },
        }
    }

    /// Applies a command of the newest origin, and shows its answer: a result, a refusal, or the ticket.
    pub fn answer(&mut self, command: &Command) -> String {
        let (effects, number) = (self.apply(command), self.origins);
        let answers = effects.iter().filter_map(|effect| match effect {
            Effect::Answered { origin, outcome } if origin.number == number => Some(shown(outcome)),
            Effect::Parked { origin, ticket } if origin.number == number => Some(format!("waits {ticket}")),
            _ => None,
        });
        let answers: Vec<_> = answers.collect();
        assert_eq!(answers.len(), 1, "{effects:?}");
        answers[0].clone()
    }

    pub fn call(&mut self, who: Who, path: &str, method: &str, args: &str) -> String {
        let call = self.new_call(who, path, method, args);
        self.answer(&Command::Call(call))
    }

    pub fn batch(&mut self, who: Who, path: &str, calls: &[(&str, &str)]) -> String {
        let invocation =
            |(method, args): &(&str, &str)| Invocation { method: (*method).into(), args: (*args).into() };
        let invocations = calls.iter().map(invocation).collect();
        let (caller, object) = (self.caller(who), object(path));
        self.answer(&Command::Batch(Batch { caller, object, incarnation: None, create: true, invocations }))
    }

    pub fn create(&mut self, path: &str, args: &str) -> String {
        let command =
            Command::Create { caller: self.caller(Anyone), object: object(path), args: args.into() };
        self.answer(&command)
    }

    pub fn delete(&mut self, path: &str) -> String {
        let command =
            Command::Delete { caller: self.caller(Anyone), object: object(path), incarnation: None };
        self.answer(&command)
    }

    pub fn open(&mut self, number: u8, generation: u32) {
        let new = NewSession {
            id: session(number),
            secret_hash: [number; 32],
            generation,
            ttl_ms: 10_000,
            name: None,
        };
        let command = Command::OpenSession { caller: self.caller(Anyone), session: new };
        assert!(self.answer(&command).starts_with("{\"session\""));
    }

    pub fn close(&mut self, number: u8) {
        let command = Command::CloseSession { caller: self.caller(Anyone), session: session(number) };
        assert_eq!(self.answer(&command), "{\"closed\":true}");
    }

    pub fn expire(&mut self, number: u8) {
        self.apply(&Command::ExpireSession { session: session(number), generation: 1 });
    }

    pub fn cancel(&mut self, ticket: u64) -> String {
        let command = Command::CancelTicket { caller: Some(self.caller(Anyone)), ticket };
        self.answer(&command)
    }

    /// Lets time pass, and ticks once.
    pub fn pass(&mut self, ms: i64) {
        self.now += ms;
        self.apply(&Command::Tick);
    }

    pub fn query(&self, path: &str, method: &str, args: &str) -> String {
        match self.state.query(&object(path), None, true, method, args.as_bytes()) {
            Ok(result) => result,
            Err(problem) => format!("refused {}", problem.slug.name()),
        }
    }

    /// How tickets ended by the last command, in order.
    pub fn ends(&self) -> Vec<String> {
        let end = |effect: &Effect| match effect {
            Effect::TicketEnded { ticket, end, outcome } => {
                let how = match end {
                    TicketEnd::Granted => "granted",
                    TicketEnd::TimedOut => "timed out",
                    TicketEnd::Cancelled => "cancelled",
                    TicketEnd::Ended => "ended",
                };
                Some(format!("{ticket} {how} {}", shown(outcome)))
            }
            _ => None,
        };
        self.effects.iter().filter_map(end).collect()
    }

    /// The tickets that the last command ended, in order.
    pub fn ended(&self) -> Vec<u64> {
        let ticket = |effect: &Effect| match effect {
            Effect::TicketEnded { ticket, .. } => Some(*ticket),
            _ => None,
        };
        self.effects.iter().filter_map(ticket).collect()
    }

    pub fn position(&self) -> u64 {
        self.state.position()
    }
}

/// A whole snapshot, in chunks of so many bytes.
pub fn snapshot(state: &mut State, bytes: usize) -> (Vec<u8>, u64) {
    state.snapshot_begin();
    let mut out = Vec::new();
    loop {
        if let SnapshotProgress::Done { digest } = state.snapshot_chunk(&mut out, bytes) {
            return (out, digest);
        }
    }
}

pub fn load(bytes: &[u8], chunk: usize) -> Result<State, objects_state::Malformed> {
    let mut loader = Loader::new();
    for piece in bytes.chunks(chunk.max(1)) {
        loader.chunk(piece)?;
    }
    loader.finish()
}
