//! What clients ask of types of users in WebAssembly: they bring modules, make objects of them, call them, move them between
//! versions and back, and stop and release them.

use base::Random;
use serde_json::{Value, json};

use super::asks::of;
use super::{Clients, bare};
use crate::guests::deadly::{self, Kills};
use crate::guests::{self, GuestType, REJECTED, RUNNABLE, bytes};
use crate::members::edge::{HttpCall, octets};
use crate::members::history::{About, Call};
use crate::told::Object;

/// Exports that clients remember.
const EXPORTS_MAX: usize = 6;
/// Objects of a type.
const NAMES: [&str; 2] = ["g0", "g1"];

impl Clients {
    /// Whether a call without an answer is not made again in the calm: a creation that kills may have neither number nor key, so each
    /// copy that is carried out is another run, and kills all members again if its version was released meanwhile.
    pub(super) fn gives_up(&self, call: &Call) -> bool {
        let kills = match call.http.method {
            "PUT" => deadly::of_constructor(guests::number_of(&call.http.body)),
            _ if call.http.target.ends_with(":import") => deadly::of_import(&call.http.body),
            _ => Kills::Nobody,
        };
        !self.may_kill && kills != Kills::Nobody
    }

    /// A call that has to do with a type of users.
    pub(super) fn wasm(&mut self, index: usize) -> Call {
        // Mostly the same objects, so that their commands meet.
        let guest = if self.random.chance(40) {
            GuestType::Tally
        } else {
            guests::TYPES[self.random.below(3) as usize]
        };
        let name = if self.random.chance(70) { NAMES[0] } else { NAMES[1] };
        let object = Object { type_name: guest.name().into(), name: name.into() };
        if self.may_kill && self.random.chance(10) {
            return self.kill(index, guest, object);
        }
        match self.random.below(56) {
            0..5 => self.bring(index, guest),
            5..10 => {
                let start = self.random.below(100);
                let is_harmless = deadly::of_constructor(start) == Kills::Nobody;
                let start = if self.may_kill || is_harmless { start } else { start - 10 };
                let http = to(&object, "PUT", "", &json!({ "start": start }));
                self.identified(index, object, None, http)
            }
            // Most of them live on.
            10 if self.random.chance(50) => {
                let name = if self.random.chance(50) { "i0".into() } else { object.name };
                let object = Object { name, ..object };
                let http = bare("DELETE", format!("/v1/objects/{}", object.path()), Vec::new());
                self.identified(index, object, None, http)
            }
            11..14 => self.carry(index, guest, object),
            14..25 => self.look_after(index, guest, object),
            25 => {
                let hash = guests::module(guest, RUNNABLE[self.random.below(3) as usize]).hash;
                let http = bare("DELETE", format!("/v1/types/{}/{hash}", guest.name()), Vec::new());
                let about = About::Command { object: None, method: None };
                Call { is_repeatable: true, ..of(index, about, http, None) }
            }
            26 | 27 => self.release_version(index, guest),
            28..32 => self.get(index, object),
            _ => self.method_of_wasm(index, guest, object),
        }
    }

    fn bring(&mut self, index: usize, guest: GuestType) -> Call {
        let number = match self.random.below(10) {
            0 => REJECTED,
            1..4 => RUNNABLE[2],
            4..7 => RUNNABLE[1],
            _ => RUNNABLE[0],
        };
        let fields = vec![("content-type", String::from("application/wasm"))];
        let body = guests::module(guest, number).bytes.clone();
        let http = HttpCall { body, ..bare("POST", format!("/v1/types/{}", guest.name()), fields) };
        Call { is_repeatable: true, ..of(index, About::Upload, http, None) }
    }

    /// Something that was exported of an object of that type.
    fn export_of(&mut self, guest: GuestType) -> Option<String> {
        let own: Vec<_> = self.exports.iter().filter(|(of, _)| *of == guest.name()).collect();
        own.get(self.random.below(4) as usize).map(|(_, body)| body.clone())
    }

    /// What kills whoever makes an object of it, and what that is called.
    fn deadly_import(&mut self, guest: GuestType) -> Option<(String, String)> {
        let kills = if self.random.chance(70) { deadly::IMPORT } else { deadly::IMPORT_ONCE };
        let body = match self.export_of(guest) {
            Some(exported) => {
                let mut body = crate::outcome::parsed(&exported);
                *body["state"]["s"].as_array_mut()?.last_mut()? = kills.into();
                body
            }
            // As an empty object would have been exported.
            None => {
                let numbers = [&[0; 13][..], &[kills]].concat();
                json!({ "export": 1, "type": guest.name(), "description": {}, "state": { "s": numbers } })
            }
        };
        Some((format!("k{}", self.random.below(2)), body.to_string()))
    }

    fn import(&mut self, index: usize, object: Object, body: String) -> Call {
        let target = format!("/v1/objects/{}:import", object.path());
        let http = HttpCall { body: body.into_bytes(), ..bare("POST", target, Vec::new()) };
        self.identified(index, object, None, http)
    }

    /// An object is exported, or another one is made of what was.
    fn carry(&mut self, index: usize, guest: GuestType, object: Object) -> Call {
        match self.export_of(guest) {
            None => {
                let http = to(&object, "POST", ":export", &json!({}));
                Call { is_repeatable: true, ..of(index, About::Export { object }, http, None) }
            }
            Some(body) => {
                // Most of the others are there already.
                let name = if self.random.chance(70) { "i0".into() } else { object.name };
                self.import(index, Object { name, ..object }, body)
            }
        }
    }

    /// An export has come.
    pub(super) fn exported(&mut self, object: &Object, body: &str) {
        self.exports.push((object.type_name.clone(), body.to_owned()));
        if self.exports.len() > EXPORTS_MAX {
            self.exports.remove(0);
        }
    }

    /// What those do who look after objects.
    fn look_after(&mut self, index: usize, guest: GuestType, object: Object) -> Call {
        let (operation, body) = match self.random.below(14) {
            0..6 => {
                let number = RUNNABLE[self.random.below(3) as usize];
                let version = guests::module(guest, number).hash.to_string();
                if self.random.chance(30) {
                    let body = json!({ "to": version, "dry_run": true });
                    let http = to(&object, "POST", ":migrate", &body);
                    let about = About::TryMigration { object, to: number };
                    return Call { is_repeatable: true, ..of(index, about, http, None) };
                }
                (":migrate", json!({ "to": version }))
            }
            6..10 => (":rollback", json!({ "lose_commands": self.random.chance(60) })),
            10 | 11 if self.random.chance(60) => (":quarantine", json!({ "reason": "a test" })),
            12 => return self.release_version(index, guest),
            // What is stopped does not stay so for long.
            _ => (":release", json!({})),
        };
        let http = to(&object, "POST", operation, &body);
        self.identified(index, object, None, http)
    }

    /// Objects of a version may be created again.
    fn release_version(&mut self, index: usize, guest: GuestType) -> Call {
        let hash = guests::module(guest, RUNNABLE[self.random.below(3) as usize]).hash;
        let http = bare("POST", format!("/v1/types/{}/{hash}:release", guest.name()), Vec::new());
        let about = About::Command { object: None, method: None };
        Call { is_repeatable: true, ..of(index, about, http, None) }
    }

    /// What kills the process of whoever runs it.
    fn kill(&mut self, index: usize, guest: GuestType, object: Object) -> Call {
        if guest == GuestType::Tally && self.random.chance(30) {
            return self.ask(index, object, deadly::QUERY);
        }
        if self.random.chance(40)
            && let Some((name, body)) = self.deadly_import(guest)
        {
            return self.import(index, Object { name, ..object }, body);
        }
        if self.random.chance(25) {
            // A name that hardly anything else has.
            let object = Object { name: "k".into(), ..object };
            let http = to(&object, "PUT", "", &json!({ "start": deadly::START }));
            return self.identified(index, object, None, http);
        }
        let is_long = guest == GuestType::Rogue && self.random.chance(70);
        let method = if is_long { deadly::LONG_METHOD } else { deadly::METHOD };
        let body = json!({ "number": 1 + self.random.below(300) });
        let http = to(&object, "POST", &format!("/{method}"), &body);
        self.identified(index, object, Some(method), http)
    }

    fn get(&mut self, index: usize, object: Object) -> Call {
        let takes_bytes = object.type_name == GuestType::Tally.name() && self.random.chance(30);
        self.ask(index, object, if takes_bytes { bytes::VIEW } else { "get" })
    }

    fn ask(&mut self, index: usize, object: Object, method: &'static str) -> Call {
        let is_stale = self.random.chance(40);
        let consistency = if is_stale { "stale" } else { "linearizable" };
        let target = format!("/v1/objects/{}/{method}?consistency={consistency}", object.path());
        let http = match bytes::is_of_bytes(method) {
            true => HttpCall { body: bytes::draw(&mut self.random), ..bare("POST", target, vec![octets()]) },
            false => bare("GET", target, Vec::new()),
        };
        let args = http.body.clone();
        let about = About::Query { object, method, args, is_stale, min_position: None };
        Call { is_repeatable: true, ..of(index, about, http, None) }
    }

    fn method_of_wasm(&mut self, index: usize, guest: GuestType, object: Object) -> Call {
        let methods = guest.methods();
        let method = methods[self.random.below(methods.len() as u64) as usize];
        let number = match method {
            // So many milliseconds until a timer is due.
            "later" => self.random.below(3_000),
            // More messages, one behind the other, than may be.
            "echo" if self.random.chance(50) => 39,
            _ => 1 + self.random.below(300),
        };
        let waits = match method {
            "wait" | bytes::YIELD => format!("?wait_ms={}", self.random.below(5_000)),
            _ => String::new(),
        };
        // Drawn apart: what else is drawn is the same with and without batches.
        let mut apart = self.random.clone();
        if guest != GuestType::Rogue && apart.chance(15) {
            let http = batch(&mut apart, guest, &object);
            return self.identified(index, object, None, http);
        }
        let mut http = to(&object, "POST", &format!("/{method}{waits}"), &json!({ "number": number }));
        if bytes::is_of_bytes(method) {
            // Some say that it is JSON, and are refused.
            if self.random.chance(90) {
                http.body = bytes::draw(&mut self.random);
                http.fields.push(octets());
            }
        }
        self.identified(index, object, Some(method), http)
    }
}

/// Calls one behind the other. None of them waits.
fn batch(random: &mut Random, guest: GuestType, object: &Object) -> HttpCall {
    // Methods of bytes are refused.
    let methods: Vec<_> = guest.methods().iter().filter(|method| **method != "wait").collect();
    let calls = (0..1 + random.below(4)).map(|_| {
        let method = methods[random.below(methods.len() as u64) as usize];
        json!({ "method": method, "args": { "number": 1 + random.below(300) } })
    });
    let calls: Vec<_> = calls.collect();
    to(object, "POST", ":batch", &json!({ "calls": calls }))
}

fn to(object: &Object, method: &'static str, what: &str, body: &Value) -> HttpCall {
    let target = format!("/v1/objects/{}{what}", object.path());
    HttpCall { body: body.to_string().into_bytes(), ..bare(method, target, Vec::new()) }
}
