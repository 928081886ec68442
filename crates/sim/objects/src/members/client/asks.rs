//! What clients ask for, as requests of HTTP.

use base::Random;
use objects_state::SessionId;
use serde_json::{Value, json};

use super::own::Own;
use super::{Clients, bare};
use crate::crowd::{Arguments, giving_back};
use crate::members::edge::HttpCall;
use crate::members::history::{About, By, Call, Errand};
use crate::members::node::Modules;
use crate::model::{TYPES, Type, Way};
use crate::told::Object;

/// Types whose objects sessions hold something of.
const OWNED: [&str; 6] = ["lock", "rwlock", "semaphore", "queue", "election", "membership"];

/// The objects of most calls: few, so that they meet.
pub(super) fn draw_focus(random: &mut Random) -> Vec<Object> {
    let mut kinds = vec!["lock", "counter"];
    for _ in 0..2 + random.below(4) {
        kinds.push(match random.chance(50) {
            true => OWNED[random.below(OWNED.len() as u64) as usize],
            false => TYPES[random.below(TYPES.len() as u64) as usize].0,
        });
    }
    let mut named = |kind: &str| Object {
        type_name: kind.into(),
        name: char::from(b'a' + random.below(2) as u8).to_string(),
    };
    kinds.into_iter().map(&mut named).collect()
}

/// A built-in type in the table of the models.
fn kind_of(object: &Object) -> Type {
    TYPES.iter().find(|known| known.0 == object.type_name).copied().unwrap_or(TYPES[0])
}

/// How long a client waits for an answer, milliseconds.
pub(super) fn patience_ms(random: &mut Random, about: &About) -> u64 {
    match about {
        About::Stream => 200 + random.below(8_000),
        _ if random.chance(30) => 200 + random.below(800),
        _ => 1_000 + random.below(8_000),
    }
}

/// The request for an errand of a call.
pub(super) fn errand_call(random: &mut Random, call: &Call, errand: Errand) -> HttpCall {
    let fields =
        |names: &[&str]| call.http.fields.iter().filter(|field| names.contains(&field.0)).cloned().collect();
    match errand {
        Errand::Ask => call.http.clone(),
        Errand::Collect(ticket) => {
            let hold_ms = 100 + random.below(4_000);
            bare(
                "GET",
                format!("/v1/tickets/{ticket}?hold_ms={hold_ms}"),
                fields(&["diwan-session", "authorization"]),
            )
        }
        Errand::Cancel(ticket) => bare("DELETE", format!("/v1/tickets/{ticket}"), fields(&["authorization"])),
    }
}

pub(super) fn closes(call: &Call) -> bool {
    call.http.method == "DELETE" && call.http.target.starts_with("/v1/sessions/")
}

/// Whether it is refused because a member has too much under way.
pub(super) fn is_of_member(body: &Value) -> bool {
    body["type"] == "urn:diwan:problem:rate"
}

/// Whether it is refused because its object is in quarantine.
pub(super) fn is_stopped(body: &Value) -> bool {
    body["type"] == "urn:diwan:problem:quarantined"
}

/// Whether it is refused because no version of its type may run.
pub(super) fn is_not_ready(body: &Value) -> bool {
    body["type"] == "urn:diwan:problem:type-not-ready"
}

/// A session is closed.
pub(super) fn close(client: usize, own: &Own) -> Call {
    let http = bare("DELETE", format!("/v1/sessions/{}", own.id), vec![own.credential()]);
    let about = About::Command { object: None, method: None };
    Call { is_repeatable: true, ..of(client, about, http, Some(own.id)) }
}

pub(super) fn of(client: usize, about: About, http: HttpCall, session: Option<SessionId>) -> Call {
    Call {
        client,
        about,
        http,
        by: By::default(),
        change: None,
        session,
        request: None,
        is_repeatable: false,
        ticket: None,
        attempts: Vec::new(),
        is_done: false,
    }
}

/// A command of a client: of which object, by which method of it, and how.
type Wanted = (Object, Option<&'static str>, HttpCall);

impl Clients {
    /// What a client asks for next.
    pub(super) fn next_call(&mut self, index: usize) -> Option<Call> {
        let chance = self.random.below(100);
        let own = self.all[index].own.as_ref();
        match (own.map(|own| own.is_open), chance) {
            (None, 0..40) => return Some(self.open_session(index)),
            // Nothing else before it is open.
            (Some(false), 0..90) => return None,
            (Some(true), 0..8) => return self.renew(index),
            (Some(true), 8..10) => return self.stream(index),
            (Some(true), 10..12) => return own.map(|own| close(index, own)),
            _ => {}
        }
        match self.modules {
            Modules::Words if self.random.chance(40) => return Some(self.guest(index)),
            Modules::WebAssembly(_) if self.random.chance(80) => return Some(self.wasm(index)),
            _ => {}
        }
        let wanted = match chance {
            12..30 => self.give_back(index),
            30..50 => return Some(self.query(index)),
            50..54 => Some(self.create()),
            54..55 => Some(self.delete()),
            55..60 => Some(self.batch()),
            _ => None,
        };
        let (object, method, http) = wanted.unwrap_or_else(|| self.method());
        Some(self.identified(index, object, method, http))
    }

    /// A command in the name of a session, under a key, or neither.
    pub(super) fn identified(
        &mut self,
        index: usize,
        object: Object,
        method: Option<&'static str>,
        mut http: HttpCall,
    ) -> Call {
        let about = About::Command { object: Some(object), method };
        let (chance, acknowledged) = (self.random.below(10), self.random.below(6));
        let own = self.all[index].own.as_mut().filter(|own| own.is_open && chance < 7);
        if let Some(own) = own {
            let request = own.next();
            http.fields.extend([own.credential(), ("diwan-request", request.to_string())]);
            http.fields.extend(own.acknowledged(acknowledged));
            let call = of(index, about, http, Some(own.id));
            return Call { request: Some(request), is_repeatable: true, ..call };
        }
        if chance < 9 {
            self.keys += 1;
            http.fields.push(("idempotency-key", format!("key-{}", self.keys)));
            return Call { is_repeatable: true, ..of(index, about, http, None) };
        }
        of(index, about, http, None)
    }

    fn open_session(&mut self, index: usize) -> Call {
        self.sessions += 1;
        let (mut id, mut secret) = ([0xcd; 16], [0x5e; 16]);
        id[8..].copy_from_slice(&self.sessions.to_be_bytes());
        secret[8..].copy_from_slice(&self.random.number().to_be_bytes());
        let ttl_ms = 1_000 + self.random.below(5_000);
        let own = Own::new(SessionId(id), SessionId(secret));
        let body = json!({ "ttl_ms": ttl_ms }).to_string().into_bytes();
        let http = HttpCall { body, ..bare("POST", "/v1/sessions".into(), vec![own.credential()]) };
        let about = About::Command { object: None, method: None };
        let call = of(index, about, http, Some(own.id));
        self.all[index].own = Some(own);
        Call { is_repeatable: true, ..call }
    }

    fn renew(&self, index: usize) -> Option<Call> {
        let own = self.all[index].own.as_ref()?;
        let http = bare("POST", format!("/v1/sessions/{}/renew", own.id), vec![own.credential()]);
        Some(Call { is_repeatable: true, ..of(index, About::Renew, http, Some(own.id)) })
    }

    fn stream(&self, index: usize) -> Option<Call> {
        let own = self.all[index].own.as_ref()?;
        let http = bare("GET", format!("/v1/sessions/{}/events", own.id), vec![own.credential()]);
        Some(of(index, About::Stream, http, Some(own.id)))
    }

    fn object(&mut self) -> Object {
        let place = self.random.below(self.focus.len() as u64) as usize;
        match self.random.chance(90) {
            true => self.focus[place].clone(),
            false => draw_focus(&mut self.random).remove(2),
        }
    }

    fn args(&mut self, object: &Object, names: &[&str]) -> Vec<u8> {
        let numbers = self.numbers_of(object);
        let arguments = Arguments { kind: &object.type_name, numbers, position: 0 };
        let body = arguments.body(&mut self.random, names, None);
        // Bodies of a MiB are for those who test limits.
        if body.len() > 10_000 { b"{}".to_vec() } else { body }
    }

    /// How long a call waits: for a while, or not at all.
    fn waits(&mut self, way: Way) -> String {
        if !matches!(way, Way::Blocking | Way::Either) {
            return String::new();
        }
        let wait_ms = match self.random.below(6) {
            // What reads and does not wait is a query.
            0 if way == Way::Blocking => 0,
            0 | 1 => 1 + self.random.below(200),
            _ => 200 + self.random.below(6_000),
        };
        let hold = if self.random.chance(50) {
            format!("&hold_ms={}", self.random.below(2_000))
        } else {
            String::new()
        };
        format!("?wait_ms={wait_ms}{hold}")
    }

    fn method(&mut self) -> Wanted {
        let object = self.object();
        let methods: Vec<_> = kind_of(&object).2.iter().filter(|method| method.1 != Way::Query).collect();
        // What is first in the table is what an object is for.
        let place = if self.random.chance(50) { 0 } else { self.random.below(methods.len() as u64) };
        let (method, way, names) = *methods[place as usize];
        let (body, waits) = (self.args(&object, names), self.waits(way));
        let target = format!("/v1/objects/{}/{method}{waits}", object.path());
        let http = HttpCall { body, ..bare("POST", target, Vec::new()) };
        (object, Some(method), http)
    }

    /// What a session holds is given back, or changed.
    fn give_back(&mut self, index: usize) -> Option<Wanted> {
        let holds = &self.all[index].holds;
        let (object, fence) = holds.get(self.random.below(holds.len() as u64) as usize)?.clone();
        let kind = kind_of(&object);
        let (method, args) = giving_back(&mut self.random, kind.0, fence)?;
        let target = format!("/v1/objects/{}/{method}", object.path());
        let http = HttpCall { body: args.to_string().into_bytes(), ..bare("POST", target, Vec::new()) };
        Some((object, Some(method), http))
    }

    fn query(&mut self, index: usize) -> Call {
        let object = self.object();
        let methods: Vec<_> =
            kind_of(&object).2.iter().filter(|method| matches!(method.1, Way::Query | Way::Either)).collect();
        let Some((method, _, names)) =
            methods.get(self.random.below(methods.len() as u64) as usize).copied().copied()
        else {
            let (object, method, http) = self.method();
            return self.identified(index, object, method, http);
        };
        let args = self.args(&object, names);
        let is_stale = self.random.chance(40);
        // Mostly what was seen, sometimes what is about to come.
        let min_position =
            self.random.chance(40).then(|| (self.seen + 3).saturating_sub(self.random.below(12)));
        let mut target = format!("/v1/objects/{}/{method}", object.path());
        target += if is_stale { "?consistency=stale" } else { "?consistency=linearizable" };
        target += &min_position.map_or_else(String::new, |position| format!("&min_position={position}"));
        let http = HttpCall { body: args.clone(), ..bare("POST", target, Vec::new()) };
        let about = About::Query { object, method, args, is_stale, min_position };
        Call { is_repeatable: true, ..of(index, about, http, None) }
    }

    fn create(&mut self) -> Wanted {
        let object = self.object();
        let kind = kind_of(&object);
        let arguments = Arguments { kind: kind.0, numbers: Vec::new(), position: 0 };
        let body = arguments.of_constructor(&mut self.random, kind.1);
        let target = format!("/v1/objects/{}", object.path());
        (object, None, HttpCall { body, ..bare("PUT", target, Vec::new()) })
    }

    fn delete(&mut self) -> Wanted {
        let object = self.object();
        let http = bare("DELETE", format!("/v1/objects/{}", object.path()), Vec::new());
        (object, None, http)
    }

    fn batch(&mut self) -> Wanted {
        let object = self.object();
        let methods: Vec<_> = kind_of(&object).2.iter().filter(|method| method.1 == Way::Command).collect();
        let mut calls = Vec::new();
        for _ in 0..1 + self.random.below(4) {
            let place = self.random.below(methods.len() as u64) as usize;
            let Some((method, _, names)) = methods.get(place).copied() else { continue };
            let args = crate::outcome::parsed(&String::from_utf8_lossy(&self.args(&object, names)));
            calls.push(json!({ "method": method, "args": args }));
        }
        let target = format!("/v1/objects/{}:batch", object.path());
        let body = json!({ "calls": calls }).to_string().into_bytes();
        (object, None, HttpCall { body, ..bare("POST", target, Vec::new()) })
    }
}
