//! The AdminServer: which command a page is, who may run it, and when.

use std::io::Read;
use std::sync::Arc;

use net_http::{Request, Response};
use node_pages::Section;
use serde_json::{Value, json};

use super::commands::{COMMANDS, Command, CommandError, Kind};
use super::{guarded, lists};
use crate::inspect::{AdminAct, Inspect};

/// The commands, as pages below one path.
pub(crate) struct AdminServer {
    server: Arc<dyn Inspect>,
    url: String,
}

impl AdminServer {
    /// Of this server, below `url`.
    pub(crate) fn new(server: Arc<dyn Inspect>, url: &str) -> Self {
        Self { server, url: url.to_owned() }
    }
}

impl Section for AdminServer {
    fn answer(&self, name: &str, request: &Request, body: &mut dyn Read) -> Response {
        route(self.server.as_ref(), &self.url, name, request, body)
    }
}

/// The answer to a command, or the page of links to all of them.
fn route(server: &dyn Inspect, url: &str, name: &str, request: &Request, body: &mut dyn Read) -> Response {
    if name.is_empty() {
        let link = |command: &Command| format!("<a href=\"{url}/{0}\">{0}</a>\n<br/>\n", command.name);
        return Response::html(COMMANDS.iter().map(link).collect());
    }
    let command = COMMANDS.iter().find(|command| command.is_called(name));
    if command.is_none_or(|command| command.needs_tree) && !server.is_serving() {
        return failed(name, &CommandError::NotServing);
    }
    let Some(command) = command else { return failed(name, &CommandError::Unknown(name.to_owned())) };
    match command.kind {
        Kind::Guarded => guarded::run(server, command.name, name, request, body),
        Kind::List => lists::answer(server, command, request),
        Kind::Figures | Kind::Change => answer_to(server, command, request),
    }
}

/// The answer to a command that anybody may run.
pub(super) fn answer_to(server: &dyn Inspect, command: &Command, request: &Request) -> Response {
    let outcome = (command.answer)(server, request);
    if command.kind == Kind::Change {
        let act = AdminAct { user: "", ip: request.peer, command: command.name };
        let refused = outcome.as_ref().err().map(ToString::to_string);
        server.record_act(&act, refused.as_deref().map_or(Ok(()), Err));
    }
    match outcome {
        Ok(mut fields) => {
            fields["command"] = Value::from(command.name);
            fields["error"] = Value::Null;
            Response::json(200, &fields)
        }
        Err(error) => failed(command.name, &error),
    }
}

fn failed(command: &str, error: &CommandError) -> Response {
    Response::json(200, &json!({"command": command, "error": error.to_string()}))
}
