//! What clients, and those who look after types and objects, ask of types of users, as commands of the log.

use base::Random;
use objects_state::{
    Batch, Call, Caller, Command, Content, Identity, Invocation, NewSession, ObjectName, Origin, Ranges,
    SessionId, State,
};
use serde_json::json;

use super::bytes::{self, YIELD};
use super::{GuestType, REJECTED, RUNNABLE, deadly, module};
use crate::outcome::parsed;

/// Types that run nothing beside the commands: nobody says here that such a run has ended.
pub(super) const PROMPT: [GuestType; 2] = [GuestType::Tally, GuestType::Gate];
/// Objects of a type.
const NAMES: [&str; 4] = ["g0", "g0", "g1", "i0"];
/// Commands that may come again.
const SENT_MAX: usize = 30;
/// Replies that a session has not acknowledged, at the most.
const UNACKNOWLEDGED: u64 = 20;

/// See the module.
pub(super) struct Crowd {
    origins: u64,
    keys: u64,
    /// The session of the day, and its last request.
    session: Option<(SessionId, u64)>,
    sessions: u64,
    sent: Vec<Command>,
}

impl Crowd {
    pub(super) const fn new() -> Self {
        Self { origins: 0, keys: 0, session: None, sessions: 0, sent: Vec::new() }
    }

    /// What somebody asks for next; a module comes in two commands.
    pub(super) fn next(&mut self, random: &mut Random, state: &State) -> Vec<Command> {
        let of = PROMPT[random.below(2) as usize];
        let next = match random.below(100) {
            0..4 => return self.bring(random, of),
            4..8 => self.session(random),
            8..14 => self.tick_or_cancel(random, state),
            14..24 => self.again(random),
            24..44 => object_of(random, state, of).map(|object| self.look_after(random, state, (of, object))),
            44..48 => Some(self.of_version(random, of)),
            _ => object_of(random, state, of).map(|object| self.call(random, of, object)),
        };
        next.into_iter().inspect(|command| self.remember(command)).collect()
    }

    fn remember(&mut self, command: &Command) {
        let identity = command.caller().map(|caller| &caller.identity);
        if identity.is_some_and(|identity| *identity != Identity::Anonymous) {
            self.sent.push(command.clone());
            self.sent.drain(..self.sent.len().saturating_sub(SENT_MAX));
        }
    }

    const fn origin(&mut self) -> Origin {
        self.origins += 1;
        Origin { member: 1, number: self.origins }
    }

    fn anonymous(&mut self) -> Caller {
        Caller { origin: self.origin(), principal: "ann".into(), identity: Identity::Anonymous }
    }

    fn caller(&mut self, random: &mut Random) -> Caller {
        let identity = match (&mut self.session, random.below(10)) {
            (Some((session, last)), 0..5) => {
                *last += 1;
                let acknowledged = last.saturating_sub(UNACKNOWLEDGED);
                Identity::Session { session: *session, request: *last, acknowledged, above: Ranges::new() }
            }
            (_, 5..8) => {
                self.keys += 1;
                Identity::Key(format!("key-{}", self.keys))
            }
            _ => Identity::Anonymous,
        };
        Caller { identity, ..self.anonymous() }
    }

    /// The same as before, from another connection.
    fn again(&mut self, random: &mut Random) -> Option<Command> {
        let mut command = self.sent.get(random.below(self.sent.len() as u64) as usize)?.clone();
        command.caller_mut()?.origin = self.origin();
        Some(command)
    }

    fn bring(&mut self, random: &mut Random, of: GuestType) -> Vec<Command> {
        let number = if random.chance(6) { REJECTED } else { RUNNABLE[random.below(3) as usize] };
        let module = module(of, number);
        let (hash, size, bytes) = (module.file(), module.bytes.len() as u64, module.bytes.clone());
        let piece = Command::TypePiece { caller: self.anonymous(), hash, size, offset: 0, bytes };
        let (name, description) = (of.name().into(), of.description(number));
        vec![
            piece,
            Command::TypePut { caller: self.anonymous(), name, module: hash, source: None, description },
        ]
    }

    fn session(&mut self, random: &mut Random) -> Option<Command> {
        if let Some((session, _)) = self.session.take_if(|_| random.chance(70)) {
            let caller = self.anonymous();
            let is_silent = random.chance(50);
            return Some(match is_silent {
                true => Command::ExpireSession { session, generation: 1 },
                false => Command::CloseSession { caller, session },
            });
        }
        self.sessions += 1;
        let mut id = [0xcd; 16];
        id[8..].copy_from_slice(&self.sessions.to_be_bytes());
        let id = SessionId(id);
        self.session = Some((id, 0));
        let session = NewSession { id, secret_hash: [7; 32], generation: 1, ttl_ms: 5_000, name: None };
        Some(Command::OpenSession { caller: self.anonymous(), session })
    }

    fn tick_or_cancel(&mut self, random: &mut Random, state: &State) -> Option<Command> {
        if random.chance(80) {
            return Some(Command::Tick);
        }
        let ticket = state.position().saturating_sub(random.below(30));
        Some(Command::CancelTicket { caller: Some(self.anonymous()), ticket })
    }

    fn of_version(&mut self, random: &mut Random, of: GuestType) -> Command {
        let (name, caller) = (of.name().into(), self.anonymous());
        let version = module(of, RUNNABLE[random.below(3) as usize]).hash;
        match random.chance(70) {
            true => Command::TypeRelease { caller, name, version },
            false => Command::TypeDelete { caller, name, version },
        }
    }

    fn look_after(
        &mut self,
        random: &mut Random,
        state: &State,
        (of, object): (GuestType, ObjectName),
    ) -> Command {
        let caller = self.caller(random);
        let incarnation = None;
        match random.below(20) {
            0..7 => {
                let args = json!({ "start": random.below(100) }).to_string().into_bytes();
                Command::Create { caller, object, args }
            }
            7 => Command::Delete { caller, object, incarnation },
            8..11 => match content_of(random, state, &object) {
                Some(content) => {
                    Command::Import { caller, object: ObjectName { name: "i0".into(), ..object }, content }
                }
                None => Command::Tick,
            },
            11..15 => {
                let to = module(of, RUNNABLE[random.below(3) as usize]).hash;
                Command::Migrate { caller, object, incarnation, to }
            }
            15..17 => Command::Rollback { caller, object, incarnation, lose_commands: random.chance(60) },
            kind => {
                let reason = (kind == 17).then(|| String::from("a test"));
                Command::Quarantine { caller, object, incarnation, reason }
            }
        }
    }

    fn call(&mut self, random: &mut Random, of: GuestType, object: ObjectName) -> Command {
        let (caller, incarnation, create) = (self.caller(random), None, false);
        if random.chance(12) {
            let invocations = (0..1 + random.below(4)).map(|_| in_batch(random, of)).collect();
            return Command::Batch(Batch { caller, object, incarnation, create, invocations });
        }
        let invocation = match random.below(25) {
            0 => deadly_call(random),
            _ => invocation(random, of),
        };
        let waits = ["wait", YIELD].contains(&&*invocation.method);
        let wait_ms = waits.then(|| random.below(5_000));
        Command::Call(Call { caller, object, incarnation, create, wait_ms, opens: None, invocation })
    }
}

/// An object of that type, if the state knows the type.
fn object_of(random: &mut Random, state: &State, of: GuestType) -> Option<ObjectName> {
    let name = NAMES[random.below(NAMES.len() as u64) as usize].into();
    Some(ObjectName { kind: state.type_named(of.name())?, name })
}

fn deadly_call(random: &mut Random) -> Invocation {
    let args = json!({ "number": random.below(300) }).to_string().into_bytes();
    Invocation { method: deadly::METHOD.into(), args }
}

/// None of them waits; methods of bytes are refused.
fn in_batch(random: &mut Random, of: GuestType) -> Invocation {
    let Invocation { method, args } = invocation(random, of);
    let method = if method == "wait" { "add".into() } else { method };
    match bytes::is_of_bytes(&method) {
        true => Invocation { method, args: b"{}".to_vec() },
        false => Invocation { method, args },
    }
}

fn invocation(random: &mut Random, of: GuestType) -> Invocation {
    let methods = of.methods();
    let method = methods[random.below(methods.len() as u64) as usize];
    let number = if method == "later" { random.below(3_000) } else { 1 + random.below(300) };
    let args = match bytes::is_of_bytes(method) {
        true => bytes::draw(random),
        false => json!({ "number": number }).to_string().into_bytes(),
    };
    Invocation { method: method.into(), args }
}

/// What the object is exported as; now and then what kills whoever takes it over.
fn content_of(random: &mut Random, state: &State, object: &ObjectName) -> Option<Content> {
    let mut exported = parsed(&state.export(object, None).ok()?);
    if random.chance(15) {
        *exported["state"]["s"].as_array_mut()?.last_mut()? = deadly::IMPORT.into();
    }
    let [description, state] = ["description", "state"].map(|part| exported[part].to_string().into_bytes());
    Some(Content::State { description, state })
}
