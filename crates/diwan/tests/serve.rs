//! `diwan serve` as its user meets it: starting, refusing to start, stopping, starting again.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod server;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use council_client::{Client, CreateMode};
use rustix::process::{Pid, Signal, kill_process};
use server::{Folder, Server, diwan, said, serve};

/// A start that must fail: what it says.
fn refused(mut command: std::process::Command) -> String {
    let (success, out, errors) = said(command.output().unwrap());
    assert!(!success && out.is_empty(), "{out}{errors}");
    errors
}

#[test]
fn what_was_written_is_there_after_a_stop_and_after_a_crash() {
    let folder = Folder::new();
    let data = folder.path().join("data");
    for (turn, signal) in [Signal::TERM, Signal::KILL, Signal::INT].into_iter().enumerate() {
        let server = Server::start_in(&data, &[]);
        let client = Client::connect(&server.address()).unwrap();
        client.create(&format!("/n{turn}"), b"x", CreateMode::Persistent).wait().unwrap();
        let mut names = client.children("/").wait().unwrap();
        names.sort();
        assert_eq!(names.len(), turn + 2, "{names:?}");
        client.abandon();
        assert_eq!(server.end(signal), signal != Signal::KILL);
    }
}

#[test]
fn a_session_outlives_a_restart() {
    let folder = Folder::new();
    let data = folder.path().join("data");
    let server = Server::start_in(&data, &[]);
    let client = Client::connect(&server.address()).unwrap();
    client.create("/e", b"", CreateMode::Ephemeral).wait().unwrap();
    let ticket = client.ticket();
    client.abandon();
    server.end(Signal::KILL);
    let server = Server::start_in(&data, &[]);
    let resumed = council_client::Options::new().resume(ticket.clone()).connect(&server.address()).unwrap();
    assert_eq!(resumed.exists("/e").wait().unwrap().unwrap().ephemeral_owner, ticket.session.0);
}

#[test]
fn a_port_that_is_taken_is_named() {
    let folder = Folder::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut command = diwan();
    command.args([
        "serve",
        "--log",
        "off",
        "--objects",
        "off",
        "--metrics",
        "off",
        "--admin",
        "off",
        "--listen",
        &address,
        "--data-dir",
    ]);
    command.arg(folder.path());
    let errors = refused(command);
    assert!(errors.contains(&address) && errors.contains("hint: "), "{errors}");
}

#[test]
fn data_of_a_real_zookeeper_is_refused_and_left_alone() {
    let folder = Folder::new();
    fs::create_dir(folder.path().join("version-2")).unwrap();
    fs::write(folder.path().join("version-2/snapshot.0"), "ZKSN").unwrap();
    let errors = refused(serve(folder.path()));
    assert!(errors.contains("version-2") && errors.contains("hint: "), "{errors}");
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["version-2"]);
}

#[test]
fn somebody_elses_files_are_left_alone() {
    let folder = Folder::new();
    let council = folder.path().join("council");
    fs::create_dir(&council).unwrap();
    fs::write(council.join("photo.jpg"), "precious").unwrap();
    let errors = refused(serve(folder.path()));
    assert!(errors.contains("`photo.jpg`, which is not ours") && errors.contains("hint: "), "{errors}");
    assert_eq!(fs::read(council.join("photo.jpg")).unwrap(), b"precious");
    assert!(!council.join("meta").exists() && !council.join("log").exists());
}

#[test]
fn data_of_the_earlier_layout_are_refused_with_the_way_to_move_them() {
    let folder = Folder::new();
    let data = folder.path().join("data");
    let server = Server::start_in(&data, &[]);
    let client = Client::connect(&server.address()).unwrap();
    client.create("/kept", b"", CreateMode::Persistent).wait().unwrap();
    client.close();
    assert!(server.end(Signal::TERM));
    for entry in fs::read_dir(data.join("council")).unwrap() {
        let entry = entry.unwrap();
        fs::rename(entry.path(), data.join(entry.file_name())).unwrap();
    }
    fs::remove_dir(data.join("council")).unwrap();
    let errors = refused(serve(&data));
    assert!(errors.contains("holds data of an earlier layout"), "{errors}");
    let command = errors.lines().find_map(|line| line.split('`').nth(3)).expect("a command to move them");
    assert!(std::process::Command::new("sh").args(["-c", command]).status().unwrap().success(), "{command}");
    let server = Server::start_in(&data, &[]);
    let client = Client::connect(&server.address()).unwrap();
    assert!(client.exists("/kept").wait().unwrap().is_some());
}

#[test]
fn two_servers_do_not_share_their_data() {
    let folder = Folder::new();
    let data = folder.path().join("data");
    let server = Server::start_in(&data, &[]);
    let errors = refused(serve(&data));
    assert!(errors.contains("data") && errors.contains("hint: "), "{errors}");
    let client = Client::connect(&server.address()).unwrap();
    client.sync("/").wait().unwrap();
}

#[test]
fn a_data_directory_that_cannot_be_is_named() {
    let folder = Folder::new();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    // No user can write to the second, not even root.
    for data in [file.join("data"), "/proc/diwan".into()] {
        let errors = refused(serve(&data));
        let named = format!("the data directory `{}` cannot be used", data.join("council").display());
        assert!(errors.contains(&named) && errors.contains("hint: "), "{errors}");
    }
}

#[test]
fn a_wrong_configuration_is_refused_with_every_reason() {
    let folder = Folder::new();
    let file = folder.path().join("zoo.cfg");
    fs::write(&file, "clientPort=x\nsessionRequireClientSASLAuth=true\ndatadir=/d\n").unwrap();
    let mut command = diwan();
    command.arg("serve").arg("--config").arg(&file);
    let errors = refused(command);
    for expected in [
        "warning: line 3: there is no key `datadir`\nhint: did you mean `dataDir`?\n",
        "error: line 1: `clientPort` is `x`",
        "error: `dataDir` is not set",
        "`sasl`",
        "hint: ",
    ] {
        assert!(errors.contains(expected), "{errors}");
    }
}

#[test]
fn a_key_store_in_javas_old_form_is_refused_with_the_command_that_converts_it() {
    let folder = Folder::new();
    let store = folder.path().join("keys.jks");
    fs::write(&store, [0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2]).unwrap();
    let file = folder.path().join("zoo.cfg");
    for form in ["", "ssl.keyStore.type=JKS\n"] {
        let data = folder.path().join("data").display().to_string();
        let text = format!(
            "dataDir={data}\nsecureClientPort=0\nadmin.enableServer=false\nssl.clientAuth=none\n\
             ssl.keyStore.location={}\nssl.keyStore.password=secret\n{form}",
            store.display()
        );
        fs::write(&file, text).unwrap();
        let mut command = diwan();
        command.args(["serve", "--metrics", "off", "--config"]).arg(&file);
        let errors = refused(command);
        let (old, new) = (store.display(), store.with_extension("p12").display().to_string());
        let expected = format!(
            "error: `ssl.keyStore.location` (`council.tls.key-store`): `{old}`: Java's old key store form (JKS) is not read\n\
             hint: run `keytool -importkeystore -srckeystore {old} -srcstoretype JKS -destkeystore {new} \
             -deststoretype PKCS12`, and name `{new}` in the configuration instead\n"
        );
        assert_eq!(errors, expected);
    }
}

/// Rather than take certificates that their issuer has revoked.
#[test]
fn revocation_that_is_not_looked_at_refuses_the_start() {
    let folder = Folder::new();
    let file = folder.path().join("zoo.cfg");
    let data = folder.path().join("data").display().to_string();
    for (key, hint) in [
        ("ssl.ocsp", "OCSP is not here; lists are: `-D council.tls.revocation-lists=FILE,..`"),
        ("ssl.crl", "name the lists' files with `-D council.tls.revocation-lists=FILE,..` instead"),
    ] {
        let expected =
            format!("`{key}` is `true`: it asks for a protection that is not here\nhint: {hint}\n");
        let usual = format!("dataDir={data}\nclientPort=0\nadmin.enableServer=false\n");
        fs::write(&file, format!("{usual}{key}=true\n")).unwrap();
        let mut command = diwan();
        command.args(["serve", "--metrics", "off", "--config"]).arg(&file);
        assert_eq!(refused(command), format!("error: line 4: {expected}"));

        fs::write(&file, usual).unwrap();
        let mut command = diwan();
        command
            .args(["serve", "--metrics", "off", "-D", &format!("zookeeper.{key}=true"), "--config"])
            .arg(&file);
        assert_eq!(refused(command), format!("error: {expected}"));
    }
}

#[test]
fn a_zoo_cfg_is_served_as_it_is_and_its_odd_keys_are_named() {
    let folder = Folder::new();
    let file = folder.path().join("zoo.cfg");
    let text = format!(
        "tickTime=500\ninitLimit=5\nmaxClientCnxn=1\ndataDir={}\nclientPort=0\nadmin.enableServer=false\n",
        folder.path().join("data").display()
    );
    fs::write(&file, text).unwrap();
    let mut command = diwan();
    command
        .args(["serve", "--log", "off", "--metrics", "off", "--log-format", "json", "--config"])
        .arg(&file);
    let mut server = Logged::start(command);
    let mut log = Vec::new();
    let address = loop {
        let line = server.line("");
        log.push(line);
        let found = log.last().and_then(|line| line.split_once("\"client\":\"")?.1.split_once('"'));
        if let Some((address, _)) = found {
            break String::from(address);
        }
    };
    let client = Client::connect(&address).unwrap();
    client.sync("/").wait().unwrap();
    assert_eq!(client.session_timeout(), std::time::Duration::from_secs(10));
    client.close();
    server.signal(Signal::TERM);
    assert!(server.child.wait().unwrap().success());
    log.extend(server.lines.iter());
    assert!(log.iter().all(|line| line.starts_with('{') && line.ends_with('}')), "{log:?}");
    for named in ["`initLimit` is ignored", "did you mean `maxClientCnxns`?"] {
        assert!(log.iter().any(|line| line.contains(named)), "{log:?}");
    }
}

/// A server with a log that can be read line by line.
struct Logged {
    child: std::process::Child,
    lines: std::sync::mpsc::Receiver<String>,
}

impl Logged {
    fn start(mut command: std::process::Command) -> Self {
        let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
        let reader = BufReader::new(child.stderr.take().unwrap());
        let (told, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            // The receiver may be gone.
            reader.lines().map_while(Result::ok).for_each(|line| drop(told.send(line)));
        });
        Self { child, lines }
    }

    /// The next line that holds this.
    fn line(&self, holds: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(Duration::from_secs(60));
            let line = line.unwrap_or_else(|_| panic!("no line with `{holds}`"));
            if line.contains(holds) {
                return line;
            }
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A session of a client that has become silent, opened by hand; returns its client's address.
fn silent_session(address: &str, timeout_ms: i32) -> String {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let mut hello = [0_u8; 4 + 45];
    hello[3] = 45;
    hello[16..20].copy_from_slice(&timeout_ms.to_be_bytes());
    hello[31] = 16;
    stream.write_all(&hello).unwrap();
    stream.read_exact(&mut [0; 8]).unwrap();
    stream.local_addr().unwrap().to_string()
}

#[test]
fn log_names_client_of_an_expired_session_scheme_of_a_failed_authentication_and_wrong_super_passwords() {
    let folder = Folder::new();
    let mut command = server::serve(&folder.path().join("data"));
    for setting in
        ["tickTime=500", "DigestAuthenticationProvider.superDigest=super:D/InIHSb7yEEbrWz8b9l71RjZJU="]
    {
        command.args(["-D", setting]);
    }
    let server = Logged::start(command);
    let ready = server.line("client=\"");
    let address = ready.split_once("client=\"").unwrap().1.split('"').next().unwrap();
    let silent = silent_session(address, 1_000);
    assert!(server.line("a session has expired").contains(&silent));
    let nobody = council_client::Options::default().identity("nonsense", b"x").connect(address).unwrap();
    assert!(server.line("a client could not be authenticated").contains("nonsense"));
    drop(nobody);
    let guess = |password: &str| {
        let client = council_client::Options::default().identity("digest", password.as_bytes());
        let client = client.connect(address).unwrap();
        client.sync("/").wait().unwrap();
        client.close();
    };
    guess("super:test");
    (0..20).for_each(|number| guess(&format!("super:{number}")));
    server.line("a wrong password of the super user");
    server.line("too many wrong passwords of the super user came from this address");
}

#[test]
fn commands_that_anybody_may_run_write_a_limited_number_of_lines() {
    let folder = Folder::new();
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
    let server = Logged::start(command);
    server.line("client=\"");
    for _ in 0..60 {
        let mut page = std::net::TcpStream::connect(admin).unwrap();
        write!(page, "GET /commands/stat_reset HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        page.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    server.signal(Signal::USR1);
    let lines: Vec<_> =
        std::iter::repeat_with(|| server.line("")).take_while(|line| !line.contains("SIGUSR1")).collect();
    let told = lines.iter().filter(|line| line.contains("a command of the AdminServer was run")).count();
    assert_eq!(told, 20, "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("come so often that further ones are counted only")));
}

#[test]
fn signals_that_end_other_programs_reload_or_do_nothing() {
    let folder = Folder::new();
    let config = folder.path().join("diwan.toml");
    let data = folder.path().join("data");
    let write = |level: &str| {
        let text = format!(
            "[node]\ndata-dir = '{}'\n[council.listen]\nclient = '127.0.0.1:0'\n[metrics]\nlisten = 'off'\n\
             [admin]\nlisten = 'off'\n[logging]\nlevel = '{level}'\n",
            data.display()
        );
        fs::write(&config, text).unwrap();
    };
    write("info");
    let mut command = diwan();
    command.args(["serve", "--config"]).arg(&config);
    let mut server = Logged::start(command);
    let ready = server.line("client=\"");
    let address = ready.split_once("client=\"").unwrap().1.split('"').next().unwrap();
    let client = Client::connect(address).unwrap();
    for (signal, name) in [(Signal::USR1, "SIGUSR1"), (Signal::USR2, "SIGUSR2"), (Signal::QUIT, "SIGQUIT")] {
        server.signal(signal);
        server.line(name);
    }
    write("debug");
    server.signal(Signal::HUP);
    assert!(server.line("the log level is changed").contains("to=debug"));
    write("nonsense");
    server.signal(Signal::HUP);
    server.line("the configuration has errors now");
    client.create("/on", b"", CreateMode::Persistent).wait().unwrap();
    client.close();
    // Logged at the level that was asked for last.
    server.line("a session was closed by its client");
    server.signal(Signal::TERM);
    assert!(server.child.wait().unwrap().success());
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&data), mode(&data.join("council/meta"))), (0o700, 0o600));
}
