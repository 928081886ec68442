//! TLS of client connections.

use council_service::config::{ClientAuth, KeyStoreKind, Secret, TlsProtocol};

use super::super::draft::{Draft, StoreDraft};
use super::Row;
use super::server::put;
use node_config::{Checked, Problem, Setting};

pub(super) const ROWS: &[Row] = &[
    Row::both(
        "ssl.keyStore.location",
        "council.tls.key-store",
        "the file with key and certificate",
        |draft, setting| location(&mut draft.tls.key_store, setting),
    ),
    Row::both("ssl.keyStore.password", "council.tls.key-store-password", "its password", |draft, setting| {
        password(&mut draft.tls.key_store, setting)
    }),
    Row::both(
        "ssl.keyStore.passwordPath",
        "council.tls.key-store-password-file",
        "its password's file",
        |draft, setting| password_path(&mut draft.tls.key_store, setting),
    ),
    Row::both("ssl.keyStore.type", "council.tls.key-store-type", "its form", |draft, setting| {
        put(&mut draft.tls.key_store.kind, kind(setting))
    }),
    Row::both(
        "ssl.trustStore.location",
        "council.tls.trust-store",
        "the file with the authorities that are trusted",
        |draft, setting| location(&mut draft.tls.trust_store, setting),
    ),
    Row::both(
        "ssl.trustStore.password",
        "council.tls.trust-store-password",
        "its password",
        |draft, setting| password(&mut draft.tls.trust_store, setting),
    ),
    Row::both(
        "ssl.trustStore.passwordPath",
        "council.tls.trust-store-password-file",
        "its password's file",
        |draft, setting| password_path(&mut draft.tls.trust_store, setting),
    ),
    Row::both("ssl.trustStore.type", "council.tls.trust-store-type", "its form", |draft, setting| {
        put(&mut draft.tls.trust_store.kind, kind(setting))
    }),
    Row::both(
        "ssl.clientAuth",
        "council.tls.client-auth",
        "whether clients show certificates",
        |draft, setting| put(&mut draft.tls.client_auth, client_auth(setting).map(Some)),
    ),
    Row::foreign("ssl.protocol", "the TLS version", |draft, setting| {
        put(&mut draft.tls.protocol, protocol(setting))
    }),
    Row::both(
        "ssl.enabledProtocols",
        "council.tls.protocols",
        "the TLS versions offered",
        |draft, setting| {
            draft.tls.protocols = Some(protocols(draft, setting)?);
            Ok(())
        },
    ),
    Row::both(
        "ssl.ciphersuites",
        "council.tls.cipher-suites",
        "the cipher suites offered",
        |draft, setting| {
            draft.tls.cipher_suites = Some(setting.list());
            Ok(())
        },
    ),
    Row::foreign("ssl.hostnameVerification", "whether names in certificates count", |draft, setting| {
        put(&mut draft.tls.verify_hostname, setting.flag())
    }),
    Row::both(
        "ssl.clientHostnameVerification",
        "council.tls.verify-client-hostname",
        "whether a client's certificate must name its address",
        |draft, setting| put(&mut draft.tls.verify_client_hostname, setting.flag()),
    ),
    Row::foreign("ssl.crl", "whether certificates may be revoked by lists", |_, setting| {
        unless_false(setting, "name the lists' files with `-D council.tls.revocation-lists=FILE,..` instead")
    }),
    Row::foreign("ssl.ocsp", "whether certificates may be revoked online", |_, setting| {
        unless_false(setting, "OCSP is not here; lists are: `-D council.tls.revocation-lists=FILE,..`")
    }),
    Row::own("council.tls.revocation-lists", "files of revoked certificates", |draft, setting| {
        draft.tls.revocation_lists = setting.list().into_iter().map(Into::into).collect();
        Ok(())
    }),
    Row::foreign("ssl.authProvider", "the scheme that looks at certificates", |_, setting| {
        if setting.value == "x509" {
            return Ok(());
        }
        Err(setting.problem("only `x509` looks at certificates here").hint("remove the line to use `x509`"))
    }),
    Row::both(
        "client.certReload",
        "council.tls.reload",
        "whether changed files are taken up",
        |draft, setting| put(&mut draft.tls.reload, setting.flag()),
    ),
    Row::both(
        "ssl.handshakeDetectionTimeoutMillis",
        "council.tls.handshake-timeout-ms",
        "how long a TLS handshake may take",
        |draft, setting| put(&mut draft.tls.handshake_timeout_ms, setting.positive()),
    ),
    Row::refuses(
        "ssl.context.supplier.class",
        "Java classes cannot be loaded",
        "name key and certificates by `ssl.keyStore.location` and `ssl.trustStore.location`",
    ),
    Row::nothing("ssl.sslProvider", "there is one TLS library here"),
    Row::nothing("ssl.allowReverseDnsLookup", "a name is never looked up backwards"),
    Row::nothing("fips-mode", "it governs ensembles and Java's providers; this is no validated FIPS module"),
    Row::foreign(
        "admin.forceHttps",
        "whether the AdminServer takes TLS only: `true` is refused, it has no TLS",
        |_, setting| {
            unless_false(
                setting,
                "the AdminServer has no TLS here: bind it to loopback and put a proxy before it",
            )
        },
    ),
    Row::foreign(
        "admin.needClientAuth",
        "whether the AdminServer asks for certificates: `true` is refused, it has no TLS",
        |_, setting| {
            unless_false(
                setting,
                "the AdminServer has no TLS here: bind it to loopback and put a proxy before it",
            )
        },
    ),
    Row::foreign(
        "admin.portUnification",
        "whether the AdminServer takes TLS too: of `true` a warning says that it has no TLS",
        |draft, setting| {
            if setting.flag()? {
                draft.warn(
                    "`admin.portUnification=true` is not done: the AdminServer has no TLS here and answers in plain text \
                     only; hint: bind it to loopback (`admin.serverAddress=127.0.0.1`) and put a proxy before it",
                );
            }
            Ok(())
        },
    ),
    Row::refuses(
        "metricsProvider.httpsPort",
        "metrics are served in plain text only",
        "use `metricsProvider.httpPort` on loopback and put a proxy before it",
    ),
    Row::refuses(
        "metricsProvider.ssl.*",
        "metrics are served in plain text only",
        "use `metricsProvider.httpPort` on loopback and put a proxy before it",
    ),
    Row::refuses(
        "ssl.*",
        "no such TLS setting is known, and what it protects is not known either",
        "see `diwan config keys` for those that are; remove the line to run without it",
    ),
];

pub(super) fn location(store: &mut StoreDraft, setting: Setting<'_>) -> Checked<()> {
    store.path = Some(setting.value.into());
    Ok(())
}

pub(super) fn password(store: &mut StoreDraft, setting: Setting<'_>) -> Checked<()> {
    store.password = Some(Secret(String::from(setting.value)));
    Ok(())
}

pub(super) fn password_path(store: &mut StoreDraft, setting: Setting<'_>) -> Checked<()> {
    store.password_path = Some(setting.value.into());
    Ok(())
}

pub(super) fn kind(setting: Setting<'_>) -> Checked<Option<KeyStoreKind>> {
    match setting.value.to_ascii_uppercase().as_str() {
        "" => Ok(None),
        "PEM" => Ok(Some(KeyStoreKind::Pem)),
        "PKCS12" => Ok(Some(KeyStoreKind::Pkcs12)),
        "JKS" => Ok(Some(KeyStoreKind::Jks)),
        _ => Err(setting.problem("a form that cannot be read").hint("use `PEM`, `PKCS12` or `JKS`")),
    }
}

/// Whether clients show certificates.
pub(super) fn client_auth(setting: Setting<'_>) -> Checked<ClientAuth> {
    match setting.value.to_ascii_lowercase().as_str() {
        "none" => Ok(ClientAuth::None),
        "want" => Ok(ClientAuth::Want),
        "need" => Ok(ClientAuth::Need),
        _ => Err(setting.problem("neither `none`, `want` nor `need`")),
    }
}

/// The one version that is spoken; nothing for all that are sound. `ssl.protocol`.
pub(super) fn protocol(setting: Setting<'_>) -> Checked<Option<TlsProtocol>> {
    match setting.value {
        "TLS" => Ok(None),
        name => TlsProtocol::named(name).map(Some).ok_or_else(|| old_tls(setting)),
    }
}

/// The versions that are spoken, of those that are sound. `ssl.enabledProtocols`.
pub(super) fn protocols(draft: &mut Draft, setting: Setting<'_>) -> Checked<Vec<TlsProtocol>> {
    let mut protocols = Vec::new();
    for name in setting.list() {
        match TlsProtocol::named(&name) {
            Some(protocol) => protocols.push(protocol),
            None => draft.warn(format!("`{name}` is not offered: it is broken")),
        }
    }
    if protocols.is_empty() { Err(old_tls(setting)) } else { Ok(protocols) }
}

fn old_tls(setting: Setting<'_>) -> Problem {
    setting.problem("no version that is offered").hint("use `TLSv1.2` or `TLSv1.3`")
}

/// A protection that is not here: saying `false` is fine, anything else must not go unnoticed.
pub(super) fn unless_false(setting: Setting<'_>, hint: &str) -> Checked<()> {
    if setting.value.eq_ignore_ascii_case("false") {
        return Ok(());
    }
    Err(setting.problem("it asks for a protection that is not here").hint(hint))
}
