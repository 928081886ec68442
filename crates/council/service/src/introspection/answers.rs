//! The answers to whoever looks in from outside: the words, the metrics, the admin's commands.

use base::WallTime;
use std::borrow::Cow;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashSet};
use std::hash::{Hash, Hasher};
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use council_frontend::{ConnectionInfo, NAMESPACES_MAX};
use council_replica::{Core, CoreStatus};
use council_tree::Tree;
use council_wire::{SessionId, Zxid};

use crate::admin_auth::{self, Access, Denial};
use crate::audit;
use crate::config::ServerConfig;
use crate::counters::leadership::Stand;
use crate::ensemble::{EnsembleView, last_snapshot};
use crate::environment::{environment, properties};
use crate::inspect::{AdminAct, Inspect, Limited};
use crate::list_turn::ListTurn;
use crate::metrics::catalog::{self, Inputs};
use crate::metrics::zookeeper::QuotaSums;
use crate::restore::Refusal;
use crate::snapshot_requests::{self, SnapshotFile, TakeError};
use crate::view::{
    ConfigurationView, ConnectionView, DumpView, LatencyView, ServerView, SessionView, WatchSummary,
    WatchView,
};
use node_metrics::Sample;
use node_pages::Source;

use super::Introspection;

/// Pairs of session and path that one shard lists; the rest is left out.
const WATCHES_LISTED_MAX: usize = 1_000_000;
/// Characters of a user's name that are written down.
const USER_CHARACTERS_MAX: usize = 64;
/// Ephemeral nodes that are listed while the tree's guard is held.
const EPHEMERALS_PIECE: usize = 500;

impl Source for Introspection {
    fn samples(&self) -> Vec<Sample> {
        let (front, answered_in_time) = self.front_stats();
        let core = if self.is_serving() { self.core_status() } else { CoreStatus::default() };
        let ensemble = self.ensemble_view(&core);
        let (node_count, ephemeral_count, acl_count, data_bytes, quotas) = {
            let tree = self.tree.read();
            (
                tree.node_count(),
                tree.ephemeral_count(),
                tree.acl_count(),
                tree.approximate_data_size(),
                quotas(&tree),
            )
        };
        catalog::samples(&Inputs {
            front,
            core,
            journal: &self.journal_metrics,
            core_metrics: &self.core_metrics,
            ensemble: ensemble.as_ref(),
            leadership: &self.leadership,
            network: &self.network_metrics,
            quotas,
            snapshots_rate_limited: self.snapshots.limit.refused(),
            restore: &self.restore,
            certificates: &self.certificates,
            start: self.start.get().copied().unwrap_or_default(),
            node_count: node_count as u64,
            ephemeral_count: ephemeral_count as u64,
            acl_count: acl_count as u64,
            data_bytes,
            uptime_ms: self.uptime_ms(),
            rejected: self.gate.rejected.load(Ordering::Relaxed),
            throttled: self.gate.throttled.load(Ordering::Relaxed),
            without_descriptor: self.gate.without_descriptor.load(Ordering::Relaxed),
            answered_in_time,
        })
    }
}

impl Inspect for Introspection {
    fn is_serving(&self) -> bool {
        self.standing.is_serving()
    }

    fn server(&self) -> ServerView {
        let (front, _) = self.front_stats();
        let latency = catalog::all_latencies(&front);
        // Before the guard is taken: it looks at the tree itself.
        let mode = self.mode();
        let tree = self.tree.read();
        ServerView {
            latency: LatencyView {
                min: latency.min / 1000,
                mean: latency.mean() / 1000.0,
                max: latency.max / 1000,
            },
            received: front.packets_received,
            sent: front.packets_sent,
            connections: front.connections as u64,
            outstanding: front.outstanding as u64,
            zxid: tree.last_zxid(),
            mode,
            proposal_sizes: self.leads().then(|| self.leadership.proposal_sizes()),
            node_count: tree.node_count() as u64,
        }
    }

    fn ensemble(&self) -> Option<EnsembleView> {
        self.config.ensemble.as_ref()?;
        self.ensemble_view(&self.core_status())
    }

    fn client_port(&self) -> Option<u16> {
        self.ports.get().and_then(|(plain, secure)| plain.or(*secure))
    }

    fn session_count(&self) -> u64 {
        self.tree.read().sessions().len() as u64
    }

    fn standing(&self) -> Stand {
        match &self.config.ensemble {
            Some(_) => self.leadership.stand(),
            None => Stand { leads: true, serving: self.is_serving(), ..Stand::default() },
        }
    }

    fn connections(&self) -> Vec<ConnectionView> {
        self.connection_infos().iter().map(connection_view).collect()
    }

    fn dump(&self) -> DumpView {
        let now = self.clock.now();
        let mono = i64::try_from(now.mono().ms()).unwrap_or(i64::MAX);
        let mut dump = DumpView { connections: self.dump_connections(), ..DumpView::default() };
        for (deadline, session) in self.ask_core(|core| core.session_deadlines()).unwrap_or_default() {
            let wall = now.wall.plus_ms(deadline.ms() as i64 - mono);
            dump.sessions.entry(wall).or_default().push(session.0);
        }
        let owners: Vec<_> = {
            let tree = self.tree.read();
            let owners = tree.sessions().filter(|session| session.ephemeral_count() > 0);
            owners.map(|session| session.id).collect()
        };
        for owner in owners {
            dump.ephemerals.insert(owner.0, self.ephemerals_of(owner));
        }
        dump
    }

    fn list_entries(&self, command: &str) -> u64 {
        let entries = match command {
            "dump" => {
                let tree = self.tree.read();
                tree.sessions().len() + tree.ephemeral_count()
            }
            "connections" | "stats" => self.front_stats().0.connections,
            _ => self.front_stats().0.watch_count,
        };
        entries as u64
    }

    fn lists(&self) -> &ListTurn {
        &self.lists
    }

    fn watches(&self) -> WatchView {
        let lists = self.ask_shards(|front| {
            let mut left = WATCHES_LISTED_MAX;
            let mut list: Vec<(i64, Vec<String>)> = Vec::new();
            for (session, paths) in front.watches_by_session() {
                let paths: Vec<String> = paths.take(left).map(String::from).collect();
                left -= paths.len();
                list.push((session.0, paths));
                if left == 0 {
                    break;
                }
            }
            list
        });
        let mut view = WatchView::default();
        for (session, paths) in lists.into_iter().flatten() {
            view.by_session.entry(session).or_default().extend(paths);
        }
        view.by_session.values_mut().for_each(|paths| paths.sort_unstable());
        view
    }

    fn watch_summary(&self) -> WatchSummary {
        if self.shards.len() == 1 {
            let summary = self.ask_shards(|front| front.watch_summary()).pop().unwrap_or_default();
            return WatchSummary {
                connections: summary.connections as u64,
                paths: summary.paths as u64,
                watches: summary.watches as u64,
            };
        }
        // The same path may be watched in several shards.
        let answers = self.ask_shards(|front| {
            let paths: Vec<u64> = front.watches_by_path().map(|(path, _)| path_hash(path)).collect();
            (front.watch_summary(), paths)
        });
        let mut all = WatchSummary::default();
        let mut distinct = HashSet::new();
        for (summary, paths) in answers {
            all.connections += summary.connections as u64;
            all.watches += summary.watches as u64;
            distinct.extend(paths);
        }
        WatchSummary { paths: distinct.len() as u64, ..all }
    }

    fn configuration(&self) -> ConfigurationView {
        let ServerConfig { storage, session, limits, listen, .. } = &self.config;
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let data_dir = absolute(&storage.data_dir);
        let log_dir = storage.log_dir.as_deref().map_or_else(|| data_dir.clone(), absolute);
        let (plain, secure) = self.ports.get().copied().unwrap_or_default();
        let port = |port: Option<u16>| port.map_or(-1, i32::from);
        ConfigurationView {
            client_port: port(plain),
            secure_client_port: port(secure),
            data_dir_bytes: directory_bytes(&data_dir),
            data_dir: data_dir.display().to_string(),
            log_dir_bytes: directory_bytes(&log_dir),
            log_dir: log_dir.display().to_string(),
            tick_ms: session.tick_ms,
            connections_per_ip_max: limits.connections_per_ip_max,
            timeout_min_ms: session.timeout_min_ms,
            timeout_max_ms: session.timeout_max_ms,
            backlog: listen.backlog.map_or(-1, i64::from),
            server_id: self.config.ensemble.as_ref().map_or(0, |ensemble| ensemble.number.into()),
            ensemble: self.ensemble(),
        }
    }

    fn initial_configuration(&self) -> String {
        let given = self.config.settings.iter().map(|(name, value)| {
            let bare = name.strip_prefix("zookeeper.").or_else(|| name.strip_prefix("diwan."));
            format!("{}={value}\n", bare.unwrap_or(name))
        });
        let given: String = given.collect();
        if !given.is_empty() {
            return given;
        }
        let c = self.configuration();
        format!(
            "tickTime={}\ndataDir={}\nclientPort={}\nmaxClientCnxns={}\nminSessionTimeout={}\n\
             maxSessionTimeout={}\n",
            c.tick_ms,
            c.data_dir,
            c.client_port,
            c.connections_per_ip_max,
            c.timeout_min_ms,
            c.timeout_max_ms
        )
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        environment()
    }

    fn samples(&self) -> Vec<Sample> {
        let mut all = Source::samples(self);
        all.extend(node_metrics::process::samples());
        all
    }

    fn reset_server_statistics(&self) {
        self.ask_shards(|front| front.reset_stats());
    }

    fn reset_connection_statistics(&self) {
        self.ask_shards(|front| front.reset_connection_stats());
    }

    fn last_snapshot(&self) -> Option<(Zxid, i64)> {
        last_snapshot(&self.core_status()).or_else(|| *self.first_snapshot.lock())
    }

    fn digests(&self) -> Vec<(Zxid, u64)> {
        let digests = |core: &mut Core| core.digests().collect();
        self.ask_core(digests).unwrap_or_default()
    }

    fn properties(&self) -> Vec<(String, String)> {
        properties(&self.config.settings)
    }

    fn authorize(&self, authorization: Option<&str>, peer: IpAddr) -> Access {
        let Some(shown) = authorization else {
            return admin_auth::judge(&self.config, &self.tree.read(), None, peer);
        };
        let taken = self.attempts.lock().take(peer, self.clock.now().mono());
        if let Err(left_ms) = taken {
            let user = String::from(admin_auth::claimed_user(shown));
            return Access::Refused(Denial::throttled(user, left_ms / 1000 + 1));
        }
        let access = admin_auth::judge(&self.config, &self.tree.read(), authorization, peer);
        if matches!(access, Access::Granted { .. }) {
            self.attempts.lock().give_back(peer);
        }
        access
    }

    fn record(&self, act: &AdminAct<'_>, outcome: Result<(), &str>) {
        let AdminAct { ip, command, .. } = *act;
        let user = &*shortened(act.user);
        match outcome {
            Ok(()) => tracing::info!(command, user, %ip, "a command of the AdminServer was run"),
            Err(error) => {
                tracing::warn!(command, user, %ip, error, "a command of the AdminServer was not run");
            }
        }
        if self.config.audit.enabled {
            audit::admin(user, ip, command, outcome.is_ok());
        }
    }

    fn record_act(&self, act: &AdminAct<'_>, outcome: Result<(), &str>) {
        let Some(line) = self.act_lines.take(Instant::now()) else { return };
        if line.left_out > 0 {
            tracing::info!(
                commands = line.left_out,
                "commands of the AdminServer that anybody may run were not written down one by one"
            );
        }
        self.record(act, outcome);
        if line.is_last {
            tracing::warn!(
                "commands of the AdminServer that anybody may run come so often that further ones are counted only; \
                 hint: who may connect to its port?"
            );
        }
    }

    fn record_denial(&self, peer: IpAddr, command: &'static str, denial: &Denial) {
        let act = AdminAct { user: &denial.user, ip: peer, command };
        if denial.was_judged {
            self.record(&act, Err(denial.error));
            return;
        }
        let Some(line) = self.refusal_lines.take(Instant::now()) else { return };
        if line.left_out > 0 {
            tracing::warn!(
                refused = line.left_out,
                "commands of the AdminServer were refused and not written down one by one"
            );
        }
        self.record(&act, Err(denial.error));
        if line.is_last {
            tracing::warn!(
                "commands of the AdminServer are refused so often that further refusals are counted only"
            );
        }
    }

    fn rate_limit(&self) -> Duration {
        Duration::from_millis(u64::from(self.config.admin.rate_limit_interval_ms))
    }

    fn snapshot(&self) -> Option<Limited<SnapshotFile, TakeError>> {
        if !self.config.admin.snapshot_enabled {
            return None;
        }
        Some(self.snapshots.limit.begin(Instant::now(), self.rate_limit()).map(|pass| {
            let file = self.take_snapshot()?;
            pass.keep();
            Ok(file)
        }))
    }

    fn restore(&self, sent: &mut dyn Read, bytes: u64) -> Option<Limited<Zxid, Refusal>> {
        if !self.config.admin.restore_enabled {
            return None;
        }
        Some(self.restore.limit.begin(Instant::now(), self.rate_limit()).map(|pass| {
            let began = Instant::now();
            let outcome = self.restore_from(sent, bytes);
            match &outcome {
                Ok(_) => {
                    pass.keep();
                    self.restore.took_us.record(began.elapsed().as_micros() as u64);
                }
                Err(_) => self.restore.failed(),
            }
            outcome
        }))
    }

    fn uptime_ms(&self) -> u64 {
        self.clock.mono_us() / 1000
    }

    fn trace_mask(&self) -> i64 {
        self.trace_mask.load(Ordering::Relaxed)
    }

    fn set_trace_mask(&self, mask: i64) {
        self.trace_mask.store(mask, Ordering::Relaxed);
    }
}

/// The name of a user as it is written down: a caller may send one of any length.
fn shortened(user: &str) -> Cow<'_, str> {
    match user.char_indices().nth(USER_CHARACTERS_MAX) {
        Some((end, _)) => Cow::Owned(format!("{}..", &user[..end])),
        None => Cow::Borrowed(user),
    }
}

impl Introspection {
    /// The paths of a session's ephemeral nodes. The tree's guard is held for a piece at a time, so that writes come in
    /// between; nodes that come or go meanwhile may be among them.
    fn ephemerals_of(&self, session: SessionId) -> Vec<String> {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let piece = self.tree.read().ephemerals_piece(session, after, EPHEMERALS_PIECE);
            if piece.begins_anew {
                found.clear();
            }
            found.extend(piece.nodes);
            after = piece.next;
            if after.is_none() {
                return council_tree::in_zookeepers_order(found);
            }
        }
    }

    fn take_snapshot(&self) -> Result<SnapshotFile, TakeError> {
        // What is applied may be in a snapshot already: then none is begun, and none need be waited for.
        let ask = |core: &mut Core| {
            core.request_snapshot();
            core.status().applied_index
        };
        let saved = self.snapshots.take(|| self.ask_core(ask))?;
        snapshot_requests::open(&self.config.storage.data_dir, saved)
    }

    fn dump_connections(&self) -> BTreeMap<WallTime, Vec<(SocketAddr, i64)>> {
        let now = self.clock.now();
        let tick = i64::from(self.config.session.tick_ms.max(1));
        let mono = i64::try_from(now.mono().ms()).unwrap_or(i64::MAX);
        let mut connections: BTreeMap<WallTime, Vec<(SocketAddr, i64)>> = BTreeMap::new();
        for info in self.connection_infos() {
            let ends = if info.session.0 == 0 {
                info.established.plus_ms(i64::from(self.config.limits.handshake_timeout_ms))
            } else {
                now.wall.plus_ms(info.last_response.ms() as i64 - mono + i64::from(info.timeout_ms))
            };
            let bucket = ends.ms().div_euclid(tick).saturating_add(1).saturating_mul(tick);
            connections
                .entry(WallTime::of_ms(bucket))
                .or_default()
                .push((SocketAddr::new(info.ip, info.port), info.session.0));
        }
        connections
    }
}

/// What quotas say, by namespace.
fn quotas(tree: &Tree) -> BTreeMap<String, QuotaSums> {
    let mut sums: BTreeMap<String, QuotaSums> = BTreeMap::new();
    for quota in tree.quotas() {
        let Some(namespace) = council_frontend::namespace(quota.path) else { continue };
        if sums.len() < NAMESPACES_MAX || sums.contains_key(namespace) {
            sums.entry(String::from(namespace)).or_default().add(&quota);
        }
    }
    sums
}

fn connection_view(info: &ConnectionInfo) -> ConnectionView {
    let session = (info.session.0 != 0).then(|| SessionView {
        id: info.session.0,
        last_operation: info.last_operation,
        timeout_ms: info.timeout_ms,
        last_cxid: i64::from(info.last_xid),
        last_zxid: info.last_zxid,
        last_response: info.last_response,
        last_latency_ms: u64::from(info.last_latency_ms),
        latency: LatencyView {
            min: u64::from(info.latency_min_ms),
            mean: info.latency_average_ms as f64,
            max: u64::from(info.latency_max_ms),
        },
    });
    ConnectionView {
        peer: SocketAddr::new(info.ip, info.port),
        secure: info.secure,
        interest: u8::from(info.reading && session.is_some()),
        queued: info.queued as u64,
        received: info.received,
        sent: info.sent,
        established: info.established,
        session,
    }
}

/// Bytes of all files under a directory. What vanishes meanwhile counts as nothing.
fn directory_bytes(directory: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(directory) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => directory_bytes(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

fn path_hash(path: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}
