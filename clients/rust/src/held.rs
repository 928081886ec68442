//! What a caller holds: a lock, permits, a leadership. It knows by its own clock when it may have lost it.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;

use crate::call::Call;
use crate::error::Result;
use crate::exchange::{ATTEMPT, Exchange, Request};
use crate::object::Object;
use crate::session::Session;
use crate::wait::Cancel;

/// Refusals of giving back what is gone already.
const GONE: [&str; 5] = ["not-owner", "not-held", "stale-fence", "session-expired", "object-deleted"];

type Callback = Box<dyn FnOnce() + Send>;

/// What a session watches of a grant.
pub(crate) struct Watched {
    fence: i64,
    /// Where a lock is asked whether it is held; other types cannot be stolen.
    check: Option<String>,
    state: Mutex<State>,
    lost: Condvar,
}

#[derive(Default)]
struct State {
    is_lost: bool,
    callbacks: Vec<Callback>,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("fence", &self.fence).finish_non_exhaustive()
    }
}

impl Watched {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.state().is_lost
    }

    /// Says so, once.
    pub(crate) fn lose(&self) {
        let callbacks = {
            let mut state = self.state();
            state.is_lost = true;
            std::mem::take(&mut state.callbacks)
        };
        self.lost.notify_all();
        for callback in callbacks {
            callback();
        }
    }

    /// Whether somebody took it away, as far as a member can be asked.
    pub(crate) fn is_stolen(&self, exchange: &Exchange) -> bool {
        let Some(target) = &self.check else { return false };
        let answer = exchange.send(&Request {
            method: "POST",
            target: &|| target.clone(),
            fields: &Vec::new,
            body: json!({ "fence": self.fence }).to_string().as_bytes(),
            patience: ATTEMPT,
            attempt: ATTEMPT,
            cancel: &Cancel::new(),
        });
        let told = answer.ok().and_then(|(_, body)| serde_json::from_slice::<serde_json::Value>(&body).ok());
        told.is_some_and(|told| told["valid"] == false)
    }
}

/// A grant: it is given back when this is dropped. Its fence goes along with every write to what it protects.
#[must_use = "what is not kept is given back at once"]
pub struct Held {
    object: Object,
    session: Arc<Session>,
    watched: Arc<Watched>,
    /// How it is given back.
    back: Option<Call>,
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<held {}, fence {}>", self.object, self.watched.fence)
    }
}

impl Held {
    pub(crate) fn new(object: &Object, session: Arc<Session>, fence: i64, back: Call) -> Self {
        let check = (object.of_type() == "lock").then(|| format!("{}/check", object.path()));
        let watched = Arc::new(Watched { fence, check, state: Mutex::default(), lost: Condvar::new() });
        session.hold(&watched);
        Self { object: object.clone(), session, watched, back: Some(back) }
    }

    /// Rises with every grant of that name: hand it to whatever you write to, and have it refuse smaller ones.
    #[must_use]
    pub fn fence(&self) -> i64 {
        self.watched.fence
    }

    /// Whether somebody else may hold it by now. It never becomes false again.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        if self.session.is_late() {
            self.watched.lose();
        }
        self.watched.is_lost()
    }

    /// Waits until it is lost, at most so long. Whether it is.
    #[must_use]
    pub fn wait_lost(&self, limit: Duration) -> bool {
        let state = self.watched.state();
        let waited = self.watched.lost.wait_timeout_while(state, limit, |state| !state.is_lost);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_lost
    }

    /// Has something done once it is lost, by the thread that notices. It must not block: others wait to be told.
    pub fn on_lost(&self, callback: impl FnOnce() + Send + 'static) {
        let mut state = self.watched.state();
        if !state.is_lost {
            state.callbacks.push(Box::new(callback));
            return;
        }
        drop(state);
        callback();
    }

    /// Gives it back. What is lost has nothing to give back.
    pub fn release(mut self) -> Result<()> {
        self.give_back()
    }

    fn give_back(&mut self) -> Result<()> {
        let Some(back) = self.back.take() else { return Ok(()) };
        self.session.forget(&self.watched);
        match self.object.perform(&back) {
            Err(error) if GONE.iter().any(|gone| error.is(gone)) => Ok(()),
            outcome => outcome.map(drop),
        }
    }
}

impl Drop for Held {
    /// A failure is nobody's to handle: the session's end frees what it holds.
    fn drop(&mut self) {
        let _ = self.give_back();
    }
}
