//! The AdminServer's commands about the members: ZooKeeper's, and one of our own that says all at once.

use base::WallTime;
use serde_json::{Map, Value, json};

use super::commands::CommandError;
use crate::counters::leadership::ProposalSizes;
use crate::ensemble::{EnsembleView, Lag, MemberView};
use crate::inspect::Inspect;
use crate::version::version;
use crate::view::ServerView;

/// `leader`.
pub(super) fn leader(server: &dyn Inspect) -> Result<Value, CommandError> {
    let ensemble = server.ensemble();
    let leader = ensemble.as_ref().and_then(EnsembleView::leader);
    let (Some(ensemble), Some(leader)) = (&ensemble, leader) else {
        return Err(CommandError::NoLeader);
    };
    let ip = leader.ip().map_or_else(|| leader.host.clone(), |ip| ip.to_string());
    Ok(json!({"is_leader": ensemble.stand.leads, "leader_id": leader.number.0, "leader_ip": ip}))
}

/// `voting_view`.
pub(super) fn voting_view(server: &dyn Inspect) -> Value {
    let members = server.ensemble().map(|ensemble| ensemble.members).unwrap_or_default();
    let voters = members.iter().filter(|member| member.votes).map(|member| {
        let view = json!({
            "server_addresses": [member.address(member.peer_port)],
            "election_addresses": [member.address(member.election_port)],
            "client_address": member.client_address().unwrap_or_default(),
            "learner_type": member.kind(),
        });
        (member.number.to_string(), view)
    });
    json!({"current_config": voters.collect::<Map<_, _>>()})
}

/// `observers`: those that a leader knows.
pub(super) fn observers(server: &dyn Inspect) -> Value {
    let Some(ensemble) = server.ensemble().filter(|ensemble| ensemble.stand.leads) else {
        return json!({"synced_observers": 0, "observers": []});
    };
    let connected = ensemble.others().filter(|member| !member.votes && member.is_connected());
    let observer = |member: &MemberView| {
        let (link, lag) = (member.link.unwrap_or_default(), member.lag.unwrap_or_default());
        json!({
            "remote_socket_address": format!("/{}", member.address(member.peer_port)),
            "sid": member.number.0,
            "established": link.since.map(WallTime::ms),
            "queued_packets": lag.entries,
            "queued_packets_size": 0,
            "packets_received": link.received,
            "packets_sent": link.sent,
            "requests": 0,
            "last_zxid": lag.zxid.map_or(-1, |zxid| zxid.0),
        })
    };
    let observers: Vec<_> = connected.map(observer).collect();
    let synced = ensemble.others().filter(|member| !member.votes && member.is_synced()).count();
    json!({"synced_observers": synced, "observers": observers})
}

/// `zabstate`.
pub(super) fn zabstate(server: &dyn Inspect) -> Value {
    let ensemble = server.ensemble();
    let own = ensemble.as_ref().and_then(EnsembleView::own);
    let (Some(ensemble), Some(own)) = (&ensemble, own) else {
        return json!({"voting": false, "zabstate": ""});
    };
    let zxid = server.server().zxid;
    json!({
        "myid": own.number.0,
        "is_leader": ensemble.stand.leads,
        "quorum_address": addresses(own, own.peer_port),
        "election_address": addresses(own, own.election_port),
        "client_address": own.client_address().unwrap_or_default(),
        "voting": own.votes,
        "last_zxid": zxid.to_string(),
        "zab_epoch": zxid.0 >> 32,
        "zab_counter": zxid.count(),
        "zabstate": "broadcast",
    })
}

/// ZooKeeper's picture of a server that may have several addresses; ours have one.
fn addresses(member: &MemberView, port: u16) -> Value {
    let one = member.address(port);
    json!({
        "empty": false,
        "all_addresses": [one],
        "wildcard_addresses": [format!("0.0.0.0:{port}")],
        "all_ports": [port],
        "all_host_strings": [member.host],
        "reachable_address": one,
        "all_reachable_addresses": [one],
        "all_reachable_addresses_or_all": [one],
        "reachable_or_one": one,
        "one": one,
    })
}

/// What `server_stats` has more of a leader.
pub(super) fn proposal_stats(view: &ServerView) -> Option<Value> {
    let [last, min, max] = ProposalSizes::shown(view.proposal_sizes?);
    Some(json!({"last_buffer_size": last, "min_buffer_size": min, "max_buffer_size": max}))
}

/// `ensemble`, ours: what this server is, and what it knows of every member. Answered whether it serves or not.
pub(super) fn ensemble(server: &dyn Inspect) -> Value {
    let (view, stand) = (server.server(), server.standing());
    let ensemble = server.ensemble();
    let role = match view.mode {
        "standalone" => "standalone",
        // Whoever is without a leader has no part yet.
        _ if stand.leader.is_none() => "looking",
        mode => mode,
    };
    // The core is asked once: it may be what stands still.
    let last = ensemble.as_ref().map_or_else(|| server.last_snapshot(), |ensemble| ensemble.last_snapshot);
    let snapshot = last.map(|(zxid, seconds)| json!({"zxid": zxid.to_string(), "timestamp": seconds}));
    json!({
        "version": version(),
        "pid": std::process::id(),
        "member": ensemble.as_ref().map_or(0, |ensemble| ensemble.number.0),
        "role": role,
        "serving": stand.serving,
        "leader": stand.leader.map_or(0, |leader| leader.0),
        "term": stand.term.0,
        "lease_ms": ensemble.as_ref().map(|ensemble| ensemble.lease_ms),
        "zxid": view.zxid.to_string(),
        "sessions": server.session_count(),
        "connections": view.connections,
        "outstanding": view.outstanding,
        "node_count": view.node_count,
        "uptime_ms": server.uptime_ms(),
        "last_snapshot": snapshot,
        "client_port": server.client_port(),
        "members_of_other_ensembles": ensemble.as_ref().map(other_ensembles),
        "members": ensemble.iter().flat_map(|ensemble| &ensemble.members).map(member).collect::<Vec<_>>(),
    })
}

/// The numbers of members that have data of another ensemble.
fn other_ensembles(view: &EnsembleView) -> Vec<u8> {
    view.other_ensembles.iter().map(|number| number.0).collect()
}

fn member(member: &MemberView) -> Value {
    let own = member.link.is_none();
    let since_ms = member.link.and_then(|link| link.since).map(WallTime::ms);
    let lag = |figure: fn(&Lag) -> u64| member.lag.as_ref().map(figure);
    json!({
        "member": member.number.0,
        "host": member.host,
        "peer_port": member.peer_port,
        "client_address": member.client_target(),
        "participant": member.votes,
        "votes": member.votes_now,
        "answers_here": own,
        "connected": member.is_connected(),
        "connected_since_ms": since_ms,
        "lag_entries": lag(|lag| lag.entries),
        "lag_ms": lag(|lag| lag.ms),
    })
}
