//! The AdminServer's commands, one row each: their names, who may run them, when, and what they answer. JSON with the keys
//! of ZooKeeper 3.9; `ensemble` is ours.

use net_http::Request;
use serde_json::{Map, Value, json};

use council_tree::DIGEST_VERSION;
use council_wire::Zxid;

use super::ensemble;
use crate::ensemble::EnsembleView;
use crate::four_letter_words::render::java_address;
use crate::inspect::Inspect;
use crate::metrics::flat::{self, rounded};
use crate::version::version;
use crate::view::{ConnectionView, LatencyView};

/// Who may run a command, and what is written down of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Anybody: it shows figures.
    Figures,
    /// Anybody, and it is written down: it changes something.
    Change,
    /// Anybody, one at a time, and long ones the super user alone: it lists everything of a kind.
    List,
    /// The super user: it reads or replaces all data. `guarded` answers it.
    Guarded,
}

/// Why a command is not answered with fields: the error in its answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum CommandError {
    /// No clients are served now.
    #[error("This ZooKeeper instance is not currently serving requests")]
    NotServing,
    /// There is no such command.
    #[error("Unknown command: {0}")]
    Unknown(String),
    /// Another module answers it.
    #[error("it is answered elsewhere")]
    Guarded,
    /// No leader is known.
    #[error("server is not initialized")]
    NoLeader,
    /// The mask to set is missing.
    #[error("setTraceMask requires long traceMask argument")]
    NoTraceMask,
    /// The mask to set is no number.
    #[error("setTraceMask requires long traceMask argument, got {0}")]
    BadTraceMask(String),
}

/// What answers a command: the fields of its answer, or an error.
type Answer = fn(&dyn Inspect, &Request) -> Result<Value, CommandError>;

/// A command.
pub(super) struct Command {
    /// Its first name, which the page of links shows and its answer names.
    pub(super) name: &'static str,
    /// Its other names: the four-letter words are names of the commands too.
    aliases: &'static [&'static str],
    pub(super) kind: Kind,
    /// Whether it is answered only while clients are served.
    pub(super) needs_tree: bool,
    pub(super) answer: Answer,
}

impl Command {
    const fn new(name: &'static str, aliases: &'static [&'static str], kind: Kind, answer: Answer) -> Self {
        Self { name, aliases, kind, needs_tree: true, answer }
    }

    const fn figures(name: &'static str, aliases: &'static [&'static str], answer: Answer) -> Self {
        Self::new(name, aliases, Kind::Figures, answer)
    }

    const fn change(name: &'static str, aliases: &'static [&'static str], answer: Answer) -> Self {
        Self::new(name, aliases, Kind::Change, answer)
    }

    const fn list(name: &'static str, aliases: &'static [&'static str], answer: Answer) -> Self {
        Self::new(name, aliases, Kind::List, answer)
    }

    const fn guarded(name: &'static str, aliases: &'static [&'static str]) -> Self {
        Self::new(name, aliases, Kind::Guarded, |_, _| Err(CommandError::Guarded))
    }

    const fn at_any_time(mut self) -> Self {
        self.needs_tree = false;
        self
    }

    /// Whether this is one of its names.
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// All of them, as the page of links shows them.
pub(super) const COMMANDS: &[Command] = &[
    Command::figures("configuration", &["conf", "config"], |server, _| Ok(configuration(server))),
    Command::change("connection_stat_reset", &["crst"], |server, _| {
        server.reset_connection_statistics();
        Ok(json!({}))
    }),
    Command::list("connections", &["cons"], |server, _| Ok(connections(server))),
    Command::figures("dirs", &[], |server, _| Ok(dirs(server))),
    Command::list("dump", &[], |server, _| Ok(dump(server))),
    Command::figures("ensemble", &[], |server, _| Ok(ensemble::ensemble(server))).at_any_time(),
    Command::figures("environment", &["envi", "env"], |server, _| Ok(pairs(server.environment())))
        .at_any_time(),
    Command::figures("get_trace_mask", &["gtmk"], |server, _| Ok(json!({"tracemask": server.trace_mask()})))
        .at_any_time(),
    Command::figures("hash", &[], |server, _| Ok(hash(server))),
    Command::figures("initial_configuration", &["icfg"], |server, _| {
        Ok(json!({"initial_configuration": server.initial_configuration()}))
    }),
    Command::figures("is_read_only", &["isro"], |_, _| Ok(json!({"read_only": false}))),
    Command::figures("last_snapshot", &["lsnp"], |server, _| Ok(last_snapshot(server))),
    Command::figures("leader", &["lead"], |server, _| ensemble::leader(server)),
    Command::figures("monitor", &["mntr"], |server, _| Ok(monitor(server))),
    Command::figures("observer_connection_stat_reset", &["orst"], |_, _| Ok(json!({}))),
    Command::figures("observers", &["obsr"], |server, _| Ok(ensemble::observers(server))),
    Command::guarded("restore", &["rest"]),
    Command::figures("ruok", &[], |_, _| Ok(json!({}))).at_any_time(),
    Command::figures("server_stats", &["srvr"], |server, _| Ok(server_stats(server))),
    Command::change("set_trace_mask", &["stmk"], set_trace_mask).at_any_time(),
    Command::guarded("snapshot", &["snap"]),
    Command::change("stat_reset", &["srst"], |server, _| {
        server.reset_server_statistics();
        Ok(json!({}))
    }),
    Command::list("stats", &["stat"], |server, _| Ok(stats(server))),
    Command::figures("system_properties", &["sysp"], |server, _| Ok(pairs(server.properties())))
        .at_any_time(),
    Command::figures("voting_view", &[], |server, _| Ok(ensemble::voting_view(server))),
    Command::list("watch_summary", &["wchs"], |server, _| Ok(watch_summary(server))),
    Command::list("watches", &["wchc"], |server, _| Ok(watches(server))),
    Command::list("watches_by_path", &["wchp"], |server, _| {
        Ok(json!({"path_to_session_ids": server.watches().by_path()}))
    }),
    Command::figures("zabstate", &[], |server, _| Ok(ensemble::zabstate(server))),
];

fn dirs(server: &dyn Inspect) -> Value {
    let configuration = server.configuration();
    json!({"datadir_size": configuration.data_dir_bytes, "logdir_size": configuration.log_dir_bytes})
}

fn last_snapshot(server: &dyn Inspect) -> Value {
    let (Zxid(zxid), seconds) = server.last_snapshot().unwrap_or_default();
    json!({"zxid": format!("{zxid:x}"), "timestamp": seconds})
}

fn watch_summary(server: &dyn Inspect) -> Value {
    let summary = server.watch_summary();
    json!({
        "num_connections": summary.connections,
        "num_paths": summary.paths,
        "num_total_watches": summary.watches,
    })
}

fn set_trace_mask(server: &dyn Inspect, request: &Request) -> Result<Value, CommandError> {
    let Some(text) = request.value("traceMask") else {
        return Err(CommandError::NoTraceMask);
    };
    let Ok(mask) = text.parse::<i64>() else {
        return Err(CommandError::BadTraceMask(text.to_owned()));
    };
    server.set_trace_mask(mask);
    Ok(json!({"tracemask": mask}))
}

fn configuration(server: &dyn Inspect) -> Value {
    let c = server.configuration();
    let mut value = json!({
        "client_port": c.client_port,
        "data_dir": c.data_dir,
        "data_log_dir": c.log_dir,
        "tick_time": c.tick_ms,
        "max_client_cnxns": c.connections_per_ip_max,
        "min_session_timeout": c.timeout_min_ms,
        "max_session_timeout": c.timeout_max_ms,
        "server_id": c.server_id,
        "client_port_listen_backlog": c.backlog,
    });
    if c.secure_client_port >= 0 {
        value["secure_client_port"] = Value::from(c.secure_client_port);
    }
    value
}

fn connection(view: &ConnectionView, brief: bool) -> Value {
    let mut value = json!({
        "remote_socket_address": java_address(view.peer),
        "interest_ops": view.interest,
        "outstanding_requests": view.queued,
        "packets_received": view.received,
        "packets_sent": view.sent,
    });
    if let (false, Some(session), Some(fields)) = (brief, &view.session, value.as_object_mut()) {
        let LatencyView { min, mean, max } = session.latency;
        let more = json!({
            "session_id": session.id,
            "last_operation": session.last_operation,
            "established": view.established.ms(),
            "session_timeout": session.timeout_ms,
            "last_cxid": session.last_cxid,
            "last_zxid": session.last_zxid.0,
            "last_response_time": session.last_response.ms(),
            "last_latency": session.last_latency_ms,
            "min_latency": min,
            "avg_latency": mean as u64,
            "max_latency": max,
        });
        if let Value::Object(more) = more {
            fields.extend(more);
        }
    }
    value
}

fn connection_lists(server: &dyn Inspect, brief: bool) -> (Value, Value) {
    let (secure, plain): (Vec<_>, Vec<_>) = server.connections().into_iter().partition(|view| view.secure);
    let list = |views: Vec<ConnectionView>| views.iter().map(|view| connection(view, brief)).collect();
    (Value::Array(list(plain)), Value::Array(list(secure)))
}

fn connections(server: &dyn Inspect) -> Value {
    let (plain, secure) = connection_lists(server, false);
    json!({"connections": plain, "secure_connections": secure})
}

fn dump(server: &dyn Inspect) -> Value {
    let view = server.dump();
    json!({
        "expiry_time_to_session_ids": named(view.sessions),
        "session_id_to_ephemeral_paths": named(view.ephemerals),
    })
}

fn watches(server: &dyn Inspect) -> Value {
    json!({"session_id_to_watched_paths": named(server.watches().by_session)})
}

/// JSON's objects have text for names.
fn named<K: ToString, T: Into<Value>>(map: impl IntoIterator<Item = (K, Vec<T>)>) -> Value {
    map.into_iter().map(|(key, values)| (key.to_string(), Value::from(values))).collect()
}

fn pairs<N: Into<String>>(pairs: Vec<(N, String)>) -> Value {
    pairs.into_iter().map(|(name, value)| (name.into(), Value::from(value))).collect()
}

fn hash(server: &dyn Inspect) -> Value {
    let digest = |(Zxid(zxid), digest): (Zxid, u64)| json!({"zxid": zxid, "digest": digest.cast_signed(), "digestVersion": DIGEST_VERSION});
    json!({"digests": server.digests().into_iter().map(digest).collect::<Vec<_>>()})
}

fn monitor(server: &dyn Inspect) -> Value {
    let mut fields = Map::new();
    fields.insert(String::from("version"), Value::from(version()));
    fields.insert(String::from("server_state"), Value::from(server.server().mode));
    for (name, value) in server.ensemble().iter().flat_map(EnsembleView::monitor) {
        let number = value.parse::<u64>().map(Value::from);
        fields.insert(String::from(name), number.unwrap_or_else(|_| Value::from(value)));
    }
    flat::monitor(&server.samples(), &mut fields);
    Value::Object(fields)
}

#[expect(clippy::too_many_lines, reason = "a table: a line for each figure")]
fn server_stats(server: &dyn Inspect) -> Value {
    let (view, configuration) = (server.server(), server.configuration());
    let samples = server.samples();
    let figure = |name: &str| {
        let mut one = Map::new();
        flat::monitor(
            &samples.iter().filter(|sample| sample.name == name).cloned().collect::<Vec<_>>(),
            &mut one,
        );
        one.into_iter().next().map_or(Value::from(0), |(_, value)| value)
    };
    let response = json!({
        "last_buffer_size": figure("last_client_response_size"),
        "min_buffer_size": figure("min_client_response_size"),
        "max_buffer_size": figure("max_client_response_size"),
    });
    let mut value = json!({
        "version": version(),
        "read_only": false,
        "server_stats": {
            "packets_sent": view.sent,
            "packets_received": view.received,
            "fsync_threshold_exceed_count": figure("fsync_threshold_exceed_count"),
            "client_response_stats": response,
            "uptime": server.uptime_ms(),
            "data_dir_size": configuration.data_dir_bytes,
            "log_dir_size": configuration.log_dir_bytes,
            "provider_null": false,
            "last_processed_zxid": view.zxid.0,
            "outstanding_requests": view.outstanding,
            "server_state": view.mode,
            "avg_latency": rounded(view.latency.mean),
            "max_latency": view.latency.max,
            "min_latency": view.latency.min,
            "num_alive_client_connections": view.connections,
            "auth_failed_count": figure("auth_failed_count"),
            "non_mtlsremote_conn_count": 0,
            "non_mtlslocal_conn_count": 0,
        },
        "client_response": response,
        "node_count": view.node_count,
    });
    if let Some(stats) = ensemble::proposal_stats(&view) {
        value["proposal_stats"] = stats;
    }
    value
}

fn stats(server: &dyn Inspect) -> Value {
    let mut value = server_stats(server);
    let (plain, secure) = connection_lists(server, true);
    value["connections"] = plain;
    value["secure_connections"] = secure;
    value
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_commands_share_a_name() {
        let names = COMMANDS.iter().flat_map(|command| command.aliases.iter().chain([&command.name]));
        let (all, different): (Vec<_>, BTreeSet<_>) = (names.clone().collect(), names.collect());
        assert_eq!(all.len(), different.len());
        assert!(COMMANDS.is_sorted_by_key(|command| command.name));
    }
}
