//! The members of an ensemble, and how they speak with each other.

use super::super::members;
use super::super::value::{Checked, Problem, Setting};
use super::Row;
use super::server::put;
use super::tls::{kind, location, password, password_path, unless_false};

/// Why a key of ZooKeeper's way to agree does nothing.
pub(super) const OTHERWISE: &str = "it tunes how ZooKeeper's servers agree, and Diwan's agree in another way";
const ALWAYS: &str = "members speak TLS 1.2 or 1.3 and always show each other certificates";
const LIMITS: &str =
    "members catch up without a limit; see `ensemble.election-tick-ms` for how a leader is missed";

const OWN_MEMBER: &str = "write it like `1=host:2888:participant;2181`";

pub(super) const ROWS: &[Row] = &[
    Row::zoo("server.*", "a member of the ensemble", |draft, setting| {
        let number = setting.key.strip_prefix("server.").unwrap_or_default();
        let member = members::member(setting.key, number, setting.value)?;
        draft.ensemble.take(member);
        Ok(())
    }),
    Row::own(
        "ensemble.members",
        "the members, each as `N=HOST:PORT[:observer][;CLIENT-PORT]`",
        |draft, setting| {
            for text in setting.list() {
                let (number, value) = text.split_once('=').ok_or_else(|| {
                    Problem::new(format!("`{}`: `{text}` is no member", setting.key)).hint(OWN_MEMBER)
                })?;
                draft.ensemble.take(members::member(setting.key, number, value)?);
            }
            Ok(())
        },
    ),
    Row::own("ensemble.number", "this member's number; else the file `myid` says it", |draft, setting| {
        draft.ensemble.number = Some(setting.positive()?);
        Ok(())
    }),
    Row::own(
        "ensemble.election-tick-ms",
        "a lost leader is missed after ten to twenty of these",
        |draft, setting| put(&mut draft.ensemble.election_tick_ms, at_least(setting, 5)),
    ),
    Row::own(
        "ensemble.lease-ms",
        "how long a member serves without hearing of a leader",
        |draft, setting| put(&mut draft.ensemble.lease_ms, at_least(setting, 100)),
    ),
    Row::zoo("dynamicConfigFile", "a file with the members of the ensemble", |draft, setting| {
        draft.dynamic_file = Some(setting.value.into());
        Ok(())
    }),
    Row::zoo("electionAlg", "how a leader is found", |_, setting| {
        if setting.integer()? == 3 {
            return Ok(());
        }
        Err(setting.problem("ZooKeeper 3.9 itself refuses every other than `3`").hint("remove the line"))
    }),
    Row::zoo("readonlymode.enabled", "whether `isro` is answered", |draft, setting| {
        draft.read_only_mode = setting.value.eq_ignore_ascii_case("true");
        Ok(())
    }),
    Row::both(
        "reconfigEnabled",
        "ensemble.reconfig-enabled",
        "whether clients may change the members at run time",
        |draft, setting| put(&mut draft.config.reconfig_enabled, setting.flag()),
    ),
    Row::both(
        "quorumListenOnAllIPs",
        "ensemble.listen-on-all-addresses",
        "whether members are answered at every address",
        |draft, setting| put(&mut draft.ensemble.listen_on_all_addresses, setting.flag()),
    ),
    Row::zoo("electionPortBindRetry", "how often a port that is taken is tried again", |draft, setting| {
        put(&mut draft.ensemble.bind_retries, setting.count())
    }),
    Row::both("sslQuorum", "ensemble.tls", "whether members speak encrypted", |draft, setting| {
        put(&mut draft.ensemble.tls, setting.flag())
    }),
    Row::both(
        "ssl.quorum.keyStore.location",
        "ensemble.key-store",
        "the file with this member's key and certificate",
        |draft, setting| location(&mut draft.ensemble.key_store, setting),
    ),
    Row::both(
        "ssl.quorum.keyStore.password",
        "ensemble.key-store-password",
        "its password",
        |draft, setting| password(&mut draft.ensemble.key_store, setting),
    ),
    Row::both(
        "ssl.quorum.keyStore.passwordPath",
        "ensemble.key-store-password-file",
        "its password's file",
        |draft, setting| password_path(&mut draft.ensemble.key_store, setting),
    ),
    Row::both("ssl.quorum.keyStore.type", "ensemble.key-store-type", "its form", |draft, setting| {
        put(&mut draft.ensemble.key_store.kind, kind(setting))
    }),
    Row::both(
        "ssl.quorum.trustStore.location",
        "ensemble.trust-store",
        "the file of those whom members trust",
        |draft, setting| location(&mut draft.ensemble.trust_store, setting),
    ),
    Row::both(
        "ssl.quorum.trustStore.password",
        "ensemble.trust-store-password",
        "its password",
        |draft, setting| password(&mut draft.ensemble.trust_store, setting),
    ),
    Row::both(
        "ssl.quorum.trustStore.passwordPath",
        "ensemble.trust-store-password-file",
        "its password's file",
        |draft, setting| password_path(&mut draft.ensemble.trust_store, setting),
    ),
    Row::both("ssl.quorum.trustStore.type", "ensemble.trust-store-type", "its form", |draft, setting| {
        put(&mut draft.ensemble.trust_store.kind, kind(setting))
    }),
    Row::both(
        "ssl.quorum.hostnameVerification",
        "ensemble.verify-hostname",
        "whether a member's certificate must name its host",
        |draft, setting| put(&mut draft.ensemble.verify_hostname, setting.flag()),
    ),
    Row::zoo("ssl.quorum.crl", "whether members' certificates may be revoked by lists", |_, setting| {
        unless_false(setting, "remove a member's access by a new trust store")
    }),
    Row::zoo("ssl.quorum.ocsp", "whether members' certificates may be revoked online", |_, setting| {
        unless_false(setting, "OCSP is not here; remove a member's access by a new trust store")
    }),
    Row::refuses(
        "ssl.quorum.context.supplier.class",
        "Java classes cannot be loaded",
        "name key and certificates by `ssl.quorum.keyStore.location` and `ssl.quorum.trustStore.location`",
    ),
    Row::nothing("ssl.quorum.*", ALWAYS),
    Row::zoo("portUnification", "whether members are answered plain and encrypted alike", |_, setting| {
        unless_false(setting, "go over to TLS with all members at once")
    }),
    Row::zoo("quorum.auth.enableSasl", "whether members authenticate by SASL", |_, setting| {
        unless_false(setting, "members authenticate by certificates: `sslQuorum=true`")
    }),
    Row::zoo("quorum.auth.learnerRequireSasl", "whether members must authenticate by SASL", |_, setting| {
        unless_false(setting, "members authenticate by certificates: `sslQuorum=true`")
    }),
    Row::zoo("quorum.auth.serverRequireSasl", "whether members must authenticate by SASL", |_, setting| {
        unless_false(setting, "members authenticate by certificates: `sslQuorum=true`")
    }),
    Row::nothing("initLimit", LIMITS),
    Row::nothing("syncLimit", LIMITS),
    Row::nothing("peerType", "a member's role stands in its `server.` line"),
    Row::nothing("version", "the ensemble counts its configurations itself"),
    Row::zoo("group*", "a group of members", |_, setting| {
        Err(setting
            .problem("groups and weights are not here: each voter counts once")
            .hint("remove the line"))
    }),
    Row::zoo("weight*", "a member's weight", |_, setting| {
        Err(setting
            .problem("groups and weights are not here: each voter counts once")
            .hint("remove the line"))
    }),
    Row::nothing("connectToLearnerMasterLimit", OTHERWISE),
    Row::nothing("syncEnabled", OTHERWISE),
    Row::nothing("standaloneEnabled", "one server alone and an ensemble of one are the same here"),
    Row::nothing("localSessionsEnabled", "all sessions are the ensemble's"),
    Row::nothing("localSessionsUpgradingEnabled", "all sessions are the ensemble's"),
    Row::nothing("observerMasterPort", OTHERWISE),
    Row::nothing("sslQuorumReloadCertFiles", "members' certificates are read at the start"),
    Row::nothing("quorum.*", OTHERWISE),
    Row::nothing("multiAddress.*", "the first address of a member is used"),
    Row::nothing("oraclePath", OTHERWISE),
    Row::nothing("leaderServes", "a leader serves clients, too: it costs it nothing"),
    Row::nothing("cnxTimeout", OTHERWISE),
    Row::nothing("quorumCnxnTimeoutMs", OTHERWISE),
    Row::nothing("tcpKeepAlive", "members' connections are always probed"),
    Row::nothing("fastleader.*", OTHERWISE),
    Row::nothing("leader.*", OTHERWISE),
    Row::nothing("leaderConnectDelayDuringRetryMs", OTHERWISE),
    Row::nothing("learner.*", OTHERWISE),
    Row::nothing("follower.*", OTHERWISE),
    Row::nothing("observer.*", OTHERWISE),
    Row::nothing("observerMaster.*", OTHERWISE),
    Row::nothing("forward_learner_requests_to_commit_processor_disabled", OTHERWISE),
    Row::nothing("commitLogCount", OTHERWISE),
    Row::nothing("snapshotSizeFactor", OTHERWISE),
    Row::nothing("forceSnapshotSync", OTHERWISE),
    Row::nothing("messageTracker.*", OTHERWISE),
    Row::nothing("db.autocreate", "a member with an empty directory is let in by the others"),
];

fn at_least(setting: Setting<'_>, least: u32) -> Checked<u32> {
    let number = setting.positive()?;
    if number < least {
        return Err(setting.problem(&format!("it must be at least {least}")));
    }
    Ok(number)
}
