//! An edge without a core: what it asks, and what it says.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(unreachable_pub, reason = "shared by test files")]

use base::MonoTime;
use objects_http::{Edge, EdgeConfig, Fields, HttpRequest, HttpResponse, Say};
use objects_replica::edge::{self, Answer, Request};
use objects_state::{Command, Origin, Outcome};

/// Header fields whose names are written as they are in the documentation.
pub fn fields<'a>(headers: &[(&str, &'a str)]) -> Fields<'a> {
    let names: Vec<_> = headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
    Fields::of(names.iter().map(String::as_str).zip(headers.iter().map(|(_, value)| value.as_bytes())))
}

/// Header fields of a request.
pub type Given<'a> = &'a [(&'static str, &'static str)];

pub struct World {
    pub edge: Edge<u32>,
    pub next: u32,
    pub now: u64,
}

pub const SESSION: &str = "0102030405060708090a0b0c0d0e0f10.f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

impl World {
    pub fn new() -> Self {
        Self {
            edge: Edge::new(EdgeConfig { under_way_max: 20, ..EdgeConfig::new(3, 7) }),
            next: 0,
            now: 1_000,
        }
    }

    pub fn send(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&'static str, &'static str)],
        body: &str,
    ) -> u32 {
        self.next += 1;
        let fields = fields(headers);
        let request =
            HttpRequest { method, target, fields: &fields, body: body.as_bytes(), certificate: None };
        self.edge.request(self.next, &request, &mut |bytes| bytes.fill(0x5a));
        self.next
    }

    pub fn asks(&mut self) -> Vec<Request> {
        let mut asks = Vec::new();
        self.edge.take_asks(&mut asks);
        asks
    }

    pub fn says(&mut self) -> Vec<Say<u32>> {
        let mut says = Vec::new();
        self.edge.take_says(&mut says);
        says
    }

    /// What the core is asked for a request, which is not answered at once.
    pub fn asked(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&'static str, &'static str)],
        body: &str,
    ) -> Request {
        self.send(method, target, headers, body);
        let (mut asks, says) = (self.asks(), self.says());
        assert!(says.is_empty(), "{method} {target}: {says:?}");
        assert_eq!(asks.len(), 1, "{method} {target}");
        asks.remove(0)
    }

    pub fn command(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&'static str, &'static str)],
        body: &str,
    ) -> Command {
        match self.asked(method, target, headers, body) {
            Request::Command { command, .. } => command,
            other => panic!("no command: {other:?}"),
        }
    }

    /// What a request is answered at once: nothing goes to the core.
    pub fn refused(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&'static str, &'static str)],
        body: &str,
    ) -> HttpResponse {
        let key = self.send(method, target, headers, body);
        let (asks, mut says) = (self.asks(), self.says());
        assert!(asks.is_empty(), "{method} {target} {headers:?} {body}: {asks:?}");
        match says.pop() {
            Some(Say::Respond(of, response)) if of == key => response,
            other => panic!("{method} {target}: {other:?}"),
        }
    }

    pub fn slug(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&'static str, &'static str)],
        body: &str,
    ) -> (u16, String) {
        let response = self.refused(method, target, headers, body);
        (response.status, slug(&response))
    }

    pub fn answer(&mut self, answer: Answer) {
        self.edge.answer(answer, MonoTime::of_ms(self.now));
    }

    pub fn done(&mut self, origin: Origin, outcome: Outcome) -> HttpResponse {
        self.answer(Answer::Done { origin, position: 41, outcome });
        match self.says().pop() {
            Some(Say::Respond(_, response)) => response,
            other => panic!("no response: {other:?}"),
        }
    }

    pub fn later(&mut self, ms: u64) -> Vec<Say<u32>> {
        self.now += ms;
        self.edge.tick(MonoTime::of_ms(self.now));
        self.says()
    }
}

pub fn json(response: &HttpResponse) -> serde_json::Value {
    serde_json::from_str(&response.body).unwrap_or_else(|_| panic!("no JSON: {response:?}"))
}

/// The slug of a problem that is whole.
pub fn slug(response: &HttpResponse) -> String {
    let json = json(response);
    assert_eq!(response.content_type, "application/problem+json", "{response:?}");
    assert_eq!(json["status"], response.status);
    for field in ["detail", "effect", "retry"] {
        assert!(json[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {response:?}");
    }
    json["type"].as_str().and_then(|name| name.strip_prefix("urn:diwan:problem:")).expect("a slug").into()
}

pub fn header<'a>(response: &'a HttpResponse, name: &str) -> Option<&'a str> {
    response.fields.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
}

pub fn done(result: &str) -> Outcome {
    Outcome::Done(result.into())
}

pub fn origin_of(request: &Request) -> Origin {
    edge::origin_of(request).expect("an origin")
}
