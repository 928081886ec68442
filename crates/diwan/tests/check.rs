//! `diwan config check` says what `diwan serve` does with the same file, and changes nothing.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod server;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use server::{Folder, Server, diwan, said};

/// What stands behind the first `error: `, the hint included.
fn error(text: &str) -> &str {
    let at = text.find("error: ").unwrap_or_else(|| panic!("no error in {text}"));
    text.get(at..).unwrap().trim_end()
}

fn check(file: &Path, more: &[&str]) -> (bool, String) {
    let (success, out, errors) =
        said(diwan().args(["config", "check"]).arg(file).args(more).output().unwrap());
    assert_eq!(errors, "");
    (success, out)
}

/// Everything below a directory, with its bytes.
fn content(directory: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .flat_map(|entry| {
            let path = entry.unwrap().path();
            let below = if path.is_dir() { content(&path) } else { Vec::new() };
            std::iter::once((path.clone(), fs::read(&path).ok())).chain(below).collect::<Vec<_>>()
        })
        .collect();
    found.sort();
    found
}

/// `serve` and the check refuse this file with the same words, of which `part` are some.
fn refused_alike(folder: &Path, lines: &str, part: &str) {
    let file = configured(folder, lines);
    let before = content(folder);
    let (success, checked) = check(&file, &[]);
    assert!(!success, "{lines}: {checked}");
    assert_eq!(content(folder), before, "{lines}: something was changed");
    said_alike(folder, lines, part);
}

fn configured(folder: &Path, lines: &str) -> PathBuf {
    let file = folder.join("zoo.cfg");
    let common = "admin.enableServer=false\nelectionPortBindRetry=0\n";
    fs::write(&file, format!("{common}{lines}\n")).unwrap();
    file
}

/// The same, where another process may change the files meanwhile.
fn said_alike(folder: &Path, lines: &str, part: &str) {
    let file = configured(folder, lines);
    let (success, checked) = check(&file, &[]);
    assert!(!success, "{lines}: {checked}");
    let output = diwan().args(["serve", "--metrics", "off", "--config"]).arg(&file).output().unwrap();
    let (success, _, errors) = said(output);
    assert!(!success, "{lines}: {errors}");
    assert_eq!(error(&checked), error(&errors), "{lines}");
    assert!(error(&checked).contains(part), "no `{part}` in {checked}");
    assert!(error(&checked).contains("\nhint: "), "{checked}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn check_refuses_what_a_start_refuses_in_the_same_words() {
    let folder = Folder::new();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    fs::create_dir_all(folder.path().join("old/version-2")).unwrap();
    fs::create_dir_all(folder.path().join("foreign/council")).unwrap();
    fs::write(folder.path().join("foreign/council/photo.jpg"), "x").unwrap();
    fs::create_dir_all(folder.path().join("headless/council")).unwrap();
    fs::write(folder.path().join("headless/council/meta"), "x").unwrap();
    fs::create_dir_all(folder.path().join("member")).unwrap();
    fs::write(folder.path().join("member/myid"), "1\n").unwrap();
    fs::write(folder.path().join("file"), "x").unwrap();
    fs::write(folder.path().join("text.pem"), "nothing").unwrap();
    fs::write(folder.path().join("sealed.p12"), [0x30, 0x82, 1, 2, 3]).unwrap();

    let alone = |data: &str, more: &str| {
        format!("dataDir={}\nclientPort=0\nclientPortAddress=127.0.0.1\n{more}", at(data))
    };
    refused_alike(folder.path(), &alone("old", ""), "`version-2`");
    refused_alike(folder.path(), &alone("foreign", ""), "photo.jpg");
    refused_alike(folder.path(), &alone("headless", ""), "its log is not in");
    refused_alike(folder.path(), &alone("file", ""), "cannot be used: Not a directory");
    refused_alike(folder.path(), &alone("file/below", ""), "cannot be used: Not a directory");
    refused_alike(folder.path(), "dataDir=/proc/diwan\nclientPort=0\n", "cannot be used");
    refused_alike(folder.path(), &alone("new", "datadir.autocreate=false"), "is missing");
    refused_alike(folder.path(), &alone("new", &format!("dataLogDir={}", at("file"))), "cannot be used");
    refused_alike(folder.path(), &alone("new", "dataLogDir="), "`dataLogDir` is ``");
    refused_alike(
        folder.path(),
        &format!("dataDir={}\nclientPort=2\nclientPortAddress=192.0.2.1", at("new")),
        "cannot listen at 192.0.2.1:2",
    );
    let busy = format!("dataDir={}\nclientPort={port}\nclientPortAddress=127.0.0.1", at("new"));
    refused_alike(folder.path(), &busy, "cannot listen at 127.0.0.1:");
    let admin = format!("admin.enableServer=true\nadmin.serverPort={port}\nadmin.serverAddress=127.0.0.1");
    refused_alike(folder.path(), &alone("new", &admin), "for the AdminServer");

    let secure = "secureClientPort=0\nsecureClientPortAddress=127.0.0.1\nssl.clientAuth=none\n";
    let store =
        |name: &str, more: &str| alone("new", &format!("{secure}ssl.keyStore.location={}\n{more}", at(name)));
    refused_alike(
        folder.path(),
        &store("missing.pem", ""),
        "`ssl.keyStore.location` (`council.tls.key-store`): cannot read",
    );
    refused_alike(folder.path(), &store("text.pem", ""), "holds no certificate");
    refused_alike(folder.path(), &store("sealed.p12", "ssl.keyStore.password=no"), "under this password");
    refused_alike(
        folder.path(),
        &store("text.pem", "ssl.keyStore.passwordPath=/none"),
        "cannot read `/none`",
    );

    let members = |own: &str, more: &str| {
        alone("member", &format!("server.1={own};127.0.0.1:0\nserver.2=127.0.0.1:4:5\n{more}"))
    };
    refused_alike(
        folder.path(),
        &members("nohost.invalid:2:3", ""),
        "`nohost.invalid`, the host of this member",
    );
    refused_alike(folder.path(), &members(&format!("127.0.0.1:{port}:3"), ""), "for other members");
    let keys = format!(
        "sslQuorum=true\nssl.quorum.keyStore.location={0}\nssl.quorum.trustStore.location={0}",
        at("k.pem")
    );
    refused_alike(folder.path(), &members("127.0.0.1:0:3", &keys), "`ssl.quorum.");
}

#[test]
fn check_looks_into_the_data_and_leaves_it_alone() {
    let folder = Folder::new();
    let data = folder.path().join("data");
    let lines = format!("dataDir={}\nclientPort=0\nclientPortAddress=127.0.0.1", data.display());
    let file = folder.path().join("zoo.cfg");
    fs::write(&file, format!("{lines}\nadmin.enableServer=false\n")).unwrap();
    let (success, out) = check(&file, &[]);
    assert!(success && out.contains("a server would start with this"), "{out}");
    assert!(!data.exists(), "the directory was made");

    let server = Server::start_in(&data, &[]);
    said_alike(folder.path(), &lines, "is in use by another process");
    let (success, out) = check(&file, &["--running"]);
    assert!(success && out.contains("note: a server uses the data directory"), "{out}");
    assert!(server.end(Signal::TERM));
    let before = content(folder.path());
    let (success, out) = check(&file, &[]);
    assert!(success, "{out}");
    assert_eq!(content(folder.path()), before);

    let log = fs::read_dir(data.join("council/log")).unwrap().map(|entry| entry.unwrap().path());
    let segment = log.filter(|path| path.is_file()).min().unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    bytes[40] ^= 0xff;
    fs::write(&segment, bytes).unwrap();
    refused_alike(folder.path(), &lines, "damaged");
}

#[test]
fn shell_whose_reader_has_gone_ends_in_silence() {
    let server = Server::start();
    let mut command = diwan();
    command.args(["shell", "--server", &server.address(), "ls", "/"]);
    let mut child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let (success, _, errors) = said(child.wait_with_output().unwrap());
    assert!(success && errors.is_empty(), "{errors}");
}
