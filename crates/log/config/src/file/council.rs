//! Where the council is: `zookeeper.connect` names its servers, or those of an Apache ZooKeeper.

use crate::file::other_names::{ZOOKEEPER_CONNECT, ZOOKEEPER_SESSION_TIMEOUT};
use crate::file::problem::Problem;
use crate::layers::Overrides;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Council {
    /// The servers as HOST:PORT.
    pub servers: Vec<String>,
    /// The path below which the brokers keep their data, as `/PATH`; nothing for the root.
    pub path: Option<String>,
    /// `zookeeper.session.timeout.ms`, if it is set.
    pub session_timeout_ms: Option<u32>,
}

/// The port of a server that is named without one.
const PORT: u16 = 2181;

/// Reads HOST:PORT,HOST:PORT/PATH; nothing if the file does not name the council.
///
/// # Errors
/// It cannot be read.
pub(crate) fn read(file: &Overrides, line: impl Fn(&str) -> usize) -> Result<Option<Council>, Problem> {
    let Some(text) = file.get(ZOOKEEPER_CONNECT).map(|text| text.trim()) else { return Ok(None) };
    let wrong = |what: String| {
        let hint = "write HOST:PORT,HOST:PORT/PATH: the servers of the council, or of an Apache ZooKeeper";
        Problem::of(ZOOKEEPER_CONNECT, line(ZOOKEEPER_CONNECT), what).hint(hint)
    };
    let (servers, path) = match text.find('/') {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let servers = servers.split(',').map(str::trim).filter(|server| !server.is_empty());
    let servers: Option<Vec<String>> = servers.map(server).collect();
    let servers = servers.ok_or_else(|| wrong("has a server that is not HOST:PORT".into()))?;
    if servers.is_empty() {
        return Err(wrong("names no server".into()));
    }
    let path = path.trim_end_matches('/');
    if path.contains("//") || path.split('/').any(|part| matches!(part, "." | "..")) {
        return Err(wrong(format!("has `{path}`, which is no path")));
    }
    let path = Some(path.to_owned()).filter(|path| !path.is_empty());
    Ok(Some(Council { servers, path, session_timeout_ms: session_timeout(file, line)? }))
}

fn session_timeout(file: &Overrides, line: impl Fn(&str) -> usize) -> Result<Option<u32>, Problem> {
    let key = ZOOKEEPER_SESSION_TIMEOUT;
    let Some(text) = file.get(key) else { return Ok(None) };
    match text.trim().parse() {
        Ok(ms) if ms > 0 => Ok(Some(ms)),
        _ => Err(Problem::of(key, line(key), "is no number of milliseconds")),
    }
}

fn server(text: &str) -> Option<String> {
    let has_port = !text.ends_with(']') && text.contains(':');
    if !has_port {
        return Some(format!("{text}:{PORT}"));
    }
    let (host, port) = text.rsplit_once(':')?;
    (!host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)).then(|| text.into())
}
