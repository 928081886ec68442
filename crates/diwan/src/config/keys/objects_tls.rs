//! Keys of TLS for clients of live objects: those of the council's clients, with another first word.

use super::super::draft::{Draft, TlsDraft};
use super::Row;
use super::server::put;
use super::tls::{client_auth, kind, location, password, password_path, protocols};

pub(super) const ROWS: &[Row] = &[
    Row::own(
        "objects.tls.key-store",
        "the file with key and certificate: with it clients of objects have to speak TLS",
        |draft, setting| location(&mut said(draft).key_store, setting),
    ),
    Row::own("objects.tls.key-store-password", "its password", |draft, setting| {
        password(&mut said(draft).key_store, setting)
    }),
    Row::own("objects.tls.key-store-password-file", "its password's file", |draft, setting| {
        password_path(&mut said(draft).key_store, setting)
    }),
    Row::own("objects.tls.key-store-type", "its form", |draft, setting| {
        put(&mut said(draft).key_store.kind, kind(setting))
    }),
    Row::own(
        "objects.tls.trust-store",
        "the file with the authorities that clients' certificates must come from",
        |draft, setting| location(&mut said(draft).trust_store, setting),
    ),
    Row::own("objects.tls.trust-store-password", "its password", |draft, setting| {
        password(&mut said(draft).trust_store, setting)
    }),
    Row::own("objects.tls.trust-store-password-file", "its password's file", |draft, setting| {
        password_path(&mut said(draft).trust_store, setting)
    }),
    Row::own("objects.tls.trust-store-type", "its form", |draft, setting| {
        put(&mut said(draft).trust_store.kind, kind(setting))
    }),
    Row::own(
        "objects.tls.client-auth",
        "whether clients show certificates: `need` if there is a trust store, otherwise `none`",
        |draft, setting| put(&mut said(draft).client_auth, client_auth(setting).map(Some)),
    ),
    Row::own("objects.tls.protocols", "the TLS versions offered", |draft, setting| {
        said(draft).protocols = Some(protocols(draft, setting)?);
        Ok(())
    }),
    Row::own("objects.tls.cipher-suites", "the cipher suites offered", |draft, setting| {
        said(draft).cipher_suites = Some(setting.list());
        Ok(())
    }),
    Row::own(
        "objects.tls.verify-client-hostname",
        "whether a client's certificate must name its address",
        |draft, setting| put(&mut said(draft).verify_client_hostname, setting.flag()),
    ),
    Row::own("objects.tls.revocation-lists", "files of revoked certificates", |draft, setting| {
        said(draft).revocation_lists = setting.list().into_iter().map(Into::into).collect();
        Ok(())
    }),
    Row::own("objects.tls.reload", "whether changed files are taken up", |draft, setting| {
        put(&mut said(draft).reload, setting.flag())
    }),
    Row::own("objects.tls.handshake-timeout-ms", "how long a TLS handshake may take", |draft, setting| {
        put(&mut said(draft).handshake_timeout_ms, setting.positive())
    }),
];

/// The settings of TLS for objects, of which a source now speaks.
fn said(draft: &mut Draft) -> &mut TlsDraft {
    draft.objects.said = true;
    &mut draft.objects.tls
}
