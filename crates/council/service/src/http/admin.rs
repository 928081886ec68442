//! The AdminServer's commands: JSON with the keys of ZooKeeper 3.9, and `ensemble`, which is ours.

use std::io::Read;
use std::sync::Arc;

use node_pages::Section;

use serde_json::{Map, Value, json};

use council_tree::DIGEST_VERSION;

use super::ensemble;
use super::{guarded, lists};
use crate::ensemble::EnsembleView;
use crate::inspect::{AdminAct, Inspect};
use crate::metrics::flat::{self, rounded};
use crate::version::version;
use crate::view::{ConnectionView, LatencyView};
use crate::words::render::java_address;
use net_http::{Request, Response};

/// The first name of each command, as the page of links shows them.
const NAMES: [&str; 29] = [
    "configuration",
    "connection_stat_reset",
    "connections",
    "dirs",
    "dump",
    "ensemble",
    "environment",
    "get_trace_mask",
    "hash",
    "initial_configuration",
    "is_read_only",
    "last_snapshot",
    "leader",
    "monitor",
    "observer_connection_stat_reset",
    "observers",
    "restore",
    "ruok",
    "server_stats",
    "set_trace_mask",
    "snapshot",
    "stat_reset",
    "stats",
    "system_properties",
    "voting_view",
    "watch_summary",
    "watches",
    "watches_by_path",
    "zabstate",
];

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
        let link = |name: &&str| format!("<a href=\"{url}/{name}\">{name}</a>\n<br/>\n");
        return Response::html(NAMES.iter().map(link).collect());
    }
    let first = first_name(name);
    if needs_tree(first) && !server.is_serving() {
        let error = "This ZooKeeper instance is not currently serving requests";
        return answer(200, name, Some(error));
    }
    match first {
        "snapshot" => return guarded::run(server, "snapshot", name, request, body),
        "restore" => return guarded::run(server, "restore", name, request, body),
        _ => {}
    }
    if let Some(list) = lists::named(first) {
        return lists::answer(server, list, request);
    }
    answer_to(server, first, request)
}

/// The answer to a command that anybody may run, by its first name.
pub(super) fn answer_to(server: &dyn Inspect, first: &str, request: &Request) -> Response {
    let outcome = run(server, first, request);
    if let Some(command) = act(first) {
        let act = AdminAct { user: "", ip: request.peer, command };
        server.record_act(&act, outcome.as_ref().map(|_| ()).map_err(String::as_str));
    }
    match outcome {
        Ok(mut fields) => {
            fields.insert(String::from("command"), Value::from(first));
            fields.insert(String::from("error"), Value::Null);
            Response::json(200, &Value::Object(fields))
        }
        Err(error) => answer(200, first, Some(&error)),
    }
}

fn answer(status: u16, command: &str, error: Option<&str>) -> Response {
    Response::json(status, &json!({"command": command, "error": error}))
}

/// The four-letter words are names of the commands too.
fn first_name(name: &str) -> &str {
    match name {
        "conf" | "config" => "configuration",
        "cons" => "connections",
        "crst" => "connection_stat_reset",
        "envi" | "env" => "environment",
        "gtmk" => "get_trace_mask",
        "icfg" => "initial_configuration",
        "isro" => "is_read_only",
        "lead" => "leader",
        "lsnp" => "last_snapshot",
        "mntr" => "monitor",
        "obsr" => "observers",
        "orst" => "observer_connection_stat_reset",
        "rest" => "restore",
        "snap" => "snapshot",
        "srst" => "stat_reset",
        "srvr" => "server_stats",
        "stat" => "stats",
        "stmk" => "set_trace_mask",
        "sysp" => "system_properties",
        "wchc" => "watches",
        "wchp" => "watches_by_path",
        "wchs" => "watch_summary",
        other => other,
    }
}

/// The commands that change something, besides those that are guarded.
fn act(name: &str) -> Option<&'static str> {
    ["connection_stat_reset", "set_trace_mask", "stat_reset"].into_iter().find(|act| *act == name)
}

fn needs_tree(name: &str) -> bool {
    !matches!(
        name,
        "ensemble" | "environment" | "get_trace_mask" | "set_trace_mask" | "ruok" | "system_properties"
    )
}

type Fields = Map<String, Value>;

fn run(server: &dyn Inspect, name: &str, request: &Request) -> Result<Fields, String> {
    let fields = match name {
        "configuration" => configuration(server),
        "connections" => connections(server),
        "connection_stat_reset" => {
            server.reset_connection_statistics();
            json!({})
        }
        "stat_reset" => {
            server.reset_server_statistics();
            json!({})
        }
        "dirs" => {
            let configuration = server.configuration();
            json!({"datadir_size": configuration.data_dir_bytes, "logdir_size": configuration.log_dir_bytes})
        }
        "dump" => dump(server),
        "environment" => pairs(server.environment()),
        "get_trace_mask" => json!({"tracemask": server.trace_mask()}),
        "set_trace_mask" => set_trace_mask(server, request)?,
        "hash" => hash(server),
        "initial_configuration" => json!({"initial_configuration": server.initial_configuration()}),
        "is_read_only" => json!({"read_only": false}),
        "last_snapshot" => {
            let (zxid, seconds) = server.last_snapshot().unwrap_or((0, 0));
            json!({"zxid": format!("{zxid:x}"), "timestamp": seconds})
        }
        "ensemble" => ensemble::ensemble(server),
        "leader" => ensemble::leader(server)?,
        "monitor" => monitor(server),
        "observers" => ensemble::observers(server),
        "observer_connection_stat_reset" | "ruok" => json!({}),
        "server_stats" => server_stats(server),
        "stats" => stats(server),
        "system_properties" => pairs(server.properties()),
        "voting_view" => ensemble::voting_view(server),
        "watches" => watches(server),
        "watches_by_path" => json!({"path_to_session_ids": server.watches().by_path()}),
        "watch_summary" => {
            let summary = server.watch_summary();
            json!({
                "num_connections": summary.connections,
                "num_paths": summary.paths,
                "num_total_watches": summary.watches,
            })
        }
        "zabstate" => ensemble::zabstate(server),
        unknown => return Err(format!("Unknown command: {unknown}")),
    };
    match fields {
        Value::Object(fields) => Ok(fields),
        _ => Ok(Map::new()),
    }
}

fn set_trace_mask(server: &dyn Inspect, request: &Request) -> Result<Value, String> {
    let Some(text) = request.value("traceMask") else {
        return Err(String::from("setTraceMask requires long traceMask argument"));
    };
    let Ok(mask) = text.parse::<i64>() else {
        return Err(format!("setTraceMask requires long traceMask argument, got {text}"));
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
            "established": view.established_ms,
            "session_timeout": session.timeout_ms,
            "last_cxid": session.last_cxid,
            "last_zxid": session.last_zxid,
            "last_response_time": session.last_response_ms,
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
fn named<T: Into<Value>>(map: impl IntoIterator<Item = (i64, Vec<T>)>) -> Value {
    map.into_iter().map(|(key, values)| (key.to_string(), Value::from(values))).collect()
}

fn pairs<N: Into<String>>(pairs: Vec<(N, String)>) -> Value {
    pairs.into_iter().map(|(name, value)| (name.into(), Value::from(value))).collect()
}

fn hash(server: &dyn Inspect) -> Value {
    let digest = |(zxid, digest): (i64, u64)| json!({"zxid": zxid, "digest": digest.cast_signed(), "digestVersion": DIGEST_VERSION});
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
            "last_processed_zxid": view.zxid,
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
