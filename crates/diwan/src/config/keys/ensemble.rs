//! The members of an ensemble, and their connections.

use super::super::members;
use super::Row;
use super::server::put;
use super::tls::{kind, location, password, password_path, protocol, protocols, unless_false};
use node_config::{Checked, Problem, Setting};

const FROM_THE_LEADER: &str = "observers learn from the leader, and from no other member";
const BY_THE_LOG: &str = "a member is sent the log as long as it reaches back far enough, else a snapshot";
const BY_PROOF: &str = "members authenticate by certificates (`sslQuorum=true`), by a shared secret \
                        (`diwan.ensembleSecretFile`), or by both";
/// What is left where names of hosts do not count.
const ANY_MEMBER: &str = "a certificate that names no member (`diwan:member:N`) is taken for any member: one that is \
                          stolen opens the whole ensemble";
const LIMITS: &str =
    "members catch up without a limit; see `council.ensemble.election-tick-ms` for how a leader is missed";

const OWN_MEMBER: &str = "write it like `1=host:2888:participant;2181`";

pub(super) const ROWS: &[Row] = &[
    Row::foreign("server.*", "a member of the ensemble", |draft, setting| {
        let number = setting.key.strip_prefix("server.").unwrap_or_default();
        let member = members::member(setting.key, number, setting.value)?;
        draft.ensemble.take(member);
        Ok(())
    }),
    Row::own(
        "council.ensemble.members",
        "the members, each as `N=HOST:PORT[:PORT][:observer][;CLIENT-PORT]`",
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
    Row::own(
        "council.ensemble.number",
        "this member's number; otherwise the file `myid` says it",
        |draft, setting| {
            draft.ensemble.number = Some(setting.positive()?);
            Ok(())
        },
    ),
    Row::own(
        "council.ensemble.election-tick-ms",
        "a lost leader is missed after ten to twenty of these",
        |draft, setting| put(&mut draft.ensemble.election_tick_ms, at_least(setting, 5)),
    ),
    Row::own(
        "council.ensemble.lease-ms",
        "how long a member serves without hearing of a leader",
        |draft, setting| put(&mut draft.ensemble.lease_ms, at_least(setting, 100)),
    ),
    Row::foreign("dynamicConfigFile", "a file with the members of the ensemble", |draft, setting| {
        draft.dynamic_file = Some(setting.value.into());
        Ok(())
    }),
    Row::foreign("electionAlg", "how a leader is found", |_, setting| {
        if setting.integer()? == 3 {
            return Ok(());
        }
        Err(setting.problem("ZooKeeper 3.9 itself refuses every other than `3`").hint("remove the line"))
    }),
    Row::foreign("readonlymode.enabled", "whether `isro` is answered", |draft, setting| {
        draft.read_only_mode = setting.value.eq_ignore_ascii_case("true");
        Ok(())
    }),
    Row::both(
        "reconfigEnabled",
        "council.ensemble.reconfig-enabled",
        "whether clients may change the members at run time",
        |draft, setting| put(&mut draft.config.reconfig_enabled, setting.flag()),
    ),
    Row::both(
        "quorumListenOnAllIPs",
        "council.ensemble.listen-on-all-addresses",
        "whether members are answered at every address",
        |draft, setting| put(&mut draft.ensemble.listen_on_all_addresses, setting.flag()),
    ),
    Row::foreign(
        "electionPortBindRetry",
        "how often a port that is taken is tried again",
        |draft, setting| put(&mut draft.ensemble.bind_retries, setting.count()),
    ),
    Row::both("sslQuorum", "council.ensemble.tls", "whether members speak encrypted", |draft, setting| {
        put(&mut draft.ensemble.tls, setting.flag())
    }),
    Row::both(
        "ssl.quorum.keyStore.location",
        "council.ensemble.key-store",
        "the file with this member's key and certificate",
        |draft, setting| location(&mut draft.ensemble.key_store, setting),
    ),
    Row::both(
        "ssl.quorum.keyStore.password",
        "council.ensemble.key-store-password",
        "its password",
        |draft, setting| password(&mut draft.ensemble.key_store, setting),
    ),
    Row::both(
        "ssl.quorum.keyStore.passwordPath",
        "council.ensemble.key-store-password-file",
        "its password's file",
        |draft, setting| password_path(&mut draft.ensemble.key_store, setting),
    ),
    Row::both("ssl.quorum.keyStore.type", "council.ensemble.key-store-type", "its form", |draft, setting| {
        put(&mut draft.ensemble.key_store.kind, kind(setting))
    }),
    Row::both(
        "ssl.quorum.trustStore.location",
        "council.ensemble.trust-store",
        "the file with the authorities that members trust",
        |draft, setting| location(&mut draft.ensemble.trust_store, setting),
    ),
    Row::both(
        "ssl.quorum.trustStore.password",
        "council.ensemble.trust-store-password",
        "its password",
        |draft, setting| password(&mut draft.ensemble.trust_store, setting),
    ),
    Row::both(
        "ssl.quorum.trustStore.passwordPath",
        "council.ensemble.trust-store-password-file",
        "its password's file",
        |draft, setting| password_path(&mut draft.ensemble.trust_store, setting),
    ),
    Row::both(
        "ssl.quorum.trustStore.type",
        "council.ensemble.trust-store-type",
        "its form",
        |draft, setting| put(&mut draft.ensemble.trust_store.kind, kind(setting)),
    ),
    Row::both(
        "ssl.quorum.hostnameVerification",
        "council.ensemble.verify-hostname",
        "whether a member's certificate must name its host, unless it names the member",
        |draft, setting| {
            draft.ensemble.verify_hostname = setting.flag()?;
            if !draft.ensemble.verify_hostname {
                draft.warn(ANY_MEMBER);
            }
            Ok(())
        },
    ),
    Row::both(
        "ssl.quorum.clientHostnameVerification",
        "council.ensemble.verify-client-hostname",
        "whether the certificate of a member that dials must name its host, unless it names the member",
        |draft, setting| {
            draft.ensemble.verify_client_hostname = setting.flag()?;
            if !draft.ensemble.verify_client_hostname {
                draft.warn(ANY_MEMBER);
            }
            Ok(())
        },
    ),
    Row::foreign("ssl.quorum.protocol", "the TLS version between members", |draft, setting| {
        put(&mut draft.ensemble.protocol, protocol(setting))
    }),
    Row::both(
        "ssl.quorum.enabledProtocols",
        "council.ensemble.tls-protocols",
        "the TLS versions between members",
        |draft, setting| {
            draft.ensemble.protocols = Some(protocols(draft, setting)?);
            Ok(())
        },
    ),
    Row::both(
        "ssl.quorum.ciphersuites",
        "council.ensemble.cipher-suites",
        "the cipher suites between members",
        |draft, setting| {
            draft.ensemble.cipher_suites = Some(setting.list());
            Ok(())
        },
    ),
    Row::foreign("ssl.quorum.clientAuth", "whether members show certificates: they do", |draft, setting| {
        match setting.value.to_ascii_lowercase().as_str() {
            "need" => Ok(()),
            "none" | "want" => {
                draft.warn("members always show each other certificates");
                Ok(())
            }
            _ => Err(setting.problem("neither `none`, `want` nor `need`")),
        }
    }),
    Row::foreign("ssl.quorum.crl", "whether members' certificates may be revoked by lists", |_, setting| {
        unless_false(
            setting,
            "name the lists' files with `-D council.ensemble.revocation-lists=FILE,..` instead",
        )
    }),
    Row::foreign("ssl.quorum.ocsp", "whether members' certificates may be revoked online", |_, setting| {
        unless_false(setting, "OCSP is not here; lists are: `-D council.ensemble.revocation-lists=FILE,..`")
    }),
    Row::own(
        "council.ensemble.revocation-lists",
        "files of revoked certificates of members",
        |draft, setting| {
            draft.ensemble.revocation_lists = setting.list().into_iter().map(Into::into).collect();
            Ok(())
        },
    ),
    Row::both(
        "diwan.ensembleSecretFile",
        "council.ensemble.secret-file",
        "the file with the secret that members prove to each other",
        |draft, setting| {
            draft.ensemble.secret_file = Some(setting.value.into());
            Ok(())
        },
    ),
    Row::refuses(
        "ssl.quorum.context.supplier.class",
        "Java classes cannot be loaded",
        "name key and certificates by `ssl.quorum.keyStore.location` and `ssl.quorum.trustStore.location`",
    ),
    Row::nothing(
        "ssl.quorum.handshakeDetectionTimeoutMillis",
        "two members have 5 s for their whole handshake",
    ),
    Row::nothing(
        "ssl.quorum.allowReverseDnsLookup",
        "a certificate is compared with the `server.` lines: no address is looked up backwards",
    ),
    Row::refuses(
        "ssl.quorum.*",
        "no such TLS setting is known, and what it protects is not known either",
        "see `diwan config keys` for those that are; remove the line to run without it",
    ),
    Row::foreign(
        "portUnification",
        "whether members are answered plain and encrypted alike",
        |_, setting| {
            if setting.value.eq_ignore_ascii_case("false") {
                return Ok(());
            }
            Err(setting.problem("members answer either encrypted or in plain text, never both at one port").hint(
            "remove the line; to go over to TLS, set `sslQuorum=true` for each member, stop all, and start all",
        ))
        },
    ),
    Row::foreign("quorum.auth.enableSasl", "whether members authenticate by SASL", |_, setting| {
        unless_false(setting, BY_PROOF)
    }),
    Row::foreign(
        "quorum.auth.learnerRequireSasl",
        "whether members must authenticate by SASL",
        |_, setting| unless_false(setting, BY_PROOF),
    ),
    Row::foreign(
        "quorum.auth.serverRequireSasl",
        "whether members must authenticate by SASL",
        |_, setting| unless_false(setting, BY_PROOF),
    ),
    Row::nothing("initLimit", LIMITS),
    Row::nothing("syncLimit", LIMITS),
    Row::nothing("peerType", "a member's role stands in its `server.` line"),
    Row::nothing("version", "the ensemble counts its configurations itself"),
    Row::foreign("group*", "a group of members", |_, setting| {
        Err(setting
            .problem("groups and weights are not here: each voter counts once")
            .hint("remove the line"))
    }),
    Row::foreign("weight*", "a member's weight", |_, setting| {
        Err(setting
            .problem("groups and weights are not here: each voter counts once")
            .hint("remove the line"))
    }),
    Row::nothing(
        "connectToLearnerMasterLimit",
        "a member dials all others until they answer, without a limit",
    ),
    Row::nothing(
        "syncEnabled",
        "an observer keeps log and snapshots on its disk as every member does, always",
    ),
    Row::nothing("standaloneEnabled", "one server alone and an ensemble of one are the same here"),
    Row::nothing("localSessionsEnabled", "all sessions are the ensemble's"),
    Row::nothing("localSessionsUpgradingEnabled", "all sessions are the ensemble's"),
    Row::nothing("observerMasterPort", FROM_THE_LEADER),
    Row::nothing("sslQuorumReloadCertFiles", "`SIGHUP` has members' certificates read again"),
    Row::nothing(
        "quorum.auth.*",
        "it configures SASL between members, which certificates tell apart here: see `sslQuorum`",
    ),
    Row::nothing("quorum.*", "one thread holds the connections of all members"),
    Row::nothing("multiAddress.*", "the first address of a member is used"),
    Row::nothing("oraclePath", "a majority of the voters decides; two members have no judge outside"),
    Row::nothing("leaderServes", "a leader serves clients, too: it costs it nothing"),
    Row::nothing(
        "cnxTimeout",
        "members dial each other before there is an election, and again until they answer",
    ),
    Row::nothing(
        "quorumCnxnTimeoutMs",
        "missing heartbeats show a silent member: see `council.ensemble.election-tick-ms`",
    ),
    Row::nothing("tcpKeepAlive", "members' connections are always probed"),
    Row::nothing("fastleader.*", "how long an election takes follows `council.ensemble.election-tick-ms`"),
    Row::nothing(
        "leader.*",
        "it tunes how a ZooKeeper leader takes learners in; members here catch up from log or snapshot, which \
         `council.storage.snapshot-bytes-per-second` slows",
    ),
    Row::nothing(
        "leaderConnectDelayDuringRetryMs",
        "members are connected to each other before one of them leads",
    ),
    Row::nothing(
        "learner.*",
        "a member that lost its leader goes on with the connections that it has to the others",
    ),
    Row::nothing("follower.*", "members' connections send small messages at once, always"),
    Row::nothing("observer.*", "observers are connected as voters are, and dial again at once"),
    Row::nothing("observerMaster.*", FROM_THE_LEADER),
    Row::nothing(
        "forward_learner_requests_to_commit_processor_disabled",
        "writes of every member's clients take the same way through the leader's log",
    ),
    Row::nothing("commitLogCount", BY_THE_LOG),
    Row::nothing("snapshotSizeFactor", BY_THE_LOG),
    Row::nothing("forceSnapshotSync", BY_THE_LOG),
    Row::nothing(
        "messageTracker.*",
        "messages between members are not recorded; metrics and `diwan status` show which are connected",
    ),
    Row::nothing("db.autocreate", "a member with an empty directory is let in by the others"),
];

fn at_least(setting: Setting<'_>, least: u32) -> Checked<u32> {
    let number = setting.positive()?;
    if number < least {
        return Err(setting.problem(&format!("it must be at least {least}")));
    }
    Ok(number)
}
