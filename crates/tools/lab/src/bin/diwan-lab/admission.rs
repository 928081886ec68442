//! Before a run: whether servers that the lab did not start let it in. A wrong password is reported at once, and not as
//! the failure of every point.

use std::time::Duration;

use council_client::load::Servers;
use council_client::{Error, ErrorCode};
use council_connect::{Checked, Connection, Problem};

/// Asks each server once.
///
/// # Errors
/// One of them cannot be reached within `time`, or does not accept the user.
pub(crate) fn check(ensembles: &[(String, Servers)], time: Duration) -> Checked<()> {
    let all =
        ensembles.iter().flat_map(|(_, servers)| (0..servers.list.len()).map_while(|at| servers.only(at)));
    all.into_iter().try_for_each(|server| ask(&server, time))
}

fn ask(server: &Servers, time: Duration) -> Checked<()> {
    let at = Connection { servers: server.connect_string(0), access: server.access.clone() };
    let client = at.open(council_client::Options::new())?;
    council_connect::reach(&client, &at.servers, time)?;
    // Some servers give every client a session and refuse the first request.
    match client.exists("/").wait() {
        Err(error) if is_refusal(&error) => {
            Err(Problem::new(format!("`{}` serves authenticated clients only", at.servers)).hint(
                "name a user with `--sasl-user USER` or `--auth digest:USER`, whichever the server demands",
            ))
        }
        // What else may be wrong shows in the points.
        _ => Ok(()),
    }
}

fn is_refusal(error: &Error) -> bool {
    error.is(ErrorCode::SessionClosedRequireSaslAuth) || error.is(ErrorCode::AuthFailed)
}
