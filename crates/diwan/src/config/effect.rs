//! Which settings have no effect because of the others: a port of metrics that is not served, keys for a port that is
//! not there.

use std::path::Path;

use council_service::ServerConfig;

use super::draft::Draft;
use super::{Notice, Verdict};

/// What the settings were before they were finished, as far as it decides whether others matter.
pub(crate) struct Situation {
    zoo: bool,
    serves_prometheus: bool,
    has_peer_tls: bool,
    has_jaas_file: bool,
    requires_schemes: bool,
}

impl Situation {
    /// Taken before the draft is finished, which empties it.
    pub(crate) fn of(draft: &Draft) -> Self {
        Self {
            zoo: draft.zoo,
            serves_prometheus: draft.metrics.prometheus,
            has_peer_tls: draft.ensemble.tls,
            has_jaas_file: draft.sasl.file.is_some(),
            requires_schemes: draft.enforce.enabled,
        }
    }

    /// Why a key does nothing here, if that is so.
    #[expect(clippy::too_many_lines, reason = "a table: an arm for each key")]
    fn idle(&self, key: &str, config: &ServerConfig) -> Option<&'static str> {
        let metrics = ["metricsProvider.httpHost", "metricsProvider.httpPort"];
        let members = [
            "council.ensemble.",
            "reconfigEnabled",
            "quorumListenOnAllIPs",
            "electionPortBindRetry",
            "sslQuorum",
            "ssl.quorum.",
        ];
        let sasl =
            ["superUser", "SASLAuthenticationProvider.", "allowSaslFailedClients", "sasl.serverconfig"];
        let own_sasl = ["council.auth.sasl-"];
        let tls = ["ssl.", "council.tls.", "client.certReload"];
        let begins = |names: &[&str]| names.iter().any(|name| key.starts_with(name));
        if metrics.contains(&key) && !self.serves_prometheus {
            return Some(
                "no metrics are served there: that takes \
                 `metricsProvider.className=org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider`",
            );
        }
        if begins(&["admin.", "council.admin."]) && config.admin.address.is_none() && !is_admin_switch(key) {
            return Some("the AdminServer is switched off");
        }
        if begins(&members) && config.ensemble.is_none() {
            return Some("this server is alone: fewer than two members are named");
        }
        if begins(&[
            "ssl.quorum.",
            "council.ensemble.key-store",
            "council.ensemble.trust-store",
            "council.ensemble.verify-hostname",
        ]) {
            return (!self.has_peer_tls)
                .then_some("members speak in plain text: `sslQuorum` (`council.ensemble.tls`) is not true");
        }
        if begins(&tls) && config.tls.is_none() {
            return Some(
                "there is no TLS port for clients: `secureClientPort` (`council.listen.secure`) is not set",
            );
        }
        if begins(&sasl) || begins(&own_sasl) {
            return (!self.has_jaas_file)
                .then_some("no file names SASL's users: see `java.security.auth.login.config`");
        }
        if key == "enforce.auth.schemes" && !self.requires_schemes {
            return Some("clients need not authenticate: `enforce.auth.enabled` is not true");
        }
        if key == "node.create-dir" || key == "datadir.autocreate" {
            return is_there(config.storage.data_dir.parent()).then_some("the directory is there already");
        }
        None
    }
}

fn is_there(directory: Option<&Path>) -> bool {
    directory.is_some_and(Path::is_dir)
}

fn is_admin_switch(key: &str) -> bool {
    matches!(key, "admin.enableServer" | "admin.listen")
}

/// Marks the settings that do nothing, and warns of one that its author will miss.
pub(crate) fn judge(notices: &mut [Notice], situation: &Situation, config: &ServerConfig) {
    for notice in notices {
        let Verdict::Honoured { idle, warnings, .. } = &mut notice.verdict else { continue };
        *idle = situation.idle(&notice.key, config);
        let names_sasl =
            notice.key.starts_with("authProvider.") && notice.value.ends_with("SASLAuthenticationProvider");
        if names_sasl && situation.zoo && config.auth.sasl.is_none() {
            warnings.push(String::from(
                "no client can authenticate by SASL, for no file names its users: name one with `-D \
                 java.security.auth.login.config=FILE`",
            ));
        }
    }
}
