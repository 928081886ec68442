//! Membership. This release runs one server; a file that names more is refused.

use super::Row;

/// Why a key of ensembles does nothing.
pub(super) const ALONE: &str = "it governs an ensemble, and this server runs alone";

pub(super) const ROWS: &[Row] = &[
    Row::zoo("server.*", "a server of the ensemble", |draft, setting| {
        draft.servers.push((String::from(setting.key), String::from(setting.value)));
        Ok(())
    }),
    Row::zoo("dynamicConfigFile", "a file with the servers of the ensemble", |draft, setting| {
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
    Row::nothing("version", ALONE),
    Row::nothing("group*", ALONE),
    Row::nothing("weight*", ALONE),
    Row::nothing("initLimit", ALONE),
    Row::nothing("syncLimit", ALONE),
    Row::nothing("connectToLearnerMasterLimit", ALONE),
    Row::nothing("peerType", ALONE),
    Row::nothing("syncEnabled", ALONE),
    Row::nothing("standaloneEnabled", ALONE),
    Row::nothing("reconfigEnabled", ALONE),
    Row::nothing("localSessionsEnabled", ALONE),
    Row::nothing("localSessionsUpgradingEnabled", ALONE),
    Row::nothing("observerMasterPort", ALONE),
    Row::nothing("quorumListenOnAllIPs", ALONE),
    Row::nothing("sslQuorum", ALONE),
    Row::nothing("sslQuorumReloadCertFiles", ALONE),
    Row::nothing("portUnification", ALONE),
    Row::nothing("quorum.*", ALONE),
    Row::nothing("multiAddress.*", ALONE),
    Row::nothing("oraclePath", ALONE),
    Row::nothing("leaderServes", ALONE),
    Row::nothing("cnxTimeout", ALONE),
    Row::nothing("quorumCnxnTimeoutMs", ALONE),
    Row::nothing("electionPortBindRetry", ALONE),
    Row::nothing("tcpKeepAlive", ALONE),
    Row::nothing("fastleader.*", ALONE),
    Row::nothing("leader.*", ALONE),
    Row::nothing("leaderConnectDelayDuringRetryMs", ALONE),
    Row::nothing("learner.*", ALONE),
    Row::nothing("follower.*", ALONE),
    Row::nothing("observer.*", ALONE),
    Row::nothing("observerMaster.*", ALONE),
    Row::nothing("forward_learner_requests_to_commit_processor_disabled", ALONE),
    Row::nothing("commitLogCount", ALONE),
    Row::nothing("snapshotSizeFactor", ALONE),
    Row::nothing("forceSnapshotSync", ALONE),
    Row::nothing("messageTracker.*", ALONE),
    Row::nothing("db.autocreate", ALONE),
];
