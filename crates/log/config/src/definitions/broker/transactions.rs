//! Transactions and idempotent producers.

use crate::definition::{Definition, boolean, int, short};

pub(super) const TRANSACTIONS: &[Definition] = &[
    int("add.partitions.to.txn.retry.backoff.max.ms").default("100").at_least(0),
    int("add.partitions.to.txn.retry.backoff.ms").default("20").at_least(1),
    int("producer.id.expiration.check.interval.ms").default("600000").at_least(1).hidden(),
    int("producer.id.expiration.ms")
        .default("86400000")
        .at_least(1)
        .cluster_wide()
        .acts("After how many milliseconds without a record a partition forgets a producer"),
    int("transaction.abort.timed.out.transaction.cleanup.interval.ms")
        .default("10000")
        .at_least(1)
        .acts("How often transactions are aborted whose timeout passed, in milliseconds"),
    int("transaction.max.timeout.ms")
        .default("900000")
        .at_least(1)
        .acts("The longest timeout that a transaction may have, in milliseconds"),
    boolean("transaction.partition.verification.enable")
        .default("true")
        .cluster_wide()
        .acts("Whether the coordinator is asked before a transaction's first record in a partition"),
    int("transaction.remove.expired.transaction.cleanup.interval.ms")
        .default("3600000")
        .at_least(1)
        .acts("How often transactional ids are forgotten that expired, in milliseconds"),
    int("transaction.state.log.load.buffer.size").default("5242880").at_least(1),
    int("transaction.state.log.min.isr")
        .default("2")
        .at_least(1)
        .acts("`min.insync.replicas` of `__transaction_state`"),
    int("transaction.state.log.num.partitions")
        .default("50")
        .at_least(1)
        .acts("How many partitions `__transaction_state` gets"),
    short("transaction.state.log.replication.factor")
        .default("3")
        .at_least(1)
        .acts("How many replicas `__transaction_state` gets, if there are as many brokers"),
    int("transaction.state.log.segment.bytes")
        .default("104857600")
        .at_least(1)
        .acts("The largest segment of `__transaction_state`, in bytes"),
    boolean("transaction.two.phase.commit.enable")
        .default("false")
        .refused("transactions of two phases are not served", &["false"]),
    int("transactional.id.expiration.ms")
        .default("604800000")
        .at_least(1)
        .acts("After how many milliseconds without use a transactional id is forgotten"),
];
