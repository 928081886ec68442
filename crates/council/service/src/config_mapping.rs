//! From what a user says to what each machine is told.

use consensus_replica::ReplicaConfig;
use council_replica::CoreConfig;
use council_tree::{CostLimits, Policy};
use storage_raft_log::Identity;

use crate::config::{EnsembleConfig, LimitConfig, SaslConfig, ServerConfig};
use crate::digest;
use crate::error::StartError;

/// Bytes of unsent output at which a connection is closed, as a multiple of those at which it is paused.
const OUTPUT_CLOSE_FACTOR: usize = 4;

/// How many shards serve connections: all cores but one, which is for the core, the journal and the system.
pub(crate) fn shard_count(configured: usize) -> u16 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let count = if configured == 0 { cores.saturating_sub(1).clamp(1, 16) } else { configured };
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// What a shard's front is told.
pub(crate) fn front(
    config: &ServerConfig,
    shards: u16,
    seed: [u8; 32],
) -> Result<council_frontend::FrontConfig, StartError> {
    let (limits, session) = (&config.limits, &config.session);
    let share = |of_all: usize| (of_all / usize::from(shards.max(1))).max(1);
    let milliseconds = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
    Ok(council_frontend::FrontConfig {
        seed,
        policy: policy(config),
        auth: auth(config, shards)?,
        timeout_min_ms: milliseconds(session.timeout_min_ms),
        timeout_max_ms: milliseconds(session.timeout_max_ms),
        handshake_timeout_ms: limits.handshake_timeout_ms,
        // Counted before the shards, for all of them together.
        connections_max: 0,
        connections_per_ip_max: 0,
        request_bytes_max: limits.request_bytes_max,
        request_skip_bytes_max: limits.request_skip_bytes_max,
        outstanding_max: share(limits.outstanding_max as usize),
        in_flight_bytes_max: share(usize::try_from(limits.large_request_bytes_max).unwrap_or(usize::MAX)),
        watches_per_connection_max: limits.watches_per_connection_max,
        reply_bytes_max: limits.reply_bytes_max,
        output_bytes_max: limits.output_bytes_per_connection_max,
        output_bytes_close_max: limits.output_bytes_per_connection_max.saturating_mul(OUTPUT_CLOSE_FACTOR),
        watch_bytes_max: share(limits.watch_bytes_max),
        output_bytes_all_max: share(limits.output_bytes_max),
        identities_max: limits.identities_per_connection_max,
        cost: cost(limits),
        history_bytes_max: config.beyond.history_bytes_max,
        catch_up: config.beyond.persistent_watch_catch_up,
        audit: config.audit.enabled,
        ..council_frontend::FrontConfig::default()
    })
}

/// What one write may cost.
const fn cost(limits: &LimitConfig) -> CostLimits {
    CostLimits {
        path_bytes_max: limits.path_bytes_max,
        acl_entries_max: limits.acl_entries_max,
        quota_text_bytes_max: limits.quota_text_bytes_max,
        ephemerals_max: limits.ephemerals_per_session_max,
        ephemeral_bytes_max: limits.ephemeral_bytes_per_session_max,
        steps_max: limits.command_steps_max,
        memory_bytes_max: limits.command_bytes_max,
    }
}

/// The switches of this server that travel with its commands.
pub(crate) fn policy(config: &ServerConfig) -> Policy {
    Policy::default()
        .with(Policy::EXTENDED_TYPES, config.nodes.extended_types)
        .with(Policy::ENFORCE_QUOTA, config.quota.enforce)
        .with(Policy::RECONFIG_ENABLED, config.reconfig_enabled)
        .with(Policy::SKIP_ACL, config.auth.skip_acl)
        .with(Policy::X509_KNOWN, config.auth.x509_enabled)
        .with(Policy::SASL_KNOWN, config.auth.sasl.is_some())
        .with(Policy::DIGEST_KNOWN, config.auth.digest_enabled)
}

fn auth(config: &ServerConfig, shards: u16) -> Result<council_frontend::AuthConfig, StartError> {
    let auth = &config.auth;
    Ok(council_frontend::AuthConfig {
        digest_algorithm: digest_algorithm(config),
        super_digest: auth.super_digest.as_ref().map(|secret| secret.0.clone()),
        super_attempts: net_auth::AttemptLimits::default().shared_by(shards),
        x509_super_user: auth.x509_super_user.clone(),
        sasl: auth.sasl.as_ref().map(sasl),
        ensemble_names: auth.ensemble_names.clone(),
        enforced_schemes: auth.enforced_schemes.clone().unwrap_or_default(),
    })
}

/// How the scheme `digest` hashes.
pub(crate) fn digest_algorithm(config: &ServerConfig) -> council_frontend::auth::DigestAlgorithm {
    digest::algorithm(config.auth.digest_algorithm)
}

fn sasl(config: &SaslConfig) -> council_frontend::auth::SaslConfig {
    // The user of this name is super user whatever is configured.
    let named_super = std::iter::once(String::from("super"));
    council_frontend::auth::SaslConfig {
        super_users: named_super.chain(config.super_users.iter().cloned()).collect(),
        allow_failed_clients: config.allow_failed_clients,
        ..council_frontend::auth::SaslConfig::new(&config.users)
    }
}

/// What may be under way where there is no network to be filled: a few milliseconds of work.
const UNDER_WAY_ALONE_MAX: u64 = 2 << 20;

/// What the core is told.
pub(crate) fn core(config: &ServerConfig, identity: &Identity, shards: u16) -> CoreConfig {
    let (nodes, storage) = (&config.nodes, &config.storage);
    let standard = CoreConfig::new(identity.member, shards);
    let ensemble = config.ensemble.as_ref();
    let replica = standard.replica;
    CoreConfig {
        replica: ReplicaConfig {
            cluster: identity.cluster,
            election_tick_ms: ensemble
                .map_or(replica.election_tick_ms, |ensemble| u64::from(ensemble.election_tick_ms)),
            lease_ms: ensemble.map_or(replica.lease_ms, |ensemble| u64::from(ensemble.lease_ms)),
            snapshot_after_bytes: storage.snapshot_after_bytes,
            snapshot_after_commands: storage.snapshot_after_transactions,
            ..replica
        },
        roster: ensemble.map(EnsembleConfig::roster),
        reconfig_enabled: config.reconfig_enabled,
        under_way_max: if ensemble.is_some() { standard.under_way_max } else { UNDER_WAY_ALONE_MAX },
        tick_ms: u64::from(config.session.tick_ms),
        reap_interval_ms: u64::from(nodes.reap_interval_ms),
        reaps_per_minute: nodes.reaped_per_minute_max,
        never_used_ms: i64::try_from(nodes.never_used_max_ms).unwrap_or(i64::MAX),
        ..standard
    }
}
