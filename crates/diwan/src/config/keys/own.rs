//! Keys that only Diwan has.

use super::super::draft::LogFormat;
use super::Row;
use super::server::put;

pub(super) const ROWS: &[Row] = &[
    Row::own("council.listen.client", "the plain client port, or `off`", |draft, setting| {
        draft.client.said = true;
        put(&mut draft.config.listen.client, setting.address_or_off())
    }),
    Row::own("council.listen.secure", "the TLS client port, or `off`", |draft, setting| {
        draft.secure.said = true;
        put(&mut draft.config.listen.secure, setting.address_or_off())
    }),
    Row::own("council.listen.backlog", "connections waiting to be accepted", |draft, setting| {
        put(&mut draft.config.listen.backlog, setting.positive().map(Some))
    }),
    Row::own("node.shards", "threads that serve connections, 0 for all cores but one", |draft, setting| {
        put(&mut draft.config.listen.shards, setting.count())
    }),
    Row::own(
        "council.limits.request-skip-bytes",
        "up to which size a request too long is skipped",
        |draft, setting| put(&mut draft.config.limits.request_skip_bytes_max, setting.count()),
    ),
    Row::own("council.limits.watches-per-connection", "watches of one connection", |draft, setting| {
        put(&mut draft.config.limits.watches_per_connection_max, setting.positive())
    }),
    Row::own("council.limits.watch-bytes", "memory of all watches", |draft, setting| {
        put(&mut draft.config.limits.watch_bytes_max, setting.positive())
    }),
    Row::own("council.limits.reply-bytes", "bytes of one reply, below 1 GiB", |draft, setting| {
        put(&mut draft.config.limits.reply_bytes_max, setting.positive())
    }),
    Row::own("council.limits.output-bytes", "unsent bytes of all connections together", |draft, setting| {
        put(&mut draft.config.limits.output_bytes_max, setting.positive())
    }),
    Row::own(
        "council.limits.output-bytes-per-connection",
        "unsent bytes of one connection",
        |draft, setting| put(&mut draft.config.limits.output_bytes_per_connection_max, setting.positive()),
    ),
    Row::own("council.limits.identities-per-connection", "identities of one connection", |draft, setting| {
        put(&mut draft.config.limits.identities_per_connection_max, setting.positive())
    }),
    Row::own("council.limits.path-bytes", "bytes of the path of a node that is created", |draft, setting| {
        put(&mut draft.config.limits.path_bytes_max, setting.positive())
    }),
    Row::own(
        "council.limits.acl-entries",
        "entries of one ACL, those included that `auth` stands for",
        |draft, setting| put(&mut draft.config.limits.acl_entries_max, setting.positive()),
    ),
    Row::own("council.limits.quota-text-bytes", "bytes of the text of a quota", |draft, setting| {
        put(&mut draft.config.limits.quota_text_bytes_max, setting.positive())
    }),
    Row::own("council.limits.ephemerals-per-session", "ephemeral nodes of one session", |draft, setting| {
        put(&mut draft.config.limits.ephemerals_per_session_max, setting.positive())
    }),
    Row::own(
        "council.limits.ephemeral-bytes-per-session",
        "bytes of the paths of one session's ephemeral nodes, with 64 for each entry of an ACL other than the open one; nodes \
         that writes under way create count too",
        |draft, setting| put(&mut draft.config.limits.ephemeral_bytes_per_session_max, setting.positive()),
    ),
    Row::own(
        "council.limits.command-steps",
        "steps of about 10 ns that one write may take beyond those that grow with its length",
        |draft, setting| put(&mut draft.config.limits.command_steps_max, setting.positive()),
    ),
    Row::own(
        "council.limits.command-bytes",
        "bytes of memory that one write may take beyond those that grow with its length",
        |draft, setting| put(&mut draft.config.limits.command_bytes_max, setting.positive()),
    ),
    Row::own(
        "council.storage.snapshot-after-bytes",
        "bytes of log between two snapshots",
        |draft, setting| put(&mut draft.config.storage.snapshot_after_bytes, setting.positive()),
    ),
    Row::own("council.storage.segment-bytes", "bytes of one piece of the log", |draft, setting| {
        put(&mut draft.config.storage.segment_bytes, setting.positive().map(|bytes: u64| bytes.max(1 << 20)))
    }),
    Row::own(
        "council.storage.snapshot-bytes-per-second",
        "how fast a snapshot is written, also one that another member sends",
        |draft, setting| put(&mut draft.config.storage.snapshot_bytes_per_second, setting.positive()),
    ),
    Row::own("metrics.listen", "where metrics are served, or `off`", |draft, setting| {
        draft.metrics.said = true;
        draft.config.metrics.optional = false;
        put(&mut draft.config.metrics.address, setting.address_or_off())
    }),
    Row::own("admin.listen", "where the AdminServer's commands are, or `off`", |draft, setting| {
        draft.admin.said = true;
        draft.config.admin.optional = false;
        put(&mut draft.config.admin.address, setting.address_or_off())
    }),
    Row::own("council.watches.catch-up", "whether persistent watches catch up", |draft, setting| {
        put(&mut draft.config.beyond.persistent_watch_catch_up, setting.flag())
    }),
    Row::own("council.watches.history-bytes", "bytes of history for that", |draft, setting| {
        put(&mut draft.config.beyond.history_bytes_max, setting.count())
    }),
    Row::own(
        "logging.level",
        "what is logged: `error`, `warn`, `info`, `debug`, `trace`",
        |draft, setting| {
            draft.log.level = setting.value.parse().map_err(|_| {
                setting.problem("no such level").hint("use `error`, `warn`, `info`, `debug` or `trace`")
            })?;
            Ok(())
        },
    ),
    Row::own("logging.format", "how it is logged: `text` or `json`", |draft, setting| {
        draft.log.format = match setting.value {
            "text" => LogFormat::Text,
            "json" => LogFormat::Json,
            _ => return Err(setting.problem("neither `text` nor `json`")),
        };
        Ok(())
    }),
];
