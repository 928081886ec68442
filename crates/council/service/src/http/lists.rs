//! The commands that list everything of a kind: connections, sessions with their ephemeral nodes, watches. One is
//! answered at a time, and long lists are for the super user, so that callers without a password cannot keep the
//! server busy.

use serde_json::{Value, json};

use super::admin;
use super::commands::Command;
use crate::admin_auth::Access;
use crate::inspect::{AdminAct, Inspect};
use net_http::{Request, Response};

/// Entries of a list that a caller without a password gets.
const ENTRIES_MAX: u64 = 20_000;

const TOO_LONG_HINT: &str =
    "the super user gets it whole: send the header `Authorization: digest super:PASSWORD`";

/// Answers with a list, or says why not.
pub(super) fn answer(server: &dyn Inspect, listed: &Command, request: &Request) -> Response {
    let command = listed.name;
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
    let Some(turn) = server.lists().take() else {
        let mut response = refused(429, command, "others are being answered", "try again later");
        response.headers.push(("Retry-After", String::from("1")));
        return response;
    };
    let response = admin::answer_to(server, listed, request);
    turn.end();
    response
}

fn refused(status: u16, command: &str, error: &str, hint: &str) -> Response {
    Response::json(status, &json!({"command": command, "error": error, "hint": Value::from(hint)}))
}
