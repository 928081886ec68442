//! A member's answer to the AdminServer's command `ensemble`: its own state and what it knows of the others.

use std::io;
use std::time::Duration;

use serde_json::Value;

use crate::http::{self, Tls};

/// One member's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Its number; 0 for a server alone.
    pub(crate) member: u64,
    /// `leader`, `follower`, `observer`, `looking` or `standalone`.
    pub(crate) role: String,
    pub(crate) serving: bool,
    /// The leader's number, as far as it knows; 0 for none.
    pub(crate) leader: u64,
    pub(crate) term: u64,
    pub(crate) pid: u64,
    pub(crate) version: String,
    pub(crate) zxid: String,
    pub(crate) sessions: u64,
    pub(crate) connections: u64,
    pub(crate) uptime_ms: u64,
    /// The last snapshot's zxid, and its time in seconds since 1970.
    pub(crate) snapshot: Option<(String, i64)>,
    pub(crate) client_port: Option<u64>,
    /// Numbers of members that connect to it with data of another ensemble.
    pub(crate) other_ensembles: Vec<u64>,
    /// All members; none of a server alone.
    pub(crate) members: Vec<Sight>,
}

/// A member as another sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sight {
    pub(crate) member: u64,
    pub(crate) host: String,
    pub(crate) peer_port: u64,
    pub(crate) client_address: Option<String>,
    pub(crate) participant: bool,
    pub(crate) connected: bool,
    /// Entries and milliseconds: a leader knows.
    pub(crate) lag: Option<(u64, u64)>,
}

/// Asks.
pub(crate) fn ask(address: &str, timeout: Duration, tls: &Tls) -> io::Result<Answer> {
    let body = http::get(address, "/commands/ensemble", timeout, tls)?;
    let odd = |what: &str| io::Error::new(io::ErrorKind::InvalidData, String::from(what));
    let value: Value =
        serde_json::from_slice(&body).map_err(|_| odd("the answer is none of an AdminServer's"))?;
    parse(&value).ok_or_else(|| odd("what answers is no Diwan that knows the command `ensemble`"))
}

fn parse(value: &Value) -> Option<Answer> {
    let number = |name: &str| value[name].as_u64();
    let text = |name: &str| value[name].as_str().map(String::from);
    let snapshot = &value["last_snapshot"];
    Some(Answer {
        member: number("member")?,
        role: text("role")?,
        serving: value["serving"].as_bool()?,
        leader: number("leader")?,
        term: number("term")?,
        pid: number("pid")?,
        version: text("version")?,
        zxid: text("zxid")?,
        sessions: number("sessions")?,
        connections: number("connections")?,
        uptime_ms: number("uptime_ms")?,
        snapshot: snapshot["zxid"].as_str().map(String::from).zip(snapshot["timestamp"].as_i64()),
        client_port: number("client_port"),
        // Older builds do not say.
        other_ensembles: value["members_of_other_ensembles"]
            .as_array()
            .map(|numbers| numbers.iter().filter_map(Value::as_u64).collect())
            .unwrap_or_default(),
        members: value["members"].as_array()?.iter().map(sight).collect::<Option<_>>()?,
    })
}

fn sight(value: &Value) -> Option<Sight> {
    Some(Sight {
        member: value["member"].as_u64()?,
        host: value["host"].as_str().map(String::from)?,
        peer_port: value["peer_port"].as_u64()?,
        client_address: value["client_address"].as_str().map(String::from),
        participant: value["participant"].as_bool()?,
        connected: value["connected"].as_bool()?,
        lag: value["lag_entries"].as_u64().zip(value["lag_ms"].as_u64()),
    })
}

impl Answer {
    /// The members: they identify the ensemble.
    pub(crate) fn ensemble(&self) -> Vec<(u64, &str, u64)> {
        self.members.iter().map(|sight| (sight.member, sight.host.as_str(), sight.peer_port)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_is_read_and_anything_else_is_not() {
        let member = json!({"member": 2, "host": "h", "peer_port": 2888, "client_address": null,
            "participant": true, "connected": false, "lag_entries": 3, "lag_ms": 40});
        let mut value = json!({"member": 1, "role": "leader", "serving": true, "leader": 1, "term": 4,
            "pid": 99, "version": "v", "zxid": "0x1", "sessions": 2, "connections": 3, "uptime_ms": 5,
            "last_snapshot": {"zxid": "0x1", "timestamp": 7}, "client_port": 2181, "members": [member]});
        let answer = parse(&value).unwrap();
        assert_eq!(answer.members[0].lag, Some((3, 40)));
        assert_eq!(answer.snapshot, Some((String::from("0x1"), 7)));
        assert!(answer.other_ensembles.is_empty());
        value["members_of_other_ensembles"] = json!([2, 3]);
        assert_eq!(parse(&value).unwrap().other_ensembles, [2, 3]);
        assert_eq!(answer.ensemble(), [(2, "h", 2888)]);
        value["last_snapshot"] = Value::Null;
        assert_eq!(parse(&value).unwrap().snapshot, None);
        value["role"] = Value::Null;
        assert_eq!(parse(&value), None);
        assert_eq!(parse(&json!({"command": "ensemble", "error": "Unknown command: ensemble"})), None);
    }
}
