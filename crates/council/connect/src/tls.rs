//! TLS of a client from its settings.

use std::path::PathBuf;
use std::sync::Arc;

use base::Secret;
use net_tls::client::{self as client_tls, ClientTls};
use net_tls::{KeyStore, KeyStoreKind};
use rustls::ClientConfig;

use crate::settings::Settings;
use crate::{Checked, Problem, secret};

/// Files that the command line names.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) authority: Option<PathBuf>,
    pub(crate) identity: Option<PathBuf>,
}

/// TLS of a client that trusts the authorities in one file and shows the certificate in the other, if one is named.
///
/// # Errors
/// A file is of no use, or its password is missing and there is no terminal.
pub fn of_files(authority: PathBuf, identity: Option<PathBuf>) -> Checked<Arc<ClientConfig>> {
    let files = Files { authority: Some(authority), identity };
    let tls = configure(&mut Settings::default(), files)?;
    Ok(tls.expect("an authority is named"))
}

fn warn_of_unused(stores: [(&str, &Option<KeyStore>); 2]) {
    for (name, _) in stores.into_iter().filter(|(_, store)| store.is_some()) {
        eprintln!(
            "warning: `zookeeper.ssl.{name}.location` is not used, and the connection is not encrypted\n\
             hint: `zookeeper.client.secure=true` encrypts it"
        );
    }
}

/// TLS, if the settings or the files ask for it.
pub(crate) fn configure(settings: &mut Settings, files: Files) -> Checked<Option<Arc<ClientConfig>>> {
    let named = |path| KeyStore { path, password: Secret::default(), kind: KeyStoreKind::Pem };
    let secure = settings.secure()? || files.authority.is_some() || files.identity.is_some();
    let from_properties = (settings.store("trustStore")?, settings.store("keyStore")?);
    let trust_store = files.authority.map(named).or(from_properties.0);
    let key_store = files.identity.map(named).or(from_properties.1);
    let (verify_hostname, protocols, cipher_suites) =
        (settings.verifies_hostname()?, settings.protocols()?, settings.cipher_suites());
    if !secure {
        warn_of_unused([("trustStore", &trust_store), ("keyStore", &key_store)]);
        return Ok(None);
    }
    let trust_store = trust_store.ok_or_else(|| {
        Problem::new("TLS without a trust store: no server could be trusted").hint(
            "name the authority that signed the servers' certificates: `--tls-ca FILE`, or \
                   `zookeeper.ssl.trustStore.location`",
        )
    })?;
    let mut tls = ClientTls { trust_store, key_store, verify_hostname, protocols, cipher_suites };
    let problem = |error: net_tls::TlsError| Problem::new(error.to_string());
    let first = match client_tls::configure(&tls) {
        Ok(config) => return Ok(Some(config)),
        Err(error) => error,
    };
    // A key store without a password may want one.
    let Some(store) = tls.key_store.as_mut().filter(|store| store.password.0.is_empty()) else {
        return Err(problem(first));
    };
    store.password = match secret::from_environment(secret::KEY_PASSWORD) {
        Some(password) => password,
        None => secret::ask(
            &format!("password for `{}`", store.path.display()),
            "set `zookeeper.ssl.keyStore.passwordPath`, or the variable `DIWAN_KEY_PASSWORD`",
        )
        .map_err(|_| problem(first))?,
    };
    client_tls::configure(&tls).map(Some).map_err(problem)
}
