//! `diwan certificates`: files that a member takes, lines that name them, and nothing replaced. And the warning that
//! recommends it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod server;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use server::{Folder, diwan, said};

fn certificates(directory: &Path, members: &[&str]) -> (bool, String, String) {
    let mut command = diwan();
    command.arg("certificates").arg("--dir").arg(directory);
    members.iter().for_each(|member| {
        command.args(["--member", member]);
    });
    said(command.output().unwrap())
}

fn check(file: &Path) -> (bool, String, String) {
    said(diwan().args(["config", "check"]).arg(file).output().unwrap())
}

#[test]
fn the_lines_that_are_printed_make_members_speak_encrypted() {
    let folder = Folder::new();
    let store = folder.path().join("certs");
    let (success, lines, errors) = certificates(&store, &["1=127.0.0.1,zk1", "2=127.0.0.1"]);
    assert!(success && errors.contains("`ca-key.pem`"), "{errors}");
    let mode = |name: &str| fs::metadata(store.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("ca-key.pem"), mode("member-1.pem"), mode("ca.pem")), (0o600, 0o600, 0o644));
    assert_eq!(mode("ensemble.secret"), 0o600);
    assert_eq!(fs::read_to_string(store.join("ensemble.secret")).unwrap().trim().len(), 64);
    let own: String =
        lines.lines().take_while(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("myid"), "1\n").unwrap();
    let file = folder.path().join("zoo.cfg");
    let text = format!(
        "dataDir={}\nclientPort=2181\nserver.1=127.0.0.1:1:2\nserver.2=127.0.0.1:3:4\n{own}",
        data.display()
    );
    fs::write(&file, text).unwrap();
    let (success, out, errors) = check(&file);
    assert!(success, "{out}{errors}");
    for line in [
        "sslQuorum",
        "ssl.quorum.keyStore.location",
        "ssl.quorum.trustStore.location",
        "diwan.ensembleSecretFile",
    ] {
        assert!(out.contains(line) || errors.contains(line), "{out}{errors}");
    }
}

#[test]
fn what_is_there_is_never_replaced_and_signs_for_more() {
    let folder = Folder::new();
    let store = folder.path().join("certs");
    assert!(certificates(&store, &["1=a"]).0);
    let before = |name: &str| fs::read(store.join(name)).unwrap();
    let (authority, first, secret) = (before("ca.pem"), before("member-1.pem"), before("ensemble.secret"));
    let (success, out, errors) = certificates(&store, &["2=b", "1=a"]);
    assert!(!success && out.is_empty(), "{out}");
    assert!(errors.contains("member-1.pem` is there already") && errors.contains("hint: "), "{errors}");
    assert!(!store.join("member-2.pem").exists(), "all or nothing");
    assert!(certificates(&store, &["2=b"]).0);
    assert_eq!((before("ca.pem"), before("member-1.pem")), (authority, first));
    assert_eq!(before("ensemble.secret"), secret);
    let (success, _, errors) = certificates(&store, &["3=c", "3=d"]);
    assert!(!success && errors.contains("named twice"), "{errors}");
    fs::remove_file(store.join("ca-key.pem")).unwrap();
    let (success, _, errors) = certificates(&store, &["3=c"]);
    assert!(!success && errors.contains("not both"), "{errors}");
}

#[test]
fn members_that_speak_in_plain_text_are_told_what_mends_it() {
    let folder = Folder::new();
    let mut child = diwan()
        .args([
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
            "off",
            "--data-dir",
        ])
        .arg(folder.path().join("data"))
        .args([
            "-D",
            "council.ensemble.number=1",
            "-D",
            "council.ensemble.members=1=127.0.0.1:0,2=localhost:1",
        ])
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let warning = lines.find(|line| line.contains("plain text")).unwrap();
    assert!(
        warning.contains("`diwan certificates --dir DIRECTORY --member 1=127.0.0.1 --member 2=localhost`"),
        "{warning}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
}
