//! Encrypted connections, with curl as the client.

mod support;

use std::io::Write as _;
use std::process::Command;
use std::sync::Arc;

use net_tls::{ClientAuth, Framing, KeyStore, KeyStoreKind, TlsConfig, TlsContext, TlsProtocol};

#[test]
fn curl_is_answered_over_tls_and_over_nothing_else() {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("skipped: there is no curl");
        return;
    }
    let key = rcgen::generate_simple_self_signed(vec![String::from("localhost")]).expect("a certificate");
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    write!(file, "{}{}", key.signing_key.serialize_pem(), key.cert.pem()).expect("written");
    let config = TlsConfig {
        key_store: KeyStore {
            path: file.path().into(),
            password: base::Secret(String::new()),
            kind: KeyStoreKind::Pem,
        },
        trust_store: None,
        client_auth: ClientAuth::None,
        protocols: vec![TlsProtocol::Tls12, TlsProtocol::Tls13],
        cipher_suites: None,
        verify_client_hostname: false,
        revocation_lists: Vec::new(),
        reload: false,
        handshake_timeout_ms: 5_000,
        framing: Framing::None,
    };
    let site = support::encrypted(Arc::new(TlsContext::new(config).expect("keys")));
    let port = site.server.address().port();
    let curl = |scheme: &str| {
        let resolve = format!("localhost:{port}:127.0.0.1");
        let url = format!("{scheme}://localhost:{port}/secret");
        let mut curl = Command::new("curl");
        curl.args(["-s", "--max-time", "10", "--resolve", &resolve, "--cacert"]).arg(file.path()).arg(url);
        curl.output().expect("curl runs")
    };
    assert_eq!(String::from_utf8_lossy(&curl("https").stdout), "GET /secret");
    assert!(curl("http").stdout.is_empty());
}
