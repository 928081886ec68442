//! The load generator of the client library, on a server that is a process of its own.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod server;

use std::time::{Duration, Instant};

use council_client::load::{Load, Measured, Mix, Nodes, Pace, Servers, prepare, run};
use council_client::{Access, ErrorCode};
use rustix::process::{Resource, getrlimit};
use server::secured::Secured;
use server::{Folder, Server};

/// Ten thousand, or as many as this process may have sockets.
fn crowd() -> usize {
    let most = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX).min(1 << 20);
    usize::try_from(most).unwrap().saturating_sub(200).min(10_000)
}

#[test]
fn ten_thousand_sessions_are_held_by_one_thread_and_all_are_answered() {
    let folder = Folder::new();
    let server = Server::start_in(&folder.path().join("data"), &["-D", "maxClientCnxns=0"]);
    let address: std::net::SocketAddr = server.address().parse().unwrap();
    let nodes = Nodes { count: 100, value_bytes: 100 };
    prepare(address, nodes).unwrap();
    let load = Load {
        servers: address.into(),
        connections: crowd(),
        pace: Pace::Closed { outstanding: 1 },
        mix: Mix { writes_per_mille: 100 },
        nodes,
        seed: 1,
        checks: true,
    };
    let measured = run(&load, Duration::ZERO, Duration::from_millis(500), || {}).unwrap();
    assert_eq!((measured.errors, measured.verdict), (0, Ok(())));
    // Each has asked at least once, and the last answers were waited for.
    assert!(measured.operations + measured.drained >= load.connections as u64);
}

const NODES: Nodes = Nodes { count: 200, value_bytes: 3000 };

fn brief(servers: Servers) -> std::io::Result<Measured> {
    let load = Load {
        servers,
        connections: 20,
        pace: Pace::Closed { outstanding: 20 },
        mix: Mix { writes_per_mille: 300 },
        nodes: NODES,
        seed: 1,
        checks: true,
    };
    run(&load, Duration::ZERO, Duration::from_millis(300), || {})
}

/// The server's encrypted port, as if the server had this name.
fn named(secured: &Secured, host: &str, access: Access) -> Servers {
    let address = secured.server.secure_address().parse().unwrap();
    Servers { list: vec![council_client::load::Server { host: String::from(host), address }], access }
}

fn encrypted(secured: &Secured) -> Access {
    let trust_store = ::council_service::config::KeyStore {
        path: secured.file("certs/ca.pem").into(),
        password: ::council_service::config::Secret::default(),
        kind: ::council_service::config::KeyStoreKind::Pem,
    };
    let tls = ::net_tls::client::ClientTls {
        trust_store,
        key_store: None,
        verify_hostname: true,
        protocols: None,
        cipher_suites: None,
    };
    Access::default().tls(::net_tls::client::configure(&tls).unwrap())
}

#[test]
fn load_through_tls_with_sasl_is_answered_and_checked() {
    let secured = Secured::start_strict();
    let access = encrypted(&secured).sasl("bob", "bobsecret").identity("digest", b"alice:one");
    let servers = named(&secured, "localhost", access);
    prepare(servers.clone(), NODES).unwrap();
    let measured = brief(servers.clone()).unwrap();
    assert_eq!((measured.errors, measured.verdict), (0, Ok(())));
    assert!(measured.operations > 0 && measured.reads > 0 && measured.writes > 0);
    // The same access lets in a client; the nodes of the load are open to everyone.
    let client = servers.options().connect(&servers.connect_string(0)).unwrap();
    let users: Vec<_> =
        client.who_am_i().wait().unwrap().into_iter().map(|identity| identity.scheme).collect();
    assert!(users.iter().any(|scheme| scheme == "sasl") && users.iter().any(|scheme| scheme == "digest"));
    let (data, _) = client.data(&Nodes::path(0)).wait().unwrap();
    assert_eq!(data.unwrap().len(), NODES.value_bytes);
    assert!(client.data("/none").wait().unwrap_err().is(ErrorCode::NoNode));
}

#[test]
fn load_says_at_once_why_a_secured_server_does_not_let_it_in() {
    let secured = Secured::start_strict();
    let refusal = |host: &str, access: Access| {
        let began = Instant::now();
        let error = prepare(named(&secured, host, access), NODES).unwrap_err().to_string();
        assert!(began.elapsed() < Duration::from_secs(20), "{error}: {:?}", began.elapsed());
        error
    };
    let sasl = || Access::default().sasl("bob", "bobsecret");
    let cases = [
        ("localhost", encrypted(&secured).sasl("bob", "wrong"), "does not accept the SASL user"),
        ("localhost", encrypted(&secured), "demands that clients authenticate"),
        ("localhost", sasl(), "the port expects TLS"),
        // The certificate names 127.0.0.1 and `localhost`.
        ("elsewhere.example", encrypted(&secured).sasl("bob", "bobsecret"), "does not name this host"),
    ];
    for (host, access, expected) in cases {
        let error = refusal(host, access);
        assert!(error.contains(expected), "{expected}: {error}");
    }
    let scheme = encrypted(&secured).sasl("bob", "bobsecret").identity("none", b"x");
    let error = refusal("localhost", scheme);
    assert!(error.contains("an identity of the scheme `none`"), "{error}");
}
