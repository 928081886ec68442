//! The cleaner of compacted logs, and what holds for topics that do not say otherwise.

use crate::definition::{Definition, boolean, double, int, long};

pub(super) const CLEANER: &[Definition] = &[
    long("log.cleaner.backoff.ms")
        .default("15000")
        .at_least(0)
        .cluster_wide()
        .acts("How long the cleaner waits when there is nothing to compact, in milliseconds"),
    long("log.cleaner.dedupe.buffer.size")
        .default("134217728")
        .cluster_wide()
        .acts("The memory for the keys of a log that is compacted, in bytes, of all threads"),
    long("log.cleaner.delete.retention.ms")
        .default("86400000")
        .at_least(0)
        .cluster_wide()
        .acts("`delete.retention.ms` of topics that do not set it"),
    boolean("log.cleaner.enable").default("true").acts("Whether logs are compacted"),
    double("log.cleaner.io.buffer.load.factor").default("0.9").cluster_wide(),
    int("log.cleaner.io.buffer.size").default("524288").at_least(0).cluster_wide(),
    double("log.cleaner.io.max.bytes.per.second")
        .default("1.7976931348623157E308")
        .cluster_wide()
        .acts("How many bytes a second the cleaner reads and writes at most"),
    long("log.cleaner.max.compaction.lag.ms")
        .default("9223372036854775807")
        .at_least(1)
        .cluster_wide()
        .acts("`max.compaction.lag.ms` of topics that do not set it"),
    double("log.cleaner.min.cleanable.ratio")
        .default("0.5")
        .ratio(0.0, 1.0)
        .cluster_wide()
        .acts("`min.cleanable.dirty.ratio` of topics that do not set it"),
    long("log.cleaner.min.compaction.lag.ms")
        .default("0")
        .at_least(0)
        .cluster_wide()
        .acts("`min.compaction.lag.ms` of topics that do not set it"),
    int("log.cleaner.threads").default("1").at_least(0).cluster_wide(),
];
