//! The commands that read or replace all data: `snapshot` and `restore`. Each is for whom [`crate::admin_auth`] lets in,
//! not more often than configured, and is written down whether it was granted or refused.

use node_threads::Wait;
use std::io::Read;
use std::time::Duration;

use serde_json::{Value, json};

use crate::admin_auth::Access;
use crate::inspect::{AdminAct, Inspect};
use crate::restore::Refusal;
use net_http::{Body, Request, Response};

const NOT_ALONE: &str = "an ensemble agrees on its tree, so that no single member's can be replaced";
const NOT_ALONE_HINT: &str = "stop all members, make a fresh data directory for one of them with `diwan council \
    restore FILE --config zoo.cfg`, start it, then start the others with empty directories";
const NO_LENGTH: &str = "restore is asked for by POST, with the snapshot as its content and a Content-Length";

/// A refusal before or an error after the command was begun.
struct Failure {
    status: u16,
    error: String,
    hint: Option<String>,
    retry_after_s: Option<u64>,
}

impl Failure {
    fn new(status: u16, error: impl Into<String>) -> Self {
        Self { status, error: error.into(), hint: None, retry_after_s: None }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    fn response(self, command: &str) -> Response {
        let mut value = json!({"command": command, "error": self.error});
        if let Some(hint) = self.hint {
            value["hint"] = Value::from(hint);
        }
        let mut response = Response::json(self.status, &value);
        let seconds = self.retry_after_s.map(|seconds| ("Retry-After", seconds.to_string()));
        response.headers.extend(seconds);
        response
    }
}

/// Runs `command` (`snapshot` or `restore`) if the caller may. `shown` is the name that was asked for.
pub(super) fn run(
    server: &dyn Inspect,
    command: &'static str,
    shown: &str,
    request: &Request,
    body: &mut dyn Read,
) -> Response {
    let user = match server.authorize(request.authorization.as_deref(), request.peer) {
        Access::Granted { user } => user,
        Access::Refused(denial) => {
            server.record_denial(request.peer, command, &denial);
            let failure = Failure::new(denial.status, denial.error).hint(denial.hint);
            return Failure { retry_after_s: denial.retry_after_s, ..failure }.response(shown);
        }
    };
    let outcome = match command {
        "snapshot" => snapshot(server, request),
        _ => restore(server, request, body),
    };
    let act = AdminAct { user: &user, ip: request.peer, command };
    match outcome {
        Ok(response) => {
            server.record(&act, Ok(()));
            response
        }
        Err(failure) => {
            server.record(&act, Err(&failure.error));
            failure.response(command)
        }
    }
}

/// Takes a snapshot and, unless told otherwise, sends it.
fn snapshot(server: &dyn Inspect, request: &Request) -> Result<Response, Failure> {
    let file = match server.snapshot() {
        None => return Err(switched_off("admin.snapshot.enabled")),
        Some(Err(wait)) => return Err(too_soon("a snapshot was taken", wait, server.rate_limit())),
        Some(Ok(Err(error))) => return Err(Failure::new(500, error.to_string())),
        Some(Ok(Ok(file))) => file,
    };
    let streaming = request.value("streaming").is_none_or(|value| value.eq_ignore_ascii_case("true"));
    let mut response = Response::json(200, &json!({"command": "snapshot", "error": null}));
    response.headers = vec![("last_zxid", file.zxid.to_string()), ("snapshot_size", file.bytes.to_string())];
    if streaming {
        response.headers.push(("Content-Disposition", format!("attachment; filename=\"{}\"", file.name)));
        response.content_type = "application/octet-stream";
        response.body = Body::File(file.file, file.bytes);
    }
    Ok(response)
}

/// Puts what is sent in the place of all that is there.
fn restore(server: &dyn Inspect, request: &Request, body: &mut dyn Read) -> Result<Response, Failure> {
    let Some(bytes) = request.content_length.filter(|_| request.method == "POST") else {
        return Err(Failure::new(400, NO_LENGTH));
    };
    match server.restore(body, bytes) {
        None => Err(switched_off("admin.restore.enabled")),
        Some(Err(wait)) => Err(too_soon("a snapshot was restored", wait, server.rate_limit())),
        Some(Ok(Err(Refusal::NotAlone))) => Err(Failure::new(501, NOT_ALONE).hint(NOT_ALONE_HINT)),
        Some(Ok(Err(Refusal::Unsound(error)))) => {
            let hint = "the server goes on with what it had; `diwan council verify FILE` checks a file";
            Err(Failure::new(400, format!("nothing was restored: {error}")).hint(hint))
        }
        Some(Ok(Err(Refusal::Failed(error)))) => Err(Failure::new(500, error)),
        Some(Ok(Ok(zxid))) => {
            Ok(Response::json(200, &json!({"last_zxid": zxid.0, "command": "restore", "error": null})))
        }
    }
}

fn switched_off(key: &str) -> Failure {
    Failure::new(503, "the command is switched off").hint(format!("`{key}=true` switches it on"))
}

fn too_soon(what: &str, wait: Wait, interval: Duration) -> Failure {
    let Wait::For(left) = wait else {
        let failure = Failure::new(429, "the same command is being run already");
        return Failure { retry_after_s: Some(1), ..failure };
    };
    let ago = interval.saturating_sub(left).as_secs();
    let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
    let error = format!("{what} {ago} s ago, and this may be done once in {} s", interval.as_secs_f64());
    let hint = format!("try again in {seconds} s, or lower `admin.rateLimiterIntervalInMS`");
    Failure { retry_after_s: Some(seconds), ..Failure::new(429, error).hint(hint) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_that_comes_too_soon_is_told_when_to_come_again() {
        let failure =
            too_soon("it was done", Wait::For(Duration::from_millis(287_500)), Duration::from_secs(300));
        assert_eq!(failure.error, "it was done 12 s ago, and this may be done once in 300 s");
        assert_eq!(failure.retry_after_s, Some(288));
        let response = failure.response("snapshot");
        assert_eq!(
            (response.status, &response.headers[..]),
            (429, &[("Retry-After", String::from("288"))][..])
        );
    }
}
