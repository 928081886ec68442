//! The texts of the words, from a view. Numbers, spaces and blank lines are ZooKeeper 3.9.5's.

use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};

use node_threads::calendar::long_date;

use council_wire::Zxid;

use crate::counters::leadership::ProposalSizes;
use crate::ensemble::EnsembleView;
use crate::metrics::flat::java_double;
use crate::view::{
    ConfigurationView, ConnectionView, DumpView, LatencyView, ServerView, WatchSummary, WatchView,
};

/// What every word that needs a tree is answered with while there is none.
pub(crate) const NOT_SERVING: &str = "This ZooKeeper instance is not currently serving requests\n";

/// `srvr`.
pub(crate) fn srvr(version: &str, server: &ServerView) -> String {
    let mut out = format!("Zookeeper version: {version}\n");
    statistics(&mut out, server);
    out
}

/// `stat`: `srvr` with the connections in its middle.
pub(crate) fn stat(version: &str, server: &ServerView, connections: &[ConnectionView]) -> String {
    let mut out = format!("Zookeeper version: {version}\nClients:\n");
    for connection in connections {
        let _ = writeln!(out, " {}", connection_line(connection, true));
    }
    out.push('\n');
    statistics(&mut out, server);
    out
}

fn statistics(out: &mut String, server: &ServerView) {
    let LatencyView { min, mean, max } = server.latency;
    let _ = write!(
        out,
        "Latency min/avg/max: {min}/{}/{max}\nReceived: {}\nSent: {}\nConnections: {}\nOutstanding: {}\n\
         Zxid: {}\nMode: {}\nNode count: {}\n",
        java_double(mean),
        server.received,
        server.sent,
        server.connections,
        server.outstanding,
        server.zxid,
        server.mode,
        server.node_count
    );
    if let Some(sizes) = server.proposal_sizes {
        let [last, min, max] = ProposalSizes::shown(sizes);
        let _ = writeln!(out, "Proposal sizes last/min/max: {last}/{min}/{max}");
    }
}

/// `cons`.
pub(crate) fn cons(connections: &[ConnectionView]) -> String {
    let mut out = String::new();
    for connection in connections {
        let _ = writeln!(out, " {}", connection_line(connection, false));
    }
    out.push('\n');
    out
}

fn connection_line(connection: &ConnectionView, brief: bool) -> String {
    let mut out = format!(
        "/{}[{}](queued={},recved={},sent={}",
        java_address(connection.peer),
        connection.interest,
        connection.queued,
        connection.received,
        connection.sent
    );
    if let Some(session) = connection.session.as_ref().filter(|_| !brief) {
        let _ = write!(
            out,
            ",sid={:#x},lop={},est={},to={}",
            session.id, session.last_operation, connection.established, session.timeout_ms
        );
        if session.last_cxid >= 0 {
            let _ = write!(out, ",lcxid={:#x}", session.last_cxid);
        }
        let _ = write!(
            out,
            ",lzxid={},lresp={},llat={},minlat={},avglat={},maxlat={}",
            session.last_zxid,
            session.last_response,
            session.last_latency_ms,
            session.latency.min,
            session.latency.mean as u64,
            session.latency.max
        );
    }
    out.push(')');
    out
}

/// An address as Java writes one: IPv6 in brackets, its groups all there.
pub(crate) fn java_address(address: SocketAddr) -> String {
    match address.ip() {
        IpAddr::V4(_) => address.to_string(),
        IpAddr::V6(ip) => {
            let groups: Vec<String> = ip.segments().iter().map(|group| format!("{group:x}")).collect();
            format!("[{}]:{}", groups.join(":"), address.port())
        }
    }
}

/// `dump`.
pub(crate) fn dump(dump: &DumpView) -> String {
    let mut out = String::from("SessionTracker dump:\n");
    let total: usize = dump.sessions.values().map(Vec::len).sum();
    let _ = writeln!(out, "Session Sets ({})/({total}):", dump.sessions.len());
    for (expiry, sessions) in &dump.sessions {
        let _ = writeln!(out, "{} expire at {}:", sessions.len(), long_date(*expiry));
        for session in sessions {
            let _ = writeln!(out, "\t{session:#x}");
        }
    }
    let _ = writeln!(out, "ephemeral nodes dump:\nSessions with Ephemerals ({}):", dump.ephemerals.len());
    for (session, paths) in &dump.ephemerals {
        let _ = writeln!(out, "{session:#x}:");
        for path in paths {
            let _ = writeln!(out, "\t{path}");
        }
    }
    let total: usize = dump.connections.values().map(Vec::len).sum();
    let _ = writeln!(out, "Connections dump:\nConnections Sets ({})/({total}):", dump.connections.len());
    for (expiry, connections) in &dump.connections {
        let _ = writeln!(out, "{} expire at {}:", connections.len(), long_date(*expiry));
        for (peer, session) in connections {
            let _ = writeln!(out, "\tip: /{} sessionId: {session:#x}", java_address(*peer));
        }
    }
    out
}

/// `wchs`.
pub(crate) fn wchs(summary: WatchSummary) -> String {
    let WatchSummary { connections, paths, watches } = summary;
    format!("{connections} connections watching {paths} paths\nTotal watches:{watches}\n")
}

/// `wchc`.
pub(crate) fn wchc(watches: &WatchView) -> String {
    let mut out = String::new();
    for (session, paths) in &watches.by_session {
        let _ = writeln!(out, "{session:#x}");
        for path in paths {
            let _ = writeln!(out, "\t{path}");
        }
    }
    out.push('\n');
    out
}

/// `wchp`.
pub(crate) fn wchp(watches: &WatchView) -> String {
    let mut out = String::new();
    for (path, sessions) in watches.by_path() {
        let _ = writeln!(out, "{path}");
        for session in sessions {
            let _ = writeln!(out, "\t{session:#x}");
        }
    }
    out.push('\n');
    out
}

/// `conf`.
pub(crate) fn conf(configuration: &ConfigurationView) -> String {
    let c = configuration;
    let mut out = format!(
        "clientPort={}\nsecureClientPort={}\ndataDir={}\ndataDirSize={}\ndataLogDir={}\ndataLogSize={}\n\
         tickTime={}\nmaxClientCnxns={}\nminSessionTimeout={}\nmaxSessionTimeout={}\n\
         clientPortListenBacklog={}\nserverId={}\n",
        c.client_port,
        c.secure_client_port,
        c.data_dir,
        c.data_dir_bytes,
        c.log_dir,
        c.log_dir_bytes,
        c.tick_ms,
        c.connections_per_ip_max,
        c.timeout_min_ms,
        c.timeout_max_ms,
        c.backlog,
        c.server_id
    );
    if let Some(ensemble) = &c.ensemble {
        conf_of_ensemble(&mut out, ensemble);
    }
    out
}

/// Not ended by a line's end, as ZooKeeper's is not.
fn conf_of_ensemble(out: &mut String, ensemble: &EnsembleView) {
    let own = ensemble.own();
    let _ = write!(
        out,
        "initLimit={}\nsyncLimit={}\nelectionAlg=3\nelectionPort={}\nquorumPort={}\npeerType={}\nmembership: \n",
        ensemble.init_limit,
        ensemble.sync_limit,
        own.map_or(0, |own| own.election_port),
        own.map_or(0, |own| own.peer_port),
        u8::from(own.is_some_and(|own| !own.votes)),
    );
    for member in &ensemble.members {
        let _ = writeln!(out, "server.{}={}", member.number, member.config);
    }
    let _ = write!(out, "version={:x}", ensemble.version);
}

/// `hash`: the digest as the signed number that it is in Java.
pub(crate) fn hash(digests: &[(Zxid, u64)]) -> String {
    let mut out = String::new();
    for (Zxid(zxid), digest) in digests {
        let _ = writeln!(out, "{zxid:x}: {}", digest.cast_signed());
    }
    out
}

/// `dirs`.
pub(crate) fn dirs(configuration: &ConfigurationView) -> String {
    format!("datadir_size: {}\nlogdir_size: {}\n", configuration.data_dir_bytes, configuration.log_dir_bytes)
}

/// `envi`.
pub(crate) fn envi(environment: &[(&'static str, String)]) -> String {
    let mut out = String::from("Environment:\n");
    for (name, value) in environment {
        let _ = writeln!(out, "{name}={value}");
    }
    out
}

#[cfg(test)]
mod tests {
    use base::{MonoTime, WallTime};

    use super::*;
    use crate::view::SessionView;

    fn connections() -> Vec<ConnectionView> {
        let peer: SocketAddr = "127.0.0.1:47436".parse().expect("an address");
        let session = SessionView {
            id: 0x0100_0012_4ae2_0001,
            last_operation: "DELE",
            timeout_ms: 20_000,
            last_cxid: 7,
            last_zxid: Zxid(0x13),
            last_response: MonoTime::of_ms(1_232_426),
            last_latency_ms: 1,
            latency: LatencyView { min: 0, mean: 0.6, max: 1 },
        };
        let held = ConnectionView {
            peer,
            secure: false,
            interest: 1,
            queued: 0,
            received: 8,
            sent: 10,
            established: WallTime::of_ms(1_795_232_132_271),
            session: Some(session.clone()),
        };
        let reset = SessionView { last_operation: "NA", last_cxid: -1, last_zxid: Zxid(-1), ..session };
        let fresh = ConnectionView {
            peer: "[::1]:47440".parse().expect("an address"),
            interest: 0,
            received: 1,
            sent: 0,
            session: None,
            ..held.clone()
        };
        vec![held.clone(), ConnectionView { session: Some(reset), ..held }, fresh]
    }

    #[test]
    fn cons_is_zookeepers_line_for_line() {
        assert_eq!(
            cons(&connections()),
            " /127.0.0.1:47436[1](queued=0,recved=8,sent=10,sid=0x10000124ae20001,lop=DELE,est=1795232132271,\
             to=20000,lcxid=0x7,lzxid=0x13,lresp=1232426,llat=1,minlat=0,avglat=0,maxlat=1)\n \
             /127.0.0.1:47436[1](queued=0,recved=8,sent=10,sid=0x10000124ae20001,lop=NA,est=1795232132271,\
             to=20000,lzxid=0xffffffffffffffff,lresp=1232426,llat=1,minlat=0,avglat=0,maxlat=1)\n \
             /[0:0:0:0:0:0:0:1]:47440[0](queued=0,recved=1,sent=0)\n\n"
        );
    }

    #[test]
    fn stat_is_srvr_around_the_connections() {
        let server = ServerView {
            latency: LatencyView { min: 0, mean: 4.0 / 3.0, max: 5 },
            received: 42,
            sent: 44,
            connections: 3,
            outstanding: 0,
            zxid: Zxid(0x13),
            mode: "standalone",
            proposal_sizes: None,
            node_count: 13,
        };
        let rest = "Latency min/avg/max: 0/1.3333/5\nReceived: 42\nSent: 44\nConnections: 3\nOutstanding: 0\n\
                    Zxid: 0x13\nMode: standalone\nNode count: 13\n";
        assert_eq!(
            srvr("3.9.5-x, built on y", &server),
            format!("Zookeeper version: 3.9.5-x, built on y\n{rest}")
        );
        let text = stat("v", &server, &connections()[2..]);
        assert_eq!(
            text,
            format!(
                "Zookeeper version: v\nClients:\n /[0:0:0:0:0:0:0:1]:47440[0](queued=0,recved=1,sent=0)\n\n{rest}"
            )
        );
    }

    #[test]
    fn digests_are_signed() {
        assert_eq!(hash(&[(Zxid(0x1_0000_0080), 5), (Zxid(256), u64::MAX)]), "100000080: 5\n100: -1\n");
    }

    #[test]
    fn dump_counts_sets_and_names_their_ends() {
        let peer: SocketAddr = "127.0.0.1:47480".parse().expect("an address");
        let view = DumpView {
            sessions: [(WallTime::of_ms(1_795_232_143_000), vec![0x10])].into(),
            ephemerals: [(0x10, vec![String::from("/a/e1")])].into(),
            connections: [(WallTime::of_ms(1_795_232_149_000), vec![(peer, 0)])].into(),
        };
        assert_eq!(
            dump(&view),
            "SessionTracker dump:\nSession Sets (1)/(1):\n1 expire at Sat Nov 21 03:35:43 UTC 2026:\n\t0x10\n\
             ephemeral nodes dump:\nSessions with Ephemerals (1):\n0x10:\n\t/a/e1\nConnections dump:\n\
             Connections Sets (1)/(1):\n1 expire at Sat Nov 21 03:35:49 UTC 2026:\n\
             \tip: /127.0.0.1:47480 sessionId: 0x0\n"
        );
    }

    #[test]
    fn watches_are_shown_from_both_sides() {
        let view = WatchView {
            by_session: [(1, vec![String::from("/a"), String::from("/a/b")]), (2, vec![String::from("/a")])]
                .into(),
        };
        assert_eq!(wchc(&view), "0x1\n\t/a\n\t/a/b\n0x2\n\t/a\n\n");
        assert_eq!(wchp(&view), "/a\n\t0x1\n\t0x2\n/a/b\n\t0x1\n\n");
        let summary = WatchSummary { connections: 2, paths: 2, watches: 3 };
        assert_eq!(wchs(summary), "2 connections watching 2 paths\nTotal watches:3\n");
    }
}
