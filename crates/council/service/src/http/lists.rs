//! The commands that list everything of a kind: connections, sessions with their ephemeral nodes, watches. One is
//! answered at a time, and long lists are for the super user, so that callers without a password cannot keep the
//! server busy.

use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use super::admin;
use crate::access::Access;
use crate::inspect::{AdminAct, Inspect};
use net_http::{Request, Response};

/// Entries of a list that a caller without a password gets.
const ENTRIES_MAX: u64 = 20_000;
/// How long a caller waits for its turn.
const PATIENCE: Duration = Duration::from_secs(4);
/// The longest pause between two lists.
const PAUSE_MAX: Duration = Duration::from_secs(1);

const TOO_LONG_HINT: &str =
    "the super user gets it whole: send the header `Authorization: digest super:PASSWORD`";

/// Whose turn it is. After a list there is a pause as long as the list took, so that lists take half of one
/// processor's time at the most.
#[derive(Debug, Default)]
pub(crate) struct ListTurn {
    next: Mutex<Option<Instant>>,
}

impl ListTurn {
    /// Waits for the turn; nothing when it takes too long.
    fn take(&self) -> Option<MutexGuard<'_, Option<Instant>>> {
        let next = self.next.try_lock_for(PATIENCE)?;
        if let Some(at) = *next {
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
        }
        Some(next)
    }
}

/// The name as a list's, if it is one.
pub(super) fn named(name: &str) -> Option<&'static str> {
    let lists = ["connections", "dump", "stats", "watch_summary", "watches", "watches_by_path"];
    lists.into_iter().find(|list| *list == name)
}

/// Answers with a list, or says why not.
pub(super) fn answer(server: &dyn Inspect, command: &'static str, request: &Request) -> Response {
    let whole = match request.authorization.as_deref() {
        None => false,
        Some(shown) => match server.authorize(Some(shown), request.peer) {
            Access::Granted { user } => {
                server.record(&AdminAct { user: &user, ip: request.peer, command }, Ok(()));
                true
            }
            Access::Refused(denial) => {
                server.record_denial(request.peer, command, &denial);
                return refused(denial.status, command, denial.error, denial.hint);
            }
        },
    };
    let entries = server.list_entries(command);
    // A summary lists nothing, however much it counts.
    if entries > ENTRIES_MAX && !whole && command != "watch_summary" {
        let error = format!(
            "the list has {entries} entries, and without a password no more than {ENTRIES_MAX} are shown"
        );
        return refused(403, command, &error, TOO_LONG_HINT);
    }
    let Some(mut next) = server.lists().take() else {
        let mut response = refused(429, command, "others are being answered", "try again later");
        response.headers.push(("Retry-After", String::from("1")));
        return response;
    };
    let began = Instant::now();
    let response = admin::answer_to(server, command, request);
    let now = Instant::now();
    *next = Some(now + now.saturating_duration_since(began).min(PAUSE_MAX));
    response
}

fn refused(status: u16, command: &str, error: &str, hint: &str) -> Response {
    Response::json(status, &json!({"command": command, "error": error, "hint": Value::from(hint)}))
}
