//! Keys, certificates and versions of TLS as settings name them, for the council and for objects.

use std::path::Path;
use std::sync::Arc;

use council_service::config::{ClientAuth, Framing, KeyStore, KeyStoreKind, Secret, TlsConfig, TlsProtocol};
use net_tls::TlsContext;
use node_config::{Checked, Problem};

use super::ObjectsPlan;
use super::draft::{StoreDraft, TlsDraft};

/// How the settings of a store are called, for what is said of them.
pub(super) struct StoreKeys {
    /// Its form.
    pub(super) kind: &'static str,
    /// The file of its password.
    pub(super) password_file: &'static str,
}

const OBJECTS_KEY: StoreKeys =
    StoreKeys { kind: "objects.tls.key-store-type", password_file: "objects.tls.key-store-password-file" };
const OBJECTS_TRUST: StoreKeys = StoreKeys {
    kind: "objects.tls.trust-store-type",
    password_file: "objects.tls.trust-store-password-file",
};

impl StoreDraft {
    /// The store, if there is one.
    pub(super) fn finish(self, keys: &StoreKeys) -> Checked<Option<KeyStore>> {
        let Some(path) = self.path else { return Ok(None) };
        let kind = match self.kind {
            Some(kind) => kind,
            None => kind_of(&path, keys)?,
        };
        let password = match self.password_path {
            Some(file) => std::fs::read_to_string(&file)
                .map(|text| Secret(String::from(text.trim_end_matches(['\r', '\n']))))
                .map_err(|error| {
                    Problem::new(format!("cannot read `{}`: {error}", file.display())).hint(format!(
                        "`{}` names the file that holds nothing but the password",
                        keys.password_file
                    ))
                })?,
            None => self.password.unwrap_or_default(),
        };
        Ok(Some(KeyStore { path, password, kind }))
    }
}

fn kind_of(path: &Path, keys: &StoreKeys) -> Checked<KeyStoreKind> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("jks") => Ok(KeyStoreKind::Jks),
        Some("pem") => Ok(KeyStoreKind::Pem),
        Some("p12" | "pfx") => Ok(KeyStoreKind::Pkcs12),
        _ => Err(Problem::new(format!(
            "`{}`: its name does not tell what kind of key store it is",
            path.display()
        ))
        .hint(format!("set `{}` to `PEM`, `PKCS12` or `JKS`", keys.kind))),
    }
}

/// The versions of TLS if no list says them.
pub(super) fn offered(protocol: Option<TlsProtocol>) -> Vec<TlsProtocol> {
    protocol.map_or_else(|| vec![TlsProtocol::Tls12, TlsProtocol::Tls13], |one| vec![one])
}

impl TlsDraft {
    /// Encryption for clients of objects: nothing if no key is named.
    ///
    /// # Errors
    /// The settings contradict each other.
    pub(super) fn of_objects(self) -> Checked<Option<TlsConfig>> {
        let trust_store = self.trust_store.finish(&OBJECTS_TRUST)?;
        let Some(key_store) = self.key_store.finish(&OBJECTS_KEY)? else {
            let asks = trust_store.is_some() || self.client_auth.is_some_and(|auth| auth != ClientAuth::None);
            if asks {
                // Otherwise whoever wrote it would believe that clients show certificates.
                let what = "clients of objects are to show certificates, and their port speaks plain text";
                return Err(Problem::new(what).hint("name a key with `objects.tls.key-store`"));
            }
            return Ok(None);
        };
        let wanted = if trust_store.is_some() { ClientAuth::Need } else { ClientAuth::None };
        let client_auth = self.client_auth.unwrap_or(wanted);
        if trust_store.is_none() && client_auth != ClientAuth::None {
            let what = "clients of objects must show a certificate, but no trusted authority is configured";
            return Err(Problem::new(what)
                .hint("set `objects.tls.trust-store`, or `objects.tls.client-auth` to `none`"));
        }
        Ok(Some(TlsConfig {
            key_store,
            trust_store,
            client_auth,
            protocols: self.protocols.unwrap_or_else(|| offered(None)),
            cipher_suites: self.cipher_suites,
            verify_client_hostname: self.verify_client_hostname,
            revocation_lists: self.revocation_lists,
            reload: self.reload,
            handshake_timeout_ms: self.handshake_timeout_ms,
            framing: Framing::None,
        }))
    }
}

impl ObjectsPlan {
    /// Reads the keys and certificates that clients of objects are shown, if their connections are to be encrypted.
    ///
    /// # Errors
    /// They cannot be used.
    pub(crate) fn encryption(&self) -> Checked<Option<Arc<TlsContext>>> {
        let context = self.tls.clone().map(TlsContext::new).transpose();
        context.map(|context| context.map(Arc::new)).map_err(|error| {
            let what = format!("clients of objects cannot be offered TLS: {error}");
            Problem::new(what).hint("look at `objects.tls.key-store` and `objects.tls.trust-store`")
        })
    }
}
