//! Encrypted connections, with curl as the client.

mod support;

use std::io::Write as _;
use std::process::Command;
use std::sync::Arc;

use net_tls::{ClientAuth, Framing, KeyStore, KeyStoreKind, TlsConfig, TlsContext, TlsProtocol};

/// A server with a key of its own, whose certificate is in the file.
fn secret_site(handshake_timeout_ms: u32) -> (tempfile::NamedTempFile, support::Site) {
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
        handshake_timeout_ms,
        framing: Framing::None,
    };
    let site = support::encrypted(Arc::new(TlsContext::new(config).expect("keys")));
    (file, site)
}

#[test]
fn curl_is_answered_over_tls_and_over_nothing_else() {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("skipped: there is no curl");
        return;
    }
    let (file, site) = secret_site(5_000);
    let port = site.server.address().port();
    let curl = |scheme: &str| {
        let resolve = format!("localhost:{port}:127.0.0.1");
        let url = format!("{scheme}://localhost:{port}/secret");
        let mut curl = Command::new("curl");
        curl.args(["-s", "--max-time", "10", "--resolve", &resolve, "--cacert"]).arg(file.path()).arg(url);
        curl.output().expect("curl runs")
    };
    assert_eq!(String::from_utf8_lossy(&curl("https").stdout), "GET /secret");
    assert_eq!(String::from_utf8_lossy(&curl("http").stdout), "TLS!");
}

#[test]
fn client_in_plain_text_reads_why_it_is_refused_whatever_it_has_sent() {
    let (_file, site) = secret_site(5_000);
    for body in ["", &"x".repeat(300_000)] {
        let mut client = site.client();
        // The server may have closed its side by then.
        let head = format!("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
        let _ =
            client.stream.write_all(head.as_bytes()).and_then(|()| client.stream.write_all(body.as_bytes()));
        assert!(client.rest().ends_with("TLS!"));
    }
    // One that goes away without a word is no trouble.
    drop(site.client());
}

#[test]
fn handshakes_beyond_the_most_are_refused_and_those_that_never_end_make_room() {
    let (_file, site) = secret_site(1_000);
    let mut silent: Vec<_> = (0..20).map(|_| site.client()).collect();
    let counts = || (site.server.metrics().handshakes(), site.server.metrics().handshakes_failed());
    let deadline = std::time::Instant::now() + support::PATIENCE;
    while counts().1 < 4 {
        assert!(std::time::Instant::now() < deadline && counts().0 <= 16, "{:?}", counts());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    for client in &mut silent {
        assert_eq!(client.rest(), "", "each of them comes to its end");
    }
    while counts() != (0, 20) {
        assert!(std::time::Instant::now() < deadline, "{:?}", counts());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
