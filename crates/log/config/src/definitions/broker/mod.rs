//! The configurations of a broker.

use crate::definition::Definition;

mod authorization;
mod cleaner;
mod controller;
mod groups;
mod listeners;
mod logs;
mod metrics;
mod network;
mod oauth;
mod process;
mod quotas;
mod replication;
mod sasl;
mod share_groups;
mod streams_groups;
mod tiered_storage;
mod tls;
mod transactions;

pub(super) use controller::CONTROLLER;
pub(crate) use replication::BY_RACK;

/// All of them, each area by name.
pub(super) const AREAS: &[&[Definition]] = &[
    authorization::AUTHORIZATION,
    cleaner::CLEANER,
    CONTROLLER,
    groups::GROUPS,
    listeners::LISTENERS,
    logs::LOGS,
    metrics::METRICS,
    network::NETWORK,
    oauth::OAUTH,
    process::PROCESS,
    quotas::QUOTAS,
    replication::REPLICATION,
    sasl::SASL,
    share_groups::SHARE_GROUPS,
    streams_groups::STREAMS_GROUPS,
    tiered_storage::TIERED_STORAGE,
    tls::TLS,
    transactions::TRANSACTIONS,
];
