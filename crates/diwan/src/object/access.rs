//! Which servers are asked, and what their answers mean.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::time::{Duration, Instant};

use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use serde_json::Value;

use super::complete;
use super::credentials::CredentialArguments;
use super::encryption::{self, EncryptionArguments};
use crate::http::{self, Page, Tls};
use crate::log::failure::{Done, Failure};

/// How long a server may be silent beyond the time that a call waits.
const PATIENCE: Duration = Duration::from_secs(45);
/// For how long servers are tried that cannot be reached, or that know of no leader.
const TRYING_MAX: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

/// Where objects are served.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct AccessArguments {
    /// Servers of objects; any of them that answers will do.
    #[arg(
        short,
        long,
        value_name = "HOST:PORT[,..]",
        value_delimiter = ',',
        env = "DIWAN_OBJECTS",
        default_value = "127.0.0.1:7180"
    )]
    pub(crate) server: Vec<String>,

    #[command(flatten)]
    pub(crate) encryption: EncryptionArguments,

    #[command(flatten)]
    pub(crate) credentials: CredentialArguments,
}

/// An object as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectName {
    pub(crate) kind: String,
    pub(crate) name: String,
}

impl FromStr for ObjectName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some((kind, name)) if !kind.is_empty() && !name.is_empty() => {
                Ok(Self { kind: kind.into(), name: name.into() })
            }
            _ => Err(String::from("an object is written TYPE/NAME, for example `counter/visits`")),
        }
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

impl ObjectName {
    /// The path of its resource.
    pub(crate) fn path(&self) -> String {
        format!("/v1/objects/{}/{}", escaped(&self.kind), escaped(&self.name))
    }
}

/// The argument that names an object.
#[derive(Clone, Debug, Args)]
pub(crate) struct NameArgument {
    /// Its type and its name.
    #[arg(value_name = "TYPE/NAME", add = ArgValueCompleter::new(complete::objects))]
    pub(crate) object: ObjectName,
}

/// Text as a part of a path, or of a query.
pub(crate) fn escaped(text: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(escape).collect()
}

/// A request.
pub(crate) struct Request<'a> {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: &'a [u8],
    /// Whether it may be sent again when it is not known what became of it.
    pub(crate) is_repeatable: bool,
}

impl Request<'_> {
    pub(crate) fn get(path: String) -> Self {
        Self { method: "GET", path, headers: Vec::new(), body: &[], is_repeatable: true }
    }
}

/// A server's answer: its status and its JSON, or its bytes.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Value,
    pub(crate) text: String,
    /// If it says that it is bytes.
    pub(crate) bytes: Option<Vec<u8>>,
}

impl AccessArguments {
    /// Asks a server, another one if it cannot be reached, and all of them again for a while.
    ///
    /// # Errors
    /// Nobody answers, or the answer is a problem.
    pub(crate) fn ask(&self, request: &Request<'_>) -> Done<Reply> {
        let until = Instant::now() + TRYING_MAX;
        let who = self.credentials.header()?;
        loop {
            let (mut last, mut unencrypted) = (None, None);
            for server in &self.server {
                let (address, tls) = self.encryption.server(server)?;
                match ask_one((address, &tls), request, who.as_ref(), PATIENCE) {
                    Ok(reply) if is_to_be_tried_elsewhere(&reply) => last = Some(problem(&reply)),
                    Ok(reply) if reply.status < 300 => return Ok(reply),
                    Ok(reply) => return Err(problem(&reply)),
                    Err(error) if encryption::refused(server, &error).is_some() => {
                        unencrypted = encryption::refused(server, &error);
                    }
                    Err(error) if is_unsent(&error) || request.is_repeatable => {
                        last = Some(unreachable(server, &error));
                    }
                    Err(error) => return Err(lost(server, &error)),
                }
            }
            if let Some(failure) = unencrypted.filter(|_| last.is_none()) {
                // Asking again changes nothing.
                return Err(failure);
            }
            if Instant::now() > until {
                return Err(last.unwrap_or_else(|| Failure::new("no server is named")));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Asks one server, whose answer is read piece by piece. It may be silent for `patience`.
    ///
    /// # Errors
    /// It does not answer, or the answer is a problem.
    pub(crate) fn open(&self, server: &str, request: &Request<'_>, patience: Duration) -> Done<Page> {
        let who = self.credentials.header()?;
        let (address, tls) = self.encryption.server(server)?;
        let line = (request.method, request.path.as_str());
        let headers: Vec<_> = request.headers.iter().chain(who.as_ref()).cloned().collect();
        let page = http::send((address, &tls), line, &headers, request.body, patience);
        let page = page.map_err(|error| unreachable(server, &error))?;
        if page.status < 300 { Ok(page) } else { Err(problem(&reply_of(page).map_err(Failure::from)?)) }
    }

    /// Asks each server once, until one has done it. Each may be silent for `patience`. Gives what the last one says that
    /// answered.
    pub(crate) fn ask_each_once(&self, request: &Request<'_>, patience: Duration) -> Option<Reply> {
        let mut last = None;
        let who = self.credentials.header().ok()?;
        for server in &self.server {
            let Ok((address, tls)) = self.encryption.server(server) else { continue };
            match ask_one((address, &tls), request, who.as_ref(), patience) {
                Ok(reply) if reply.status < 300 => return Some(reply),
                Ok(reply) => last = Some(reply),
                Err(_) => {}
            }
        }
        last
    }
}

fn ask_one(
    server: (&str, &Tls),
    request: &Request<'_>,
    who: Option<&(&'static str, String)>,
    patience: Duration,
) -> io::Result<Reply> {
    let line = (request.method, request.path.as_str());
    let headers: Vec<_> = request.headers.iter().chain(who).cloned().collect();
    reply_of(http::send(server, line, &headers, request.body, patience)?)
}

fn reply_of(page: Page) -> io::Result<Reply> {
    let status = page.status;
    let is_bytes = page.header("content-type") == Some("application/octet-stream");
    let bytes = page.read()?;
    let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
    let body = serde_json::from_str(&text).ok().filter(|_| !is_bytes).unwrap_or(Value::Null);
    Ok(Reply { status, body, text, bytes: is_bytes.then_some(bytes) })
}

/// Whether nothing of a request has reached a server.
fn is_unsent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound | io::ErrorKind::AddrNotAvailable
    )
}

/// Whether the server says that the request had no effect, and that it may be tried at once, or that it still compiles: another
/// one may be done.
fn is_to_be_tried_elsewhere(reply: &Reply) -> bool {
    let is_compiling = reply.body["type"] == "urn:diwan:problem:type-not-ready";
    reply.status == 503 && (reply.body["retry"] == "now" || is_compiling) && reply.body["effect"] == "none"
}

fn unreachable(server: &str, error: &io::Error) -> Failure {
    Failure::hinted(
        format!("objects cannot be reached at {server}: {error}"),
        "name a server with `--server HOST:PORT`; `diwan up` and `diwan serve` serve objects at 127.0.0.1:7180",
    )
}

fn lost(server: &str, error: &io::Error) -> Failure {
    Failure::hinted(
        format!("{server} was lost before it answered: {error}; whether the call took effect is not known"),
        "name the call with `--key KEY`: then it can be repeated, and takes effect once",
    )
}

/// What a problem says.
fn problem(reply: &Reply) -> Failure {
    let body = &reply.body;
    let slug = body["type"].as_str().and_then(|kind| kind.rsplit(':').next());
    let Some(slug) = slug else {
        return Failure::new(format!("the server answers with status {}: {}", reply.status, reply.text));
    };
    let detail = body["detail"].as_str().unwrap_or_default();
    let what = format!("{slug}: {detail}");
    let hint = match slug {
        "no-such-type" => {
            "`diwan object type list` shows the types of users; the built-in ones are in the manual"
        }
        "no-such-object" => {
            "`diwan object list` shows the objects; one of a user's type is created by `diwan object create`"
        }
        "type-rejected" => "mend the module: what it may not do is in the documentation of types",
        "type-not-ready" => "wait until the members have compiled it: `diwan object type list` shows that",
        "in-use" => {
            "`diwan object migrate --all --type TYPE --to VERSION` takes its objects to another version"
        }
        "not-migrated" => {
            "the object is as it was: mend the new version's `migrate`, or the old one's `save`"
        }
        "quarantined" => "`diwan object inspect` says why; `diwan object release` has it run again",
        "tls-required" => "name the authority that signed the servers' certificates: `--tls-ca FILE`",
        "unauthenticated" => {
            "send a token with `--token-file FILE` or `DIWAN_TOKEN`; an administrator makes one with `diwan object token create`"
        }
        "forbidden" => {
            "`diwan object access show` shows your rights; an administrator gives more with `diwan object access allow`"
        }
        "no-leader" => "a majority of the members must run: `diwan status` shows them",
        "disk-full" => "make room on the members' disks",
        _ if body["retry"] == "later" => "try again later",
        _ if body["effect"] == "unknown" => "repeat the call with the same `--key`: it takes effect once",
        _ => return Failure::new(what),
    };
    Failure::hinted(what, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_an_object_is_its_type_and_its_name() {
        let name: ObjectName = "lock/a b/c".parse().expect("a name");
        assert_eq!((name.kind.as_str(), name.name.as_str()), ("lock", "a b/c"));
        assert_eq!(name.path(), "/v1/objects/lock/a%20b%2Fc");
        for wrong in ["lock", "/x", "lock/"] {
            assert!(wrong.parse::<ObjectName>().is_err(), "{wrong}");
        }
    }
}
