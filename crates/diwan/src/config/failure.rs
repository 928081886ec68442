//! Why a server does not start, as its operator sees it.

use std::path::Path;

use council_service::config::KeyStore;
use council_service::{ServerConfig, StartError, StoreError, TlsError};

use super::Problem;

/// The error with its hint apart. A key or trust store that cannot be used is named by its setting as well: the path
/// alone does not say which line to change.
pub(crate) fn problem(error: &StartError, config: &ServerConfig) -> Problem {
    let text = error.to_string().replace("; hint: ", "\nhint: ");
    let (what, hint) =
        text.split_once("\nhint: ").map_or((text.as_str(), None), |(what, hint)| (what, Some(hint)));
    let StartError::Tls {
        source: TlsError::Store(StoreError::Unreadable { path, .. } | StoreError::Unusable { path, .. }),
    } = error
    else {
        return Problem { what: String::from(what), hint: hint.map(String::from) };
    };
    let Some(setting) = setting(path, config) else {
        return Problem { what: String::from(what), hint: hint.map(String::from) };
    };
    let default =
        "name a file that this user can read, and its password; `diwan certificates` makes such files";
    Problem { what: format!("{setting}: {what}"), hint: Some(String::from(hint.unwrap_or(default))) }
}

/// The settings that name the store at this path.
fn setting(path: &Path, config: &ServerConfig) -> Option<&'static str> {
    let peers = config.ensemble.as_ref().and_then(|ensemble| ensemble.tls.as_ref());
    let clients = config.tls.as_ref();
    let stores: [(Option<&KeyStore>, &'static str); 4] = [
        (clients.map(|tls| &tls.key_store), "`ssl.keyStore.location` (`council.tls.key-store`)"),
        (
            clients.and_then(|tls| tls.trust_store.as_ref()),
            "`ssl.trustStore.location` (`council.tls.trust-store`)",
        ),
        (peers.map(|tls| &tls.key_store), "`ssl.quorum.keyStore.location` (`council.ensemble.key-store`)"),
        (
            peers.map(|tls| &tls.trust_store),
            "`ssl.quorum.trustStore.location` (`council.ensemble.trust-store`)",
        ),
    ];
    if let Some((_, setting)) = stores.iter().find(|(store, _)| store.is_some_and(|store| store.path == path))
    {
        return Some(setting);
    }
    let revoked = clients.is_some_and(|tls| tls.revocation_lists.iter().any(|list| list == path));
    revoked.then_some("`council.tls.revocation-lists`")
}
