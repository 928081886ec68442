//! The clients, members and leaders that send commands: what they send next. They know what the model knows, so that they
//! often ask for what can be had.

mod access;
mod acts;
mod arguments;
mod clients;

use base::Random;
use objects_state::{
    Batch, Call, Caller, Command, Content, Identity, Invocation, NewSession, ObjectName, Origin, SessionId,
    type_named,
};
use serde_json::{Value, json};

use crate::model::{ACCESS_LEVEL, Group, IMPORTED, TYPES, Told, Way};
use access::Principals;
pub(crate) use arguments::Arguments;
use clients::Clients;

/// Commands that may be repeated.
const HISTORY_MAX: usize = 400;
/// Numbers of an object's results that clients remember.
const NUMBERS_MAX: usize = 12;

/// See the module.
pub(crate) struct Crowd {
    clients: Clients,
    principals: Principals,
    /// Types of which most calls are.
    focus: Vec<usize>,
    /// What was sent, to be sent again.
    sent: Vec<Command>,
    /// Numbers that results had: fences, versions, ids.
    numbers: Vec<(ObjectName, u64)>,
    keys: u64,
    /// Most commands are calls that wait for one object, or of one session.
    storm: Option<Storm>,
    /// The namespace in which most objects are, if there is one.
    pub(crate) namespace: Option<&'static str>,
}

/// What a run with very many waiting calls is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storm {
    /// For one object.
    Object,
    /// Of one session.
    Session,
    /// Not waiting calls: replies of one session that it does not acknowledge.
    Replies,
}

impl Crowd {
    pub(crate) fn new(random: &mut Random) -> Self {
        let count = 2 + random.below(4);
        let focus = (0..count).map(|_| random.below(TYPES.len() as u64) as usize).collect();
        let storm = match random.below(200) {
            0 => Some(Storm::Object),
            1..6 => Some(Storm::Session),
            6..14 => Some(Storm::Replies),
            _ => None,
        };
        let principals = Principals::new(storm.is_none() && random.chance(45));
        let (sent, numbers) = (Vec::new(), Vec::new());
        Self {
            clients: Clients::default(),
            principals,
            focus,
            sent,
            numbers,
            keys: 0,
            storm,
            namespace: None,
        }
    }

    pub(crate) fn setting(&self) -> String {
        let focus: Vec<_> = self.focus.iter().map(|index| TYPES[*index].0).collect();
        let access = if self.principals.is_used() { ", tokens and rights" } else { "" };
        format!("mostly {}, storm {:?}{access}", focus.join(", "), self.storm)
    }

    pub(crate) const fn storm(&self) -> Option<Storm> {
        self.storm
    }

    /// The next command.
    pub(crate) fn next(&mut self, random: &mut Random, group: &Group) -> Command {
        if random.below(1_000) == 0 {
            return Command::FeatureLevel(random.below(9) as u32);
        }
        if let Some(command) = self.of_access(random, group) {
            return command;
        }
        if let Some(command) = self.of_storm(random) {
            return command;
        }
        let command = match random.below(100) {
            0..8 => self.repeat(random),
            8..18 => Some(Command::Tick),
            18..22 => Some(self.cancel(random, group)),
            22..26 => Some(self.open(random)),
            26..27 => self.close(random),
            27..29 => self.expire(random),
            29..34 => Some(self.create(random)),
            34..36 => Some(self.delete(random, group)),
            36..39 => Some(self.batch(random, group)),
            39..55 => self.give_back(random, group),
            _ => None,
        };
        let command = command.unwrap_or_else(|| self.call(random, group));
        if matches!(
            command,
            Command::Call(_) | Command::Batch(_) | Command::Create { .. } | Command::Delete { .. }
        ) {
            self.remember(&command);
        }
        command
    }

    /// It may be sent again.
    fn remember(&mut self, command: &Command) {
        if self.sent.len() >= HISTORY_MAX {
            self.sent.remove(0);
        }
        self.sent.push(command.clone());
    }

    /// What became of a command: clients learn of it.
    pub(crate) fn heard(&mut self, command: &Command, told: &[Told]) {
        let is_full = |told: &Told| matches!(told, Told::Answered(_, Err(refusal)) if ["waiters-full", "quota"].contains(&refusal.slug));
        if told.iter().any(is_full) {
            self.storm = None;
        }
        self.clients.heard(command, told);
        self.principals.heard(command, told);
        let object = match command {
            Command::Call(call) => &call.object,
            Command::Batch(batch) => &batch.object,
            _ => return,
        };
        for told in told {
            let (Told::Answered(_, Ok(result)) | Told::Ended(_, _, Ok(result))) = told else { continue };
            let mut found = Vec::new();
            numbers_in(result, &mut found);
            for number in found {
                let own = self.numbers.iter().filter(|known| known.0 == *object).count();
                if own >= NUMBERS_MAX
                    && let Some(oldest) = self.numbers.iter().position(|known| known.0 == *object)
                {
                    self.numbers.remove(oldest);
                }
                self.numbers.push((object.clone(), number));
            }
        }
    }

    /// A query, as a client asks it.
    pub(crate) fn query(&self, random: &mut Random, group: &Group) -> (ObjectName, Invocation, bool) {
        let object = self.object(random);
        let index = type_index(&object);
        let wanted = |way: Way| matches!(way, Way::Query | Way::Either) || random.clone().chance(3);
        let methods: Vec<_> = TYPES[index].2.iter().filter(|method| wanted(method.1)).collect();
        let (method, _, names) = methods[random.below(methods.len() as u64) as usize];
        let args = self.arguments(&object, group).body(random, names, None);
        (object, Invocation { method: (*method).into(), args }, random.chance(80))
    }

    fn origin(&mut self, random: &mut Random) -> Origin {
        self.clients.origins += 1;
        Origin { member: 1 + random.below(3), number: self.clients.origins }
    }

    /// A change of tokens and rights, if there are any in this run. As a rule all members support that soon.
    fn of_access(&mut self, random: &mut Random, group: &Group) -> Option<Command> {
        if !self.principals.is_used() {
            return None;
        }
        if group.level < ACCESS_LEVEL {
            return random.chance(3).then_some(Command::FeatureLevel(ACCESS_LEVEL));
        }
        let is_closed = group.access.is_closed();
        random.chance(if is_closed { 4 } else { 12 }).then(|| {
            let (principal, change) = self.principals.change(random, is_closed);
            let caller = Caller { origin: self.origin(random), principal, identity: Identity::Anonymous };
            Command::Access { caller, change }
        })
    }

    fn caller(&mut self, random: &mut Random, session: Option<SessionId>) -> Caller {
        let origin = self.origin(random);
        let session = session.or_else(|| self.clients.any(random));
        let identity = match (random.below(100), session) {
            (0..72, Some(session)) => self.clients.identity(random, session),
            (0..86, _) => Identity::Key(self.key(random)),
            _ => Identity::Anonymous,
        };
        let principal = match &identity {
            Identity::Session { session, .. } if random.chance(97) => self.clients.principal(*session),
            _ => self.principals.name(random),
        };
        Caller { origin, principal: self.principals.principal(random, &principal), identity }
    }

    fn key(&mut self, random: &mut Random) -> String {
        self.keys += 1;
        match random.below(50) {
            0 => String::new(),
            1..12 => format!("pool-{}", random.below(6)),
            _ => format!("key-{}", self.keys),
        }
    }

    fn object(&self, random: &mut Random) -> ObjectName {
        let index = match random.chance(75) {
            true => self.focus[random.below(self.focus.len() as u64) as usize],
            false => random.below(TYPES.len() as u64) as usize,
        };
        let kind = type_named(TYPES[index].0).expect("the state has all types of the model");
        let name = match random.below(300) {
            0 => String::new(),
            1 => "x".repeat(255 + random.below(2) as usize),
            2 => "a\nb".into(),
            3..6 => "ünï".into(),
            6..15 => "ab".into(),
            number if number % 3 == 0 => "b".into(),
            _ => "a".into(),
        };
        match self.namespace.filter(|_| random.chance(70)) {
            Some(namespace) => ObjectName { kind, name: format!("{namespace}/{name}") },
            None => ObjectName { kind, name },
        }
    }

    /// The name of a principal.
    pub(crate) fn name(&self, random: &mut Random) -> String {
        self.principals.name(random)
    }

    /// Up to so many rights.
    pub(crate) fn grants(random: &mut Random, most: u64) -> Vec<objects_state::Grant> {
        let mut grants = Principals::grants(random, 0, 20);
        grants.truncate(most as usize);
        if grants.len() < most as usize && random.below(6) == 0 {
            grants.extend("*:admin".parse());
        }
        grants
    }

    /// Of a command that none of the clients gives.
    pub(crate) const fn fresh_origin(&mut self) -> Origin {
        self.clients.origins += 1;
        Origin { member: 1, number: self.clients.origins }
    }

    fn arguments<'a>(&'a self, object: &'a ObjectName, group: &'a Group) -> Arguments<'a> {
        let numbers = self.numbers.iter().filter(|known| known.0 == *object).map(|known| known.1).collect();
        Arguments { kind: TYPES[type_index(object)].0, numbers, position: group.position() }
    }

    fn incarnation(random: &mut Random, object: &ObjectName, group: &Group) -> Option<u64> {
        match random.below(40) {
            0 => Some(random.below(group.position() + 1)),
            1..3 => group.incarnation(object),
            _ => None,
        }
    }

    fn call(&mut self, random: &mut Random, group: &Group) -> Command {
        let object = self.object(random);
        let kind = &TYPES[type_index(&object)];
        let odd = random.chance(1);
        let methods: Vec<_> = kind.2.iter().filter(|method| method.1 != Way::Query || odd).collect();
        let (method, way, names) = *methods[random.below(methods.len() as u64) as usize];
        let caller = self.caller(random, None);
        let may_wait = matches!(way, Way::Blocking | Way::Either);
        let wait = may_wait.then(|| random.below(100));
        let args = self.arguments(&object, group).body(random, names, wait);
        let opens = self.opens(random, &caller, names.contains(&"ttl_ms"));
        let method = if random.below(300) == 0 { "explode" } else { method };
        let invocation = Invocation { method: method.into(), args };
        let wait_ms = random.chance(10).then(|| [0, 50, 5_000, u64::MAX][random.below(4) as usize]);
        let incarnation = Self::incarnation(random, &object, group);
        let create = random.chance(95);
        Command::Call(Call { caller, object, incarnation, create, wait_ms, opens, invocation })
    }

    /// A session that the call opens.
    fn opens(&mut self, random: &mut Random, caller: &Caller, fits: bool) -> Option<NewSession> {
        let has_session = matches!(caller.identity, Identity::Session { .. });
        let percent = if !has_session && fits { 45 } else { 2 };
        random.chance(percent).then(|| self.clients.new_session(random, &caller.principal.name))
    }

    /// A call that gives back what somebody holds: those that wait get it.
    fn give_back(&mut self, random: &mut Random, group: &Group) -> Option<Command> {
        let held = group.held();
        let (object, session, position) = held.get(random.below(held.len() as u64) as usize)?.clone();
        let (method, args) = giving_back(random, TYPES[type_index(&object)].0, position)?;
        let mut caller = self.caller(random, Some(session));
        if !matches!(caller.identity, Identity::Session { .. }) {
            caller.identity = self.clients.identity(random, session);
            caller.principal = self.principals.principal(random, &self.clients.principal(session));
        }
        let invocation = Invocation { method: method.into(), args: args.to_string().into_bytes() };
        let (incarnation, create, wait_ms, opens) = (None, true, None, None);
        Some(Command::Call(Call { caller, object, incarnation, create, wait_ms, opens, invocation }))
    }

    fn batch(&mut self, random: &mut Random, group: &Group) -> Command {
        let object = self.object(random);
        let caller = self.caller(random, None);
        let count = 1 + random.below(5);
        let invocations = (0..count).map(|_| self.invocation(random, &object, group)).collect();
        let incarnation = Self::incarnation(random, &object, group);
        Command::Batch(Batch { caller, object, incarnation, create: random.chance(90), invocations })
    }

    fn invocation(&self, random: &mut Random, object: &ObjectName, group: &Group) -> Invocation {
        let methods = TYPES[type_index(object)].2;
        let (method, way, names) = methods[random.below(methods.len() as u64) as usize];
        let method = if random.below(60) == 0 { "explode" } else { method };
        let wait = (way == Way::Blocking && random.chance(20)).then(|| random.below(100));
        let args = self.arguments(object, group).body(random, names, wait);
        Invocation { method: method.into(), args }
    }

    fn create(&mut self, random: &mut Random) -> Command {
        let object = self.object(random);
        let names = TYPES[type_index(&object)].1;
        let (caller, kind) = (self.caller(random, None), TYPES[type_index(&object)].0);
        let arguments = Arguments { kind, numbers: Vec::new(), position: 0 };
        Command::Create { caller, object, args: arguments.of_constructor(random, names) }
    }

    /// An object that is not there, as a rule; of the type of `source`.
    pub(crate) fn import_target(
        &self,
        random: &mut Random,
        source: Option<&ObjectName>,
        names: &[ObjectName],
    ) -> ObjectName {
        let kind = source.map_or_else(|| self.object(random).kind, |source| source.kind);
        let drawn = (0..6).map(|_| ObjectName { kind, name: self.object(random).name });
        let drawn: Vec<_> = drawn.collect();
        let is_new = |name: &&ObjectName| !names.contains(name);
        let new = drawn.iter().find(is_new).filter(|_| random.chance(90));
        new.or(drawn.first()).cloned().unwrap_or_else(|| self.object(random))
    }

    /// What was never exported.
    pub(crate) fn import_content(&self, random: &mut Random, target: &ObjectName, group: &Group) -> Content {
        let index = type_index(target);
        let arguments = Arguments { kind: TYPES[index].0, numbers: Vec::new(), position: 0 };
        let arguments = arguments.of_constructor(random, TYPES[index].1);
        if random.chance(5) {
            return Content::State { description: arguments, state: b"null".to_vec() };
        }
        let mut calls: Vec<_> =
            (0..random.below(30)).map(|_| self.invocation(random, target, group)).collect();
        if random.chance(85) {
            let may_be = |call: &Invocation| IMPORTED.contains(&(TYPES[index].0, &*call.method));
            calls.retain(may_be);
        }
        Content::Calls { arguments, calls }
    }

    pub(crate) fn import(&mut self, random: &mut Random, object: ObjectName, content: Content) -> Command {
        let command = Command::Import { caller: self.caller(random, None), object, content };
        self.remember(&command);
        command
    }

    fn delete(&mut self, random: &mut Random, group: &Group) -> Command {
        let names = group.names_with_waiters();
        let object = match names.get(random.below(names.len() as u64) as usize) {
            Some(name) if random.chance(50) => name.clone(),
            _ => self.object(random),
        };
        let incarnation = match random.below(4) {
            0 => Some(random.below(group.position() + 1)),
            1 => group.incarnation(&object),
            _ => None,
        };
        Command::Delete { caller: self.caller(random, None), object, incarnation }
    }

    fn open(&mut self, random: &mut Random) -> Command {
        let (origin, name) = (self.origin(random), self.principals.name(random));
        let principal = self.principals.principal(random, &name);
        let session = match random.below(6) {
            0..4 => self.clients.new_session(random, &principal.name),
            _ => self.clients.again(random, &principal.name),
        };
        let caller = Caller { origin, principal, identity: Identity::Anonymous };
        Command::OpenSession { caller, session }
    }

    fn close(&mut self, random: &mut Random) -> Option<Command> {
        let session = self.clients.any(random)?;
        let caller = self.caller(random, Some(session));
        Some(Command::CloseSession { caller, session })
    }

    fn expire(&mut self, random: &mut Random) -> Option<Command> {
        let session = self.clients.any(random)?;
        let generation = self.clients.generation(session) + u32::from(random.chance(10));
        Some(Command::ExpireSession { session, generation })
    }

    fn cancel(&mut self, random: &mut Random, group: &Group) -> Command {
        let waiting = group.waiting();
        let ticket = match waiting.get(random.below(waiting.len() as u64) as usize) {
            Some(ticket) if random.chance(60) => *ticket,
            _ => group.position().saturating_sub(random.below(60)),
        };
        let caller = random.chance(75).then(|| {
            let (origin, name) = (self.origin(random), self.principals.name(random));
            let principal = self.principals.principal(random, &name);
            Caller { origin, principal, identity: Identity::Anonymous }
        });
        Command::CancelTicket { caller, ticket }
    }

    /// The same request again, by way of some member.
    fn repeat(&mut self, random: &mut Random) -> Option<Command> {
        let back = match random.chance(70) {
            true => random.below(8),
            false => random.below(self.sent.len() as u64),
        };
        let index = self.sent.len().checked_sub(1 + back as usize)?;
        let mut command = self.sent.get(index)?.clone();
        let origin = self.origin(random);
        if let Some(caller) = command.caller_mut() {
            caller.origin = origin;
            if self.principals.is_used() && random.chance(40) {
                // It has got another token meanwhile, or none.
                caller.principal = self.principals.principal(random, &caller.principal.name);
            }
        }
        Some(command)
    }

    /// One of very many calls that wait, or whose replies are kept.
    fn of_storm(&mut self, random: &mut Random) -> Option<Command> {
        let storm = self.storm.filter(|_| random.chance(97))?;
        let (kind, method, name) = match storm {
            Storm::Object => ("latch", "await", "flood".into()),
            Storm::Session => ("latch", "await", format!("flood-{}", random.below(3))),
            Storm::Replies => ("counter", "increment", "flood".into()),
        };
        let identity = match storm {
            Storm::Object => Identity::Anonymous,
            Storm::Session | Storm::Replies => {
                let session = self.clients.first()?;
                let mut identity = self.clients.identity(random, session);
                if let Identity::Session { request, acknowledged, .. } = &mut identity {
                    // What waits may be acknowledged too.
                    *acknowledged = if storm == Storm::Session { *request - 1 } else { 0 };
                }
                identity
            }
        };
        let object = ObjectName { kind: type_named(kind)?, name };
        let caller = Caller { origin: self.origin(random), principal: "ann".into(), identity };
        let invocation = Invocation { method: method.into(), args: b"{\"wait_ms\":3600000}".to_vec() };
        let (incarnation, create, wait_ms, opens) = (None, true, None, None);
        Some(Command::Call(Call { caller, object, incarnation, create, wait_ms, opens, invocation }))
    }
}

/// A method of a type, and arguments, with which a session changes or gives back what it holds under a position.
pub(crate) fn giving_back(random: &mut Random, kind: &str, position: u64) -> Option<(&'static str, Value)> {
    let fence = json!({ "fence": position });
    let chance = random.below(10);
    let (condition, name) = (format!("c{}", u64::from(random.chance(15))), format!("n{}", random.below(4)));
    let wait_ms = [0, 60, 2_000, 60_000][random.below(4) as usize];
    Some(match kind {
        "lock" if chance < 4 => {
            ("await", json!({ "fence": position, "condition": condition, "wait_ms": wait_ms }))
        }
        "lock" if chance < 6 => ("signal", json!({ "condition": condition })),
        "lock" if chance < 7 => ("signal_all", json!({ "condition": condition })),
        "rwlock" if chance < 3 => ("downgrade", fence),
        "lock" | "rwlock" | "semaphore" => ("release", fence),
        "election" if chance < 3 => ("proclaim", json!({ "fence": position, "data": chance })),
        "election" => ("resign", fence),
        "barrier" => ("leave", json!({ "wait_ms": random.below(4) * 50 })),
        "membership" if chance < 3 => ("leave", json!({ "name": name })),
        "membership" if chance < 7 => ("update", json!({ "name": name, "data": random.below(99) })),
        "membership" => ("report", json!({ "name": name, "epoch": random.below(9) })),
        "queue" => (["ack", "nack", "extend"][random.below(3) as usize], json!({ "ids": [position] })),
        _ => return None,
    })
}

fn type_index(object: &ObjectName) -> usize {
    TYPES.iter().position(|known| type_named(known.0) == Some(object.kind)).unwrap_or_default()
}

pub(crate) fn numbers_in(value: &Value, found: &mut Vec<u64>) {
    match value {
        Value::Number(number) => found.extend(number.as_u64().filter(|number| *number > 0)),
        Value::Array(items) => items.iter().for_each(|item| numbers_in(item, found)),
        Value::Object(fields) => fields.values().for_each(|value| numbers_in(value, found)),
        _ => {}
    }
}
