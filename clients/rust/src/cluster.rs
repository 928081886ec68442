//! The members of a cluster, and one session with it.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::error::{Effect, Problem, Result};
use crate::exchange::{ATTEMPT, Answer, Exchange, Request, random_id};
use crate::http::Fields;
use crate::object::Object;
use crate::session::Session;
use crate::tls::Tls;
use crate::token::Credentials;
use crate::wait::Cancel;

/// For how long closing waits for grants that nobody wanted any more to be given back.
const CLOSE: Duration = Duration::from_secs(2);

/// What a cluster object is told beside its members.
#[derive(Clone)]
pub struct Options {
    /// After which time what a dead client held is free.
    pub ttl: Duration,
    /// For how long a call is tried again while no member answers.
    pub timeout: Duration,
    /// The session's name, for people.
    pub name: Option<String>,
    /// Encrypts all connections. Without it those are that have an address which begins with `https://`; then the system's own
    /// authorities vouch for the members.
    pub tls: Option<Tls>,
    /// Says who asks, with every request. Without it and `token_file`: the environment's `DIWAN_TOKEN`, or the file that
    /// `DIWAN_TOKEN_FILE` names, or nobody in particular.
    pub token: Option<String>,
    /// A file with the token. It is read again when the token is refused, so it may be replaced meanwhile.
    pub token_file: Option<PathBuf>,
}

/// The token is shown nowhere.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ttl, timeout, name, tls, token, token_file } = self;
        let mut shown = f.debug_struct("Options");
        shown.field("ttl", ttl).field("timeout", timeout).field("name", name).field("tls", tls);
        shown.field("has_token", &token.is_some()).field("token_file", token_file).finish()
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(10),
            timeout: Duration::from_secs(30),
            name: None,
            tls: None,
            token: None,
            token_file: None,
        }
    }
}

/// The members of a cluster, and one session with it. Clones are the same cluster object; any number of threads may use it. Once
/// the last of them and of its objects is dropped, or one is closed, what the session holds is free.
#[derive(Clone)]
pub struct Cluster(Arc<Shared>);

struct Shared {
    exchange: Arc<Exchange>,
    options: Options,
    session: Mutex<Option<Arc<Session>>>,
    is_closed: AtomicBool,
    /// Calls that nobody waits for any more, and that are being ended.
    ending: Arc<Ending>,
}

#[derive(Default)]
struct Ending {
    count: Mutex<usize>,
    changed: Condvar,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cluster").field(&self.0.exchange).finish()
    }
}

impl Cluster {
    /// A cluster object of the addresses of members, `host:port,...`. It connects when it is first used.
    pub fn connect(addresses: &str) -> Result<Self> {
        Self::with(addresses, Options::default())
    }

    /// The same, with options.
    pub fn with(addresses: &str, options: Options) -> Result<Self> {
        let credentials = Credentials::new(options.token.as_deref(), options.token_file.as_deref())?;
        Ok(Self(Arc::new(Shared {
            exchange: Arc::new(Exchange::new(addresses, options.tls.clone(), credentials)?),
            options,
            session: Mutex::default(),
            is_closed: AtomicBool::new(false),
            ending: Arc::default(),
        })))
    }

    /// An object of any type, also of your own.
    #[must_use]
    pub fn object(&self, of_type: &str, name: &str) -> Object {
        Object::new(self, of_type, name)
    }

    /// The names of the objects of a type, behind that name; at most so many, and whether there are more.
    pub fn names(&self, of_type: &str, after: Option<&str>, limit: u32) -> Result<(Vec<String>, bool)> {
        let encoded = crate::exchange::encoded;
        let after = after.map_or_else(String::new, |after| format!("&after={}", encoded(after)));
        let target = format!("/v1/objects?type={}&limit={limit}{after}", encoded(of_type));
        let (_, body) = self.ask("GET", &target, &[], &Cancel::new())?;
        let told: Value = parsed(&body)?;
        let names = told["objects"].as_array().into_iter().flatten();
        let names = names.filter_map(|object| object["name"].as_str().map(str::to_owned)).collect();
        Ok((names, !told["next"].is_null()))
    }

    /// Closes the session: what it holds is free at once.
    pub fn close(&self) {
        self.0.close();
    }

    pub(crate) fn exchange(&self) -> &Exchange {
        &self.0.exchange
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.0.options.timeout
    }

    /// The session: opened once, however many calls ask for it at once.
    pub(crate) fn open(&self, cancel: &Cancel) -> Result<Arc<Session>> {
        let mut session = self.0.session();
        if self.0.is_closed.load(Ordering::Acquire) {
            return Err(Problem::new("closed", "the cluster object is closed", Effect::None, "no").into());
        }
        if let Some(open) = session.as_ref().filter(|session| session.ended().is_none()) {
            return Ok(open.clone());
        }
        let Options { ttl, timeout, name, .. } = &self.0.options;
        let opened = Session::open(&self.0.exchange, *ttl, name.as_deref(), (*timeout, cancel))?;
        Ok(session.insert(opened).clone())
    }

    /// The session, if there is one.
    pub(crate) fn current(&self) -> Option<Arc<Session>> {
        self.0.session().clone().filter(|session| session.ended().is_none())
    }

    /// A request that may be repeated without a number or a key.
    pub(crate) fn ask(&self, method: &str, target: &str, body: &[u8], cancel: &Cancel) -> Result<Answer> {
        self.request(method, target, body, (&Vec::new, cancel))
    }

    /// A request under an idempotency key.
    pub(crate) fn keyed(&self, method: &str, target: &str, body: &[u8], cancel: &Cancel) -> Result<Answer> {
        let key = format!("\"{}\"", random_id());
        self.request(method, target, body, (&|| vec![("Idempotency-Key", key.clone())], cancel))
    }

    fn request(
        &self,
        method: &str,
        target: &str,
        body: &[u8],
        (fields, cancel): (&(dyn Fn() -> Fields + Sync), &Cancel),
    ) -> Result<Answer> {
        let target = &|| target.to_owned();
        let patience = self.timeout();
        self.exchange().send(&Request { method, target, fields, body, patience, attempt: ATTEMPT, cancel })
    }

    /// Does something that nobody waits for, but closing.
    pub(crate) fn later(&self, work: impl FnOnce() + Send + 'static) {
        let ending = self.0.ending.clone();
        *ending.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        let done = Done(ending);
        // Without a thread the work is dropped: the session's end gives back what a call got.
        let _ = thread::Builder::new().name("diwan-ending".into()).spawn(move || {
            let _done = done;
            work();
        });
    }
}

/// Says that such work is done, when it is dropped.
struct Done(Arc<Ending>);

impl Drop for Done {
    fn drop(&mut self) {
        *self.0.count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.changed.notify_all();
    }
}

impl Shared {
    fn session(&self) -> MutexGuard<'_, Option<Arc<Session>>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        let count = self.ending.count.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.ending.changed.wait_timeout_while(count, CLOSE, |count| *count > 0));
        self.is_closed.store(true, Ordering::Release);
        let session = self.session().take();
        if let Some(session) = session {
            session.close();
        }
        self.exchange.close();
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.close();
    }
}

/// JSON of a member.
pub(crate) fn parsed<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T> {
    let body = if body.is_empty() { b"{}" } else { body };
    serde_json::from_slice(body).map_err(|error| {
        // It was carried out: what came back is not what was expected of it.
        Problem::new("bad-response", error.to_string(), Effect::Unknown, "no").into()
    })
}
