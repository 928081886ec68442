//! How `shell` and `member` connect: TLS, SASL, secrets, and what they say when they cannot.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod server;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use server::secured::{Secured, certificates};
use server::{Folder, Server, diwan, said};

/// A command's outcome, without what the environment of the test says.
fn outcome(command: &mut Command) -> (bool, String, String) {
    for name in ["CLIENT_JVMFLAGS", "DIWAN_AUTH", "DIWAN_SASL_PASSWORD", "DIWAN_KEY_PASSWORD"] {
        if !command.get_envs().any(|(set, _)| set == name) {
            command.env_remove(name);
        }
    }
    said(command.output().unwrap())
}

fn refusal(command: &mut Command) -> String {
    let (success, out, errors) = outcome(command);
    assert!(!success && out.is_empty(), "{out}{errors}");
    errors
}

/// Encrypts what one plain server says: each connection is one question with one answer.
fn encrypting_proxy(to: std::net::SocketAddr, pem: &str) -> std::net::SocketAddr {
    let chain = CertificateDer::pem_file_iter(pem).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(pem).unwrap();
    let config =
        rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for socket in listener.incoming().map_while(Result::ok) {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut near = rustls::StreamOwned::new(connection, socket);
            let mut question = Vec::new();
            let mut byte = [0];
            while !question.ends_with(b"\r\n\r\n") && near.read_exact(&mut byte).is_ok() {
                question.push(byte[0]);
            }
            let Ok(mut far) = TcpStream::connect(to) else { continue };
            let mut answer = Vec::new();
            if far.write_all(&question).and_then(|()| far.read_to_end(&mut answer)).is_ok() {
                // A client that does not trust this one is gone.
                let _ = near.write_all(&answer);
                near.conn.send_close_notify();
                let _ = near.flush();
            }
        }
    });
    at
}

#[test]
fn status_asks_through_an_encrypting_proxy() {
    let folder = Folder::new();
    certificates(&folder.path().join("certs"));
    certificates(&folder.path().join("others"));
    let admin = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = diwan();
    command.args([
        "serve",
        "--log",
        "off",
        "--objects",
        "off",
        "--listen",
        "127.0.0.1:0",
        "--metrics",
        "off",
        "--admin",
        &admin.to_string(),
    ]);
    command.arg("--data-dir").arg(folder.path().join("data"));
    let _server = Server::started_by(command);
    let file = |name: &str| folder.path().join(name).display().to_string();
    let proxy = encrypting_proxy(admin, &file("certs/member-1.pem")).to_string();
    let status = |more: &[&str]| outcome(diwan().args(["status", "--server", &proxy]).args(more));
    let (success, out, errors) = status(&["--tls-ca", &file("certs/ca.pem")]);
    assert!(success && out.contains("one server alone"), "{out}{errors}");
    let property = format!("zookeeper.ssl.trustStore.location={}", file("certs/ca.pem"));
    assert!(status(&["-D", "zookeeper.client.secure=true", "-D", &property]).0);
    let (success, _, errors) = status(&["--tls-ca", &file("others/ca.pem")]);
    assert!(!success && errors.contains("does not answer"), "{errors}");
    assert!(!status(&[]).0, "it does not speak plain text");
}

#[test]
fn shell_speaks_tls_with_files_of_the_command_line() {
    let secured = Secured::start();
    let (ca, key) = (secured.file("certs/ca.pem"), secured.file("certs/member-1.pem"));
    let at = secured.server.secure_address();
    let shell = |arguments: &[&str]| {
        let mut command = diwan();
        command.args(["shell", "--server", &at, "--timeout", "9000"]).args(arguments).args(["ls", "/"]);
        command
    };
    let (success, out, errors) = outcome(&mut shell(&["--tls-ca", &ca, "--tls-cert", &key]));
    assert!(success && out == "[zookeeper]\n", "{out}{errors}");

    let plain = refusal(&mut shell(&[]));
    assert!(plain.contains("the port expects TLS") && plain.contains("hint: ") && plain.contains("--tls-ca"));
    let anonymous = refusal(&mut shell(&["--tls-ca", &ca]));
    assert!(anonymous.contains("it asks for a client certificate") && anonymous.contains("--tls-cert"));
    let others = Folder::new();
    certificates(&others.path().join("certs"));
    let other = PathBuf::from(others.path()).join("certs/ca.pem").display().to_string();
    let untrusted = refusal(&mut shell(&["--tls-ca", &other, "--tls-cert", &key]));
    assert!(untrusted.contains("authority"), "{untrusted}");
    assert!(untrusted.contains("hint: "), "{untrusted}");
}

#[test]
fn shell_that_speaks_tls_to_a_plain_port_says_so() {
    let secured = Secured::start();
    let errors = refusal(diwan().args(["shell", "--server", &secured.server.address()]).args([
        "--tls-ca",
        &secured.file("certs/ca.pem"),
        "ls",
        "/",
    ]));
    assert!(
        errors.contains("the port may speak plain text") || errors.contains("does not speak TLS"),
        "{errors}"
    );
}

#[test]
fn shell_takes_the_settings_of_a_zookeeper_client() {
    let secured = Secured::start();
    let properties = [
        format!("zookeeper.ssl.trustStore.location={}", secured.file("certs/ca.pem")),
        format!("zookeeper.ssl.keyStore.location={}", secured.file("certs/member-1.pem")),
        String::from("zookeeper.client.secure=true"),
        format!("java.security.auth.login.config={}", secured.file("jaas.conf")),
    ];
    let at = secured.server.secure_address();
    let flags = properties.iter().map(|property| format!("-D{property}")).collect::<Vec<_>>().join(" ");
    let file = secured.write("client.properties", &properties.join("\n"));
    for command in [
        diwan().args(["shell", "-server", &at, "whoami"]).env("CLIENT_JVMFLAGS", &flags),
        diwan().args(["shell", "-server", &at, "-client-configuration", &file, "whoami"]),
    ] {
        let (success, out, errors) = outcome(command);
        assert!(success && out.contains("sasl: bob") && out.contains("x509: "), "{out}{errors}");
    }
}

#[test]
fn secrets_come_from_files_and_the_environment() {
    let secured = Secured::start();
    let at = secured.server.address();
    let password = secured.write("password", "bobsecret\n");
    let auth = secured.write("auth", "# identities\ndigest:alice:one\n\ndigest:carol:two\n");
    let shell = || {
        let mut command = diwan();
        command.args(["shell", "--server", &at]);
        command
    };
    let sasl = ["--sasl-user", "bob"];
    let (_, out, errors) = outcome(shell().args(sasl).env("DIWAN_SASL_PASSWORD", "bobsecret").arg("whoami"));
    assert!(out.contains("sasl: bob"), "{out}{errors}");
    let (_, out, errors) = outcome(shell().args(sasl).args(["--sasl-password-file", &password, "whoami"]));
    assert!(out.contains("sasl: bob"), "{out}{errors}");
    let (_, out, errors) =
        outcome(shell().args(["--auth-file", &auth, "whoami"]).env("DIWAN_AUTH", "digest:dave:three"));
    for name in ["digest: alice", "digest: carol", "digest: dave"] {
        assert!(out.contains(name), "{name}: {out}{errors}");
    }

    let wrong = refusal(shell().args(sasl).env("DIWAN_SASL_PASSWORD", "other").arg("whoami"));
    assert!(wrong.contains("does not accept this user"), "{wrong}");
    let missing = refusal(shell().args(sasl).arg("whoami"));
    assert!(missing.contains("--sasl-password-file") && missing.contains("DIWAN_SASL_PASSWORD"), "{missing}");
    let missing = refusal(shell().args(["--auth", "digest:alice", "whoami"]));
    assert!(missing.contains("no password of `alice`") && missing.contains("DIWAN_AUTH"), "{missing}");
}

#[test]
fn servers_that_cannot_be_reached_are_told_at_once_each_with_its_cause() {
    let began = std::time::Instant::now();
    let one = refusal(diwan().args(["shell", "--server", "127.0.0.1:1", "ls", "/"]));
    assert!(one.contains("cannot connect to 127.0.0.1:1: connection refused\nhint: "), "{one}");
    let two = refusal(diwan().args(["member", "--server", "127.0.0.1:1,nohost.invalid", "list"]));
    assert!(two.contains("\n  127.0.0.1:1: connection refused"), "{two}");
    assert!(two.contains("\n  nohost.invalid:2181: the name cannot be resolved"), "{two}");
    // The session timeout is 30 s; names may take some time to fail.
    assert!(began.elapsed().as_secs() < 25, "{:?}", began.elapsed());
}

#[test]
fn properties_that_cannot_be_honoured_are_refused() {
    let errors = refusal(diwan().args(["shell", "-D", "zookeeper.ssl.ocsp=true", "ls", "/"]));
    assert!(errors.contains("`zookeeper.ssl.ocsp` is not supported"), "{errors}");
    let unsure = ["-D", "zookeeper.client.secure=yes", "ls", "/"];
    let errors = refusal(diwan().arg("shell").args(unsure));
    assert!(errors.contains("`zookeeper.client.secure=yes` is neither `true` nor `false`"), "{errors}");
    let plain = ["--server", "127.0.0.1:1", "-D", "zookeeper.ssl.trustStore.location=/ca.pem", "ls", "/"];
    let errors = refusal(diwan().arg("shell").args(plain));
    assert!(errors.contains("warning: `zookeeper.ssl.trustStore.location` is not used"), "{errors}");
    let errors = refusal(diwan().args(["shell", "-D", "zookeeper.client.secure=true", "ls", "/"]));
    assert!(errors.contains("trust store") && errors.contains("--tls-ca"), "{errors}");
    let errors = refusal(diwan().args(["shell", "--tls-ca", "/none/ca.pem", "ls", "/"]));
    assert!(errors.contains("cannot read `/none/ca.pem`"), "{errors}");
}
