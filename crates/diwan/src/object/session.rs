//! A session that this process has: opened, renewed on a thread of its own, closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::access::{AccessArguments, Reply, Request};
use crate::log::failure::{Done, Failure};

/// How long a server may take to close a session: it ends in its time anyway.
const CLOSING_MAX: Duration = Duration::from_secs(2);
/// The status of what a session is refused that has ended.
const GONE: u16 = 410;
/// Before a renewal that nobody answered is sent again.
const PAUSE: Duration = Duration::from_millis(50);

/// Whether what the session holds is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Held,
    /// No renewal was answered for three quarters of the time to live: soon another one may have it.
    Lost,
    /// Another one may have it.
    Expired,
}

/// See the module.
pub(super) struct Session<'a> {
    access: &'a AccessArguments,
    id: String,
    credential: String,
    life: Arc<Life>,
}

struct Life {
    ttl: Duration,
    /// When the last renewal was sent that was answered.
    renewed: Mutex<Instant>,
    /// A server says that it has ended, or that what it held was taken away.
    is_over: AtomicBool,
    is_closed: AtomicBool,
}

impl<'a> Session<'a> {
    pub(super) fn open(access: &'a AccessArguments, ttl: Duration) -> Done<Self> {
        let sent = Instant::now();
        let body = json!({ "ttl_ms": ttl.as_millis() as u64 }).to_string();
        let request = Request {
            method: "POST",
            path: String::from("/v1/sessions"),
            headers: Vec::new(),
            body: body.as_bytes(),
            // One that was opened and whose answer was lost ends by itself.
            is_repeatable: true,
        };
        let reply = access.ask(&request)?;
        let text = |name: &str| reply.body[name].as_str().map(String::from);
        let Some((id, secret)) = text("session").zip(text("secret")) else {
            return Err(Failure::new(format!("the server opened no session: {}", reply.text)));
        };
        let credential = format!("{id}.{secret}");
        let renewed = Mutex::new(sent);
        let life = Life { ttl, renewed, is_over: AtomicBool::default(), is_closed: AtomicBool::default() };
        Ok(Self { access, id, credential, life: Arc::new(life) })
    }

    /// Sends its requests: `number` rises.
    pub(super) fn ask(&self, method: &'static str, path: String, number: Option<u64>) -> Done<Reply> {
        let mut headers = vec![self.header()];
        headers.extend(number.map(|number| ("Diwan-Request", number.to_string())));
        self.access.ask(&Request { method, path, headers, body: &[], is_repeatable: true })
    }

    fn header(&self) -> (&'static str, String) {
        ("Diwan-Session", self.credential.clone())
    }

    pub(super) fn standing(&self) -> Standing {
        let silent = self.life.renewed.lock().elapsed();
        match self.life.ttl {
            ttl if self.life.is_over.load(Ordering::Relaxed) || silent >= ttl => Standing::Expired,
            ttl if silent >= ttl * 3 / 4 => Standing::Lost,
            _ => Standing::Held,
        }
    }

    /// Renews it from now on, and asks at `check`, a query, whether what it holds is still valid.
    pub(super) fn renew(&self, check: Arc<Mutex<Option<String>>>) -> std::io::Result<()> {
        let (access, life, header) = (self.access.clone(), Arc::clone(&self.life), self.header());
        let path = format!("/v1/sessions/{}/renew", self.id);
        let renewals = move || {
            while !life.is_closed.load(Ordering::Relaxed) && !life.is_over.load(Ordering::Relaxed) {
                let pause = match renew_once(&access, &life, &path, &header) {
                    true => life.ttl / 6,
                    false => PAUSE,
                };
                std::thread::sleep(pause);
                let check = check.lock().clone();
                if check.is_some_and(|check| is_taken_away(&access, &life, check)) {
                    life.is_over.store(true, Ordering::Relaxed);
                }
            }
        };
        std::thread::Builder::new().name(String::from("renewals")).spawn(renewals).map(drop)
    }

    /// What it holds is free at once.
    pub(super) fn close(&self) {
        self.life.is_closed.store(true, Ordering::Relaxed);
        let path = format!("/v1/sessions/{}", self.id);
        let request =
            Request { method: "DELETE", path, headers: vec![self.header()], body: &[], is_repeatable: true };
        // Otherwise it ends in its time.
        let _ = self.access.ask_each_once(&request, CLOSING_MAX);
    }
}

/// Whether a renewal was answered.
fn renew_once(access: &AccessArguments, life: &Life, path: &str, header: &(&'static str, String)) -> bool {
    let sent = Instant::now();
    let headers = vec![header.clone()];
    let request = Request { method: "POST", path: path.into(), headers, body: &[], is_repeatable: true };
    let reply = access.ask_each_once(&request, patience(life));
    let status = reply.map_or(0, |reply| reply.status);
    if status == GONE {
        life.is_over.store(true, Ordering::Relaxed);
    } else if (200..300).contains(&status) {
        let mut renewed = life.renewed.lock();
        *renewed = (*renewed).max(sent);
        return true;
    }
    false
}

/// How long a server may take for a renewal.
fn patience(life: &Life) -> Duration {
    (life.ttl / 6).max(Duration::from_millis(200))
}

/// Whether a server says that what was held is not any more.
fn is_taken_away(access: &AccessArguments, life: &Life, check: String) -> bool {
    let reply = access.ask_each_once(&Request::get(check), patience(life));
    reply.is_some_and(|reply| reply.body["valid"] == Value::Bool(false))
}
