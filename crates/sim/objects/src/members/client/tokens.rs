//! Who clients are: the tokens that they were given, by way of whatever member, and what those who administer change meanwhile.

use base::Random;
use serde_json::{Value, json};

use super::asks::of;
use super::bare;
use crate::members::edge::HttpCall;
use crate::members::history::{About, By, Call, Change};

/// The token of every member that may do everything.
pub(crate) const ROOT_TOKEN: &str = "diwan_5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed";
/// Whom tokens are given: the first client asks as the first one, and so on.
const NAMES: [&str; 3] = ["ann", "bob", "cy"];
/// Who comes without a token.
pub(super) const NOBODY: &str = "anonymous";
/// Who administers besides.
const ADMIN: &str = "admin";

#[derive(Debug)]
struct Token {
    number: u64,
    principal: String,
    secret: String,
    /// As far as it was told.
    is_over: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    /// There are tokens and rights in this run.
    is_used: bool,
    all: Vec<Token>,
}

impl Tokens {
    pub(super) const fn new(is_used: bool) -> Self {
        Self { is_used, all: Vec::new() }
    }

    pub(super) const fn are_used(&self) -> bool {
        self.is_used
    }

    /// By what a client's call comes: a token of its own that is valid, or was; otherwise by nothing.
    pub(super) fn sign(&self, random: &mut Random, client: usize, call: &mut Call) {
        if !self.is_used {
            return;
        }
        let name = if call.change.is_some() { ADMIN } else { NAMES[client % NAMES.len()] };
        let is_over = random.chance(6);
        let fits = |token: &&Token| token.principal == name && token.is_over == is_over;
        let token = self.all.iter().rev().find(fits);
        let is_root = call.change.is_some() && (token.is_none() || random.chance(50));
        let secret = match token {
            _ if is_root => ROOT_TOKEN,
            None => return,
            Some(token) => &token.secret,
        };
        call.http.fields.push(("authorization", format!("Bearer {secret}")));
        call.by = match token {
            Some(token) if !is_root => By::Token { number: token.number, principal: token.principal.clone() },
            _ => By::Root,
        };
    }

    /// What is changed of tokens and rights.
    pub(super) fn change(&self, random: &mut Random, client: usize) -> Call {
        let name = NAMES[random.below(3) as usize];
        let subject = match random.below(8) {
            0 => ADMIN,
            1 => NOBODY,
            _ => name,
        };
        let (change, method, target, body) = match random.below(100) {
            0..36 => (Change::Create, "POST", "/v1/tokens".into(), Some(new_token(random, name))),
            36..50 => {
                let body = json!({ "principal": subject, "allow": rights(random) });
                (Change::Else, "POST", "/v1/access/allow".into(), Some(body))
            }
            50..60 if random.chance(50) => {
                (Change::Else, "POST", "/v1/access/deny".into(), Some(json!({ "principal": subject })))
            }
            50..60 => {
                let body = json!({ "principal": subject, "deny": rights(random) });
                (Change::Else, "POST", "/v1/access/deny".into(), Some(body))
            }
            60..76 => {
                let own: Vec<_> = self.all.iter().filter(|token| !token.is_over).collect();
                let number = own.get(random.below(own.len() as u64) as usize).map_or(1, |token| token.number);
                (Change::Revoke(number), "DELETE", format!("/v1/tokens/{number}"), None)
            }
            76..80 => {
                let target = format!("/v1/principals/{subject}");
                (Change::RevokePrincipal(subject.into()), "DELETE", target, None)
            }
            _ => {
                let word = if random.chance(85) { "close" } else { "open" };
                (Change::Else, "POST", format!("/v1/access/{word}"), None)
            }
        };
        let body = body.map_or_else(Vec::new, |body| body.to_string().into_bytes());
        let http = HttpCall { body, ..bare(method, target, Vec::new()) };
        // Each copy of a request for a token would make another one.
        let is_repeatable = change != Change::Create;
        let about = About::Command { object: None, method: None };
        Call { is_repeatable, change: Some(change), ..of(client, about, http, None) }
    }

    /// What a client is answered that administers.
    pub(super) fn heard(&mut self, change: &Change, status: u16, body: &Value) {
        match (change, status, body["token"].as_str()) {
            (Change::Create, 201, Some(secret)) => self.all.push(Token {
                number: body["number"].as_u64().unwrap_or_default(),
                principal: body["principal"].as_str().unwrap_or_default().into(),
                secret: secret.into(),
                is_over: false,
            }),
            (Change::Revoke(number), 200, _) => self.end(|token| token.number == *number),
            (Change::RevokePrincipal(name), 200, _) => self.end(|token| token.principal == *name),
            _ => {}
        }
    }

    fn end(&mut self, is_it: impl Fn(&Token) -> bool) {
        self.all.iter_mut().filter(|token| is_it(token)).for_each(|token| token.is_over = true);
    }
}

fn new_token(random: &mut Random, name: &str) -> Value {
    let name = if random.chance(20) { ADMIN } else { name };
    let allow = if name == ADMIN { vec!["*:admin"] } else { rights(random) };
    let lives_ms = random.chance(20).then(|| 1_000 + random.below(8_000));
    json!({ "name": name, "allow": allow, "lives_ms": lives_ms })
}

/// Whose roles or quota it is.
pub(super) fn principal(random: &mut Random) -> &'static str {
    match random.below(20) {
        0 => ADMIN,
        1 => "root",
        2..8 => NOBODY,
        _ => NAMES[random.below(3) as usize],
    }
}

pub(super) fn rights(random: &mut Random) -> Vec<&'static str> {
    const SOME: [&str; 8] = [
        "*:*",
        "*:*",
        "*:query,call",
        "*/a*:*",
        "*/b:call,query",
        "lock/*:acquire,release,holder",
        "counter/a:increment,get",
        "*:call",
    ];
    (0..1 + random.below(2)).map(|_| SOME[random.below(SOME.len() as u64) as usize]).collect()
}
