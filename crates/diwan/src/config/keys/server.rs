//! Ports, sessions, limits, storage, nodes and HTTP: what every server has.

use council_service::config::{ConnectionThrottle, WordConfig};

use super::super::draft::Draft;
use super::Row;
use node_config::{Checked, Setting};

/// A value of this size still fits a record of a snapshot, of which 1 GiB is the end.
const REQUEST_BYTES_MAX: usize = 512 << 20;

pub(super) const ROWS: &[Row] = &[
    Row::foreign("clientPort", "the plain client port", |draft, setting| {
        // Also if it makes no sense: that is already reported, and must not be reported twice.
        draft.client_port_said = true;
        draft.client.port = Some(setting.port()?);
        Ok(())
    }),
    Row::foreign("clientPortAddress", "the address of the plain client port", |draft, setting| {
        setting.host(0)?;
        draft.client.host = Some(String::from(setting.value));
        Ok(())
    }),
    Row::foreign("secureClientPort", "the TLS client port", |draft, setting| {
        draft.secure.port = Some(setting.port()?);
        Ok(())
    }),
    Row::foreign("secureClientPortAddress", "the address of the TLS client port", |draft, setting| {
        setting.host(0)?;
        draft.secure.host = Some(String::from(setting.value));
        Ok(())
    }),
    Row::both(
        "client.portUnification",
        "council.listen.client-takes-tls",
        "whether the plain port takes TLS too",
        |draft, setting| put(&mut draft.config.listen.client_takes_tls, setting.flag()),
    ),
    Row::foreign("clientPortListenBacklog", "connections waiting to be accepted", |draft, setting| {
        let backlog = setting.integer()?;
        if backlog == -1 {
            return Ok(());
        }
        put(&mut draft.config.listen.backlog, setting.positive().map(Some))
    }),
    Row::both(
        "clientTcpKeepAlive",
        "council.listen.keep-alive",
        "whether TCP probes silent clients",
        |draft, setting| put(&mut draft.config.listen.keep_alive, setting.flag()),
    ),
    Row::both("tickTime", "council.session.tick-ms", "the unit of session timeouts", |draft, setting| {
        put(&mut draft.tick_ms, setting.positive().map(Some))
    }),
    Row::both(
        "minSessionTimeout",
        "council.session.timeout-min-ms",
        "the shortest session timeout",
        |draft, setting| timeout(&mut draft.timeout_min_ms, setting),
    ),
    Row::both(
        "maxSessionTimeout",
        "council.session.timeout-max-ms",
        "the longest session timeout",
        |draft, setting| timeout(&mut draft.timeout_max_ms, setting),
    ),
    Row::both(
        "maxCnxns",
        "council.limits.connections",
        "connections in all, 0 for any number",
        |draft, setting| put(&mut draft.config.limits.connections_max, setting.count()),
    ),
    Row::both(
        "maxClientCnxns",
        "council.limits.connections-per-ip",
        "connections from one address, 0 for any number",
        |draft, setting| put(&mut draft.config.limits.connections_per_ip_max, setting.count()),
    ),
    Row::both("jute.maxbuffer", "council.limits.request-bytes", "bytes of one request", |draft, setting| {
        let bytes = setting.positive()?;
        if bytes > REQUEST_BYTES_MAX {
            return Err(setting.problem(&format!("more than {REQUEST_BYTES_MAX}")));
        }
        draft.config.limits.request_bytes_max = bytes;
        Ok(())
    }),
    Row::both(
        "globalOutstandingLimit",
        "council.limits.outstanding",
        "requests under way in all",
        |draft, setting| put(&mut draft.config.limits.outstanding_max, setting.positive()),
    ),
    Row::both(
        "largeRequestMaxBytes",
        "council.limits.large-request-bytes",
        "bytes of all large requests under way",
        |draft, setting| put(&mut draft.config.limits.large_request_bytes_max, setting.positive()),
    ),
    Row::both(
        "largeRequestThreshold",
        "council.limits.large-request-threshold",
        "from how many bytes a request is large; -1 for none",
        |draft, setting| {
            let threshold = u64::try_from(setting.integer()?).ok();
            draft.config.limits.large_request_threshold = threshold;
            Ok(())
        },
    ),
    Row::both(
        "nio.sessionlessCnxnTimeout",
        "council.limits.handshake-timeout-ms",
        "how long a connection may take to open a session",
        |draft, setting| put(&mut draft.config.limits.handshake_timeout_ms, setting.positive()),
    ),
    Row::both(
        "connection_throttle_tokens",
        "council.limits.throttle-tokens",
        "new connections admitted at once, 0 for any number",
        |draft, setting| put(&mut throttle(draft).tokens, setting.count()),
    ),
    Row::both(
        "connection_throttle_fill_time",
        "council.limits.throttle-fill-ms",
        "how often new connections are admitted again",
        |draft, setting| put(&mut throttle(draft).fill_interval_ms, setting.positive()),
    ),
    Row::both(
        "connection_throttle_fill_count",
        "council.limits.throttle-fill-count",
        "how many new connections each time",
        |draft, setting| put(&mut throttle(draft).fill_count, setting.positive()),
    ),
    Row::both("dataDir", "node.data-dir", "where the data lies", |draft, setting| {
        if setting.value.is_empty() {
            return Err(setting.problem("not a directory"));
        }
        draft.data_dir_said = true;
        draft.config.storage.data_dir = setting.value.into();
        Ok(())
    }),
    Row::both("dataLogDir", "council.storage.log-dir", "where the log lies", |draft, setting| {
        if setting.value.is_empty() {
            return Err(setting
                .problem("not a directory")
                .hint("remove the line to keep the log in `dataDir`"));
        }
        draft.config.storage.log_dir = Some(setting.value.into());
        Ok(())
    }),
    Row::both("datadir.autocreate", "node.create-dir", "whether `dataDir` is made", |draft, setting| {
        put(&mut draft.config.storage.create_dir, setting.flag())
    }),
    Row::both(
        "snapCount",
        "council.storage.snapshot-after-transactions",
        "transactions between two snapshots",
        |draft, setting| {
            // ZooKeeper takes less than two for two.
            put(
                &mut draft.config.storage.snapshot_after_transactions,
                setting.count().map(|count: u64| count.max(2)),
            )
        },
    ),
    Row::foreign(
        "snapSizeLimitInKb",
        "KiB of log between two snapshots, 0 for any number",
        |draft, setting| {
            let bytes = setting.kibibytes().map(|bytes| if bytes == 0 { u64::MAX } else { bytes });
            put(&mut draft.config.storage.snapshot_after_bytes, bytes)
        },
    ),
    Row::foreign("preAllocSize", "KiB of one preallocated piece of the log", |draft, setting| {
        put(&mut draft.config.storage.segment_bytes, setting.kibibytes().map(|bytes| bytes.max(1 << 20)))
    }),
    Row::both(
        "autopurge.snapRetainCount",
        "council.storage.snapshots-kept",
        "snapshots kept",
        |draft, setting| {
            // ZooKeeper takes less than three for three.
            put(&mut draft.config.storage.snapshots_kept, setting.count().map(|count: u32| count.max(3)))
        },
    ),
    Row::both(
        "fsync.warningthresholdms",
        "council.storage.flush-warning-ms",
        "when a flush is slow",
        |draft, setting| put(&mut draft.config.storage.flush_warning_ms, setting.count()),
    ),
    Row::both(
        "extendedTypesEnabled",
        "council.znodes.extended-types",
        "whether there are TTL nodes",
        |draft, setting| lenient(draft, setting, |draft, flag| draft.config.nodes.extended_types = flag),
    ),
    Row::both(
        "znode.container.checkIntervalMs",
        "council.znodes.reap-interval-ms",
        "how often containers and TTL nodes are looked through",
        |draft, setting| put(&mut draft.config.nodes.reap_interval_ms, setting.count()),
    ),
    Row::both(
        "znode.container.maxPerMinute",
        "council.znodes.reaped-per-minute",
        "how many of them are removed in a minute",
        |draft, setting| put(&mut draft.config.nodes.reaped_per_minute_max, setting.positive()),
    ),
    Row::both(
        "znode.container.maxNeverUsedIntervalMs",
        "council.znodes.never-used-ms",
        "how long a container may wait for its first child, 0 for ever",
        |draft, setting| put(&mut draft.config.nodes.never_used_max_ms, setting.count()),
    ),
    Row::both(
        "enforceQuota",
        "council.quota.enforce",
        "whether hard quotas refuse writes",
        |draft, setting| lenient(draft, setting, |draft, flag| draft.config.quota.enforce = flag),
    ),
    Row::both(
        "4lw.commands.whitelist",
        "council.four-letter-words.allow",
        "the four-letter words answered",
        |draft, setting| {
            let words = setting.list();
            let all = words.iter().any(|word| word == "*");
            draft.config.words = if all { WordConfig::All } else { WordConfig::Named(words) };
            Ok(())
        },
    ),
    Row::foreign("metricsProvider.className", "whether metrics are served", |draft, setting| {
        match setting.value.rsplit('.').next() {
            Some("PrometheusMetricsProvider") => draft.metrics.prometheus = true,
            Some("DefaultMetricsProvider") => {}
            Some("NullMetricsProvider") => draft.config.metrics.address = None,
            _ => draft.warn("of metrics providers there is only Prometheus' here"),
        }
        Ok(())
    }),
    Row::foreign("metricsProvider.httpHost", "the address of the metrics", |draft, setting| {
        setting.host(0)?;
        draft.metrics.host = Some(String::from(setting.value));
        Ok(())
    }),
    Row::foreign("metricsProvider.httpPort", "the port of the metrics", |draft, setting| {
        put(&mut draft.metrics.port, setting.port().map(Some))
    }),
    Row::foreign("admin.enableServer", "whether there is the AdminServer", |draft, setting| {
        draft.admin.enabled = Some(setting.value != "false");
        Ok(())
    }),
    Row::foreign("admin.serverAddress", "the address of the AdminServer", |draft, setting| {
        setting.host(0)?;
        draft.admin.host = Some(String::from(setting.value));
        Ok(())
    }),
    Row::foreign("admin.serverPort", "the port of the AdminServer", |draft, setting| {
        put(&mut draft.admin.port, setting.port().map(Some))
    }),
    Row::both("admin.commandURL", "admin.command-url", "the path of its commands", |draft, setting| {
        if !setting.value.starts_with('/') {
            return Err(setting.problem("it must begin with `/`"));
        }
        draft.config.admin.command_url = String::from(setting.value.trim_end_matches('/'));
        Ok(())
    }),
    Row::both(
        "admin.idleTimeout",
        "admin.idle-timeout-ms",
        "when it closes an idle connection",
        |draft, setting| put(&mut draft.config.admin.idle_timeout_ms, setting.count()),
    ),
    Row::both(
        "admin.snapshot.enabled",
        "council.admin.snapshot",
        "whether it takes snapshots",
        |draft, setting| lenient(draft, setting, |draft, flag| draft.config.admin.snapshot_enabled = flag),
    ),
    Row::both(
        "admin.restore.enabled",
        "council.admin.restore",
        "whether it restores a server",
        |draft, setting| lenient(draft, setting, |draft, flag| draft.config.admin.restore_enabled = flag),
    ),
    Row::both(
        "admin.rateLimiterIntervalInMS",
        "council.admin.rate-limit-ms",
        "the time between two snapshots by command, or two restorings",
        |draft, setting| put(&mut draft.config.admin.rate_limit_interval_ms, setting.count()),
    ),
    Row::own(
        "council.admin.require-super",
        "whether snapshots and restoring are for the super user alone",
        |draft, setting| put(&mut draft.config.admin.require_super, setting.flag()),
    ),
    Row::own("admin.hosts", "names of this machine besides `localhost`", |draft, setting| {
        draft.config.admin.hosts = setting.list();
        Ok(())
    }),
    Row::both("audit.enable", "council.audit.enable", "whether there is an audit log", |draft, setting| {
        put(&mut draft.config.audit.enabled, setting.flag())
    }),
];

/// Stores a value that was read well.
pub(super) fn put<T>(slot: &mut T, value: Checked<T>) -> Checked<()> {
    *slot = value?;
    Ok(())
}

/// A flag of which ZooKeeper takes everything but `true` for false; here that gets a warning.
fn lenient(draft: &mut Draft, setting: Setting<'_>, store: fn(&mut Draft, bool)) -> Checked<()> {
    let flag = setting.value.eq_ignore_ascii_case("true");
    if !flag && setting.flag().is_err() {
        draft.warn(format!("`{}` is not `true`, so it is false, as in ZooKeeper", setting.value));
    }
    store(draft, flag);
    Ok(())
}

/// ZooKeeper writes -1 for a timeout that is not set.
fn timeout(slot: &mut Option<u32>, setting: Setting<'_>) -> Checked<()> {
    if setting.integer()? == -1 {
        return Ok(());
    }
    put(slot, setting.positive().map(Some))
}

fn throttle(draft: &mut Draft) -> &mut ConnectionThrottle {
    draft.throttle.get_or_insert(ConnectionThrottle { tokens: 0, fill_interval_ms: 1, fill_count: 1 })
}
