//! What clients ask of types of users: three modules, which the engine of the state's own tests runs.

use objects_state::DESCRIPTION_SECTION;
use serde_json::json;

use super::asks::of;
use super::{Clients, bare};
use crate::members::edge::HttpCall;
use crate::members::history::{About, Call};
use crate::told::Object;

/// A type: its name, what its module says of itself, and its methods that are commands, with the argument that each may have.
type Guest = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// Their descriptions are short: the length of a section has one byte here, so that a module is text. The engine knows its words
/// wherever they stand: what `longend` and `longtimer` name takes more than a slice of fuel.
const GUESTS: [Guest; 3] = [
    (
        "hits",
        r#"{"methods":{"add":{"kind":"command"},"get":{"kind":"query"},"trap":{"kind":"command"}}}"#,
        &[("add", "by"), ("add", "by"), ("trap", "by")],
    ),
    (
        "line",
        r#"{"methods":{"wait":{"kind":"blocking"},"give":{"kind":"command"}},"session_expired":true,"x":"longend"}"#,
        &[("wait", "own"), ("give", "value"), ("wait", "value")],
    ),
    (
        "odd",
        r#"{"methods":{"add":{"kind":"command"},"burn":{"kind":"command"},"timer":{"kind":"command"}},"x":"longtimer"}"#,
        &[("add", "by"), ("burn", "by"), ("timer", "after")],
    ),
];

/// A module of that type. Of each there are a few, which differ in nothing but their bytes.
fn module(guest: &Guest, number: u64) -> Vec<u8> {
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    for (name, content) in [(DESCRIPTION_SECTION, guest.1), ("number", &number.to_string())] {
        let length = u8::try_from(1 + name.len() + content.len()).ok().filter(|length| *length < 0x80);
        module.extend([0, length.expect("a short section"), name.len() as u8]);
        module.extend([name.as_bytes(), content.as_bytes()].concat());
    }
    module
}

impl Clients {
    /// A call of a type of users.
    pub(super) fn guest(&mut self, index: usize) -> Call {
        let guest = &GUESTS[self.random.below(GUESTS.len() as u64) as usize];
        let object = Object { type_name: guest.0.into(), name: format!("g{}", self.random.below(2)) };
        match self.random.below(20) {
            0..2 => self.upload(index, guest),
            2..5 => {
                let body = json!({ "start": self.random.below(5) }).to_string().into_bytes();
                let http =
                    HttpCall { body, ..bare("PUT", format!("/v1/objects/{}", object.path()), Vec::new()) };
                self.identified(index, object, None, http)
            }
            5..9 if guest.0 == "hits" => self.guest_query(index, object),
            _ => {
                let (method, name) = guest.2[self.random.below(guest.2.len() as u64) as usize];
                // One in four takes more than a slice.
                let fuel = if self.random.chance(25) { 10_000_000 } else { 0 };
                let body = json!({ name: self.random.below(400), "fuel": fuel }).to_string().into_bytes();
                let waits = match method {
                    "wait" => format!("?wait_ms={}", self.random.below(5_000)),
                    _ => String::new(),
                };
                let target = format!("/v1/objects/{}/{method}{waits}", object.path());
                let http = HttpCall { body, ..bare("POST", target, Vec::new()) };
                self.identified(index, object, Some(method), http)
            }
        }
    }

    fn upload(&mut self, index: usize, guest: &Guest) -> Call {
        let body = module(guest, self.random.below(3));
        let fields = vec![("content-type", String::from("application/wasm"))];
        let http = HttpCall { body, ..bare("POST", format!("/v1/types/{}", guest.0), fields) };
        Call { is_repeatable: true, ..of(index, About::Upload, http, None) }
    }

    fn guest_query(&mut self, index: usize, object: Object) -> Call {
        let is_stale = self.random.chance(40);
        let consistency = if is_stale { "stale" } else { "linearizable" };
        // One in four takes more than a slice, and gives the same.
        let fuel = if self.random.chance(25) { "&fuel=10000000" } else { "" };
        let target = format!("/v1/objects/{}/get?consistency={consistency}{fuel}", object.path());
        let about = About::Query { object, method: "get", args: Vec::new(), is_stale, min_position: None };
        Call { is_repeatable: true, ..of(index, about, bare("GET", target, Vec::new()), None) }
    }
}
