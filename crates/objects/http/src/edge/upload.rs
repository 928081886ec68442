//! A module on its way into the log: piece by piece, then the version that is made of it, then the wait until that is ready.
//!
//! One piece is under way at a time, and the next one follows its answer, so an upload holds up nobody.

use objects_replica::edge::{Consistency, Question, Request};
use objects_state::guest::VersionHash;
use objects_state::limits::PIECE_BYTES;
use objects_state::{
    Caller, Command, DESCRIPTION_SECTION, Identity, Json, Origin, Outcome, Problem, Reply, Slug,
    custom_section,
};
use sha2::{Digest as _, Sha256};

use crate::arguments;
use crate::message::{Fault, HttpResponse};
use crate::presented::Presented;
use crate::route;

/// How often it is asked whether a version is ready, milliseconds.
pub(crate) const ASK_MS: u64 = 25;
/// How often at the most: after that the client is told to ask itself.
const ASKS_MAX: u32 = 2_400;

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The piece from there on is under way.
    Pieces(usize),
    Put,
    Waiting(VersionHash, u32),
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Upload {
    name: String,
    /// Who brings it.
    presented: Presented,
    module: Vec<u8>,
    hash: [u8; 32],
    source: Option<String>,
    description: String,
    stage: Stage,
}

/// What follows an answer of the core.
pub(crate) enum Next {
    /// The core is to be asked again, at once.
    Ask(Box<Upload>),
    /// The core is to be asked again in a while.
    AskLater(Box<Upload>),
    Respond(HttpResponse),
}

impl Upload {
    /// Of a module, whose description is one of its custom sections.
    pub(crate) fn of_module(name: String, presented: Presented, module: &[u8]) -> Result<Self, Fault> {
        let section = custom_section(module, DESCRIPTION_SECTION).ok_or_else(|| {
            let detail = format!(
                "the body is no WebAssembly module with a custom section `{DESCRIPTION_SECTION}`, which names its methods"
            );
            Fault::argument("", detail)
        })?;
        let description = String::from_utf8(section.to_vec())
            .map_err(|_| Fault::argument("", format!("the section `{DESCRIPTION_SECTION}` is no text")))?;
        let (hash, stage) = (Sha256::digest(module).into(), Stage::Pieces(0));
        Ok(Self { name, presented, module: module.to_vec(), hash, source: None, description, stage })
    }

    /// Of a source for a runner that is here: `{"runner":HASH,"source":TEXT,"description":{..}}`. Without a description
    /// the runner says what the source is.
    pub(crate) fn of_source(name: String, presented: Presented, body: &[u8]) -> Result<Self, Fault> {
        let fields = arguments::any_body(body)?;
        arguments::only(&fields, &["runner", "source", "description"])?;
        let missing = |name: &str| Fault::argument(name, "it is missing");
        let runner = arguments::text(&fields, "runner")?.ok_or_else(|| missing("runner"))?;
        let source = arguments::text(&fields, "source")?.ok_or_else(|| missing("source"))?;
        let description = match arguments::field(&fields, "description") {
            Some(description @ Json::Object(_)) => description.canonical(),
            None => String::from("{}"),
            Some(_) => return Err(Fault::argument("description", "no JSON object")),
        };
        let hash = route::hash(&runner)?.0;
        Ok(Self {
            name,
            presented,
            module: Vec::new(),
            hash,
            source: Some(source),
            description,
            stage: Stage::Put,
        })
    }

    /// What the core is asked next.
    pub(crate) fn request(&self, origin: Origin) -> Request {
        self.presented.wrap(self.plain_request(origin))
    }

    fn plain_request(&self, origin: Origin) -> Request {
        let principal = self.presented.principal();
        let caller = Caller { origin, principal, identity: Identity::Anonymous };
        let command = match self.stage {
            Stage::Pieces(offset) => {
                let end = self.module.len().min(offset + PIECE_BYTES);
                let bytes = self.module[offset..end].to_vec();
                let (hash, size) = (self.hash, self.module.len() as u64);
                Command::TypePiece { caller, hash, size, offset: offset as u64, bytes }
            }
            Stage::Put => Command::TypePut {
                caller,
                name: self.name.clone(),
                module: self.hash,
                source: self.source.clone().map(String::into_bytes),
                description: self.description.clone(),
            },
            Stage::Waiting(version, _) => {
                return Request::Query {
                    origin,
                    principal: self.presented.principal(),
                    question: Question::Version(self.name.clone(), version),
                    consistency: Consistency::Linearizable,
                    min_position: None,
                    proof: None,
                };
            }
        };
        Request::Command { command, secret_hash: None }
    }

    /// The core has answered.
    pub(crate) fn answered(mut self: Box<Self>, outcome: &Outcome) -> Next {
        let result = match outcome {
            Outcome::Done(result) => result,
            Outcome::Refused(problem) => return Next::Respond(HttpResponse::problem(problem)),
        };
        let Ok(Json::Object(fields)) = Json::parse(result.as_bytes()) else {
            return Next::Respond(HttpResponse::json(200, result.clone()));
        };
        let text = |name: &str| match arguments::field(&fields, name) {
            Some(Json::Text(text)) => text.as_str(),
            _ => "",
        };
        match self.stage {
            Stage::Pieces(_) => {
                // Another upload of the same module may be ahead of this one.
                let received = arguments::field(&fields, "received").and_then(Json::integer).unwrap_or(0);
                let received = usize::try_from(received).unwrap_or(0);
                self.stage = if received < self.module.len() { Stage::Pieces(received) } else { Stage::Put };
                Next::Ask(self)
            }
            Stage::Put if text("state") == "ready" => Next::Respond(self.done(200, text("version"), "ready")),
            Stage::Put => match route::hash(text("version")) {
                Ok(version) => {
                    self.stage = Stage::Waiting(version, 0);
                    Next::AskLater(self)
                }
                Err(fault) => Next::Respond(fault.response()),
            },
            Stage::Waiting(version, asked) => match text("state") {
                "ready" => Next::Respond(self.done(201, &version.to_string(), "ready")),
                "rejected" => {
                    Next::Respond(HttpResponse::problem(&Problem::new(Slug::TypeRejected, text("rejected"))))
                }
                _ if asked >= ASKS_MAX => Next::Respond(self.done(202, &version.to_string(), "preparing")),
                _ => {
                    self.stage = Stage::Waiting(version, asked + 1);
                    Next::AskLater(self)
                }
            },
        }
    }

    fn done(&self, status: u16, version: &str, state: &str) -> HttpResponse {
        let body = Reply::new().text("type", &self.name).text("version", version).text("state", state);
        HttpResponse::json(status, body.finish())
            .with("location", format!("/v1/types/{}/{version}", self.name))
    }
}
